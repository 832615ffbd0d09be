package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestAssignment solves assignment problems, whose vertices are all highly
// degenerate, and wants whole numbers.
func TestAssignment(t *testing.T) {
	const k = 14
	rng := rand.New(rand.NewPCG(1, 12))
	p := &lp.Problem{}
	for range k * k {
		p.Minimize = append(p.Minimize, float64(rng.IntN(20)))
	}
	for i := range k {
		worker, job := lp.Constraint{Lower: 1, Upper: 1}, lp.Constraint{Lower: 1, Upper: 1}
		for j := range k {
			worker.Index, worker.Coef = append(worker.Index, i*k+j), append(worker.Coef, 1)
			job.Index, job.Coef = append(job.Index, j*k+i), append(job.Coef, 1)
		}
		p.Rows = append(p.Rows, worker, job)
	}
	for _, b := range lp.Backends() {
		sol := solve(t, b, p)
		if err := verify(p, sol, tolerance[b.Name]); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		for j, x := range sol.X {
			if math.Abs(x-math.Round(x)) > 1e-9 {
				t.Errorf("%s: x[%d] = %v", b.Name, j, x)
			}
		}
	}
}

// TestOccupancy solves the occupancy-measure program of a small Markov decision
// process and compares it with backward induction.
func TestOccupancy(t *testing.T) {
	const states, actions, horizon = 8, 3, 6
	rng := rand.New(rand.NewPCG(1, 13))
	p := &lp.Problem{}
	column := func(h, s, a int) int { return (h*states+s)*actions + a }
	for range states * actions * horizon {
		p.Minimize = append(p.Minimize, rng.Float64())
	}
	kernel := randomKernel(rng, states, actions)
	for h := range horizon {
		for s := range states {
			r := lp.Constraint{}
			for a := range actions {
				r.Index, r.Coef = append(r.Index, column(h, s, a)), append(r.Coef, 1)
			}
			if h == 0 && s == 0 {
				r.Lower, r.Upper = 1, 1
			}
			for k := range kernel {
				if h > 0 {
					r.Index, r.Coef = append(r.Index, column(h-1, k/actions, k%actions)), append(r.Coef, -kernel[k][s])
				}
			}
			p.Rows = append(p.Rows, r)
		}
	}
	value := make([]float64, states)
	for h := horizon - 1; h >= 0; h-- {
		next := value
		value = make([]float64, states)
		for s := range states {
			value[s] = inf
			for a := range actions {
				q := p.Minimize[column(h, s, a)]
				for to, w := range kernel[s*actions+a] {
					q += w * next[to]
				}
				value[s] = math.Min(value[s], q)
			}
		}
	}
	for _, b := range lp.Backends() {
		sol := solve(t, b, p)
		if err := verify(p, sol, tolerance[b.Name]); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if math.Abs(sol.Objective-value[0]) > tolerance[b.Name] {
			t.Errorf("%s: %v, backward induction %v", b.Name, sol.Objective, value[0])
		}
	}
}

// randomKernel returns a distribution over successors for every state and action.
func randomKernel(rng *rand.Rand, states, actions int) [][]float64 {
	kernel := make([][]float64, states*actions)
	for k := range kernel {
		kernel[k] = make([]float64, states)
		total := 0.0
		for s := range kernel[k] {
			if rng.IntN(2) == 0 {
				kernel[k][s] = rng.Float64()
			}
			total += kernel[k][s]
		}
		kernel[k][k%states] += 1
		for s := range kernel[k] {
			kernel[k][s] /= total + 1
		}
	}
	return kernel
}

