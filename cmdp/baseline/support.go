package baseline

import (
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
)

// A Support says which successors each choice can have, though not how often:
// Support[h][c] are those of choice c at step h, in increasing order. One step stands for
// all if the kernel is the same at every step.
type Support [][][]int32

// SupportOf returns the support of a model.
func SupportOf(m *cmdp.Model) Support {
	support := make(Support, m.Kernels())
	for h := range support {
		rows := m.Rows(h)
		_, choices := rows.Choices(m.States() - 1)
		support[h] = make([][]int32, choices)
		for s := range m.States() {
			for c, end := rows.Choices(s); c < end; c++ {
				var next []int32
				successors, prob := rows.Row(c)
				for e, to := range successors {
					if prob[e] > 0 {
						next = append(next, to)
					}
				}
				slices.Sort(next)
				support[h][c] = slices.Compact(next)
			}
		}
	}
	return support
}

// complete adds the successors of choice c at step h that were not seen yet.
func (sp Support) complete(next []int32, times []float64, h, c int) ([]int32, []float64) {
	seen := len(next)
	for _, s := range sp[min(h, len(sp)-1)][c] {
		if !slices.Contains(next[:seen], s) {
			next, times = append(next, s), append(times, 0)
		}
	}
	return next, times
}

// check returns an error if sp is not a support of environments of the given shape, or not
// one for counts that are pooled.
func (sp Support) check(sh *cmdp.Shape, pooled bool) error {
	if n := len(sp); n != sh.Horizon() && (n != 1 || !sh.SameEveryStep()) {
		return fmt.Errorf("baseline: support of %d steps: want %d", n, sh.Horizon())
	}
	if pooled && len(sp) > 1 {
		return fmt.Errorf("baseline: support of %d steps with pooled counts: want that of one step for all", len(sp))
	}
	for h, choices := range sp {
		if len(choices) != sh.StepChoices(h) {
			return fmt.Errorf("baseline: support of %d choices at step %d: want %d", len(choices), h+1,
				sh.StepChoices(h))
		}
		for c, next := range choices {
			if len(next) == 0 {
				return fmt.Errorf("baseline: support of choice %d at step %d is empty", c, h+1)
			}
			for i, s := range next {
				if s < 0 || int(s) >= sh.States() || i > 0 && s <= next[i-1] {
					return fmt.Errorf("baseline: support of choice %d at step %d: want increasing states below %d, "+
						"not %v", c, h+1, sh.States(), next)
				}
			}
		}
	}
	return nil
}
