package robust

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// unit is the unit roundoff of float64.
const unit = 1.0 / (1 << 53)

// Spec says what a set of models is made of.
type Spec struct {
	// Model is the nominal model, one of the set, whose rows are stored, and which has one player.
	Model *cmdp.Model
	// Intervals are those of Model; nil for none, the set is then the model alone.
	Intervals *cmdp.Intervals
	// Fixed says that one fixed model is the true one. Else nature chooses anew at every visit. Bounds of returns of
	// policies are those of the second case, which hold in the first; the models that prove bounds on all policies are
	// fixed ones.
	Fixed bool
	// Same numbers, with Fixed, the choices whose probabilities are the same: a product has several for each choice of
	// its base. h is the number of a kernel. Nil stands for a number for each choice of each kernel.
	Same func(h, c int) int
	// Workers bounds the number of goroutines of a value iteration. 0 stands for GOMAXPROCS. Results do not
	// depend on it.
	Workers int
}

// A Set is a set of models. It is immutable and safe for concurrent use.
type Set struct {
	spec    Spec
	m       *cmdp.Model
	kernels []*cmdp.Rows // of each kernel
	offset  [][]int      // of each kernel, where the probabilities of its choices begin in those of all, and the end
	longest int          // successors of a choice, at most
	// the sum of the probabilities of a choice is at most this: 1, and what rounding of the file adds
	mass    float64
	room    float64 // by how much the probabilities of a choice may grow above their lower bounds, at most, in sum
	most    int     // actions of a state, at most
	entries int     // successors of all steps
}

// New returns a set. It is an error if the model is a game, or if its rows are generated.
func New(spec Spec) (*Set, error) {
	m := spec.Model
	switch {
	case m == nil:
		return nil, errors.New("robust: no model")
	case m.Shape() != nil && m.Shape().Game():
		return nil, errors.New("robust: a game: want one player")
	case m.Tally() != nil:
		return nil, errors.New("robust: a model with generated rows: want stored ones")
	case spec.Workers < 0:
		return nil, fmt.Errorf("robust: %d workers: want 0 for the default, or more", spec.Workers)
	}
	if spec.Workers == 0 {
		spec.Workers = runtime.GOMAXPROCS(0)
	}
	s := &Set{spec: spec, m: m, mass: 1}
	for h := range m.Kernels() {
		rows := m.Rows(h)
		s.kernels = append(s.kernels, rows)
		s.offset = append(s.offset, []int{0})
		entries := 0
		for i := range m.States() {
			first, end := rows.Choices(i)
			s.most = max(s.most, end-first)
			for c := first; c < end; c++ {
				next, _ := rows.Row(c)
				entries += len(next)
				s.offset[h] = append(s.offset[h], entries)
				s.longest = max(s.longest, len(next))
				s.mass = max(s.mass, s.heaviest(h, c))
				lower, upper := s.between(h, c)
				s.room = max(s.room, (1+1e-9)*(floats.Sum(upper)-floats.Sum(lower)))
			}
		}
		s.entries += entries
	}
	if m.Stationary() {
		s.entries *= max(1, m.Horizon())
	}
	return s, nil
}

// heaviest bounds the sum of the probabilities of a choice.
func (s *Set) heaviest(h, c int) float64 {
	of, _ := s.between(h, c)
	sum := floats.Sum(of)
	if excess := sum - 1; excess <= float64(len(of)+1)*unit {
		return 1 + float64(2*len(of)+2)*unit
	}
	return sum * (1 + float64(len(of)+1)*unit)
}

// reportValues tells who waits which part of the values of a model is found.
func (s *Set) reportValues(ctx context.Context, part float64) {
	if s.entries >= leastReported {
		progress.Of(ctx).Tell("finding values of states", part)
	}
}

// leastReported is the number of successors of all steps from which a value iteration is told of.
const leastReported = 1 << 16

