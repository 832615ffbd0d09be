package exact

import (
	"context"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// recoverPolicy averages the occupancies of the mixed policies: π(a|s) at step h is the
// share of the mass in s that the mixture sends through a. To average action
// probabilities would be wrong. Only the policies that are mixed are computed
// again.
func (f *finiteHorizon) recoverPolicy(ctx context.Context, columns []column, weights []float64, face face,
	_ float64) (*Policy, error) {
	heaviest := 0
	tables := make([][]markov.Actions, len(columns))
	for j, c := range columns {
		tables[j] = f.newActions()
		if _, _, err := f.valueIteration(ctx, c.dir, tables[j], nil); err != nil {
			return nil, err
		}
		if weights[j] > weights[heaviest] {
			heaviest = j
		}
	}
	p := &Policy{steps: make([]markov.Rule, f.m.Horizon())}
	for h := range p.steps {
		p.steps[h].Actions = tables[heaviest][h]
	}
	if len(columns) > 1 {
		if err := f.averageOccupancies(ctx, p, tables, weights); err != nil {
			return nil, err
		}
	}
	return p, f.purify(ctx, p, face)
}

// averageOccupancies fills p with the averaged policy, starting from the heaviest one.
func (f *finiteHorizon) averageOccupancies(ctx context.Context, p *Policy, tables [][]markov.Actions,
	weights []float64) error {
	mass, next := make([][]float64, len(tables)), make([][]float64, len(tables))
	for j := range mass {
		mass[j], next[j] = make([]float64, f.m.States()), make([]float64, f.m.States())
		for _, st := range f.m.StartStates() {
			mass[j][st.State] = st.Probability * weights[j]
		}
	}
	share := make([]float64, f.mostActions)
	for h := range p.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := f.m.Kernel(h)
		for s := range f.m.States() {
			n := int(k.First[s+1] - k.First[s])
			if n == 0 {
				for j := range mass {
					next[j][s] += mass[j][s]
				}
				continue
			}
			probs, total := share[:n], 0.0
			clear(probs)
			for j := range mass {
				if x := mass[j][s]; x > 0 {
					a := tables[j][h].At(s)
					probs[a] += x
					total += x
					propagateMass(k, int(k.First[s])+a, x, next[j])
				}
			}
			p.steps[h].Assign(s, probs, total)
		}
		for j := range mass {
			mass[j], next[j] = next[j], mass[j]
			clear(next[j])
		}
	}
	return nil
}

// propagateMass sends mass through choice c.
func propagateMass(k *cmdp.Kernel, c int, mass float64, next []float64) {
	to, prob := k.Row(c)
	for j, n := range to {
		next[n] += float64(mass * prob[j])
	}
}

func (f *finiteHorizon) evaluate(_ context.Context, p *Policy) ([]float64, error) {
	v := make([]float64, f.dim())
	evaluator := cmdp.NewEvaluator(f.m)
	evaluator.Returns(v[:f.m.Dim()], p)
	if len(f.stepwise.each) > 0 {
		f.stepwise.evaluate(v, f.m, p)
	}
	return v, nil
}
