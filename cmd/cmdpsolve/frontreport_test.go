package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// TestVerticesThatPrintAlike: they are listed once, and slopes lead to the next that is listed.
func TestVerticesThatPrintAlike(t *testing.T) {
	p, err := load("inventory")
	if err != nil {
		t.Fatal(err)
	}
	rep := &frontReport{over: []objective{{0, "shortage", -1}, {1, "cost", -1}}}
	for _, v := range [][]float64{{1, 3}, {1 + 1e-9, 3 - 1e-9}, {2, 1}} {
		rep.Vertices = append(rep.Vertices, &pointReport{returns: v})
	}
	if said := strings.Join(rep.notes(p), " "); !strings.Contains(said, "left out, 1 of 3;") {
		t.Errorf("%q: want 1 of 3 vertices to be left out", said)
	}
	rows := rep.vertexTable(p).Rows
	if len(rows) != 2 || rows[0][0] != 1 || rows[1][0] != 3 || rows[0][3] != -2.0 {
		t.Errorf("rows %v: want vertices 1 and 3 with the slope -2 between them", rows)
	}
	rep.all = true
	if rows := rep.vertexTable(p).Rows; len(rows) != 3 {
		t.Errorf("%d rows with --all: want 3", len(rows))
	}
}

// TestSweepFigure: the curves of a sweep have the numbers of its plans that were found, each beside its limit,
// from left to right.
func TestSweepFigure(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	for range 50 {
		rep := &sweepReport{Over: []string{"cost ≤", "risk ≥"}}
		want := map[[3]float64]bool{} // of a panel, limit and number
		step, n := float64(1+rng.IntN(3))*float64(1-2*rng.IntN(2)), 1+rng.IntN(4)
		for range 1 + rng.IntN(3) {
			risk := rng.Float64()
			for k := range n {
				one := &sweptReport{Limits: []report.Number{report.Number(float64(k) * step), report.Number(risk)},
					Prices: []report.Number{report.Number(rng.Float64()), report.Number(rng.Float64())}}
				one.Objective, one.Status = report.Number(rng.Float64()), exact.Optimal.String()
				rep.Plans = append(rep.Plans, one)
				if rng.IntN(4) == 0 {
					one.Status = exact.Infeasible.String()
					continue
				}
				for panel, y := range append([]report.Number{one.Objective}, one.Prices...) {
					want[[3]float64{float64(panel), float64(k) * step, float64(y)}] = true
				}
			}
		}
		for panel, shown := range rep.figure("title").Panels {
			for _, c := range shown.Curves {
				if !slices.IsSorted(c.X) {
					t.Errorf("panel %d: limits %v", panel, c.X)
				}
				for i, x := range c.X {
					at := [3]float64{float64(panel), x, c.Y[i]}
					if !want[at] {
						t.Errorf("panel %d has %v at %v, which no plan has", panel, c.Y[i], x)
					}
					delete(want, at)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("missing: %v", want)
		}
	}
}

// TestBandsReachTheCorners: whatever is to be large or small, the band of a curve lies on its better side, and has a
// point at every corner of the outer set between the ends of the curve.
func TestBandsReachTheCorners(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 9))
	corners := 0
	for trial := range 16 {
		problem := drawProblem(rng, []string{"horizon: 3", "discount: 0.75"}[trial%2])
		problem.limits = nil
		p, err := load(problem.write(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		over := []objective{{0, "gain", float64(1 - trial/2%2*2)}, {1, "cost", float64(1 - trial/4%2*2)}}
		f, err := p.Front(t.Context(), []query.Objective{over[0].wanted(), over[1].wanted()},
			exact.FrontOptions{Error: 0.05, Points: 6})
		if err != nil {
			t.Fatal(err)
		}
		r := f.Parts[0].Result
		line := newFrontReport(p, over, f, 0).curves(r)[0]
		if len(line.X) == 1 { // one point has no band
			continue
		}
		for i, y := range line.Y {
			if better := over[1].sign; line.Low[i] > y || line.High[i] < y ||
				better > 0 && line.Low[i] < y || better < 0 && line.High[i] > y {
				t.Errorf("trial %d: at %g the band from %g to %g of the curve at %g", trial, line.X[i], line.Low[i],
					line.High[i], y)
			}
		}
		for _, c := range r.Corners {
			x, y := -over[0].sign*c[0], -over[1].sign*c[1]
			i := slices.Index(line.X, x)
			if i < 0 { // beyond an end
				continue
			}
			corners++
			if edge := map[bool]float64{true: line.High[i], false: line.Low[i]}[over[1].sign > 0]; !near(edge, y) {
				t.Errorf("trial %d: the band has its edge at %g, %g: the corner is at %g", trial, x, edge, y)
			}
		}
	}
	if corners < 8 {
		t.Errorf("%d corners: want more", corners)
	}
}

// TestTrimmedContours: a curve keeps its points that are not as good as one with more of the first return.
func TestTrimmedContours(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 3))
	for range 200 {
		n, flat, up, sign := 2+rng.IntN(6), rng.IntN(4), float64(1-2*rng.IntN(2)), float64(1-2*rng.IntN(2))
		var c chart.Curve
		for i := range n {
			steps := max(0, i-flat) // flat at the left
			if sign < 0 {
				steps = min(i, max(0, n-1-flat))
			}
			c.X, c.Y = append(c.X, float64(i)), append(c.Y, 50+up*float64(steps))
		}
		c.Low, c.High = slices.Clone(c.Y), slices.Clone(c.Y)
		var want []float64
		for i, x := range c.X {
			better := slices.IndexFunc(c.X, func(z float64) bool { return sign*z > sign*x && c.Y[int(z)] == c.Y[i] })
			if better < 0 {
				want = append(want, x)
			}
		}
		if got := trimmed(c, sign); !slices.Equal(got.X, want) || len(got.Y) != len(want) || len(got.Low) != len(want) {
			t.Errorf("%v, %v, sign %g: kept %v, want %v", c.X, c.Y, sign, got.X, want)
		}
	}
}

