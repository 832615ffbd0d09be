package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A policyEvaluator computes how often stationary policies of a model visit states, and what they return.
type policyEvaluator struct {
	m             *cmdp.Model
	k             *cmdp.Kernel
	gamma         float64
	mostActions   int
	progress      progress.Func
	quotient      *markov.Quotient // nothing being collapsed; without choices until a direction needs them
	visitor       *markov.Visits
	mass          []float64        // room for visits
	lastEvaluated *evaluatedPolicy // the last policy that may be the answer, nil if there is none
}

func (p *policyEvaluator) dim() int { return p.m.Dim() }

func (p *policyEvaluator) process() *cmdp.Model { return p.m }

func (p *policyEvaluator) actionsIn(s int32) int { return int(p.k.First[s+1] - p.k.First[s]) }

func (p *policyEvaluator) visitsAt(ctx context.Context, st *markov.Rule, states []int32) ([]float64, error) {
	x, err := p.visits(ctx, st, 0)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(states))
	for i, s := range states {
		out[i] = p.visitsTo(x, s)
	}
	return out, nil
}

// visitsTo returns the visits of a state of the model, 0 for one without choices.
func (p *policyEvaluator) visitsTo(x *markov.Occupancy, s int32) float64 {
	return x.Counts[p.quotient.Number[s]]
}

// tenDigits is the share of visits that may be missing from those of a policy that need not be exact.
const tenDigits = 1e-10

// enoughDigits is the share of visits that may be missing where values have a tolerance.
func enoughDigits(tolerance float64) float64 {
	if tolerance > 0 {
		return tenDigits
	}
	return 0
}

// visits computes the numbers of visits from the start, to rounding or but for a share of those that begin. They are
// good until the next call.
func (p *policyEvaluator) visits(ctx context.Context, st *markov.Rule, missing float64) (*markov.Occupancy, error) {
	if cap(p.mass) <= int(p.quotient.Rest) {
		p.mass = make([]float64, p.m.States()+1) // so much room that spread can use it too
	}
	p.mass = p.mass[:p.quotient.Rest+1]
	clear(p.mass)
	for _, s := range p.m.StartStates() {
		p.mass[p.quotient.Number[s.State]] += s.Probability
	}
	p.visitor.Progress = p.progress
	return p.visitor.Solve(ctx, st, p.mass, missing)
}

// returns computes the returns of a policy from its visits, see there. What does not end is left out of
// those that are counted; shown are all of them, nil if they are the same.
func (p *policyEvaluator) returns(ctx context.Context, st *markov.Rule,
	missing float64) (counted, shown []float64, err error) {
	x, err := p.visits(ctx, st, missing)
	if err != nil {
		return nil, nil, err
	}
	counted = p.sumReturns(st, x)
	shown = p.addEndless(slices.Clone(counted), st, x)
	if slices.Equal(counted, shown) {
		shown = nil
	}
	return counted, shown, nil
}

// sumReturns adds up the returns of the visits, except where the policy goes on for ever.
func (p *policyEvaluator) sumReturns(st *markov.Rule, x *markov.Occupancy) []float64 {
	d := p.dim()
	total, part := make([]float64, d), make([]float64, d)
	skip := make(map[int32]bool, len(x.Recurrent))
	for _, s := range x.Recurrent {
		skip[s] = true
	}
	for s := range p.m.States() {
		if y := p.visitsTo(x, int32(s)); y != 0 && !skip[int32(s)] {
			p.addReturns(part, y, st, int32(s))
		}
		if (s+1)%threshold.Chunk == 0 { // sums of few terms are added up, which keeps rounding small
			floats.AddScaled(total, 1, part)
			clear(part)
		}
	}
	floats.AddScaled(total, 1, part)
	return total
}

// addReturns adds x times the returns that a policy has in a step from state s.
func (p *policyEvaluator) addReturns(dst []float64, x float64, st *markov.Rule, s int32) {
	d, first := p.dim(), int(p.k.First[s])
	if probs, ok := st.Mixed[s]; ok {
		for a, y := range probs {
			floats.AddScaled(dst, x*y, p.k.ReturnsOf(first+a, d))
		}
		return
	}
	c := first + st.Actions.At(int(s))
	floats.AddScaled(dst, x, p.k.ReturnsOf(c, d))
}

// evaluate sums returns over visits. A return that does not end is infinite, or NaN where it goes up and
// down.
func (p *policyEvaluator) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	st := &policy.steps[0]
	if e := p.lastEvaluated; e != nil && e.rule.Equal(st) {
		return slices.Clone(e.returns), nil
	}
	x, err := p.visits(ctx, st, 0)
	if err != nil {
		return nil, err
	}
	return p.addEndless(p.sumReturns(st, x), st, x), nil
}

// evaluatedPolicy are the returns of a policy.
type evaluatedPolicy struct {
	rule    *markov.Rule
	returns []float64
}

// addEndless adds to the returns v of a policy what it returns for ever.
func (p *policyEvaluator) addEndless(v []float64, st *markov.Rule, x *markov.Occupancy) []float64 {
	once := make([]float64, len(v))
	for _, s := range x.Recurrent {
		if p.visitsTo(x, s) > 0 {
			clear(once)
			p.addReturns(once, 1, st, s)
			for i, r := range once {
				if r != 0 {
					v[i] += math.Inf(int(math.Copysign(1, r)))
				}
			}
		}
	}
	return v
}

// takenChoices appends the choices that a policy takes in state n of the base quotient.
func (p *policyEvaluator) takenChoices(dst []markov.WeightedChoice, st *markov.Rule, n int32) []markov.WeightedChoice {
	return st.Choose(dst, p.k, p.quotient.Origin[n])
}

// magnitudes returns the largest magnitude of each return of the choices that a policy takes in state s.
func (p *policyEvaluator) magnitudes(st *markov.Rule, s int32) []float64 {
	out, d := make([]float64, p.dim()), p.dim()
	for _, t := range p.takenChoices(nil, st, p.quotient.Number[s]) {
		for i, r := range p.k.ReturnsOf(t.Choice, d) {
			out[i] = math.Max(out[i], math.Abs(r))
		}
	}
	return out
}
