package problem

import (
	"errors"

	"cmdpsolve/cmdp"
)

// Lift returns the intervals of the process for those of the problem's model: where something is remembered, choices
// of its states have the intervals of the choices that they stand for. same numbers the choices of each kernel by what
// they stand for; it is nil if nothing is remembered. It is an error if rows are generated.
func (x *Process) Lift(iv *cmdp.Intervals) (lifted *cmdp.Intervals, same func(h, c int) int, err error) {
	if iv == nil || !x.Remembers() {
		return iv, nil, nil
	}
	if x.Model.Tally() != nil {
		return nil, nil, errors.New("problem: intervals where rows are generated: want stored ones")
	}
	base := x.of.Model
	of := make([][]int32, x.Model.Kernels()) // the choice of the base, −1 for none
	for h := range of {
		rows, from := x.Model.Rows(h), base.Rows(h)
		for s := range x.Model.States() {
			first, end := rows.Choices(s)
			begin, _ := from.Choices(x.Declared(s))
			for c := first; c < end; c++ {
				a := x.memory.Action(h, s, c-first)
				if a >= 0 {
					a += begin
				}
				of[h] = append(of[h], int32(a))
			}
		}
	}
	kernel := func(h int) int { return min(h, base.Kernels()-1) }
	lifted, err = cmdp.NewIntervals(x.Model, func(h, c int) (lower, upper []float64) {
		choice := int(of[h][c])
		if choice < 0 {
			return nil, nil
		}
		low, high := iv.Row(kernel(h), choice)
		if low == nil {
			return nil, nil
		}
		_, prob := base.Rows(h).Row(choice)
		for i, p := range prob { // products leave out what never happens
			if p > 0 {
				lower = append(lower, low[i])
				upper = append(upper, high[i])
			}
		}
		return lower, upper
	})
	if err != nil {
		return nil, nil, err
	}
	firsts := make([]int, base.Kernels()+1)
	for h := range base.Kernels() {
		_, choices := base.Rows(h).Choices(base.States() - 1)
		firsts[h+1] = firsts[h] + choices
	}
	rests := -1
	return lifted, func(h, c int) int {
		choice := int(of[h][c])
		if choice < 0 {
			return rests
		}
		return firsts[kernel(h)] + choice
	}, nil
}
