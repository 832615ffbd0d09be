package robust

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// Recurrent classes are those of a policy where every successor that may come up does: states of the system that are
// not left and lead to each other.
type recurrent struct {
	of   []int32 // the class of each state, −1 of a transient one
	zero []int   // of each class, a state that nature cannot avoid for ever
}

// classes returns the recurrent classes, or an error if nature can avoid each of the states of one that are tried.
func (y *system) classes(ctx context.Context) (*recurrent, error) {
	component, err := y.components(ctx)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, c := range component {
		count = max(count, int(c)+1)
	}
	number := make([]int32, count) // of the class, −1 of a component that is left
	for n := range y.states {
		for _, t := range y.takes[n] {
			y.set.eachSuccessor(t.choice, func(to int32, _, _ float64) {
				m := y.number[to]
				if m < 0 || component[m] != component[n] {
					number[component[n]] = -1
				}
			})
		}
	}
	count = 0
	for c, x := range number {
		if x == 0 {
			number[c] = int32(count)
			count++
		}
	}
	r := &recurrent{of: make([]int32, len(y.states))}
	members := make([][]int, count)
	for n := range r.of {
		c := number[component[n]]
		r.of[n] = c
		if c >= 0 {
			members[c] = append(members[c], n)
		}
	}
	return r, r.mustReturn(y, members)
}

// in marks the states of all classes.
func (r *recurrent) in() []bool {
	in := make([]bool, len(r.of))
	for n, c := range r.of {
		in[n] = c >= 0
	}
	return in
}

// rest marks the states of all classes but those that are always come back to.
func (r *recurrent) rest() []bool {
	in := r.in()
	for _, n := range r.zero {
		in[n] = false
	}
	return in
}

// components numbers the strongly connected components of the system.
func (y *system) components(ctx context.Context) ([]int32, error) {
	k := cmdp.NewKernel()
	var next []int32
	var ones []float64
	for n := range y.states {
		for _, t := range y.takes[n] {
			next, ones = next[:0], ones[:0]
			y.set.eachSuccessor(t.choice, func(to int32, _, _ float64) {
				if m := y.number[to]; m >= 0 {
					next = append(next, m)
					ones = append(ones, 1)
				}
			})
			k.Append(next, ones, []float64{0})
		}
		k.EndState()
	}
	parts, err := (&markov.Graph{Kernel: &k}).Components(ctx)
	if err != nil {
		return nil, err
	}
	return parts.Of, nil
}

// mean returns the greatest long-run mean of a policy. In every recurrent class there has to be a state that nature
// cannot avoid for ever, so that the mean of the class is the same from each of its states; and nature has to let the
// process come to one of the classes. A mean is at most the greatest rise of any relative values in a step (Puterman
// 1994, section 8.5).
func (f *endless) mean(ctx context.Context, y *system, dir []float64, out *passed, j int) ([]float64, *Answer, error) {
	b, a := f.set.newBackup([][]float64{dir}), f.newAnswer()
	v, gain := make([]float64, f.set.m.States()), make([]float64, f.set.m.States())
	classes, err := y.classes(ctx)
	if err != nil {
		return nil, nil, err
	}
	means, err := y.greatestMeans(ctx, b, a, classes, v)
	if err != nil {
		return nil, nil, err
	}
	transient := make([]bool, len(y.states))
	for n, c := range classes.of {
		transient[n] = c < 0
		if c >= 0 {
			gain[y.states[n]] = means[c]
		}
	}
	// On the way to the classes nothing counts but where it leads.
	way := f.set.newBackup([][]float64{make([]float64, f.set.m.Dim())})
	if slices.Contains(transient, true) {
		if err := y.mustLeave(transient, true); err != nil {
			return nil, nil, err
		}
		if err := y.greatest(ctx, way, a, transient, gain, 0); err != nil {
			return nil, nil, err
		}
		if err := y.raise(ctx, way, a, transient, gain); err != nil {
			return nil, nil, err
		}
	}
	f.start(way, gain, out, j)
	return v, a, nil
}

// greatestMeans returns bounds of the greatest means of all classes, rounded up, by policy iteration of nature. v gets
// relative values.
func (y *system) greatestMeans(
	ctx context.Context, b *backup, a *Answer, classes *recurrent, v []float64,
) ([]float64, error) {
	const most = 200
	in := classes.in()
	for range most {
		if err := y.relative(ctx, b, a, classes, v); err != nil {
			return nil, err
		}
		if !y.answer(b, a, in, v) {
			break
		}
	}
	means := slices.Repeat([]float64{math.Inf(-1)}, len(classes.zero))
	for n, c := range classes.of {
		if c >= 0 {
			means[c] = math.Max(means[c], y.backed(b, n, v)-v[y.states[n]])
		}
	}
	floats.AddConst(y.increaseRounding(b, v), means)
	return means, nil
}

// mostTried bounds the states of a class of which it is tried whether nature can avoid them.
const mostTried = 64

// mustReturn finds for each class, whose states are given, one that cannot be avoided for ever, or returns an error if
// none of those that are tried is one. It tries a state of every class at a time.
func (r *recurrent) mustReturn(y *system, members [][]int) error {
	r.zero = make([]int, len(members))
	open := make([]bool, len(members)) // classes of which none is found yet
	for c := range open {
		open[c] = true
	}
	for k := range mostTried {
		if !slices.Contains(open, true) {
			return nil
		}
		in := make([]bool, len(r.of))
		for c, of := range members {
			if !open[c] || k >= len(of) {
				continue
			}
			for _, n := range of {
				in[n] = true
			}
			in[of[k]] = false
			r.zero[c] = of[k]
			open[c] = false
		}
		for n, stays := range y.invariantSubset(in, false) {
			if stays {
				open[r.of[n]] = true
			}
		}
	}
	c := slices.Index(open, true)
	if c < 0 {
		return nil
	}
	in := make([]bool, len(r.of))
	for _, n := range members[c][1:] {
		in[n] = true
	}
	return y.mustLeave(in, true)
}

// relative sets the values of all classes to relative values under nature's answer, 0 in the state of each that is not
// avoided for ever.
func (y *system) relative(ctx context.Context, b *backup, a *Answer, classes *recurrent, v []float64) error {
	rest := classes.rest()
	for _, n := range classes.zero {
		v[y.states[n]] = 0
	}
	time := make([]float64, len(v))
	none := y.set.newBackup([][]float64{make([]float64, y.set.m.Dim())})
	if err := y.solve(ctx, b, a, rest, v, 0); err != nil {
		return err
	}
	if err := y.solve(ctx, none, a, rest, time, 1); err != nil {
		return err
	}
	gain := make([]float64, len(classes.zero))
	for c, n := range classes.zero {
		total, steps := 0.0, 1.0
		for _, t := range y.takes[n] {
			total += t.share * b.in(a, t.choice, v)
			steps += t.share * none.in(a, t.choice, time)
		}
		gain[c] = total / steps
		if math.IsNaN(gain[c]) {
			return fmt.Errorf("robust: a long-run mean: %w", markov.ErrSingular)
		}
	}
	for n, x := range rest {
		if x {
			v[y.states[n]] -= gain[classes.of[n]] * time[y.states[n]]
		}
	}
	return nil
}
