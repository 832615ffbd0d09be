// Package scratch lends vectors for the length of a call, so that methods which need one neither
// allocate nor get in each other's way.
package scratch

import "sync"

var vectors = sync.Pool{New: func() any { return new([]float64) }}

// Get lends a vector of length n, whatever it holds. It allocates only where none is free that is as long.
func Get(n int) *[]float64 {
	v := vectors.Get().(*[]float64)
	if cap(*v) < n {
		*v = make([]float64, n)
	}
	*v = (*v)[:n]
	return v
}

// Put takes back a vector that Get lent.
func Put(v *[]float64) { vectors.Put(v) }
