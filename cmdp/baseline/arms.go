package baseline

import (
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"
)

// Arms are what the algorithms of Agrawal and Devanur (2014) for bandits, one state
// and one step, have in common: the counts, and a confidence box for the mean return
// of each arm. With ν the mean of a return scaled to [0, 1] and n the pulls plus one
// the box reaches two radii
//
//	rad(ν, n) = √(γν/n) + γ/n,   γ = ln(mdK/p) for m arms,
//
// to each side, within the range of the return (from memory of the paper, where γ has an
// unnamed constant).
type arms struct {
	saved.State
	shape        *cmdp.Shape
	known        *cmdp.Returns
	counts       *cmdp.Counts
	gamma        float64
	state        int // the one state
	number       int // of arms
	lower, upper []float64
	mean         []float64
	rounds       int
}

// newArms returns the arms of a Config for the named algorithm.
func newArms(name string, c *Config) (*arms, error) {
	sh := c.Shape
	if sh.Horizon() != 1 || len(sh.StartStates()) != 1 {
		return nil, unsupported(name, "it is for one state and one step (S=H=1)")
	}
	if c.Prior != nil && c.Returns == nil {
		return nil, unsupported(name, "it cannot start from counted transitions, which have no returns")
	}
	a := &arms{shape: sh, known: c.Returns, state: sh.StartStates()[0].State, mean: make([]float64, sh.Dim())}
	a.number = sh.Actions(0, a.state)
	if a.number == 0 {
		return nil, unsupported(name, "the start state offers nothing to choose from")
	}
	var err error
	a.counts, err = cmdp.NewCounts(sh, false, cmdp.NewReturnConfidence(sh, 0, 0))
	if err != nil {
		return nil, err
	}
	a.Keep(a.counts, &a.rounds)
	a.lower, a.upper = sh.StepReturns(0)
	f := c.Bonus.Multiplier() // of the radii, which are of order √γ
	a.gamma = f * f * math.Log(float64(a.number*sh.Dim())*float64(c.Confidence.Episodes)/c.Confidence.Failure)
	return a, nil
}

// box sets low and high, of length d, to the confidence box of an arm.
func (a *arms) box(low, high []float64, arm int) {
	if a.known != nil {
		first, _ := a.shape.Choices(0, a.state)
		copy(low, a.known.At(0, first+arm))
		copy(high, low)
		return
	}
	pulls := float64(a.counts.Visits(0, a.state, arm))
	seen := a.counts.MeanReturn(a.mean, 0, a.state, arm)
	for j, least := range a.lower {
		width := a.upper[j] - least
		if !seen || width == 0 {
			low[j], high[j] = least, a.upper[j]
			continue
		}
		nu := (a.mean[j] - least) / width
		r := 2 * (math.Sqrt(a.gamma*max(0, nu)/(pulls+1)) + a.gamma/(pulls+1))
		low[j], high[j] = least+width*max(0, nu-r), least+width*min(1, nu+r)
	}
}

// corner returns the least dir·v over a box and, unless point is nil, sets it to v.
func corner(point, dir, low, high []float64) float64 {
	sum := 0.0
	for j, t := range dir {
		x, y := t*low[j], t*high[j]
		sum += min(x, y)
		if point == nil {
			continue
		}
		point[j] = low[j]
		if y < x {
			point[j] = high[j]
		}
	}
	return sum
}

// best returns the arm with the least dir·v over its box, and that value.
func (a *arms) best(dir []float64) (arm int, least float64) {
	low, high := make([]float64, len(dir)), make([]float64, len(dir))
	least = math.Inf(1)
	for i := range a.number {
		a.box(low, high, i)
		if x := corner(nil, dir, low, high); x < least {
			arm, least = i, x
		}
	}
	return arm, least
}

// observe takes a round.
func (a *arms) observe(tr *cmdp.Trajectory) {
	a.rounds++
	a.counts.Observe(tr)
}

// Work returns what was spent on planning.
func (a *arms) Work() Work { return Work{Planner: a.rounds} }
