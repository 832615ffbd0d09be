package baseline

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "bwcr-ucb", New: newBwCRUCB,
	Source:        "Agrawal, Devanur (2014), bandits with concave rewards and convex knapsacks, UCB algorithm",
	Planner:       "convex program with md + m variables for m arms",
	Guarantee:     "average regret and distance O(‖1_d‖√(γm/K))",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: false,
	Needs: []string{"S=H=1"},
	Certainty: "from memory of the paper; γ = ln(mdK/p), where it has an unnamed constant; the reduction to column " +
		"generation derived here",
})

// A banditPlanner is the UCB algorithm of bandits with concave rewards.
type banditPlanner struct {
	*arms
	program   *exact.Mixer
	low, high []float64
	corner    []float64
	points    []armPoint // by the numbers of the program
	policy    *cmdp.Randomized
	probs     []float64 // of the arms in the policy
	work      Work
	planned   bool
}

// An armPoint is a corner of the box of an arm.
type armPoint struct {
	arm int
	at  []float64
}

// newBwCRUCB returns the UCB algorithm of Agrawal and Devanur (2014), from memory:
// each round draws an arm from the solution p of
//
//	min g(Σ p_i v_i)   s.t.  Σ p_i v_i ∈ W,   v_i in the confidence box of arm i,
//
// best both in p and in the v_i, a convex program in p_i and p_i·v_i, with md + m
// variables. The sums Σ p_i v_i form the convex hull of the boxes, so that column generation
// solves it: the extreme point in a direction is a corner of the box of one arm
// (derived here). Without a cost any solution will do, and without a solution p stays as it
// was, at first uniform. It is for one state and one step. It can be saved.
func newBwCRUCB(c Config) (cmdp.Learner, error) {
	a, err := newArms("bwcr-ucb", &c)
	if err != nil {
		return nil, err
	}
	d := c.Shape.Dim()
	l := &banditPlanner{arms: a, low: make([]float64, d), high: make([]float64, d), corner: make([]float64, d)}
	// In other states, which are never met, the policy takes the first action.
	probs, first := make([]float64, c.Shape.StepChoices(0)), c.Shape.AgentOffsets()
	for s := range c.Shape.States() {
		if from, end := c.Shape.Choices(0, s); s == a.state {
			l.probs = probs[from:end]
		} else if from < end {
			probs[from] = 1
		}
	}
	floats.AddConst(1/float64(a.number), l.probs)
	l.policy, err = cmdp.NewRandomized(first, [][]float64{probs})
	if err != nil {
		return nil, err
	}
	lower, upper := c.Shape.Totals()
	l.program = exact.NewMixer(l, c.Task, lower, upper)
	a.Keep(&l.program.Warm, &l.probs, &l.work, &l.planned)
	return l, nil
}

// Dim returns the number of returns.
func (l *banditPlanner) Dim() int { return len(l.corner) }

// Extent sets lower and upper to a box around the boxes of all arms.
func (l *banditPlanner) Extent(lower, upper []float64) {
	for i := range l.number {
		l.box(l.low, l.high, i)
		for j := range lower {
			if i == 0 {
				lower[j], upper[j] = l.low[j], l.high[j]
			}
			lower[j], upper[j] = min(lower[j], l.low[j]), max(upper[j], l.high[j])
		}
	}
}

// Least finds the corner of a box that is best in a direction.
func (l *banditPlanner) Least(number int, dir []float64) []float64 {
	l.work.Planner++
	for number >= len(l.points) {
		l.points = append(l.points, armPoint{at: make([]float64, len(dir))})
	}
	p, least := &l.points[number], math.Inf(1)
	for i := range l.number {
		l.box(l.low, l.high, i)
		if x := corner(l.corner, dir, l.low, l.high); x < least {
			least, p.arm = x, i
			copy(p.at, l.corner)
		}
	}
	return p.at
}

// Policy plans, and returns the policy of the next round.
func (l *banditPlanner) Policy() cmdp.Policy {
	if l.planned {
		return l.policy
	}
	l.planned = true
	l.work.Programs++
	if feasible, err := l.program.Solve(context.Background()); err != nil || !feasible {
		l.work.Infeasible++
		return l.policy
	}
	clear(l.probs)
	sum := 0.0
	for j, number := range l.program.Numbers {
		l.probs[l.points[number].arm] += l.program.Weights[j]
		sum += l.program.Weights[j]
	}
	for i := range l.probs {
		l.probs[i] /= sum
	}
	return l.policy
}

// Observe takes a round.
func (l *banditPlanner) Observe(tr *cmdp.Trajectory) {
	l.observe(tr)
	l.planned = false
}

// Work returns what was spent on planning.
func (l *banditPlanner) Work() Work { return l.work }
