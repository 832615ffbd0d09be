package oracle

import (
	"sync"

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
	point, done := scratch(set.Dim())
	defer done()
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
	point, done := scratch(set.Dim())
	defer done()
	set.Project(*point, x)
	return floats.Distance(x, *point, 2)
}

// vectors are the work vectors of the free functions, which have no place of
// their own to keep any.
var vectors = sync.Pool{New: func() any { return new([]float64) }}

// scratch lends a vector of length n; the second result gives it back.
func scratch(n int) (*[]float64, func()) {
	v := vectors.Get().(*[]float64)
	if cap(*v) < n {
		*v = make([]float64, n)
	}
	*v = (*v)[:n]
	return v, func() { vectors.Put(v) }
}
