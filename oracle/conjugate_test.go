package oracle_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/oracle"
	"cmdpsolve/oracle/oracletest"
)

// maxAffine is max_k ⟨a_k, x⟩ + b_k; softmax its smooth sister; euclid a norm.
type maxAffine struct {
	a [][]float64
	b []float64
}

func (f maxAffine) best(x []float64) (at int, most float64) {
	most = math.Inf(-1)
	for k, a := range f.a {
		if v := dot(a, x) + f.b[k]; v > most {
			at, most = k, v
		}
	}
	return at, most
}

func (f maxAffine) Value(x []float64) float64 {
	_, v := f.best(x)
	return v
}

func (f maxAffine) Subgradient(dst, x []float64) {
	k, _ := f.best(x)
	copy(dst, f.a[k])
}

type softmax struct{ maxAffine }

func (f softmax) Value(x []float64) float64 {
	_, most := f.best(x)
	sum := 0.0
	for k, a := range f.a {
		sum += math.Exp(dot(a, x) + f.b[k] - most)
	}
	return most + math.Log(sum)
}

func (f softmax) Subgradient(dst, x []float64) {
	at := append([]float64(nil), x...)
	v := f.Value(at)
	clear(dst)
	for k, a := range f.a {
		p := math.Exp(dot(a, at) + f.b[k] - v)
		for i := range dst {
			dst[i] += p * a[i]
		}
	}
}

type square struct{ center []float64 }

func (f square) Value(x []float64) float64 {
	d := minus(x, f.center)
	return dot(d, d)
}

func (f square) Subgradient(dst, x []float64) {
	for i, c := range f.center {
		dst[i] = 2 * (x[i] - c)
	}
}

// inUnit is a function of points in another unit.
type inUnit struct {
	oracle.FirstOrder
	unit float64
}

func (f inUnit) Value(x []float64) float64 {
	at := slices.Clone(x)
	scale(at, 1/f.unit)
	return f.FirstOrder.Value(at)
}

func (f inUnit) Subgradient(dst, x []float64) {
	at := slices.Clone(x)
	scale(at, 1/f.unit)
	f.FirstOrder.Subgradient(dst, at)
	scale(dst, 1/f.unit)
}

// confined is a function that is defined on a set only.
type confined struct {
	oracle.FirstOrder
	inside func(x []float64) bool
}

func (f confined) Value(x []float64) float64 {
	if !f.inside(x) {
		return math.NaN()
	}
	return f.FirstOrder.Value(x)
}

type broken struct{ square }

func (broken) Value([]float64) float64 { return math.NaN() }

type torn struct{ square }

func (torn) Subgradient(dst, _ []float64) { dst[0] = math.Inf(1) }

// everything has no extreme points.
type everything struct{ ball }

func (everything) MaximizeLinear(dst, dir []float64) {
	for i, v := range dir {
		dst[i] = v * math.Inf(1)
	}
}

// below is a box that goes on for ever below its second coordinate.
type below struct{ box }

func (b below) MaximizeLinear(dst, dir []float64) {
	b.box.MaximizeLinear(dst, dir)
	if dir[1] < 0 {
		dst[1] = math.Inf(-1)
	}
}

