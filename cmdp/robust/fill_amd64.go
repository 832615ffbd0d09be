package robust

import "golang.org/x/sys/cpu"

func init() {
	prefetch = prefetchValues
	switch {
	case cpu.X86.HasAVX512F:
		pivots, sums = pivotsAVX512, sumsAVX
	case cpu.X86.HasAVX:
		pivots, sums = pivotsAVX, sumsAVX
	}
}

//go:noescape
func pivotsAVX(t, values *float64, stride, dirs int, rooms *float64, n int, free float64)

//go:noescape
func pivotsAVX512(t, values *float64, stride, dirs int, rooms *float64, n int, free float64)

//go:noescape
func sumsAVX(t, values *float64, stride, dirs int, lower, rooms *float64, n int, free float64)

//go:noescape
func prefetchValues(v *float64, n int, next *int32, successors int)
