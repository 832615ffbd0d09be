package markov

import (
	"context"
	"errors"
	"math"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A retirement is policy iteration where any state may also be left for the first state of the best class, at a price
// (a retirement option, Whittle 1980). That is one more choice, so that relative values prove a mean without it too.
// None is above the price, and values are sought for the states alone that are worth less, which are near the
// class. The class has the least mean as long as no policy is better that comes back to it by retiring.
type retirement struct {
	*LeastMean
	best    Class
	dir     []float64
	end     []int32 // the states of the end
	choices []int32 // of these
	places  []int32 // in the end, of the states that do not retire
	states  []int32 // these states
	take    []int32 // and their choices
	scale   float64 // the largest reward
	price   float64 // of retiring, which all other states are worth
	margin  float64 // by how much it is raised next
}

// slowMean finds the least mean of end i: near its class if no direction was solved before and that is enough, or by
// policy iteration in all states, which starts from what is known.
func (p *LeastMean) slowMean(ctx context.Context, i int, dir []float64) (mean float64, err error) {
	if len(p.solved) == 0 {
		proved, err := p.withRetirement(ctx, i, dir)
		if proved || err != nil {
			return floats.Dot(dir, p.Best[i].Mean), err
		}
	}
	return p.policyIteration(ctx, i, dir)
}

// errRetires is the error of a class that a policy comes back to by retiring, or that is far from few states only.
var errRetires = errors.New("markov: it is better to retire")

// withRetirement finds the least mean of end i as policyIteration does where that can be proved near its class, and
// reports whether it could be. Otherwise the bias is left alone, but a better class may have been found.
func (p *LeastMean) withRetirement(ctx context.Context, i int, dir []float64) (proved bool, err error) {
	end := p.ends.Part(i)
	if len(end) < threshold.Retiring {
		return false, nil
	}
	const margin = 0.125
	y := &retirement{LeastMean: p, best: p.Best[i], dir: dir, end: end, scale: p.sizes[i], margin: margin * p.sizes[i]}
	bias := make([]float64, len(end))
	for j, s := range end {
		bias[j] = p.Bias[s]
		y.choices = append(y.choices, p.greedy[s])
		p.position[s] = retired
	}
	p.before = p.statesBefore()
	p.careful = false
	err = y.iterate(ctx)
	if floats.Dot(dir, y.best.Mean) < floats.Dot(dir, p.Best[i].Mean) {
		p.Best[i] = y.best
	}
	if err == nil {
		p.keepGreedy(end, y.choices)
		return true, p.makeExact(ctx, &p.Best[i], dir)
	}
	for j, s := range end {
		p.Bias[s] = bias[j]
	}
	if errors.Is(err, errRetires) || errors.Is(err, ErrSingular) {
		err = nil
	}
	return false, err
}

// retired is the number of states that are not looked at.
const retired = -1

// iterate ends with relative values that prove the mean of the best class, or with an error, which is errRetires if too
// many states are near.
func (y *retirement) iterate(ctx context.Context) error {
	for _, s := range y.end {
		y.stale[s] = stale
	}
	if err := y.restart(ctx); err != nil {
		return err
	}
	const rounds = 100
	for n := range rounds {
		y.Progress.At(findingMeans, math.NaN(), len(y.end))
		mean, before, slack := floats.Dot(y.dir, y.best.Mean), len(y.states), y.slack(y.states, y.take, y.price)
		for _, s := range y.states {
			y.stale[s] = stale
			for _, by := range y.before.of(s) {
				y.stale[by] = stale
			}
		}
		found, done, err := y.sweeps(ctx, n == 0, mean, slack)
		if err != nil {
			return err
		}
		y.gather(func(s int32) bool { return y.Bias[s] < y.price })
		if done && y.follows(&y.best, y.take) || !found && len(y.states) == before {
			short := mean - y.leastResidual(y.end, mean, math.Inf(1))
			if short > max(slack, exactMean*y.scale, y.Aim) {
				return errRetires
			}
			y.Rough = y.Rough || y.Aim > 0 && short > exactMean*y.scale
			return nil
		}
		if err := y.evaluate(ctx); err != nil {
			return err
		}
	}
	return errRetires
}

// restart evaluates the class alone, all other states being retired. Those that were retired before are not looked at
// again: what they lead to is worth no less, and the mean is lower.
func (y *retirement) restart(ctx context.Context) error {
	for _, s := range y.states {
		y.stale[s] = stale
	}
	y.gather(func(int32) bool { return false })
	y.follow()
	zero := y.best.States[0]
	if err := y.LeastMean.evaluate(ctx, y.states, y.take, zero, floats.Dot(y.dir, y.best.Mean)); err != nil {
		return err
	}
	most := 0.0
	for _, s := range y.states {
		most = max(most, y.Bias[s])
	}
	y.setPrice(most + y.margin)
	return nil
}

// setPrice changes what retiring costs.
func (y *retirement) setPrice(price float64) {
	y.price = price
	for _, s := range y.end {
		if y.position[s] == retired {
			y.Bias[s] = price
		}
	}
}

// gather makes the list of the states that do not retire: those of the class, and others that are wanted.
func (y *retirement) gather(wanted func(s int32) bool) {
	for _, s := range y.states {
		y.position[s] = retired
	}
	for _, s := range y.best.States {
		y.position[s] = 0
	}
	y.places, y.states, y.take = y.places[:0], y.states[:0], y.take[:0]
	for j, s := range y.end {
		if y.position[s] != retired || wanted(s) {
			y.position[s] = int32(len(y.states))
			y.places, y.states, y.take = append(y.places, int32(j)), append(y.states, s), append(y.take, y.choices[j])
		}
	}
}

// follow makes the policy do as the class does in its states.
func (y *retirement) follow() {
	y.followClass(&y.best, y.take)
	for k, j := range y.places {
		y.choices[j] = y.take[k]
	}
}

// sweeps improves the policy as improve does. The error is errRetires if too many states turn out to be near, which a
// part of them shows first.
func (y *retirement) sweeps(ctx context.Context, first bool, mean, slack float64) (found, done bool, err error) {
	const part = 16
	near := func(states []int32) (n int) {
		for _, s := range states {
			if y.Bias[s] < y.price {
				n++
			}
		}
		return n
	}
	left := 0
	for _, s := range y.end {
		if y.stale[s] != settled {
			left += 2
		}
	}
	if some := len(y.end) / part; first {
		swept, _, other := y.sweep(y.end[:some], y.choices[:some], false, mean, slack)
		left, found = left-swept, other
		if near(y.end[:some]) > 2*some/threshold.Near {
			return found, false, errRetires
		}
	}
	for n := 0; left > 0; n++ {
		swept, changed, other := y.sweep(y.end, y.choices, n%2 == 1, mean, slack)
		left, found = left-swept-len(y.end)/64-1, found || other
		if ctx.Err() != nil {
			return found, false, ctx.Err()
		}
		if !changed {
			return found, !y.endless(y.end), nil
		}
		if near(y.end) > len(y.end)/threshold.Near {
			return found, false, errRetires
		}
	}
	return found, false, nil
}

// evaluate finds the values of the policy and its class, and retires states that are worth the price.
func (y *retirement) evaluate(ctx context.Context) error {
	found, evaluated, err := y.evaluateClass(ctx, y.states, y.take, &y.best, y.dir)
	if errors.Is(err, errRetires) {
		y.margin *= 2
		y.setPrice(y.price + y.margin)
		y.follow()
		found, evaluated, err = y.evaluateClass(ctx, y.states, y.take, &y.best, y.dir)
	}
	if err != nil {
		return err
	}
	if !evaluated { // begin anew with a better class, which made that impossible
		if !(floats.Dot(y.dir, found.Mean) < floats.Dot(y.dir, y.best.Mean)) {
			return ErrSingular
		}
		found.slow = true
		y.best = *found
		return y.restart(ctx)
	}
	found.slow = true
	y.best = *found
	for _, s := range y.states {
		if y.Bias[s] >= y.price {
			y.stale[s], y.Bias[s] = stale, y.price
		}
	}
	y.gather(func(s int32) bool { return y.Bias[s] < y.price })
	return nil
}
