package robust

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/mathext"
)

// A Confidence says how intervals were made of counts.
type Confidence struct {
	// Level is the probability over the data with which the true probabilities are all in their intervals.
	Level float64
	// Probabilities is how many were estimated, in so many Choices that have more than one successor, and Unvisited
	// how many of these choices the data has never seen, whose probabilities may be anything.
	Probabilities, Choices, Unvisited int
	// Weissman is how many of the choices have intervals from the bound of Weissman et al. on the whole distribution,
	// since it is narrower. The others have those of Clopper and Pearson.
	Weissman int
}

// weissmanShare is the share of the error probability that is spent on the bound of the whole distribution.
const weissmanShare = 0.1

// FromCounts returns a model whose probabilities are known up to intervals from counts of transitions: with
// probability level over the data, the true probabilities are all in the intervals, whoever collected the data and
// however that depended on what was seen before. m says what can happen: states, choices, returns, and which
// successors a choice can have. Counts that are not pooled make a kernel for each step. The model returned has the
// probabilities of [cmdp.Nominal].
//
// An interval is that of Clopper and Pearson (1934) for a count of k among n visits, where the error probability is
// divided by the number of probabilities, and by n(n+1), which makes it hold for all n at a time. It is cut with p̂ ±
// ε/2, where ε = √(2·ln((2^b − 2)/δ)/n) bounds the distance of the whole distribution over b successors (Weissman,
// Ordentlich, Seroussi, Verdu, Weinberger 2003).
func FromCounts(
	m *cmdp.Model, counts *cmdp.Counts, pooled bool, level float64,
) (*cmdp.Model, *cmdp.Intervals, *Confidence, error) {
	switch {
	case m == nil || counts == nil:
		return nil, nil, nil, errors.New("robust: want a model and counts")
	case m.Horizon() == 0 || m.Shape().Game():
		return nil, nil, nil, errors.New(
			"robust: counts of a game, or of a model without a horizon: want one player and a horizon")
	case !(level > 0 && level < 1):
		return nil, nil, nil, fmt.Errorf("robust: confidence %g: want between 0 and 1", level)
	case pooled && !m.Stationary():
		return nil, nil, nil, errors.New("robust: pooled counts of a model whose steps differ")
	}
	e := &estimate{m: m, counts: counts, steps: m.Horizon(), known: &Confidence{Level: level}}
	if pooled {
		e.steps = 1
	}
	e.measure()
	return e.build(1 - level)
}

// An estimate is made of counts.
type estimate struct {
	m      *cmdp.Model
	counts *cmdp.Counts
	steps  int
	known  *Confidence

	lower, upper [][][]float64 // of each step and choice
}

// measure counts what is estimated. Of two successors one says all.
func (e *estimate) measure() {
	e.each(func(_, _, _, _ int, next []int32) {
		if n := len(next); n > 1 {
			e.known.Choices++
			e.known.Probabilities += n
			if n == 2 {
				e.known.Probabilities--
			}
		}
	})
}

// each calls visit with the choices of each step.
func (e *estimate) each(visit func(h, s, a, c int, next []int32)) {
	for h := range e.steps {
		rows := e.m.Rows(h)
		for s := range e.m.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				next, _ := rows.Row(c)
				visit(h, s, c-first, c, next)
			}
		}
	}
}

// build makes the model and its intervals, with a probability of error.
func (e *estimate) build(wrong float64) (*cmdp.Model, *cmdp.Intervals, *Confidence, error) {
	e.lower, e.upper = make([][][]float64, e.steps), make([][][]float64, e.steps)
	var times []float64
	var seen []int32
	var err error
	e.each(func(h, s, a, _ int, next []int32) {
		seen, times = e.counts.AppendSuccessors(seen[:0], times[:0], h, s, a)
		k := make([]float64, len(next))
		for i, to := range seen {
			at := -1
			for j, n := range next {
				if n == to && at < 0 {
					at = j
				}
			}
			if at < 0 {
				err = fmt.Errorf("robust: step %d, state %d, action %d: the data has successor %d, which the model does not",
					h+1, s, a, to)
				return
			}
			k[at] = times[i]
		}
		lower, upper := e.bounds(k, wrong)
		e.lower[h], e.upper[h] = append(e.lower[h], lower), append(e.upper[h], upper)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := e.nominal()
	if err != nil {
		return nil, nil, nil, err
	}
	iv, err := cmdp.NewIntervals(m, func(h, c int) ([]float64, []float64) { return e.lower[h][c], e.upper[h][c] })
	return m, iv, e.known, err
}

// bounds returns the intervals of a choice from the counts of its successors.
func (e *estimate) bounds(k []float64, wrong float64) (lower, upper []float64) {
	b, n := len(k), 0.0
	for _, x := range k {
		n += x
	}
	lower, upper = make([]float64, b), make([]float64, b)
	if b == 1 {
		lower[0], upper[0] = 1, 1
		return lower, upper
	}
	for i := range upper {
		upper[i] = 1
	}
	if n == 0 {
		e.known.Unvisited++
		return lower, upper
	}
	all := n * (n + 1) // over how many visits there may have been
	each := (1 - weissmanShare) * wrong / float64(e.known.Probabilities) / all
	logs := float64(b)*math.Ln2 + math.Log1p(-math.Pow(2, 1-float64(b))) // ln(2^b − 2)
	half := 0.5 * math.Sqrt(2*(logs-math.Log(weissmanShare*wrong/float64(e.known.Choices)/all))/n)
	plain, whole := 0.0, 0.0
	for i, x := range k {
		lower[i] = clopperPearson(x, n, each/2)
		upper[i] = 1 - clopperPearson(n-x, n, each/2)
		plain += upper[i] - lower[i]
		least, most := math.Max(0, x/n-half), math.Min(1, x/n+half)
		whole += most - least
		lower[i], upper[i] = math.Max(lower[i], least), math.Min(upper[i], most)
	}
	if whole < plain {
		e.known.Weissman++
	}
	return lower, upper
}

// clopperPearson returns the greatest p for which k or more of n have a probability of at most tail: the lower bound
// of the interval, rounded down. It is found by bisection, because the inverse of the incomplete beta function is not
// exact where tails are as small as here.
func clopperPearson(k, n, tail float64) float64 {
	if k == 0 {
		return 0
	}
	low, high := 0.0, k/n
	for range 60 {
		mid := low + (high-low)/2
		if mathext.RegIncBeta(k, n-k+1, mid) <= tail {
			low = mid
		} else {
			high = mid
		}
	}
	return low * (1 - 1e-9)
}

// nominal returns the model with probabilities between the bounds.
func (e *estimate) nominal() (*cmdp.Model, error) {
	m := e.m
	spec := cmdp.ModelSpec{
		Horizon:    m.Horizon(),
		Dim:        m.Dim(),
		Start:      m.StartStates(),
		ReturnToGo: m.Shape().Promise(),
		Promised:   true,
	}
	for h := range e.steps {
		spec.Kernels = append(spec.Kernels, withProbabilities(m.Rows(h), m, func(c int) []float64 {
			prob := make([]float64, len(e.lower[h][c]))
			cmdp.Nominal(prob, e.lower[h][c], e.upper[h][c])
			return prob
		}))
	}
	return cmdp.NewModel(spec)
}
