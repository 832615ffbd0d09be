package cmdp

import (
	"fmt"
	"math"
	"slices"
)

// A Kernel holds the choices of one step in compressed sparse rows: choice c
// belongs to the state s with First[s] ≤ c < First[s+1] and leads to the
// successors Next[Offset[c]:Offset[c+1]] with the probabilities Prob of the same
// indices. A choice is an action of the agent, or in a game a pair of actions, see
// [Shape].
type Kernel struct {
	First  []int32   // length S+1
	Offset []int     // length C+1
	Next   []int32   // length nnz
	Prob   []float64 // length nnz
	// Returns holds the expected return vector of each choice, C×d.
	Returns []float64
	// Outcomes, if not nil, holds the return vector of each entry, nnz×d: returns
	// are then random, together with the successor, and Returns holds their
	// means. The same successor may appear in several entries of a choice.
	Outcomes []float64
}

// Choices returns the number of choices of all states.
func (k *Kernel) Choices() int { return len(k.Offset) - 1 }

// Entries returns the places [first, end) of the successors of choice c among those of all choices.
func (k *Kernel) Entries(c int) (first, end int) { return k.Offset[c], k.Offset[c+1] }

// Row returns the successors of choice c, with their probabilities.
func (k *Kernel) Row(c int) (next []int32, probabilities []float64) {
	next = k.Next[k.Offset[c]:k.Offset[c+1]]
	return next, k.Prob[k.Offset[c]:][:len(next)]
}

// ReturnsOf returns the expected returns of choice c, which are d numbers.
func (k *Kernel) ReturnsOf(c, d int) []float64 { return k.Returns[c*d:][:d] }

// NewKernel returns a kernel without states, to which [Kernel.Append] and [Kernel.EndState] add rows.
func NewKernel() Kernel { return Kernel{First: []int32{0}, Offset: []int{0}} }

// Append adds a choice to the state whose choices are being added, with its successors, their probabilities and its
// expected returns, which are copied.
func (k *Kernel) Append(next []int32, probabilities, returns []float64) {
	k.Next = append(k.Next, next...)
	k.Prob = append(k.Prob, probabilities...)
	k.Returns = append(k.Returns, returns...)
	k.Offset = append(k.Offset, len(k.Next))
}

// EndState ends the choices of a state. The next ones are of the state after it.
func (k *Kernel) EndState() { k.First = append(k.First, int32(k.Choices())) }

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
	tally    *Tally // generates the rows; nil for most models
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
	// Twins are handed on to the shape, see [ShapeSpec].
	Twins Twins
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
		return fmt.Errorf("cmdp: discount %g with horizon %d: a finite horizon is not discounted", spec.Discount, spec.Horizon)
	case spec.Horizon > 0 && len(spec.Kernels) != 1 && len(spec.Kernels) != spec.Horizon:
		return fmt.Errorf("cmdp: %d kernels: want 1 or the horizon %d", len(spec.Kernels), spec.Horizon)
	case spec.Average && (spec.Horizon > 0 || spec.Discount != 0 || spec.Means != nil):
		return fmt.Errorf("cmdp: long-run averages with horizon %d, discount %g and %d marks of single returns: want none of them", spec.Horizon, spec.Discount, len(spec.Means))
	case spec.Means != nil && len(spec.Means) != spec.Dim:
		return fmt.Errorf("cmdp: %d marks of long-run means for %d returns: want one each", len(spec.Means), spec.Dim)
	case slices.Contains(spec.Means, true) && spec.Discount != 1:
		return fmt.Errorf("cmdp: long-run means with horizon %d and discount %g: want discount 1, for which the other returns are totals", spec.Horizon, spec.Discount)
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

// same reports whether two kernels have the same slices.
func (k *Kernel) same(o *Kernel) bool {
	return sameSlice(k.First, o.First) && sameSlice(k.Offset, o.Offset) && sameSlice(k.Next, o.Next) && sameSlice(k.Prob, o.Prob) &&
		sameSlice(k.Returns, o.Returns) && sameSlice(k.Outcomes, o.Outcomes)
}

func sameSlice[T any](x, y []T) bool {
	return len(x) == len(y) && (x == nil) == (y == nil) && (len(x) == 0 || &x[0] == &y[0])
}

