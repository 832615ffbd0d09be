package exact

import "math"

// caratheodory reduces a convex combination to at most d+1 affinely independent
// points without moving it. It changes the weights in place and returns the
// indices of those that stay positive. scale measures the coordinates.
func caratheodory(points [][]float64, weights, scale []float64) []int {
	var active []int
	for j, w := range weights {
		if w <= 0 {
			continue
		}
		active = append(active, j)
		if k := affineDependence(points, active, scale); k != nil {
			active = dropPoint(active, weights, k)
		}
	}
	sum := 0.0
	for _, j := range active {
		sum += weights[j]
	}
	for _, j := range active {
		weights[j] /= sum
	}
	return active
}

// affineDependence returns coefficients that are not all 0 with Σ k_j = 0 and
// Σ k_j·point_j = 0, or nil if the active points are affinely independent. The last
// coefficient is positive if all points before it are independent.
func affineDependence(points [][]float64, active []int, scale []float64) []float64 {
	n, d := len(active), len(scale)
	matrix := make([][]float64, d+1) // rows: coordinates and 1; columns: points
	for i := range matrix {
		matrix[i] = make([]float64, n)
		for j, p := range active {
			switch {
			case i == d:
				matrix[i][j] = 1
			case scale[i] > 0:
				matrix[i][j] = points[p][i] / scale[i]
			}
		}
	}
	k := nullVector(matrix, n, 1e-11)
	if k != nil && k[n-1] < 0 {
		k = scaled(-1, k)
	}
	return k
}

// dropPoint moves the weights along k until one of them vanishes, and returns the indices
// that are left.
func dropPoint(active []int, weights, k []float64) []int {
	t, out := math.Inf(1), -1
	for i, j := range active {
		if k[i] > 0 && weights[j]/k[i] < t {
			t, out = weights[j]/k[i], i
		}
	}
	left := active[:0]
	for i, j := range active {
		weights[j] -= t * k[i]
		if i == out || weights[j] <= 0 {
			weights[j] = 0
			continue
		}
		left = append(left, j)
	}
	return left
}
