package markov

import (
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/internal/threshold"
	"context"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
)

// policyIteration finds values and policy in component i, the states [lo, hi): by sweeps if these are fast,
// else by policy iteration (Howard 1960; Puterman 1994, sections 6.4 and 7.2). It returns what Solve returns.
func (z *LeastTotal) policyIteration(ctx context.Context, i int, lo, hi int32) (endless []int32, err error) {
	for s := lo; s < hi; s++ {
		if z.Policy[s] < 0 {
			return z.improperStates(lo, hi), nil
		}
	}
	if done, err := z.sweep(ctx, i, lo, hi); done || err != nil {
		return nil, err
	}
	const rounds = 10_000
	// Rough values find the policies that matter; only good ones tell a policy that rests from
	// one that does not.
	careful := false
	rest := math.Inf(1)
	z.slack = 0
	if z.iterative[i] {
		z.slack = 3 * z.allowance
	}
	defer func() { z.slack = 0 }()
	for range rounds {
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
		sets, err := z.evaluate(ctx, i, lo, hi, rest)
		if err != nil {
			return nil, err
		}
		if len(sets) > 0 {
			paying, rounds, err := z.negativeGainSet(ctx, sets, lo)
			if err != nil {
				return nil, err
			}
			switch {
			case z.slack > 0: // they may go on only because choices are that much cheaper
				z.slack = 0
			case paying != nil:
				return paying, nil
			case !careful:
				careful = true
			case !z.markCancelling(sets):
				return sets[0], nil
			default:
				z.Loops = append(z.Loops, rounds...)
			}
			z.properPolicy(lo, hi, nil)
			rest = 0
			continue
		}
		least := z.backupTolerance(lo, hi)
		changed, worst := z.improve(lo, hi, least)
		exact := (z.chain.factors != nil || rest <= 1.01*least) && !z.valuesMoved
		if exact && changed == 0 {
			if z.chain.factors == nil { // else values solve the system up to rounding
				least += rest
			}
			z.Shortfall = math.Max(z.Shortfall, least)
			return nil, nil
		}
		// Policies that differ in few states are soon the best.
		rest = 0.02 * worst
		if careful || least == 0 && changed*50 < int(hi-lo) {
			rest = 0
		}
		rest = math.Max(rest, least)
	}
	return nil, nil // a bound is proved or not whatever the values are
}

// sweep finds the values in a large component by sweeps, and reports whether that was fast enough.
func (z *LeastTotal) sweep(ctx context.Context, i int, lo, hi int32) (done bool, err error) {
	if z.gamma < 1 && int(hi-lo) > threshold.Eliminated && !z.slow[i] {
		if done, err := z.modifiedPolicyIteration(ctx, lo, hi); done || err != nil {
			return done, err
		}
		z.slow[i] = true
	}
	if z.gamma < 1 || int(hi-lo) <= threshold.Swept {
		return false, nil
	}
	if z.Sweeps > 0 {
		z.raise(ctx, lo, hi)
		return true, ctx.Err()
	}
	if z.cancelling != nil || z.slow[i] {
		return false, nil
	}
	z.slack = 3 * z.allowance
	done = z.gaussSeidel(ctx, i, lo, hi)
	z.slack = 0
	if done || ctx.Err() != nil {
		return done, ctx.Err()
	}
	z.slow[i] = true
	z.properPolicy(lo, hi, nil)
	return false, nil
}

// backupTolerance is what a backup may differ by in a component, a quarter of which is left to the linear
// system.
func (z *LeastTotal) backupTolerance(lo, hi int32) float64 {
	if z.gamma == 1 {
		return z.slack / 3
	}
	return math.Max(z.Tolerance*(1-z.gamma), 4*float64(z.longest+4)*unit) * floats.Norm(z.Values[lo:hi], math.Inf(1))
}

// cancellation is the relative size up to which a sum counts as 0 with rounding.
const cancellation = 1e-13

