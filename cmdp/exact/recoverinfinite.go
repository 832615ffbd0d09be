package exact

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A weightedRule is a policy with its weight in a mixture. Its model is that of the mixture, or two
// copies of it, see twoCopies.
type weightedRule struct {
	p        visitCounter
	st       markov.Rule
	weight   float64
	reaching []int32 // nil for the model of the mixture
}

// A visitCounter counts how often stationary policies of a model visit its states.
type visitCounter interface {
	process() *cmdp.Model
	// actionsIn returns how many actions a state has.
	actionsIn(s int32) int
	// visitsAt returns the visits of some states, in ascending order. Those in which a policy goes on for ever count
	// their arrivals.
	visitsAt(ctx context.Context, st *markov.Rule, states []int32) ([]float64, error)
	// evaluate returns the expected returns of a policy.
	evaluate(ctx context.Context, p *Policy) ([]float64, error)
}

// weightedRules returns the parts that columns are.
func (p *infiniteHorizon) weightedRules(_ context.Context, columns []column,
	weights []float64) (out []weightedRule, err error) {
	for j, c := range columns {
		out = append(out, weightedRule{p: p, st: markov.Rule{Actions: *c.policy.actions()}, weight: weights[j]})
	}
	return out, nil
}

// recoverPolicy averages the visits of the mixed policies, see finiteHorizon.recoverPolicy,
// after it has made the mixture narrower.
func (p *infiniteHorizon) recoverPolicy(ctx context.Context, columns []column, weights []float64, face face,
	spare float64) (*Policy, error) {
	if !face.keepsRandomization && p.roundsFirst(columns) {
		policy, err := p.roundMixture(ctx, columns, weights, face, spare)
		if policy != nil || err != nil {
			return policy, err
		}
	}
	if !face.keepsRandomization && p.narrowsFirst(columns) { // visits of policies in between are not exact
		var err error
		columns, weights, face, err = p.reduceDifferences(ctx, columns, weights, face, spare)
		if err != nil {
			return nil, err
		}
	}
	parts, err := p.weightedRules(ctx, columns, weights)
	if err != nil {
		return nil, err
	}
	policy, err := (&policyMixture{parts: parts}).averageVisits(ctx, p)
	if err != nil {
		return nil, err
	}
	// Steps in a place that is hardly ever visited are not to be rounded away.
	if face.keepsRandomization || alreadyPure(policy, columns, face) {
		return policy, nil
	}
	return policy, p.purify(ctx, policy, face)
}

// A purificationCost says how long it takes to purify a mixture of policies.
type purificationCost int

const (
	cheapToPurify    purificationCost = iota // they differ in few states
	moderateToPurify                         // to purify the mixture takes about as long as to price a direction
	// longer than to make it narrower, which goes many times through all states
	expensiveToPurify
)

// purificationCost says how long it takes to purify a mixture of policies.
func (p *policyEvaluator) purificationCost(columns []column) purificationCost {
	differ, looks := p.statesApart(columns)
	switch {
	case looks > threshold.Passes*int(p.quotient.Rest):
		return expensiveToPurify
	case differ > threshold.Apart:
		return moderateToPurify
	}
	return cheapToPurify
}

// roundsFirst reports whether it takes longer to purify a mixture of policies than to round it, which finds visits of
// each of them, and then those of some policies more. Two policies are made narrower in less time than that.
func (p *policyEvaluator) roundsFirst(columns []column) bool {
	const few = 4
	_, looks := p.statesApart(columns)
	return len(columns) > 2 && looks > few*int(p.quotient.Rest)
}

// narrowsFirst reports whether it takes longer to purify a mixture of policies than to make it narrower, which finds
// visits of each of them, and then of some two between two of them for each halving of what they differ in.
func (p *policyEvaluator) narrowsFirst(columns []column) bool {
	differ, looks := p.statesApart(columns)
	passes := len(columns) + 2*(len(columns)-1)*bits.Len(uint(differ))
	return looks > min(passes, threshold.Passes)*int(p.quotient.Rest)
}

// statesApart counts the states in which policies differ, and those that purification looks at: for each of these the
// states of its component, once.
func (p *policyEvaluator) statesApart(columns []column) (differ, looks int) {
	for i, hi := range p.quotient.Component[1:] {
		lo := p.quotient.Component[i]
		for _, s := range p.quotient.Origin[lo:hi] {
			if slices.ContainsFunc(columns,
				func(c column) bool { return c.actionAt(s) != columns[0].actionAt(s) }) {
				looks += int(hi - lo)
				differ++
			}
		}
	}
	return differ, looks
}

