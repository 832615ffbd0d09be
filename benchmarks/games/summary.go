package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/contest"
)

// summary says in sentences what the tables show.
func summary(results []*result) string {
	var slopes []float64
	var slower, inside, near []string
	for _, res := range results {
		delta := res.gap.Lower
		for _, l := range res.lines {
			name := fmt.Sprintf("%s/%s/%s", res.ID(), l.opponent.ID(), l.dual)
			f, _ := fall(l.excess(delta))
			switch {
			case math.IsNaN(f.Value):
				inside = append(inside, name)
			default:
				slopes = append(slopes, f.Value)
				if f.Low > -0.5 {
					slower = append(slower, fmt.Sprintf("%s (%.2f)", name, f.Value))
				}
			}
			if mean, half := contest.MeanInterval(l.along()); l.opponent.ID() == "along" && delta > 0 && mean < delta-half-1e-5 {
				near = append(near, name)
			}
		}
	}
	var b strings.Builder
	total := len(slopes) + len(inside)
	fmt.Fprintf(&b, "Of %d pairs of a game and an opponent, with either dual update, %d were at or below δ at more than half of the records of the last two decades.\n",
		total, len(inside))
	if len(slopes) > 0 {
		slices.Sort(slopes)
		fmt.Fprintf(&b, "The slopes of the other %d have the median %.2f, the quartiles %.2f and %.2f.\n", len(slopes), harness.Quantile(slopes, 0.5),
			harness.Quantile(slopes, 0.25), harness.Quantile(slopes, 0.75))
	}
	if len(slower) > 0 {
		fmt.Fprintf(&b, "The whole interval lies above −1/2 in %d: %s.\n", len(slower), strings.Join(slower, ", "))
	}
	if len(near) == 0 {
		b.WriteString("Where δ > 0, the mean of ⟨θ, W^K⟩ − h_W(θ) against best responses along θ was nowhere below δ by more than its interval.\n")
	} else {
		fmt.Fprintf(&b, "Although δ > 0, the mean of ⟨θ, W^K⟩ − h_W(θ) against best responses along θ was below δ by more than its interval in %s.\n", strings.Join(near, ", "))
	}
	return b.String()
}
