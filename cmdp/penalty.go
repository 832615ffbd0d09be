package cmdp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A PenaltyRule says where the weight ρ of the distance to the target comes from.
// It has to exceed the exact-penalty threshold, or a violation stays (erratum
// E-11).
type PenaltyRule string

// The penalty rules.
const (
	// PenaltyNone: there is no cost to weigh the distance against; ρ is 1.
	PenaltyNone PenaltyRule = "none"
	// PenaltyGiven: ρ was given as a number.
	PenaltyGiven PenaltyRule = "given"
	// PenaltySlater: ρ = 2·range(g)/r for a ball of radius r in the target around
	// an achievable return (erratum E-09).
	PenaltySlater PenaltyRule = "slater"
	// PenaltyModel: ρ = 2‖ψ*‖ for the multiplier ψ* of the known model.
	PenaltyModel PenaltyRule = "model"
	// PenaltyDoubling: ρ starts at the Lipschitz constant of the cost and is doubled
	// when the run speaks against it. Counts and duals are kept.
	PenaltyDoubling PenaltyRule = "doubling"
)

// A Penalty is a rule with its value: Rho for all rules but PenaltyDoubling, for which it is the first value, or 0
// for the Lipschitz constant of the cost. Radius is that of PenaltySlater.
type Penalty struct {
	Rule   PenaltyRule
	Rho    float64
	Radius float64
	text   string // that it was read from
}

// UnmarshalText reads "auto", which is PenaltyDoubling, "model", "slater:R" with the radius R, or a number. The text is
// kept for String. For "model" the value is still to be set.
func (p *Penalty) UnmarshalText(text []byte) error {
	*p = Penalty{text: string(text)}
	var err error
	switch radius, slater := strings.CutPrefix(p.text, "slater:"); {
	case p.text == "auto":
		p.Rule = PenaltyDoubling
	case p.text == "model":
		p.Rule = PenaltyModel
	case slater:
		p.Rule = PenaltySlater
		p.Radius, err = strconv.ParseFloat(radius, 64)
		if err != nil || !(p.Radius > 0) || math.IsInf(p.Radius, 1) {
			return fmt.Errorf("rho %s: want slater:R with a radius R above 0", p.text)
		}
	default:
		p.Rule = PenaltyGiven
		p.Rho, err = strconv.ParseFloat(p.text, 64)
		if err != nil || !(p.Rho > 0) || math.IsInf(p.Rho, 1) {
			return fmt.Errorf("rho %s: want auto, model, slater:R or a number above 0", p.text)
		}
	}
	return nil
}

// MarshalText returns what UnmarshalText reads.
func (p Penalty) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String returns the text that the penalty was read from, or one that UnmarshalText reads.
func (p Penalty) String() string {
	switch {
	case p.text != "":
		return p.text
	case p.Rule == PenaltyDoubling:
		return "auto"
	case p.Rule == PenaltyModel:
		return "model"
	case p.Rule == PenaltySlater:
		return fmt.Sprintf("slater:%v", p.Radius)
	}
	return fmt.Sprint(p.Rho)
}

// SlaterPenalty returns ρ = 2·range(g)/r, twice the bound of erratum E-09, where
// the range of the cost over the box of possible returns is bounded by its
// Lipschitz constant.
func SlaterPenalty(shape *Shape, g cost.Cost, radius float64) (*Penalty, error) {
	if shape == nil || g == nil {
		return nil, errors.New("cmdp: slater penalty without a shape or without a cost: want both")
	}
	if !(radius > 0) || math.IsInf(radius, 1) {
		return nil, fmt.Errorf("cmdp: slater radius %g: want a positive number", radius)
	}
	lo, up := shape.Totals()
	spread := g.Lipschitz() * diameter(lo, up)
	if a, ok := g.(cost.Affine); ok {
		least, most := geometry.LinearRange(a.Gradient(), lo, up)
		spread = most - least
	}
	return &Penalty{Rule: PenaltySlater, Rho: 2 * spread / radius, Radius: radius}, nil
}

func (p *Penalty) check() error {
	switch p.Rule {
	case PenaltyDoubling:
		if p.Rho == 0 {
			return nil
		}
	case PenaltyGiven, PenaltySlater, PenaltyModel:
	default:
		return fmt.Errorf("cmdp: penalty rule %q with a cost and a target", p.Rule)
	}
	if !(p.Rho > 0) || math.IsInf(p.Rho, 1) {
		return fmt.Errorf("cmdp: rho %g: want a positive number", p.Rho)
	}
	return nil
}

