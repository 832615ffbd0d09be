package exact

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// VerifyBound checks a lower bound of the cost without the solver and returns the bound
// that it could confirm: tangents are compared with the cost, ψ with the support
// function of the target, and V* is computed by a plain value iteration. That bound may
// differ from that of p by rounding; the value of a total may be below the one that p states, as long as policies do
// not come to less than that. It is an error that wraps [ErrNotProved] if a
// number of p is wrong.
func VerifyBound(ctx context.Context, m *cmdp.Model, task cmdp.Task, p *Proof) (float64, error) {
	if err := checkTask(m, task); err != nil {
		return 0, err
	}
	return provedByEpochsOrRows(ctx, m, func(m *cmdp.Model) (float64, error) { return verifyBound(ctx, m, task, p) })
}

func verifyBound(ctx context.Context, m *cmdp.Model, task cmdp.Task, p *Proof) (float64, error) {
	weight, err := checkTangents(m.Dim(), task.Cost, p)
	if err != nil {
		return 0, err
	}
	if err := p.checkPrices(); err != nil {
		return 0, err
	}
	if floats.Norm(p.Psi, 2) > 0 && task.Target == nil {
		return 0, fmt.Errorf("exact: a price without a target: %w", ErrNotProved)
	}
	left, err := leftOut(ctx, m, task, p.Without)
	if err != nil {
		return 0, err
	}
	theta, conjugate := p.direction()
	c := relevanceOf(m.Dim(), task).leavingOut(left)
	value, margin, err := leastValue(ctx, m, c, theta)
	if err != nil {
		return 0, err
	}
	held := heldValue(p.Value, value, margin, p.Margin, largestStep(m, theta))
	if !held {
		held, err = withinReach(ctx, m, c, theta, p.Value, value, p.Margin)
		if err != nil {
			return 0, err
		}
	}
	least := margin + p.conjugateError()
	support, slack := p.Support, 0.0
	if floats.Norm(p.Psi, 2) > 0 {
		h := oracle.Support(task.Target, p.Psi)
		slack = supportError(task.Target, p.Psi)
		// The rest of Margin is for the support, whose own error is next to nothing where all offsets are 0.
		if !(h <= support+math.Max(slack, p.Margin-least)+1e-12*math.Abs(h)) {
			return 0, fmt.Errorf("exact: the target reaches %g in direction ψ, not only %g: %w", h, support,
				ErrNotProved)
		}
		support = max(support, h)
	}
	rounding := least + slack
	claimed := p.Value - conjugate - p.Support - p.Margin
	wrong := ""
	switch {
	case !held:
		wrong = fmt.Sprintf("value %g: want %g", p.Value, value)
	case !(p.Margin >= leastMargin(m, least, 8)):
		wrong = fmt.Sprintf("margin %g: want a bound of the rounding error, which may be %g", p.Margin, least)
	case !(math.Abs(p.Bound-claimed) <= rounding):
		wrong = fmt.Sprintf("bound %g: its parts come to %g", p.Bound, claimed)
	default:
		return (value - conjugate - support - max(p.Margin, rounding)) / weight, nil
	}
	return 0, fmt.Errorf("exact: proof with %s: %w", wrong, ErrNotProved)
}

// checkTangents returns the sum of the weights, which is 1 up to rounding, or an error if
// a proof does not consist of tangents of the cost.
func checkTangents(dim int, g cost.Cost, p *Proof) (sum float64, err error) {
	n := 0
	if p != nil {
		n = len(p.Weights)
	}
	if g == nil || n == 0 || len(p.Psi) != dim || len(p.Points) != n || len(p.Subgradients) != n || len(p.Values) != n {
		return 0, fmt.Errorf("exact: want a cost, and a proof for it: %w", ErrNotProved)
	}
	slope := make([]float64, dim)
	for i, w := range p.Weights {
		if !(w >= 0) {
			return 0, fmt.Errorf("exact: weight %g: want at least 0: %w", w, ErrNotProved)
		}
		sum += w
		if len(p.Points[i]) != dim || slices.ContainsFunc(p.Points[i],
			func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return 0, fmt.Errorf("exact: point %d: want %d finite numbers: %w", i, dim, ErrNotProved)
		}
		g.Subgradient(slope, p.Points[i])
		if !slices.Equal(slope, p.Subgradients[i]) || g.Value(p.Points[i]) != p.Values[i] {
			return 0, fmt.Errorf("exact: point %d is not a tangent of the cost: %w", i, ErrNotProved)
		}
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		return 0, fmt.Errorf("exact: weights sum to %g: want 1: %w", sum, ErrNotProved)
	}
	return sum, nil
}

