package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bothSizes runs a test as it is, and with the methods for large models wherever they apply.
func bothSizes(t *testing.T, test func(t *testing.T)) {
	t.Run("as small", test)
	t.Run("as large", func(t *testing.T) {
		t.Cleanup(threshold.Lower())
		test(t)
	})
}

// A grid is a walk over a rectangle to its last corner. There are four directions, and a step has a price.
type grid struct {
	width, height int
	ahead         float64 // probability that a step succeeds, the walk stays otherwise
	waits         bool    // steps into a wall may be tried, which stays surely
	slips         bool    // a step may go to the other sides as well, and prices are random
	sure          float64 // share of the steps that surely lead where they should, whatever ahead and slips are
	jumps         float64 // share of the cells that have a fifth choice, which leads to a random cell
}

// model draws a grid with two returns: the price of a step, and 1 for steps to the left or up. The walk starts
// in the first corner.
func (g grid) model(t testing.TB, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	k, cells := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}, g.width*g.height
	sides := [4][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}
	for s := range cells - 1 {
		beside := func(side int) int32 { // s at a wall
			x, y := s%g.width+sides[side][0], s/g.width+sides[side][1]
			if x < 0 || x >= g.width || y < 0 || y >= g.height {
				return int32(s)
			}
			return int32(y*g.width + x)
		}
		end := func(back float64) {
			price := 1.0
			if g.slips {
				price = 0.1 + rng.Float64()
			}
			k.Offset, k.Returns = append(k.Offset, len(k.Next)), append(k.Returns, price, back)
		}
		for side := range sides {
			n := beside(side)
			switch {
			case n == int32(s) && !g.waits:
				continue
			case n == int32(s) || rng.Float64() < g.sure:
				k.Next, k.Prob = append(k.Next, n), append(k.Prob, 1)
			case g.slips:
				left := 1.0
				for other := range sides {
					if m := beside(other); other != side && m != int32(s) {
						slip := 0.25 * rng.Float64()
						left -= slip
						k.Next, k.Prob = append(k.Next, m), append(k.Prob, slip)
					}
				}
				k.Next, k.Prob = append(k.Next, n), append(k.Prob, left)
			default:
				k.Next, k.Prob = append(k.Next, int32(s), n), append(k.Prob, 1-g.ahead, g.ahead)
			}
			end(float64(side / 2))
		}
		if rng.Float64() < g.jumps {
			k.Next, k.Prob = append(k.Next, int32(rng.IntN(cells)), int32(rng.IntN(cells))), append(k.Prob, 1, 0)
			end(0)
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	k.First = append(k.First, k.First[cells-1])
	m := totalsOf(t, k, 2)
	return m
}

// howard finds the least total of prices above 0 from each state to the last one by policy iteration with dense
// matrices. Each state leads there. It starts from choices that lead nearer, so that all policies rest.
func howard(t *testing.T, m *cmdp.Model, price func(c int32) float64) (v []float64, policy []int32) {
	t.Helper()
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()
	policy = make([]int32, n)
	near := make([]bool, n)
	near[n-1] = true
	for range n {
		met := append([]bool(nil), near...)
		for s := range n - 1 {
			for c := k.First[s]; c < k.First[s+1] && !near[s]; c++ {
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					if k.Prob[e] > 0 && met[k.Next[e]] {
						near[s], policy[s] = true, c
					}
				}
			}
		}
	}
	for range 1000 {
		a, right := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		a.Set(n-1, n-1, 1)
		for s := range n - 1 {
			a.Set(s, s, 1)
			for e := k.Offset[policy[s]]; e < k.Offset[policy[s]+1]; e++ {
				a.Set(s, int(k.Next[e]), a.At(s, int(k.Next[e]))-k.Prob[e])
			}
			right.SetVec(s, price(policy[s]))
		}
		var x mat.VecDense
		if err := x.SolveVec(a, right); err != nil {
			t.Fatal(err)
		}
		v = x.RawVector().Data
		changed := false
		for s := range n - 1 {
			best := v[s] - 1e-10*(1+v[s])
			for c := k.First[s]; c < k.First[s+1]; c++ {
				y := price(c)
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					y += k.Prob[e] * v[k.Next[e]]
				}
				if y < best {
					best, policy[s], changed = y, c, true
				}
			}
		}
		if !changed {
			return v, policy
		}
	}
	t.Fatal("policy iteration does not end")
	return nil, nil
}