// TestDrawsOfComponents: it is said of a plan that draws one of several policies whether these draw too.
func TestDrawsOfComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 10))
	seen := map[bool]int{}
	for range 30 {
		file := filepath.Join(t.TempDir(), "problem.json")
		text := strings.Replace(drawn(rng, "average", 0, true), `"constraints":[`,
			`"constraints":[{"return":"reward","at_most":4},`, 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := load(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != exact.Optimal || len(r.Mixture) == 0 {
			continue
		}
		draws := slices.ContainsFunc(r.Mixture, func(c exact.WeightedPolicy) bool { return c.Policy.Randomized() > 0 })
		seen[draws]++
		said := strings.Join(newPlanReport(p, r, 0).notes(p, true), " ")
		if strings.Contains(said, "none of them draws anything") == draws {
			t.Errorf("components draw, %v: %s", draws, said)
		}
	}
	if seen[true] < 2 || seen[false] < 2 {
		t.Errorf("%v plans have components that draw: want more of both", seen)
	}
}

// TestFilesOfVertices: the files of a curve are numbered by its vertices, however many points it has.
func TestFilesOfVertices(t *testing.T) {
	p, err := load("inventory")
	if err != nil {
		t.Fatal(err)
	}
	over, err := parseOver(p, "-shortage,-cost")
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Front(t.Context(), []query.Objective{over[0].wanted(), over[1].wanted()},
		exact.FrontOptions{Error: 1e-3, Points: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 9, 10} {
		rep := newFrontReport(p, over, f, 0)
		if len(rep.Points) <= 10 {
			t.Fatalf("%d points: want more", len(rep.Points))
		}
		rep.Vertices = rep.Vertices[:n]
		c := &frontCommand{policies: filepath.Join(t.TempDir(), "curve")}
		if err := c.writeFiles(t.Context(), p, rep, nil); err != nil {
			t.Fatal(err)
		}
		var list []answer
		for _, v := range rep.Vertices {
			list = append(list, answer{"policy": v.File})
		}
		checkNumbered(t, c.policies, "vertex", list)
	}
}

// load reads a problem as commands do.
func load(name string) (*loaded, error) {
	return streams{problem: new(problem.ReadOptions)}.open(context.Background(), name)
}

// TestParallelFigure: of four returns each vertex is a line from the worst to the best of each, with the lines of the
// quarter that its first return lies in.
func TestParallelFigure(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 9))
	for range 60 {
		over, vertices := make([]objective, 4), make([][]float64, 1+rng.IntN(6))
		for k := range over {
			over[k] = objective{k, fmt.Sprint("r", k), float64(1 - 2*rng.IntN(2))}
		}
		for i := range vertices {
			vertices[i] = []float64{float64(rng.IntN(9)), rng.NormFloat64(), float64(rng.IntN(2)), 7}
		}
		f := parallelFigure("four", over, vertices, 1e-3)
		wanted := make(map[string]int) // lines, by their heights and the quarter
		first, last := vertices[0][0], vertices[0][0]
		for _, v := range vertices {
			first, last = min(first, v[0]), max(last, v[0])
		}
		for _, v := range vertices {
			line := ""
			for k, o := range over {
				least, most := v[k], v[k]
				for _, w := range vertices {
					least, most = min(least, w[k]), max(most, w[k])
				}
				height := 1.0
				if most > least {
					height = (v[k] - least) / (most - least)
					if o.sign < 0 {
						height = 1 - height
					}
				}
				line += fmt.Sprintf(" %.6f", height)
			}
			wanted[line]++
		}
		for _, c := range f.Panels[0].Curves {
			ends := regexp.MustCompile(`^r0 (\S+) to (\S+)$`).FindStringSubmatch(c.Name)
			if ends == nil {
				t.Fatalf("a curve is named %q", c.Name)
			}
			from, _ := strconv.ParseFloat(ends[1], 64)
			to, _ := strconv.ParseFloat(ends[2], 64)
			for at := 0; at < len(c.X); at += 5 {
				line := ""
				for k := range over {
					line += fmt.Sprintf(" %.6f", c.Y[at+k]+0) // −0 is 0
				}
				x := first + c.Y[at]*(last-first)
				if over[0].sign < 0 {
					x = last - c.Y[at]*(last-first)
				}
				if wanted[line]--; wanted[line] < 0 || x < from-0.01 || x > to+0.01 {
					t.Errorf("%v: a line %s of %q, whose first return is %g", vertices, line, c.Name, x)
				}
			}
		}
		for line, n := range wanted {
			if n != 0 {
				t.Errorf("%v: the line %s is missing", vertices, line)
			}
		}
	}
}