// negativeGainSet returns the first of some closed sets with a negative gain, or nil if there is none, and the sets
// as loops.
func (z *LeastTotal) negativeGainSet(ctx context.Context, sets [][]int32,
	lo int32) (paying []int32, rounds []Loop, err error) {
	for _, set := range sets {
		gain, size, round, err := z.gain(ctx, set, lo)
		if err != nil {
			return nil, nil, err
		}
		if gain < -cancellation*size {
			return set, nil, nil
		}
		rounds = append(rounds, round)
	}
	return nil, rounds, nil
}

// gain returns the mean return of a step in a closed set, the states of which are at hand in
// the chain of the component that begins at lo, the size of what it is the sum of, and the set as a loop.
func (z *LeastTotal) gain(ctx context.Context, closed []int32, lo int32) (sum, size float64, round Loop, err error) {
	local := make([]int32, len(closed))
	for j, s := range closed {
		local[j] = s - lo
	}
	round.Share, err = z.chain.stationaryShares(ctx, local, 0, new(Chain))
	if err != nil {
		return 0, 0, round, err
	}
	for j, share := range round.Share {
		i := z.Policy[closed[j]]
		sum += share * z.Reward[i]
		size += share * z.Weight[i]
		round.Choices = append(round.Choices, z.Quotient.Choice[i])
	}
	return sum, size, round, nil
}

// markCancelling sees to it that no choice of loops whose returns cancel out is made cheaper,
// which would let a loop go on for ever. It reports whether any was before.
func (z *LeastTotal) markCancelling(loops [][]int32) bool {
	fresh := false
	if z.cancelling == nil {
		z.cancelling = make(map[int32]bool)
	}
	for _, loop := range loops {
		for _, s := range loop {
			fresh = fresh || !z.cancelling[z.Policy[s]]
			z.cancelling[z.Policy[s]] = true
			z.loopWeight = max(z.loopWeight, z.Weight[z.Policy[s]])
		}
	}
	return fresh
}

// improperStates returns the states of a component that cannot rest.
func (z *LeastTotal) improperStates(lo, hi int32) []int32 {
	var out []int32
	for s := lo; s < hi; s++ {
		if z.Policy[s] < 0 {
			out = append(out, s)
		}
	}
	return out
}

// evaluate sets the values in a component to those of the policy, values in earlier components
// being known. If there are closed sets that the policy does not leave it returns these, and finds no values.
func (z *LeastTotal) evaluate(ctx context.Context, i int, lo, hi int32, rest float64) (loops [][]int32, err error) {
	y := z.chain
	leaks := z.inducedChain(lo, hi)
	y.iterative = z.iterative[i]
	if z.gamma == 1 && (!leaks || !y.eliminated(ctx)) {
		if int(hi-lo) > threshold.Eliminated { // or it is closed, which is rare
			z.iterative[i] = true
		}
		loops = y.ClosedSets()
		if len(loops) > 0 {
			for _, loop := range loops {
				for j := range loop {
					loop[j] += lo
				}
			}
			return loops, nil
		}
	}
	if math.IsInf(rest, 1) {
		z.rightSide(lo, hi)
		rest = z.chain.residual(z.Values[lo:hi], z.right) * 0.02
	}
	// Without a discount what choices are made cheaper by depends on the values.
	const most = 3
	for range most {
		z.rightSide(lo, hi)
		z.previous = append(z.previous[:0], z.Values[lo:hi]...)
		err = y.Solve(ctx, z.Values[lo:hi], z.right, false, rest/4)
		z.valuesMoved = false
		for j, x := range z.Values[lo:hi] {
			z.valuesMoved = z.valuesMoved || z.gamma == 1 && math.Abs(z.previous[j]-x) > 0.5*math.Abs(x)
		}
		if err != nil || !z.valuesMoved || y.factors == nil {
			break
		}
	}
	if y.iterative {
		z.iterative[i] = true
	}
	return nil, err
}

