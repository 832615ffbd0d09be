// Package oracle states the small questions that convex objects answer, and answers one
// question through another.
//
// A learner needs one question of a convex object, "which point is extreme for
// you in this direction?". A target set answers it by linear maximisation, a
// cost by the subgradient of its conjugate. Everything in the packages geometry,
// cost and cmdp is arranged around the interfaces below.
//
// [Support] and [Distance] ask a set for a number. An object that answers one question can be
// asked another through an adapter: [NewMinNorm] projects on a set that is known by its
// linear maximiser, [NewProximalMaximizer] maximises over a set that can be projected on,
// and [NewConjugate] gives the conjugate of a function known by values and subgradients.
// [NewActiveSet] projects on a polyhedron, and [NewIntersectionProjector] on the common points of sets.
//
// All methods of all interfaces follow the same rules. A destination comes
// first and has length Dim; it is overwritten whatever it held before, NaN
// included. Inputs are not changed. Slices of another length are a programmer's
// mistake and panic; so do numbers that are not finite in a projection of an [ActiveSet].
// Methods never fail: what can be wrong with a set or a cost is found by its constructor.
// Implementations are safe for concurrent use. Package oracletest tries these rules.
package oracle

// A LinearMaximizer is a non-empty compact convex set that can be asked for its
// extreme point in a direction.
type LinearMaximizer interface {
	// Dim returns the dimension d of the space.
	Dim() int
	// MaximizeLinear sets dst to a point x of the set with the largest ⟨dir, x⟩.
	// A zero direction is allowed: every point of the set is then an answer.
	// dst and dir must not overlap.
	MaximizeLinear(dst, dir []float64)
}

// A FaceProjector is a LinearMaximizer that resolves ties: among all maximisers
// it finds the one nearest to a given point. Dual updates use it where they can,
// because an arbitrary choice on a face makes the multipliers of constraints
// that are not binding jump about (erratum E-22).
type FaceProjector interface {
	LinearMaximizer
	// ProjectFace sets dst to the point nearest to x among the points of the set
	// with the largest ⟨dir, ·⟩. With a zero direction that is the projection of
	// x. dst may be x; it must not overlap dir.
	ProjectFace(dst, dir, x []float64)
}

// A Projector is a non-empty closed convex set, bounded or not, that can be
// asked for its nearest point.
type Projector interface {
	// Dim returns the dimension d of the space.
	Dim() int
	// Project sets dst to the point of the set nearest to x in the Euclidean norm.
	// dst may be x.
	Project(dst, x []float64)
}

// FirstOrder is a finite convex function given by values and subgradients. It
// is all that a custom cost has to offer.
type FirstOrder interface {
	// Value returns f(x).
	Value(x []float64) float64
	// Subgradient sets dst to a subgradient of f at x. dst may be x.
	Subgradient(dst, x []float64)
}

// Conjugate is a convex function f on a compact domain X that answers for its
// Fenchel conjugate f*(θ) = max_{y∈X} ⟨θ, y⟩ − f(y).
type Conjugate interface {
	// ConjugateSubgradient sets dst to a point y of X that attains f*(dual), which
	// is a subgradient of f* at dual. Where several points attain it,
	// implementations in closed form take the one nearest to near, so that a
	// multiplier that sits on a kink of f* can rest there (erratum E-22); others
	// may take any. dst may be near; it must not overlap dual.
	ConjugateSubgradient(dst, dual, near []float64)
}