// TestColumnGeneration minimises a linear cost over a ball from inside: each
// column is the extreme point in the direction of the last duals. It wants the
// embedded master to reach a relative gap of 1e-9, which a looser one cannot certify.
func TestColumnGeneration(t *testing.T) {
	const d = 4
	target := []float64{.9, .3, .2, .1} // outside the unit ball by less than 0.1
	// minimise the ℓ∞ distance s of a point of the ball to target
	p := &lp.Problem{Minimize: []float64{1}, Upper: []float64{inf}}
	for k := range 2 * d {
		sign := 1 - 2*float64(k%2)
		p.Rows = append(p.Rows, lp.AtLeast([]float64{1}, sign*target[k/2]*1.2))
	}
	p.Rows = append(p.Rows, lp.Constraint{Coef: []float64{0}, Lower: 1, Upper: 1})
	s, err := lp.NewEmbedded(p)
	if err != nil {
		t.Fatal(err)
	}
	add := func(x []float64) {
		c := lp.Column{Upper: inf}
		for k := range 2 * d {
			c.Coef = append(c.Coef, (1-2*float64(k%2))*x[k/2])
		}
		c.Coef = append(c.Coef, 1)
		if err := s.AddColumn(c); err != nil {
			t.Fatal(err)
		}
	}
	add(make([]float64, d))
	var sol lp.Solution
	gap, direction := inf, make([]float64, d)
	for range 400 {
		if err := s.Solve(&sol); err != nil || sol.Status != lp.Optimal {
			t.Fatal(sol.Status, err)
		}
		norm := 0.0
		for i := range direction {
			direction[i] = sol.Duals[2*i] - sol.Duals[2*i+1]
			norm += direction[i] * direction[i]
		}
		norm = math.Sqrt(norm)
		// the reduced cost of the best column bounds how much the optimum can fall
		gap = (norm + sol.Duals[2*d]) / sol.Objective
		if gap < 1e-9 {
			break
		}
		for i := range direction {
			direction[i] /= norm
		}
		add(direction)
	}
	if !(gap < 1e-9) || gap < -1e-12 {
		t.Errorf("relative gap %v after %d columns", gap, len(sol.X))
	}
}

// TestDegenerate solves cones with many redundant rows through the origin, where
// almost every pivot has length zero.
func TestDegenerate(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 14))
		const n = 8
		p := &lp.Problem{}
		for range n {
			p.Minimize = append(p.Minimize, float64(rng.IntN(7)-3))
		}
		for range 40 {
			coef := make([]float64, n)
			for j := range coef {
				coef[j] = float64(rng.IntN(3) - 1)
			}
			p.Rows = append(p.Rows, lp.AtMost(coef, 0))
		}
		p.Rows = append(p.Rows, lp.AtMost([]float64{1, 1, 1, 1, 1, 1, 1, 1}, float64(rng.IntN(2))))
		for _, b := range lp.Backends() {
			if err := verify(p, solve(t, b, p), tolerance[b.Name]); err != nil {
				t.Errorf("%s: seed %d: %v", b.Name, seed, err)
			}
		}
	}
}

// TestMiddling solves dense problems of a size that takes some hundred iterations.
func TestMiddling(t *testing.T) {
	for seed := range uint64(6) {
		p := fullProblem(rand.New(rand.NewPCG(seed, 15)), 60, 90)
		for _, b := range lp.Backends() {
			if err := verify(p, solve(t, b, p), tolerance[b.Name]); err != nil {
				t.Errorf("%s: seed %d: %v", b.Name, seed, err)
			}
		}
	}
}

// TestManyColumns solves a program with more columns than Devex looks at in turn, all of which promise something at
// first.
func TestManyColumns(t *testing.T) {
	p := fullProblem(rand.New(rand.NewPCG(1, 25)), 10, 2500)
	for j, c := range p.Minimize {
		p.Minimize[j], p.Upper[j] = -math.Abs(c), math.Min(p.Upper[j], 1)
	}
	var first *lp.Solution
	for _, b := range lp.Backends() {
		sol := solve(t, b, p)
		if err := verify(p, sol, tolerance[b.Name]); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if first == nil {
			first = sol
		}
		if sol.Status != lp.Optimal || math.Abs(sol.Objective-first.Objective) > 1e-6*math.Abs(first.Objective) {
			t.Errorf("%s: %v %g, want %g", b.Name, sol.Status, sol.Objective, first.Objective)
		}
	}
}

// TestRounding solves problems whose equality rows, more than there are columns,
// agree in one point up to rounding errors only, with a coordinate that is zero. They count as
// feasible.
func TestRounding(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 16))
		n := 2 + rng.IntN(4)
		x := make([]float64, n)
		p := &lp.Problem{Minimize: make([]float64, n)}
		p.Lower, p.Upper = lp.Free(n)
		unit := math.Pow(10, float64(rng.IntN(17)-8))
		for j := range x {
			x[j], p.Minimize[j] = rng.NormFloat64()*unit, rng.NormFloat64()
		}
		x[0] = 0
		for i := range n + 2 {
			coef, at := make([]float64, n), 0.0
			for j := range coef {
				coef[j] = rng.NormFloat64()
				at += coef[j] * x[j]
			}
			if i == 0 {
				clear(coef)
				coef[0], at = 2, 0
			}
			p.Rows = append(p.Rows, lp.Equal(coef, at))
		}
		for _, b := range lp.Backends() {
			if sol := solve(t, b, p); sol.Status != lp.Optimal {
				t.Fatalf("%s: seed %d: %v", b.Name, seed, sol.Status)
			}
		}
	}
}
