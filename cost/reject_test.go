package cost_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// refusal is what a constructor returned, and a part of the error it should be.
type refusal struct {
	cost cost.Cost
	err  error
	want string
}

func of(want string) func(cost.Cost, error) refusal {
	return func(c cost.Cost, err error) refusal { return refusal{c, err, want} }
}

func affine(want string) func(*cost.Linear, error) refusal {
	return func(c *cost.Linear, err error) refusal {
		if c == nil {
			return refusal{nil, err, want}
		}
		return refusal{c, err, want}
	}
}

// check: every wrong argument is an error that begins with the name of the
// package and names what is wrong, and never comes with a cost.
func (r refusal) check(t *testing.T) {
	t.Helper()
	if r.err == nil || r.cost != nil {
		t.Errorf("want an error about %q and no cost, got %v and %v", r.want, r.err, r.cost)
	} else if !strings.HasPrefix(r.err.Error(), "cost: ") || !strings.Contains(r.err.Error(), r.want) {
		t.Errorf("error %q: want it to begin with \"cost: \" and to contain %q", r.err, r.want)
	}
}

func TestConstructorsReject(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	open := newBox(t, []float64{0, 0}, []float64{1, inf})
	v, w := []float64{1, 2}, []float64{0.5, 0.5}
	for _, r := range []refusal{
		affine("entry 1 is NaN")(cost.NewLinear([]float64{1, nan}, box)),
		affine("length 1")(cost.NewLinear([]float64{1}, box)),
		affine("no domain")(cost.NewLinear(v, nil)),
		affine("domain side 1")(cost.NewLinear(v, open)),
		affine("entry 0 is +Inf")(cost.NewLinear([]float64{inf, 0}, box)),
		affine("entry 0 is 1e+300")(cost.NewLinear([]float64{1e300, 0}, box)),
		affine("offset NaN")(cost.NewAffine(v, nan, box)),
		affine("coordinate 2")(cost.NewCoordinate(2, box)),
		affine("coordinate -1")(cost.NewCoordinate(-1, box)),
		affine("no domain")(cost.NewCoordinate(0, nil)),
		of("p = 3")(cost.NewNorm(3, v, box)),
		of("p = NaN")(cost.NewNorm(nan, v, box)),
		of("p = -Inf")(cost.NewNorm(-inf, v, box)),
		of("center has length 0")(cost.NewNorm(2, nil, box)),
		of("domain side 1")(cost.NewNorm(1, v, open)),
		of("weights entry 1 is -1")(cost.NewSquared(v, []float64{1, -1}, box)),
		of("weights has length 3")(cost.NewSquared(v, []float64{1, 1, 1}, box)),
		of("center entry 0")(cost.NewSquared([]float64{nan, 1}, w, box)),
		of("Lipschitz constant")(cost.NewSquared([]float64{1e90, 0}, []float64{1e90, 0}, box)),
		of("threshold 0")(cost.NewHuber(v, w, 0, box)),
		of("threshold NaN")(cost.NewHuber(v, w, nan, box)),
		of("weights entry 0")(cost.NewHuber(v, []float64{nan, 1}, 1, box)),
		of("normal is zero")(cost.NewHinge([]float64{0, 0}, 1, box)),
		of("offset +Inf")(cost.NewHinge(v, inf, box)),
		of("normal entry 1")(cost.NewHinge([]float64{1, nan}, 1, box)),
		of("temperature -1")(cost.NewLogSumExp(-1, box)),
		of("temperature +Inf")(cost.NewLogSumExp(inf, box)),
		of("want within")(cost.NewLogSumExp(1e-10, box)),
		of("want within")(cost.NewEntropic(w, 1e7, box)),
		of("domain side 1")(cost.NewLogSumExp(1, open)),
		of("sum to 1.1")(cost.NewEntropic([]float64{0.5, 0.6}, 1, box)),
		of("entry 0 is -0.5")(cost.NewEntropic([]float64{-0.5, 1.5}, 1, box)),
		of("temperature 0")(cost.NewEntropic(w, 0, box)),
		of("tail 0")(cost.NewCVaR(w, 0, box)),
		of("tail 1.5")(cost.NewCVaR(w, 1.5, box)),
		of("tail NaN")(cost.NewCVaR(w, nan, box)),
		of("sum to 0")(cost.NewCVaR([]float64{0, 0}, 0.5, box)),
	} {
		r.check(t)
	}
	if d, err := cost.NewDistance(nil); err == nil || d != nil {
		t.Errorf("distance to nothing: %v, %v", d, err)
	}
}

