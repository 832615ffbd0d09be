package cmdp

import (
	"errors"
	"fmt"
	"math"
)

// A Bonus is the exploration bonus β of optimistic value iteration: how far the
// mean of the next values over the successors seen may lie from their true mean.
// Implementations must be positively homogeneous in the direction and safe for
// concurrent use. Of the direction they see only the values below.
type Bonus interface {
	// Width returns β ≥ 0, which may be +Inf. It must not change or keep what it is
	// given.
	Width(st *Stage, m *Moments) float64
}

// A Stage is what a bonus knows of the step that is being planned.
type Stage struct {
	// Step is the 0-based step h.
	Step int
	// Norm is ‖θ‖₂ of the direction.
	Norm float64
	// Range is R_{h+1} = U_{h+1} − L_{h+1}, the width of the clip range of the next
	// values in this direction (erratum E-18).
	Range float64
	// Diagonal is the diameter of the box of returns that steps h+1 … H−1 can add.
	Diagonal float64
}

// Moments are what was seen of the next values of one choice.
type Moments struct {
	// Visits is the number of visits t ≥ 1, Root is 1/√t, Inverse1 is 1/(t−1) and
	// Root1 its square root, both +Inf at the first visit.
	Visits, Root, Inverse1, Root1 float64
	// VarLow is the variance of V_low, Gap the mean of V_up − V_low and GapSquare
	// the mean of its square, under the frequencies P̂ of the successors.
	VarLow, Gap, GapSquare float64
}

// NoBonus is the bonus of a planner that trusts its counts: β = 0.
type NoBonus struct{}

// Width returns 0.
func (NoBonus) Width(*Stage, *Moments) float64 { return 0 }

// hoeffdingBonus is the bonus scale·(R·√(ℓ/(2t)) + cover·Diagonal·‖θ‖) of
// erratum E-19, which needs no second moments.
type hoeffdingBonus struct{ scale, root, cover float64 }

// newHoeffding returns the bonus with the given constants.
func newHoeffding(scale, logTerm, cover float64) *hoeffdingBonus {
	return &hoeffdingBonus{scale, math.Sqrt(logTerm / 2), cover}
}

// Width returns the bonus.
func (b *hoeffdingBonus) Width(st *Stage, m *Moments) float64 {
	return b.scale * (st.Range*m.Root*b.root + b.cover*st.Diagonal*st.Norm)
}

// bernsteinBonus is the one-formula bonus of erratum E-19,
//
//	scale·(√(2ℓ·Var(V_low)/(t−1)) + √(2ℓ·E(V_up−V_low)²/(t−1)) + 7Rℓ/(3(t−1)) + cover·Diagonal·‖θ‖)
//
// or the Hoeffding bonus where that is smaller, as it is at the first visit.
type bernsteinBonus struct{ scale, root, linear, hoeffding, cover float64 }

// newBernstein returns the bonus with the given constants: logTerm is ℓ,
// hoeffdingLog the logarithmic term of the Hoeffding bonus.
func newBernstein(scale, logTerm, hoeffdingLog, cover float64) *bernsteinBonus {
	return &bernsteinBonus{scale, math.Sqrt(2 * logTerm), 7 * logTerm / 3, math.Sqrt(hoeffdingLog / 2), cover}
}

// Width returns the bonus.
func (b *bernsteinBonus) Width(st *Stage, m *Moments) float64 {
	w := st.Range * m.Root * b.hoeffding
	if m.Visits > 1 {
		sd := math.Sqrt(m.VarLow) + math.Sqrt(m.GapSquare)
		w = smaller(w, m.Root1*sd*b.root+st.Range*b.linear*m.Inverse1)
	}
	return b.scale * (w + b.cover*st.Diagonal*st.Norm)
}

// monotonicBonus is the bonus of monotonic value propagation (Zhang, Chen, Lee, Du 2023,
// Algorithm 1) in the range form of erratum E-18,
//
//	scale·(460/9·√(ι·Var(V_low)/t) + 544/9·Rι/t),   ι = ln(200SAH²K²/p)
//
// for the t samples of a batch. The paper's term for random returns is left to the
// confidence with which returns are learned here, which has the same form.
type monotonicBonus struct{ root, linear float64 }

func newMonotonicBonus(sh *Shape, pooled bool, scale BonusScale, conf Confidence) (Bonus, error) {
	if scale.Mode == Published {
		return nil, errUnpublished(scale)
	}
	if err := errors.Join(conf.Check(), scale.Check()); err != nil {
		return nil, fmt.Errorf("cmdp: %w", err)
	}
	iota := math.Log(200*float64(sh.horizon)*float64(conf.Episodes)/conf.Failure) + conf.events(sh, pooled)
	factor := scale.Multiplier()
	return &monotonicBonus{factor * 460. / 9 * math.Sqrt(iota), factor * 544. / 9 * iota}, nil
}

