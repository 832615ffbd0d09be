package robust

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// A taken choice is one that a policy takes with a probability.
type taken struct {
	choice int
	share  float64
}

// A system is a stationary policy in the states that it may come to, and not yet in those where nothing is returned
// any more. It must not be used concurrently.
type system struct {
	set    *Set
	states []int32   // in the order of their numbers
	number []int32   // of each state of the model, −1 if it is none of the system
	takes  [][]taken // of each of the states
	chain  markov.Chain
	// incoming are those of state s of the model from enter[s] to enter[s+1]
	incoming []incoming
	enter    []int
	choices  int // of all states, that are taken
}

// An incoming transition of a state says that it is a successor, which may come up, of a choice that a policy takes.
type incoming struct {
	from  int32   // state of the model
	taken int32   // number among all choices that are taken
	upper float64 // bound of the probability
	sure  bool    // the lower bound is not 0
}

// newSystem returns the system of a policy from the start.
func (s *Set) newSystem(policy cmdp.Policy) *system { return s.systemFrom(policy, s.m.StartStates()) }

// systemFrom returns the system of a policy from some states. Where a policy stays surely for ever and for nothing, the
// process rests.
func (s *Set) systemFrom(policy cmdp.Policy, from []cmdp.StartState) *system {
	y := &system{set: s, number: make([]int32, s.m.States())}
	for i := range y.number {
		y.number[i] = -1
	}
	k := s.kernels[0]
	takes := make([][]taken, s.m.States())
	met := make([]bool, s.m.States())
	var queue []int32
	visit := func(i int32) {
		if !met[i] {
			met[i] = true
			queue = append(queue, i)
		}
	}
	for _, st := range from {
		visit(int32(st.State))
	}
	probs := make([]float64, s.most)
	for at := 0; at < len(queue); at++ {
		i := queue[at]
		first, end := k.Choices(int(i))
		if first == end {
			continue
		}
		policy.Distribution(probs[:end-first], 0, int(i))
		for a, x := range probs[:end-first] {
			if x > 0 {
				takes[i] = append(takes[i], taken{first + a, x})
				s.eachSuccessor(first+a, func(to int32, _, _ float64) { visit(to) })
			}
		}
	}
	y.findIncoming(takes)
	rests := y.resting(takes, queue)
	for i := range int32(s.m.States()) {
		if met[i] && !rests[i] {
			y.number[i] = int32(len(y.states))
			y.states = append(y.states, i)
			y.takes = append(y.takes, takes[i])
		}
	}
	return y
}

// eachSuccessor calls visit with the successors of a choice that may come up, and their bounds.
func (s *Set) eachSuccessor(c int, visit func(to int32, lower, upper float64)) {
	next, _ := s.kernels[0].Row(c)
	lower, upper := s.between(0, c)
	for i, to := range next {
		if upper[i] > 0 {
			visit(to, lower[i], upper[i])
		}
	}
}

func (y *system) findIncoming(takes [][]taken) {
	y.enter = make([]int, y.set.m.States()+1)
	for _, ts := range takes {
		for _, t := range ts {
			y.set.eachSuccessor(t.choice, func(to int32, _, _ float64) { y.enter[to]++ })
		}
	}
	sum := 0
	for i, n := range y.enter {
		sum += n
		y.enter[i] = sum // the end; it becomes the beginning as transitions are put in from there down
	}
	y.incoming = make([]incoming, sum)
	for s, ts := range takes {
		for _, t := range ts {
			y.set.eachSuccessor(t.choice, func(to int32, lower, upper float64) {
				y.enter[to]--
				y.incoming[y.enter[to]] = incoming{int32(s), int32(y.choices), upper, lower > 0}
			})
			y.choices++
		}
	}
}

// incomingOf returns the incoming transitions of a state of the model.
func (y *system) incomingOf(s int32) []incoming { return y.incoming[y.enter[s]:y.enter[s+1]] }

