package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestForget: of too many planes those that were idle for long go, and what comes after them leaves the others as they
// are, in their order.
func TestForget(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	const d = 2
	w := newBundle(&BundleConjugate{lower: make([]float64, d), upper: make([]float64, d)})
	limit, count := 40+12*d, 0.0
	add := func(n int) {
		for range n {
			count++
			w.point[0], w.slope[1] = count, -count
			w.keep(plane{value: count, length: count}, w.point)
		}
	}
	for range 50 {
		add(limit - 1 - len(w.planes))
		if w.forget(); len(w.planes) != limit-1 {
			t.Fatalf("%d planes are left of %d", len(w.planes), limit-1)
		}
		add(1)
		var want []string
		for k := range w.planes {
			p := &w.planes[k]
			if p.idle = rng.IntN(limit); p.idle <= limit/4 {
				want = append(want, fmt.Sprint(*p))
			}
		}
		w.forget()
		add((limit - len(w.planes)) / 2)
		for k, p := range w.planes[:len(want)] {
			if fmt.Sprint(p) != want[k] {
				t.Fatalf("plane %d is %v, want %v", k, p, want[k])
			}
		}
	}
}
