package query

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// TestUnionOfCurves: a vertex goes where a mixture of one other curve is at least as good in both returns, and
// stays where only a mixture of several curves is. Where a curve passes below another it ends.
func TestUnionOfCurves(t *testing.T) {
	curve := func(threshold, err float64, status exact.Verdict, points ...[]float64) FrontPart {
		q := &Query{Limits: []*Limit{{Scope: WorstEpisodes, Threshold: threshold}}}
		r := &exact.FrontResult{Status: status, Rounding: []float64{1e-12, 1e-12}, Iterations: 5, Error: err,
			Relative: err / 10}
		for _, x := range points {
			r.Points = append(r.Points, exact.FrontPoint{Objectives: []float64{-x[0], -x[1]}, Returns: x})
		}
		return FrontPart{Query: q, Result: r}
	}
	empty, optimal := curve(9, 0, exact.Infeasible), exact.Optimal
	tests := []struct {
		name   string
		parts  []FrontPart
		want   [][]float64 // a, b and the threshold, by a
		status exact.Verdict
		error  float64
	}{
		{"below a mixture of another curve", []FrontPart{curve(1, 0.2, optimal, []float64{0, 4}, []float64{4, 0}),
			curve(2, 0.1, optimal, []float64{1.9, 1.9})},
			[][]float64{{0, 4, 1}, {4, 0, 1}}, optimal, 0.2},
		{"above it, the larger error last", []FrontPart{curve(1, 0.1, optimal, []float64{0, 4}, []float64{4, 0}),
			curve(2, 0.3, optimal, []float64{2.1, 2.1})},
			[][]float64{{0, 4, 1}, {1.9, 2.1, 1}, {2.1, 1.9, 1}, {2.1, 2.1, 2}, {4, 0, 1}}, optimal, 0.3},
		{"below a mixture of two curves only", []FrontPart{curve(1, 0, optimal, []float64{0, 4}),
			curve(2, 0, optimal, []float64{4, 0}), curve(3, 0, optimal, []float64{1, 1})},
			[][]float64{{0, 4, 1}, {1, 1, 3}, {4, 0, 2}}, optimal, 0},
		{"dominated, the better one last", []FrontPart{curve(1, 0, optimal, []float64{1, 1}),
			curve(2, 0, optimal, []float64{1, 2})}, [][]float64{{1, 2, 2}}, optimal, 0},
		{"one of two", []FrontPart{curve(1, 0, optimal, []float64{0, 4}, []float64{2, 1}),
			curve(2, 0, optimal, []float64{3, 2})},
			[][]float64{{0, 4, 1}, {4. / 3, 2, 1}, {3, 2, 2}}, optimal, 0},
		{"the same point twice", []FrontPart{curve(1, 0, optimal, []float64{1, 1}),
			curve(2, 0, optimal, []float64{1, 1})}, [][]float64{{1, 1, 1}}, optimal, 0},
		{"nothing keeps the first threshold", []FrontPart{empty, curve(2, 0.5, optimal, []float64{1, 1})},
			[][]float64{{1, 1, 2}}, optimal, 0.5},
		{"one is not known", []FrontPart{curve(1, 0, optimal, []float64{1, 1}), curve(2, 0, exact.Undecided), empty},
			[][]float64{{1, 1, 1}}, exact.Undecided, 0},
		{"none is kept", []FrontPart{empty, empty}, nil, exact.Infeasible, math.NaN()},
	}
	for _, tt := range tests {
		f := newFront([]Objective{{"a", true}, {"b", true}}, []int{0, 1})
		for _, part := range tt.parts {
			f.add(part)
		}
		f.join(func() bool { return false })
		var got [][]float64
		for _, v := range f.Points {
			got = append(got, append(slices.Clone(v.Returns), v.Query.Limits[0].Threshold))
		}
		same := func(v, w []float64) bool { return floats.EqualApprox(v, w, 1e-7) }
		if !slices.EqualFunc(got, tt.want, same) || f.Status != tt.status {
			t.Errorf("%s: vertices %v, %s: want %v, %v", tt.name, got, f.Status, tt.want, tt.status)
		}
		if e := f.Error; e != tt.error && !(e != e && tt.error != tt.error) || f.Iterations != 5*len(tt.parts) {
			t.Errorf("%s: error %g, %d iterations: want %g", tt.name, e, f.Iterations, tt.error)
		}
	}
}

