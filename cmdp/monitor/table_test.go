package monitor_test

import (
	"math"

	"cmdpsolve/cmdp/monitor"
)

// A table is a deterministic automaton that reads the states of an episode, the first one
// included, as symbols, and begins in its first memory value.
type table struct {
	title  string
	memory []string
	symbol []int       // of each state
	next   [][]int     // for each memory value and symbol
	reward [][]float64 // likewise, or nil
	broken []bool      // the memory values that an episode must not end with, or nil
}

func (t *table) Name() string { return t.title }

func (t *table) Rewards() int { return min(1, len(t.reward)) }

func (t *table) Range(lower, upper []float64) {
	if t.reward != nil {
		lower[0], upper[0] = 0, math.Inf(1)
	}
}

func (t *table) Start(dst []float64, tr monitor.Transition) int { return t.Step(dst, 0, tr) }

func (t *table) Step(dst []float64, memory int, tr monitor.Transition) int {
	x := t.symbol[tr.Next]
	if t.reward != nil {
		dst[0] = t.reward[memory][x]
	}
	return t.next[memory][x]
}

func (t *table) Value(memory int) string { return t.memory[memory] }

func (t *table) Broken(memory int) bool { return t.broken != nil && t.broken[memory] }
