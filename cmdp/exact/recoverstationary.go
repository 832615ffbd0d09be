package exact

import (
	"context"
)

// combine averages the visits of the mixed policies, see finite.combine.
func (p *stationary) combine(ctx context.Context, columns []column, weights []float64) (*Policy, error) {
	heaviest := 0
	mass := make([][]float64, len(columns))
	for j, c := range columns {
		x, err := p.visits(ctx, &stepPolicy{actions: *c.policy})
		if err != nil {
			return nil, err
		}
		mass[j] = scaled(weights[j], x.of)
		if weights[j] > weights[heaviest] {
			heaviest = j
		}
	}
	out := &Policy{steps: []stepPolicy{{actions: columns[heaviest].policy.clone()}}}
	for s := range p.m.States() {
		n := int(p.k.First[s+1] - p.k.First[s])
		if n == 0 {
			continue
		}
		share, total := make([]float64, n), 0.0
		for j, c := range columns {
			share[c.policy.at(s)] += mass[j][s]
			total += mass[j][s]
		}
		out.steps[0].assign(s, share, total)
	}
	return out, nil
}

// purify takes randomisation out of p, see purifier. As many pairs as can leave a
// surplus are treated at a time; every round makes one of them settle.
func (p *stationary) purify(ctx context.Context, policy *Policy, f face) error {
	st := &policy.steps[0]
	skip := 0 // pairs that cannot be reduced any more
	for {
		keys := sortedKeys(st.mixed)
		if len(keys) <= skip {
			return nil
		}
		keys = keys[:min(len(keys), max(skip+1, len(f.keep)+1))]
		u, err := p.purifier(ctx, st, f, keys)
		if err != nil {
			return err
		}
		before := len(u.entries)
		u.settled = func(e entry) {
			st.actions.set(e.s, e.a)
			delete(st.mixed, int32(e.s))
		}
		u.reduce()
		u.write(policy)
		f = u.face
		if len(u.entries) == before {
			skip = len(keys)
		}
	}
}

// purifier returns the entries and directions of the given pairs, everything else
// going on as before.
func (p *stationary) purifier(ctx context.Context, st *stepPolicy, f face, keys []int32) (*purifier, error) {
	x, err := p.visits(ctx, st)
	if err != nil {
		return nil, err
	}
	u := &purifier{face: f}
	for _, s := range keys {
		for a, prob := range st.mixed[s] {
			if prob > 0 {
				u.entries = append(u.entries, entry{0, int(s), a, x.of[s] * prob})
			}
		}
	}
	for i, base := range u.entries {
		if i > 0 && u.entries[i-1].s == base.s {
			continue
		}
		for j := i + 1; j < len(u.entries) && u.entries[j].s == base.s; j++ {
			d, err := p.exchange(ctx, st, u.entries, i, j)
			if err != nil {
				return nil, err
			}
			u.directions = append(u.directions, d)
		}
	}
	return u, nil
}

// exchange returns the direction of moving one unit of mass from entry j to entry i
// of the same state.
func (p *stationary) exchange(ctx context.Context, st *stepPolicy, entries []entry, i, j int) (*direction, error) {
	d, first := p.dim(), int(p.k.First[entries[i].s])
	out := &direction{effect: make([]float64, d), on: make([]float64, len(entries))}
	mass := make([]float64, p.base.over+1)
	for _, part := range []struct {
		c    int
		sign float64
	}{{first + entries[i].a, 1}, {first + entries[j].a, -1}} {
		axpy(out.effect, part.sign, p.k.Returns[part.c*d:(part.c+1)*d])
		for e := p.k.Offset[part.c]; e < p.k.Offset[part.c+1]; e++ {
			mass[p.base.to[e]] += part.sign * p.gamma * p.k.Prob[e]
		}
	}
	change, err := p.flow(ctx, st, mass)
	if err != nil {
		return nil, err
	}
	axpy(out.effect, 1, p.sum(st, change))
	for n, e := range entries {
		out.on[n] = change.of[e.s] * st.mixed[int32(e.s)][e.a]
	}
	out.on[i]++
	out.on[j]--
	return out, nil
}
