package exact_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// Every test here takes a proof that the verifiers accept, forges one field of it, and
// wants a refusal. Fields are forged by amounts far above rounding and far below what
// the proof has to spare, so that the refusal is of the field and not of the conclusion.

func cloneCertificate(c *exact.Certificate) *exact.Certificate {
	out := *c
	out.Direction, out.Weights, out.Rows = slices.Clone(c.Direction), slices.Clone(c.Weights), cloneRows(c.Rows)
	return &out
}

func cloneProof(p *exact.Proof) *exact.Proof {
	out := *p
	out.Points, out.Subgradients, out.Rows = cloneVectors(p.Points), cloneVectors(p.Subgradients), cloneRows(p.Rows)
	out.Values, out.Weights = slices.Clone(p.Values), slices.Clone(p.Weights)
	out.Psi, out.Prices = slices.Clone(p.Psi), slices.Clone(p.Prices)
	return &out
}

func cloneVectors(x [][]float64) (out [][]float64) {
	for _, v := range x {
		out = append(out, slices.Clone(v))
	}
	return out
}

func cloneRows(x []cmdp.Constraint) (out []cmdp.Constraint) {
	for _, r := range x {
		out = append(out, cmdp.Constraint{Normal: slices.Clone(r.Normal), Offset: r.Offset})
	}
	return out
}

// fewer returns how many trials of a long test short tests make.
func fewer(trials int) int {
	if testing.Short() {
		return trials / 10
	}
	return trials
}

// numbers are what a number is forged to: a little less and more, and what is none.
func numbers(x float64) []float64 {
	step := 1e-5 * (1 + math.Abs(x))
	return []float64{x - 1, x - step, x + step, x + 1, math.NaN(), math.Inf(1), math.Inf(-1)}
}

// worse are those of numbers that are not above x, for fields of which more is true too.
func worse(x float64) (out []float64) {
	for _, y := range numbers(x) {
		if !(y > x) {
			out = append(out, y)
		}
	}
	return out
}

// TestForgedCertificates forges each field of certificates of all kinds of targets.
func TestForgedCertificates(t *testing.T) {
	t.Run("as small", forgedCertificates)
	t.Run("as large", func(t *testing.T) {
		t.Cleanup(threshold.Lower())
		forgedCertificates(t)
	})
}

func forgedCertificates(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 4))
	ctx, count := context.Background(), 0
	trials := fewer(120)
	for trial := range trials {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(3),
			successors: 3}
		if trial%4 == 0 {
			sh.horizon, sh.discount = 0, 0.9
		}
		m := randomModel(t, rng, sh)
		task := cmdp.Task{Target: farTarget(t, rng, m)}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != exact.Infeasible || r.Certificate.Value-r.Certificate.Support < 0.1 {
			continue
		}
		count++
		good := r.Certificate
		try := func(name string, verify verifier, forge func(c *exact.Certificate)) {
			t.Helper()
			c := cloneCertificate(good)
			if err := verify(ctx, m, task, c); err != nil {
				t.Errorf("trial %d: %v", trial, err)
			}
			forge(c)
			if err := verify(ctx, m, task, c); !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("trial %d: %s of %+v: %v", trial, name, good, err)
			}
		}
		forgeNumbers(t, good, try)
		forgeTogether(good, try)
		forgeDirection(good, try)
		forgeRows(good, try)
	}
	if count < trials/2 {
		t.Errorf("only %d certificates", count)
	}
}

type (
	verifier       func(context.Context, *cmdp.Model, cmdp.Task, *exact.Certificate) error
	tryCertificate func(name string, verify verifier, forge func(c *exact.Certificate))
)

func forgeNumbers(t *testing.T, good *exact.Certificate, try tryCertificate) {
	t.Helper()
	for _, x := range numbers(good.Value) {
		try(fmt.Sprint("value ", x), exact.Verify, func(c *exact.Certificate) { c.Value = x })
	}
	for _, x := range numbers(good.Support) {
		try(fmt.Sprint("support ", x), exact.Verify, func(c *exact.Certificate) { c.Support = x })
	}
	apart := good.Value - good.Support
	for _, x := range append(worse(apart), 0, -1) {
		try(fmt.Sprint("distance ", x), exact.Verify, func(c *exact.Certificate) { c.Distance = x })
	}
	for _, x := range []float64{0, -1, good.Margin / 1000, apart, 1e9, math.NaN(), math.Inf(1)} {
		try(fmt.Sprint("margin ", x), exact.Verify, func(c *exact.Certificate) { c.Margin = x })
	}
	for _, x := range worse(good.Support) { // the whole reaches at least as far as its part
		try(fmt.Sprint("whole, support ", x), exact.Verify,
			func(c *exact.Certificate) { c.Whole, c.Support, c.Distance = true, x, 1e9 })
	}
}