func (k *Kernel) check(states, dim int, opponents []int32) error {
	if err := checkOffsets(k.First, states); err != nil {
		return err
	}
	if err := checkOpponents(opponents, k.First); err != nil {
		return err
	}
	choices := int(k.First[states])
	switch {
	case len(k.Offset) != choices+1 || k.Offset[0] != 0:
		return fmt.Errorf("%d row offsets for %d choices: want one more than choices, from 0", len(k.Offset), choices)
	case len(k.Next) != k.Offset[choices] || len(k.Prob) != k.Offset[choices]:
		return fmt.Errorf("%d successors and %d probabilities: want %d", len(k.Next), len(k.Prob), k.Offset[choices])
	case len(k.Returns) != choices*dim:
		return fmt.Errorf("%d return entries for %d choices: want %d each", len(k.Returns), choices, dim)
	case k.Outcomes != nil && len(k.Outcomes) != len(k.Next)*dim:
		return fmt.Errorf("%d outcome return entries for %d transitions: want %d each", len(k.Outcomes), len(k.Next), dim)
	}
	for s := range states {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			if err := k.checkRow(c, states, dim); err != nil {
				return fmt.Errorf("state %d, %s: %w", s, nameChoice(opponents, s, c-int(k.First[s])), err)
			}
		}
	}
	return nil
}

func (k *Kernel) checkRow(c, states, dim int) error {
	if k.Offset[c+1] <= k.Offset[c] {
		return fmt.Errorf("no successor")
	}
	sum := 0.0
	for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
		if n := int(k.Next[e]); n < 0 || n >= states {
			return fmt.Errorf("successor %d: want 0 to %d", n, states-1)
		}
		if p := k.Prob[e]; !(p >= 0) || math.IsInf(p, 1) {
			return fmt.Errorf("successor %d: %g is not a probability", k.Next[e], p)
		}
		sum += k.Prob[e]
	}
	if math.Abs(sum-1) > ProbabilityTolerance {
		return fmt.Errorf("probabilities sum to %.12g: want 1", sum)
	}
	for i := range dim {
		mean := k.Returns[c*dim+i]
		if !finite(mean) {
			return fmt.Errorf("return coordinate %d is %g: want a finite number", i, mean)
		}
		if k.Outcomes == nil {
			continue
		}
		// Returns and Outcomes say the same thing twice; they must agree.
		avg, scale := 0.0, 1.0
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			r := k.Outcomes[e*dim+i]
			if !finite(r) {
				return fmt.Errorf("outcome return coordinate %d is %g: want a finite number", i, r)
			}
			avg += k.Prob[e] * r
			scale = max(scale, math.Abs(r))
		}
		if math.Abs(avg-mean) > 1e-8*scale {
			return fmt.Errorf("return coordinate %d is %g: its outcomes average %g", i, mean, avg)
		}
	}
	return nil
}

// buildShape derives the one-step ranges of a finite-horizon model from its
// returns and checks the promised range of the return to go.
func (m *Model) buildShape(of *ModelSpec) error {
	toGo := of.ReturnToGo
	spec := ShapeSpec{Horizon: m.horizon, Dim: m.dim, Start: m.start, ReturnToGo: toGo, Opponents: of.Opponents, Twins: of.Twins}
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

func (k *Kernel) returnRange(dim int) Interval {
	iv := Interval{make([]float64, dim), make([]float64, dim)}
	values := k.Returns
	if k.Outcomes != nil {
		values = k.Outcomes
	}
	for j := 0; j < len(values); j++ {
		i := j % dim
		if j < dim {
			iv.Lower[i], iv.Upper[i] = values[j], values[j]
			continue
		}
		iv.Lower[i], iv.Upper[i] = min(iv.Lower[i], values[j]), max(iv.Upper[i], values[j])
	}
	return iv
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
				if v > iv.Upper[i]+slack*max(1, math.Abs(iv.Upper[i])) || v < iv.Lower[i]-slack*max(1, math.Abs(iv.Lower[i])) {
					err = fmt.Errorf("cmdp: range of the return to go, coordinate %d: [%g, %g] is promised, but %g is possible from state %d at step %d",
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

// Choices returns the number of choices, (state, action) pairs or in a game
// (state, action, opponent's action) triples, over all kernels.
func (m *Model) Choices() int {
	if m.tally != nil {
		return m.tally.sum(m.tally.offered)
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
		tables[h] = m.rows[h].kernel.Returns
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
