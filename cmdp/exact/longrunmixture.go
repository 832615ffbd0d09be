package exact

import (
	"cmdpsolve/cmdp/markov"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A longRunMixture is a mixture of policies, and what becomes of it in the long run. In each end where several of
// them stay, they become one: with the long-run frequencies x(s,a) of the mixture, the policy x(s,a)/x(s) has x
// as stationary frequencies (Ross and Varadarajan 1991). Where its chain falls into several recurrent classes,
// a link leads from each of them to the others.
type longRunMixture struct {
	p           *averageReward
	columns     []column // without links
	weights     []float64
	runs        []*longRunFrequencies
	mass        []float64                // of each choice inside an end, the share of time
	users       []int32                  // of each choice inside an end, how many policies take it in the long run
	inside      *markov.Rule             // what is done where the mixture stays
	classes     map[int32][]mixtureClass // of each end in which it stays
	classNumber []int32                  // of each state, its class in its end, or −1
	rays        []column                 // loops on the way that no policy goes round yet
	steps       []float64                // in them
}

// A mixtureClass is a recurrent class of a long-run mixture.
type mixtureClass struct {
	states []int32
	users  int // how many policies end up there
}

// unlinked returns the columns of a mixture, a link being divided into those that it joins.
func unlinked(columns []column, weights []float64) ([]column, []float64) {
	var out []column
	var share []float64
	add := func(c column, x float64) {
		at := slices.IndexFunc(out, func(o column) bool { return o.policy == c.policy })
		if at < 0 {
			out, share = append(out, c), append(share, x)
			return
		}
		share[at] += x
	}
	for j, c := range columns {
		if c.link == nil {
			add(c, weights[j])
			continue
		}
		for i, o := range c.link.columns {
			add(o, weights[j]*c.link.weights[i])
		}
	}
	return out, share
}

// longRunMixtureOf returns what becomes of a mixture. runs remembers the long runs of policies.
func (p *averageReward) longRunMixtureOf(ctx context.Context, columns []column, weights []float64,
	runs map[*columnPolicy]*longRunFrequencies) (*longRunMixture, error) {
	t := &longRunMixture{p: p, mass: make([]float64, p.k.Choices()), users: make([]int32, p.k.Choices())}
	t.columns, t.weights = unlinked(columns, weights)
	for _, c := range t.columns {
		run := runs[c.policy]
		if run == nil {
			var err error
			run, err = p.frequenciesOf(ctx, &markov.Rule{Actions: *c.policy.actions()})
			if err != nil {
				return nil, err
			}
			runs[c.policy] = run
		}
		t.runs = append(t.runs, run)
	}
	for j, c := range columns {
		run := runs[c.policy]
		if c.link != nil {
			run = c.link.run
		}
		for i, choice := range run.choices {
			t.mass[choice] += weights[j] * run.mass[i]
			t.users[choice]++
		}
	}
	t.findClasses()
	return t, nil
}

// findClasses finds what is done where the mixture stays, and its classes.
func (t *longRunMixture) findClasses() {
	p := t.p
	t.inside = &markov.Rule{Actions: markov.NewActions(p.m.States(), p.mostActions), Mixed: make(map[int32][]float64)}
	t.classes, t.classNumber = make(map[int32][]mixtureClass), make([]int32, p.m.States())
	for s := range t.classNumber {
		t.classNumber[s] = -1
	}
	for _, run := range t.runs {
		for _, end := range run.ends {
			if _, done := t.classes[end]; done {
				continue
			}
			var states []int32
			for _, s := range p.ends.Part(int(end)) {
				if t.setChoices(s) {
					states = append(states, s)
				}
			}
			slices.Sort(states)
			var found []mixtureClass
			for _, set := range p.chainOf(states, t.inside).ClosedSets() {
				in := mixtureClass{}
				for _, j := range set {
					t.classNumber[states[j]] = int32(len(found))
					in.states = append(in.states, states[j])
				}
				found = append(found, in)
			}
			t.classes[end] = found
		}
	}
	for j := range t.runs {
		for _, at := range t.classesReached(j) {
			t.classes[at.end][at.class].users++
		}
	}
}

// setChoices sets what is done in a state in the long run, and reports whether anything is.
func (t *longRunMixture) setChoices(s int32) bool {
	first, end := t.p.k.First[s], t.p.k.First[s+1]
	total, taken, only := 0.0, 0, int32(0)
	for c := first; c < end; c++ {
		if t.users[c] > 0 {
			total, taken, only = total+t.mass[c], taken+1, c
		}
	}
	if taken == 0 {
		return false
	}
	t.inside.Actions.Set(int(s), int(only-first))
	if taken == 1 {
		return true
	}
	probs := make([]float64, end-first)
	for a := range probs {
		if c := first + int32(a); t.users[c] > 0 {
			probs[a] = 1 / float64(taken) // where the mixture hardly ever is
			if total > 0 {
				probs[a] = t.mass[c] / total
			}
		}
	}
	t.inside.Mixed[s] = probs
	t.inside.Actions.Set(int(s), floats.MaxIdx(probs))
	return true
}

// An endClass is a class of an end.
type endClass struct{ end, class int32 }

// classesReached returns the classes in which policy j ends up, in order.
func (t *longRunMixture) classesReached(j int) []endClass {
	var out []endClass
	for i, c := range t.runs[j].choices {
		if s := t.p.least.Predecessors.Owner[c]; t.classNumber[s] >= 0 {
			at := endClass{t.p.ends.Of[s], t.classNumber[s]}
			if i == 0 || len(out) == 0 || out[len(out)-1] != at {
				out = append(out, at)
			}
		}
	}
	slices.SortFunc(out, func(a, b endClass) int {
		if a.end != b.end {
			return int(a.end - b.end)
		}
		return int(a.class - b.class)
	})
	return slices.Compact(out)
}

// hasSeparateClasses reports whether some end has several classes.
func (t *longRunMixture) hasSeparateClasses() bool {
	for _, found := range t.classes {
		if len(found) > 1 {
			return true
		}
	}
	return false
}

// drawnPolicies returns the policies to draw from at the start. Policies that end up in the same classes become
// one: what they do on the way there is averaged by their visits.
func (t *longRunMixture) drawnPolicies(ctx context.Context) ([]WeightedPolicy, error) {
	var order []string
	groups := make(map[string][]int)
	for j := range t.columns {
		key := fmt.Sprint(t.classesReached(j))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], j)
	}
	var out []WeightedPolicy
	for _, key := range order {
		st, weight, err := t.averageTransient(ctx, groups[key])
		if err != nil {
			return nil, err
		}
		for _, at := range t.classesReached(groups[key][0]) {
			t.absorbIn(st, at)
		}
		if len(st.Mixed) == 0 {
			st.Mixed = nil
		}
		out = append(out, WeightedPolicy{weight, &Policy{steps: []markov.Rule{*st}}})
	}
	return out, nil
}