// forgeTogether forges several fields so that they fit each other.
func forgeTogether(good *exact.Certificate, try tryCertificate) {
	all := func(c *exact.Certificate, factor float64) {
		for i := range c.Direction {
			c.Direction[i] *= factor
		}
		c.Value *= factor
		c.Support *= factor
		c.Distance *= math.Abs(factor)
		c.Margin *= math.Abs(factor)
	}
	for _, factor := range []float64{2, 0.5, 1 + 1e-8} {
		try(fmt.Sprint("all, scaled by ", factor), exact.Verify, func(c *exact.Certificate) { all(c, factor) })
	}
	try("the other side of the inequality", exact.Verify, func(c *exact.Certificate) {
		all(c, -1)
		c.Value, c.Support = c.Support, c.Value // so that the target still seems to be below
	})
	for _, share := range []float64{1e-9, -1e-9} {
		off := share * max(math.Abs(good.Value), math.Abs(good.Support))
		try(fmt.Sprint("value and distance, off by ", off), exact.Verify, func(c *exact.Certificate) {
			c.Value += off
			c.Distance += off
		})
		try(fmt.Sprint("support and distance, off by ", off), exact.Verify, func(c *exact.Certificate) {
			c.Support += off
			c.Distance -= off
		})
	}
}

// TestCertificatesOfIteratedValues has all systems of small models with a discount solved by iteration, whose
// values are bounds from one side: two of them differ by what is left out, and are accepted all the same.
func TestCertificatesOfIteratedValues(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng := rand.New(rand.NewPCG(65, 4))
	ctx, count := context.Background(), 0
	for trial := range 300 {
		sh := shapeOf{states: 1 + rng.IntN(6), actions: 3, dim: 1 + rng.IntN(3), successors: 3,
			discount: []float64{0.3, 0.9, 0.99, 0.999, 0.99999}[trial%5]}
		m := randomModel(t, rng, sh)
		task := cmdp.Task{Target: farTarget(t, rng, m)}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != exact.Infeasible {
			continue
		}
		count++
		if err := exact.Verify(ctx, m, task, r.Certificate); err != nil {
			t.Errorf("trial %d: discount %g: %v", trial, sh.discount, err)
		}
		forgeTogether(r.Certificate, func(name string, verify verifier, forge func(c *exact.Certificate)) {
			c := cloneCertificate(r.Certificate)
			forge(c)
			if err := verify(ctx, m, task, c); !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("trial %d: discount %g: %s of %+v: %v", trial, sh.discount, name, r.Certificate, err)
			}
		})
	}
	if count < 200 {
		t.Errorf("only %d certificates", count)
	}
}

func forgeDirection(good *exact.Certificate, try tryCertificate) {
	try("no direction", exact.Verify, func(c *exact.Certificate) { c.Direction = nil })
	try("long direction", exact.Verify, func(c *exact.Certificate) { c.Direction = append(c.Direction, 0) })
	for i := range good.Direction {
		for _, x := range []float64{good.Direction[i] + 1e-6, -good.Direction[i] - 1e-6, math.NaN(), math.Inf(1)} {
			try(fmt.Sprint("direction ", i, x), exact.Verify, func(c *exact.Certificate) { c.Direction[i] = x })
		}
	}
	if len(good.Direction) > 1 { // another unit vector
		try("rotated direction", exact.Verify, func(c *exact.Certificate) {
			sin, cos := math.Sincos(0.01)
			x, y := c.Direction[0], c.Direction[1]
			c.Direction[0], c.Direction[1] = cos*x-sin*y, sin*x+cos*y
		})
	}
}

