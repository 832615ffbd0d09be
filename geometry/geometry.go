// Package geometry is the catalogue of target sets: closed convex sets with
// exact projection and exact linear maximisation, one primitive set per file,
// and combinators that build sets from sets.
//
// A [Set] can be projected on and may be unbounded; a [Compact] set can also be
// asked for its extreme point in a direction, which is the question a learner
// asks. [NewBall], [NewBox] and the like make sets, [NewIntersection], [NewProduct] and the
// like make sets of sets, and [Restrict] cuts a set with the box of possible returns. Every
// target is used through Restrict, because targets such as half-spaces are unbounded
// (erratum E-05). Package geometrytest tries the laws of sets on a set of one's own.
//
// Constructors check everything: dimensions, finiteness, emptiness and, where it
// matters, boundedness. Their errors begin with "geometry:"; errors about empty
// and unbounded sets wrap [ErrEmpty] and [ErrUnbounded] and carry a certificate.
// Sets are immutable: constructors copy what they are given, and all methods
// may be called concurrently. Slices of a wrong length are a programmer's
// mistake and panic. Methods of closed-form sets do not allocate; the others
// allocate only when their pool of work space is empty.
package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/oracle"
)

// A Set is a non-empty closed convex set that can be projected on. It may be
// unbounded. Every Set is an oracle.Projector and the reverse.
type Set interface {
	// Dim returns the dimension d of the space.
	Dim() int
	// Project sets dst to the point of the set nearest to x in the Euclidean norm.
	// dst may be x.
	Project(dst, x []float64)
}

// A Compact is a bounded Set that can also be asked for its extreme points. Every
// Compact is an oracle.LinearMaximizer. [Restrict] makes one of any Set and a box,
// [CompactOf] of a Set that is bounded by itself, and [Box.Bounded] of a Box without
// infinite sides; a Box as such is none, because its sides may be infinite.
type Compact interface {
	Set
	// MaximizeLinear sets dst to a point x of the set with the largest ⟨dir, x⟩.
	// A zero direction is allowed: every point of the set is then an answer.
	// dst and dir must not overlap.
	MaximizeLinear(dst, dir []float64)
}

// A Bounder knows a box around itself. All sets of this package do.
type Bounder interface {
	// Bounds sets lower and upper to the sides of a box that contains the set,
	// the smallest one if its documentation does not say otherwise. Sides may be
	// infinite.
	Bounds(lower, upper []float64)
}

// An Interior knows a point well inside itself.
type Interior interface {
	// InteriorPoint sets dst to a point of the set and returns the radius of a ball
	// around it that lies in the set: 0 if the set has no interior or none is
	// known.
	InteriorPoint(dst []float64) (radius float64)
}

// ErrEmpty is wrapped by errors about sets without a point; it is
// oracle.ErrEmpty.
var ErrEmpty = oracle.ErrEmpty

// ErrUnbounded is wrapped by errors about unbounded sets where a bounded one is
// needed; it is oracle.ErrUnbounded.
var ErrUnbounded = oracle.ErrUnbounded

const noSet = "geometry: no set"

// Contains reports whether x is within the Euclidean distance tol of the set. It
// panics if x has not length Dim, or if the set is nil.
func Contains(s Set, x []float64, tol float64) bool {
	if s == nil {
		panic(noSet)
	}
	return oracle.Distance(s, x) <= tol
}

// maxMagnitude is the largest magnitude of a coordinate that constructors accept:
// squares of such numbers, summed, stay finite.
const maxMagnitude = 1e100

// minLength is the smallest norm of a vector that has to be divided by.
const minLength = 1e-100

const badLength = "geometry: slice length differs from the dimension of the set"

// check panics unless every slice has length n.
func check(n int, slices ...[]float64) {
	for _, s := range slices {
		if len(s) != n {
			panic(badLength)
		}
	}
}

// number returns an error unless v is finite and not too large.
func number(what string, v float64) error {
	if math.IsNaN(v) || math.Abs(v) > maxMagnitude {
		return fmt.Errorf("geometry: %s is %g: want a number of magnitude at most %g", what, v, maxMagnitude)
	}
	return nil
}

// vector returns an error unless x is non-empty and its entries are finite.
func vector(what string, x []float64) error {
	if len(x) == 0 {
		return fmt.Errorf("geometry: %s is empty: want at least one coordinate", what)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.Abs(v) > maxMagnitude {
			return number(fmt.Sprintf("%s[%d]", what, i), v)
		}
	}
	return nil
}

// present returns an error if one of the sets is missing.
func present[S Set](what string, sets ...S) error {
	for k, s := range sets {
		if any(s) == nil {
			return fmt.Errorf("geometry: %s: set %d is nil: want a set", what, k)
		}
	}
	return nil
}

// maxDim is the largest dimension that constructors accept which are given nothing else.
const maxDim = 1 << 24

// isZero reports whether all entries of x are 0.
func isZero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// addShort adds c·x to dst. It is inlined, which for the two or three entries of closed forms
// takes less time than a call of floats.AddScaled.
func addShort(dst []float64, c float64, x []float64) {
	for i, v := range x {
		dst[i] += c * v
	}
}

// clip returns the point of [lower, upper] nearest to v.
func clip(v, lower, upper float64) float64 {
	return math.Min(math.Max(v, lower), upper)
}
