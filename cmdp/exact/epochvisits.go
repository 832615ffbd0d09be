package exact

import (
	"context"
	"math"

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
	return out, p.visitsOf(policy, out).visitAll(ctx)
}

// visitsOf counts the visits of a policy, and adds what they return to returns.
func (p *epochTotals) visitsOf(policy *Policy, returns []float64) *epochVisits {
	return &epochVisits{epochPass: &epochPass{epochTotals: p}, policy: policy, arrivals: make([][]float64, p.e.Len()),
		returns: returns, share: make([]float64, p.actions)}
}

// infiniteReturn returns an error that names a return of some policies that is infinite where that is unwanted by c,
// see Planner.infiniteReturn; nil without one.
func (p *epochTotals) infiniteReturn(ctx context.Context, c relevance,
	policies []WeightedPolicy) (found *NoTotalError, err error) {
	for _, o := range policies {
		v := p.visitsOf(o.Policy, make([]float64, p.e.Dim))
		v.forEver = func(s, choice int32, returns []float64) {
			if i := c.unwanted(nil, returns); i >= 0 && found == nil {
				found = &NoTotalError{State: p.e.Pair(v.epoch, int(s)), Action: int(choice - v.class.kernel.First[s]),
					Return: i, Kept: true}
			}
		}
		if err := v.visitAll(ctx); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// visitAll goes from the first epoch to the last.
func (v *epochVisits) visitAll(ctx context.Context) error {
	for _, st := range v.m.StartStates() {
		epoch, s := v.e.Split(st.State)
		v.at(epoch)[s] += st.Probability
	}
	for v.epoch = range v.e.Len() {
		if v.arrivals[v.epoch] != nil {
			if err := v.visit(ctx); err != nil {
				return err
			}
			v.arrivals[v.epoch] = nil
		}
	}
	return nil
}

// epochVisits count the visits that a policy makes.
type epochVisits struct {
	*epochPass
	policy   *Policy
	arrivals [][]float64 // of each epoch, of its states; nil without any
	returns  []float64
	share    []float64
	// forEver, if not nil, is called with what the policy does for ever.
	forEver func(s, choice int32, returns []float64)
	// visited, if not nil, is called with the visits of a state in an epoch.
	visited func(epoch int, s int32, visits float64)
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
		var recurrent []int32
		if v.class.ends.Len() > 0 {
			recurrent = v.chain.OpenClosedSets()
		}
		v.solution = append(v.solution[:0], v.right...)
		if err := v.chain.Solve(ctx, v.solution, v.right, true, 0); err != nil {
			return err
		}
		for _, n := range recurrent {
			if v.solution[n] > 0 {
				v.goOn(q.Origin[lo+n])
			}
		}
		for n := lo; n < hi; n++ {
			if v.visited != nil {
				v.visited(v.epoch, q.Origin[n], v.solution[n-lo])
			}
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

// goOn makes what the policy returns in a state for ever infinite, or NaN where it goes up and down.
func (v *epochVisits) goOn(s int32) {
	once := make([]float64, v.e.Dim)
	for a, x := range v.shares(s) {
		c := v.class.kernel.First[s] + int32(a)
		if x == 0 {
			continue
		}
		returns := v.class.kernel.ReturnsOf(int(c), v.e.Dim)
		floats.AddScaled(once, x, returns)
		if v.forEver != nil {
			v.forEver(s, c, returns)
		}
	}
	for i, x := range once {
		if x != 0 {
			v.returns[i] += math.Inf(int(math.Copysign(1, x)))
		}
	}
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