func forgeRows(good *exact.Certificate, try tryCertificate) {
	try("no rows", exact.VerifyRational, func(c *exact.Certificate) { c.Rows, c.Weights = nil, nil })
	try("a weight too many", exact.VerifyRational, func(c *exact.Certificate) { c.Weights = append(c.Weights, 1) })
	try("no weights", exact.VerifyRational, func(c *exact.Certificate) { clear(c.Weights) })
	for k, r := range good.Rows {
		for _, x := range append(worse(r.Offset), math.Inf(1)) {
			try(fmt.Sprint("offset ", x), exact.VerifyRational, func(c *exact.Certificate) { c.Rows[k].Offset = x })
		}
		// A half-space that is too wide is true, and proves less.
		try("wide offset", exact.VerifyRational, func(c *exact.Certificate) { c.Rows[k].Offset += 1e3 / c.Weights[k] })
		for _, x := range []float64{-good.Weights[k], math.NaN(), math.Inf(1)} {
			try(fmt.Sprint("weight ", x), exact.VerifyRational, func(c *exact.Certificate) { c.Weights[k] = x })
		}
		for i := range r.Normal {
			for _, x := range []float64{math.NaN(), math.Inf(1)} {
				try(fmt.Sprint("normal ", x), exact.VerifyRational,
					func(c *exact.Certificate) { c.Rows[k].Normal[i] = x })
			}
		}
		try("short normal", exact.VerifyRational,
			func(c *exact.Certificate) { c.Rows[k].Normal = c.Rows[k].Normal[1:] })
	}
	try("flipped normals", exact.VerifyRational, func(c *exact.Certificate) {
		for _, r := range c.Rows {
			for i := range r.Normal {
				r.Normal[i] *= -1
			}
		}
	})
}

// TestForgedWhole has a ball that reaches beyond the box of possible returns: the
// support function of the ball is not that of the part that is left.
func TestForgedWhole(t *testing.T) {
	m := bandit(t, []float64{0, 0}, []float64{1, 0.9})
	ball, err := geometry.NewBall([]float64{2, -0.2}, 1.1)
	if err != nil {
		t.Fatal(err)
	}
	target, err := geometry.Restrict(ball, box(t, m))
	if err != nil {
		t.Fatal(err)
	}
	ctx, task := context.Background(), cmdp.Task{Target: target, Whole: ball}
	r, err := exact.Solve(ctx, m, task, exact.Options{})
	if err != nil || r.Status != exact.Infeasible {
		t.Fatalf("%v %+v", err, r)
	}
	// The returns (1, 0.9) are nearest, in the direction (-1, 1.1) from the centre.
	c, far := r.Certificate, math.Sqrt(1+1.1*1.1)
	value, support := (-1+1.1*0.9)/far, (-2-1.1*0.2)/far+1.1
	if !c.Whole || math.Abs(c.Value-value) > 1e-9 || math.Abs(c.Support-support) > 1e-9 ||
		math.Abs(c.Distance-(far-1.1)) > 1e-9 {
		t.Errorf("%+v: want value %g, support %g and distance %g of the whole ball", c, value, support, far-1.1)
	}
	if err := exact.Verify(ctx, m, task, c); err != nil {
		t.Error(err)
	}
	c.Whole = false
	if err := exact.Verify(ctx, m, task, c); !errors.Is(err, exact.ErrNotProved) {
		t.Errorf("the support of the whole passes for that of its part: %v", err)
	}
}

// boundedProblems draws problems with an optimum, with affine and curved costs, and calls
// use with the proof of its bound.
func boundedProblems(t *testing.T, trials int, affine bool,
	use func(trial int, m *cmdp.Model, task cmdp.Task, p *exact.Proof)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(62, 4))
	count, priced := 0, 0
	for trial := range trials {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(3),
			successors: 3, stepwise: trial%2 == 0}
		m := randomModel(t, rng, sh)
		x := box(t, m)
		task := cmdp.Task{Cost: randomCost(t, rng, x),
			Target: randomTarget(t, rng, x, randomReturns(m, rng), randomReturns(m, rng))}
		if affine {
			c := make([]float64, sh.dim)
			for i := range c {
				c[i] = rng.NormFloat64()
			}
			g, err := cost.NewAffine(c, rng.NormFloat64(), x)
			if err != nil {
				t.Fatal(err)
			}
			task.Cost = g
		}
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != exact.Optimal {
			continue
		}
		count++
		if r.DualNorm > 1e-3 {
			priced++
		}
		use(trial, m, task, r.Proof)
	}
	if count < trials/3 || priced < trials/10 {
		t.Errorf("only %d proofs, %d with prices", count, priced)
	}
}