func TestCombinationsReject(t *testing.T) {
	nan := math.NaN()
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	other := newBox(t, []float64{0, 0}, []float64{1, 2})
	line := newBox(t, []float64{0}, []float64{1})
	open := newBox(t, []float64{0, 0}, []float64{1, math.Inf(1)})
	v, w := []float64{1, 2}, []float64{0.5, 0.5}
	good, err := cost.NewSquared(v, w, box)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := cost.NewSquared(v, w, other)
	if err != nil {
		t.Fatal(err)
	}
	one, err := cost.NewNorm(2, []float64{0}, line)
	if err != nil {
		t.Fatal(err)
	}
	far := newBox(t, []float64{1e100}, []float64{1e100})
	squares, err := cost.NewSquared([]float64{0}, []float64{1e100}, far)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []refusal{
		of("value +Inf at the corner")(cost.NewScaled(1e10, squares, far)),
		of("value +Inf at the corner")(cost.NewSum([]float64{1e10}, []cost.Cost{squares}, far)),
		of("no affine functions")(cost.NewMaxAffine(nil, nil, box)),
		of("offsets has length 1")(cost.NewMaxAffine([][]float64{v, v}, []float64{1}, box)),
		of("piece 1")(cost.NewMaxAffine([][]float64{v, {1}}, []float64{1, 1}, box)),
		of("no costs")(cost.NewSum(nil, nil, box)),
		of("sum: no domain")(cost.NewSum(w, []cost.Cost{good, good}, nil)),
		of("scaled: no domain")(cost.NewScaled(1, good, nil)),
		of("maximum: no domain")(cost.NewMaximum([]cost.Cost{good}, nil)),
		of("max: no domain")(cost.NewMaxAffine([][]float64{v}, w[:1], nil)),
		of("precomposed: no domain")(cost.NewPrecomposed(good, [][]float64{{1}, {1}}, w, nil)),
		affine("too large")(cost.NewLinear([]float64{1e100, 1e100}, box)),
		of("too large")(cost.NewHinge([]float64{1e100, 1e100}, 0, box)),
		of("too large")(cost.NewPrecomposed(good, [][]float64{{1e100}, {0}}, w, newBox(t, []float64{0}, []float64{1e-101}))),
		of("weights has length 2")(cost.NewSum(v, []cost.Cost{good}, box)),
		of("weights entry 0 is -1")(cost.NewSum([]float64{-1}, []cost.Cost{good}, box)),
		of("cost 1 is nil")(cost.NewSum(v, []cost.Cost{good, nil}, box)),
		of("cost 1 has dimension 1")(cost.NewSum(v, []cost.Cost{good, one}, box)),
		of("another domain")(cost.NewSum(v, []cost.Cost{good, elsewhere}, box)),
		of("too large")(cost.NewSum([]float64{1e100}, []cost.Cost{good}, box)),
		of("weight NaN")(cost.NewScaled(nan, good, box)),
		of("weight -2")(cost.NewScaled(-2, good, box)),
		of("cost 0 is nil")(cost.NewScaled(1, nil, box)),
		of("another domain")(cost.NewScaled(1, good, other)),
		of("no costs")(cost.NewMaximum(nil, box)),
		of("dimension 1")(cost.NewMaximum([]cost.Cost{good, one}, box)),
		of("no cost")(cost.NewPrecomposed(nil, nil, nil, box)),
		of("1 rows")(cost.NewPrecomposed(good, [][]float64{{1}}, v, line)),
		of("matrix row 1")(cost.NewPrecomposed(good, [][]float64{{1}, {nan}}, v, line)),
		of("offset has length 0")(cost.NewPrecomposed(good, [][]float64{{1}, {1}}, nil, line)),
		of("outside the domain")(cost.NewPrecomposed(good, [][]float64{{1}, {3}}, []float64{0, 0}, line)),
		of("no function")(cost.New(nil, box, 1)),
		of("Lipschitz constant -1")(cost.New(good, box, -1)),
		of("Lipschitz constant NaN")(cost.New(good, box, nan)),
		of("domain side 1")(cost.New(good, open, 1)),
		of("no function")(cost.NewConjugated(nil)),
		of("no function")(cost.NewConjugated(badConjugated{good, 0, 1})),
		of("Lipschitz constant NaN")(cost.NewConjugated(badConjugated{good, 2, nan})),
	} {
		r.check(t)
	}
}

