// Package nearest finds the names that somebody may have meant.
package nearest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Name returns ", did you mean …?" with the candidate that [Find] finds, or nothing.
func Name(name string, candidates []string) string {
	best := Find(name, candidates)
	if best == "" {
		return ""
	}
	return ", did you mean " + strconv.Quote(best) + "?"
}

// Find returns the candidate that is a slip of the pen away from name, or "".
// Two letters in each other's place are one slip.
func Find(name string, candidates []string) string {
	best, least := "", 1+(len(name)+1)/3
	for _, c := range candidates {
		if least == 0 {
			break // the name itself, in other letters
		}
		if gap := len(name) - len(c); gap >= least || -gap >= least {
			continue // too different to be worth comparing
		}
		a, b := strings.ToLower(name), strings.ToLower(c)
		d := levenshtein.ComputeDistance(a, b)
		if d == 2 && slices.Equal(slices.Sorted(slices.Values([]byte(a))), slices.Sorted(slices.Values([]byte(b)))) {
			d = 1
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// List returns the candidates with commas between them, the most similar to name first.
func List(name string, candidates []string) string {
	distance := func(c string) int {
		return levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
	}
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(x, y string) int { return distance(x) - distance(y) })
	return strings.Join(sorted, ", ")
}