// checkPrices returns an error if Psi and Support are not the sums over the rows that
// they are said to be.
func (p *Proof) checkPrices() error {
	if len(p.Rows) != len(p.Prices) {
		return fmt.Errorf("exact: %d prices of %d rows: %w", len(p.Prices), len(p.Rows), ErrNotProved)
	}
	// What is left of Psi and Support, the last of them, and how large its terms are.
	left, size := append(slices.Clone(p.Psi), p.Support), make([]float64, len(p.Psi)+1)
	for k, y := range p.Prices {
		r := p.Rows[k]
		if err := r.Check(len(p.Psi)); err != nil || !(y >= 0) || math.IsInf(y, 1) {
			return fmt.Errorf("exact: row %d: want finite numbers and a price of at least 0: %w", k, ErrNotProved)
		}
		for i, x := range append(slices.Clone(r.Normal), r.Offset) {
			left[i] -= y * x
			size[i] += math.Abs(y * x)
		}
	}
	for i, x := range left {
		if !(math.Abs(x) <= float64(2*len(p.Rows)+4)*roundoff*size[i]) {
			return fmt.Errorf("exact: ψ and its support are not the sums of the rows: %w", ErrNotProved)
		}
	}
	return nil
}

// conjugateError bounds the rounding error of Σ μ_i (s_i·x_i − g(x_i)).
func (p *Proof) conjugateError() float64 {
	sum := 0.0
	for i, w := range p.Weights {
		for j, x := range p.Points[i] {
			sum += w * math.Abs(x*p.Subgradients[i][j])
		}
		sum += w * math.Abs(p.Values[i])
	}
	return float64(len(p.Weights)+len(p.Psi)+4) * roundoff * sum
}

// VerifyBoundRational proves a lower bound of an affine cost c·V + e in rational arithmetic and returns it: with ψ =
// Σ Prices·Normal over the half-spaces of p, which contain the target, every policy that meets it costs at least
// V*(c+ψ) + e − Σ Prices·Offset, see [RationalValue]. Numbers of the model, the cost and the target are taken as the
// float64 values that they are. It is an error if the bound that p states, which allows for rounding, is higher. With
// an infinite horizon RationalValue is itself a bound; what it loses is allowed for, and what half-spaces are moved
// out by. That the target lies in the half-spaces is checked as [VerifyRational] does. An error that wraps
// [ErrNotProved] says what is wrong with p.
func VerifyBoundRational(ctx context.Context, m *cmdp.Model, task cmdp.Task, p *Proof) (*big.Rat, error) {
	if err := checkTask(m, task); err != nil {
		return nil, err
	}
	g, ok := task.Cost.(cost.Affine)
	if !ok || p == nil || len(p.Rows) != len(p.Prices) {
		return nil, fmt.Errorf("exact: want an affine cost, and a proof for it: %w", ErrNotProved)
	}
	theta, rest := make([]*big.Rat, m.Dim()), rational(g.Offset())
	for i, c := range g.Gradient() {
		theta[i] = rational(c)
	}
	moved, err := addRows(task, p.Rows, p.Prices, theta, rest.Neg(rest))
	if err != nil {
		return nil, err
	}
	left, err := leftOut(ctx, m, task, p.Without)
	if err != nil {
		return nil, err
	}
	value, loss, err := leastRationalValue(ctx, m, relevanceOf(m.Dim(), task).leavingOut(left), theta)
	if err != nil {
		return nil, err
	}
	value.Sub(value, rest)
	claimed := p.Bound - 2*loss - moved
	if math.IsNaN(claimed) || math.IsInf(claimed, 0) || value.Cmp(rational(claimed)) < 0 {
		return nil, fmt.Errorf("exact: proof with bound %v: only %s is proved: %w", p.Bound, value.FloatString(20),
			ErrNotProved)
	}
	return value, nil
}

// addRows adds Σ weights·Normal to theta and Σ weights·Offset to offset, for half-spaces
// that contain the target, and returns how much is added to offset for rounding alone.
func addRows(task cmdp.Task, rows []cmdp.Constraint, weights []float64, theta []*big.Rat,
	offset *big.Rat) (moved float64, err error) {
	for k, r := range rows {
		w := weights[k]
		if err := r.Check(len(theta)); err != nil || !(w >= 0) || math.IsInf(w, 1) {
			return 0, fmt.Errorf("exact: row %d: want finite numbers and a weight of at least 0: %w", k, ErrNotProved)
		}
		out, err := covering(task.Target, r)
		if err != nil {
			return 0, fmt.Errorf("exact: row %d: %w: %w", k, err, ErrNotProved)
		}
		for i, n := range r.Normal {
			theta[i].Add(theta[i], new(big.Rat).Mul(rational(w), rational(n)))
		}
		offset.Add(offset, new(big.Rat).Mul(rational(w), rational(out)))
		if out > r.Offset {
			moved += w * math.Min(out-r.Offset, supportError(task.Target, r.Normal))
		}
	}
	return moved, nil
}
