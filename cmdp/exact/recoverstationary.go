package exact

import (
	"context"
	"math"
	"slices"
)

// combine averages the visits of the mixed policies, see finite.combine. The steps that
// rays add are visits too, and one of the policies has to come to their places. If none
// does, a policy that comes there gets a weight too small to matter.
func (p *stationary) combine(ctx context.Context, columns []column, weights []float64) (*Policy, error) {
	heaviest := -1
	visited := make([]float64, len(p.k.Offset)-1)
	for j, c := range columns {
		if c.ray != nil {
			continue
		}
		if err := p.spend(ctx, visited, weights[j], &stepPolicy{actions: *c.policy}); err != nil {
			return nil, err
		}
		if heaviest < 0 || weights[j] > weights[heaviest] {
			heaviest = j
		}
	}
	const nothing = 1e-10
	rest := columns[heaviest].policy
	for _, c := range columns {
		if c.ray != nil && !p.comes(visited, c.ray) {
			if err := p.spend(ctx, visited, nothing, p.way(c.ray, rest)); err != nil {
				return nil, err
			}
		}
	}
	for j, c := range columns {
		if c.ray != nil {
			for i, s := range c.ray.states {
				p.share(visited, weights[j]*c.ray.share[i], c.ray.policy, s)
			}
		}
	}
	out := &Policy{steps: []stepPolicy{{actions: rest.clone()}}}
	for s := range p.m.States() {
		if share := visited[p.k.First[s]:p.k.First[s+1]]; len(share) > 0 {
			total := 0.0
			for _, x := range share {
				total += x
			}
			out.steps[0].assign(s, share, total)
		}
	}
	return out, nil
}

// spend adds weight times the visits of a policy to those of each choice.
func (p *stationary) spend(ctx context.Context, visited []float64, weight float64, st *stepPolicy) error {
	x, err := p.visits(ctx, st, false)
	if err != nil {
		return err
	}
	for s, y := range x.of {
		if y > 0 && p.k.First[s] < p.k.First[s+1] {
			p.share(visited, weight*y, st, int32(s))
		}
	}
	return nil
}

// share adds x to the choices that the policy takes in a state.
func (p *stationary) share(visited []float64, x float64, st *stepPolicy, s int32) {
	first := int(p.k.First[s])
	probs, ok := st.mixed[s]
	if !ok {
		visited[first+st.actions.at(int(s))] += x
	}
	for a, y := range probs {
		visited[first+a] += x * y
	}
}

// comes reports whether the place of a ray is visited.
func (p *stationary) comes(visited []float64, r *ray) bool {
	for _, s := range r.states {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if visited[c] > 0 {
				return true
			}
		}
	}
	return false
}

// settled reports whether there is nothing to purify: a policy draws in as few places as the columns that it mixes
// need, because what the face preserves tells these apart.
func (p *stationary) settled(policy *Policy, columns []column, f face) bool {
	free, n := 0, len(columns)-1
	for _, probs := range policy.steps[0].mixed {
		free--
		for _, x := range probs {
			if x > 0 {
				free++
			}
		}
	}
	matrix := make([][]float64, len(f.keep))
	apart := make([]float64, n)
	for i, r := range f.keep {
		matrix[i] = make([]float64, n)
		for j := range n {
			matrix[i][j] = dot(r.Normal, minus(columns[j].returns, columns[n].returns)) / r.elastic
			apart[j] = math.Max(apart[j], math.Abs(matrix[i][j]))
		}
	}
	return free == n && (n == 0 || slices.Min(apart) > 1e-10 && nullVector(matrix, n, 1e-6) == nil)
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
	x, err := p.visits(ctx, st, false)
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
	change, err := p.flow(ctx, st, mass, nil, false)
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