// TestForgedBounds forges each field of proofs of lower bounds.
func TestForgedBounds(t *testing.T) {
	boundedProblems(t, fewer(150), false, func(trial int, m *cmdp.Model, task cmdp.Task, good *exact.Proof) {
		if bound, err := exact.VerifyBound(context.Background(), m, task, cloneProof(good)); err != nil ||
			math.Abs(bound-good.Bound) >= 1e-12*(1+math.Abs(good.Bound)) {
			t.Errorf("trial %d: bound %.17g, verified %.17g, %v", trial, good.Bound, bound, err)
		}
		try := func(name string, forge func(p *exact.Proof)) {
			t.Helper()
			p := cloneProof(good)
			forge(p)
			if bound, err := exact.VerifyBound(context.Background(), m, task, p); !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("trial %d: %s: bound %g instead of %g, %v", trial, name, bound, good.Bound, err)
			}
		}
		for name, field := range map[string]func(p *exact.Proof) *float64{
			"value":   func(p *exact.Proof) *float64 { return &p.Value },
			"support": func(p *exact.Proof) *float64 { return &p.Support },
			"bound":   func(p *exact.Proof) *float64 { return &p.Bound },
			"margin":  func(p *exact.Proof) *float64 { return &p.Margin },
		} {
			for _, x := range numbers(*field(good)) {
				try(fmt.Sprint(name, " ", x), func(p *exact.Proof) { *field(p) = x })
			}
		}
		try("value and bound", func(p *exact.Proof) { p.Value, p.Bound = p.Value-1, p.Bound-1 })
		if good.Margin > 0 {
			try("no margin", func(p *exact.Proof) { p.Bound, p.Margin = p.Bound+p.Margin, 0 })
		}
		forgeTangents(good, try)
		forgePoints(task.Cost, good, try)
		forgePrices(good, try)
	})
}

func forgeTangents(good *exact.Proof, try func(string, func(*exact.Proof))) {
	for i, w := range good.Weights {
		for _, x := range numbers(good.Values[i]) {
			try(fmt.Sprint("value of a tangent ", x), func(p *exact.Proof) { p.Values[i] = x })
		}
		for _, x := range append(numbers(w), -w) {
			try(fmt.Sprint("weight ", x), func(p *exact.Proof) { p.Weights[i] = x })
		}
		for j := range good.Points[i] {
			for _, x := range numbers(good.Subgradients[i][j]) {
				try(fmt.Sprint("subgradient ", x), func(p *exact.Proof) { p.Subgradients[i][j] = x })
			}
			for _, x := range []float64{math.NaN(), math.Inf(1)} {
				try(fmt.Sprint("point ", x), func(p *exact.Proof) { p.Points[i][j] = x })
			}
		}
		try("short point", func(p *exact.Proof) { p.Points[i] = p.Points[i][1:] })
		try("short subgradient", func(p *exact.Proof) { p.Subgradients[i] = p.Subgradients[i][1:] })
		try("long subgradient", func(p *exact.Proof) { p.Subgradients[i] = append(p.Subgradients[i], 0) })
	}
	try("no weights", func(p *exact.Proof) { p.Weights = nil })
	try("a weight too many", func(p *exact.Proof) { p.Weights = append(p.Weights, 0) })
	try("no points", func(p *exact.Proof) { p.Points = nil })
	try("no values", func(p *exact.Proof) { p.Values = nil })
	try("no subgradients", func(p *exact.Proof) { p.Subgradients = nil })
	try("half the weights", func(p *exact.Proof) {
		for i := range p.Weights {
			p.Weights[i] /= 2
		}
	})
}

// forgePoints moves points to where the cost is another: elsewhere the tangent is the same.
func forgePoints(g cost.Cost, good *exact.Proof, try func(string, func(*exact.Proof))) {
	for i, x := range good.Points {
		for j := range x {
			moved := slices.Clone(x)
			moved[j] += 1e-3
			if g.Value(moved) != good.Values[i] {
				try(fmt.Sprint("point ", moved), func(p *exact.Proof) { p.Points[i] = moved })
			}
		}
	}
}

