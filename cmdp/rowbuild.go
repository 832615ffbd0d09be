package cmdp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// maxRowErrors is how many errors Build lists.
const maxRowErrors = 10_000

// mostStates is the greatest number of states: they are numbered in 32 bits, and a machine of 32 bits must be
// able to address their offsets.
const mostStates = min(math.MaxInt32-1, math.MaxInt/16)

// Build returns the model. At each step the actions of a state must be 0, 1, …
// without a gap. In a game every action of the agent needs a row against every
// action of the opponent. No row may be given twice. Errors of rows are
// [RowErrors]. The builder must not be used any more.
func (b *Builder) Build() (*Model, error) {
	m, _, err := b.build(slices.Sort[[]int32], slices.Sort[[]int32], true)
	return m, err
}

// Names holds what the actions of each kernel's choices were called when their rows were
// added, the opponent's actions too. Opponent is nil if they are all 0.
type Names struct{ Agent, Opponent [][]int32 }

// BuildNamed is [Builder.Build] for actions whose numbers stand for names: they may have
// gaps, and those of each state and step are numbered anew. The functions sort the names
// of the actions of a state, the agent's and the opponent's, into the order of the new
// numbers. They get the names in the order of their first rows.
func (b *Builder) BuildNamed(agent, opponent func(names []int32)) (*Model, *Names, error) {
	return b.build(agent, opponent, false)
}

func (b *Builder) build(agent, opponent func([]int32), strict bool) (*Model, *Names, error) {
	if b.states < 1 {
		return nil, nil, errors.New("cmdp: no states: want at least 1")
	}
	if b.states > mostStates {
		return nil, nil, fmt.Errorf("cmdp: %d states: want at most %d", b.states, mostStates)
	}
	b.close()
	s := rowSorter{rowTable: &b.rows, order: [2]func([]int32){agent, opponent}, lines: b.lines, strict: strict}
	s.sort(b.states)
	s.checkSums()
	if len(s.errs) > 0 {
		return nil, nil, s.errs
	}
	spec, names := b.spec, new(Names)
	kernels := 1
	if s.step != nil {
		kernels = spec.Horizon
	}
	s.groups()
	spec.Kernels = make([]Kernel, kernels)
	names.Agent = make([][]int32, kernels)
	if s.opponent != nil {
		names.Opponent, spec.Opponents = make([][]int32, kernels), make([][]int32, kernels)
	}
	own, every := s.stepsOfTheirOwn(kernels), -1
	for h := range kernels {
		from := h
		if s.step != nil && !own[h] {
			from = every
			if every < 0 {
				from, every = h, h
			}
		}
		if from == h {
			s.kernel(h, b.states, spec.Kernels, &spec, names)
			continue
		}
		spec.Kernels[h], names.Agent[h] = spec.Kernels[from], names.Agent[from]
		if s.opponent != nil {
			names.Opponent[h], spec.Opponents[h] = names.Opponent[from], spec.Opponents[from]
		}
	}
	if len(s.errs) > 0 {
		return nil, nil, s.errs
	}
	m, err := NewModel(spec)
	return m, names, err
}

// A rowSorter sorts rows by state and by the ranks of their actions.
type rowSorter struct {
	*rowTable
	order         [2]func([]int32)
	lines, strict bool
	errs          RowErrors
	// origin is the number that each row had when it was added; nil if it has it still.
	origin     []int32
	first      []int // the first row of each group: rows of the same state and actions
	agent, opp dictionary
	said       map[int]bool // states of which something is known to be missing
}

func (s *rowSorter) fault(e *RowError) {
	if len(s.errs) < maxRowErrors {
		s.errs = append(s.errs, e)
	}
}

func (s *rowSorter) errorAt(fault RowFault, i int) *RowError {
	e := &RowError{Fault: fault, Step: s.stepOf(i), State: int(s.state[i]), Action: int(s.action[i]),
		Opponent: s.opponentOf(i), Row: i}
	if s.origin != nil {
		e.Row = int(s.origin[i])
	}
	return e
}

// checkSums looks at rows whose transitions were added one by one.
func (s *rowSorter) checkSums() {
	for i := 0; s.lines && i < len(s.state); i++ {
		sum := 0.0
		_, prob := s.Row(i)
		for _, p := range prob {
			sum += p
		}
		if math.Abs(sum-1) > ProbabilityTolerance {
			e := s.errorAt(RowSum, i)
			e.Sum = sum
			s.fault(e)
		}
	}
}

