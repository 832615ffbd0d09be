package oracle_test

import (
	"fmt"

	"cmdpsolve/oracle"
)

// disc is the unit disc, known by its linear maximiser alone.
type disc struct{}

func (disc) Dim() int { return 2 }

func (disc) MaximizeLinear(dst, dir []float64) {
	length := oracle.Distance(origin{}, dir)
	for i, v := range dir {
		if dst[i] = 0; length > 0 {
			dst[i] = v / length
		}
	}
}

// origin is the set of one point.
type origin struct{}

func (origin) Dim() int                 { return 2 }
func (origin) Project(dst, x []float64) { clear(dst) }

// A set that only gives its extreme points can be asked for its support and, through
// Wolfe's method, for its nearest point.
func Example() {
	set := disc{}
	fmt.Printf("support %.4f\n", oracle.Support(set, []float64{3, 4}))
	nearest := oracle.NewMinNorm(set)
	p := make([]float64, 2)
	nearest.Project(p, []float64{6, 8})
	fmt.Printf("nearest point %.4f at distance %.4f\n", p, oracle.Distance(nearest, []float64{6, 8}))
	// Output:
	// support 5.0000
	// nearest point [0.6000 0.8000] at distance 9.0000
}
