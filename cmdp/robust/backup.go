package robust

import (
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// A backup computes values of choices from those of successors. Values are kept for several directions at a time:
// those of state s are v[s*n:(s+1)*n] for n directions. It must not be used concurrently.
type backup struct {
	set     *Set
	dirs    [][]float64
	gamma   float64
	waiting []waiting
	next    []int32   // the successors of the choices that wait
	values  []float64 // of these successors; those in direction j begin at j*stride
	stride  int
	lower   []float64 // probabilities of the successors of a choice, at least
	rooms   []float64 // how much they may grow
	order   []int32   // of the successors of a choice
	probs   []float64 // of the actions of a state
	sums    []float64 // of each direction
}

// enough is how many successors wait at most, unless one choice has more. Their values fit into a cache of the first
// level.
const enough = 512

func (s *Set) newBackup(dirs [][]float64) *backup {
	b := &backup{set: s, dirs: dirs, gamma: s.m.Discount()}
	most := max(enough, s.longest)
	b.next = make([]int32, 0, most)
	b.stride = most + lanes
	b.values = make([]float64, len(dirs)*b.stride)
	b.lower = make([]float64, s.longest+lanes)
	b.rooms = make([]float64, s.longest+lanes)
	b.order = make([]int32, s.longest)
	b.probs = make([]float64, s.most)
	b.sums = make([]float64, len(dirs))
	return b
}

// A waiting choice is one whose successors are known.
type waiting struct {
	kernel, choice, state int
	share                 float64 // with which it counts
	first, end            int     // where its successors are among those of the choices that wait
}

// wait puts a choice at step h, which counts with a share, to those that are computed next. There must be room.
func (b *backup) wait(h, c int, share float64, state int) {
	kernel, first := b.set.kernel(h), len(b.next)
	next, _ := b.set.kernels[kernel].Row(c)
	b.next = append(b.next, next...)
	b.waiting = append(b.waiting, waiting{kernel, c, state, share, first, len(b.next)})
}

// fetch begins to bring the values of the successors of a choice into the cache.
func (b *backup) fetch(rows *cmdp.Rows, c int, v []float64) {
	next, _ := rows.Row(c)
	if prefetch != nil && len(next) > 0 {
		prefetch(&v[0], len(b.dirs), &next[0], len(next))
	}
}

// load finds the values of the successors of all choices that wait, in each direction, with what the transitions
// return if that is random. Memory that is read in no order is slow if each choice waits for it; so nothing else is
// done here.
func (b *backup) load(v []float64) {
	for j := 0; j < len(b.dirs); {
		j += b.gather(j, v)
	}
	for i := range b.waiting {
		w := &b.waiting[i]
		rows := b.set.kernels[w.kernel]
		if !rows.Random() {
			continue
		}
		for j, dir := range b.dirs {
			of := b.of(w, j)
			for i := range of {
				of[i] += dot(dir, rows.Outcome(w.choice, i))
			}
		}
	}
}

// gather finds the values of the successors of all choices that wait in direction j and in some of those that follow.
// It returns in how many: a successor is found once for all of them.
func (b *backup) gather(j int, v []float64) int {
	n, gamma := len(b.dirs), b.gamma
	of, x0 := v[j:], b.direction(j)
	switch left := n - j; {
	case left >= 4:
		x1, x2, x3 := b.direction(j+1), b.direction(j+2), b.direction(j+3)
		for i, to := range b.next {
			x := (*[4]float64)(of[int(to)*n:])
			x0[i] = gamma * x[0]
			x1[i] = gamma * x[1]
			x2[i] = gamma * x[2]
			x3[i] = gamma * x[3]
		}
		return 4
	case left >= 2:
		x1 := b.direction(j + 1)
		for i, to := range b.next {
			x := (*[2]float64)(of[int(to)*n:])
			x0[i] = gamma * x[0]
			x1[i] = gamma * x[1]
		}
		return 2
	default:
		for i, to := range b.next {
			x0[i] = gamma * of[int(to)*n]
		}
		return 1
	}
}

// direction returns the values of all successors that wait in direction j.
func (b *backup) direction(j int) []float64 { return b.values[j*b.stride:][:len(b.next)] }

// full reports whether there may be no room for another choice.
func (b *backup) full() bool { return len(b.next)+b.set.longest > cap(b.next) }

// reset forgets what waits.
func (b *backup) reset() {
	b.waiting = b.waiting[:0]
	b.next = b.next[:0]
}

// of returns the values of the successors of a choice that waits in direction j.
func (b *backup) of(w *waiting, j int) []float64 { return b.direction(j)[w.first:w.end] }

// one loads a choice alone.
func (b *backup) one(h, c int, v []float64) *waiting {
	b.reset()
	b.wait(h, c, 1, 0)
	b.load(v)
	return &b.waiting[0]
}

// finish sets sums to the greatest values of a choice whose successors' values are loaded.
func (b *backup) finish(w *waiting) {
	rows := b.set.kernels[w.kernel]
	b.expect(w)
	if rows.Random() {
		return
	}
	returns := rows.Returns(w.choice)
	for j, dir := range b.dirs {
		b.sums[j] += dot(dir, returns)
	}
}

// expect sets sums to the greatest expected values of the successors of a choice.
func (b *backup) expect(w *waiting) {
	prob, upper := b.set.bounds(w.kernel, w.choice)
	if prob == nil { // as of between, but an exact choice has no room to be found
		_, prob = b.set.kernels[w.kernel].Row(w.choice)
	}
	n := len(prob)
	lower, rooms := b.lower[:n+lanes], b.rooms[:n+lanes]
	free, room := 1.0, 0.0
	for i, u := range upper {
		l := prob[i]
		lower[i], rooms[i] = l, u-l
		free -= l
		room += u - l
	}
	free = min(free, room)
	if upper == nil || free <= 0 {
		for j := range b.sums {
			b.sums[j] = dot(prob, b.of(w, j))
		}
		return
	}
	clear(lower[n:])
	clear(rooms[n:])
	fill(b.sums, b.values[w.first:], b.stride, lower, rooms, n, free)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, a := range x {
		sum += a * y[i]
	}
	return sum
}

// choice returns the greatest values of choice c at step h over the set, in each direction. The slice is overwritten by
// the next call.
func (b *backup) choice(h, c int, v []float64) []float64 {
	b.finish(b.one(h, c, v))
	return b.sums
}

// least returns the action of a state whose greatest values, times weights, have the least sum; values gets them.
func (b *backup) least(h, s int, weights, v, values []float64) (action int) {
	least := math.Inf(1)
	first, end := b.set.rows(h).Choices(s)
	for c := first; c < end; c++ {
		of := b.choice(h, c, v)
		if sum := dot(weights, of); sum < least {
			least, action = sum, c-first
			copy(values, of)
		}
	}
	return action
}

// in returns the value of choice c at the first step, in the first direction, under given probabilities.
func (b *backup) in(a *Answer, c int, v []float64) float64 {
	w := b.one(0, c, v)
	value := dot(a.row(0, c), b.of(w, 0))
	rows := b.set.kernels[w.kernel]
	if !rows.Random() {
		value += dot(b.dirs[0], rows.Returns(c))
	}
	return value
}

// answer makes nature's answer to the values in the first direction at choice c.
func (b *backup) answer(a *Answer, h, c int, v []float64) {
	lower, upper := b.set.bounds(b.set.kernel(h), c)
	if lower != nil {
		answer(a.row(h, c), lower, upper, b.of(b.one(h, c, v), 0), b.order)
	}
}

// policy sets the values of the states [lo, hi) at step h to those of what a policy does there, the greatest over the
// set in each direction. v has the values of successors, dst is for all states like v. The values of the successors of
// many choices are gathered before the first is computed, as memory that is read in no order is slow if each choice
// waits for it.
func (b *backup) policy(dst []float64, policy cmdp.Policy, h, lo, hi int, v []float64) {
	n := len(b.dirs)
	rows := b.set.rows(h)
	b.reset()
	for s := lo; s < hi; s++ {
		of := dst[s*n : (s+1)*n]
		first, end := rows.Choices(s)
		if first == end { // the process rests
			for j := range of {
				of[j] = b.gamma * v[s*n+j]
			}
			continue
		}
		probs := b.probs[:end-first]
		policy.Distribution(probs, h, s)
		clear(of)
		for a, x := range probs {
			if x == 0 {
				continue
			}
			if b.full() {
				b.addTo(dst, v)
			}
			b.wait(h, first+a, x, s)
			b.fetch(rows, first+a, v)
		}
	}
	b.addTo(dst, v)
}

// addTo adds the values of the choices that wait to those of their states.
func (b *backup) addTo(dst, v []float64) {
	b.load(v)
	n := len(b.dirs)
	for i := range b.waiting {
		w := &b.waiting[i]
		b.finish(w)
		for j, y := range b.sums {
			dst[w.state*n+j] += w.share * y
		}
	}
	b.reset()
}

// rounding bounds the rounding error of one backup in each direction, where values of successors are at most as large
// as most says.
func (b *backup) rounding(j int, most float64) float64 {
	return b.set.rounding(b.gamma*most, b.largestReward(j))
}

// rounding bounds the rounding error of one backup of values and rewards of given magnitudes. Sums have as many terms
// as a choice has successors, rewards as many as there are returns, and a policy draws from the actions of a state
// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
func (s *Set) rounding(most, reward float64) float64 {
	terms := float64(3*s.longest + s.m.Dim() + s.most + 12)
	return unit * (terms*(s.mass*most+reward) + filled(s.longest)*s.room*most)
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
		if x := math.Abs(v[at]); x > most {
			most = x
		}
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
