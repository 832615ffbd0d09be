package cmdp

import (
	"fmt"
	"math"
	"slices"
)

// A Model is a vector-valued Markov decision process or game whose kernel is known. It
// is immutable, safe for concurrent use, and takes memory proportional to the
// number of transitions. A Model with a finite horizon is an [Environment]. Functions that are given a nil
// Model return an error, or panic with "cmdp: no model".
type Model struct {
	horizon  int
	discount float64
	means    []bool // of each return, whether it is a long-run mean; nil if none is
	dim      int
	states   int
	start    []StartState
	rows     []*Rows // one, or one for each step
	shape    *Shape  // nil if the horizon is infinite
	random   bool
	tally    *Tally  // generates the rows; nil for most models
	epochs   *Epochs // the same
}

// ModelSpec describes a Model.
type ModelSpec struct {
	// Horizon is the number of steps H of an episode, or 0 if it is infinite.
	Horizon int
	// Discount is the factor γ of an infinite horizon, 0 < γ < 1, or 1 for the
	// total return until absorption. It is ignored (taken as 1) only if it is 0 and
	// the horizon is finite; a finite horizon is never discounted.
	Discount float64
	// Average asks for the long-run mean of the returns of a step, in the place of their sum.
	// There is then neither a horizon nor a discount.
	Average bool
	// Means marks, with Discount 1, the returns that are long-run means of a step while the
	// others are totals: d entries, or nil for none.
	Means []bool
	// Dim is the number of return coordinates d.
	Dim int
	// Start lists the possible first states.
	Start []StartState
	// Kernels holds one kernel if it is the same at every step, else H.
	Kernels []Kernel
	// Opponents, if not nil, makes the model a game: it holds one slice for each
	// kernel, with the number of the opponent's actions in each state, see
	// [ShapeSpec]. A game has a finite horizon.
	Opponents [][]int32
	// ReturnToGo is handed on to the shape, see [ShapeSpec]. NewModel checks the
	// promise against the model.
	ReturnToGo *Interval
	// Promised says that ReturnToGo follows from how the model was made, so that NewModel need not check it.
	Promised bool
	// Factor is handed on to the shape, see [ShapeSpec].
	Factor KnownFactor
}

// NewModel validates spec and returns the model that it describes. The slices of
// the kernels are kept, not copied. Probabilities must be finite, non-negative
// and sum to 1 within [ProbabilityTolerance] for each choice; returns must be
// finite.
func NewModel(spec ModelSpec) (*Model, error) {
	if err := spec.checkTime(); err != nil {
		return nil, err
	}
	if spec.Dim < 1 {
		return nil, fmt.Errorf("cmdp: %d return coordinates: want at least 1", spec.Dim)
	}
	m := &Model{
		horizon: spec.Horizon, discount: spec.Discount, means: spec.means(), dim: spec.Dim,
		states: len(spec.Kernels[0].First) - 1,
		start:  append([]StartState(nil), spec.Start...),
	}
	if spec.Horizon > 0 || spec.Average {
		m.discount = 1
	}
	if m.states < 1 {
		return nil, fmt.Errorf("cmdp: no states: want at least 1")
	}
	if err := checkStart(m.start, m.states); err != nil {
		return nil, err
	}
	m.start = possible(m.start)
	m.rows = make([]*Rows, len(spec.Kernels))
	for h := range m.rows {
		var opponents []int32
		k := spec.Kernels[h]
		if h < len(spec.Opponents) {
			opponents = spec.Opponents[h]
		}
		if err := k.check(m.states, m.dim, opponents); err != nil {
			if len(m.rows) > 1 {
				return nil, fmt.Errorf("cmdp: step %d: %w", h+1, err)
			}
			return nil, fmt.Errorf("cmdp: %w", err)
		}
		m.random = m.random || k.Outcomes != nil
		if h > 0 && k.same(&spec.Kernels[h-1]) {
			m.rows[h] = m.rows[h-1]
		} else {
			k.endRows(m.dim)
			m.rows[h] = &Rows{first: k.First, kernel: k, dim: m.dim}
		}
	}
	if spec.Horizon > 0 {
		return m, m.buildShape(&spec)
	}
	return m, nil
}

