package oracle

import (
	"math"

	"cmdpsolve/internal/scratch"

	"gonum.org/v1/gonum/floats"
)

const noSet = "oracle: no set"

// Support returns the support value h(dir) = max ⟨dir, x⟩ over the set, attained
// by its linear maximiser. It panics if dir has not length Dim, or if the set is nil. It allocates only
// when its pool of work vectors is empty, and may be used concurrently.
func Support(set LinearMaximizer, dir []float64) float64 {
	if set == nil {
		panic(noSet)
	}
	point := scratch.Get(set.Dim())
	defer scratch.Put(point)
	set.MaximizeLinear(*point, dir)
	return floats.Dot(dir, *point)
}

// Distance returns the Euclidean distance of x from the set, which is ‖x − Π(x)‖.
// It panics if x has not length Dim, or if the set is nil. It allocates only when its pool of work
// vectors is empty, and may be used concurrently.
func Distance(set Projector, x []float64) float64 {
	if set == nil {
		panic(noSet)
	}
	point := scratch.Get(set.Dim())
	defer scratch.Put(point)
	set.Project(*point, x)
	return floats.Distance(x, *point, 2)
}

// Extremes sets lower and upper to the sides of the smallest box around the set: its extreme points along the axes.
func Extremes(set LinearMaximizer, lower, upper []float64) {
	if set == nil {
		panic(noSet)
	}
	dir, point := make([]float64, set.Dim()), make([]float64, set.Dim())
	for i := range dir {
		dir[i] = 1
		set.MaximizeLinear(point, dir)
		upper[i] = point[i]
		dir[i] = -1
		set.MaximizeLinear(point, dir)
		lower[i] = math.Min(point[i], upper[i])
		dir[i] = 0
	}
}