// TestConjugateGap checks the certificate at random points of the domain, and that the
// gap is closed.
func TestConjugateGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for trial := range 400 {
		d := 1 + rng.IntN(6)
		f := maxAffine{}
		for range 2 + rng.IntN(8) {
			f.a, f.b = append(f.a, gaussian(rng, d, 2)), append(f.b, rng.NormFloat64())
		}
		var g oracle.FirstOrder = f
		switch trial % 3 {
		case 1:
			g = softmax{f}
		case 2:
			g = square{f.a[0]}
		}
		lower, upper := make([]float64, d), make([]float64, d)
		for i := range lower {
			lower[i] = -1 - 2*rng.Float64()
			upper[i] = lower[i] + 4*rng.Float64()*float64(rng.IntN(4))
		}
		inBox, err := oracle.NewBoxConjugate(g, lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		var disc oracle.LinearMaximizer = ball{make([]float64, d), 2} // with a projection of its own
		if trial%2 == 0 {
			disc = extremes{ball{make([]float64, d), 2}}
		}
		round, err := oracle.NewConjugate(g, disc)
		if err != nil {
			t.Fatal(err)
		}
		checkHull(t, rng, g, d)
		theta, y := gaussian(rng, d, 2), make([]float64, d)
		for k, c := range []*oracle.BundleConjugate{inBox, round} {
			name := []string{"box", "ball"}[k]
			steep := slices.Clone(theta) // asked before
			scale(steep, 1e6)
			c.Attain(y, steep, y)
			value, gap := c.Attain(y, theta, gaussian(rng, d, 3))
			if attained := dot(theta, y) - g.Value(y); math.Abs(attained-value) >= 1e-12*(1+math.Abs(value)) {
				t.Errorf("%s: value %g reported, %g attained", name, value, attained)
			}
			inside := norm(y) <= 2+1e-9
			for i, v := range y {
				inside = (k == 1 || v >= lower[i] && v <= upper[i]) && (inside || k == 0)
			}
			if !inside {
				t.Errorf("%s: the answer %v is not in the domain", name, y)
			}
			most := 2 * oracle.ConjugateTolerance * (1 + math.Abs(value))
			if name == "box" {
				most = 1.0001 * oracle.ConjugateTolerance * largest(g, theta, lower, upper, value)
			}
			if gap > most {
				t.Errorf("%s, dimension %d, kind %d: value %g with gap %g", name, d, trial%3, value, gap)
			}
			for range 100 {
				x := gaussian(rng, d, 2)
				if name == "ball" {
					ball{make([]float64, d), 2}.Project(x, x)
				} else {
					for i := range x {
						x[i] = math.Min(math.Max(x[i], lower[i]), upper[i])
					}
				}
				if v := dot(theta, x) - g.Value(x); v > value+gap+1e-12*(1+math.Abs(v)) {
					t.Fatalf("%s: %v has value %g, above the certified %g + %g", name, x, v, value, gap)
				}
			}
		}
	}
}

// largest returns what the tolerance is relative to: at most the value, or 1e-3 of the largest at a corner of the box.
func largest(f oracle.FirstOrder, theta, lower, upper []float64, value float64) float64 {
	met, spread := math.Abs(value), 0.0
	for k := range 1 << len(theta) {
		x := slices.Clone(lower)
		for i := range x {
			if k>>i&1 == 1 {
				x[i] = upper[i]
			}
		}
		met = max(met, math.Abs(dot(theta, x)-f.Value(x)))
	}
	for i, v := range theta {
		spread += math.Abs(v) * (upper[i] - lower[i])
	}
	return max(math.Abs(value), 1e-3*met, 1e-6*spread)
}

// checkHull asks for the conjugate on a polytope outside of which the function is not defined, in any unit, and
// compares with points of it.
func checkHull(t *testing.T, rng *rand.Rand, f oracle.FirstOrder, d int) {
	t.Helper()
	var h hull
	unit := []float64{1, 1, 1, 1e-16, 1e-12, 1e-6, 1e6, 1e12}[rng.IntN(8)]
	for range 1 + rng.IntN(2*d+1) { // few of them are flat
		h = append(h, gaussian(rng, d, 2*unit))
	}
	f = inUnit{f, unit}
	onto := oracle.NewMinNorm(h)
	inside := func(x []float64) bool { return oracle.Distance(onto, x) <= 1e-9*unit }
	c, err := oracle.NewConjugate(confined{f, inside}, h)
	if err != nil {
		t.Errorf("hull %v: %v", h, err)
		return
	}
	theta, y, x := gaussian(rng, d, 2/unit), make([]float64, d), make([]float64, d)
	value, gap := c.Attain(y, theta, gaussian(rng, d, 3*unit))
	if attained := dot(theta, y) - f.Value(y); !inside(y) || math.Abs(attained-value) >= 1e-12*(1+math.Abs(value)) {
		t.Errorf("hull %v: value %g reported, %g attained at %v", h, value, attained, y)
	}
	if gap > 2*oracle.ConjugateTolerance*(1+math.Abs(value)) {
		t.Errorf("hull %v: value %g with gap %g", h, value, gap)
	}
	for range 100 {
		total := 0.0
		clear(x)
		for _, p := range h {
			w := rng.ExpFloat64()
			total += w
			for i, v := range p {
				x[i] += w * v
			}
		}
		scale(x, 1/total)
		if v := dot(theta, x) - f.Value(x); v > value+gap+1e-12*(1+math.Abs(v)) {
			t.Fatalf("hull %v: %v has value %g, above the certified %g + %g", h, x, v, value, gap)
		}
	}
}