// penaltyState is the present ρ and the window of episodes that the next look takes in.
type penaltyState struct {
	Rho        float64
	Doublings  int
	Infeasible bool      // the run has proved that the target cannot be met
	Episodes   int       // since ρ was first a limit
	Window     int       // of them, since the last look: those in the sums below
	Sum        []float64 // of returns
	First      []float64 // the first of them, which Sum leaves out of every term
	// Excess and Squares are sums of the linearised statistic of the test and of its
	// square, each less the first.
	Excess, Squares, FirstExcess float64
	Estimate                     float64 // sum of the estimates of the least penalised cost
	Gaps                         int     // episodes whose evidence says that the target cannot be met
}

func (p *Penalty) start(g cost.Cost) penaltyState {
	st := penaltyState{Rho: p.Rho}
	if p.Rule == PenaltyDoubling && st.Rho == 0 {
		st.Rho = cmp.Or(g.Lipschitz(), 1) // of a constant cost it is 0
	}
	return st
}

// The doubling rule waits until the dual of the target, in its slow steps, is pressed
// against its ball for the first time since ρ was set. From then on it looks whenever it
// has seen a new fifth of the episodes, and at least firstTest; each look takes in the
// episodes since the last one, so that what the learner did at first is soon forgotten.
// ignorance is the share of the gap between realised and optimistic values that is put
// down to what is not yet learned. With 1 the rule would double only on proof. In
// practice that is much later, because bonuses stay wide long after policies have become
// good.
const (
	firstTest = 64
	ignorance = 0.25
	pressed   = 1 - 1e-9
)

// A penaltyEpisode is what the doubling rule looks at after an episode.
type penaltyEpisode struct {
	cost, target         *dualTerm
	costDual, targetDual []float64 // those that the episode was planned with
	dir                  []float64 // their weighted sum
	value                []float64 // realised returns
	low                  float64   // optimistic value
	evidence             Evidence
	now                  []float64 // the dual of the target
	mean                 []float64 // room for a return vector
}

// observe adds an episode to the window and doubles ρ if the window speaks
// against it.
//
// For a sufficient penalty, twice the exact one, g(W) ≥ g_opt − (ρ/2)·dist(W, W*)
// for every achievable W. So g(W) + (ρ/2)·dist(W, W*) below g_opt refutes ρ. The
// unknown g_opt is replaced by a mean of two estimates of the least penalised cost:
// the run's lower bound, from V_low, and its realised value, from V̂. Conversely,
// with ρ below the threshold both converge to g(W) + ρ·dist(W, W*) and the test
// fires. It has to be short of the estimate by a standard error of the difference;
// returns are noisy, but the estimate has most of their noise, too.
func (p *Penalty) observe(st *penaltyState, ep *penaltyEpisode) {
	if st.Infeasible {
		return // no ρ is large enough, and g would be lost sight of
	}
	if st.Episodes == 0 && floats.Norm(ep.now, 2) < pressed*ep.target.radius {
		return // ρ has not yet been a limit
	}
	st.Episodes++
	if st.Window == 0 {
		st.First = append(st.First[:0], ep.value...)
		st.Sum = append(st.Sum[:0], ep.value...)
		clear(st.Sum)
		st.Excess, st.Squares, st.Estimate, st.Gaps = 0, 0, 0, 0
	}
	if ep.evidence.Gap > 0 {
		st.Gaps++
	}
	st.Window++
	estimate := ep.evidence.Optimum + (1-ignorance)*(floats.Dot(ep.dir, ep.value)-ep.low)
	st.Estimate += estimate
	for i, v := range ep.value {
		st.Sum[i] += v - st.First[i]
	}
	// Cost and distance are linearised in the duals of the plan.
	excess := floats.Dot(ep.costDual, ep.value) + st.Rho/2*floats.Dot(ep.targetDual, ep.value) - estimate
	if st.Window == 1 {
		st.FirstExcess = excess
	}
	st.Excess += excess - st.FirstExcess
	st.Squares += (excess - st.FirstExcess) * (excess - st.FirstExcess)
	if st.Window >= max(firstTest, st.Episodes/5) {
		p.test(st, ep)
		st.Window = 0
	}
}

func (p *Penalty) test(st *penaltyState, ep *penaltyEpisode) {
	if 2*st.Gaps > st.Window {
		st.Infeasible = true
		return
	}
	k := float64(st.Window)
	for i, s := range st.Sum {
		ep.mean[i] = st.First[i] + s/k
	}
	noise := math.Sqrt(max(0, st.Squares/k-(st.Excess/k)*(st.Excess/k)) / k)
	if ep.cost.f.Value(ep.mean)+st.Rho/2*ep.target.f.Value(ep.mean)+noise < st.Estimate/k {
		st.Rho *= 2 // ϕ, whose descent in the unit ball knows nothing of ρ, goes on
		st.Doublings++
		st.Episodes = 0
	}
}
