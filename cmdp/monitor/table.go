package monitor

import (
	"fmt"
	"math"
)

// A Table is a deterministic automaton that reads the states of an episode, the first one
// included, as symbols.
type Table struct {
	spec         TableSpec
	lower, upper float64 // 0 or infinite, the side on which there are rewards
}

// TableSpec describes a Table. Its slices are kept, not copied.
type TableSpec struct {
	Title string
	// Memory names the memory values. The automaton begins in the first of them.
	Memory []string
	// Symbol gives each state of the model its symbol, a number from 0.
	Symbol []int
	// Next holds, for each memory value and symbol, the memory value that follows.
	Next [][]int
	// Reward, if not nil, holds what is returned then.
	Reward [][]float64
	// Broken, if not nil, marks the memory values that an episode must not end
	// with.
	Broken []bool
}

// NewTable checks spec and returns its automaton.
func NewTable(spec TableSpec) (*Table, error) {
	n := len(spec.Memory)
	if n == 0 || len(spec.Next) != n || spec.Reward != nil && len(spec.Reward) != n ||
		spec.Broken != nil && len(spec.Broken) != n {
		return nil, fmt.Errorf("monitor: table %s: %d memory values, %d lines of successors, %d of rewards: want as "+
			"many of each, at least 1", spec.Title, n, len(spec.Next), len(spec.Reward))
	}
	t := &Table{spec: spec}
	seen := make(map[string]bool, n)
	for m, name := range spec.Memory {
		if seen[name] {
			return nil, fmt.Errorf("monitor: table %s: two memory values are called %q", spec.Title, name)
		}
		seen[name] = true
		if len(spec.Next[m]) != len(spec.Next[0]) || spec.Reward != nil && len(spec.Reward[m]) != len(spec.Next[0]) {
			return nil, fmt.Errorf("monitor: table %s, memory %s: want %d symbols as in the first line", spec.Title,
				name, len(spec.Next[0]))
		}
		for x, to := range spec.Next[m] {
			if to < 0 || to >= n {
				return nil, fmt.Errorf("monitor: table %s, memory %s, symbol %d: memory value %d follows: want 0 to %d",
					spec.Title, name, x, to, n-1)
			}
		}
	}
	for _, line := range spec.Reward {
		for _, r := range line {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				return nil, fmt.Errorf("monitor: table %s: reward %g: want a finite number", spec.Title, r)
			}
			if r < 0 {
				t.lower = math.Inf(-1)
			} else if r > 0 {
				t.upper = math.Inf(1)
			}
		}
	}
	for s, x := range spec.Symbol {
		if x < 0 || x >= len(spec.Next[0]) {
			return nil, fmt.Errorf("monitor: table %s: state %d has symbol %d: want 0 to %d", spec.Title, s, x,
				len(spec.Next[0])-1)
		}
	}
	return t, nil
}

// Name returns the title.
func (t *Table) Name() string { return t.spec.Title }

// Rewards returns 1, or 0 without rewards.
func (t *Table) Rewards() int {
	if t.spec.Reward == nil {
		return 0
	}
	return 1
}

// Range is infinite on each side that has rewards.
func (t *Table) Range(lower, upper []float64) {
	if t.spec.Reward != nil {
		lower[0], upper[0] = t.lower, t.upper
	}
}

// Start reads the first state.
func (t *Table) Start(dst []float64, tr Transition) int { return t.Step(dst, 0, tr) }

// Step reads the next state.
func (t *Table) Step(dst []float64, memory int, tr Transition) int {
	x := t.spec.Symbol[tr.Next]
	if t.spec.Reward != nil {
		dst[0] = t.spec.Reward[memory][x]
	}
	return t.spec.Next[memory][x]
}

// Value returns the name of the memory value.
func (t *Table) Value(memory int) string { return t.spec.Memory[memory] }

// Broken reports whether an episode must not end so.
func (t *Table) Broken(memory int) bool { return t.spec.Broken != nil && t.spec.Broken[memory] }
