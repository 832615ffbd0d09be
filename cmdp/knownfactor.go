package cmdp

// A KnownFactor is what is known of an environment whose states are pairs of a state and a memory that follows a known
// rule, such as what was spent so far. The transitions of pairs that differ in their memory alone are equally likely:
// who sees one of them has learned about all. The environment is a factored one, of which one factor is known
// (Osband, Van Roy 2014; for budgets of each episode, Chen, Hu, Li, Wang 2021). Implementations must be safe
// for concurrent use.
type KnownFactor interface {
	// Each calls visit for each transition that is as likely as one of step h, itself included, with the returns that
	// it has. Of the transition itself returns are those received, or nil if they are not known. If the environment is
	// known to have no such transition, what counts of next is its state without memory: each of them leads to the
	// pair of this state and its own memory then.
	Each(h, state, action, next int, returns []float64, visit func(state, action, next int, returns []float64))
	// Unknown returns the numbers of states and of (step, choice) pairs without memory, of which there is
	// something to learn.
	Unknown() (states, slots int)
	// Of returns the number of the state without memory that a state is about.
	Of(state int) int
}

// EachEquivalent calls visit for each transition that is known to be as likely as one of step h, itself included,
// with the returns that it has.
func (sh *Shape) EachEquivalent(h, state, action, next int, returns []float64,
	visit func(state, action, next int, returns []float64)) {
	if sh.factor == nil {
		visit(state, action, next, returns)
		return
	}
	sh.factor.Each(h, state, action, next, returns, visit)
}

// Unknown returns the numbers of states and of (step, choice) pairs of which there is something to learn: all,
// but for what is a known memory.
func (sh *Shape) Unknown() (states, slots int) {
	if sh.factor == nil {
		return sh.states, sh.Slots()
	}
	return sh.factor.Unknown()
}

// Representatives returns a state for each state without memory that comes up, and the number of the state without
// memory that a state is about. Both are nil if no part of the states is a known memory.
func (sh *Shape) Representatives() (states []int32, of func(state int) int) {
	if sh.factor == nil {
		return nil, nil
	}
	n, _ := sh.Unknown()
	met := make([]bool, n)
	for s := range sh.states {
		if of := sh.factor.Of(s); !met[of] {
			met[of] = true
			states = append(states, int32(s))
		}
	}
	return states, sh.factor.Of
}
