// Package nearest finds the names that somebody may have meant.
package nearest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Name returns ", did you mean …?" with the candidate that is a slip of the
// pen away from name, or nothing. Two letters in each other's place are one slip.
func Name(name string, candidates []string) string {
	best, least := "", 1+(len(name)+1)/3
	for _, c := range candidates {
		if least == 1 {
			break // nothing is nearer but the name itself
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
	if best == "" {
		return ""
	}
	return ", did you mean " + strconv.Quote(best) + "?"
}