func (spec *ModelSpec) checkTime() error {
	switch {
	case len(spec.Kernels) == 0:
		return fmt.Errorf("cmdp: no kernel: want 1, or 1 for each step")
	case spec.Horizon < 0:
		return fmt.Errorf("cmdp: horizon %d: want at least 1, or 0 for an infinite one", spec.Horizon)
	case spec.Horizon > 0 && spec.Discount != 0 && spec.Discount != 1:
		return fmt.Errorf("cmdp: discount %g with horizon %d: a finite horizon is not discounted", spec.Discount,
			spec.Horizon)
	case spec.Horizon > 0 && len(spec.Kernels) != 1 && len(spec.Kernels) != spec.Horizon:
		return fmt.Errorf("cmdp: %d kernels: want 1 or the horizon %d", len(spec.Kernels), spec.Horizon)
	case spec.Average && (spec.Horizon > 0 || spec.Discount != 0 || spec.Means != nil):
		return fmt.Errorf("cmdp: long-run averages with horizon %d, discount %g and %d marks of single returns: "+
			"want none of them", spec.Horizon, spec.Discount, len(spec.Means))
	case spec.Means != nil && len(spec.Means) != spec.Dim:
		return fmt.Errorf("cmdp: %d marks of long-run means for %d returns: want one each", len(spec.Means), spec.Dim)
	case slices.Contains(spec.Means, true) && (spec.Discount != 1 || spec.Horizon > 0):
		return fmt.Errorf("cmdp: long-run means with horizon %d and discount %g: want no horizon and discount 1, for "+
			"which the other returns are totals", spec.Horizon, spec.Discount)
	case spec.Horizon == 0 && !spec.Average && !(spec.Discount > 0 && spec.Discount <= 1):
		return fmt.Errorf("cmdp: discount %g: want above 0 and at most 1", spec.Discount)
	case spec.Horizon == 0 && len(spec.Kernels) != 1:
		return fmt.Errorf("cmdp: %d kernels with an infinite horizon: want 1", len(spec.Kernels))
	case isGame(spec.Opponents) && (spec.Average || slices.Contains(spec.Means, true)):
		return fmt.Errorf("cmdp: long-run averages in a game: want returns up to a finite horizon")
	case spec.Horizon == 0 && isGame(spec.Opponents):
		return fmt.Errorf("cmdp: a game with an infinite horizon: want a finite one")
	}
	return nil
}

// means returns which returns are long-run means, nil if none is.
func (spec *ModelSpec) means() []bool {
	switch {
	case spec.Average:
		return slices.Repeat([]bool{true}, spec.Dim)
	case slices.Contains(spec.Means, true):
		return slices.Clone(spec.Means)
	}
	return nil
}

// buildShape derives the one-step ranges of a finite-horizon model from its
// returns and checks the promised range of the return to go.
func (m *Model) buildShape(of *ModelSpec) error {
	toGo := of.ReturnToGo
	spec := ShapeSpec{Horizon: m.horizon, Dim: m.dim, Start: m.start, ReturnToGo: toGo, Opponents: of.Opponents,
		Factor: of.Factor}
	for h := range m.rows {
		k := &m.rows[h].kernel
		spec.First = append(spec.First, k.First)
		spec.Returns = append(spec.Returns, k.returnRange(m.dim))
	}
	shape, err := NewShape(spec)
	if err != nil {
		return err
	}
	m.shape = shape
	if toGo == nil || of.Promised {
		return nil
	}
	return m.checkReturnToGo(toGo)
}

