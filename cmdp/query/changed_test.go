package query

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// An askedLimit is a constraint of the walk, on one side or on both.
type askedLimit struct {
	kind         string // "mean", "chance", "always" or "worst"
	of           string // gain or much
	least, most  float64
	below, above bool    // whether there is a bound from below, from above
	level        float64 // the probability of a chance, the share of the worst
}

func (l askedLimit) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{return: %s", l.of)
	if l.below {
		fmt.Fprintf(&b, ", at_least: %v", l.least)
	}
	if l.above {
		fmt.Fprintf(&b, ", at_most: %g", l.most)
	}
	switch l.kind {
	case "chance":
		fmt.Fprintf(&b, ", probability: %g", l.level)
	case "always":
		b.WriteString(", always: true")
	case "worst":
		fmt.Fprintf(&b, ", cvar: %g", l.level)
	}
	return b.String() + "}"
}

// An oneSided is a side of a constraint as a bound on the mean of f, by what a Limit says of it.
type oneSided struct {
	kind, name string // of the return that is bounded
	atLeast    bool
	bound      float64
	share      float64 // of the worst episodes
	meanBound
}

// sides returns the sides of constraints, each with its lower bound before its upper one. Thresholds are those
// of the worst episodes, in their order.
func sides(list []askedLimit, thresholds []float64) (all []oneSided) {
	worst := 0
	for _, l := range list {
		f := map[string]func(float64) float64{"gain": func(x float64) float64 { return x }, "much": much}[l.of]
		for _, atLeast := range []bool{true, false} {
			bound, sign := l.most, 1.0
			if atLeast {
				bound, sign = l.least, -1
			}
			if atLeast && !l.below || !atLeast && !l.above {
				continue
			}
			s := oneSided{kind: l.kind, atLeast: atLeast}
			switch l.kind {
			case "mean":
				s.name, s.bound = l.of, bound
				s.meanBound = meanBound{func(x float64) float64 { return sign * f(x) }, sign * bound}
			case "worst":
				s.name, s.bound, s.share = fmt.Sprintf("mean of the worst %g%% of gain", 100*l.level), bound, l.level
				at := thresholds[worst]
				s.meanBound = meanBound{func(x float64) float64 { return max(0, sign*(x-at)) },
					l.level * sign * (bound - at)}
				worst++
			default: // the chance of breaking the bound
				rest := 1 - l.level
				if decimal := math.Round(1000*rest) / 1000; math.Abs(decimal-rest) < 1e-12 {
					rest = decimal
				}
				if l.kind == "always" {
					rest = 0
				}
				s.name, s.bound = fmt.Sprintf("P(gain > %g)", bound), rest
				s.meanBound = meanBound{func(x float64) float64 { return indicate(sign*(x-bound) > 0) }, rest}
				if atLeast {
					s.name, s.bound = fmt.Sprintf("P(gain ≥ %g)", bound), l.level
				}
				if l.kind == "always" {
					s.name, s.bound = "gain", bound
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// mostGain returns the most gain within constraints over all mixtures of policies that remember all, −Inf if
// none keeps them: the best over all totals as thresholds of the worst episodes, or at given ones.
func mostGain(t *testing.T, plays []map[float64]float64, list []askedLimit, at []float64) float64 {
	t.Helper()
	return -leastOf(t, plays, func(x float64) float64 { return -x }, list, at)
}

// leastOf is the least mean of f within constraints, +Inf if none keeps them, see mostGain.
func leastOf(t *testing.T, plays []map[float64]float64, f func(total float64) float64, list []askedLimit,
	at []float64) float64 {
	t.Helper()
	choices := [][]float64{at}
	if at == nil {
		choices = [][]float64{nil}
		for _, l := range list {
			if l.kind != "worst" {
				continue
			}
			var more [][]float64
			for _, c := range choices {
				for x := range 9 {
					more = append(more, append(slices.Clone(c), float64(x)))
				}
			}
			choices = more
		}
	}
	least := math.Inf(1)
	for _, thresholds := range choices {
		var bounds []meanBound
		for _, s := range sides(list, thresholds) {
			bounds = append(bounds, s.meanBound)
		}
		least = min(least, mixture(t, plays, f, bounds))
	}
	return least
}

// drawLimits draws constraints, also several about the same chance or the same share of the worst.
func drawLimits(rng *rand.Rand) (list []askedLimit) {
	thousandths := func(least,
		most float64) float64 {
		return math.Round(1000*(least+(most-least)*rng.Float64())) / 1000
	}
	kinds := []string{"mean", "mean", "mean", "chance", "chance", "always", "worst", "worst"}
	for _, kind := range kinds[:len(kinds)-2*rng.IntN(2)] {
		if rng.IntN(5) > 1 && (kind != "worst" || rng.IntN(5) > 0) {
			continue
		}
		l := askedLimit{kind: kind, of: "gain"}
		l.below, l.above = rng.IntN(2) == 0, rng.IntN(2) == 0
		if kind == "chance" || kind == "worst" || !l.above {
			l.below = !l.above
		}
		switch kind {
		case "mean":
			l.least, l.most = thousandths(1.8, 3), thousandths(3, 4.2)
			if rng.IntN(2) == 0 {
				l.of = "much"
				l.least, l.most = thousandths(0, 0.1), thousandths(0.1, 0.4)
			}
		case "chance":
			l.least, l.most, l.level = float64(rng.IntN(3)), float64(3+rng.IntN(4)), thousandths(0.7, 0.99)
		case "always":
			l.least, l.most = float64(rng.IntN(2)), float64(5+rng.IntN(4))
			if rng.IntN(3) == 0 { // which no policy keeps
				l.least, l.above = 3, true
			}
		case "worst":
			l.least, l.most, l.level = thousandths(0.5, 2.2), thousandths(3.2, 6), []float64{0.25, 0.5}[rng.IntN(2)]
		}
		list = append(list, l)
		if kind == "mean" && rng.IntN(4) == 0 { // one that is written alike with six digits
			l.least, l.most = l.least+4e-6, l.most+4e-6
			list = append(list, l)
		}
	}
	return list
}

// drawChange draws a bound and returns what constraints become by it, one for each side: a bound takes the place of
// all on its side of what it names, or is added. What holds always is known as a chance.
func drawChange(rng *rand.Rand, list []askedLimit) (Bound, []askedLimit) {
	list = split(list)
	name := askedLimit.bounded
	i := rng.IntN(2 * max(1, len(list)))
	if i >= len(list) || list[i].kind == "mean" {
		b := drawMean(rng)
		if rng.IntN(4) == 0 {
			b.Value = math.Inf(1)
		}
		return b, moved(list, b)
	}
	l := list[i]
	b := Bound{name(l), side(l.below), math.Inf(1)}
	list = slices.DeleteFunc(list, func(o askedLimit) bool {
		return o != l && o.kind != "mean" && name(o) == b.Return && o.below == l.below
	})
	i = slices.Index(list, l)
	switch {
	case rng.IntN(3) == 0: // it is gone
		return b, slices.Delete(list, i, i+1)
	case l.kind == "worst":
		b.Value = math.Round(1000*(0.9*sides([]askedLimit{l}, []float64{0})[0].bound+0.1*rng.Float64())) / 1000
		l.least, l.most = b.Value, b.Value
	case rng.IntN(5) == 0: // what never is
		l.kind = "always"
		b.Value = indicate(l.below)
	default:
		l.kind, l.level = "chance", math.Round(1000*(0.2+0.79*rng.Float64()))/1000
		b.Value = l.level
		if l.above {
			b.Value = math.Round(1000*(1-l.level)) / 1000
		}
	}
	list[i] = l
	return b, list
}

// bounded names what a bound on a limit with one side is about.
func (l askedLimit) bounded() string {
	if l.kind == "always" {
		l.kind = "chance"
	}
	return sides([]askedLimit{l}, []float64{0})[0].name
}

// drawMean draws a bound on a mean.
func drawMean(rng *rand.Rand) Bound {
	of := []string{"gain", "much"}[rng.IntN(2)]
	return Bound{of, side(rng.IntN(2) == 0), map[string]float64{"gain": 2.2, "much": 0.05}[of] +
		math.Round(1000*rng.Float64())/1000*map[string]float64{"gain": 1.6, "much": 0.25}[of]}
}

// moved returns constraints of which a bound on a mean has taken the place of those on its side.
func moved(list []askedLimit, b Bound) []askedLimit {
	list = slices.Clone(list)
	atLeast := b.Kind == "at_least"
	for i := range list {
		l := &list[i]
		if l.kind == "mean" && l.of == b.Return {
			l.below, l.above = l.below && !atLeast, l.above && atLeast
		}
	}
	if !math.IsInf(b.Value, 1) {
		list = append(list, askedLimit{kind: "mean", of: b.Return, least: b.Value, most: b.Value, below: atLeast,
			above: !atLeast})
	}
	return slices.DeleteFunc(list, func(l askedLimit) bool { return !l.below && !l.above })
}

// checkSweep: plans of a sweep, in the order of its values, are those of the changed problems, and prices those of
// their limits.
func checkSweep(t *testing.T, plays []map[float64]float64, said string, rng *rand.Rand, q *Query, list []askedLimit) {
	t.Helper()
	a, b := drawMean(rng), drawMean(rng)
	for a.Return == b.Return && a.Kind == b.Kind {
		b = drawMean(rng)
	}
	spans := []Span{{a.Return, a.Kind, []float64{a.Value, 0.95 * a.Value}},
		{b.Return, b.Kind, []float64{b.Value, 1.1 * b.Value}}}
	n := 0
	for one, err := range q.Sweep(t.Context(), spans, exact.Options{}) {
		a.Value, b.Value = spans[0].Values[n/2%2], spans[1].Values[n%2]
		n++
		of := moved(moved(list, a), b)
		want := mostGain(t, plays, of, nil)
		if errors.Is(err, geometry.ErrEmpty) && math.IsInf(want, -1) {
			return // they contradict each other
		}
		if err != nil {
			t.Fatalf("%s: %v: %v", said, of, err)
		}
		said := fmt.Sprintf("%s; swept to %v", said, one.Values)
		if (one.Result.Status == exact.Optimal) == math.IsInf(want, -1) || !slices.Equal(one.Values,
			[]float64{a.Value, b.Value}) {
			t.Errorf("%s: %v: want %g at %g and %g", said, one.Result.Status, want, a.Value, b.Value)
		}
		if one.Result.Status != exact.Optimal {
			continue
		}
		checkStandings(t, plays, said, one.Query, one.Result, of)
		for i, at := range []Bound{a, b} {
			_, other := one.Query.Given(side(at.Kind == "at_most"), at.Return)
			if kind, err := one.Query.Side(at.Return); errors.Is(err, ErrSides) != other || !other && kind != at.Kind {
				t.Errorf("%s: %s has the side %q, %v: want %s", said, at.Return, kind, err, at.Kind)
			}
			for _, s := range one.Query.Standings(one.Result) {
				if l := s.Limit; l.Return == at.Return && l.Kind() == at.Kind && s.Shown() != one.Prices[i] {
					t.Errorf("%s: price of %s is %g: want %g", said, l.Name, one.Prices[i], s.Shown())
				}
			}
		}
	}
	if n != 4 {
		t.Errorf("%s: %d plans of a sweep: want 4", said, n)
	}
}

// TestChangesAgainstMixtures draws constraints of every kind and changes them again and again. Each varied
// query has the optimum of all mixtures of policies that remember all, knows the bounds, and says of each limit
// by how much the plan keeps it and what it costs.
func TestChangesAgainstMixtures(t *testing.T) {
	plays := walkPlays()
	rng := rand.New(rand.NewPCG(27, 28))
	feasible, conflicts := 0, 0
	problems := 80
	if testing.Short() {
		problems = 40
	}
	for i := range problems {
		list := drawLimits(rng)
		var texts []string
		for _, l := range list {
			texts = append(texts, l.String())
		}
		p, err := problem.Parse("walk.yaml", fmt.Appendf(nil, walk,
			"{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			"constraints: ["+strings.Join(texts, ", ")+"]"), nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if err != nil && !errors.Is(err, geometry.ErrEmpty) {
			t.Fatal(err)
		}
		said := fmt.Sprint(list)
		for range 3 {
			want := mostGain(t, plays, list, nil)
			if err == nil {
				q, err = q.Best(t.Context())
			}
			if errors.Is(err, geometry.ErrEmpty) {
				if !math.IsInf(want, -1) {
					t.Fatalf("%d: %s: %v: want %g", i, said, err, want)
				}
				break
			}
			if err != nil {
				t.Fatalf("%d: %s: %v", i, said, err)
			}
			all := sides(list, thresholdsOf(q))
			for _, l := range q.Limits {
				all = slices.DeleteFunc(all, func(o oneSided) bool { return o.is(l) })
			}
			if len(all) > 0 || len(q.Limits) != len(split(list)) {
				t.Fatalf("%d: %s: %d limits, without %v", i, said, len(q.Limits), all)
			}
			r := solved(t, q)
			if (r.Status == exact.Optimal) == math.IsInf(want, -1) ||
				r.Status == exact.Optimal && math.Abs(r.Objective+want) > 1e-6 {
				t.Fatalf("%d: %s: %v with %g: want %g", i, said, r.Status, -r.Objective, want)
			}
			if r.Status == exact.Optimal {
				feasible++
				checkStandings(t, plays, said, q, r, list)
				checkDraw(t, plays, said, q, list)
				checkGoals(t, plays, said, q, list)
			} else {
				conflicts++
				checkConflict(t, plays, said, q, list)
			}
			if i%5 == 0 {
				checkSweep(t, plays, said, rng, q, list)
			}
			var b Bound
			b, list = drawChange(rng, list)
			said += fmt.Sprintf("; %s %s %g: %v", b.Return, b.Kind, b.Value, list)
			checkKept(t, said, q, b)
			q, err = q.BestWith(t.Context(), Change{Bounds: []Bound{b}})
			for k := 0; q != nil && k < len(q.Problem.Constraints); k++ { // each as a file may have it
				if err := q.Problem.Constraints[k].Check(); err != nil {
					t.Errorf("%d: %s: constraint %d: %v", i, said, k, err)
				}
			}
		}
	}
	if feasible < problems || conflicts < problems/10 {
		t.Errorf("%d of %d have a policy, %d none", feasible, 3*problems, conflicts)
	}
}

// checkKept: a change leaves the thresholds of the worst episodes as they are. All combinations of them are visited.
func checkKept(t *testing.T, said string, q *Query, b Bound) {
	t.Helper()
	of, err := q.With(t.Context(), Change{Bounds: []Bound{b}})
	if err != nil {
		return // which the best thresholds may not meet
	}
	combinations := 1
	for _, l := range of.Of(WorstEpisodes) {
		combinations *= max(1, len(l.Thresholds))
		var before []float64
		for _, old := range q.Of(WorstEpisodes) {
			if old.Return == l.Return && old.AtLeast == l.AtLeast {
				before = append(before, old.Threshold)
			}
		}
		if len(before) > 0 && !slices.Contains(before, l.Threshold) {
			t.Errorf("%s: the threshold of %s becomes %g: want one of %v", said, l.Name, l.Threshold, before)
		}
	}
	checkSides(t, said, of)
	seen := make(map[string]bool)
	for _, l := range of.Limits {
		name, limitable := l.Return, of.Limitable()
		if l.Scope == EveryEpisode {
			name = l.expected.name
		}
		once := slices.Compact(slices.Sorted(slices.Values(limitable)))
		if !slices.Contains(limitable, name) || len(once) < len(limitable) || l.Enforced() != (l.Coordinate() < 0) {
			t.Errorf("%s: %s of return %d, enforced %v, among %q", said, l.Name, l.Coordinate(), l.Enforced(), limitable)
		}
		if seen[l.Name] {
			t.Errorf("%s: two limits are called %s", said, l.Name)
		}
		after, of := strings.CutPrefix(l.Name, l.Return+" "+problem.Relation(l.AtLeast)+" ")
		if !of || !strings.HasPrefix(after, sixDigits(l.Bound)) && !strings.HasPrefix(after, short(l.Bound)) {
			t.Errorf("%s: a limit of %g on %s is called %s", said, l.Bound, l.Return, l.Name)
		}
		seen[l.Name] = true
	}
	clear(seen)
	err = of.thresholds(ascending, func(at []float64) error {
		seen[fmt.Sprint(at)] = true
		return nil
	})
	if err != nil || len(seen) != combinations {
		t.Errorf("%s: %d combinations of thresholds, error %v: want %d", said, len(seen), err, combinations)
	}
}

// checkSides: each name that can be limited is something that a bound can be put on, and the side that a sweep moves is
// the one on which it is limited, from above if it is on none.
func checkSides(t *testing.T, said string, q *Query) {
	t.Helper()
	for _, name := range q.Limitable() {
		var limited [2]bool // from above, from below
		for _, l := range q.Limits {
			of := l.Return
			if l.Scope == EveryEpisode {
				of = l.expected.name
			}
			if of == name && l.Scope != OfTarget {
				limited[map[bool]int{true: 1}[l.AtLeast]] = true
			}
		}
		kind, err := q.Side(name)
		both := limited[0] && limited[1]
		if errors.Is(err, ErrSides) != both || !both && kind != side(limited[1]) {
			t.Errorf("%s: %s has the side %q, %v: it is limited from above and below: %v", said, name, kind, err, limited)
		}
		if err := (&edit{q: q, p: *q.Problem}).declare(name); err != nil && slices.Contains(q.Returns, name) {
			t.Errorf("%s: %s is among what can be limited: %v", said, name, err)
		}
	}
}

func thresholdsOf(q *Query) (thresholds []float64) {
	for _, l := range q.Of(WorstEpisodes) {
		thresholds = append(thresholds, l.Threshold)
	}
	return thresholds
}

// checkDraw has slacks of a draw between the policies with the least and the most gain compared.
func checkDraw(t *testing.T, plays []map[float64]float64, said string, q *Query, list []askedLimit) {
	t.Helper()
	r := &exact.Result{Status: exact.Undecided, Returns: make([]float64, len(q.Returns)),
		Dual: make([]float64, len(q.Returns))}
	for i, weight := range []float64{0.3, 0.7} {
		gradient := make([]float64, len(q.Returns))
		gradient[0] = float64(2*i - 1)
		goal, err := cost.NewLinear(gradient, q.Task.Box)
		if err != nil {
			t.Fatal(err)
		}
		one, err := exact.Solve(t.Context(), q.Model, cmdp.Task{Box: q.Task.Box, Cost: goal}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Mixture = append(r.Mixture, exact.WeightedPolicy{Weight: weight, Policy: one.Policy})
		floats.AddScaled(r.Returns, weight, one.Returns)
	}
	for _, row := range q.Task.Constraints {
		r.Prices = append(r.Prices, exact.Price{Constraint: row})
	}
	checkStandings(t, plays, said, q, r, list)
	aimless, best := *q, *r
	aimless.Task.Cost, best.Status = nil, exact.Optimal
	for _, s := range aimless.Standings(&best) {
		if !math.IsNaN(s.Price) {
			t.Errorf("%s: %s has the price %g without a goal", said, s.Limit.Name, s.Price)
		}
	}
}

// checkGoals has the chances that limits are about made the goal in the place of the limits, as small and as large as
// can be.
func checkGoals(t *testing.T, plays []map[float64]float64, said string, q *Query, list []askedLimit) {
	t.Helper()
	all := split(list)
	for i, s := range sides(list, thresholdsOf(q)) {
		if s.kind != "chance" && s.kind != "always" {
			continue
		}
		s.name = all[i].bounded()
		sign := 1.0
		if s.atLeast { // f is the chance of less
			sign = -1
		}
		none := []Bound{{s.name, side(s.atLeast), math.Inf(1)}}
		others := slices.DeleteFunc(slices.Clone(all), func(l askedLimit) bool {
			return (l.kind == "chance" || l.kind == "always") && l.bounded() == s.name
		})
		for _, c := range []Change{{Minimize: s.name, Bounds: none}, {Maximize: s.name, Bounds: none}} {
			of, err := q.BestWith(t.Context(), c)
			if err != nil {
				t.Fatalf("%s: %+v: %v", said, c, err)
			}
			way := sign
			if c.Maximize != "" {
				way = -sign
			}
			want := way * leastOf(t, plays, func(x float64) float64 { return way * s.f(x) }, others, nil)
			if s.atLeast {
				want = 1 - want
			}
			if r := solved(t, of); math.Abs(of.Sense()*r.Objective-want) > 1e-6 {
				t.Errorf("%s: %+v: %g: want %g", said, c, of.Sense()*r.Objective, want)
			}
		}
	}
}

// split returns constraints of one side each, in the order of limits.
func split(list []askedLimit) (all []askedLimit) {
	for _, l := range list {
		for _, below := range []bool{true, false} {
			one := l
			one.below, one.above = l.below && below, l.above && !below
			if one.below || one.above {
				all = append(all, one)
			}
		}
	}
	return all
}

// checkConflict: no mixture keeps what is in conflict, and one does without any of it. What a limit is said to need
// is enough beside all the others, and less is not.
func checkConflict(t *testing.T, plays []map[float64]float64, said string, q *Query, list []askedLimit) {
	t.Helper()
	clashes, err := q.Conflict(t.Context(), exact.Options{})
	if err != nil || len(clashes) == 0 {
		t.Fatalf("%s: conflict %v, error %v", said, clashes, err)
	}
	list = split(list)
	all := sides(list, thresholdsOf(q))
	none := func(list []askedLimit) bool { return math.IsInf(mostGain(t, plays, list, nil), -1) }
	var core []int
	for _, c := range clashes {
		k := slices.IndexFunc(all, func(o oneSided) bool { return o.is(c.Limit) })
		if k < 0 {
			t.Fatalf("%s: no limit is %s", said, c.Limit.Name)
		}
		core = append(core, k)
		// with is whether none keeps all limits if this one has a bound that is more by so much.
		with := func(more float64) bool {
			other := slices.Clone(list)
			l, way := &other[k], 1.0
			if l.below {
				way = -1
			}
			switch {
			case l.kind == "always":
				l.kind, l.level = "chance", c.Probability-more
			case l.kind == "chance" && l.above:
				l.level = 1 - c.Needed - more
			case l.kind == "chance":
				l.level = c.Needed - more
			default:
				l.least, l.most = c.Needed+way*more, c.Needed+way*more
			}
			return none(other)
		}
		give := c.Give
		if list[k].kind == "always" {
			give = 1 - c.Probability
		}
		switch {
		case math.IsNaN(give):
			if !none(slices.Delete(slices.Clone(list), k, k+1)) {
				t.Errorf("%s: %s is said to have nothing to give", said, c.Limit.Name)
			}
		case with(1e-6) || give > 2e-3 && !with(-1e-3):
			t.Errorf("%s: %s needs %g, %g off, or %g: with a little more %v, with less %v", said, c.Limit.Name, c.Needed,
				c.Give, c.Probability, with(1e-6), with(-1e-3))
		}
	}
	for i := range append(core, 0) {
		var some []askedLimit
		for j, k := range core {
			if i != j {
				some = append(some, list[k])
			}
		}
		if none(some) != (i == len(core)) {
			t.Errorf("%s: conflict %v: without number %d none keeps it: %v", said, clashes, i, i < len(core))
		}
	}
}

// is reports whether a limit is the side.
func (o *oneSided) is(l *Limit) bool {
	return o.name == l.Return && o.atLeast == l.AtLeast && o.bound == l.Bound &&
		(o.kind == "always") == (l.Scope == EveryEpisode)
}

// checkStandings compares slacks and prices with what the policies of an answer do, and with what is gained
// where a limit is relaxed, if it is an optimum.
func checkStandings(t *testing.T, plays []map[float64]float64, said string, q *Query, r *exact.Result,
	list []askedLimit) {
	t.Helper()
	totals := make(map[float64]float64)
	for _, c := range Draws(r.Policy, r.Mixture) {
		of, _ := outcomes(q, c.Policy, 0)
		for x, p := range of {
			totals[x] += c.Weight * p
		}
	}
	thresholds := thresholdsOf(q)
	least := mostGain(t, plays, list, thresholds)
	all := sides(list, thresholds)
	for _, s := range q.Standings(r) {
		l := s.Limit
		k := slices.IndexFunc(all, func(o oneSided) bool { return o.is(l) })
		if k < 0 {
			t.Fatalf("%s: no limit is %s %s %g", said, l.Return, l.Kind(), l.Bound)
		}
		of := all[k]
		if l.Scope == EveryEpisode {
			worst := math.Inf(1)
			for x, p := range totals {
				if p > 0 && of.atLeast {
					worst = min(worst, x-of.bound)
				}
				if p > 0 && !of.atLeast {
					worst = min(worst, of.bound-x)
				}
			}
			if math.Abs(s.Slack-worst) > 1e-9 {
				t.Errorf("%s: slack of %s is %g: want %g", said, l.Name, s.Slack, worst)
			}
			continue
		}
		unit := 1.0 // by how much a unit of the limit relaxes the bound on the mean
		if of.share > 0 {
			unit = of.share
		}
		slack := of.at
		for x, p := range totals {
			slack -= p * of.f(x)
		}
		if math.Abs(s.Slack-slack/unit) > 1e-7 {
			t.Errorf("%s: slack of %s is %g: want %g", said, l.Name, s.Slack, slack/unit)
		}
		at, same := l.Slacks(r.Returns[l.Coordinate()], r.Returns[l.Coordinate()])
		if math.Abs(at-s.Slack) > 1e-9 || same != at {
			t.Errorf("%s: slacks of %s at what it is are %g and %g: want %g", said, l.Name, at, same, s.Slack)
		}
		least1, most1 := l.Slacks(-1, 2)
		if math.Abs(most1-least1-3/unit) > 1e-9 || least1 > most1 {
			t.Errorf("%s: slacks of %s between %g and %g", said, l.Name, least1, most1)
		}
		beyond := slices.Clone(r.Returns)
		beyond[l.Coordinate()] = l.expected.bound + 0.01
		if l.expected.atLeast {
			beyond[l.Coordinate()] = l.expected.bound - 0.01
		}
		if r.Status != exact.Optimal {
			if !math.IsNaN(s.Price) {
				t.Errorf("%s: %s has the price %g without an optimum", said, l.Name, s.Price)
			}
			continue
		}
		if !q.Keeps(r.Returns) || q.Keeps(beyond) {
			t.Errorf("%s: %v is said to keep all limits: %v; %v, which breaks %s: %v", said, r.Returns,
				q.Keeps(r.Returns), beyond, l.Name, q.Keeps(beyond))
		}
		const by = 1e-6
		gain := func(way float64) float64 {
			other := slices.Clone(all)
			other[k].at += way * by * unit
			var bounds []meanBound
			for _, o := range other {
				bounds = append(bounds, o.meanBound)
			}
			return (-mixture(t, plays, func(x float64) float64 { return -x }, bounds) - least) / by
		}
		if gained := gain(1); math.Abs(s.Price-gained) > 1e-4 {
			t.Errorf("%s: price of %s is %g: a little more gains %g, a little less loses %g", said, l.Name, s.Price,
				gained, -gain(-1))
		}
	}
	for _, kind := range []string{"at_least", "at_most"} {
		for _, name := range []string{"gain", "much"} {
			bound, is := math.Inf(-1), false
			if kind == "at_most" {
				bound = math.Inf(1)
			}
			for _, o := range all {
				if o.kind == "mean" && o.name == name && side(o.atLeast) == kind {
					is = true
					if o.atLeast {
						bound = max(bound, o.bound)
					} else {
						bound = min(bound, o.bound)
					}
				}
			}
			if x, given := q.Given(kind, name); given != is || is && x != bound {
				t.Errorf("%s: %s is given %s %g, %v: want %g, %v", said, name, kind, x, given, bound, is)
			}
		}
	}
}