// averageTransient returns one policy that comes to the classes of some policies, which are the same for all, as often
// as they do, with the same totals.
func (t *longRunMixture) averageTransient(ctx context.Context, group []int) (st *markov.Rule, weight float64,
	err error) {
	p, heaviest := t.p, group[0]
	for _, j := range group {
		weight += t.weights[j]
		if t.weights[j] > t.weights[heaviest] {
			heaviest = j
		}
	}
	st = &markov.Rule{Actions: t.columns[heaviest].policy.actions().Clone(), Mixed: make(map[int32][]float64)}
	if len(group) == 1 && len(t.rays) == 0 || p.m.Average() && t.sameEnds(group) {
		return st, weight, nil
	}
	ends := make(map[int32]bool)
	for _, at := range t.classesReached(heaviest) {
		ends[at.end] = true
	}
	var differ []int32
	var parts []weightedRule
	for _, j := range group {
		parts = append(parts, weightedRule{p: p.infiniteHorizon,
			st:     markov.Rule{Actions: *t.columns[j].policy.actions()},
			weight: t.weights[j]})
	}
	for s := range int32(p.m.States()) {
		if p.k.First[s] == p.k.First[s+1] || ends[p.ends.Of[s]] {
			continue
		}
		if slices.ContainsFunc(parts,
			func(o weightedRule) bool { return o.st.Actions.At(int(s)) != st.Actions.At(int(s)) }) {
			differ = append(differ, s)
		}
	}
	for _, c := range t.rays {
		differ = append(differ, c.ray.states...)
	}
	visited, err := visitChoices(ctx, p, differ, parts)
	if err != nil {
		return nil, 0, err
	}
	t.addLoopVisits(visited)
	for i, s := range visited.states {
		st.Assign(int(s), visited.mass[i], floats.Sum(visited.mass[i]))
	}
	return st, weight, nil
}

// errNeedsMemory says that a policy would have to remember whether it is done with loops.
var errNeedsMemory = errors.New("exact: a policy without memory does not leave loops and stay")

