package markov

import (
	"context"
	"math"

	"cmdpsolve/cmdp/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A LeastTotal solves the problem with one number for a return: the policy of a quotient
// with the least total, component by component in topological order, last first. A
// component of one state takes one backup, any other policy iteration.
//
// Policy iteration starts from a policy that surely comes to rest and changes it only
// for strictly better choices. All its policies then come to rest too, until there is
// one that goes on for ever at a negative return in each step: the total has no bound
// then.
//
// Without a discount every choice is made cheaper by a little, more than all rounding:
// what is found is then below the true values, and each value is below every backup,
// which proves it, see stationary.recheck.
type LeastTotal struct {
	Quotient     *Quotient
	gamma        float64
	workers      int
	Progress     Progress
	longest      int                   // most successors of a choice
	Reward       []float64             // of each choice, that of staying included
	Weight       func(i int32) float64 // of a choice, the sum of the magnitudes that its reward is made of
	cancelling   map[int32]bool        // choices of loops whose returns cancel out, which are not made cheaper
	Loops        []Loop                // these loops
	Values       []float64             // of each state, and 0 for what is over
	Policy       []int32               // of each state, the index of a choice, −1 if none can rest
	iterative    map[int]bool          // components that are too wide to be eliminated
	slow         map[int]bool          // components in which sweeps are slow, with a discount
	chain        *Chain                // shared with others
	rows         rows                  // of the policy, for sweeps
	right        []float64
	before       []float64 // values before the last evaluation, without a discount
	moved        bool      // some were far from what they are now
	Shortfall    float64   // by how much some backup falls short of a value, with a discount
	broken       int       // the component whose policy did not rest, −1 for none
	Tolerance    float64   // relative error that is no matter, with a discount; 0 for rounding
	Perturbation float64   // what the perturbation is multiplied by
	step         float64   // what a backup of a total may fall short by in a wide component, 0 for rounding
	share        float64   // of what is returned in a step times enough, that step is
	extra        float64   // what a choice is made cheaper by besides, for its sake
	LowerBound   float64   // no value is below, −Inf if that is not known
	floor        float64   // positive values below are 0 in sweeps of totals
}

// A Loop is a set of choices of a quotient between which a policy may go round, and the share of its steps that each takes.
type Loop struct {
	Choices []int32
	Share   []float64
}

func NewLeastTotal(q *Quotient, gamma float64, workers int, chain *Chain) *LeastTotal {
	z := &LeastTotal{Quotient: q, chain: chain, gamma: gamma, workers: workers, longest: LongestRow(q.Kernel), Perturbation: 1, share: 1, broken: -1, LowerBound: math.Inf(-1)}
	z.Values, z.Policy = make([]float64, q.Rest+1), make([]int32, q.Rest)
	z.Reward = make([]float64, len(q.Choice))
	z.iterative, z.slow = make(map[int]bool), make(map[int]bool)
	for i := range len(q.Component) - 1 {
		z.properPolicy(q.Component[i], q.Component[i+1])
	}
	return z
}

// Reset forgets what was found for other rewards, and sets the relative error that is no matter, 0 for rounding. Rewards, and
// the weight, are to be set before the next call of solve.
func (z *LeastTotal) Reset(enough float64) { z.cancelling, z.Loops, z.Tolerance = nil, nil, enough }

// Cancels reports whether the returns of some loop cancel out.
func (z *LeastTotal) Cancels() bool { return z.cancelling != nil }

// Allowance is what a backup of a total may fall short by in components that are too wide to be eliminated, 0 for rounding.
func (z *LeastTotal) Allowance() float64 { return z.step }

// Sharpen makes the allowance of the next call smaller.
func (z *LeastTotal) Sharpen() {
	if z.share /= 16; z.share < 1e-6 {
		z.share = 0
	}
}

// allow sets the allowance: a share of what a choice returns on average.
func (z *LeastTotal) allow() {
	z.step = 0
	if z.gamma < 1 || z.Tolerance == 0 {
		return
	}
	for i := range z.Quotient.Choice {
		if z.Quotient.Choice[i] != Stay {
			z.step += z.Weight(int32(i))
		}
	}
	z.step *= z.share * z.Tolerance / float64(len(z.Quotient.Choice))
}

// findingValues is what a scalar does, for those who wait.
const findingValues = "finding values of states"

// perturbation is what a choice is made cheaper by without a discount, relative to the
// numbers that are added up, see charge. Where rounding turns out to be more, it is
// multiplied.
const perturbation = 16 * unit

// perturb is the perturbation of choice i. size is that of its numbers, apart from the
// reward.
func (z *LeastTotal) perturb(i int32, size float64) float64 {
	if z.gamma < 1 || z.cancelling != nil && z.cancelling[i] {
		return 0
	}
	return z.extra + z.roundingShare()*(size+z.Weight(i))
}

// roundingShare is more than what rounding takes from a sum of numbers of the size 1.
func (z *LeastTotal) roundingShare() float64 {
	return z.Perturbation * (perturbation + 4*float64(z.longest)*unit)
}

// properPolicy sets the policy of a component to one that comes to rest from every state that
// can. It goes backwards from where all is over or the component is left: each state
// takes the first choice that may lead to a state met before.
func (z *LeastTotal) properPolicy(lo, hi int32) {
	q := z.Quotient
	var queue []int32
	for s := lo; s < hi; s++ {
		z.Policy[s] = -1
		for i := q.First[s]; i < q.First[s+1]; i++ {
			to, prob := q.Row(i)
			leaves := len(to) == 0 || z.gamma < 1
			for j, n := range to {
				leaves = leaves || prob[j] > 0 && (n < lo || n >= hi)
			}
			if leaves && z.Policy[s] < 0 {
				z.Policy[s] = i
				queue = append(queue, s)
			}
		}
	}
	if len(queue) == int(hi-lo) || len(queue) == 0 {
		return
	}
	into := newLists(int(hi-lo), func(add func(at, item int32)) {
		for i := q.First[lo]; i < q.First[hi]; i++ {
			to, prob := q.Row(i)
			for j, n := range to {
				if prob[j] > 0 && n >= lo && n < hi {
					add(n-lo, i)
				}
			}
		}
	})
	owner := make([]int32, q.First[hi]-q.First[lo])
	for s := lo; s < hi; s++ {
		for i := q.First[s]; i < q.First[s+1]; i++ {
			owner[i-q.First[lo]] = s
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, i := range into.of(s - lo) {
			if by := owner[i-q.First[lo]]; z.Policy[by] < 0 {
				z.Policy[by] = i
				queue = append(queue, by)
			}
		}
	}
}

// Row returns the successors of a choice of the quotient and their probabilities.
func (q *Quotient) Row(i int32) ([]int32, []float64) {
	c := q.Choice[i]
	if c == Stay {
		return nil, nil
	}
	to := q.To[q.Kernel.Offset[c]:q.Kernel.Offset[c+1]]
	return to, q.Kernel.Prob[q.Kernel.Offset[c]:][:len(to)]
}

// Solve finds v and pick for the rewards. It returns the states of a closed set in
// which the policy goes on for ever at a negative return, or which it cannot leave, or nil. v is of no use
// then.
func (z *LeastTotal) Solve(ctx context.Context) (endless []int32, err error) {
	z.Shortfall = 0
	z.allow()
	if z.broken >= 0 {
		z.properPolicy(z.Quotient.Component[z.broken], z.Quotient.Component[z.broken+1])
		z.broken = -1
	}
	for i := range len(z.Quotient.Component) - 1 {
		lo, hi := z.Quotient.Component[i], z.Quotient.Component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			z.Progress.At(findingValues, float64(lo)/float64(z.Quotient.Rest), int(z.Quotient.Rest))
		}
		if hi == lo+1 {
			if !z.solveState(lo) {
				return []int32{lo}, nil
			}
			continue
		}
		if endless, err := z.policyIteration(ctx, i, lo, hi); endless != nil || err != nil {
			z.broken = i
			return endless, err
		}
	}
	if !math.IsInf(z.LowerBound, -1) { // what choices are made cheaper by may have added up to more
		for s, x := range z.Values {
			z.Values[s] = max(x, z.LowerBound)
		}
	}
	return nil, nil
}

// solveState treats a component of one state, and reports whether its value is finite.
func (z *LeastTotal) solveState(s int32) bool {
	q, best, at := z.Quotient, math.Inf(1), int32(-1)
	for i := q.First[s]; i < q.First[s+1]; i++ {
		x, out, size := z.Reward[i], 1-z.gamma, 0.0
		to, prob := q.Row(i)
		if len(to) == 0 {
			out = 1
		}
		for j, n := range to {
			if n != s {
				p := z.gamma * prob[j]
				y := float64(p * z.Values[n])
				x += y
				out += p
				size += math.Abs(y)
			}
		}
		if out == 0 { // for ever, at an infinite price or prize
			if x < -level*z.Weight(i) {
				z.Policy[s] = i
				return false
			}
			if z.Weight(i) > 0 {
				z.Loops = append(z.Loops, Loop{[]int32{q.Choice[i]}, []float64{1}})
			}
			continue
		}
		// Of the same size again is what the value itself weighs.
		if x = (x - z.perturb(i, size+math.Abs(x))) / out; x < best {
			best, at = x, i
		}
	}
	z.Values[s], z.Policy[s] = best, at
	return at >= 0
}

// policyIteration is policy iteration in the component i, which has the states [lo, hi).
func (z *LeastTotal) policyIteration(ctx context.Context, i int, lo, hi int32) (endless []int32, err error) {
	for s := lo; s < hi; s++ {
		if z.Policy[s] < 0 {
			return z.improperStates(lo, hi), nil
		}
	}
	if z.gamma < 1 && int(hi-lo) > threshold.Eliminated && !z.slow[i] {
		if done, err := z.modifiedPolicyIteration(ctx, lo, hi); done || err != nil {
			return nil, err
		}
		z.slow[i] = true
	}
	if z.extra = 3 * z.step; z.gamma == 1 && int(hi-lo) > threshold.Swept && z.cancelling == nil && !z.slow[i] {
		if z.gaussSeidel(ctx, lo, hi) || ctx.Err() != nil {
			z.extra = 0
			return nil, ctx.Err()
		}
		z.slow[i] = true
		z.properPolicy(lo, hi)
	}
	const rounds = 10_000
	// Rough values find the policies that matter; only good ones tell a policy that rests from
	// one that does not.
	careful := false
	rest := math.Inf(1)
	if z.extra = 0; z.iterative[i] {
		z.extra = 3 * z.step
	}
	defer func() { z.extra = 0 }()
	for range rounds {
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
		sets, err := z.evaluate(ctx, i, lo, hi, rest)
		if err != nil {
			return nil, err
		}
		if len(sets) > 0 {
			paying, rounds := z.payingSet(sets, lo)
			switch {
			case z.extra > 0: // they may go on only because choices are that much cheaper
				z.extra = 0
			case paying != nil:
				return paying, nil
			case !careful:
				careful = true
			case !z.markCancelling(sets):
				return sets[0], nil
			default:
				z.Loops = append(z.Loops, rounds...)
			}
			z.properPolicy(lo, hi)
			rest = 0
			continue
		}
		least := z.backupTolerance(lo, hi)
		changed, worst := z.improve(lo, hi, least)
		// Without a discount what choices are made cheaper by depends on the values.
		exact := (z.chain.factors != nil || rest <= 1.01*least) && !z.moved
		if exact && changed == 0 {
			if z.chain.factors == nil { // else values solve the system up to rounding
				least += rest
			}
			z.Shortfall = math.Max(z.Shortfall, least)
			return nil, nil
		}
		// Policies that differ in few states are soon the best.
		if rest = 0.02 * worst; careful || least == 0 && changed*50 < int(hi-lo) {
			rest = 0
		}
		rest = math.Max(rest, least)
	}
	return nil, nil // a bound is proved or not whatever the values are
}

// backupTolerance is what a backup may differ by in a component, a quarter of which is left to the linear
// system.
func (z *LeastTotal) backupTolerance(lo, hi int32) float64 {
	if z.gamma == 1 {
		return z.extra / 3
	}
	return math.Max(z.Tolerance*(1-z.gamma), 4*float64(z.longest+4)*unit) * floats.Norm(z.Values[lo:hi], math.Inf(1))
}

// level is the relative size up to which a sum counts as 0 with rounding.
const level = 1e-13

// payingSet returns a closed set with a negative gain, or nil if there is none, and the sets as loops.
func (z *LeastTotal) payingSet(sets [][]int32, lo int32) (paying []int32, rounds []Loop) {
	for _, set := range sets {
		gain, size, round := z.gain(set, lo)
		if gain < -level*size {
			return set, nil
		}
		rounds = append(rounds, round)
	}
	return nil, rounds
}

// gain returns the mean return of a step in a closed set, the states of which are at hand in
// the chain of the component that begins at lo, the size of what it is the sum of, and the set as a loop.
func (z *LeastTotal) gain(closed []int32, lo int32) (sum, size float64, round Loop) {
	local := make([]int32, len(closed))
	for j, s := range closed {
		local[j] = s - lo
	}
	round.Share = z.chain.shares(local, 0, new(Chain))
	for j, share := range round.Share {
		i := z.Policy[closed[j]]
		sum += share * z.Reward[i]
		size += share * z.Weight(i)
		round.Choices = append(round.Choices, z.Quotient.Choice[i])
	}
	return sum, size, round
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

// evaluate sets v to the values of the policy in a component, those of earlier ones
// being known. It returns the loops that the policy does not leave, if there are any, and no values then.
func (z *LeastTotal) evaluate(ctx context.Context, i int, lo, hi int32, rest float64) (loops [][]int32, err error) {
	y, q := z.chain, z.Quotient
	y.Reset()
	z.right = z.right[:0]
	leaks := false
	for s := lo; s < hi; s++ {
		right, size := z.Reward[z.Policy[s]], 0.0
		to, prob := q.Row(z.Policy[s])
		leak := 1 - z.gamma
		if len(to) == 0 {
			leak = 1
		}
		for j, n := range to {
			p := z.gamma * prob[j]
			switch {
			case p == 0 || n == s:
				continue
			case n >= lo && n < hi:
				y.next, y.prob = append(y.next, n-lo), append(y.prob, p)
			default:
				right += float64(p * z.Values[n])
				leak += p
			}
			if z.gamma == 1 {
				size += p * (math.Abs(z.Values[n]) + math.Abs(z.Values[s]))
			}
		}
		y.EndRow(leak)
		leaks = leaks || leak > 0
		z.right = append(z.right, right-z.perturb(z.Policy[s], size))
	}
	y.iterative = z.iterative[i]
	if z.gamma == 1 && (!leaks || !y.eliminated()) {
		if int(hi-lo) > threshold.Eliminated { // or it is closed, which is rare
			z.iterative[i] = true
		}
		if loops = y.ClosedSets(); len(loops) > 0 {
			for _, loop := range loops {
				for j := range loop {
					loop[j] += lo
				}
			}
			return loops, nil
		}
	}
	if math.IsInf(rest, 1) {
		rest = z.chain.residual(z.Values[lo:hi], z.right) * 0.02
	}
	if z.gamma == 1 {
		z.before = append(z.before[:0], z.Values[lo:hi]...)
	}
	err = y.Solve(ctx, z.Values[lo:hi], z.right, false, rest/4)
	if y.iterative {
		z.iterative[i] = true
	}
	z.moved = false
	for j, x := range z.before {
		z.moved = z.moved || math.Abs(x-z.Values[lo+int32(j)]) > 0.5*math.Abs(z.Values[lo+int32(j)])
	}
	return nil, err
}
