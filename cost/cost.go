// Package cost is the catalogue of objectives: finite convex functions of the
// vector of returns, with what a learner asks of them.
//
//	box, err := geometry.NewBox([]float64{0, 0}, []float64{10, 4}) // of possible returns
//	effort, err := cost.NewLinear([]float64{1, 0}, box)
//	fair, err := cost.NewNorm(2, []float64{5, 2}, box)
//	both, err := cost.NewSum([]float64{1, 0.5}, []cost.Cost{effort, fair}, box)
//
// The New functions make costs and combine them, [NewDistance] makes one of a target set, and
// [New] one of a user's function that has values and subgradients. A Cost is then part of a
// cmdp.Task.
//
// A learner keeps a dual vector θ in the ball of radius [Cost].Lipschitz and
// moves it by the subgradient of the conjugate
//
//	g*(θ) = max_{x∈X} θ·x − g(x),
//
// because g(x) = max over that ball of θ·x − g*(θ). Conjugate and Lipschitz
// constant both depend on the domain X. Here X is the bounded box of possible
// returns, given to the constructor: on all of ℝᵈ the conjugate of a linear cost
// is infinite everywhere but at one point (erratum E-22), and a ball smaller than
// the Lipschitz constant silently optimises another function (erratum E-10). No
// range is asked of a cost (erratum E-27).
//
// Most costs answer in closed form, to machine precision and without allocation,
// and take among tied maximisers the one nearest to a given point. Combinations and users'
// functions that have no closed form are answered by a level method with a certified gap.
// The package costtest holds the laws that every cost must obey.
//
// All costs are safe for concurrent use.
package cost

import (
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// A Cost is a finite convex function, Lipschitz on a compact domain X. Value and
// Subgradient answer everywhere; Lipschitz holds for points of X, and the
// conjugate is the one over X, for duals of norm at most Lipschitz.
type Cost interface {
	// Dim returns the number d of coordinates of a vector of returns.
	Dim() int
	// Lipschitz returns a Lipschitz constant on the domain in the Euclidean norm.
	// It is the radius of the ball in which a dual vector must be free to move
	// (erratum E-10).
	Lipschitz() float64
	oracle.FirstOrder
	oracle.Conjugate
}

// Affine is a cost that is known to be affine, g(x) = gradient·x + offset. A
// learner keeps the dual vector of such a cost constant at the gradient
// (erratum E-10).
type Affine interface {
	Cost
	// Gradient returns a copy of the constant gradient.
	Gradient() []float64
	// Offset returns g(0).
	Offset() float64
}

// ConjugateValue returns g*(dual) = max over the domain of dual·x − g(x), as far
// as the cost's ConjugateSubgradient attains it. For a [Distance] and a dual in
// the unit ball that is the support function of the set (erratum E-29). It
// allocates the maximiser, and panics when dual has another length than c.Dim().
func ConjugateValue(c Cost, dual []float64) float64 {
	if c == nil {
		panic("cost: no cost")
	}
	checkDim(c.Dim(), len(dual))
	point := make([]float64, len(dual))
	c.ConjugateSubgradient(point, dual, point)
	return floats.Dot(dual, point) - c.Value(point)
}