// addLoopVisits adds the steps in loops to the visits of those policies that come to them, unless it may also stay
// there.
func (t *longRunMixture) addLoopVisits(visited *choiceVisits) {
	for j := len(t.rays) - 1; j >= 0; j-- {
		of := t.rays[j].ray
		if !slices.ContainsFunc(of.states, func(s int32) bool { return floats.Sum(visited.of(s)) > 0 }) ||
			slices.ContainsFunc(of.states, func(s int32) bool { return t.p.ends.Of[s] >= 0 }) {
			continue
		}
		for i, s := range of.states {
			visited.add(t.steps[j]*of.share[i], of.policy, s, s)
		}
		t.rays, t.steps = slices.Delete(t.rays, j, j+1), slices.Delete(t.steps, j, j+1)
	}
}

// sameEnds reports whether some policies stay in the same ends with the same probabilities.
func (t *longRunMixture) sameEnds(group []int) bool {
	first := t.runs[group[0]]
	for _, j := range group {
		run := t.runs[j]
		if !slices.Equal(run.ends, first.ends) || !floats.EqualApprox(run.prob, first.prob, 1e-12) {
			return false
		}
	}
	return true
}

// absorbIn makes a policy stay in a class of an end, and come there from everywhere in the end. A single policy
// does so already.
func (t *longRunMixture) absorbIn(st *markov.Rule, at endClass) {
	p, in := t.p, t.classes[at.end][at.class]
	states := p.ends.Part(int(at.end))
	if in.users == 1 && !t.usesLink(in) {
		return
	}
	choices := make([]int32, len(states))
	for j, s := range states {
		choices[j] = p.k.First[s] + int32(st.Actions.At(int(s)))
	}
	p.least.LeadTo(in.states, states, choices)
	for j, s := range states {
		if t.classNumber[s] == at.class {
			st.Actions.Set(int(s), t.inside.Actions.At(int(s)))
			if probs, ok := t.inside.Mixed[s]; ok {
				st.Mixed[s] = probs
			}
			continue
		}
		st.Actions.Set(int(s), int(choices[j]-p.k.First[s]))
	}
}

// usesLink reports whether a class is more than what a single policy does: some choice is taken by a link.
func (t *longRunMixture) usesLink(in mixtureClass) bool {
	for _, s := range in.states {
		if _, draws := t.inside.Mixed[s]; draws {
			return true
		}
		if c := t.p.k.First[s] + int32(t.inside.Actions.At(int(s))); t.users[c] > 1 {
			return true
		}
	}
	return false
}

// recoverPolicy returns the policy of a mixture, or one that draws at the start where the
// mixture ends up in classes that are not joined.
func (p *averageReward) recoverPolicy(ctx context.Context, columns []column, weights []float64, _ face,
	_ float64) (*Policy, error) {
	return p.recoverAlong(ctx, columns, weights, nil, nil)
}

// recoverAlong is recoverPolicy for a mixture that goes some steps along rays.
func (p *averageReward) recoverAlong(ctx context.Context, columns []column, weights []float64, rays []column,
	steps []float64) (*Policy, error) {
	if len(columns) == 1 && columns[0].link == nil && len(rays) == 0 {
		return &Policy{steps: []markov.Rule{{Actions: columns[0].policy.actions().Clone()}}}, nil
	}
	t, err := p.longRunMixtureOf(ctx, columns, weights, make(map[*columnPolicy]*longRunFrequencies))
	if err != nil {
		return nil, err
	}
	t.rays, t.steps = slices.Clone(rays), slices.Clone(steps)
	components, err := t.drawnPolicies(ctx)
	if err == nil && len(t.rays) > 0 {
		err = errNeedsMemory
	}
	if err != nil {
		return nil, err
	}
	if len(components) == 1 {
		return components[0].Policy, nil
	}
	return &Policy{mixture: components}, nil
}

// A link joins the classes of a long-run mixture: a policy that goes round between them.
type link struct {
	columns []column // the mixture whose classes it joins
	weights []float64
	run     *longRunFrequencies
	exits   map[int32]bool // the choices by which it leaves classes
	classes int            // how many it joins
	returns []float64
}

// link returns a link of all classes of an end, for each end. Ways are short where a choice costs little in the
// direction dir, which may be nil.
func (t *longRunMixture) link(ctx context.Context, dir []float64) (*link, error) {
	p := t.p
	l := &link{columns: t.columns, weights: t.weights, run: new(longRunFrequencies), exits: make(map[int32]bool),
		returns: make([]float64, p.dim())}
	var least []float64
	if dir != nil {
		means, _ := p.splitDirection(dir)
		var err error
		least, err = p.leastMeans(ctx, means)
		if err != nil {
			return nil, err
		}
	}
	for end := range int32(p.ends.Len()) {
		found, ok := t.classes[end]
		switch {
		case !ok:
		case len(found) == 1:
			for _, s := range found[0].states {
				for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
					if t.users[c] > 0 {
						l.run.choices, l.run.mass = append(l.run.choices, c), append(l.run.mass, t.mass[c])
					}
				}
			}
		default:
			if err := t.addCycle(ctx, l, end, least); err != nil {
				return nil, err
			}
			l.classes += len(found)
		}
	}
	d := p.dim()
	for i, c := range l.run.choices {
		floats.AddScaled(l.returns, l.run.mass[i], p.k.ReturnsOf(int(c), d))
	}
	for i := range l.returns {
		if !p.m.Mean(i) {
			l.returns[i] = 0
			for j, c := range t.columns {
				l.returns[i] += t.weights[j] * c.returns[i]
			}
		}
	}
	return l, nil
}

