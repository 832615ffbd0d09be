package robust_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/robust"
)

// TestNotDefined: nature must not be able to keep a total from ending, or a mean from being one number.
func TestNotDefined(t *testing.T) {
	kernel := func(p float64) cmdp.Kernel {
		return cmdp.Kernel{First: []int32{0, 1, 2, 2}, Offset: []int{0, 2, 4}, Next: []int32{1, 2, 0, 2},
			Prob: []float64{p, 1 - p, p, 1 - p}, Returns: []float64{1, 1}}
	}
	for _, x := range []struct {
		least   float64
		defined bool
	}{{0, false}, {0.01, true}} {
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{kernel(0.5)}})
		if err != nil {
			t.Fatal(err)
		}
		iv, err := cmdp.NewIntervals(m,
			func(_, c int) ([]float64, []float64) { return []float64{0, x.least}, []float64{1, 1} })
		if err != nil {
			t.Fatal(err)
		}
		set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		b, err := set.Evaluate(t.Context(), cmdp.Deterministic{{0, 0, 0}})
		var no *robust.NotDefinedError
		switch {
		case x.defined && (err != nil || math.Abs(b.Greatest[0]-1/x.least) > 1e-9/x.least ||
			math.Abs(b.Least[0]-1) > 1e-9):
			t.Errorf("total between %v, error %v: want 1 to %g", b, err, 1/x.least)
		case !x.defined && (!errors.As(err, &no) || !no.Zero || no.Mean):
			t.Errorf("error %v: want one about a lower bound of 0", err)
		}
	}
}

// TestDefinedWhereCornersAre: over the models whose probabilities are corners, a total of steps, each of which counts
// 1, is defined if and only if it is finite in all of them, and a long-run mean if and only if all of them come back to
// the same states for ever.
func TestDefinedWhereCornersAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	count := make(map[bool]int)
	for i := range 120 {
		sh := shape{states: 3, actions: 1, successors: 3, discount: 1, width: 0.3 + 0.5*rng.Float64()}
		c := newCase(t, rng, sh, false)
		k := *c.model.Kernel(0)
		k.Returns = slices.Repeat([]float64{1}, len(k.Returns))
		spec := cmdp.ModelSpec{Discount: 1, Dim: 2, Start: c.model.StartStates(), Kernels: []cmdp.Kernel{k}}
		if i%2 == 1 {
			spec.Discount, spec.Average = 0, true
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		c.model = m
		set, err := robust.New(robust.Spec{Model: m, Intervals: c.iv})
		if err != nil {
			t.Fatal(err)
		}
		policy, defined := randomPolicy(t, rng, m, 1), true
		if spec.Average {
			defined = c.comesBack(t, policy)
		} else {
			c.corners(t, func(m *cmdp.Model) {
				defined = defined && !math.IsInf(returnsOf(t, m, policy)[0], 0)
			})
		}
		_, err = set.Evaluate(t.Context(), policy)
		var no *robust.NotDefinedError
		if err != nil && (!errors.As(err, &no) || no.Mean != spec.Average) || (err == nil) != defined {
			t.Errorf("case %d: %v: defined by the corners: %v", i, err, defined)
		}
		if _, err := set.EvaluateDrawn(t.Context(), []robust.Drawn{{Policy: policy}}); err != nil {
			t.Errorf("case %d: a policy with weight 0: %v", i, err)
		}
		count[defined]++
	}
	if count[true] < 20 || count[false] < 20 {
		t.Errorf("defined or not: %v: want both", count)
	}
}

// loosen lets nature do anything with one choice of some states.
func (c *randomCase) loosen(t *testing.T, rng *rand.Rand) {
	t.Helper()
	loose := make([]bool, len(c.model.Kernel(0).Offset)-1)
	for s := range c.model.States() {
		if first, end := c.model.Rows(0).Choices(s); first < end {
			loose[first+rng.IntN(end-first)] = rng.IntN(2) == 0
		}
	}
	c.replaceIntervals(t, func(_, choice int) (lower, upper []float64) {
		lower, upper = c.iv.Row(0, choice)
		if lower != nil && loose[choice] {
			lower, upper = make([]float64, len(lower)), slices.Repeat([]float64{1}, len(upper))
		}
		return lower, upper
	})
}

