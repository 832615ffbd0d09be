package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// TestFrontErrorIsEuclidean compares the error of coarse curves with brute force: the
// Euclidean distance of every corner from everything that a mixture of the points
// equals or dominates is at most Error, and Error is no more than the distance along the
// diagonal, which is at most √p times the Relative one, in units of the largest range. Beside errors in units of the
// objectives Relative is that of the mixtures which are the nearest in these.
func TestFrontErrorIsEuclidean(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 4))
	coarse, diagonal := 0, 0
	for trial := range 48 {
		p := 2
		if trial%4 == 0 {
			p = 3
		}
		m := randomModel(t, rng, shapeOf{states: 4, actions: 3, horizon: 4, dim: p, successors: 3,
			integer: trial >= 24}) // many policies are the best in one objective
		opts := exact.FrontOptions{Error: 0.02 + 0.1*rng.Float64()}
		ranges := make([]float64, p)
		for k := range p {
			// Objectives of very different ranges.
			opts.Over = append(opts.Over, scaledAxis(p, k, (1-2*float64(rng.IntN(2)))*math.Pow(10, float64(k))))
		}
		if trial%3 == 2 { // the last objective has an error of its own
			opts.Absolute = scaledAxis(p, p-1, (0.1+0.01*float64(trial))*math.Pow(10, float64(p-1)))
		}
		f, err := exact.Front(context.Background(), m, cmdp.Task{}, opts)
		if err != nil {
			t.Fatal(err)
		}
		points := make([][]float64, len(f.Points))
		for j, z := range f.Points {
			points[j] = z.Objectives
		}
		for k := range ranges {
			least, most := math.Inf(1), math.Inf(-1)
			for _, z := range points {
				least, most = min(least, z[k]), max(most, z[k])
			}
			ranges[k] = most - least
		}
		if slices.Min(ranges) < 1e-6 {
			continue // hardly a curve
		}
		far, relative := 0.0, 0.0
		for _, y := range f.Corners {
			far = max(far, behind(points, y, func(gap []float64) float64 { return length(gap) }))
			relative = max(relative, behind(points, y, func(gap []float64) float64 {
				most := 0.0
				for k, x := range gap {
					most = max(most, x/ranges[k])
				}
				return most
			}))
		}
		if far > f.Error+1e-6*length(ranges) {
			t.Errorf("trial %d: a corner is %.9g away from all mixtures, error %.9g", trial, far, f.Error)
		}
		if relative > f.Relative+1e-6 || opts.Absolute == nil && relative < f.Relative-1e-6 {
			t.Errorf("trial %d: relative error %.9g, by brute force %.9g", trial, f.Relative, relative)
		}
		if f.Relative > f.Error/slices.Min(ranges) {
			t.Errorf("trial %d: relative error %.9g of the ranges %v, error %g", trial, f.Relative, ranges, f.Error)
		}
		if f.Error > f.Relative*length(ranges)+1e-9 {
			t.Errorf("trial %d: error %.9g: more than all ranges %v times %.9g", trial, f.Error, ranges, f.Relative)
		}
		if f.Relative > 1e-3 {
			coarse++
		}
		if far > 1.01*f.Relative*ranges[0] { // the distance is not that in one objective
			diagonal++
		}
	}
	if coarse < 8 || diagonal < 8 {
		t.Errorf("%d curves with an error, %d of them across: want more", coarse, diagonal)
	}
}

// behind returns the least size of (z − y)⁺ over all mixtures z of the points: of three of
// them, since three objectives are all that it is asked for, and by search of a convex
// function along and across.
func behind(points [][]float64, y []float64, size func([]float64) float64) float64 {
	least, gap := math.Inf(1), make([]float64, len(y))
	at := func(a, b, c []float64, s, r float64) float64 {
		for k := range gap {
			gap[k] = max(0, a[k]+s*(b[k]-a[k])+r*(c[k]-a[k])-y[k])
		}
		return size(gap)
	}
	for i, a := range points {
		least = min(least, at(a, a, a, 0, 0))
		for j, b := range points[:i] {
			least = min(least, lowest(1, func(s float64) float64 { return at(a, b, a, s, 0) }))
			if len(y) < 3 {
				continue
			}
			for _, c := range points[:j] {
				least = min(least, lowest(1, func(s float64) float64 {
					return lowest(1-s, func(r float64) float64 { return at(a, b, c, s, r) })
				}))
			}
		}
	}
	return least
}

// lowest minimises a convex function over [0, end].
func lowest(end float64, f func(float64) float64) float64 {
	lo, hi := 0.0, end
	for range 30 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if f(a) < f(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return f((lo + hi) / 2)
}
