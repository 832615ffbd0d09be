package problem

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
)

// bits makes floats comparable bit by bit.
func bits(x []float64) []uint64 {
	b := make([]uint64, len(x))
	for i, v := range x {
		b[i] = math.Float64bits(v)
	}
	return b
}

// randomness returns the outcomes of a step, nil if they are all the means.
func randomness(m *cmdp.Model, h int) []float64 {
	k := m.Kernel(h).Plain(m.Dim())
	for c := range len(k.Offset) - 1 {
		if saysMore(m.Rows(h), c) {
			return k.Outcomes
		}
	}
	return nil
}

// difference says in what two problems differ, or nothing.
func difference(p, q *Problem) string {
	x, y := p.Model, q.Model
	switch {
	case p.Name != q.Name:
		return "name"
	case !slices.Equal(p.Returns, q.Returns):
		return "returns"
	case !reflect.DeepEqual(p.Kinds, q.Kinds):
		return "kinds of returns"
	case !reflect.DeepEqual(p.Labels, q.Labels):
		return "labels"
	case !slices.Equal(p.States, q.States) || (p.States == nil) != (q.States == nil):
		return "states"
	case !reflect.DeepEqual(p.Actions, q.Actions):
		return "actions"
	case !reflect.DeepEqual(p.Opponents, q.Opponents):
		return "opponent's actions"
	case !reflect.DeepEqual(p.Opponent, q.Opponent):
		return "opponent"
	case !reflect.DeepEqual(p.Goal, q.Goal):
		return "goal"
	case len(p.Constraints)+len(q.Constraints) > 0 && !reflect.DeepEqual(p.Constraints, q.Constraints):
		return "constraints"
	case !reflect.DeepEqual(p.Target, q.Target):
		return "target"
	case !maps.Equal(p.Coordinates, q.Coordinates):
		return "coordinates"
	case p.Uncertainty != q.Uncertainty:
		return "uncertainty"
	case x.Horizon() != y.Horizon() || x.Discount() != y.Discount() || x.Stationary() != y.Stationary() ||
		x.Average() != y.Average():
		return "horizon or discount"
	case !slices.Equal(x.StartStates(), y.StartStates()):
		return "start"
	case x.States() != y.States():
		return "number of states"
	}
	kernels := 1
	if !x.Stationary() {
		kernels = x.Horizon()
	}
	for i := range p.Returns {
		if p.Mean(i) != q.Mean(i) {
			return "means"
		}
	}
	if p.uncertain() != q.uncertain() {
		return "intervals"
	}
	for h := range kernels {
		if p.uncertain() {
			for c := range len(x.Kernel(h).Plain(x.Dim()).Offset) - 1 {
				lower, upper := p.Intervals.Row(h, c)
				least, most := q.Intervals.Row(h, c)
				if !slices.Equal(lower, least) || !slices.Equal(upper, most) {
					return "bounds of probabilities"
				}
			}
		}
		k, l := x.Kernel(h).Plain(x.Dim()), y.Kernel(h).Plain(y.Dim())
		switch {
		case !slices.Equal(k.First, l.First):
			return "choices"
		case !slices.Equal(k.Offset, l.Offset) || !slices.Equal(k.Next, l.Next):
			return "successors"
		case !slices.Equal(bits(k.Prob), bits(l.Prob)):
			return "probabilities"
		case !slices.Equal(bits(k.Returns), bits(l.Returns)):
			return "returns of the model"
		case !slices.Equal(bits(randomness(x, h)), bits(randomness(y, h))):
			return "outcomes"
		}
	}
	if x.Shape() != nil {
		return shapeDifference(x.Shape(), y.Shape())
	}
	return ""
}

// promiseOf returns what a shape promises, nil if that is nothing.
func promiseOf(sh *cmdp.Shape) *cmdp.Interval {
	promise := sh.Promise()
	if promise != nil && !slices.ContainsFunc(slices.Concat(promise.Lower, promise.Upper),
		func(x float64) bool { return !math.IsInf(x, 0) }) {
		return nil
	}
	return promise
}