// boundsOf returns the bounds of those policies whose returns are defined. Of others the error names a choice.
func (c *randomCase) boundsOf(t *testing.T, policies []cmdp.Policy) (bounds []robust.Bounds) {
	t.Helper()
	what := map[bool]string{false: "the total", true: "the long-run mean"}[c.model.Average()]
	for _, p := range policies {
		b, err := c.set.Evaluate(t.Context(), p)
		if err == nil {
			bounds = append(bounds, b)
			continue
		}
		var no *robust.NotDefinedError
		if !errors.As(err, &no) {
			t.Fatal(err)
		}
		for _, at := range no.At {
			first, end := c.model.Rows(0).Choices(at.State)
			if probs := make([]float64, end-first); at.Choice < end-first {
				p.Distribution(probs, 0, at.State)
				if probs[at.Choice] == 0 {
					t.Errorf("%v: the policy does not take state %d, choice %d", err, at.State, at.Choice)
				}
				continue
			}
			t.Errorf("%v: state %d has %d choices", err, at.State, end-first)
		}
		at := fmt.Sprintf("%s is not defined in every model of the set: state %d, choice %d", what, no.At[0].State,
			no.At[0].Choice)
		if no.Mean != c.model.Average() || !strings.HasSuffix(err.Error(), at) {
			t.Errorf("error %v: want %s", err, at)
		}
	}
	return bounds
}

// bestAlone returns the least cost of one policy that keeps a limit.
func bestAlone(of []robust.Bounds, limit float64) float64 {
	least := math.Inf(1)
	for _, b := range of {
		if b.Greatest[1] <= limit {
			least = math.Min(least, b.Greatest[0])
		}
	}
	return least
}

// TestSolveWhereSomeAreDefined plans for sets in which returns of some policies are not defined. All stationary
// policies that never draw are tried: none that is defined is better than the plan, or where the plan is not the best
// than its bound, and where there is none what nature does is said.
func TestSolveWhereSomeAreDefined(t *testing.T) {
	for _, x := range criteria[2:] {
		rng := rand.New(rand.NewPCG(15, 19))
		some, none, worse := 0, 0, 0
		for i := range 90 {
			c := endlessCase(t, rng, x.discount, x.average, i%3 == 0)
			c.loosen(t, rng)
			all := c.deterministicPolicies()
			bounds := c.boundsOf(t, all)
			limit, far := 1e5, 1e6
			if len(bounds) > 0 {
				limit = bounds[rng.IntN(len(bounds))].Greatest[1] + 1e-3*float64(i%2)
			}
			c.wanted(t, limit, []float64{-far, -far}, []float64{far, far})
			r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
			if len(bounds) == 0 {
				var no *robust.NotDefinedError
				if none++; !x.average && !errors.As(err, &no) {
					t.Errorf("%s, case %d: %v, error %v, where no policy has returns", x.name, i, r, err)
				}
				continue
			}
			var no *robust.NotDefinedError
			if errors.As(err, &no) && x.average { // the search does not look for one that is
				worse++
				continue
			}
			if err != nil && strings.Contains(err.Error(), "has no bound in one of the models") {
				continue
			}
			if err != nil {
				t.Errorf("%s, case %d: %v", x.name, i, err)
				continue
			}
			if len(bounds) < len(all) {
				some++
			}
			best := bestMixture(bounds, limit)
			if x.average { // a draw would go on for ever
				best = bestAlone(bounds, limit)
			}
			room := 1e-7 * math.Max(1, math.Abs(best))
			if r.Status == robust.Infeasible || best+constant < r.Bound-room {
				t.Errorf("%s, case %d: %v, bound %g: a policy has at most %g", x.name, i, r.Status, r.Bound, best+constant)
				continue
			}
			if r.Status == robust.Undecided || best+constant < r.Objective-room {
				worse++
			}
			if r.Status != robust.Undecided {
				c.checkStationary(t, rng, i, r, limit)
			}
			if err := robust.Verify(t.Context(), c.set, c.task, r); err != nil {
				t.Errorf("%s, case %d: %v", x.name, i, err)
			}
		}
		t.Log(x.name, some, none, worse)
		if worse > 6 || worse > 1 && !x.average || some < 10 {
			t.Errorf("%s: %d sets with some policies that are not defined, %d plans worse than a policy", x.name, some, worse)
		}
	}
}

