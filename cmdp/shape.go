package cmdp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A StartState is one possible first state of an episode.
type StartState struct {
	State       int
	Probability float64
}

// A Shape is all that a learner may know about an environment in advance: the
// states, the choices that each of them offers at each step, where episodes
// start, and the ranges of the returns. It does not know the kernel.
//
// In a game two players act at once, and a choice is a pair of their actions: a
// state that offers A actions to the agent and B to the opponent has A·B choices,
// numbered a·B + b from its first one on. Without an opponent B is 1.
//
// A Shape is immutable and safe for concurrent use.
type Shape struct {
	horizon int
	dim     int
	states  int
	start   []StartState
	first   [][]int32 // one slice if every step offers the same choices, else H; each of length S+1
	// opponents holds the number of the opponent's actions in each state, like
	// first but of length S; nil if it is 1 everywhere.
	opponents [][]int32
	base      []int       // base[h]: the number of choices of all steps before h, length H+1
	lower     []float64   // H×d: least one-step returns
	upper     []float64   // H×d: greatest one-step returns
	toGo      *Interval   // promised range of the return still to come, or nil
	totals    *Interval   // promised range of the return of an episode, or nil
	factor    KnownFactor // nil if no part of a state is a known memory
}

// An Interval is a box of return vectors, Lower ≤ x ≤ Upper.
type Interval struct {
	Lower, Upper []float64
}

// ShapeSpec describes a Shape.
type ShapeSpec struct {
	// Horizon is the number of steps H ≥ 1, Dim the number of coordinates d ≥ 1.
	Horizon, Dim int
	// Start lists the possible first states; the probabilities sum to 1.
	Start []StartState
	// First holds one slice if every step offers the same choices, else one for
	// each step. First[h][s] is the number of the first choice of state s, and
	// First[h][S] the number of choices. In a state without choices the process
	// rests: it stays there for the step, with zero return.
	First [][]int32
	// Opponents, if not nil, holds one slice for each slice of First:
	// Opponents[h][s] is the number of the opponent's actions in state s, a divisor
	// of its number of choices. It is not looked at where the process rests. A nil
	// slice stands for an opponent with one action everywhere.
	Opponents [][]int32
	// Returns bounds the returns of a single step: one interval for all steps, or
	// one for each.
	Returns []Interval
	// ReturnToGo, if not nil, is a promise: from any step on, the return still to
	// come lies in this interval, whatever is played. It sharpens clip ranges and
	// the box of possible returns, as for a goal that can be reached only once. An
	// infinite end promises nothing.
	ReturnToGo *Interval
	// Totals, if not nil, is a promise for whole episodes: their returns lie in this interval.
	Totals *Interval
	// Factor, if not nil, tells learners which transitions are as likely as others.
	Factor KnownFactor
}

const (
	noShape = "cmdp: no shape: want that of an environment with a horizon (a model without one has none)"
	noModel = "cmdp: no model"
	// mostNumbers bounds the numbers that a shape or a table of states may have to keep.
	mostNumbers = min(1<<40, math.MaxInt/16)
)

func checkShape(sh *Shape) error {
	if sh == nil {
		return errors.New(noShape)
	}
	return nil
}

// NewShape validates spec and returns the shape that it describes. Slices of
// First are kept, not copied.
func NewShape(spec ShapeSpec) (*Shape, error) {
	if spec.Horizon < 1 {
		return nil, fmt.Errorf("cmdp: horizon %d: want at least 1", spec.Horizon)
	}
	if spec.Dim < 1 {
		return nil, fmt.Errorf("cmdp: %d return coordinates: want at least 1", spec.Dim)
	}
	if n := len(spec.First); n != 1 && n != spec.Horizon {
		return nil, fmt.Errorf("cmdp: choices given for %d steps: want 1 or the horizon %d", n, spec.Horizon)
	}
	if n := len(spec.Returns); n != 1 && n != spec.Horizon {
		return nil, fmt.Errorf("cmdp: return ranges given for %d steps: want 1 or the horizon %d", n, spec.Horizon)
	}
	states := len(spec.First[0]) - 1
	if states < 1 {
		return nil, errors.New("cmdp: no states: want at least 1")
	}
	for h, first := range spec.First {
		if err := checkOffsets(first, states); err != nil {
			return nil, fmt.Errorf("cmdp: step %d: %w", h+1, err)
		}
	}
	if err := checkStart(spec.Start, states); err != nil {
		return nil, err
	}
	opponents, err := normalOpponents(spec.Opponents, spec.First)
	if err != nil {
		return nil, err
	}
	if spec.Horizon > mostNumbers/spec.Dim {
		return nil, fmt.Errorf("cmdp: horizon %d with %d return coordinates: more than can be stored", spec.Horizon,
			spec.Dim)
	}
	sh := &Shape{
		horizon: spec.Horizon, dim: spec.Dim, states: states,
		start: possible(spec.Start),
		first: spec.First, opponents: opponents, factor: spec.Factor,
		base:  make([]int, spec.Horizon+1),
		lower: make([]float64, 0, spec.Horizon*spec.Dim),
		upper: make([]float64, 0, spec.Horizon*spec.Dim),
	}
	for h := range spec.Horizon {
		if err := sh.addStep(h, spec.Returns[min(h, len(spec.Returns)-1)]); err != nil {
			return nil, err
		}
	}
	if iv := spec.Totals; iv != nil {
		if len(iv.Lower) != spec.Dim || len(iv.Upper) != spec.Dim {
			return nil, fmt.Errorf("cmdp: range of the return of an episode: %d and %d bounds: want %d", len(iv.Lower),
				len(iv.Upper), spec.Dim)
		}
		sh.totals = iv.clone()
	}
	if iv := spec.ReturnToGo; iv != nil {
		if len(iv.Lower) != spec.Dim || len(iv.Upper) != spec.Dim {
			return nil, fmt.Errorf("cmdp: range of the return to go: %d and %d bounds: want %d", len(iv.Lower),
				len(iv.Upper), spec.Dim)
		}
		for i := range spec.Dim {
			if !(iv.Lower[i] <= 0 && iv.Upper[i] >= 0) {
				return nil, fmt.Errorf("cmdp: range of the return to go, coordinate %d: [%g, %g] must contain 0, "+
					"the return of no steps", i, iv.Lower[i], iv.Upper[i])
			}
		}
		sh.toGo = iv.clone()
	}
	return sh, nil
}