// TestEndsOfCurves draws curves of several thresholds. No other one is better at a point that is listed, and where none
// is, the neighbours on the same curve that are listed have the point between them.
func TestEndsOfCurves(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 46))
	beyond := 0
	for trial := range 60 {
		f := newFront([]Objective{{"a", false}, {"b", false}}, []int{0, 1})
		for range 2 + rng.IntN(3) {
			r := &exact.FrontResult{Rounding: []float64{1e-12, 1e-12}}
			for range 1 + rng.IntN(4) {
				at := []float64{float64(rng.IntN(30)), float64(rng.IntN(30))}
				r.Points = append(r.Points, exact.FrontPoint{Objectives: at, Returns: at})
			}
			f.add(FrontPart{Query: new(Query), Result: r})
		}
		f.join(func() bool { return false })
		least := func(points []exact.FrontPoint, x float64) float64 { // of b, where a is at most x
			least := math.Inf(1)
			for _, p := range points {
				for _, q := range points {
					v, w := p.Objectives, q.Objectives
					switch {
					case v[0] <= x+1e-9 && w[0] > x:
						least = min(least, v[1]+(w[1]-v[1])*max(0, x-v[0])/(w[0]-v[0]))
					case v[0] <= x+1e-9:
						least = min(least, v[1])
					}
				}
			}
			return least
		}
		if i := slices.IndexFunc(f.Points, func(p FrontPoint) bool { return !p.Vertex }); i >= 0 {
			t.Errorf("trial %d: %v is listed and no vertex", trial, f.Points[i].Objectives)
		}
		for i, part := range f.Parts {
			var listed []exact.FrontPoint
			for _, p := range f.Points {
				if p.Query == part.Query {
					listed = append(listed, p.FrontPoint)
				}
			}
			for x := 0.05; x < 30; x += 0.1 {
				y, others := least(part.Result.Points, x), math.Inf(1)
				for j, other := range f.Parts {
					if j != i {
						others = min(others, least(other.Result.Points, x))
					}
				}
				if y < others-1e-3 {
					beyond++
					if got := least(listed, x); math.Abs(got-y) > 1e-4 {
						t.Fatalf("trial %d: part %d: %g at %g: want %g, others have %g", trial, i, got, x, y, others)
					}
				}
			}
			for _, p := range listed {
				for j, other := range f.Parts {
					if y := least(other.Result.Points, p.Objectives[0]-1e-6); j != i && y < p.Objectives[1]-1e-4 {
						t.Fatalf("trial %d: %v of part %d: part %d has %g", trial, p.Objectives, i, j, y)
					}
				}
			}
		}
	}
	if beyond < 1000 {
		t.Errorf("%d points beyond all other curves", beyond)
	}
}

// TestStandingOfParts: whatever the order of its parts, a curve is Undecided if one of them is, else Stopped if one is,
// else Optimal unless none has a policy, and its errors are the greatest.
func TestStandingOfParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 47))
	order := []exact.Verdict{exact.Infeasible, exact.Optimal, exact.Stopped, exact.Undecided}
	for trial := range 300 {
		f := newFront(nil, nil)
		worst, greatest, relative := 0, math.NaN(), math.NaN()
		for range 1 + rng.IntN(4) {
			k := rng.IntN(len(order))
			r := &exact.FrontResult{Status: order[k], Error: rng.Float64(), Iterations: 1}
			r.Relative = 1 - r.Error // the other way round
			worst = max(worst, k)
			if order[k] != exact.Infeasible {
				r.Points = make([]exact.FrontPoint, rng.IntN(3))
			}
			switch {
			case len(r.Points) > 0 && math.IsNaN(greatest):
				greatest, relative = r.Error, r.Relative
			case len(r.Points) > 0:
				greatest, relative = max(greatest, r.Error), max(relative, r.Relative)
			case order[k] == exact.Stopped:
				greatest, relative = math.Inf(1), math.Inf(1)
			}
			f.add(FrontPart{Result: r})
		}
		same := f.Error == greatest && f.Relative == relative || math.IsNaN(f.Error) && math.IsNaN(greatest)
		if !same || f.Status != order[worst] || f.Iterations != len(f.Parts) {
			t.Errorf("trial %d: %v with the errors %g and %g: want %v with %g and %g", trial, f.Status, f.Error,
				f.Relative, order[worst], greatest, relative)
		}
	}
}

