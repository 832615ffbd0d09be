package exact

import (
	"context"
	"maps"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// purify takes randomisation out of p, see purifier, in two passes over the model:
// one from the last step to the first for the values of the actions that are mixed,
// one from the first to the last that moves occupancies.
func (f *finiteHorizon) purify(ctx context.Context, p *Policy, face face) error {
	if p.Randomized() == 0 {
		return nil
	}
	values, err := f.actionReturns(ctx, p)
	if err != nil {
		return err
	}
	u := &purifier{face: face, mass: make([]float64, f.m.States())}
	u.onSettled = func(e entry) {
		p.steps[e.h].Actions.Set(e.s, e.a)
		delete(p.steps[e.h].Mixed, int32(e.s))
	}
	for _, st := range f.m.StartStates() {
		u.mass[st.State] = st.Probability
	}
	steps := len(p.steps)
	for h := range p.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.progress.AtStep(purifying, steps+h, 2*steps, f.m.States())
		for _, s := range slices.Sorted(maps.Keys(p.steps[h].Mixed)) {
			u.addPair(h, int(s), p.steps[h].Mixed[s], values[h][s])
		}
		u.advance(f.m.Kernel(h), &p.steps[h], h)
	}
	u.writeProbabilities(p)
	return nil
}

// actionReturns returns, for each state in which p randomises at each step, the
// returns of each of its actions followed by p.
func (f *finiteHorizon) actionReturns(ctx context.Context, p *Policy) ([]map[int32][][]float64, error) {
	values := make([]map[int32][][]float64, len(p.steps))
	d := f.m.Dim()
	after, now := make([]float64, f.m.States()*d), make([]float64, f.m.States()*d) // the returns of p
	for h := len(p.steps) - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.progress.AtStep(purifying, len(p.steps)-1-h, 2*len(p.steps), f.m.States())
		k, st := f.m.Kernel(h), &p.steps[h]
		values[h] = make(map[int32][][]float64, len(st.Mixed))
		parallel.ForStates(f.workers, f.m.States(), len(k.Next), func(lo, hi int) float64 {
			for s := lo; s < hi; s++ {
				if k.First[s] == k.First[s+1] {
					copy(now[s*d:(s+1)*d], after[s*d:(s+1)*d])
					continue
				}
				choiceReturns(k, int(k.First[s])+st.Actions.At(s), after, now[s*d:][:d])
			}
			return 0
		})
		for s, probs := range st.Mixed {
			out := now[int(s)*d:][:d]
			mean, each := make([]float64, d), make([][]float64, len(probs))
			for a, x := range probs {
				choiceReturns(k, int(k.First[s])+a, after, out)
				each[a] = slices.Clone(out)
				floats.AddScaled(mean, x, out)
			}
			copy(out, mean)
			values[h][s] = each
		}
		after, now = now, after
	}
	return values, nil
}

// choiceReturns sets out to the returns of taking choice c, those from the next step on being
// after.
func choiceReturns(k *cmdp.Kernel, c int, after, out []float64) {
	next, prob := k.Row(c)
	d := len(out)
	for i, sum := range k.ReturnsOf(c, d) {
		for j, n := range next {
			sum += float64(prob[j] * after[int(n)*d+i])
		}
		out[i] = sum
	}
}

// advance moves the occupancies of the states, and their changes in all directions,
// through step h.
func (p *purifier) advance(k *cmdp.Kernel, st *markov.Rule, h int) {
	p.mass = p.propagate(k, st, p.mass)
	for _, e := range p.entries {
		if e.h == h {
			propagateMass(k, int(k.First[e.s])+e.a, e.x, p.mass)
		}
	}
	for _, d := range p.directions {
		d.state = p.propagate(k, st, d.state)
		for i, e := range p.entries {
			if e.h == h {
				propagateMass(k, int(k.First[e.s])+e.a, d.on[i], d.state)
			}
		}
	}
}

// propagate sends mass, nil for none, through the states where the policy does not
// randomise. Its room is used for the next answer.
func (p *purifier) propagate(k *cmdp.Kernel, st *markov.Rule, mass []float64) []float64 {
	next := p.room
	if next == nil {
		next = make([]float64, len(k.First)-1)
	}
	p.room = mass
	clear(next)
	for s, x := range mass {
		if x == 0 {
			continue
		}
		if k.First[s] == k.First[s+1] {
			next[s] += x
			continue
		}
		if _, ok := st.Mixed[int32(s)]; !ok {
			propagateMass(k, int(k.First[s])+st.Actions.At(s), x, next)
		}
	}
	return next
}

// writeProbabilities sets the probabilities of the pairs that still randomise.
func (p *purifier) writeProbabilities(policy *Policy) {
	for i := 0; i < len(p.entries); {
		j, total := i, 0.0
		for j < len(p.entries) && p.entries[j].h == p.entries[i].h && p.entries[j].s == p.entries[i].s {
			total += p.entries[j].x
			j++
		}
		st := &policy.steps[p.entries[i].h]
		mass := make([]float64, len(st.Mixed[int32(p.entries[i].s)]))
		for _, e := range p.entries[i:j] {
			mass[e.a] = e.x
		}
		st.Assign(p.entries[i].s, mass, total)
		i = j
	}
}
