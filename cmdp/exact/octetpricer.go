package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp/markov"
)

// An octetPricer prices several directions of a total by sweeps of all of them at once.
type octetPricer struct {
	p      *infiniteHorizon
	totals *markov.OctetTotals
	solved solvedDirections // values of the states of the quotient
	failed int              // how often a direction was not solved
}

// octets returns the pricer of several directions by sweeps, or nil where that does not apply, or only states near the
// start matter.
func (p *infiniteHorizon) octets(ctx context.Context) (*octetPricer, error) {
	if !p.usesSweeps || p.nearness > 0 && p.nearStart() != nil {
		return nil, nil
	}
	all := make([]float64, p.dim())
	for i := range all {
		all[i] = 1
	}
	if !p.nonnegative(all) {
		return nil, nil
	}
	z, err := p.solverFor(ctx, all)
	if err != nil || z.Quotient != p.quotient || !p.numbersAll(z.Quotient) {
		return nil, err
	}
	totals := z.Octets(p.dim())
	if totals == nil {
		return nil, nil
	}
	for _, st := range p.m.StartStates() {
		n := z.Quotient.Number[st.State]
		totals.Start = append(totals.Start, markov.Start{State: n, Probability: st.Probability})
	}
	return &octetPricer{p: p, totals: totals}, nil
}

// applies reports whether a direction has no negative weight and every choice costs something in it.
func (o *octetPricer) applies(ctx context.Context, dir []float64) (bool, error) {
	if slices.Min(dir) < 0 || !o.p.nonnegative(dir) {
		return false, nil
	}
	z, err := o.p.solverFor(ctx, dir)
	return err == nil && z.Quotient == o.totals.Quotient && z.LowerBound == 0, err
}

// price prices directions, as many as an octet has at the most. Those in which it fails are nil.
func (o *octetPricer) price(ctx context.Context, all [][]float64, aims []float64) ([]*pricedPolicy, error) {
	out, z := make([]*pricedPolicy, len(all)), o.totals
	if slices.Contains(aims, 0) && slices.Max(aims) > 0 { // values settle within one aim or the other
		return out, nil
	}
	var dirs [][]float64
	var places []int // of these in all
	for k, dir := range all {
		ok, err := o.applies(ctx, dir)
		if err != nil {
			return out, err
		}
		if ok {
			dirs, places = append(dirs, dir), append(places, k)
		}
	}
	if len(dirs) == 0 {
		return out, nil
	}
	z.Progress, z.Workers, z.Relative = o.p.progress, o.p.workers, 0
	if aims[0] == 0 {
		z.Relative = 10 * o.p.tolerance
	}
	for l := range markov.NumOctet {
		k := min(l, len(dirs)-1)
		z.Gap[l] = aims[places[k]]
		for i, x := range dirs[k] {
			z.Directions[i][l] = x
		}
	}
	if err := z.Solve(ctx, o.begin(dirs)); err != nil {
		return nil, err
	}
	for l, k := range places {
		if !z.Solved[l] {
			o.failed++
			continue
		}
		out[k] = o.take(l, all[k])
		out[k].approximate = aims[k] > 0
	}
	return out, nil
}

// begin sets values to combinations of those of solved directions, and reports whether all directions lie between such
// ones that are near.
func (o *octetPricer) begin(dirs [][]float64) bool {
	z := o.totals
	v := make([]float64, z.Quotient.Rest)
	if len(o.solved) <= o.p.dim() {
		return false
	}
	const less = 1 - 0x1p-46 // what is left of values if sums are rounded
	for l := range markov.NumOctet {
		if l < len(dirs) {
			clear(v)
			if !o.solved.combine(v, dirs[l]) {
				return false
			}
		}
		for s, x := range v {
			z.Values[s][l] = x * less
		}
	}
	return true
}

// take returns what was found in a direction, and keeps its values.
func (o *octetPricer) take(l int, dir []float64) *pricedPolicy {
	p, z := o.p, o.totals
	q := z.Quotient
	values, policy := make([]float64, q.Rest), markov.NewPackedActions(p.m.States(), p.mostActions)
	for n, s := range q.Origin {
		values[n] = z.Values[n][l]
		policy.Set(int(s), int(q.Choice[q.First[n]+int32(z.Policy[n][l])]-p.k.First[s]))
	}
	start := make([]float64, len(z.Start))
	starts := slices.Clone(p.m.StartStates())
	for i, st := range z.Start {
		starts[i].State = i
		if st.State < q.Rest {
			start[i] = values[st.State]
		}
	}
	value, margin := meanOver(starts, start)
	returns := make([]float64, len(dir))
	for i := range returns {
		returns[i] = z.Returns[i][l]
	}
	p.lastReturns = returns
	o.solved.keep(solvedDirection{slices.Clone(dir), values, value})
	return &pricedPolicy{returns: returns, value: value, margin: margin, certified: true, policy: knownPolicy(&policy)}
}