// inducedChain makes the chain that of the policy in a component, and reports whether it is left.
func (z *LeastTotal) inducedChain(lo, hi int32) (leaks bool) {
	y := z.chain
	y.Reset()
	for s := lo; s < hi; s++ {
		to, prob := z.Quotient.Row(z.Policy[s])
		leak := 1 - z.gamma
		if len(to) == 0 {
			leak = 1
		}
		for j, n := range to {
			p := z.gamma * prob[j]
			switch {
			case p == 0 || n == s:
			case n >= lo && n < hi:
				y.next, y.prob = append(y.next, n-lo), append(y.prob, p)
			default:
				leak += p
			}
		}
		y.EndRow(leak)
		leaks = leaks || leak > 0
	}
	return leaks
}

// rightSide sets the right-hand sides of the policy in a component: rewards, and what they lead to outside.
func (z *LeastTotal) rightSide(lo, hi int32) {
	z.right = z.right[:0]
	for s := lo; s < hi; s++ {
		right, size, own := z.Reward[z.Policy[s]], 0.0, math.Abs(z.Values[s])
		to, prob := z.Quotient.Row(z.Policy[s])
		for j, n := range to {
			if n == s {
				continue
			}
			p := z.gamma * prob[j]
			if n < lo || n >= hi {
				right += float64(p * z.Values[n])
			}
			size += p * (math.Abs(z.Values[n]) + own)
		}
		z.right = append(z.right, right-z.perturb(z.Policy[s], size))
	}
}

// improve changes the policy in a component wherever an action is better by more than
// slack. It returns in how many states, and the largest difference.
func (z *LeastTotal) improve(lo, hi int32, slack float64) (changed int, worst float64) {
	work, first := 0, z.Quotient.First[lo]
	if z.Quotient.First[hi] > first {
		work = len(z.Quotient.To) / len(z.Quotient.Choice) * int(z.Quotient.First[hi]-first)
	}
	if z.workers <= 1 || work < threshold.Shared {
		return z.improveStates(lo, hi, slack)
	}
	var count atomic.Int64
	worst = parallel.ForStates(z.workers, int(hi-lo), work, func(from, to int) float64 {
		changed, worst := z.improveStates(lo+int32(from), lo+int32(to), slack)
		count.Add(int64(changed))
		return worst
	})
	return int(count.Load()), worst
}

// improveStates is improve for the states [lo, hi).
func (z *LeastTotal) improveStates(lo, hi int32, slack float64) (changed int, worst float64) {
	for s := lo; s < hi; s++ {
		if x := z.improveState(s, slack); x > 0 {
			worst = math.Max(worst, x)
			changed++
		}
	}
	return changed, worst
}

// improveState changes the policy in a state if a choice is better by more than slack, and
// half the perturbation, and returns by how much it is.
func (z *LeastTotal) improveState(s int32, slack float64) float64 {
	q, old := z.Quotient, z.Values[s]
	least, best := 0.0, int32(-1)
	worst := 0.0
	for i := q.First[s]; i < q.First[s+1]; i++ {
		if i == z.Policy[s] {
			continue
		}
		gain, out := z.Reward[i]-(1-z.gamma)*old, 1-z.gamma
		size, charge := 0.0, 0.0
		to, prob := q.Row(i)
		switch {
		case len(to) == 0:
			gain, out = z.Reward[i]-old, 1
			charge = z.perturb(i, 0)
		case z.gamma < 1:
			sum := 0.0
			for j, n := range to {
				x := prob[j] * (z.Values[n] - old) // 0 where n is s
				sum += x
				if n != s {
					out += z.gamma * prob[j]
				}
			}
			gain += float64(z.gamma * sum)
		default:
			for j, n := range to {
				if n != s {
					x := z.Values[n]
					gain += float64(prob[j] * (x - old))
					out += prob[j]
					size += prob[j] * (math.Abs(x) + math.Abs(old))
				}
			}
			charge = z.perturb(i, size)
		}
		gain -= charge
		if gain >= -slack-charge/2 || charge == 0 && gain >= -cancellation*(size+max(z.Weight[i], z.loopWeight)) {
			continue
		}
		worst = math.Max(worst, -gain)
		// The value that the choice would give the state, if it is taken for good.
		if out > 0 {
			gain /= out
		} else {
			gain = math.Inf(-1)
		}
		if gain < least {
			least, best = gain, i
		}
	}
	if best >= 0 {
		z.Policy[s] = best
	}
	return worst
}
