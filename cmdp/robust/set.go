package robust

import (
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// unit is the unit roundoff of float64.
const unit = 1.0 / (1 << 53)

// Spec says what a set of models is made of.
type Spec struct {
	// Model is the nominal model, one of the set, whose rows are stored, and which has one player.
	Model *cmdp.Model
	// Intervals are those of Model; nil for none, the set is then the model alone.
	Intervals *cmdp.Intervals
	// Fixed says that one fixed model is the true one. Else nature chooses anew at every visit. Bounds of returns of policies are
	// those of the second case, which hold in the first; the models that prove bounds on all policies are fixed ones.
	Fixed bool
	// Same numbers, with Fixed, the choices whose probabilities are the same: a product has several for each choice of its base.
	// h is the number of a kernel. Nil stands for a number for each choice of each kernel.
	Same func(h, c int) int
}

// A Set is a set of models. It is immutable and safe for concurrent use.
type Set struct {
	spec    Spec
	m       *cmdp.Model
	kernels []*cmdp.Kernel
	longest int     // successors of a choice, at most
	mass    float64 // the sum of the probabilities of a choice is at most this: 1, and what rounding of the file adds
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
	case m.Tally() != nil && spec.Intervals != nil:
		return nil, errors.New("robust: a model with generated rows: want stored ones")
	}
	s := &Set{spec: spec, m: m, mass: 1}
	for h := range m.Kernels() {
		k := m.Kernel(h)
		s.kernels = append(s.kernels, k)
		s.longest = max(s.longest, markov.LongestRow(k))
		for c := range len(k.Offset) - 1 {
			s.mass = max(s.mass, s.heaviest(h, c))
		}
		for i := range m.States() {
			s.most = max(s.most, int(k.First[i+1]-k.First[i]))
		}
		s.entries += len(k.Next)
	}
	if m.Stationary() {
		s.entries *= max(1, m.Horizon())
	}
	return s, nil
}

// heaviest bounds the sum of the probabilities of a choice.
func (s *Set) heaviest(h, c int) float64 {
	k := s.kernels[h]
	of, _ := s.bounds(h, c)
	if of == nil {
		of = k.Prob[k.Offset[c]:k.Offset[c+1]]
	}
	sum := 0.0
	for _, p := range of {
		sum += p
	}
	if excess := sum - 1; excess <= float64(len(of)+1)*unit {
		return 1 + float64(2*len(of)+2)*unit
	}
	return sum * (1 + float64(len(of)+1)*unit)
}

// bounds returns the bounds of a choice, nil if it is exact.
func (s *Set) bounds(h, c int) (lower, upper []float64) {
	if s.spec.Intervals == nil {
		return nil, nil
	}
	return s.spec.Intervals.Row(h, c)
}

// kernel returns the number of the kernel of a step.
func (s *Set) kernel(h int) int { return min(h, len(s.kernels)-1) }

// Model returns the nominal model.
func (s *Set) Model() *cmdp.Model { return s.m }

// Exact reports whether the nominal model is the only one.
func (s *Set) Exact() bool { return s.spec.Intervals == nil || s.spec.Intervals.Rows() == 0 }

// An Answer is a model of a set: what nature chose. It has the probabilities of each kernel, or of each step.
type Answer struct {
	set  *Set
	prob [][]float64
}

// newAnswer returns the nominal model as an answer of so many steps, whose probabilities may be changed.
func (s *Set) newAnswer(steps int) *Answer {
	a := &Answer{set: s}
	for h := range steps {
		a.prob = append(a.prob, append([]float64(nil), s.kernels[s.kernel(h)].Prob...))
	}
	return a
}

// row returns the probabilities of choice c at step h.
func (a *Answer) row(h, c int) []float64 {
	k := a.set.kernels[a.set.kernel(h)]
	return a.prob[min(h, len(a.prob)-1)][k.Offset[c]:k.Offset[c+1]]
}

// Model returns the model as an ordinary one. It has the choices of the nominal model in their order.
func (a *Answer) Model() (*cmdp.Model, error) {
	m := a.set.m
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Average: m.Average(), Dim: m.Dim(), Start: m.StartStates()}
	if m.Average() {
		spec.Discount = 0
	} else if m.Means() {
		for i := range m.Dim() {
			spec.Means = append(spec.Means, m.Mean(i))
		}
	}
	if sh := m.Shape(); sh != nil {
		spec.ReturnToGo, spec.Promised = sh.Promise(), true
	}
	for h := range a.prob {
		k := *a.set.kernels[a.set.kernel(h)]
		k.Prob = a.prob[h]
		if k.Outcomes != nil {
			k.Returns = means(&k, m.Dim())
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	of, err := cmdp.NewModel(spec)
	if err != nil {
		return nil, fmt.Errorf("robust: %w", err)
	}
	return of, nil
}

// means returns the expected returns of each choice of a kernel with random returns.
func means(k *cmdp.Kernel, d int) []float64 {
	out := make([]float64, len(k.Returns))
	for c := range len(k.Offset) - 1 {
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			for i, r := range k.Outcomes[e*d : (e+1)*d] {
				out[c*d+i] += k.Prob[e] * r
			}
		}
	}
	return out
}