// addCycle adds to a link the frequencies of a policy that goes round between the classes of an end.
func (t *longRunMixture) addCycle(ctx context.Context, l *link, end int32, least []float64) error {
	p, found := t.p, t.classes[end]
	w := t.newClassPaths(end, least)
	outside := make(map[int32][]int32) // choices on ways outside of classes
	exits := make(map[int32][]int32)
	err := w.eachWay(ctx, p.workers, func(s, c int32) {
		at := outside
		if t.classNumber[s] >= 0 {
			at = exits
			l.exits[c] = true
		}
		if !slices.Contains(at[s], c) {
			at[s] = append(at[s], c)
		}
	})
	if err != nil {
		return err
	}
	st, states := t.cycle(w, found[0].states[0], outside, exits)
	y := p.chainOf(states, st)
	sets := y.ClosedSets()
	if len(sets) != 1 {
		return markov.ErrNoClass
	}
	share, err := y.StationaryShares(ctx, sets[0])
	if err != nil {
		return err
	}
	for j, at := range sets[0] {
		for _, c := range p.takenChoices(nil, st, p.quotient.Number[states[at]]) {
			l.run.choices, l.run.mass = append(l.run.choices, int32(c.Choice)),
				append(l.run.mass, t.endProbability(end)*share[j]*c.Prob)
		}
	}
	return nil
}

// cycle returns a policy that goes round between classes, and the states that it comes to from one of them: where a
// choice on the way fails, and leads elsewhere, it returns to a class or a way.
func (t *longRunMixture) cycle(w *classPaths, from int32, outside,
	exits map[int32][]int32) (st *markov.Rule, states []int32) {
	p := t.p
	sources := make([]int32, w.classes, w.classes+len(outside))
	for i := range sources {
		sources[i] = int32(i)
	}
	for s := range outside {
		sources = append(sources, w.nodeOf(s))
	}
	slices.Sort(sources)
	w.start(sources)
	st = &markov.Rule{Actions: markov.NewActions(p.m.States(), p.mostActions), Mixed: make(map[int32][]float64)}
	seen := make([]bool, len(w.states))
	states = []int32{from}
	seen[p.index[from]] = true
	for i := 0; i < len(states); i++ {
		s := states[i]
		probs := t.cycleChoices(w, s, exits[s], outside[s])
		st.Mixed[s] = probs
		for a, x := range probs {
			next, prob := p.k.Row(int(p.k.First[s]) + a)
			for j, n := range next {
				if x > 0 && prob[j] > 0 && !seen[p.index[n]] {
					seen[p.index[n]] = true
					states = append(states, n)
				}
			}
		}
	}
	slices.Sort(states)
	return st, states
}

// cycleChoices returns with which probabilities a policy that goes round between classes takes the choices of a state:
// half of the time those that leave a class there, if there are any, or those of ways.
func (t *longRunMixture) cycleChoices(w *classPaths, s int32, leave, on []int32) []float64 {
	p, first := t.p, t.p.k.First[s]
	probs := make([]float64, p.k.First[s+1]-first)
	switch {
	case t.classNumber[s] >= 0:
		half := 1.0
		if leave != nil {
			half = 0.5
		}
		for _, c := range p.takenChoices(nil, t.inside, p.quotient.Number[s]) {
			probs[int32(c.Choice)-first] += half * c.Prob
		}
		for _, c := range leave {
			probs[c-first] += (1 - half) / float64(len(leave))
		}
	case on != nil:
		for _, c := range on {
			probs[c-first] = 1 / float64(len(on))
		}
	default:
		w.find(w.nodeOf(s))
		probs[w.viaChoice[w.nodeOf(s)]-first] = 1
	}
	return probs
}

// endProbability returns the probability to stay in an end.
func (t *longRunMixture) endProbability(end int32) float64 {
	sum := 0.0
	for j, run := range t.runs {
		if i, ok := slices.BinarySearch(run.ends, end); ok {
			sum += t.weights[j] * run.prob[i]
		}
	}
	return math.Min(1, sum)
}
