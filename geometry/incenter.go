package geometry

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// incenter returns the centre and the radius of the ball inscribed in a simplex of
// d+1 of the points. They are chosen one by one, each as far as possible from the
// affine hull of those before. If all points lie in a plane, it returns their mean
// and 0.
func incenter(points [][]float64) (center []float64, radius float64) {
	d := len(points[0])
	center = make([]float64, d)
	for _, p := range points {
		for i, v := range p {
			center[i] += v / float64(len(points))
		}
	}
	chosen := farApart(points, center)
	if len(chosen) <= d {
		return center, 0
	}
	// Barycentric weights are affine: rows of the inverse of [points; 1] are their
	// gradients, and a weight over its gradient's length is the distance to a facet.
	m := mat.NewDense(d+1, d+1, nil)
	for k, p := range chosen {
		for i, v := range p {
			m.Set(i, k, v-center[i])
		}
		m.Set(d, k, 1)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(m); err != nil {
		return center, 0
	}
	total := 0.0
	lengths := make([]float64, d+1)
	for k := range lengths {
		lengths[k] = floats.Norm(inverse.RawRowView(k)[:d], 2)
		total += lengths[k]
	}
	clear(center)
	for k, p := range chosen {
		for i, v := range p {
			center[i] += lengths[k] / total * v
		}
	}
	return center, 1 / total
}

// farApart chooses points that are affinely independent.
func farApart(points [][]float64, from []float64) (chosen [][]float64) {
	d := len(from)
	rest := make([][]float64, len(points))
	size := 0.0
	for k, p := range points {
		rest[k] = make([]float64, d)
		floats.SubTo(rest[k], p, from)
		size = max(size, floats.Norm(rest[k], 2))
	}
	for range d + 1 {
		best, most := -1, 1e-9*size
		for k := range rest {
			if length := floats.Norm(rest[k], 2); length > most || best < 0 && len(chosen) == 0 {
				best, most = k, length
			}
		}
		if best < 0 {
			return chosen
		}
		chosen = append(chosen, points[best])
		if len(chosen) == 1 {
			for k, p := range points {
				floats.SubTo(rest[k], p, points[best])
			}
			continue
		}
		q := append([]float64(nil), rest[best]...)
		for i := range q {
			q[i] /= most
		}
		for k := range rest {
			c := floats.Dot(q, rest[k])
			floats.AddScaled(rest[k], -c, q)
		}
	}
	return chosen
}