// TestConjugateWhereUndefined: where a function is not defined in a part of the box, the value that is told is that of
// the point, in whatever order it is asked.
func TestConjugateWhereUndefined(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	for range 60 {
		f := confined{square{gaussian(rng, 2, 1)}, func(x []float64) bool { return x[0] >= -1e-9 }}
		c, err := oracle.NewBoxConjugate(f, []float64{-2, -1}, []float64{2, 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			theta, near, y := gaussian(rng, 2, 2), gaussian(rng, 2, 1), make([]float64, 2)
			value, _ := c.Attain(y, theta, near)
			attained := dot(theta, y) - f.Value(y)
			same := math.Abs(value-attained) < 1e-12*(1+math.Abs(attained))
			if math.IsNaN(attained) {
				same = math.IsNaN(value)
			}
			if math.Abs(y[0]) > 2 || math.Abs(y[1]) > 1 || !same {
				t.Errorf("near %v: %v with value %g, attained %g", near, y, value, attained)
			}
		}
	}
}

// TestConjugateOfSquare compares with the closed form clip(c + θ/2).
func TestConjugateOfSquare(t *testing.T) {
	c, err := oracle.NewBoxConjugate(square{[]float64{1, 0, 0}}, []float64{-1, -1, 0.5}, []float64{3, 1, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	y := []float64{0, 0, 0}
	c.ConjugateSubgradient(y, []float64{1, 7, 3}, y)
	for i, want := range []float64{1.5, 1, 0.5} {
		if math.Abs(y[i]-want) > 1e-4 {
			t.Errorf("maximiser %v, want (1.5, 1, 0.5)", y)
		}
	}
	near := []float64{2, -0.5, 0.5}
	value, gap := c.Attain(y, []float64{2, -1, 1}, near)
	if !slices.Equal(y, near) || value != 3.5 || gap != 0 {
		t.Errorf("maximiser %v with value %g and gap %g, want the maximiser %v that is near, with 3.5 and 0", y, value,
			gap, near)
	}
}

func TestConjugateErrors(t *testing.T) {
	f := square{[]float64{0}}
	of := func(f oracle.FirstOrder, domain oracle.LinearMaximizer) error {
		_, err := oracle.NewConjugate(f, domain)
		return err
	}
	inBox := func(f oracle.FirstOrder, lower, upper []float64) error {
		_, err := oracle.NewBoxConjugate(f, lower, upper)
		return err
	}
	zero, one := []float64{0}, []float64{1}
	for want, err := range map[string]error{
		"box with 0 lower and 0 upper bounds":                              inBox(f, nil, nil),
		"box with 1 lower and 2 upper bounds":                              inBox(f, one, []float64{1, 2}),
		"box side 1 is [1, 0]":                                             inBox(f, []float64{0, 1}, []float64{0, 0}),
		"conjugate of no function":                                         inBox(nil, zero, one),
		"conjugate over no set":                                            of(f, nil),
		"function has value 0.25 and subgradient":                          inBox(torn{f}, zero, one),
		"function has value NaN and subgradient":                           inBox(broken{f}, zero, one),
		"conjugate over a set that goes from -Inf to +Inf in coordinate 0": of(f, everything{ball{zero, 1}}),
		"conjugate over a set that goes from -Inf to 1 in coordinate 1":    of(f, below{box(3)}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "oracle: "+want) ||
			errors.Is(err, oracle.ErrUnbounded) != strings.Contains(want, "coordinate") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := oracle.NewIntersectionProjector(1, oracle.Member{Set: ball{[]float64{0}, 1}},
		oracle.Member{Set: ball{[]float64{3}, 1}}); !errors.Is(err, oracle.ErrEmpty) {
		t.Errorf("disjoint balls: %v", err)
	}
}

// TestManners: every question overwrites its destination, may be asked in place where that is promised, leaves what it
// is given, wants slices of the right length, and may be asked by many at a time.
func TestManners(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const d = 3
	rows, sides := [][]float64{{1, 1, 0}, {0, 1, 1}, {-1, 0, 2}}, []float64{1, 0, 1}
	active, err := oracle.NewActiveSet(rows, sides, 1)
	if err != nil {
		t.Fatal(err)
	}
	round := ball{gaussian(rng, d, 1), 1}
	members := []oracle.Member{{Set: round}, {Set: box(d)}}
	common, err := oracle.NewIntersectionProjector(d, members...)
	if err != nil {
		t.Fatal(err)
	}
	center := make([]float64, d)
	proximal, err := oracle.NewProximalMaximizer(common, center, 2)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := []float64{-1, -1, -1}, []float64{1, 2, 0}
	inBox, err := oracle.NewBoxConjugate(square{gaussian(rng, d, 1)}, lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	inBall, err := oracle.NewConjugate(square{gaussian(rng, d, 1)}, extremes{round})
	if err != nil {
		t.Fatal(err)
	}
	least := oracle.NewMinNorm(extremes{round})
	if got := common.Members(); fmt.Sprint(got) != fmt.Sprint(members) {
		t.Errorf("members %v, want %v", got, members)
	}
	for _, of := range []interface{ Dim() int }{active, common, proximal, inBox, inBall, least} {
		if of.Dim() != d {
			t.Errorf("%T has dimension %d, want %d", of, of.Dim(), d)
		}
	}
	var calls []oracletest.Call
	ask := func(name string, inputs, alias int, do func(dst []float64, in [][]float64)) {
		for range 5 {
			c := oracletest.Call{Name: name, Size: d, Alias: alias, Do: do}
			for range inputs {
				c.Inputs = append(c.Inputs, gaussian(rng, d, 3))
			}
			calls = append(calls, c)
		}
	}
	ask("ActiveSet.Project", 1, 0, func(dst []float64, in [][]float64) { active.Project(dst, in[0]) })
	ask("ActiveSet.ProjectLevel", 2, 1, func(dst []float64, in [][]float64) { active.ProjectLevel(dst, in[0], 0.5, in[1]) })
	ask("IntersectionProjector.Project", 1, 0, func(dst []float64, in [][]float64) { common.Project(dst, in[0]) })
	ask("ProximalMaximizer.MaximizeLinear", 1, -1, func(dst []float64, in [][]float64) {
		proximal.MaximizeLinear(dst, in[0])
	})
	ask("MinNorm.Project", 1, 0, func(dst []float64, in [][]float64) { least.Project(dst, in[0]) })
	var maximizer oracle.LinearMaximizer = round
	var projector oracle.Projector = box(d)
	ask("Support", 1, -1, func(dst []float64, in [][]float64) { dst[0] = oracle.Support(maximizer, in[0]) })
	ask("Distance", 1, -1, func(dst []float64, in [][]float64) { dst[0] = oracle.Distance(projector, in[0]) })
	for i := range calls {
		if name := calls[i].Name; name == "Support" || name == "Distance" {
			calls[i].Size, calls[i].Number = 1, true
		}
	}
	for _, c := range []*oracle.BundleConjugate{inBox, inBall} {
		ask("BundleConjugate.ConjugateSubgradient", 2, 1, func(dst []float64, in [][]float64) {
			c.ConjugateSubgradient(dst, in[0], in[1])
		})
	}
	for name, law := range map[string]func([]oracletest.Call) error{
		"repeated": oracletest.Repeatable, "overwritten": oracletest.Overwritten, "untouched": oracletest.Untouched,
		"in place": oracletest.Aliasing, "lengths": oracletest.Lengths, "concurrent": oracletest.Concurrent,
		"allocation": func(calls []oracletest.Call) error { // one of each, but for the slow last one
			var some []oracletest.Call
			for i := 0; i < len(calls)-5; i += 5 {
				some = append(some, calls[i])
			}
			return oracletest.AllocationFree(some)
		},
	} {
		if err := law(calls); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	answers := func() (all [][]float64) {
		for _, c := range calls {
			dst := make([]float64, d)
			c.Do(dst, [][]float64{slices.Clone(c.Inputs[0]), slices.Clone(c.Inputs[len(c.Inputs)-1])})
			all = append(all, dst)
		}
		return all
	}
	before := answers()
	for _, x := range append(rows, sides, lower, upper, center) { // are the caller's again
		for i := range x {
			x[i] = 7 - x[i]
		}
	}
	clear(members)
	clear(rows)
	for i, dst := range answers() {
		if !slices.Equal(dst, before[i]) {
			t.Errorf("%s of %v: %v, then %v", calls[i].Name, calls[i].Inputs, before[i], dst)
		}
	}
}

// TestRefused: what cannot be asked is said by constructors.
func TestRefused(t *testing.T) {
	inf, b := math.Inf(1), ball{[]float64{0, 0}, 1}
	row := [][]float64{{1, 0}}
	activeSet := func(rows [][]float64, rhs []float64, equalities int) error {
		_, err := oracle.NewActiveSet(rows, rhs, equalities)
		return err
	}
	common := func(dim int, members ...oracle.Member) error {
		_, err := oracle.NewIntersectionProjector(dim, members...)
		return err
	}
	proximal := func(set oracle.Projector, center []float64, radius float64) error {
		_, err := oracle.NewProximalMaximizer(set, center, radius)
		return err
	}
	type refusal struct {
		err  error
		want string
	}
	for name, of := range map[string]refusal{
		"no rows":              {activeSet(nil, nil, 0), "0 rows with 0 right-hand sides and 0 equalities"},
		"too few sides":        {activeSet(row, nil, 0), "1 rows with 0 right-hand sides"},
		"too many equalities":  {activeSet(row, []float64{1}, 2), "1 right-hand sides and 2 equalities"},
		"negative equalities":  {activeSet(row, []float64{1}, -1), "-1 equalities"},
		"no entries":           {activeSet([][]float64{{}}, []float64{1}, 0), "no entries"},
		"rows of two lengths":  {activeSet([][]float64{{1, 0}, {1}}, []float64{1, 1}, 0), "row 1 has 1 entries, row 0 has 2"},
		"a row of zeros":       {activeSet([][]float64{{1, 0}, {0, 0}}, []float64{2, 1}, 0), `row 1 is \[0 0\] .*side 1`},
		"no members":           {common(2), "no sets"},
		"no dimension":         {common(0, oracle.Member{Set: b}), "dimension 0"},
		"a member without set": {common(2, oracle.Member{Set: b}, oracle.Member{}), "member 1 "},
		"another dimension": {common(3, oracle.Member{Set: b}),
			"member 0 of an intersection in dimension 3 has a set of dimension 2, 0 rows and 0 shifts"},
		"too few matrix rows": {common(2, oracle.Member{Set: b}, oracle.Member{Set: b, Matrix: row}),
			"member 1 .*dimension 2, 1 rows"},
		"a short row": {common(2, oracle.Member{Set: b, Matrix: [][]float64{{1, 0}, {1}}}),
			"row 1 of member 0 has 1 entries: want 2"},
		"a short shift":        {common(2, oracle.Member{Set: b, Shift: []float64{1}}), "0 rows and 1 shifts"},
		"no set":               {proximal(nil, []float64{0, 0}, 1), "no set"},
		"a short centre":       {proximal(b, []float64{0}, 1), "centre of 1 coordinates for a set of dimension 2"},
		"a negative radius":    {proximal(b, []float64{0, 0}, -1), "radius -1"},
		"a radius that is NaN": {proximal(b, []float64{0, 0}, math.NaN()), "radius NaN"},
		"an infinite radius":   {proximal(b, []float64{0, 0}, inf), "radius .Inf"},
	} {
		want := regexp.MustCompile("^oracle: .*" + of.want)
		if of.err == nil || !want.MatchString(of.err.Error()) || errors.Is(of.err, oracle.ErrEmpty) {
			t.Errorf("%s: error %v, want %q", name, of.err, of.want)
		}
	}
	for name, ask := range map[string]func(){
		"support of no set":    func() { oracle.Support(nil, []float64{1}) },
		"distance from no set": func() { oracle.Distance(nil, []float64{1}) },
		"extremes of no set":   func() { oracle.Extremes(nil, nil, nil) },
		"projection on no set": func() { oracle.NewMinNorm(nil) },
		"another dimension": func() {
			oracle.NewMinNorm(b).NearestOf(box(3), make([]float64, 2), make([]float64, 2))
		},
	} {
		err := oracletest.Guard(func() error { ask(); return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "panic: oracle: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNotFinite: no number that a constructor is given may be infinite or NaN, nor one of a projection on rows.
func TestNotFinite(t *testing.T) {
	rows, sides := [][]float64{{1, 2}, {0, -1}}, []float64{1, 3}
	lower, upper, center := []float64{-1, 0}, []float64{1, 0}, []float64{0.5, 2}
	for name, of := range map[string]struct {
		place   string // that the error names, with the number of the row or of the coordinate
		numbers [][]float64
		make    func() error
	}{
		"active set": {"row ", append(rows, sides), func() error {
			_, err := oracle.NewActiveSet(rows, sides, 1)
			return err
		}},
		"box": {"side ", [][]float64{lower, upper}, func() error {
			_, err := oracle.NewBoxConjugate(square{center}, lower, upper)
			return err
		}},
		"maximiser": {"centre ", [][]float64{center}, func() error {
			_, err := oracle.NewProximalMaximizer(box(2), center, 4)
			return err
		}},
	} {
		if err := of.make(); err != nil {
			t.Fatal(err)
		}
		for k, x := range of.numbers {
			for i, v := range x {
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					x[i] = bad
					err, place := of.make(), of.place
					switch {
					case place == "row " && k < len(rows):
						place += strconv.Itoa(k)
					case place != "centre ":
						place += strconv.Itoa(i)
					}
					if err == nil || !strings.Contains(err.Error(), place) || errors.Is(err, oracle.ErrEmpty) {
						t.Errorf("%s with %v: error %v", name, x, err)
					}
				}
				x[i] = v
			}
		}
	}
	active, err := oracle.NewActiveSet(rows, sides, 1)
	if err != nil {
		t.Fatal(err)
	}
	point, dir, level := []float64{2, 7}, []float64{1, -3}, []float64{0.5}
	asked := map[string]func(){
		"project": func() { active.Project(make([]float64, 2), point) },
		"level":   func() { active.ProjectLevel(make([]float64, 2), dir, level[0], point) },
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for what, x := range map[string][]float64{"point": point, "direction": dir, "level": level} {
			for i, v := range x {
				x[i] = bad
				want := fmt.Sprintf("panic: oracle: projection with the %s %v: number %d is %g", what, x, i, bad)
				for name, ask := range asked {
					err := oracletest.Guard(func() error { ask(); return nil })
					if (what == "point" || name == "level") && (err == nil || !strings.HasPrefix(err.Error(), want)) {
						t.Errorf("%s: %v, want %q", name, err, want)
					}
				}
				x[i] = v
			}
		}
	}
}
