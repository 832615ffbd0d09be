package baseline

// Work counts what a learner spent on planning.
type Work struct {
	// Planner counts sweeps over the model: value iterations, evaluations of a policy
	// (all signals in one), projections' dual steps.
	Planner int
	// Programs counts planning programs (linear or convex). Infeasible counts those
	// without a solution; the learner then fell back as its paper says.
	Programs, Infeasible int
}

// A Worker is a learner that counts its work. All learners of this package are.
type Worker interface{ Work() Work }
