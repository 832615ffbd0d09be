package exact

import (
	"context"

	"gonum.org/v1/gonum/floats"
)

// evaluate goes from the first epoch to the last and counts how often each pair is visited.
func (p *epochTotals) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	out := make([]float64, p.e.Dim)
	for _, c := range policy.mixture {
		x, err := p.evaluate(ctx, c.Policy)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(out, c.Weight, x)
	}
	if policy.mixture != nil {
		return out, nil
	}
	v := &epochVisits{epochPass: &epochPass{epochTotals: p}, policy: policy, arrivals: make([][]float64, p.e.Len()),
		returns: out, share: make([]float64, p.actions)}
	for _, st := range p.m.StartStates() {
		epoch, s := p.e.Split(st.State)
		v.at(epoch)[s] += st.Probability
	}
	for v.epoch = range p.e.Len() {
		if v.arrivals[v.epoch] != nil {
			if err := v.visit(ctx); err != nil {
				return nil, err
			}
			v.arrivals[v.epoch] = nil
		}
	}
	return out, nil
}

// epochVisits count the visits that a policy makes.
type epochVisits struct {
	*epochPass
	policy   *Policy
	arrivals [][]float64 // of each epoch, of its states; nil without any
	returns  []float64
	share    []float64
}

func (v *epochVisits) at(epoch int) []float64 {
	if v.arrivals[epoch] == nil {
		v.arrivals[epoch] = make([]float64, v.e.Base.States())
	}
	return v.arrivals[epoch]
}

// visit counts the visits of the epoch, one component after the other, and hands on what leaves it.
func (v *epochVisits) visit(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.class = v.classes[v.e.Class[v.epoch]]
	q, mass := v.class.states, v.at(v.epoch)
	for i := len(q.Component) - 2; i >= 0; i-- {
		lo, hi := q.Component[i], q.Component[i+1]
		v.right = v.right[:0]
		v.chain.Reset()
		for n := lo; n < hi; n++ {
			s, leak := q.Origin[n], 0.0
			v.right = append(v.right, mass[s])
			for a, x := range v.shares(s) {
				if x > 0 {
					leak += v.addInside(q, n, v.class.kernel.First[s]+int32(a), x, lo, hi)
				}
			}
			v.chain.EndRow(leak)
		}
		if floats.Norm(v.right, 1) == 0 {
			continue
		}
		if len(v.class.quotient.Merged) > 0 { // where it stays, nothing is returned
			v.chain.OpenClosedSets()
		}
		v.solution = append(v.solution[:0], v.right...)
		if err := v.chain.Solve(ctx, v.solution, v.right, true, 0); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			v.handOn(q.Origin[n], v.solution[n-lo], lo, hi)
		}
	}
	return nil
}

// shares are those of the actions that the policy takes in a state of the epoch.
func (v *epochVisits) shares(s int32) []float64 {
	k := v.class.kernel
	x := v.share[:k.First[s+1]-k.First[s]]
	v.policy.Distribution(x, 0, v.e.Pair(v.epoch, int(s)))
	return x
}

// handOn counts what visits of a state return, and adds what leaves its component [lo, hi) to arrivals.
func (v *epochVisits) handOn(s int32, visits float64, lo, hi int32) {
	for a, x := range v.shares(s) {
		c := v.class.kernel.First[s] + int32(a)
		if x == 0 || visits == 0 {
			continue
		}
		floats.AddScaled(v.returns, x*visits, v.class.kernel.ReturnsOf(int(c), v.e.Dim))
		to, prob, letters := v.row(c)
		for j, n := range v.numbers(v.class.states, c) {
			if n < lo || n >= hi {
				v.at(v.e.After(v.epoch, letters[j]))[to[j]] += float64(x * visits * prob[j])
			}
		}
	}
}
