package query

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
)

// drawWorst draws a small problem with a horizon, of two returns, limits on their means and on the means of
// their worst episodes.
func drawWorst(t *testing.T, rng *rand.Rand) *problem.Problem {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for s := range 3 {
		for a := range 2 + rng.IntN(2) {
			next := rng.IntN(3)
			to := []cmdp.Transition{{Next: next, Probability: 0.5}, {Next: (next + 1) % 3, Probability: 0.5}}
			r := []float64{float64(rng.IntN(4)), float64(rng.IntN(4))}
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: to}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p := &problem.Problem{Model: m, Returns: []string{"a", "b"}}
	share := []float64{0.1, 0.3, 0.5}[rng.IntN(3)]
	for i := range 3 + rng.IntN(2) {
		x, of := float64(rng.IntN(11))/2, p.Returns[rng.IntN(2)]
		c := problem.Limit{Return: of}
		if i < 2 {
			c.CVaR = &share
		}
		if rng.IntN(2) == 0 {
			c.AtMost = &x
		} else {
			c.AtLeast = &x
		}
		p.Constraints = append(p.Constraints, c)
	}
	return p
}

// impossible reports whether no thresholds of the worst episodes allow a policy that keeps some constraints of
// a problem, which is compiled anew with these alone.
func impossible(t *testing.T, p *problem.Problem, some []int) bool {
	t.Helper()
	fewer := *p
	fewer.Constraints = nil
	for _, i := range some {
		fewer.Constraints = append(fewer.Constraints, p.Constraints[i])
	}
	q, err := New(t.Context(), &fewer, CompileOptions{})
	if err != nil {
		return true // they contradict each other
	}
	none := true
	err = q.EachThreshold(t.Context(), func(at *Query) error {
		r, err := exact.Solve(t.Context(), at.Model, at.Task, exact.Options{Workers: 1})
		none = none && (err != nil || r.Status == exact.Infeasible)
		return err
	})
	return none && err == nil
}

// TestConflictAtNoThreshold: where no thresholds of the worst episodes allow a policy, a conflict is named,
// which there is at all of them, and no longer without any one of its limits.
func TestConflictAtNoThreshold(t *testing.T) {
	infeasible, elsewhere := 0, 0
	for trial := range 120 {
		p := drawWorst(t, rand.New(rand.NewPCG(uint64(trial), 29)))
		all := make([]int, len(p.Constraints))
		for i := range all {
			all[i] = i
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if err != nil || !impossible(t, p, all) {
			continue
		}
		infeasible++
		q, err = q.Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		planner, err := q.Planner()
		if err != nil {
			t.Fatal(err)
		}
		here, err := planner.Conflict(t.Context(), q.Task, nil, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := q.Conflict(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var in, first []int
		for _, c := range found {
			in = append(in, c.Limit.Constraint)
		}
		for _, row := range here.Rows {
			first = append(first, q.Rows()[row].Constraint)
		}
		if !slices.Equal(in, first) {
			elsewhere++
		}
		if len(in) == 0 || !impossible(t, p, in) {
			t.Errorf("trial %d: conflict %v of %v: want one", trial, in, p.Constraints)
		}
		for i := range in {
			if fewer := slices.Delete(slices.Clone(in), i, i+1); len(fewer) > 0 && impossible(t, p, fewer) {
				t.Errorf("trial %d: conflict %v of %v: %v is one", trial, in, p.Constraints, fewer)
			}
		}
	}
	if infeasible < 30 || elsewhere == 0 {
		t.Errorf("%d infeasible problems, of which %d have another conflict at some thresholds: want more", infeasible,
			elsewhere)
	}
	t.Log(infeasible, elsewhere)
}

// TestConflictOfManyThresholds: limits on a mean and on the worst episodes of a return are in conflict in any unit of
// it, though in small ones, whose totals may begin the worst episodes at more values than are tried, it stays open how
// little is enough.
func TestConflictOfManyThresholds(t *testing.T) {
	for _, unit := range []float64{1, 0.5, 0.25, 0.1, 1e-6} {
		text := fmt.Appendf(nil, `{format: cmdp/1, discount: 1, states: 2, start: 0, returns: [r], goal: {minimize: r},
  transitions: [{state: 0, action: go, next: {0: 1}, returns: [%g]}, {state: 0, action: stop, next: {1: 1}}],
  constraints: [{return: r, at_least: 6}, {return: r, at_most: %g, cvar: 0.5}]}`, unit, 2*unit)
		p, err := problem.Parse("p.yaml", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if err == nil {
			q, err = q.Best(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := q.Conflict(t.Context(), exact.Options{})
		if err != nil || len(found) != 2 {
			t.Errorf("unit %g: conflict %v, error %v: want both limits", unit, found, err)
			continue
		}
		for _, c := range found {
			many := unit == 1e-6 && c.Limit.Scope == WorstEpisodes
			if !(c.Give >= c.Least) || many != (c.Give > c.Least) || !many && c.Limit.Scope == WorstEpisodes &&
				math.Abs(c.Needed-6) > 1e-6 {
				t.Errorf("unit %g: %s would have to be %g, and gives %g to %g", unit, c.Limit.Name, c.Needed, c.Least, c.Give)
			}
		}
	}
}

// TestLeastWithUndecidedThresholds: the least of optima at all thresholds is not known where nothing is decided at
// one of them.
func TestLeastWithUndecidedThresholds(t *testing.T) {
	q := parsed(t, `{format: cmdp/1, discount: 1, states: 2, start: 0, returns: [paid, going], transitions: [
		{state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 0]},
		{state: 1, action: stay, next: {1: 1}, returns: [0, 1]}], constraints: [{return: paid, at_most: 3, cvar: 0.5}]}`)
	least, floor, possible, err := anyThresholds{q, t.Context()}.least(math.Inf(1), func(at *Query) (cmdp.Task, error) {
		gradient := make([]float64, len(at.Returns))
		gradient[0] = 1
		if at.Of(WorstEpisodes)[0].Threshold == 1 {
			gradient[1] = 1
		}
		c, err := cost.NewLinear(gradient, at.Task.Box)
		return cmdp.Task{Cost: c, Box: at.Task.Box}, err
	}, func(_ []float64, optimum float64) float64 { return optimum })
	if err != nil || !possible || math.Abs(least-2) > 1e-6 || !math.IsInf(floor, -1) {
		t.Errorf("least %g, at least %g, possible %v, error %v: want 2, and nothing that it is at least", least, floor,
			possible, err)
	}
}

// TestNeededInConflicts: what a limit or a target is said to have to give is enough beside all the others, and less
// is not. Where nothing is said nothing is enough.
func TestNeededInConflicts(t *testing.T) {
	given, never, targets, ofTargets := 0, 0, 0, 0
	for trial := range 80 {
		rng := rand.New(rand.NewPCG(uint64(trial), 43))
		p := drawWorst(t, rng)
		p.Constraints = p.Constraints[1+rng.IntN(2):]
		if trial%4 == 0 {
			p.Target = &problem.Set{Ball: &problem.Ball{Center: []float64{float64(rng.IntN(8)), float64(rng.IntN(8))},
				Radius: 0.5}}
		}
		var sides []*problem.Halfspace
		if trial%2 == 1 { // of two returns, and with a ball one limit as a whole
			p.Target = &problem.Set{}
			for range 2 {
				normal := []float64{float64(1 - 2*rng.IntN(2)), float64(2 - 4*rng.IntN(2))}
				sides = append(sides, &problem.Halfspace{Normal: problem.Coefficients{List: normal},
					Offset: normal[0]*6*rng.Float64() + normal[1]*6*rng.Float64()})
				p.Target.Intersection = append(p.Target.Intersection, &problem.Set{Halfspace: sides[len(sides)-1]})
			}
			if trial%4 == 1 {
				p.Target.Intersection = append(p.Target.Intersection,
					&problem.Set{Ball: &problem.Ball{Center: []float64{float64(rng.IntN(6)), 3}, Radius: 1}})
			}
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if err != nil {
			continue
		}
		if q, err = q.Best(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := q.Conflict(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, len(p.Constraints))
		for i := range all {
			all[i] = i
		}
		if len(found) == 0 && impossible(t, p, all) {
			t.Errorf("trial %d: no conflict of %v and %v", trial, q.Limits, p.Target)
		}
		if len(found) > 0 {
			more, err := anyThresholds{q, t.Context()}.conflict()
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, more...)
		}
		for _, c := range found {
			said := func(what string) {
				name := "the target"
				if c.Limit != nil {
					name = c.Limit.Name
				}
				t.Errorf("trial %d: %s, needed %g, gives %g: %s", trial, name, c.Needed, c.Give, what)
			}
			// with is the problem whose limit, or target, has a bound more, or one less by a little.
			with := func(more float64) bool {
				of := *p
				of.Constraints = slices.Clone(p.Constraints)
				if c.Limit == nil {
					of.Target = &problem.Set{Inflate: &problem.Inflate{Set: p.Target, Radius: c.Give + more}}
				} else if c.Limit.Scope == OfTarget {
					ofTargets++
					i := slices.IndexFunc(sides, func(h *problem.Halfspace) bool { return h.Offset == c.Limit.Bound })
					of.Target = &problem.Set{Intersection: slices.Clone(p.Target.Intersection)}
					of.Target.Intersection[i] = &problem.Set{Halfspace: &problem.Halfspace{Normal: sides[i].Normal,
						Offset: c.Needed + more}}
				} else if l := &of.Constraints[c.Limit.Constraint]; c.Limit.AtLeast {
					l.AtLeast = new(c.Needed - more)
				} else {
					l.AtMost = new(c.Needed + more)
				}
				return !impossible(t, &of, all)
			}
			const little, clear = 1e-6, 1e-3
			switch {
			case math.IsNaN(c.Give):
				never++
				c.Needed, c.Give = 0, 0
				if with(1e3) {
					said("but much is enough")
				}
				continue
			case c.Limit == nil:
				targets++
			case math.Abs(math.Abs(c.Needed-c.Limit.Bound)-c.Give) > 1e-9:
				said("which differ")
			}
			given++
			if !(c.Least <= c.Give && c.Least >= c.Give-little) {
				said(fmt.Sprintf("and %g at least", c.Least))
			}
			if !with(little) {
				said("that is not enough")
			}
			if c.Give > 2*clear && with(-clear) {
				said("less is enough")
			}
		}
	}
	if given < 20 || never < 3 || targets < 3 || ofTargets < 6 {
		t.Errorf("%d have to give, %d of them targets and %d sides of these, %d without end: want more", given, targets,
			ofTargets, never)
	}
	t.Log(given, never, targets, ofTargets)
}

// TestFewest draws sets that clash, with all that hold them, and in some trials sets of which nothing is known. What
// is named clashes, is not known to without any one of it, and is one limit or two where there are such. It is said
// whether something is not known of it.
func TestFewest(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 54))
	for trial := range 300 {
		all := make([]*Limit, 2+rng.IntN(5))
		for i := range all {
			all[i] = &Limit{Constraint: i}
		}
		var cores []int // as bits
		for range 1 + rng.IntN(3) {
			cores = append(cores, 1+rng.IntN(1<<len(all)-1))
		}
		clashes := func(set int) bool {
			return slices.ContainsFunc(cores, func(core int) bool { return core&set == core })
		}
		bitsOf := func(some []*Limit) (set int) {
			for _, l := range some {
				set |= 1 << l.Constraint
			}
			return set
		}
		unknown := make(map[int]bool)
		for range trial % 2 * rng.IntN(20) {
			unknown[rng.IntN(1<<len(all)-1)] = true
		}
		judge := func(set int) exact.Verdict {
			switch {
			case unknown[set]:
				return exact.Undecided
			case clashes(set):
				return exact.Infeasible
			}
			return exact.Optimal
		}
		found, undecided := fewest(all, func(some []*Limit) exact.Verdict { return judge(bitsOf(some)) })
		least := len(all)
		for _, core := range cores {
			least = min(least, bits.OnesCount(uint(core)))
		}
		minimal, open, doubt := judge(bitsOf(found)) == exact.Infeasible, false, false
		for _, l := range found {
			rest := bitsOf(found) &^ (1 << l.Constraint)
			minimal = minimal && (judge(rest) != exact.Infeasible || len(found) == 1)
			if judge(rest) != exact.Undecided || len(found) == 1 {
				continue
			}
			open = true
			kept := false // with more limits, which says that it is kept
			for set := range 1 << len(all) {
				kept = kept || set&rest == rest && judge(set) == exact.Optimal
			}
			doubt = doubt || !kept
		}
		if !minimal || doubt && !undecided || undecided && !open ||
			len(unknown) == 0 && least <= 2 && len(found) != least {
			t.Errorf("trial %d: %b of %b, undecided %v, without %v", trial, bitsOf(found), cores, undecided, unknown)
		}
	}
}
