package robust

import (
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// A backup computes values of choices from those of successors. Values are kept for several directions at a time:
// those of state s are v[s*n:(s+1)*n] for n directions. It must not be used concurrently.
type backup struct {
	set    *Set
	dirs   [][]float64
	gamma  float64
	filler filler
	values []float64 // of the successors of a choice
	probs  []float64 // of the actions of a state
	sums   []float64 // of each direction
}

func (s *Set) newBackup(dirs [][]float64) *backup {
	b := &backup{set: s, dirs: dirs, gamma: s.m.Discount()}
	b.values = make([]float64, s.longest)
	b.filler = newFiller(s.longest)
	b.probs = make([]float64, s.most)
	b.sums = make([]float64, len(dirs))
	return b
}

// gather returns the values of the successors of choice c in direction j, with what the transitions return if that is
// random, and what the choice returns otherwise.
func (b *backup) gather(h, c, j int, v []float64) (values []float64, reward float64) {
	rows, dir, n := b.set.kernels[b.set.kernel(h)], b.dirs[j], len(b.dirs)
	next, _ := rows.Row(c)
	values = b.values[:len(next)]
	for i, to := range next {
		values[i] = b.gamma * v[int(to)*n+j]
	}
	if !rows.Random() {
		return values, dot(dir, rows.Returns(c))
	}
	for i := range values {
		values[i] += dot(dir, rows.Outcome(c, i))
	}
	return values, 0
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, a := range x {
		sum += a * y[i]
	}
	return sum
}

// choice returns the greatest value of choice c at step h in direction j over the set.
func (b *backup) choice(h, c, j int, v []float64) float64 {
	lower, upper := b.set.bounds(b.set.kernel(h), c)
	if rows := b.set.kernels[b.set.kernel(h)]; lower != nil && !rows.Random() {
		return b.fixed(rows, c, j, lower, upper, v)
	}
	values, reward := b.gather(h, c, j, v)
	if lower != nil {
		return reward + b.filler.greatest(lower, upper, values)
	}
	_, prob := b.set.kernels[b.set.kernel(h)].Row(c)
	return reward + dot(prob, values)
}

// fixed is choice for one with intervals whose returns are not random, without a step in between: most of the time is
// spent here.
func (b *backup) fixed(rows *cmdp.Rows, c, j int, lower, upper, v []float64) float64 {
	next, _ := rows.Row(c)
	es, n := b.filler.entries[:len(next)], len(b.dirs)
	lower, upper = lower[:len(next)], upper[:len(next)]
	sum, free := 0.0, 1.0
	for i, to := range next {
		x, l := b.gamma*v[int(to)*n+j], lower[i]
		sum += l * x
		free -= l
		es[i] = entry{x, upper[i] - l}
	}
	return dot(b.dirs[j], rows.Returns(c)) + (sum + fill(es, free))
}

// in returns the value of choice c in direction j under given probabilities.
func (b *backup) in(a *Answer, h, c, j int, v []float64) float64 {
	values, reward := b.gather(h, c, j, v)
	return reward + dot(a.row(h, c), values)
}

// answer makes nature's answer to the values in direction j at choice c.
func (b *backup) answer(a *Answer, h, c, j int, v []float64) {
	lower, upper := b.set.bounds(b.set.kernel(h), c)
	if lower != nil {
		values, _ := b.gather(h, c, j, v)
		b.filler.answer(a.row(h, c), lower, upper, values)
	}
}

// policy sets the values of state s at step h to those of what a policy does there, the greatest over the set in each
// direction. v has the values of successors, dst is for all states like v.
func (b *backup) policy(dst []float64, policy cmdp.Policy, h, s int, v []float64) {
	n := len(b.dirs)
	of := dst[s*n : (s+1)*n]
	first, end := b.set.kernels[b.set.kernel(h)].Choices(s)
	if first == end { // the process rests
		for j := range of {
			of[j] = b.gamma * v[s*n+j]
		}
		return
	}
	probs := b.probs[:end-first]
	policy.Distribution(probs, h, s)
	clear(of)
	for a, x := range probs {
		if x == 0 {
			continue
		}
		for j := range of {
			of[j] += x * b.choice(h, first+a, j, v)
		}
	}
}

// rounding bounds the rounding error of one backup in each direction, where values of successors are at most as large
// as most says. Sums have as many terms as a choice has successors, rewards as many as there are returns, and a policy
// draws from the actions of a state (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
func (b *backup) rounding(j int, most float64) float64 {
	s := b.set
	terms := float64(3*s.longest + s.m.Dim() + s.most + 12)
	return terms * unit * (s.mass*b.gamma*most + b.largestReward(j))
}

// largestReward bounds the magnitude of what a choice returns in direction j, the terms of the sum by their magnitudes.
func (b *backup) largestReward(j int) float64 {
	most := 0.0
	take := func(returns []float64) {
		sum := 0.0
		for i, r := range returns {
			sum += math.Abs(b.dirs[j][i] * r)
		}
		most = math.Max(most, sum)
	}
	for h, rows := range b.set.kernels {
		for c := range b.set.choices(h) {
			if !rows.Random() {
				take(rows.Returns(c))
				continue
			}
			next, _ := rows.Row(c)
			for i := range next {
				take(rows.Outcome(c, i))
			}
		}
	}
	return most
}

// largest returns the magnitude of the largest value in direction j.
func (b *backup) largest(j int, v []float64) float64 {
	most, n := 0.0, len(b.dirs)
	for at := j; at < len(v); at += n {
		most = math.Max(most, math.Abs(v[at]))
	}
	return most
}

// atStart returns the expected value of the first state in each direction.
func (b *backup) atStart(v []float64) []float64 {
	n := len(b.dirs)
	out := make([]float64, n)
	for _, st := range b.set.m.StartStates() {
		floats.AddScaled(out, st.Probability, v[st.State*n:(st.State+1)*n])
	}
	return out
}