// TestFrontsOfPlays: the trade-off of policies that never draw has the plays that none improves on, in the order of the
// first return; of curves at several thresholds of the worst episodes each is that of its own.
func TestFrontsOfPlays(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 45))
	between := 0 // points that lie between two vertices
	for trial := range 30 {
		over := [2]Objective{{"gain", rng.IntN(2) == 0}, {"much", rng.IntN(2) == 0}}
		least, most := float64(rng.IntN(12))/4, 3+float64(rng.IntN(5))/4
		q := parsed(t, fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			fmt.Sprintf("constraints: [{return: gain, at_least: %g, at_most: %g}]", least, most)))
		sign := [2]float64{1, 1}
		for k, o := range over {
			if o.Maximize {
				sign[k] = -1
			}
		}
		all := make(map[[2]float64]bool)
		for _, play := range walkPlays() {
			var v [2]float64
			for x, p := range play {
				v[0] += p * x
				v[1] += p * much(x)
			}
			if v[0] >= least && v[0] <= most {
				all[v] = true
			}
		}
		var want [][2]float64
		for v := range all {
			improved := false
			for w := range all {
				improved = improved || w != v && sign[0]*w[0] <= sign[0]*v[0] && sign[1]*w[1] <= sign[1]*v[1]
			}
			if !improved {
				want = append(want, v)
			}
		}
		slices.SortFunc(want, func(v, w [2]float64) int { return cmp.Compare(v[0], w[0]) })
		f, err := q.DeterministicFront(t.Context(), over, exact.DeterministicOptions{})
		if err != nil {
			t.Fatal(err)
		}
		same := len(f.Points) == len(want)
		for i, p := range f.Points {
			same = same && p.Vertex && math.Abs(p.Returns[0]-want[i][0]) < 1e-9 &&
				math.Abs(p.Returns[1]-want[i][1]) < 1e-9
		}
		if !same || (f.Status == exact.Infeasible) != (len(want) == 0) {
			t.Errorf("trial %d: %v with %d points: want %v", trial, f.Status, len(f.Points), want)
		}
		cut, err := q.DeterministicFront(t.Context(), over, exact.DeterministicOptions{Nodes: 1})
		if err != nil || cut.Status == exact.Infeasible && len(want) > 0 {
			t.Errorf("trial %d: %v after one node, error %v: want %v", trial, cut.Status, err, want)
		}

		limited := fmt.Sprintf("at_least: %g", least/2)
		if trial%2 == 0 {
			limited = fmt.Sprintf("at_most: %g", 3.5+least/2)
		}
		worst, err := New(t.Context(), mustParse(t, fmt.Sprintf(walk,
			"{gain: {}, much: {exceeds: {return: gain, limit: 4}}}",
			fmt.Sprintf("constraints: [{return: gain, %s, cvar: 0.25}]", limited))), CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		union, err := worst.Front(t.Context(), over[:],
			exact.FrontOptions{Options: exact.Options{Budget: time.Duration(trial%2) * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range union.Points {
			if p.plan != nil {
				between++
			}
			if err := p.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			v, _, err := NewSimulation(p.Query, Draws(p.Policy, p.Mixture), 1, 1).Expected(t.Context())
			if err != nil || !floats.EqualApprox(v[:2], p.Returns[:2], 1e-6) {
				t.Errorf("trial %d: a policy with %v, error %v: want %v", trial, v, err, p.Returns)
			}
		}
		for i, part := range union.Parts {
			own, err := part.Query.Curve(t.Context(), over[:], exact.FrontOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, direction := range [][2]float64{{1, 0}, {0, 1}, {1, 4}} {
				least := func(points []exact.FrontPoint) float64 {
					least := math.Inf(1)
					for _, p := range points {
						least = min(least, direction[0]*p.Objectives[0]+direction[1]*p.Objectives[1])
					}
					return least
				}
				var of []exact.FrontPoint
				for _, p := range union.Part(i).Points {
					of = append(of, p.FrontPoint)
				}
				if got, want := least(of), least(own.Points); got != want && math.Abs(got-want) > 1e-6 {
					t.Errorf("trial %d: part %d reaches %g in the direction %v: want %g", trial, i, got, direction, want)
				}
			}
		}
	}
	if between < 5 {
		t.Errorf("%d points between two vertices: want some", between)
	}
}

// TestOrderOfPoints: points of a front stand in the order of what is traded off, the first of it before the second.
func TestOrderOfPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 72))
	for range 50 {
		places := rng.Perm(4)[:2+rng.IntN(2)]
		f := newFront(make([]Objective, len(places)), places)
		for range 12 {
			v := make([]float64, 4)
			for i := range v {
				v[i] = float64(rng.IntN(3))
			}
			f.Points = append(f.Points, FrontPoint{FrontPoint: exact.FrontPoint{Returns: v}})
		}
		for k, x := range scaleOf(pointsOf(f, places), []float64{0, 0, 0}[:len(places)]) {
			var all []float64
			for _, p := range f.Points {
				all = append(all, p.Returns[places[k]])
			}
			if want := slices.Max(all) - slices.Min(all); x != want && (want > 0 || x != 1) {
				t.Errorf("%v have an extent of %g: want %g", all, x, want)
			}
		}
		f.sort()
		for n := range len(f.Points) - 1 {
			var a, b []float64
			for _, i := range places {
				a, b = append(a, f.Points[n].Returns[i]), append(b, f.Points[n+1].Returns[i])
			}
			if slices.Compare(a, b) > 0 {
				t.Fatalf("of %v the point %v is before %v", places, a, b)
			}
		}
	}
}

