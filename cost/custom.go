package cost

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// New makes a cost of a convex function that offers Value and Subgradient alone.
// A level method answers for its conjugate over the domain.
//
// The Lipschitz constant is that of the function on the domain in the Euclidean
// norm. With 0, New finds an upper bound by itself: a convex function that rises
// by no more than m over a distance r around the domain has no slope above m/r
// there. That needs the function to be finite beyond the domain and a dimension of
// at most 12, and is often loose by a factor of the root of the dimension or more;
// a learner is correct with any upper bound, but slower with a loose one (erratum
// E-10).
//
// New looks at a few points and rejects functions that are not finite, not convex
// or steeper than the given constant there. Package costtest looks closer. The
// cost is safe for concurrent use if f is.
func New(f oracle.FirstOrder, domain *geometry.Box, lipschitz float64) (Cost, error) {
	x, err := newDomain("custom", domain)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("cost: custom: no function")
	}
	if !finite(lipschitz) || lipschitz < 0 {
		return nil, fmt.Errorf("cost: custom: Lipschitz constant %g: want positive and finite, or 0 to have it bounded",
			lipschitz)
	}
	steepest, err := probe(f, x)
	if err != nil {
		return nil, err
	}
	if lipschitz == 0 {
		lipschitz, err = boundLipschitz(f, x)
		if err != nil {
			return nil, err
		}
	}
	if steepest > lipschitz*(1+1e-9) {
		return nil, fmt.Errorf("cost: custom: a subgradient inside the domain has norm %g: want at most the "+
			"Lipschitz constant %g", steepest, lipschitz)
	}
	x, err = x.withLipschitz("custom", lipschitz)
	if err != nil {
		return nil, err
	}
	return newGeneric("custom", f, x)
}

// probe evaluates f at points inside the domain and returns the largest norm of a
// subgradient. It fails if f is not finite, or if the points show that it is not
// convex.
func probe(f oracle.FirstOrder, x domain) (steepest float64, err error) {
	const points = 16
	rng := rand.New(rand.NewPCG(1, 2))
	at, slope, value := make([][]float64, points), make([][]float64, points), make([]float64, points)
	for k := range at {
		at[k], slope[k] = make([]float64, x.Dim()), make([]float64, x.Dim())
		for i := range at[k] {
			at[k][i] = x.lower[i] + (x.upper[i]-x.lower[i])*(0.02+0.96*rng.Float64())
		}
		value[k] = f.Value(at[k])
		f.Subgradient(slope[k], at[k])
		size := floats.Norm(slope[k], 2)
		if !finite(value[k]) || !finite(size) {
			return 0, fmt.Errorf("cost: custom: value %g and subgradient %v at %v: want finite", value[k], slope[k],
				at[k])
		}
		steepest = max(steepest, size)
	}
	for k, p := range at {
		for j, q := range at {
			line := value[k] + floats.Dot(slope[k], q) - floats.Dot(slope[k], p)
			size := math.Abs(value[k]) + math.Abs(floats.Dot(slope[k], q)) + math.Abs(floats.Dot(slope[k], p))
			if line > value[j]+1e-7*size {
				return 0, fmt.Errorf("cost: custom: not convex, or a wrong subgradient: the value %g at %v is below "+
					"the line %g from %v with slope %v",
					value[j], q, line, p, slope[k])
			}
		}
	}
	return steepest, nil
}