// averageVisits returns the policy of a model with the averaged visits of the parts. The steps that rays add are visits
// too, and one of the policies has to come to their places.
func (b *policyMixture) averageVisits(ctx context.Context, p visitCounter) (*Policy, error) {
	rest, most, states := &b.parts[0].st.Actions, 0.0, int32(p.process().States())
	for i, o := range b.parts {
		if o.p == p && o.weight > most {
			rest, most = &b.parts[i].st.Actions, o.weight
		}
	}
	var differ []int32
	for _, c := range b.rays {
		differ = append(differ, c.ray.states...)
	}
	for s := range states {
		apart := func(o weightedRule) bool {
			for at := s; at < int32(o.p.process().States()); at += states {
				if _, draws := o.st.Mixed[at]; draws || o.st.Actions.At(int(at)) != rest.At(int(s)) {
					return true
				}
			}
			return false
		}
		if slices.ContainsFunc(b.parts, apart) {
			differ = append(differ, s)
		}
	}
	visited := new(choiceVisits)
	if len(differ) > 0 {
		var err error
		visited, err = visitChoices(ctx, p, differ, b.parts)
		if err != nil {
			return nil, err
		}
	}
	for j, c := range b.rays {
		for i, s := range c.ray.states {
			visited.add(b.steps[j]*c.ray.share[i], c.ray.policy, s, s)
		}
	}
	out := &Policy{steps: []markov.Rule{{Actions: rest.Clone()}}}
	if most == 0 { // of a model of several copies
		actions := 0
		for s := range states {
			actions = max(actions, p.actionsIn(s))
		}
		out.steps[0].Actions = markov.NewPackedActions(int(states), actions)
		for s := range int(states) {
			out.steps[0].Actions.Set(s, rest.At(s))
		}
	}
	for i, s := range visited.states {
		out.steps[0].Assign(int(s), visited.mass[i], floats.Sum(visited.mass[i]))
	}
	return out, nil
}

// choiceVisits is how often a mixture takes the choices of some states.
type choiceVisits struct {
	states []int32     // in their order
	mass   [][]float64 // of each, the visits of its choices
}

// visitChoices adds up the visits that policies bring to the choices of some states.
func visitChoices(ctx context.Context, p visitCounter, states []int32, parts []weightedRule) (*choiceVisits, error) {
	n := int32(p.process().States())
	slices.Sort(states)
	out := &choiceVisits{states: slices.Compact(states)}
	for _, s := range out.states {
		out.mass = append(out.mass, make([]float64, p.actionsIn(s)))
	}
	for _, o := range parts {
		var copies []int32
		for at := int32(0); at < int32(o.p.process().States()); at += n {
			for _, s := range out.states {
				copies = append(copies, at+s)
			}
		}
		visits, err := o.p.visitsAt(ctx, &o.st, copies)
		if err != nil {
			return nil, err
		}
		for j, s := range copies {
			if visits[j] > 0 {
				out.add(o.weight*visits[j], &o.st, s, s%n)
			}
		}
	}
	return out, nil
}

// of returns the visits of the choices of a state, which is one of those at hand.
func (v *choiceVisits) of(s int32) []float64 {
	i, _ := slices.BinarySearch(v.states, s)
	return v.mass[i]
}

// add adds x to the choices in state s that the policy takes in its copy at.
func (v *choiceVisits) add(x float64, st *markov.Rule, at, s int32) {
	mass := v.of(s)
	probs, ok := st.Mixed[at]
	if !ok {
		mass[st.Actions.At(int(at))] += x
	}
	for a, y := range probs {
		mass[a] += x * y
	}
}

// most returns the most visits of a choice.
func (v *choiceVisits) most() float64 {
	most := 0.0
	for _, mass := range v.mass {
		most = math.Max(most, slices.Max(mass))
	}
	return most
}

// alreadyPure reports whether there is nothing to purify: a policy draws in as few places as the columns that it mixes
// need, because what the face preserves tells these apart.
func alreadyPure(policy *Policy, columns []column, f face) bool {
	free, n := 0, len(columns)-1
	for _, probs := range policy.steps[0].Mixed {
		free--
		for _, x := range probs {
			if x > 0 {
				free++
			}
		}
	}
	matrix := make([][]float64, len(f.equalities))
	apart := make([]float64, n)
	for i, r := range f.equalities {
		matrix[i] = make([]float64, n)
		for j := range n {
			matrix[i][j] = floats.Dot(r.Normal, minus(columns[j].returns, columns[n].returns)) / r.scale
			apart[j] = math.Max(apart[j], math.Abs(matrix[i][j]))
		}
	}
	return free == n && (n == 0 || slices.Min(apart) > 1e-10 && nullVector(matrix, n, 1e-6) == nil)
}

// applyShares makes the policy divide the mass of states that still randomise as the entries do.
func (p *purifier) applyShares(st *markov.Rule) {
	total := make(map[int]float64)
	for _, e := range p.entries {
		total[e.s] += e.x
	}
	for _, e := range p.entries {
		if total[e.s] > 0 {
			clear(st.Mixed[int32(e.s)])
		}
	}
	for _, e := range p.entries {
		if total[e.s] > 0 {
			st.Mixed[int32(e.s)][e.a] = e.x / total[e.s]
		}
	}
}

// purifying names the phase of purify in reports of progress.
const purifying = "taking randomisation out of the policy"
