package language

import "slices"

// Limits of a search for all states where a condition holds.
const (
	maxTried     = 10_000_000
	maxSolutions = 1_000_000
)

// Solutions lists the values of variables for which a condition holds, in lexicographic order. Values
// are chosen variable by variable; a part of a conjunction is looked at as soon as all of its variables
// have one. A search that takes too long fails.
func Solutions(variables []Variable, when *Expr) (found [][]int64) {
	n := len(variables)
	known := make([][]eval, n+1) // the conditions that are known after so many variables
	for _, part := range conjuncts(when, nil) {
		last := 0
		if used := part.variables(); used != nil {
			last = used[len(used)-1] + 1
		}
		known[last] = append(known[last], compile(part))
	}
	values, tried := make([]int64, n), 0
	var extend func(first int)
	extend = func(first int) {
		tried++
		if tried > maxTried {
			Fail(when.At, "the search for the states where the condition holds takes more than %d steps", maxTried)
		}
		for _, holds := range known[first] {
			if holds(values) == 0 {
				return
			}
		}
		if first == n {
			if len(found) == maxSolutions {
				Fail(when.At, "the condition holds in more than %d states", maxSolutions)
			}
			found = append(found, slices.Clone(values))
			return
		}
		for x := variables[first].Low; ; x++ {
			values[first] = x
			extend(first + 1)
			if x == variables[first].High {
				return
			}
		}
	}
	extend(0)
	return found
}
