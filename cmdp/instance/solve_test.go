package instance

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// mustNew builds the problem of a spec.
func mustNew(t testing.TB, spec string) *problem.Problem {
	t.Helper()
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// optimal returns a deterministic policy that minimises ⟨dir, V⟩, by backward
// induction.
func optimal(m *cmdp.Model, dir []float64) cmdp.Deterministic {
	policy := make(cmdp.Deterministic, m.Horizon())
	next := make([]float64, m.States())
	for h := m.Horizon() - 1; h >= 0; h-- {
		k, now := m.Kernel(h).Plain(m.Dim()), make([]float64, m.States())
		policy[h] = make([]int32, m.States())
		for s := range now {
			first, end := int(k.First[s]), int(k.First[s+1])
			if first == end {
				now[s] = next[s]
				continue
			}
			now[s] = math.Inf(1)
			for c := first; c < end; c++ {
				q := 0.0
				for i, x := range dir {
					q += x * k.Returns[c*len(dir)+i]
				}
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					q += k.Prob[e] * next[k.Next[e]]
				}
				if q < now[s] {
					now[s], policy[h][s] = q, int32(c-first)
				}
			}
		}
		next = now
	}
	return policy
}

// extreme returns the return vector of a policy that minimises ⟨dir, V⟩.
func extreme(m *cmdp.Model, dir []float64) []float64 {
	v := make([]float64, m.Dim())
	cmdp.NewEvaluator(m).Returns(v, optimal(m, dir))
	return v
}

// A limit is the constraint V[coordinate] ≤ bound.
type limit struct {
	coordinate int
	bound      float64
}

// asked returns the coordinate of the goal, its sign (+1 to minimise), and the
// constraints.
func asked(t testing.TB, p *problem.Problem) (goal int, sign float64, limits []limit) {
	t.Helper()
	index := func(name string) int {
		for i, r := range p.Returns {
			if r == name {
				return i
			}
		}
		t.Fatalf("%s: no return is named %q", p.Name, name)
		return -1
	}
	for _, c := range p.Constraints {
		if c.AtMost == nil || c.AtLeast != nil {
			t.Fatalf("%s: constraint on %s is no upper bound", p.Name, c.Return)
		}
		limits = append(limits, limit{index(c.Return), *c.AtMost})
	}
	if p.Goal.Maximize != "" {
		return index(p.Goal.Maximize), -1, limits
	}
	return index(p.Goal.Minimize), 1, limits
}

// goalDirection is the direction of the goal alone.
func goalDirection(t testing.TB, p *problem.Problem) []float64 {
	dir := make([]float64, p.Model.Dim())
	goal, sign, _ := asked(t, p)
	dir[goal] = sign
	return dir
}

// cautiousVector is the return vector of a policy that minimises the sum of the
// constrained returns.
func cautiousVector(t testing.TB, p *problem.Problem) []float64 {
	dir := make([]float64, p.Model.Dim())
	_, _, limits := asked(t, p)
	for _, l := range limits {
		dir[l.coordinate] = 1
	}
	return extreme(p.Model, dir)
}

// lagrangian returns the value of the dual function at the prices, a lower bound
// on sign·goal over the policies that keep the limits.
func lagrangian(t testing.TB, p *problem.Problem, prices []float64) float64 {
	dir := goalDirection(t, p)
	_, _, limits := asked(t, p)
	for j, l := range limits {
		dir[l.coordinate] += prices[j]
	}
	v, sum := extreme(p.Model, dir), 0.0
	for i, x := range dir {
		sum += x * v[i]
	}
	for j, l := range limits {
		sum -= prices[j] * l.bound
	}
	return sum
}

// constrained returns the best sign·goal over the policies that keep the limits,
// by strong duality: it maximises the concave dual function coordinate within
// coordinate. Some policy must keep every limit with the slack given.
func constrained(t testing.TB, p *problem.Problem, slack float64) float64 {
	goal, sign, limits := asked(t, p)
	best, worst := extreme(p.Model, goalDirection(t, p))[goal]*sign, cautiousVector(t, p)[goal]*sign
	largest := (worst - best + 1) / slack // no price exceeds it
	prices := make([]float64, len(limits))
	var over func(j int) float64
	over = func(j int) float64 {
		if j == len(prices) {
			return lagrangian(t, p, prices)
		}
		return golden(0, largest, func(x float64) float64 {
			prices[j] = x
			return over(j + 1)
		})
	}
	return over(0)
}

// golden returns the maximum of a concave function by golden-section search.
func golden(low, high float64, f func(float64) float64) float64 {
	const ratio = 0.6180339887498949
	x, y := high-ratio*(high-low), low+ratio*(high-low)
	fx, fy := f(x), f(y)
	best := max(f(low), fx, fy)
	for range 55 {
		if fx >= fy {
			high, y, fy = y, x, fx
			x = high - ratio*(high-low)
			fx = f(x)
		} else {
			low, x, fx = x, y, fy
			y = low + ratio*(high-low)
			fy = f(y)
		}
		best = max(best, fx, fy)
	}
	return best
}

// successors returns the distribution of the successor of an action and its
// expected returns.
func successors(t testing.TB, p *problem.Problem, state int, action string) (map[int]float64, []float64) {
	t.Helper()
	m := p.Model
	k := m.Kernel(0).Plain(m.Dim())
	for c := int(k.First[state]); c < int(k.First[state+1]); c++ {
		if p.Actions[0][c] != action {
			continue
		}
		next := make(map[int]float64)
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			next[int(k.Next[e])] += k.Prob[e]
		}
		return next, k.Returns[c*m.Dim() : (c+1)*m.Dim()]
	}
	t.Fatalf("%s: state %d has no action %s", p.Name, state, action)
	return nil, nil
}

// stateNamed returns the number of a state.
func stateNamed(t testing.TB, p *problem.Problem, name string) int {
	t.Helper()
	for s, n := range p.States {
		if n == name {
			return s
		}
	}
	t.Fatalf("%s: no state is named %s", p.Name, name)
	return -1
}

func near(x, y, tol float64) bool { return math.Abs(x-y) <= tol*max(1, math.Abs(y)) }

// checkChoice compares a choice with what its definition says.
func checkChoice(t *testing.T, p *problem.Problem, state int, action string, next map[int]float64, returns ...float64) {
	t.Helper()
	got, values := successors(t, p, state, action)
	if len(got) != len(next) {
		t.Errorf("%s, state %d, %s: successors %v, want %v", p.Name, state, action, got, next)
	}
	for s, want := range next {
		if !near(got[s], want, 1e-15) {
			t.Errorf("%s, state %d, %s: successors %v, want %v", p.Name, state, action, got, next)
		}
	}
	for i, want := range returns {
		if !near(values[i], want, 1e-14) {
			t.Errorf("%s, state %d, %s: returns %v, want %v", p.Name, state, action, values, returns)
		}
	}
}