// bounds returns the bounds of a choice, nil if it is exact.
func (s *Set) bounds(h, c int) (lower, upper []float64) {
	if s.spec.Intervals == nil {
		return nil, nil
	}
	return s.spec.Intervals.Row(h, c)
}

// between returns between what the probabilities of a choice lie, which is they themselves if it is exact.
func (s *Set) between(h, c int) (lower, upper []float64) {
	lower, upper = s.bounds(h, c)
	if lower == nil {
		_, exact := s.kernels[h].Row(c)
		return exact, exact
	}
	return lower, upper
}

// choices returns the number of choices of a kernel.
func (s *Set) choices(kernel int) int { return len(s.offset[kernel]) - 1 }

// kernel returns the number of the kernel of a step.
func (s *Set) kernel(h int) int { return min(h, len(s.kernels)-1) }

// rows returns the rows of a step.
func (s *Set) rows(h int) *cmdp.Rows { return s.kernels[s.kernel(h)] }

// Model returns the nominal model.
func (s *Set) Model() *cmdp.Model { return s.m }

// An Answer is a model of a set: what nature chose. It has the probabilities of each kernel, or of each step.
type Answer struct {
	set  *Set
	prob [][]float64
}

// newAnswer returns the nominal model as an answer of so many steps, whose probabilities may be changed.
func (s *Set) newAnswer(steps int) *Answer {
	a := &Answer{set: s}
	for h := range steps {
		var prob []float64
		for c := range s.choices(s.kernel(h)) {
			_, of := s.rows(h).Row(c)
			prob = append(prob, of...)
		}
		a.prob = append(a.prob, prob)
	}
	return a
}

// row returns the probabilities of choice c at step h.
func (a *Answer) row(h, c int) []float64 {
	offset := a.set.offset[a.set.kernel(h)]
	return a.prob[min(h, len(a.prob)-1)][offset[c]:offset[c+1]]
}

// Model returns the model as an ordinary one. It has the choices of the nominal model in their order.
func (a *Answer) Model() (*cmdp.Model, error) {
	return a.model(a.set.m.StartStates(), a.set.m.Discount())
}

// model is Model with other states to start in, and perhaps with a discount in the place of long-run means.
func (a *Answer) model(start []cmdp.StartState, discount float64) (*cmdp.Model, error) {
	m := a.set.m
	spec := cmdp.ModelSpec{
		Horizon:  m.Horizon(),
		Discount: discount,
		Average:  m.Average() && discount == m.Discount(),
		Dim:      m.Dim(),
		Start:    start,
	}
	if spec.Average {
		spec.Discount = 0
	}
	if sh := m.Shape(); sh != nil {
		spec.ReturnToGo, spec.Promised = sh.Promise(), true
	}
	for h := range a.prob {
		rows := a.set.rows(h)
		spec.Kernels = append(spec.Kernels, withProbabilities(rows, m, func(c int) []float64 { return a.row(h, c) }))
	}
	of, err := cmdp.NewModel(spec)
	if err != nil {
		return nil, fmt.Errorf("robust: %w", err)
	}
	return of, nil
}

// withProbabilities returns rows of a model with other probabilities of the successors of each choice.
func withProbabilities(rows *cmdp.Rows, m *cmdp.Model, of func(c int) []float64) cmdp.Kernel {
	k, mean, outcomes := cmdp.NewKernel(), make([]float64, m.Dim()), []float64(nil)
	for i := range m.States() {
		first, end := rows.Choices(i)
		for c := first; c < end; c++ {
			next, _ := rows.Row(c)
			prob, returns := of(c), rows.Returns(c)
			if rows.Random() {
				clear(mean)
				outcomes = outcomes[:0]
				for e, p := range prob {
					outcomes = append(outcomes, rows.Outcome(c, e)...)
					floats.AddScaled(mean, p, rows.Outcome(c, e))
				}
				returns = mean
			}
			k.AppendRandom(next, prob, returns, outcomes)
		}
		k.EndState()
	}
	return k
}