func shapeDifference(x, y *cmdp.Shape) string {
	if !reflect.DeepEqual(promiseOf(x), promiseOf(y)) {
		return "promise"
	}
	for h := range min(50, x.Horizon()) {
		for s := range x.States() {
			if x.OpponentActions(h, s) != y.OpponentActions(h, s) {
				return "numbers of the opponent's actions"
			}
		}
		d := x.Dim()
		var a, b [2][]float64
		for i := range 2 {
			a[i], b[i] = make([]float64, d), make([]float64, d)
		}
		x.ReturnToGo(a[0], a[1], h)
		y.ReturnToGo(b[0], b[1], h)
		if !slices.Equal(a[0], b[0]) || !slices.Equal(a[1], b[1]) {
			return "return to go"
		}
	}
	return ""
}

// fewestRows is the number of rows that a file needs where every choice that all steps have is written once, and again
// for the steps at which it is another than mostly. forced is that number where the rows of one choice have to say that
// there are kernels for all steps, all alike.
func fewestRows(p *Problem) (fewest, forced int) {
	if p.Model == nil {
		return 0, 0
	}
	steps, differ := p.steps(), false
	for s := range p.Model.States() {
		texts := make(map[string]map[string]int) // of each choice, how many steps have it so
		for h := range steps {
			rows, columns := p.Model.Rows(h), p.played().columns(h, s)
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				name := p.ActionName(h, s, (c-first)/columns) + " " + p.OpponentName(h, s, (c-first)%columns)
				next, prob := rows.Row(c)
				text := fmt.Sprint(next, prob)
				for e := range next {
					text += fmt.Sprint(rows.Outcome(c, e))
				}
				if p.Intervals != nil {
					lower, upper := p.Intervals.Row(h, c)
					text += fmt.Sprint(lower, upper)
				}
				if texts[name] == nil {
					texts[name] = make(map[string]int)
				}
				texts[name][text]++
			}
		}
		for _, of := range texts {
			sum, most := 0, 0
			for _, n := range of {
				sum += n
				most = max(most, n)
			}
			fewest += sum
			if sum == steps {
				fewest -= most - 1
			}
			differ = differ || most < steps
		}
	}
	if differ || fewest == 0 {
		return fewest, fewest
	}
	return fewest, fewest + steps - 1
}

// roundTrip writes p and reads it again. What is wanted stands there as it is told by itself.
func roundTrip(t *testing.T, p *Problem) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatalf("writing: %v", err)
	}
	if fewest, forced := fewestRows(p); p.Fleet == nil {
		got := strings.Count(b.String(), "\n  - {state: ")
		if got != fewest && got != forced {
			t.Fatalf("%d rows: want %d\n%s", got, fewest, b.Bytes())
		}
	}
	q, err := Parse("written.yaml", b.Bytes(), nil)
	if err != nil {
		t.Fatalf("reading what was written: %v\n%s", err, b.Bytes())
	}
	wanted := strings.TrimPrefix(string(p.Wanted()), "goal: {}\n")
	if len(p.Constraints) == 0 {
		wanted = strings.Replace(wanted, "constraints:\n", "", 1)
	}
	if !strings.Contains(b.String(), wanted) || strings.Count(wanted, "\n  - ") != len(p.Constraints) {
		t.Fatalf("%s\nwanted, of\n%s", wanted, b.Bytes())
	}
	if d := difference(p, q); d != "" {
		t.Fatalf("the problem read differs from the one written in its %s:\n%s", d, b.Bytes())
	}
	var again bytes.Buffer
	if err := Write(&again, q); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("written twice, differently (%v):\n%s\n%s", err, b.Bytes(), again.Bytes())
	}
}

func mustParse(t *testing.T, text string) *Problem {
	t.Helper()
	p, err := Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
