package cmdp

// A DualUpdate looks at the returns of the episodes so far and chooses the
// direction θ for planning the next one.
type DualUpdate interface {
	// Direction returns the direction of the next episode, of length d. It must
	// not be changed and is valid until the next Observe.
	Direction() []float64
	// Observe takes the return vector of an episode that was planned in the current
	// direction, and the planner's optimistic value low of that direction, which on
	// the good event is at most ⟨θ, v⟩ for every achievable v. It returns what low
	// proves and moves on to the next direction. It must not keep value.
	Observe(value []float64, low float64) Evidence
}

// Evidence is what the optimistic value of one episode proves on the good event,
// by weak duality.
type Evidence struct {
	// Optimum is a lower bound on the least cost that any policy reaches within
	// the target; -Inf if the update pursues no cost.
	Optimum float64
	// Gap is a lower bound on the distance of the target from the achievable set.
	// It is positive only if the target cannot be met; -Inf if nothing is proved.
	Gap float64
	// Direction is the direction of Gap, of any length. It belongs to the update
	// and is valid until its next Observe.
	Direction []float64
}

// diameterTo returns the largest distance between a point of the box X and a
// point of the target's bounding box. It leaves out coordinates where the
// target says no more than X does. In the other coordinates a maximiser nearest
// to the observed return coincides with it, so that they never enter a
// gradient.
func diameterTo(lower, upper, targetLower, targetUpper []float64) float64 {
	lo, up := make([]float64, len(lower)), make([]float64, len(lower))
	for i := range lower {
		if targetLower[i] <= lower[i] && targetUpper[i] >= upper[i] {
			continue
		}
		up[i] = max(upper[i]-targetLower[i], targetUpper[i]-lower[i])
	}
	return diameter(lo, up)
}