// groups finds the rows of the same state and actions, for every step and for single ones.
func (s *rowSorter) groups() {
	for i := 0; s.step != nil && i < len(s.state); i++ {
		if i == 0 || s.state[i] != s.state[i-1] || s.action[i] != s.action[i-1] ||
			s.opponentOf(i) != s.opponentOf(i-1) {
			s.first = append(s.first, i)
		}
	}
}

// stepsOfTheirOwn reports for which steps alone there are rows.
func (s *rowSorter) stepsOfTheirOwn(kernels int) []bool {
	own := make([]bool, kernels)
	for _, h := range s.step {
		if h != EveryStep {
			own[h-1] = true
		}
	}
	return own
}

// at lists the rows that hold at step h, in order; nil for all.
func (s *rowSorter) at(h int) []int32 {
	if s.step == nil {
		return nil
	}
	rows := make([]int32, 0, len(s.first))
	for g, lo := range s.first {
		hi := len(s.state)
		if g+1 < len(s.first) {
			hi = s.first[g+1]
		}
		k := lo + sort.Search(hi-lo, func(k int) bool { return int(s.step[lo+k]) > h })
		switch {
		case k < hi && int(s.step[k]) == h+1:
			rows = append(rows, int32(k))
		case s.step[lo] == EveryStep:
			rows = append(rows, int32(lo))
		}
	}
	return rows
}

func (s *rowSorter) kernel(h, states int, kernels []Kernel, spec *ModelSpec, names *Names) {
	rows := s.at(h)
	kernels[h] = s.rowTable.kernel(rows, states)
	names.Agent[h] = pick(s.action, rows)
	if s.opponent != nil {
		names.Opponent[h] = pick(s.opponent, rows)
		spec.Opponents[h] = make([]int32, states)
	}
	k := &kernels[h]
	if h > 0 && slices.Equal(k.First, kernels[h-1].First) {
		k.First = kernels[h-1].First // steps mostly offer the same choices
	}
	for x := range states {
		lo, hi := int(k.First[x]), int(k.First[x+1])
		row := func(c int) int {
			if rows == nil {
				return c
			}
			return int(rows[c])
		}
		columns := 1
		if s.opponent != nil {
			columns = s.columns(names.Agent[h][lo:hi], names.Opponent[h][lo:hi], func(a, b int32) {
				s.missing(RowPair, h, row(lo), a, b)
			})
			spec.Opponents[h][x] = int32(columns)
		}
		for c := lo; s.strict && !s.said[x] && c < hi; c++ {
			if a := (c - lo) / columns; int(names.Agent[h][c]) != a {
				s.missing(RowGap, h, row(c), int32(a), 0)
			}
			if b := (c - lo) % columns; s.opponent != nil && int(names.Opponent[h][c]) != b {
				s.missing(RowGap, h, row(c), names.Agent[h][c], int32(b))
			}
		}
	}
}

// missing records that the state of a row has no row for other actions at step h.
func (s *rowSorter) missing(fault RowFault, h, row int, action, opponent int32) {
	e := s.errorAt(fault, row)
	if s.step != nil {
		e.Step = h + 1
	}
	if s.said[e.State] {
		return // of an earlier step
	}
	if s.said == nil {
		s.said = make(map[int]bool)
	}
	s.said[e.State] = true
	e.Action, e.Opponent = int(action), int(opponent)
	s.fault(e)
}

// pick returns the entries of a column for the given rows, all of them for nil.
func pick(column, rows []int32) []int32 {
	if rows == nil {
		return column
	}
	picked := make([]int32, len(rows))
	for c, i := range rows {
		picked[c] = column[i]
	}
	return picked
}

// columns returns the number of the opponent's actions in a state whose choices are the
// pairs (agent[c], opponent[c]), sorted. It hands the first pair that is missing to
// missing.
func (s *rowSorter) columns(agent, opponent []int32, missing func(a, b int32)) int {
	var all dictionary
	rows := 0
	for c, b := range opponent {
		all.add(b)
		if c == 0 || agent[c] != agent[c-1] {
			rows++
		}
	}
	if rows*len(all.names) == len(agent) {
		return max(1, len(all.names))
	}
	for c := range agent {
		if c > 0 && agent[c] == agent[c-1] {
			continue
		}
		end := c
		for end < len(agent) && agent[end] == agent[c] {
			end++
		}
		for _, b := range all.names {
			if !slices.Contains(opponent[c:end], b) {
				missing(agent[c], b)
				return 1
			}
		}
	}
	return 1
}