// TestCombinationsRejectSteepness: a user's cost without a usable Lipschitz constant is in no combination.
func TestCombinationsRejectSteepness(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	good, err := cost.NewNorm(1, []float64{0, 0}, box)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []float64{math.NaN(), math.Inf(1), -1, 1e121} {
		bad, of := steep{good, l}, of(fmt.Sprintf("has the Lipschitz constant %g", l))
		for _, r := range []refusal{
			of(cost.NewScaled(1, bad, box)),
			of(cost.NewScaled(0, bad, box)),
			of(cost.NewSum([]float64{1, 1}, []cost.Cost{good, bad}, box)),
			of(cost.NewMaximum([]cost.Cost{bad}, box)),
			of(cost.NewMaximum([]cost.Cost{bad, good}, box)),
			of(cost.NewPrecomposed(bad, [][]float64{{1, 0}, {0, 1}}, []float64{0, 0}, box)),
		} {
			r.check(t)
		}
	}
}

// steep claims a Lipschitz constant.
type steep struct {
	cost.Cost
	lipschitz float64
}

func (s steep) Lipschitz() float64 { return s.lipschitz }

type badConjugated struct {
	cost.Conjugated
	dim       int
	lipschitz float64
}

func (b badConjugated) Dim() int           { return b.dim }
func (b badConjugated) Lipschitz() float64 { return b.lipschitz }

// TestArgumentsAreCopied: a caller may go on using its slices.
func TestArgumentsAreCopied(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	a, b := []float64{0.3, 0.7}, []float64{0.5, 0.5}
	rows := [][]float64{{1, 0}, {0, 1}}
	build := map[string]func() (cost.Cost, error){
		"linear":   func() (cost.Cost, error) { return cost.NewLinear(a, box) },
		"norm":     func() (cost.Cost, error) { return cost.NewNorm(2, a, box) },
		"max norm": func() (cost.Cost, error) { return cost.NewNorm(math.Inf(1), a, box) },
		"squared":  func() (cost.Cost, error) { return cost.NewSquared(a, b, box) },
		"huber":    func() (cost.Cost, error) { return cost.NewHuber(a, b, 0.1, box) },
		"hinge":    func() (cost.Cost, error) { return cost.NewHinge(a, 0.1, box) },
		"entropic": func() (cost.Cost, error) { return cost.NewEntropic(a, 1, box) },
		"cvar":     func() (cost.Cost, error) { return cost.NewCVaR(a, 0.5, box) },
		"max":      func() (cost.Cost, error) { return cost.NewMaxAffine(rows, a, box) },
		"maximum": func() (cost.Cost, error) {
			one, err := cost.NewNorm(1, a, box)
			if err != nil {
				return nil, err
			}
			two, err := cost.NewNorm(2, b, box)
			costs := []cost.Cost{one, two}
			defer clear(costs)
			if err != nil {
				return nil, err
			}
			return cost.NewMaximum(costs, box)
		},
		"precomposed": func() (cost.Cost, error) {
			c, err := cost.NewNorm(2, a, newBox(t, []float64{0, 0}, []float64{2, 2}))
			if err != nil {
				return nil, err
			}
			return cost.NewPrecomposed(c, rows, b, box)
		},
	}
	x := []float64{0.9, 0.2}
	for name, f := range build {
		copy(a, []float64{0.3, 0.7})
		copy(b, []float64{0.5, 0.5})
		rows[0][0] = 1
		c, err := f()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := c.Value(x)
		copy(a, []float64{7, 8})
		copy(b, []float64{9, 5})
		rows[0][0] = -4
		if after := c.Value(x); after != before {
			t.Errorf("%s: value %v becomes %v when arguments change", name, before, after)
		}
	}
}

// TestDomainIsBounded names the side and its ends.
func TestDomainIsBounded(t *testing.T) {
	half, err := geometry.NewBox([]float64{0, math.Inf(-1)}, []float64{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cost.NewLinear([]float64{1, 1}, half)
	if want := "cost: linear: domain side 1 is [-Inf, 3]: want a bounded interval"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
