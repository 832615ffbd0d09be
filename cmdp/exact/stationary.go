package exact

import (
	"context"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// stationary is the pricer of a model without a horizon, for discounted and total
// returns. A total is infinite where a policy goes on for ever, which is allowed where that
// is wanted or does not matter; see restrictToProper.
type stationary struct {
	m           *cmdp.Model
	k           *cmdp.Kernel
	workers     int
	tell        markov.Progress
	gamma       float64
	longest     int
	mostActions int
	relevance

	reached     []bool            // by some policy
	recurrent   bool              // some policy need not come to rest
	known       *analyses         // shared by all pricers of the model
	graph       markov.Graph      // what is reached, and policies may use
	parts       *markov.Partition // its strongly connected components
	visitor     *markov.Visits
	base        *markov.Quotient      // nothing being collapsed; without choices until a scalar needs them
	neutralEnds *markov.EndComponents // in which a total return may go on, nil without a cycle
	scalars     map[string]*markov.LeastTotal
	chain       *markov.Chain
	signs       []struct{ up, down bool } // of each return, whether some choice has a positive one, and a negative one
	steps       []float64                 // of each return, the largest magnitude in a step
	swept       bool                      // some component is so large that its totals are swept
	charge      bool                      // what costs nothing is found in the graph, as where some component is swept
	mass        []float64                 // room for visits
	enough      float64                   // relative error of a bound that is no matter
	proving     bool                      // bounds are proved all the same
	// the returns of the last policy that was priced, which tell the size of values
	last      []float64
	evaluated *evaluated // the last policy that may be the answer, nil if there is none
}

func newStationary(m *cmdp.Model, workers int, c relevance, tell markov.Progress) (*stationary, error) {
	return reach(m, workers, tell).with(c)
}

// reach returns the pricer of all that is reached, to which nothing matters.
func reach(m *cmdp.Model, workers int, tell markov.Progress) *stationary {
	p := &stationary{m: m, k: m.Kernel(0), workers: workers, tell: tell, gamma: m.Discount(),
		longest: markov.LongestRow(m.Kernel(0))}
	for s := range m.States() {
		p.mostActions = max(p.mostActions, int(p.k.First[s+1]-p.k.First[s]))
	}
	tell.At("finding states that are reached", math.NaN(), m.States())
	var start []int32
	for _, st := range m.StartStates() {
		if st.Probability > 0 {
			start = append(start, int32(st.State))
		}
	}
	p.reached = markov.Reachable(p.k, start)
	p.graph = markov.Graph{Kernel: p.k, In: p.reached, Progress: tell}
	p.parts = p.graph.Components()
	p.graph.OrderByLayers(p.parts)
	p.signs = make([]struct{ up, down bool }, m.Dim())
	p.steps = make([]float64, m.Dim())
	for j, r := range p.k.Returns {
		i := j % m.Dim()
		p.signs[i].up = p.signs[i].up || r > 0
		p.signs[i].down = p.signs[i].down || r < 0
		p.steps[i] = math.Max(p.steps[i], math.Abs(r))
	}
	p.recurrent = p.gamma == 1 && !m.Average() && p.graph.Cyclic(p.parts) && p.graph.EndComponents().Len() > 0
	p.known, p.scalars, p.chain = new(analyses), make(map[string]*markov.LeastTotal), new(markov.Chain)
	p.number()
	p.parts = &markov.Partition{First: p.base.Component, Order: p.base.Origin} // without the states that rest
	return p
}

// number makes the base quotient, without its choices.
func (p *stationary) number() {
	p.base = p.graph.Number(p.parts, nil)
	p.visitor = markov.NewVisits(p.base, p.gamma, p.chain)
	p.swept = false
	for i, lo := range p.base.Component[1:] {
		p.swept = p.swept || int(lo-p.base.Component[i]) > threshold.Swept
	}
}

// with returns the pricer for what matters.
func (p *stationary) with(c relevance) (*stationary, error) {
	q := *p
	q.relevance, q.mass, q.evaluated = c, nil, nil
	q.graph, q.neutralEnds = markov.Graph{Kernel: p.k, In: p.reached, Progress: p.tell}, nil
	if !p.recurrent {
		return &q, nil
	}
	q.scalars = make(map[string]*markov.LeastTotal)
	q.graph.In = slices.Clone(p.reached)
	if err := q.restrictToProper(); err != nil {
		return nil, err
	}
	if slices.Equal(q.graph.In, p.reached) && q.graph.Allowed == nil {
		q.graph.In = p.reached
		q.visitor = markov.NewVisits(q.base, q.gamma, q.chain)
		return &q, nil
	}
	q.number()
	return &q, nil
}

// pricer returns the pricer of the model for what matters.
func (p *stationary) pricer(c relevance) (pricer, error) {
	q, err := p.with(c)
	if err != nil {
		return nil, err
	}
	if p.gamma < 1 {
		return &discounted{q}, nil
	}
	return &total{q}, nil
}

func (p *stationary) dim() int { return p.m.Dim() }

func (p *stationary) work(tell markov.Progress, enough float64, proving bool) {
	p.tell = tell
	p.enough = enough
	p.proving = proving
}

// scalar returns the solver for directions with the same entries that are not 0: a total
// return may stay for ever where it has no return in these. Where none may there is one for all. Directions that
// are charged have solvers of their own, that of zeros too.
func (p *stationary) scalar(dir []float64) *markov.LeastTotal {
	key := make([]byte, len(dir)+1)
	charged := p.charged(dir)
	if charged {
		key[len(dir)] = 1
	}
	for i, t := range dir {
		if t != 0 && (charged || p.neutralEnds != nil) {
			key[i] = 1
		}
	}
	if z, ok := p.scalars[string(key)]; ok {
		return z
	}
	var z *markov.LeastTotal
	switch {
	case charged:
		z = p.charging(dir)
	case p.neutralEnds != nil:
		z = p.collapsing(dir)
	}
	if z == nil {
		if p.base.First == nil {
			p.base.Fill(&p.graph, p.base.Origin, nil)
		}
		z = markov.NewLeastTotal(p.base, p.gamma, p.workers, p.chain)
	}
	p.scalars[string(key)] = z
	return z
}

// collapsing returns the solver for a direction in which end components are collapsed, the same one as for
// another direction with the same ones, or nil without any.
func (p *stationary) collapsing(dir []float64) *markov.LeastTotal {
	nothing := func(c int32) bool { return p.graph.Allows(c) && p.nothing(dir, c) }
	for key, z := range p.scalars { // as a rule the choices without returns are the same, which is soon seen
		other, same := make([]float64, len(dir)), z.LowerBound < 0
		for i := range other {
			other[i] = float64(key[i])
		}
		for c := int32(0); same && int(c) < p.k.Choices(); c++ {
			same = !p.graph.Allows(c) || p.nothing(dir, c) == p.nothing(other, c)
		}
		if same {
			return z
		}
	}
	free, ends := p.choices(nothing), p.neutralEnds
	if p.graph.Allowed != nil || !slices.Equal(free, p.choices(p.neutral)) {
		ends = p.endComponents(free)
	}
	if ends.Len() == 0 {
		return nil
	}
	places, safe := ends, p.choices(func(c int32) bool { return free[c] && p.neutral(c) })
	if !slices.Equal(safe, free) {
		places = p.endComponents(safe)
	}
	for _, z := range p.scalars {
		if z.LowerBound < 0 && slices.Equal(z.Quotient.Inside, ends.Inside) &&
			slices.Equal(z.Quotient.Keeps, places.Inside) {
			return z
		}
	}
	return markov.NewLeastTotal(p.collapse(ends, places), p.gamma, p.workers, p.chain)
}

// charged reports whether a direction has no negative reward in a total with a component that is swept, or
// where a bound was lost otherwise. What costs nothing is found in the graph then: values that fall to 0 by the
// same factor again and again, from one state to the next or from one sweep to the next, would never get there.
func (p *stationary) charged(dir []float64) bool {
	if p.gamma < 1 || !p.swept && !p.charge {
		return false
	}
	for i, t := range dir {
		if t > 0 && p.signs[i].down || t < 0 && p.signs[i].up {
			return false
		}
	}
	return true
}

// charging returns the solver for a direction without negative rewards. States take no part from which a policy
// surely comes to an end, or to a place where it may stay, by choices without rewards. Other end components
// without rewards are collapsed.
func (p *stationary) charging(dir []float64) *markov.LeastTotal {
	nothing := p.choices(func(c int32) bool { return p.graph.Allows(c) && p.nothing(dir, c) })
	places := p.graph.Only(make([]bool, len(nothing))).EndComponents() // none
	if p.neutralEnds != nil {
		places = p.endComponents(p.choices(func(c int32) bool { return nothing[c] && p.neutral(c) }))
	}
	free := markov.Graph{Kernel: p.k, In: slices.Clone(p.graph.In), Allowed: slices.Clone(nothing), Progress: p.tell}
	ends := func(s int32) bool { return p.k.First[s] == p.k.First[s+1] }
	_, nearer := free.AlmostSurely(func(s int32) bool { return ends(s) || places.Of[s] >= 0 })
	var settled [][2]int32
	rest := markov.Graph{Kernel: p.k, In: slices.Clone(p.graph.In), Allowed: p.graph.Allowed, Progress: p.tell}
	for s, in := range free.In {
		switch s := int32(s); {
		case !in || ends(s):
			continue
		case places.Of[s] >= 0:
			c := p.k.First[s]
			for !places.Inside[c] {
				c++
			}
			nearer[s] = c
			fallthrough
		default:
			rest.In[s] = false
			settled = append(settled, [2]int32{s, nearer[s]})
		}
	}
	parts := rest.Components()
	rest.OrderByLayers(parts)
	q := rest.Quotient(parts, rest.Only(nothing).EndComponents(), func(int32) bool { return false })
	q.Ends, q.Place, q.Free = q.Ends.Listed(), func(int) []int32 { return nil }, settled
	z := markov.NewLeastTotal(q, p.gamma, p.workers, p.chain)
	z.LowerBound = 0
	return z
}

// nothing reports whether a choice returns nothing that a direction has.
func (p *stationary) nothing(dir []float64, c int32) bool {
	for i, r := range p.k.ReturnsOf(int(c), len(dir)) {
		if r != 0 && dir[i] != 0 {
			return false
		}
	}
	return true
}

// collapse returns the quotient by end components without returns. A policy may stay in
// a component that has a place where it does no harm.
func (p *stationary) collapse(ends, places *markov.EndComponents) *markov.Quotient {
	place := make([]int32, ends.Len())
	for i := range place {
		place[i] = -1
	}
	for _, s := range places.Order {
		if i := ends.Of[s]; i >= 0 && place[i] < 0 {
			place[i] = places.Of[s]
		}
	}
	q := p.graph.Quotient(p.parts, ends, func(i int32) bool { return place[i] >= 0 })
	q.Ends, places = ends.Listed(), places.Listed()
	q.Keeps, q.Place = places.Inside, func(j int) []int32 {
		if i := place[q.Merged[j].End]; i >= 0 {
			return places.Part(int(i))
		}
		return nil
	}
	return q
}

// price finds values up to an error that is a part of aim. The last policy tells how large they are.
func (p *stationary) price(ctx context.Context, dir []float64, aim float64) (priced, error) {
	tolerance, proved := p.enough, p.enough == 0 || p.proving
	size := 0.0
	for i, x := range p.last {
		size += math.Abs(dir[i] * x)
	}
	if aim > 0 && size > 0 && p.swept {
		const part, most = 0.3, 1e-2
		tolerance = max(tolerance, min(part*aim/size, most))
	}
	rough := tolerance > p.enough
	for {
		z, endless, value, margin, err := p.solve(ctx, dir, tolerance, proved)
		if err != nil {
			return priced{}, err
		}
		policy := markov.NewPackedActions(p.m.States(), p.mostActions)
		z.Quotient.Lift(z.Policy, func(s, c int32) { policy.Set(int(s), int(c-p.k.First[s])) })
		if endless != nil {
			return p.ray(ctx, z.Quotient, &policy, endless, z.Policy[endless[0]] < 0)
		}
		out := priced{policy: &policy, value: value, margin: margin, rough: rough, proved: proved,
			level: p.gains(z.Loops)}
		out.returns, out.shown, err = p.returns(ctx, &markov.Rule{Actions: policy})
		if err != nil {
			return out, err
		}
		p.last = out.returns
		// How many steps the little adds up in that a backup may fall short by is known afterwards.
		reached := floats.Dot(dir, out.returns)
		close := 10 * p.enough * math.Abs(reached)
		if rough {
			close = max(close, aim)
		}
		missed := reached - value
		if rough && p.gamma < 1 {
			missed += margin
		}
		if rough && missed < close/8 {
			z.Relax()
		}
		switch {
		case missed <= close || tolerance == 0 || p.gamma == 1 && z.Allowance() == 0:
			return out, nil
		case p.gamma == 1:
			z.Sharpen()
		case !rough:
			return out, nil
		default:
			tolerance, rough = p.enough, false
		}
	}
}

// gains returns what each of some loops returns in a step.
func (p *stationary) gains(loops []markov.Loop) [][]float64 {
	var out [][]float64
	for _, l := range loops {
		gain := make([]float64, p.dim())
		for j, c := range l.Choices {
			if c != markov.Stay {
				floats.AddScaled(gain, l.Share[j], p.k.ReturnsOf(int(c), p.dim()))
			}
		}
		out = append(out, gain)
	}
	return out
}

// scalarize sets the rewards to dir·r of every choice, without a discount less by the
// perturbation.
func (p *stationary) scalarize(z *markov.LeastTotal, dir []float64) {
	d := len(dir)
	z.Reset(p.enough)
	for i, c := range z.Quotient.Choice {
		if c == markov.Stay {
			continue
		}
		sum, size := 0.0, 0.0
		for j, r := range p.k.ReturnsOf(int(c), d) {
			x := float64(dir[j] * r)
			sum += x
			size += math.Abs(x)
		}
		z.Reward[i], z.Weight[i] = sum, size
	}
}

// spread returns the values of the states of the model, in the memory of dst if that suffices.
func (p *stationary) spread(dst []float64, z *markov.LeastTotal) []float64 {
	dst = slices.Grow(dst[:0], p.m.States())[:p.m.States()]
	for s, n := range z.Quotient.Number {
		dst[s] = z.Values[n]
	}
	return dst
}

// solve finds the cheapest policy in a direction, up to a relative error, and a bound, which is proved by going
// through all choices of the model if proved is true. A total whose bound is lost to rounding
// is sought again with a larger perturbation.
func (p *stationary) solve(ctx context.Context, dir []float64, tolerance float64,
	proved bool) (z *markov.LeastTotal, endless []int32, value, margin float64, err error) {
	const most = 1000
	z = p.scalar(dir)
	for {
		p.scalarize(z, dir)
		z.Tolerance = tolerance
		z.Progress = p.tell
		endless, err = z.Solve(ctx)
		if endless != nil || err != nil {
			return z, endless, math.Inf(-1), 0, err
		}
		near := p.gamma > patient && p.gamma < 1
		switch {
		case near:
			value, margin, err = p.corrected(ctx, z, dir)
			if err != nil {
				return z, nil, math.Inf(-1), 0, err
			}
		case proved:
			p.mass = p.spread(p.mass, z) // nobody needs visits any more
			value, margin = p.lowerBound(dir, p.mass, nil)
		default:
			value, margin = p.boundOf(z)
		}
		if !proved {
			return z, nil, value, margin, nil
		}
		if near && z.Quotient.Rest <= mostPatient {
			if sharp, error := p.rationally(z, dir, value); error < margin {
				value, margin = sharp, error
			}
		}
		if !math.IsInf(margin, 1) {
			return z, nil, value, margin, nil
		}
		if !p.charge && !p.charged(dir) {
			p.charge = true
			if p.charged(dir) {
				z = p.scalar(dir)
				continue
			}
		}
		if z.Cancels() || z.Perturbation > most {
			value, margin = p.rationally(z, dir, value)
			return z, nil, value, margin, nil
		}
		z.Perturbation *= 8
	}
}

// corrected solves the problem once more, for the corrections of its values: of a discount near 1 the values
// are so large that their rounding, magnified by 1/(1−γ), is more than what policies differ by. With values v
// of all states, however rough, the problem with the rewards r + γ P v − v has the same best policies, and its
// values are what v lacks (potential-based shaping: Ng, Harada and Russell 1999). They are small, and so is
// their rounding. It returns a bound of V*(dir), and leaves the best policy in z.
func (p *stationary) corrected(ctx context.Context, z *markov.LeastTotal,
	dir []float64) (value, margin float64, err error) {
	q, v := z.Quotient, slices.Clone(z.Values)
	rough := p.spread(nil, z)
	for s := range q.Rest {
		for i := q.First[s]; i < q.First[s+1]; i++ {
			sum := z.Reward[i] - (1-p.gamma)*v[s]
			to, prob := q.Row(i)
			for j, n := range to {
				sum += p.gamma * prob[j] * (v[n] - v[s])
			}
			z.Reward[i] = sum
		}
	}
	clear(z.Values)
	_, err = z.Solve(ctx)
	if err != nil {
		return 0, 0, err
	}
	value, margin = p.lowerBound(dir, rough, p.spread(nil, z))
	for n, x := range v {
		z.Values[n] += x
	}
	return value, margin, nil
}

// rationally returns a bound found in rational arithmetic, with an infinite margin if that is not possible.
func (p *stationary) rationally(z *markov.LeastTotal, dir []float64, value float64) (bound, margin float64) {
	exact := make([]*big.Rat, len(dir))
	for i, x := range dir {
		exact[i] = rational(x)
	}
	v := p.rationalValues(z, exact)
	if v == nil {
		return value, math.Inf(1)
	}
	bound, _ = p.rationalBoundOf(z.Quotient, v).Float64()
	return bound, 2 * unit * math.Abs(bound)
}

// choose appends the choices that a policy takes in state n of the base quotient.
func (p *stationary) choose(dst []markov.Taken, st *markov.Rule, n int32) []markov.Taken {
	return st.Choose(dst, p.k, p.base.Origin[n])
}
