package oracle

import (
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