// pointsOf returns the points of a front as those of its parts are.
func pointsOf(f *Front, places []int) (list []exact.FrontPoint) {
	for _, p := range f.Points {
		at := p.FrontPoint
		for _, i := range places {
			at.Objectives = append(at.Objectives, p.Returns[i])
		}
		list = append(list, at)
	}
	return list
}

// TestVerticesOfRandomPoints draws points on a grid, equal ones too. A point is a vertex where no other one and no
// segment between two others is as good in both returns; of equal ones one is.
func TestVerticesOfRandomPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 44))
	for trial := range 300 {
		r := &exact.FrontResult{Rounding: []float64{1e-12, 1e-12}}
		for range 1 + rng.IntN(6) {
			at := []float64{float64(rng.IntN(5)), float64(rng.IntN(5))}
			r.Points = append(r.Points, exact.FrontPoint{Objectives: at})
		}
		found := make(map[[2]float64]int)
		for i, is := range verticesOf(r) {
			x := [2]float64(r.Points[i].Objectives)
			if is {
				found[x]++
			}
		}
		for _, p := range r.Points {
			x := [2]float64(p.Objectives)
			covered := false
			for _, a := range r.Points {
				for _, b := range r.Points {
					y, z := [2]float64(a.Objectives), [2]float64(b.Objectives)
					if y == x || z == x {
						continue
					}
					for share := range 61 { // where a segment crosses the grid, in halves, thirds and quarters
						w := float64(share) / 60
						covered = covered || w*y[0]+(1-w)*z[0] <= x[0]+1e-9 && w*y[1]+(1-w)*z[1] <= x[1]+1e-9
					}
				}
			}
			if want := map[bool]int{false: 1}[covered]; found[x] != want {
				t.Errorf("trial %d: %d vertices at %v: want %d", trial, found[x], x, want)
			}
		}
	}
}