// checkReturnToGo verifies a promised range by the longest and shortest paths
// through the support of the kernel.
func (m *Model) checkReturnToGo(iv *Interval) error {
	const slack = 1e-9
	direction := make([]float64, m.dim)
	for i := range m.dim {
		if math.IsInf(iv.Lower[i], -1) && math.IsInf(iv.Upper[i], 1) {
			continue // nothing is promised
		}
		var err error
		clear(direction)
		direction[i] = 1
		m.extremes(nil, direction, func(h, s int, b bounds) {
			for _, v := range []float64{b.low, b.up} {
				if v > iv.Upper[i]+slack*max(1, math.Abs(iv.Upper[i])) ||
					v < iv.Lower[i]-slack*max(1, math.Abs(iv.Lower[i])) {
					err = fmt.Errorf("cmdp: range of the return to go, coordinate %d: [%g, %g] is promised, but %g "+
						"is possible from state %d at step %d",
						i, iv.Lower[i], iv.Upper[i], v, s, h+1)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// known is m, which somebody may have forgotten.
func (m *Model) known() *Model {
	if m == nil {
		panic(noModel)
	}
	return m
}

// Horizon returns the number of steps H of an episode, or 0 if it is infinite.
func (m *Model) Horizon() int { return m.known().horizon }

// Average reports whether all returns are long-run means per step.
func (m *Model) Average() bool { return m.Means() && !slices.Contains(m.means, false) }

// Means reports whether some return is a long-run mean per step. The others are then totals.
func (m *Model) Means() bool { return m.known().means != nil }

// Mean reports whether return i is a long-run mean per step.
func (m *Model) Mean(i int) bool { return m.means != nil && m.means[i] }

// Discount returns the factor γ of an infinite horizon; it is 1 for a finite one
// and for the total return until absorption.
func (m *Model) Discount() float64 { return m.discount }

// Dim returns d, the number of coordinates of a return.
func (m *Model) Dim() int { return m.known().dim }

// States returns S, the number of states.
func (m *Model) States() int { return m.known().states }

// StartStates returns the distribution of the first state, without states of probability 0. It must not be changed.
func (m *Model) StartStates() []StartState { return m.start }

// Stationary reports whether the kernel is the same at every step.
func (m *Model) Stationary() bool { return len(m.known().rows) == 1 }

// RandomReturns reports whether some return is random given state and action.
func (m *Model) RandomReturns() bool { return m.random }

// Tally returns the tally whose model it is, or nil for a model whose rows are stored.
func (m *Model) Tally() *Tally { return m.tally }

// Epochs returns the epochs whose model it is, or nil if it is none.
func (m *Model) Epochs() *Epochs { return m.epochs }

// Choices returns the number of choices, (state, action) pairs or in a game
// (state, action, opponent's action) triples, over all kernels.
func (m *Model) Choices() int {
	if m.tally != nil {
		return m.tally.sum(m.tally.offered)
	}
	if m.epochs != nil {
		return m.epochs.Len() * m.epochs.Base.Choices()
	}
	n := 0
	for h := range m.rows {
		n += m.rows[h].choices()
	}
	return n
}

// Transitions returns the number of successors over all kernels.
func (m *Model) Transitions() int {
	if m.tally != nil {
		return m.tally.sum(m.tally.transitions)
	}
	if m.epochs != nil {
		return m.epochs.Len() * len(m.epochs.Letter)
	}
	n := 0
	for h := range m.rows {
		n += m.rows[h].transitions()
	}
	return n
}

// Shape returns what a learner may know of the model, or nil if its horizon is
// infinite.
func (m *Model) Shape() *Shape { return m.known().shape }

// KnownReturns returns the expected one-step returns for a learner that is told
// them.
func (m *Model) KnownReturns() *Returns {
	tables := make([][]float64, len(m.rows))
	for h := range m.rows {
		tables[h] = m.rows[h].kernel.table(m.dim)
	}
	if m.tally != nil {
		tables = m.tally.tables(m)
	}
	r, err := NewReturns(m.shape, tables)
	if err != nil {
		panic("cmdp: " + err.Error()) // a validated model has well-formed returns
	}
	return r
}