// TestGrids walks over small grids with all that makes policies stay for ever at a price: waits at walls, steps
// that surely lead to and fro, and jumps. Values, returns and visits are those of policy iteration.
func TestGrids(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 8))
		for trial := range 150 {
			g := grid{2 + rng.IntN(5), 2 + rng.IntN(5), 0.3 + 0.7*rng.Float64(), rng.IntN(4) > 0, rng.IntN(2) == 0, 0,
				0}
			if rng.IntN(2) == 0 {
				g.sure, g.jumps = rng.Float64(), 0.5*rng.Float64()
			}
			m := g.model(t, rng)
			p, err := newInfiniteHorizon(t.Context(), m, 1+rng.IntN(2), allRelevant(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, enough := range []float64{1e-6, 0} {
				dir := []float64{1, float64(rng.IntN(3))}
				price := func(c int32) float64 { return floats.Dot(dir, m.Kernel(0).Plain(m.Dim()).Returns[2*c:2*c+2]) }
				v, _ := howard(t, m, price)
				p.tolerance = enough
				got, err := p.price(t.Context(), dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				want := v[0]
				if reached := floats.Dot(dir, got.returns); !(math.Abs(reached-want) <= (20*enough+1e-9)*want) {
					t.Errorf("trial %d, %+v, error %g: the policy returns %.15g: want %.15g", trial, g, enough, reached,
						want)
				}
				if !(got.value <= want*(1+1e-12) && got.value >= want*(1-20*enough-1e-9)) {
					t.Errorf("trial %d, %+v, error %g: value %.15g: want %.15g", trial, g, enough, got.value, want)
				}
				value, margin, err := p.recheck(t.Context(), dir)
				if err != nil || !(margin <= 1e-9*want && value-margin <= want && value >= want*(1-1e-9)) {
					t.Errorf("trial %d, %+v: bound %.15g, margin %g, error %v: want %.15g", trial, g, value, margin,
						err, want)
				}
				x, err := p.visits(t.Context(), &markov.Rule{Actions: *got.policy.actions()}, 0)
				if err != nil {
					t.Fatal(err)
				}
				checkVisits(t, m, got.policy.actions(), func(s int) float64 { return p.visitsTo(x, int32(s)) })
			}
		}
	})
}

// TestLimitsWithoutGoal: on a way that now and then leads back, each step costs one of two returns. A policy is
// asked for that has at most a little more than half of each. One that never draws is found, and its returns are
// those of an evaluation.
func TestLimitsWithoutGoal(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 1))
		for trial := range 30 {
			k, steps := cmdp.NewKernel(), int32(50+rng.IntN(50))
			for s := range steps {
				for i := range 2 {
					returns := make([]float64, 2)
					returns[i] = 0.5 + rng.Float64()
					k.Append([]int32{s + 1, max(0, s-2)}, []float64{0.9, 0.1}, returns)
				}
				k.EndState()
			}
			k.EndState()
			m := totalsOf(t, k, 2)
			half := 0.55 * float64(steps) / 0.7
			box, err := geometry.NewBox([]float64{0, 0}, []float64{half, half})
			if err != nil {
				t.Fatal(err)
			}
			target, err := box.Bounded()
			if err != nil {
				t.Fatal(err)
			}
			r, err := Solve(t.Context(), m, cmdp.Task{Target: target}, Options{Workers: 1})
			if err != nil || r.Status != Optimal || r.Policy == nil {
				t.Fatalf("trial %d: %v, %v", trial, r, err)
			}
			e, err := Evaluate(t.Context(), m, r.Policy)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range e.Returns {
				if !(math.Abs(x-r.Returns[i]) <= 1e-9*x && x <= half*(1+1e-8)) {
					t.Errorf("trial %d: return %d is %.15g, said to be %.15g: want at most %.15g", trial, i, x,
						r.Returns[i], half)
				}
			}
			if r.Randomized > 0 {
				t.Errorf("trial %d: the policy draws in %d states", trial, r.Randomized)
			}
		}
	})
}

// checkVisits compares the visits of a policy that rests with the solution of a dense system.
func checkVisits(t *testing.T, m *cmdp.Model, policy *markov.Actions, seen func(s int) float64) {
	t.Helper()
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()-1
	a, right := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	right.SetVec(0, 1)
	for s := range n {
		a.Set(s, s, a.At(s, s)+1)
		c := int(k.First[s]) + policy.At(s)
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			if to := int(k.Next[e]); to < n {
				a.Set(to, s, a.At(to, s)-k.Prob[e])
			}
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, right); err != nil {
		t.Fatal(err)
	}
	for s := range n {
		if want := x.AtVec(s); !(math.Abs(seen(s)-want) <= 1e-9*(1+want)) {
			t.Errorf("%.15g visits of state %d: want %.15g", seen(s), s, want)
		}
	}
}

// TestLargeGrid walks over a grid of 16,900 cells, with waits at the walls and without. There are 258 steps to
// go, and each takes 1/0.7 tries.
func TestLargeGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const want = 258 / 0.7
	for _, waits := range []bool{false, true} {
		m := grid{width: 130, height: 130, ahead: 0.7, waits: waits}.model(t, rand.New(rand.NewPCG(1, 1)))
		box, err := geometry.NewBox([]float64{0, 0}, []float64{1e6, 1e6})
		if err != nil {
			t.Fatal(err)
		}
		goal, err := cost.NewLinear([]float64{1, 0.5}, box)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(t.Context(), m, cmdp.Task{Cost: goal}, Options{Gap: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Optimal || !(math.Abs(r.Objective-want) <= 1e-8*want) || !(r.Bound <= want*(1+1e-12)) ||
			!(r.Bound >= want*(1-1e-5)) {
			t.Errorf("waits %v: %v with %.15g and the bound %.15g: want %.15g", waits, r.Status, r.Objective, r.Bound,
				want)
		}
	}
}