// Width returns the bonus.
func (b *monotonicBonus) Width(st *Stage, m *Moments) float64 {
	return b.root*math.Sqrt(m.VarLow)*m.Root + b.linear*st.Range*m.Root*m.Root
}

// printedHoeffding is the bonus as printed in Algorithm 2 of Yu, Tian, Zhang,
// Sra (2021), c·√(min{d,S}·ι/t)·D·‖θ‖, where D, the diameter of the box of
// possible returns, stands for the paper's √d·H, to which it is equal for returns
// in [0,1]; ‖θ‖ is erratum E-03.
type printedHoeffding struct{ Scale, LogTerm, MinDimStates, Diameter float64 }

// Width returns the bonus.
func (b printedHoeffding) Width(st *Stage, m *Moments) float64 {
	return b.Scale * math.Sqrt(b.MinDimStates*b.LogTerm/m.Visits) * b.Diameter * st.Norm
}

// printedBernstein is the three-term bonus as printed in Algorithm 3,
//
//	c·(√(Var(V_low)·min{d,S}·ι/t) + E(V_up−V_low)/H + min{d,S}·H·D·ι/t·‖θ‖)
//
// with D as in [printedHoeffding].
type printedBernstein struct {
	Scale, LogTerm, MinDimStates, Diameter, Horizon float64
}

// Width returns the bonus.
func (b printedBernstein) Width(st *Stage, m *Moments) float64 {
	l := b.MinDimStates * b.LogTerm / m.Visits
	return b.Scale * (math.Sqrt(m.VarLow*l) + m.Gap/b.Horizon + l*b.Horizon*b.Diameter*st.Norm)
}

// Confidence says how sure the statements of a run are to be, and over how many
// episodes.
type Confidence struct {
	// Episodes is K, over which the statements hold together; Failure is the
	// probability p that one of them fails.
	Episodes int
	Failure  float64
}

// Check returns an error unless there is an episode, and the failure probability is one.
func (c Confidence) Check() error {
	if c.Episodes < 1 {
		return fmt.Errorf("episodes %d: want at least 1", c.Episodes)
	}
	if !(c.Failure > 0 && c.Failure < 1) {
		return fmt.Errorf("failure probability %g: want between 0 and 1", c.Failure)
	}
	return nil
}

// events is the logarithm of the number of (step, choice, visit count) triples
// that a union bound has to cover.
func (c Confidence) events(sh *Shape, pooled bool) float64 {
	_, slots := sh.Unknown()
	n := math.Log(float64(max(1, slots))) + math.Log(float64(c.Episodes))
	if pooled {
		n += math.Log(float64(sh.horizon))
	}
	return n
}

// NewBonus returns the Bernstein bonus, or the Hoeffding one, for learning in an
// environment of the given shape. In theory mode the logarithmic terms are those
// of errata E-19 and E-25: uniform over all directions, by a cover of mesh 1/K.
func NewBonus(sh *Shape, bernstein, pooled bool, scale BonusScale, conf Confidence) (Bonus, error) {
	if err := checkShape(sh); err != nil {
		return nil, err
	}
	if err := errors.Join(conf.Check(), scale.Check()); err != nil {
		return nil, fmt.Errorf("cmdp: %w", err)
	}
	factor := scale.Multiplier()
	events := conf.events(sh, pooled)
	failure := math.Log(1 / conf.Failure)
	lo, up := sh.Totals()
	states, _ := sh.Unknown()
	m, diam, k := float64(min(sh.dim, states)), diameter(lo, up), float64(conf.Episodes)
	switch scale.Mode {
	case Theory:
		// One half of the failure probability goes to each inequality.
		directions := float64(sh.dim) * math.Log(1+2*k)
		successors := float64(states) * math.Ln2
		hoeffding := math.Log(4) + failure + events + min(directions, successors)
		if !bernstein {
			return newHoeffding(factor, hoeffding, 2/k), nil
		}
		return newBernstein(factor, math.Log(8)+failure+events+directions, hoeffding, 2/k), nil
	case Practice, Off:
		if !bernstein {
			// 0.35·R·√(ι/t) without the 1/2 of Hoeffding's inequality.
			return newHoeffding(factor, 2*(events+failure), 0), nil
		}
		return newBernstein(factor, math.Ln2+events+failure, 2*(events+failure), 0), nil
	case Printed:
		if !bernstein {
			return printedHoeffding{factor, events + failure, m, diam}, nil
		}
		return printedBernstein{factor, events + failure, m, diam, float64(sh.horizon)}, nil
	}
	return nil, errUnpublished(scale)
}

func errUnpublished(scale BonusScale) error {
	return fmt.Errorf("cmdp: bonus scale %v: no experiments with MOMA's bonus are published: want theory, practice, "+
		"paper or a number", scale)
}

func diameter(lower, upper []float64) float64 {
	sum := 0.0
	for i := range lower {
		sum += (upper[i] - lower[i]) * (upper[i] - lower[i])
	}
	return math.Sqrt(sum)
}