func (iv Interval) clone() *Interval {
	return &Interval{slices.Clone(iv.Lower), slices.Clone(iv.Upper)}
}

// addStep appends the bounds of a step's returns.
func (sh *Shape) addStep(h int, iv Interval) error {
	sh.base[h+1] = sh.base[h] + int(sh.firstAt(h)[sh.states])
	if err := iv.check(sh.dim); err != nil {
		return fmt.Errorf("cmdp: return range of step %d: %w", h+1, err)
	}
	for i := range sh.dim {
		lo, up := iv.Lower[i], iv.Upper[i]
		if sh.Rests(h) {
			lo, up = min(lo, 0), max(up, 0)
		}
		sh.lower, sh.upper = append(sh.lower, lo), append(sh.upper, up)
	}
	return nil
}

func (iv Interval) check(dim int) error {
	if len(iv.Lower) != dim || len(iv.Upper) != dim {
		return fmt.Errorf("%d and %d bounds: want %d", len(iv.Lower), len(iv.Upper), dim)
	}
	for i := range iv.Lower {
		if !finite(iv.Lower[i]) || !finite(iv.Upper[i]) || iv.Lower[i] > iv.Upper[i] {
			return fmt.Errorf("coordinate %d: [%g, %g] is not a finite interval", i, iv.Lower[i], iv.Upper[i])
		}
	}
	return nil
}

func checkOffsets(first []int32, states int) error {
	if len(first) != states+1 {
		return fmt.Errorf("%d states: want %d as in the first step", len(first)-1, states)
	}
	if first[0] != 0 {
		return fmt.Errorf("first choice of state 0 is number %d: want 0", first[0])
	}
	for s := range states {
		if first[s+1] < first[s] {
			return fmt.Errorf("state %d: choices end before they begin", s)
		}
	}
	return nil
}

func checkStart(start []StartState, states int) error {
	if len(start) == 0 {
		return errors.New("cmdp: no start state")
	}
	sum, seen := 0.0, make(map[int]bool, len(start))
	for _, st := range start {
		switch {
		case st.State < 0 || st.State >= states:
			return fmt.Errorf("cmdp: start state %d: want 0 to %d", st.State, states-1)
		case seen[st.State]:
			return fmt.Errorf("cmdp: start state %d given twice", st.State)
		case !(st.Probability >= 0) || math.IsInf(st.Probability, 1):
			return fmt.Errorf("cmdp: start state %d: %g is not a probability", st.State, st.Probability)
		}
		seen[st.State] = true
		sum += st.Probability
	}
	if math.Abs(sum-1) > ProbabilityTolerance {
		return fmt.Errorf("cmdp: start probabilities sum to %.12g: want 1", sum)
	}
	return nil
}

// possible returns a copy of the start states without those of probability 0, in which no episode begins.
func possible(start []StartState) []StartState {
	return slices.DeleteFunc(slices.Clone(start), func(st StartState) bool { return st.Probability == 0 })
}

// checkDistribution returns an error unless the numbers are probabilities that sum to 1.
func checkDistribution(probs []float64) error {
	sum := 0.0
	for _, p := range probs {
		if !(p >= 0) || math.IsInf(p, 1) {
			return fmt.Errorf("%g is not a probability", p)
		}
		sum += p
	}
	if math.Abs(sum-1) > ProbabilityTolerance {
		return fmt.Errorf("probabilities sum to %.12g: want 1", sum)
	}
	return nil
}

