package cmdp

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp/internal/saved"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TermsDual is online gradient descent on the duals of a weighted sum of convex
// functions of the mean return, Σ_j ρ_j f_j(W): each has its own dual vector θ_j
// in the ball whose radius is its Lipschitz constant, moved after each episode by
//
//	θ_j ← Π_ball{θ_j + η_k (V̂ − y_j)},  y_j ∈ ∂f_j*(θ_j),  η_k = L_j/(G_j √k),
//
// and the direction to plan in is Σ_j ρ_j θ_j. With the distance to the target
// alone it is the projection-free update (ODU) of Yu, Tian, Zhang, Sra (2021);
// with a cost of weight 1 and the distance of weight ρ it is their double dual
// update (DODU), each dual ball with the radius of its own function (errata E-10,
// E-23). The dual of an affine cost is constant (E-22). Ties of the conjugate go
// to the point nearest to V̂.
type TermsDual struct {
	saved.State
	lower, upper []float64 // the box X of possible returns
	cost         *dualTerm // nil for the projection-free update
	target       *dualTerm // nil if there is no target
	penalty      *Penalty
	state        termsState
	dir          []float64
	others       []float64 // φ before the last Observe
	before       []float64 // ϕ before the last Observe
	mean         []float64 // room for the penalty rule
}

// dualTerm is one function f with what its update needs.
type dualTerm struct {
	f        cost.Cost
	radius   float64 // L
	diameter float64 // G
	affine   cost.Affine
	point    []float64 // y
}

type termsState struct {
	Episodes     int
	Cost, Target []float64 // φ and ϕ
	Penalty      penaltyState
}

// NewTermsDual returns the update for a task on an environment of the given
// shape: the projection-free one if the task has no cost, the double dual one if
// it has. penalty says how ρ is chosen, nil by doubling; it matters only if there are both a
// cost and a target.
func NewTermsDual(shape *Shape, task Task, penalty *Penalty) (*TermsDual, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if err := task.Check(shape.dim); err != nil {
		return nil, err
	}
	d := shape.dim
	u := &TermsDual{dir: make([]float64, d), others: make([]float64, d), before: make([]float64, d),
		mean: make([]float64, d)}
	u.lower, u.upper = shape.Totals()
	if task.Cost == nil && task.Target == nil {
		return nil, fmt.Errorf("cmdp: dual update without a cost and without a target")
	}
	if task.Cost != nil {
		u.cost = newDualTerm(task.Cost, diameter(u.lower, u.upper))
		u.state.Cost = make([]float64, d)
		if u.cost.affine != nil {
			copy(u.state.Cost, u.cost.affine.Gradient())
		}
	}
	if task.Target != nil {
		f, err := cost.NewDistance(task.Target)
		if err != nil {
			return nil, err
		}
		u.target = newDualTerm(f, u.targetDiameter(task.Target))
		u.state.Target = make([]float64, d)
	}
	switch {
	case u.cost == nil || u.target == nil:
		penalty = &Penalty{Rule: PenaltyNone, Rho: 1}
	case penalty == nil:
		penalty = &Penalty{Rule: PenaltyDoubling}
	default:
		if err := penalty.check(); err != nil {
			return nil, err
		}
	}
	u.penalty = penalty
	u.state.Penalty = penalty.start(task.Cost)
	u.setDirection()
	u.Keep(&u.state.Episodes, &u.state.Cost, &u.state.Target, &u.state.Penalty)
	u.Then(func() error { u.setDirection(); return nil })
	return u, nil
}

func newDualTerm(f cost.Cost, diam float64) *dualTerm {
	t := &dualTerm{f: f, radius: f.Lipschitz(), diameter: diam, point: make([]float64, f.Dim())}
	t.affine, _ = f.(cost.Affine)
	return t
}

// targetDiameter returns G of the distance term: a target that is a box binds
// only in the coordinates that it bounds.
func (u *TermsDual) targetDiameter(target geometry.Compact) float64 {
	if box, ok := target.(*geometry.BoundedBox); ok {
		return diameterTo(u.lower, u.upper, box.Lower(), box.Upper())
	}
	return diameter(u.lower, u.upper)
}

func (u *TermsDual) setDirection() {
	clear(u.dir)
	if u.cost != nil {
		floats.Add(u.dir, u.state.Cost)
	}
	if u.target != nil {
		floats.AddScaled(u.dir, u.state.Penalty.Rho, u.state.Target)
	}
}

// Direction returns θ = φ + ρϕ.
func (u *TermsDual) Direction() []float64 { return u.dir }

// Rho returns the weight ρ of the distance to the target.
func (u *TermsDual) Rho() float64 { return u.state.Penalty.Rho }

// Doublings returns how often the doubling rule has doubled ρ.
func (u *TermsDual) Doublings() int { return u.state.Penalty.Doublings }

// Observe moves every dual by one gradient step.
func (u *TermsDual) Observe(value []float64, low float64) Evidence {
	st := &u.state
	st.Episodes++
	step := 1 / math.Sqrt(float64(st.Episodes))
	ev := Evidence{Optimum: math.Inf(-1), Gap: math.Inf(-1)}
	conjugate := 0.0
	copy(u.others, u.dir)
	if u.target != nil {
		floats.AddScaled(u.others, -st.Penalty.Rho, st.Target)
		support := u.target.conjugate(st.Target, value)
		conjugate = st.Penalty.Rho * support
		if size := st.Penalty.Rho * floats.Norm(st.Target, 2); size > 0 {
			_, most := geometry.LinearRange(u.others, u.lower, u.upper)
			ev.Gap = (low - most - conjugate) / size
		}
		copy(u.before, st.Target)
		ev.Direction = u.before
		u.target.move(st.Target, value, step)
	}
	if u.cost != nil {
		ev.Optimum = low - conjugate - u.cost.conjugate(st.Cost, value)
		u.cost.move(st.Cost, value, step)
	}
	if u.penalty.Rule == PenaltyDoubling {
		u.penalty.observe(&st.Penalty, &penaltyEpisode{cost: u.cost, target: u.target, costDual: u.others,
			targetDual: u.before,
			dir:        u.dir, value: value, low: low, evidence: ev, now: st.Target, mean: u.mean})
	}
	u.setDirection()
	return ev
}

// conjugate returns f*(dual) and leaves in t.point where it is attained.
func (t *dualTerm) conjugate(dual, value []float64) float64 {
	if t.affine != nil {
		return -t.affine.Offset()
	}
	t.f.ConjugateSubgradient(t.point, dual, value)
	return floats.Dot(dual, t.point) - t.f.Value(t.point)
}

// move takes the gradient step from the point that conjugate found, and projects
// on the ball.
func (t *dualTerm) move(dual, value []float64, step float64) {
	if t.affine != nil || t.diameter == 0 {
		return
	}
	eta := step * t.radius / t.diameter
	for i := range dual {
		dual[i] += eta * (value[i] - t.point[i])
	}
	if n := floats.Norm(dual, 2); n > t.radius {
		floats.Scale(t.radius/n, dual)
	}
}