// resting marks the states from which nothing is returned any more, whatever nature does. Long-run means have none but
// those without choices, in which nothing is returned either.
func (y *system) resting(takes [][]taken, states []int32) []bool {
	rests := make([]bool, y.set.m.States())
	var busy []int32
	for _, i := range states {
		rests[i] = true
		for _, t := range takes[i] {
			rests[i] = rests[i] && y.set.returnsNothing(t.choice)
		}
		if !rests[i] {
			busy = append(busy, i)
		}
	}
	for len(busy) > 0 {
		i := busy[len(busy)-1]
		busy = busy[:len(busy)-1]
		for _, e := range y.incomingOf(i) {
			if rests[e.from] {
				rests[e.from] = false
				busy = append(busy, e.from)
			}
		}
	}
	return rests
}

func (s *Set) returnsNothing(c int) bool {
	rows := s.kernels[0]
	if !rows.Random() {
		return allZero(rows.Returns(c))
	}
	next, _ := rows.Row(c)
	for i := range next {
		if !allZero(rows.Outcome(c, i)) {
			return false
		}
	}
	return true
}

// invariantSubset returns the largest subset of the marked states of the system in which nature can keep the process
// for ever. With sure it only counts what happens whatever nature does: every successor that may come up has to be in
// the set. States are taken out one by one, and each looks at those that lead to it.
func (y *system) invariantSubset(in []bool, sure bool) []bool {
	out := slices.Clone(in)
	inside := make([]float64, y.choices) // upper bounds of the successors in the set, in sum, of what is taken
	var gone []int32                     // states of the model that are not in the set
	for s, n := range y.number {
		if n < 0 || !out[n] {
			gone = append(gone, int32(s))
		}
		for _, e := range y.incomingOf(int32(s)) {
			inside[e.taken] += e.upper
		}
	}
	for len(gone) > 0 {
		s := gone[len(gone)-1]
		gone = gone[:len(gone)-1]
		for _, e := range y.incomingOf(s) {
			inside[e.taken] -= e.upper
			n := y.number[e.from]
			if n >= 0 && out[n] && (sure || e.sure || inside[e.taken] < 1-cmdp.ProbabilityTolerance) {
				out[n] = false
				gone = append(gone, e.from)
			}
		}
	}
	return out
}

// mustLeave returns an error if nature can keep the process in the marked states for ever.
func (y *system) mustLeave(in []bool, mean bool) error {
	stays := y.invariantSubset(in, false)
	kept := slices.Index(stays, true)
	if kept < 0 {
		return nil
	}
	e := &NotDefinedError{Mean: mean, Zero: !y.invariantSubset(in, true)[kept]}
	choice := func(n int, t taken) StateChoice {
		s := int(y.states[n])
		return StateChoice{State: s, Choice: y.set.within(s, t.choice)}
	}
	// Choices that could lead out are those to speak of, then those that could lead to these, and so on.
	const rounds = 8
	for range rounds {
		left := slices.Clone(stays)
		for n, x := range stays {
			if !x {
				continue
			}
			for _, t := range y.takes[n] {
				leaves := false
				y.set.eachSuccessor(t.choice, func(to int32, _, _ float64) {
					leaves = leaves || y.number[to] < 0 || !stays[y.number[to]]
				})
				if leaves {
					e.At = append(e.At, choice(n, t))
					left[n] = false
				}
			}
		}
		stays = y.invariantSubset(left, false)
	}
	if e.At == nil {
		e.At = []StateChoice{choice(kept, y.takes[kept][0])}
	}
	return e
}

// within returns the number of a choice among those of its state.
func (s *Set) within(state, choice int) int {
	first, _ := s.kernels[0].Choices(state)
	return choice - first
}

func (y *system) all() []bool {
	in := make([]bool, len(y.states))
	for n := range in {
		in[n] = true
	}
	return in
}

// build makes the chain of the marked states under nature's answer. number gets their numbers in it.
func (y *system) build(a *Answer, in []bool, number []int32) {
	y.chain.Reset()
	gamma := y.set.m.Discount()
	k := y.set.kernels[0]
	for n, s := range y.states {
		if !in[n] {
			continue
		}
		leak := 1 - gamma
		for _, t := range y.takes[n] {
			row := a.row(0, t.choice)
			next, _ := k.Row(t.choice)
			for i, to := range next {
				x := gamma * t.share * row[i]
				m := y.number[to]
				switch {
				case x == 0 || to == s:
				case m >= 0 && in[m]:
					y.chain.Add(number[m], x)
				default:
					leak += x
				}
			}
		}
		y.chain.EndRow(leak)
	}
}

