package problem

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// TestSimulatedTime has over which time the returns of a simulator count, whose steps return −1 to 3: the horizon of
// the file before its own; of a discount of 0.75 four times the returns of a step; of means those of a step.
func TestSimulatedTime(t *testing.T) {
	shape := func(horizon int) (*cmdp.Shape, error) {
		return cmdp.NewShape(cmdp.ShapeSpec{Horizon: horizon, Dim: 1, First: [][]int32{{0, 2, 3}},
			Start:   []cmdp.StartState{{State: 0, Probability: 1}},
			Returns: []cmdp.Interval{{Lower: []float64{-1}, Upper: []float64{3}}}})
	}
	for _, x := range []struct {
		text                   string
		own, horizon           int // the simulator's and that of the shape
		discount, lower, upper float64
		want                   string // in the error
	}{
		{"horizon: 5", 0, 5, 0, -5, 15, ""},
		{"horizon: 5", 7, 5, 0, -5, 15, ""},
		{"", 7, 7, 0, -7, 21, ""},
		{"discount: 0.75", 7, 1, 0.75, -4, 12, ""},
		{"discount: 0.75", 0, 1, 0.75, -4, 12, ""},
		{"criterion: average", 0, 1, 1, -1, 3, ""},
		{"criterion: average", 7, 1, 1, -1, 3, ""},
		{"", 0, 0, 0, 0, 0, "missing"},
		{"discount: 1", 0, 0, 0, 0, 0, "discount: totals need a model"},
		{"criterion: total", 0, 0, 0, 0, 0, "want average"},
		{"horizon: 5\ndiscount: 0.5", 0, 0, 0, 0, 0, "besides horizon"},
	} {
		path := filepath.Join(t.TempDir(), "task.yaml")
		text := "format: cmdp/1\ngoal: {maximize: r}\n" + x.text + "\n"
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := ReadSimulated(path, &Simulation{Returns: []string{"r"}, Horizon: x.own, Shape: shape}, ReadOptions{})
		if x.want != "" {
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%q: %v: want %q", x.text, err, x.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", x.text, err)
			continue
		}
		lower, upper := p.Shape().Totals()
		if p.Shape().Horizon() != x.horizon || p.SimulatedDiscount != x.discount ||
			!floats.EqualApprox(append(lower, upper...), []float64{x.lower, x.upper}, 1e-12) {
			t.Errorf("%q: horizon %d, discount %g, returns from %g to %g: want %d, %g, %g, %g", x.text,
				p.Shape().Horizon(), p.SimulatedDiscount, lower, upper, x.horizon, x.discount, x.lower, x.upper)
		}
	}
}

// TestMeansOfReturns: each return is a long-run mean if it says so or, where it says nothing, if all are, whatever the
// others are and in whatever order.
func TestMeansOfReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 200 {
		all := rng.IntN(2) == 0
		text, want := "{", make(map[string]bool)
		for i, n := range rng.Perm(4)[:1+rng.IntN(4)] {
			name := fmt.Sprint("r", n)
			of := []string{"", "", "visits: [1]"}[rng.IntN(3)]
			criterion := []string{"", "total", "average"}[rng.IntN(3)]
			if want[name] = criterion == "average" || criterion == "" && all; criterion != "" {
				of += ", criterion: " + criterion
			}
			if i > 0 {
				text += ", "
			}
			text += name + ": {" + strings.TrimPrefix(of, ", ") + "}"
		}
		time := "discount: 1"
		if all {
			time = "criterion: average"
		}
		p := mustParse(t, "format: cmdp/1\n"+time+"\nstates: 2\nstart: 0\nreturns: "+text+"}\ntransitions:\n"+
			"  - {state: 0, action: go, next: {1: 1}}\n  - {state: 1, action: go, next: {0: 1}}\n")
		means := all // of the rows, which have a return in any case
		for i, name := range p.Returns {
			if p.Mean(i) != want[name] {
				t.Errorf("%s, %s: %s is a mean: %v", time, text, name, p.Mean(i))
			}
			if given := p.Given(); slices.Contains(given, name) {
				means = (means || given[0] == name) && want[name]
			}
		}
		if p.Model.Average() != means {
			t.Errorf("%s, %s: all that rows give are means: %v", time, text, p.Model.Average())
		}
	}
}

// TestWantsOfSimulators: of a simulator goals and bounds on mean returns are read as they are written. Bounds that are
// about episodes or single steps are refused, each in its place, and so is every key that fleets have not either.
func TestWantsOfSimulators(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	shape := func(horizon int) (*cmdp.Shape, error) {
		return cmdp.NewShape(cmdp.ShapeSpec{Horizon: horizon, Dim: 2, First: [][]int32{{0, 2, 3}},
			Start:   []cmdp.StartState{{State: 0, Probability: 1}},
			Returns: []cmdp.Interval{{Lower: []float64{-1, 0}, Upper: []float64{3, 1}}}})
	}
	path := filepath.Join(t.TempDir(), "task.yaml")
	refused := 0
	for range 150 {
		names := []string{"r", "q"}
		p := &Problem{Goal: []Goal{{Maximize: "q"}, {Minimize: "r"}}[rng.IntN(2)]}
		want := make(map[string]bool)
		for i := range rng.IntN(4) {
			p.Constraints = append(p.Constraints, drawLimit(rng, names[rng.IntN(2)]))
			switch c := &p.Constraints[i]; {
			case !c.OnAverage():
				want[fmt.Sprintf("constraints[%d]", i)] = true
			case rng.IntN(6) == 0:
				c.EachStep = true
				want[fmt.Sprintf("constraints[%d].each_step", i)] = true
			case rng.IntN(6) == 0:
				c.Steps = "1-2"
				want[fmt.Sprintf("constraints[%d].steps", i)] = true
			}
		}
		text := "format: cmdp/1\nhorizon: 2\n" + string(p.Wanted())
		if len(p.Constraints) == 0 {
			text = strings.Replace(text, "constraints:\n", "", 1)
		}
		for _, key := range documentKeys {
			if (key == "fleet" || !slices.Contains(fleetKeys, key)) && rng.IntN(30) == 0 {
				text += key + ": {}\n"
				want[key] = true
			}
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSimulated(path, &Simulation{Returns: names, Shape: shape}, ReadOptions{})
		told := make(map[string]bool)
		var es Errors
		errors.As(err, &es)
		for _, e := range es {
			told[e.Key] = true
		}
		if !maps.Equal(told, want) || (err == nil) != (len(want) == 0) {
			t.Fatalf("%v: want %v\n%s", err, want, text)
		}
		if err != nil {
			refused++
			continue
		}
		if !reflect.DeepEqual(got.Goal, p.Goal) || !bytes.Equal(got.Wanted(), p.Wanted()) {
			t.Fatalf("%s is read as\n%s", text, got.Wanted())
		}
	}
	if refused < 30 || refused > 120 {
		t.Errorf("%d of 150 are refused: want some of both", refused)
	}
}
