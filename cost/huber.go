package cost

import (
	"cmp"
	"fmt"
	"math"

	"cmdpsolve/geometry"
)

// NewHuber returns Σ_i weights_i h(x_i − center_i), where h(r) is r²/2 up to
// |r| = threshold and goes on straight, threshold·|r| − threshold²/2. Weights must
// be ≥ 0, the threshold positive, all finite; the slices are copied. The
// Lipschitz constant is tight on the domain.
func NewHuber(center, weights []float64, threshold float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("huber", domain)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkVector("huber: center", center, x.Dim()),
		checkWeights("huber: weights", weights, x.Dim())); err != nil {
		return nil, err
	}
	if !finite(threshold) || threshold <= 0 {
		return nil, fmt.Errorf("cost: huber: threshold %g: want positive and finite", threshold)
	}
	terms := make([]scalar, x.Dim())
	for i := range terms {
		terms[i] = huber{center[i], weights[i], threshold}
	}
	return newSeparable("huber", x, terms)
}

// huber is the scalar weight·h(x − center).
type huber struct{ center, weight, threshold float64 }

func (h huber) value(x float64) float64 {
	r := math.Abs(x - h.center)
	if r <= h.threshold {
		return h.weight * r * r / 2
	}
	return h.weight * h.threshold * (r - h.threshold/2)
}

func (h huber) slopes(x float64) (left, right float64) {
	slope := h.weight * clamp(x-h.center, -h.threshold, h.threshold)
	return slope, slope
}

func (h huber) inverse(slope float64) (first, last float64) {
	steepest := h.weight * h.threshold
	if math.Abs(slope) < steepest {
		x := h.center + slope/h.weight
		return x, x
	}
	return steps(slope, -steepest, steepest, h.center+h.threshold, h.center-h.threshold)
}