// ProbabilityTolerance is how far the sum of a distribution may lie from 1.
const ProbabilityTolerance = 1e-9

func finite(x float64) bool { return x-x == 0 } // NaN is not 0, and infinity less itself is NaN

// Horizon returns H, the number of steps of an episode.
func (sh *Shape) Horizon() int { return sh.horizon }

// Dim returns d, the number of coordinates of a return.
func (sh *Shape) Dim() int { return sh.dim }

// States returns S, the number of states.
func (sh *Shape) States() int { return sh.states }

// StartStates returns the distribution of the first state. The slice must not be
// changed.
func (sh *Shape) StartStates() []StartState { return sh.start }

// SameEveryStep reports whether every step offers the same choices, which
// pooling counts over steps needs.
func (sh *Shape) SameEveryStep() bool { return len(sh.first) == 1 }

func (sh *Shape) firstAt(h int) []int32 { return sh.first[min(h, len(sh.first)-1)] }

// Rests reports whether some state has no choice at step h: the process rests there.
func (sh *Shape) Rests(h int) bool {
	f := sh.firstAt(h)
	for s := range sh.states {
		if f[s] == f[s+1] {
			return true
		}
	}
	return false
}

// Ends reports whether nothing can happen any more in state s from step h on: it
// offers no choice at this step or later.
func (sh *Shape) Ends(h, s int) bool {
	for t := h; t < sh.horizon; t++ {
		if sh.Actions(t, s) > 0 {
			return false
		}
		if len(sh.first) == 1 {
			break
		}
	}
	return true
}

// Choices returns the numbers [first, end) of the choices that state s offers at
// step h. They are empty for a state in which the process rests.
func (sh *Shape) Choices(h, s int) (first, end int) {
	f := sh.firstAt(h)
	return int(f[s]), int(f[s+1])
}

// Actions returns how many actions state s offers to the agent at step h.
func (sh *Shape) Actions(h, s int) int {
	f := sh.firstAt(h)
	n := int(f[s+1] - f[s])
	if sh.opponents != nil {
		n /= sh.OpponentActions(h, s)
	}
	return n
}

// MaxActions returns the largest number of actions that any state offers to the
// agent.
func (sh *Shape) MaxActions() int {
	most := 0
	for h := range sh.first {
		for s := range sh.states {
			most = max(most, sh.Actions(h, s))
		}
	}
	return most
}

// StepChoices returns how many choices step h has, over all states.
func (sh *Shape) StepChoices(h int) int { return sh.base[h+1] - sh.base[h] }

// Slots returns the number of (step, choice) pairs.
func (sh *Shape) Slots() int { return sh.base[sh.horizon] }

// StepReturns returns the bounds l and u of the returns of step h, each of
// length d. They must not be changed.
func (sh *Shape) StepReturns(h int) (lower, upper []float64) {
	i := h * sh.dim
	return sh.lower[i : i+sh.dim : i+sh.dim], sh.upper[i : i+sh.dim : i+sh.dim]
}

// Promise returns the promised range of the return to go, as in [ShapeSpec], or nil. It
// must not be changed.
func (sh *Shape) Promise() *Interval { return sh.toGo }

// ReturnToGo sets lower and upper, each of length d, to bounds of the return
// that steps h, h+1, … H-1 can still add: the sums of the one-step bounds, cut to
// the promised ranges if there are any.
func (sh *Shape) ReturnToGo(lower, upper []float64, h int) {
	if len(lower) != sh.dim || len(upper) != sh.dim {
		panic(badDim)
	}
	for i := range lower {
		lo, up := 0.0, 0.0
		for t := h; t < sh.horizon; t++ {
			lo += sh.lower[t*sh.dim+i]
			up += sh.upper[t*sh.dim+i]
		}
		if sh.toGo != nil {
			lo, up = max(lo, sh.toGo.Lower[i]), min(up, sh.toGo.Upper[i])
		}
		if sh.totals != nil && h == 0 {
			lo, up = max(lo, sh.totals.Lower[i]), min(up, sh.totals.Upper[i])
		}
		lower[i], upper[i] = lo, up
	}
}

// Totals returns the box X of possible returns of an episode, [Shape.ReturnToGo] of the first step. It allocates.
func (sh *Shape) Totals() (lower, upper []float64) {
	lower, upper = make([]float64, sh.dim), make([]float64, sh.dim)
	sh.ReturnToGo(lower, upper, 0)
	return lower, upper
}

const (
	badDim    = "cmdp: dimension mismatch"
	badAction = "cmdp: action out of range"

	noOpponent = "cmdp: a game needs an opponent"
)
