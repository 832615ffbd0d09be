package baseline

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "mo-ucbvi", New: newMOUCBVI,
	Source: "Wu, Braverman, Yang (2021), MO-UCBVI, preferences from the duals of MOMA", Planner: "1 value iteration",
	Guarantee:     "regret to each episode's preference Õ(√(min{d,S} H² S A K)), homogeneous kernel; none for W^K",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: true, Homogeneous: true,
	Needs:     []string{"known returns"},
	Published: "0.1·√(min{d,S}·R²/n) without a logarithm, every successor counted once in advance (its code)",
	Certainty: "from the paper's abstract and code; the bonus of theory from memory of the paper",
})

// newMOUCBVI returns the learner of Wu, Braverman and Yang, "Accommodating picky
// customers: regret bound and exploration complexity for multi-objective
// reinforcement learning" (2021): optimistic value iteration for the preference of
// the episode with the bonus √(min{d,S}·R²·ι/n), ι = ln(SAHK/p) (from memory of the
// paper; its sharp theorem has a Bernstein form). The paper's preferences come from an
// adversary; here they are the dual variables of MOMA, so that the two differ in
// the bonus alone; Config.Preferences can ask for random ones instead. Duals may be
// negative: R, the range of the values to come, which
// is at most H for the paper's preferences, replaces H, and clips are signed (erratum E-18). The paper
// knows the returns. The published scale is that of the paper's code: 0.1·√(min{d,S}·R²/n), n with one
// visit of every successor counted in advance. It can be saved.
func newMOUCBVI(c Config) (cmdp.Learner, error) {
	if c.Returns == nil {
		return nil, unsupported("mo-ucbvi", "it needs known returns")
	}
	bonus := unionBonus(c.Bonus.Multiplier() * math.Sqrt(float64(min(c.Shape.Dim(), c.Shape.States()))*
		math.Log(float64(max(1, c.Shape.Slots()))*float64(c.Confidence.Episodes)/c.Confidence.Failure)))
	if c.Bonus.Mode == cmdp.Published {
		if n := c.Shape.Slots() * c.Shape.States(); n > mostLaplace {
			return nil, unsupported("mo-ucbvi", "its published code counts %d successors in advance, more than %d", n,
				mostLaplace)
		}
		bonus = unionBonus(0.1 * c.Bonus.Multiplier() * math.Sqrt(float64(min(c.Shape.Dim(), c.Shape.States()))))
	}
	var dual cmdp.DualUpdate
	var err error
	switch c.Preferences {
	case "", "dual":
		dual, err = cmdp.NewTermsDual(c.Shape, c.Task, c.Penalty)
		if err != nil {
			return nil, err
		}
	case "random":
		dual = newRandomPreferences(c.Shape.Dim(), c.Seed)
	default:
		return nil, fmt.Errorf("baseline: mo-ucbvi: preferences %q: want dual or random", c.Preferences)
	}
	l, err := momaOf(&c, bonus, dual)
	if err == nil && c.Bonus.Mode == cmdp.Published {
		err = addLaplace(l.Counts(), c.Shape, c.Pooled)
	}
	return l, err
}

// mostLaplace bounds the number of counts that addLaplace makes.
const mostLaplace = 10_000_000

// addLaplace counts every successor of every choice once.
func addLaplace(counts *cmdp.Counts, sh *cmdp.Shape, pooled bool) error {
	steps := sh.Horizon()
	if pooled {
		steps = 1
	}
	for h := range steps {
		for s := range sh.States() {
			for a := range sh.Actions(h, s) {
				for next := range sh.States() {
					if err := counts.Add(h, s, a, next, 1); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// A unionBonus is c·R/√n, R the range of the next values.
type unionBonus float64

// Width returns the bonus.
func (b unionBonus) Width(st *cmdp.Stage, m *cmdp.Moments) float64 {
	return float64(b) * st.Range * m.Root
}