func forgePrices(good *exact.Proof, try func(string, func(*exact.Proof))) {
	for i, x := range good.Psi {
		for _, x := range numbers(x) {
			try(fmt.Sprint("psi ", x), func(p *exact.Proof) { p.Psi[i] = x })
		}
	}
	try("long psi", func(p *exact.Proof) { p.Psi = append(p.Psi, 0) })
	try("a price too many", func(p *exact.Proof) { p.Prices = append(p.Prices, 0) })
	// All of the support, its row and the bound agree, but not with the target.
	try("a row that cuts the target", func(p *exact.Proof) {
		n := make([]float64, len(p.Psi))
		n[0] = 1
		p.Rows, p.Prices = append(p.Rows, cmdp.Constraint{Normal: n, Offset: -1e3}), append(p.Prices, 1e-3)
		p.Psi[0] += 1e-3
		p.Support--
		p.Bound++
	})
	try("a price of the whole space", func(p *exact.Proof) {
		p.Rows, p.Prices = append(p.Rows, cmdp.Constraint{Normal: make([]float64, len(p.Psi)), Offset: -1}),
			append(p.Prices, 1)
		p.Support--
		p.Bound++
	})
	for k, r := range good.Rows {
		if y := good.Prices[k]; y > 1e-3 {
			try("a row that is pushed in", func(p *exact.Proof) {
				p.Rows[k].Offset -= 1 / y
				p.Support--
				p.Bound++
			})
		}
		for _, x := range numbers(r.Offset) {
			try(fmt.Sprint("offset ", x), func(p *exact.Proof) { p.Rows[k].Offset = x })
		}
		for _, x := range append(numbers(good.Prices[k]), -good.Prices[k]) {
			try(fmt.Sprint("price ", x), func(p *exact.Proof) { p.Prices[k] = x })
		}
		for i, x := range r.Normal {
			for _, x := range numbers(x) {
				try(fmt.Sprint("normal ", x), func(p *exact.Proof) { p.Rows[k].Normal[i] = x })
			}
		}
		try("short normal", func(p *exact.Proof) { p.Rows[k].Normal = p.Rows[k].Normal[1:] })
	}
}

// TestForgedRationalBounds forges what VerifyBoundRational reads: the rows with their
// prices, and the bound.
func TestForgedRationalBounds(t *testing.T) {
	boundedProblems(t, fewer(100), true, func(trial int, m *cmdp.Model, task cmdp.Task, good *exact.Proof) {
		if _, err := exact.VerifyBoundRational(context.Background(), m, task, cloneProof(good)); err != nil {
			t.Errorf("trial %d: %v", trial, err)
		}
		try := func(name string, forge func(p *exact.Proof)) {
			t.Helper()
			p := cloneProof(good)
			forge(p)
			if bound, err := exact.VerifyBoundRational(context.Background(), m, task, p); !errors.Is(err,
				exact.ErrNotProved) {
				t.Errorf("trial %d: %s: bound %v, %v", trial, name, bound, err)
			}
		}
		for _, x := range numbers(good.Bound) {
			if !(x < good.Bound) || math.IsInf(x, -1) {
				try(fmt.Sprint("bound ", x), func(p *exact.Proof) { p.Bound = x })
			}
		}
		for k, r := range good.Rows {
			if good.Prices[k] < 1e-3 {
				continue
			}
			for _, x := range append(worse(r.Offset), r.Offset+1, math.Inf(1)) {
				try(fmt.Sprint("offset ", x), func(p *exact.Proof) { p.Rows[k].Offset = x })
			}
			for _, x := range []float64{-good.Prices[k], math.NaN(), math.Inf(1)} {
				try(fmt.Sprint("price ", x), func(p *exact.Proof) { p.Prices[k] = x })
			}
			back := floats.ScaleTo(make([]float64, len(r.Normal)), -1, r.Normal)
			if oracle.Support(task.Target, back) > 1e-6-r.Offset {
				try("the reverse of a row", func(p *exact.Proof) { // with a bound that is little enough
					p.Rows[k], p.Bound = cmdp.Constraint{Normal: back, Offset: -r.Offset}, -1e9
				})
			}
			try("short normal", func(p *exact.Proof) { p.Rows[k].Normal = p.Rows[k].Normal[1:] })
			try("normal", func(p *exact.Proof) { p.Rows[k].Normal[0] = math.NaN() })
		}
		if len(good.Rows) > 0 {
			try("no rows", func(p *exact.Proof) { p.Rows = nil })
			try("a row without a price", func(p *exact.Proof) { p.Prices = p.Prices[1:] })
		}
	})
}
