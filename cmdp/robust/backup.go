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
	filler  filler
	waiting []waiting
	next    []int32     // the successors of the choices that wait
	values  [][]float64 // of these successors, in each direction
	// opposite says of each direction that it is the one before, turned round.
	opposite []bool
	rooms    []float64 // of the successors of a choice, how much their probabilities may grow
	probs    []float64 // of the actions of a state
	sums     []float64 // of each direction
}

// enough is how many successors wait at most, unless one choice has more. Their values fit into a cache of the first
// level.
const enough = 512

func (s *Set) newBackup(dirs [][]float64) *backup {
	b := &backup{set: s, dirs: dirs, gamma: s.m.Discount()}
	most := max(enough, s.longest)
	b.next = make([]int32, 0, most)
	for range dirs {
		b.values = append(b.values, make([]float64, most))
	}
	b.filler = newFiller(s.longest)
	b.opposite = make([]bool, len(dirs))
	for j := 1; j < len(dirs); j++ {
		b.opposite[j] = opposite(dirs[j], dirs[j-1])
	}
	b.rooms = make([]float64, s.longest)
	b.probs = make([]float64, s.most)
	b.sums = make([]float64, len(dirs))
	return b
}

func opposite(x, y []float64) bool {
	for i := range x {
		if x[i] != -y[i] {
			return false
		}
	}
	return true
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

// load finds the values of the successors of all choices that wait, in each direction, with what the transitions
// return if that is random. Memory that is read in no order is slow if each choice waits for it; so nothing else is
// done here.
func (b *backup) load(v []float64) {
	n, gamma, next := len(b.dirs), b.gamma, b.next
	for j := range n {
		xs, of := b.values[j][:len(next)], v[j:]
		for i, to := range next {
			xs[i] = gamma * of[int(to)*n]
		}
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

// full reports whether there may be no room for another choice.
func (b *backup) full() bool { return len(b.next)+b.set.longest > cap(b.next) }

// reset forgets what waits.
func (b *backup) reset() {
	b.waiting = b.waiting[:0]
	b.next = b.next[:0]
}

// of returns the values of the successors of a choice that waits in direction j.
func (b *backup) of(w *waiting, j int) []float64 { return b.values[j][w.first:w.end] }

// reward returns what a choice that waits returns in direction j, but for what its transitions do.
func (b *backup) reward(w *waiting, j int) float64 {
	rows := b.set.kernels[w.kernel]
	if rows.Random() {
		return 0
	}
	return dot(b.dirs[j], rows.Returns(w.choice))
}

// one loads a choice alone.
func (b *backup) one(h, c int, v []float64) *waiting {
	b.reset()
	b.wait(h, c, 1, 0)
	b.load(v)
	return &b.waiting[0]
}

// finish sets sums to the greatest values of a choice whose successors' values are loaded.
func (b *backup) finish(w *waiting) {
	lower, upper := b.set.bounds(w.kernel, w.choice)
	exact := lower == nil
	if exact {
		_, lower = b.set.kernels[w.kernel].Row(w.choice)
		upper = lower
	}
	n, successors := len(b.dirs), len(lower)
	upper = upper[:successors]
	rooms := b.rooms[:successors]
	for j := 0; j < n; j += 2 { // two directions at a time, the last one twice if their number is odd
		k := min(j+1, n-1)
		xs, ys := b.of(w, j)[:successors], b.of(w, k)[:successors]
		x, y, free, room := 0.0, 0.0, 1.0, 0.0
		for i, l := range lower {
			x += l * xs[i]
			y += l * ys[i]
			free -= l
			r := upper[i] - l
			room += r
			rooms[i] = r
		}
		b.sums[j], b.sums[k] = x, y
		if exact || free <= 0 {
			continue
		}
		half := math.Abs(free-room/2) < room/8 // about half is given away
		pivot := x / (1 - free)                // the mean
		if !half {
			pivot = quantile(xs, free/room)
		}
		gain, last := b.filler.fill(xs, rooms, free, pivot)
		b.sums[j] += gain
		if k == j {
			continue
		}
		switch {
		case !half:
			pivot = quantile(ys, free/room)
		case b.opposite[k]: // about the value that is given away last in the opposite direction
			pivot += y/(1-free) - last
		default:
			pivot = y / (1 - free)
		}
		gain, _ = b.filler.fill(ys, rooms, free, pivot)
		b.sums[k] += gain
	}
	for j := range b.sums {
		b.sums[j] += b.reward(w, j)
	}
}

// quantile guesses the value that a share of some values are above, as if they were spread evenly.
func quantile(values []float64, share float64) float64 {
	sum, least := 0.0, math.Inf(1)
	for _, v := range values {
		sum += v
		least = min(least, -v)
	}
	mean := sum / float64(len(values))
	return mean - (least+mean)*(1-2*share)
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

// in returns the value of choice c in direction j under given probabilities.
func (b *backup) in(a *Answer, h, c, j int, v []float64) float64 {
	w := b.one(h, c, v)
	return b.reward(w, j) + dot(a.row(h, c), b.of(w, j))
}

// answer makes nature's answer to the values in direction j at choice c.
func (b *backup) answer(a *Answer, h, c, j int, v []float64) {
	lower, upper := b.set.bounds(b.set.kernel(h), c)
	if lower != nil {
		b.filler.answer(a.row(h, c), lower, upper, b.of(b.one(h, c, v), j))
	}
}

// policy sets the values of the states [lo, hi) at step h to those of what a policy does there, the greatest over the
// set in each direction. v has the values of successors, dst is for all states like v. The values of the successors of
// many choices are gathered before the first is computed, as memory that is read in no order is slow if each choice
// waits for it.
func (b *backup) policy(dst []float64, policy cmdp.Policy, h, lo, hi int, v []float64) {
	n := len(b.dirs)
	rows := b.set.kernels[b.set.kernel(h)]
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
	return unit * (terms*(s.mass*most+reward) + float64(divided*s.longest)*s.room*most)
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