// TestOrderInClass: whether a long-run mean is defined does not depend on which state of a class nature can avoid for
// ever, nor on the place of those that it cannot.
func TestOrderInClass(t *testing.T) {
	for states := 2; states < 6; states++ {
		for home := range states { // all others may stay where they are, or go there
			c, k := &randomCase{}, cmdp.NewKernel()
			var lower, upper [][]float64
			for s := range states {
				to, p := []int32{int32(s), int32(home)}, []float64{0.5, 0.5}
				low, high := []float64{0, 0.25}, []float64{0.75, 1}
				if s == home {
					to, p, low, high = nil, nil, nil, nil
					for i := range states {
						if i != home {
							to, p = append(to, int32(i)), append(p, 1/float64(states-1))
						}
					}
					low, high = make([]float64, len(p)), slices.Repeat([]float64{1}, len(p))
				}
				k.Append(to, p, []float64{float64(s - home)})
				k.EndState()
				lower, upper = append(lower, low), append(upper, high)
			}
			var err error
			c.model, err = cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: 1,
				Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{k}})
			if err == nil {
				c.iv, err = cmdp.NewIntervals(c.model, func(_, a int) (l, u []float64) { return lower[a], upper[a] })
			}
			if err != nil {
				t.Fatal(err)
			}
			c.set, err = robust.New(robust.Spec{Model: c.model, Intervals: c.iv})
			if err != nil {
				t.Fatal(err)
			}
			b, err := c.set.Evaluate(t.Context(), exactPolicy(rand.New(rand.NewPCG(1, 2)), c.model))
			want := 0.8 * float64(states-1-home) // nature lets the last state stay as long as it can: 4 steps of 5
			if err != nil || home < states-1 && math.Abs(b.Greatest[0]-want) > 1e-9 {
				t.Errorf("%d states, back to %d: %v, %v: want %g", states, home, b, err, want)
			}
		}
	}
}

// comesBack reports whether, of the states that lead to each other and nowhere else where every successor that may come
// up does, each set has one that no corner avoids for ever, and whether all corners come to one of these sets.
func (c *randomCase) comesBack(t *testing.T, policy cmdp.Policy) bool {
	t.Helper()
	var ends [][]bool // sets of states that corners do not leave
	all := make([][]bool, c.model.States())
	for s := range all {
		all[s] = make([]bool, len(all))
	}
	c.corners(t, func(m *cmdp.Model) {
		leads := reaches(m, policy)
		for s, to := range leads {
			for n, x := range to {
				all[s][n] = all[s][n] || x
			}
		}
		ends = append(ends, closed(leads)...)
	})
	closure(all)
	began := make([]bool, len(all))
	for _, st := range c.model.StartStates() {
		for n, x := range all[st.State] {
			began[n] = began[n] || x
		}
	}
	classes := closed(all)
	kept := make([][]bool, len(classes)) // states of the class in all ends that are in it
	for i, class := range classes {
		kept[i] = slices.Clone(class)
	}
	for _, end := range ends {
		s := slices.Index(end, true)
		i := slices.IndexFunc(classes, func(class []bool) bool { return class[s] })
		if !began[s] {
			continue
		}
		if i < 0 {
			return false
		}
		for n := range kept[i] {
			kept[i][n] = kept[i][n] && end[n]
		}
	}
	for i, class := range classes {
		if began[slices.Index(class, true)] && !slices.Contains(kept[i], true) {
			return false
		}
	}
	return true
}

// reaches says of each state which ones a policy comes to from it, itself included.
func reaches(m *cmdp.Model, policy cmdp.Policy) [][]bool {
	leads := make([][]bool, m.States())
	for s := range leads {
		leads[s] = make([]bool, m.States())
		leads[s][s] = true
		first, end := m.Rows(0).Choices(s)
		probs := make([]float64, end-first)
		if first < end {
			policy.Distribution(probs, 0, s)
		}
		for a, x := range probs {
			next, prob := m.Rows(0).Row(first + a)
			for i, n := range next {
				leads[s][n] = leads[s][n] || x*prob[i] > 0
			}
		}
	}
	closure(leads)
	return leads
}

// closure adds what is led to by what is led to (Warshall 1962).
func closure(leads [][]bool) {
	for k := range leads {
		for s := range leads {
			for n := range leads {
				leads[s][n] = leads[s][n] || leads[s][k] && leads[k][n]
			}
		}
	}
}

// closed lists the sets of states that lead to each other and nowhere else.
func closed(leads [][]bool) (sets [][]bool) {
	for s, to := range leads {
		first, back := slices.Index(to, true), true
		for n, x := range to {
			back = back && (!x || leads[n][s])
		}
		if back && first == s {
			sets = append(sets, to)
		}
	}
	return sets
}

// TestAllNotDefined: every choice by which nature keeps a total from ending is named, those near the end first.
func TestAllNotDefined(t *testing.T) {
	const n = 4
	k := cmdp.NewKernel()
	for s := range n {
		k.Append([]int32{int32(s), int32(s + 1)}, []float64{0.5, 0.5}, []float64{1})
		k.EndState()
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.NewIntervals(m, func(_, c int) ([]float64, []float64) {
		return []float64{0, []float64{0.1, 0, 0.1, 0}[c]}, []float64{1, 1}
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.Evaluate(t.Context(), cmdp.Deterministic{make([]int32, n+1)})
	var no *robust.NotDefinedError
	if !errors.As(err, &no) || !slices.Equal(no.At, []robust.StateChoice{{State: 3}, {State: 1}}) {
		t.Errorf("%v, at %+v: want states 3 and 1", err, no)
	}
}
