// Package threshold holds the sizes of models from which other methods are used. Tests lower them, so that the
// methods for large models run on small ones too, whose answers are known.
package threshold

// These are the thresholds of packages markov, exact, robust and query.
var (
	Eliminated = 200 // states up to which a linear system is always eliminated
	// width up to which it is eliminated as a band: work grows with the square, memory with twice the width
	Band = 40
	// states on all cycles of a chain up to which the others need no order of elimination; −1 for no such chain
	Heads = 4
	Swept = 1 << 14 // states above which totals in a component are found by sweeps in place
	// states whose rows a sweep holds side by side, where it does not go over all states of a component each time
	Window  = 1 << 15
	Held    = 1 << 19 // states up to which a component's rows of a policy are held all at once
	Stretch = 16      // states that are swept before a sweep goes on, for each state that transitions lead back
	Blocks  = 6       // least such stretches of a component, which is swept as a whole otherwise
	Windows = 16      // times that a component is as long as transitions lead back, for sweeps by windows of it
	Shared  = 1 << 14 // transitions from which workers share the states
	Chunk   = 4096    // most states that a worker takes at a time, or whose terms are added up before sums are
	Block   = 1024    // least states of a block of occupancies, and of one that is priced in several directions
	Level   = 128     // least states of a level of components that workers share
	Sorted  = 1 << 12 // least states of a block in which components are sorted by levels
	Part    = 256     // least states by which a sweep in place is ahead of another one
	Written = 1 << 25 // successors of all steps up to which a model of a set is written down to be planned for
	// states from which the extremes of totals are not sought for a box where limits and signs give one
	Ranged = 1 << 14
	// states in a row that an improvement for long-run means sweeps a few times before others
	Together = 64
	// states of an end of long-run means from which those far from its best class are not looked at, at first
	Retiring = 1 << 12
	Near     = 4    // states of such an end for each one that may be near
	Apart    = 1024 // states in which policies may differ before one between them is tried instead of their mixture
	Passes   = 40   // times that purification may look at all states before a mixture is always made narrower first

	// states from which several directions of a curve are priced at once
	Simultaneous = 1 << 12
	// most columns of the system of a component, of 32 bytes each, for which they are; not lowered
	Columns = 1 << 24
)

// Lower lowers all thresholds as far as they go, and returns what puts them back: t.Cleanup(threshold.Lower()).
// Tests that use it must not run in parallel with others.
func Lower() (restore func()) {
	all := []*int{&Eliminated, &Band, &Heads, &Swept, &Window, &Held, &Stretch, &Blocks, &Windows, &Shared, &Chunk,
		&Block, &Level, &Sorted, &Part, &Written, &Ranged, &Together, &Retiring, &Near, &Apart, &Passes, &Simultaneous}
	least := []int{1, 0, -1, 1, 3, 5, 1, 2, 2, 1, 2, 1, 2, 16, 1, 0, 1, 2, 1, 1, 1, 0, 1}
	before := make([]int, len(all))
	for i, x := range all {
		before[i] = *x
		*x = least[i]
	}
	return func() {
		for i, x := range all {
			*x = before[i]
		}
	}
}
