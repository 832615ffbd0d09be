package oracle

import (
	"math"
	"sync"
)

// Support returns the support value h(dir) = max ⟨dir, x⟩ over the set, attained
// by its linear maximiser. It panics if dir has not length Dim. It allocates only
// when its pool of work vectors is empty, and may be used concurrently.
func Support(set LinearMaximizer, dir []float64) float64 {
	point, done := scratch(set.Dim())
	defer done()
	set.MaximizeLinear(*point, dir)
	return dot(dir, *point)
}

// Distance returns the Euclidean distance of x from the set, which is ‖x − Π(x)‖.
// It panics if x has not length Dim. It allocates only when its pool of work
// vectors is empty, and may be used concurrently.
func Distance(set Projector, x []float64) float64 {
	point, done := scratch(set.Dim())
	defer done()
	set.Project(*point, x)
	return distance(x, *point)
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

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func norm(x []float64) float64 {
	var scale, sum float64
	for _, v := range x {
		scale = math.Max(scale, math.Abs(v))
	}
	if scale == 0 || math.IsInf(scale, 0) {
		return scale
	}
	for _, v := range x {
		sum += (v / scale) * (v / scale)
	}
	return scale * math.Sqrt(sum)
}

func distance(x, y []float64) float64 {
	var scale, sum float64
	for i, v := range x {
		scale = math.Max(scale, math.Abs(v-y[i]))
	}
	if scale == 0 || math.IsInf(scale, 0) {
		return scale
	}
	for i, v := range x {
		sum += ((v - y[i]) / scale) * ((v - y[i]) / scale)
	}
	return scale * math.Sqrt(sum)
}
