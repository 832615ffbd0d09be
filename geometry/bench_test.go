package geometry_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
)

// BenchmarkSets asks every example of the registry each question that it answers, at
// random points and directions.
func BenchmarkSets(b *testing.B) {
	for _, e := range geometry.Registry() {
		set, err := e.Example()
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(7, 7))
		points := make([][]float64, 64)
		for k := range points {
			points[k] = normals(rng, set.Dim())
		}
		dst := make([]float64, set.Dim())
		run := func(what string, ask func(k int)) {
			b.Run("set="+e.Name+"/ask="+what, func(b *testing.B) {
				b.ReportAllocs()
				for k := range b.N {
					ask(k % len(points))
				}
			})
		}
		run("project", func(k int) { set.Project(dst, points[k]) })
		if m, ok := set.(oracle.LinearMaximizer); ok {
			run("maximize", func(k int) { m.MaximizeLinear(dst, points[k]) })
		}
		if f, ok := set.(oracle.FaceProjector); ok {
			run("face", func(k int) { f.ProjectFace(dst, points[k], points[(k+1)%len(points)]) })
		}
	}
}