// numbered returns the numbers of the marked states among themselves, and how many there are.
func numbered(in []bool) (number []int32, count int) {
	number = make([]int32, len(in))
	for n, x := range in {
		number[n] = -1
		if x {
			number[n] = int32(count)
			count++
		}
	}
	return number, count
}

// solve sets the values of the marked states to what the policy returns from there under nature's answer, until it
// leaves them, with what v has for others then. extra is added in each step.
func (y *system) solve(ctx context.Context, b *backup, a *Answer, in []bool, v []float64, extra float64) error {
	number, count := numbered(in)
	y.build(a, in, number)
	right, x := make([]float64, count), make([]float64, count)
	saved := make([]float64, count)
	for n, s := range y.states {
		if in[n] {
			saved[number[n]], v[s] = v[s], 0
		}
	}
	for n := range y.states {
		if !in[n] {
			continue
		}
		right[number[n]] = extra
		for _, t := range y.takes[n] {
			right[number[n]] += t.share * b.in(a, t.choice, v)
		}
	}
	copy(x, saved)
	err := y.chain.Solve(ctx, x, right, false, 0)
	for n, s := range y.states {
		if in[n] {
			v[s] = x[number[n]]
		}
	}
	return err
}

// greatest sets the values of the marked states to the greatest over the set, by policy iteration of nature, which
// improves its answer until no choice has a better one (Puterman 1994, section 6.4). extra is added in each step.
func (y *system) greatest(ctx context.Context, b *backup, a *Answer, in []bool, v []float64, extra float64) error {
	const most = 200
	for range most {
		if err := y.solve(ctx, b, a, in, v, extra); err != nil {
			return err
		}
		if !y.answer(b, a, in, v) {
			return nil
		}
	}
	return nil // the bounds are computed from what is there
}

// answer improves nature's answer at the marked states, and reports whether it is better anywhere, by more than
// rounding.
func (y *system) answer(b *backup, a *Answer, in []bool, v []float64) bool {
	better := false
	least := 1e-13 * (b.largest(0, v) + b.largestReward(0))
	for n := range y.states {
		if !in[n] {
			continue
		}
		for _, t := range y.takes[n] {
			if b.choice(0, t.choice, v)[0] > b.in(a, t.choice, v)+least {
				b.answer(a, 0, t.choice, v)
				better = true
			}
		}
	}
	return better
}

// backed returns the greatest value of a state after one step.
func (y *system) backed(b *backup, n int, v []float64) float64 {
	sum := 0.0
	for _, t := range y.takes[n] {
		sum += t.share * (b.choice(0, t.choice, v)[0] + y.set.missing(t.choice)*b.gamma*v[y.states[n]])
	}
	return sum
}

// missing is what the probabilities of a choice miss of 1 by the numbers of a file. The state keeps it, as in package
// exact.
func (s *Set) missing(c int) float64 {
	lower, upper := s.between(0, c)
	x := 1 - min(floats.Sum(upper), max(floats.Sum(lower), 1))
	if math.Abs(x) <= float64(s.longest+2)*2*unit {
		return 0
	}
	return x
}

// greatestIncrease returns by how much a step may raise a value of the marked states, rounding included, and the
// bound of that rounding.
func (y *system) greatestIncrease(b *backup, in []bool, v []float64) (most, rounding float64) {
	most = math.Inf(-1)
	for n, s := range y.states {
		if in[n] {
			most = math.Max(most, y.backed(b, n, v)-v[s])
		}
	}
	rounding = y.increaseRounding(b, v)
	return most + rounding, rounding
}

// increaseRounding bounds the rounding error of what a step raises a value by.
func (y *system) increaseRounding(b *backup, v []float64) float64 {
	return 2*b.rounding(0, b.largest(0, v)) + 4*unit*b.largest(0, v)
}
