// Package monitor makes questions about whole episodes into expected returns: was a goal
// reached, how often, did the fuel last, by how much was a budget passed?
//
// A [Monitor] watches states, choices and returns as they happen, remembers one of finitely
// many values, and returns numbers of its own. [New] builds the product of a model and its
// monitors. It keeps only the pairs of a state and memory values that can be reached. The
// product is again a cmdp.Model: planners, fronts and certificates take it as they take any
// other, and a Markov policy of the product is a policy with memory of the model.
//
//	reach := &monitor.Reach{Title: "home", Target: home}
//	p, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{reach}})
//	r, err := exact.Solve(ctx, p.Model, task, exact.Options{})   // the last return is the probability
//
// [Reach], [PartialTotal], [VisitCount], [ChoiceTaken], [Budget] and [Table] are monitors.
// cmdptest.CheckMonitor checks those of one's own. Monitors with a [Breaker] can be enforced: the
// product then offers no choice after which the memory may come out broken.
package monitor

// A Monitor watches an episode. It must be safe for concurrent use and always give the
// same answers: what it remembers is in the memory value, which the product keeps.
type Monitor interface {
	// Name says what is remembered, such as "fuel spent".
	Name() string
	// Rewards returns the number of coordinates, 0 or more, that the monitor adds to returns.
	Rewards() int
	// Range sets lower and upper, of length Rewards, to bounds of what the monitor may still return
	// from any moment on. They contain 0, and may be infinite.
	Range(lower, upper []float64)
	// Start returns the memory at the start of an episode in t.Next, and sets dst, of length
	// Rewards, to what the monitor returns at once. t.State and t.Choice are −1.
	Start(dst []float64, t Transition) (memory int)
	// Step returns the memory after a transition and sets dst to what the monitor returns for it.
	// The numbers that memory takes, for one start and all that may follow, are finitely many.
	Step(dst []float64, memory int, t Transition) int
	// Value says what a memory value means, such as "3". Different values read differently.
	Value(memory int) string
}

// A Breaker is a monitor that can tell when what it watches for has gone wrong.
type Breaker interface {
	Monitor
	// Broken reports whether an episode that ends with this memory has gone wrong.
	Broken(memory int) bool
}

// A Transition is what a monitor sees of a step.
type Transition struct {
	// State is the state before the step and Next the one after it. Choice is the number of the choice
	// taken, among those of all states; −1 where the process rests.
	State, Choice, Next int
	// Returns holds what the model returns for the step, then what the monitors before this one return. It
	// must not be changed or kept.
	Returns []float64
}
