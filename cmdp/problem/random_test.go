package problem

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cmdpsolve/cmdp"
)

// randomRows returns rows for a random model: states with different numbers of
// actions or none, rows for single steps, known and random returns.
func randomRows(rng *rand.Rand, states, horizon, dim int) []cmdp.Row {
	var rows []cmdp.Row
	vector := func() []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	successors := func(random bool) []cmdp.Transition {
		n := 1 + rng.IntN(min(3, states))
		next, left := rng.Perm(states)[:n], 1.0
		if random {
			n++ // a single outcome is not random
		}
		ts := make([]cmdp.Transition, n)
		for j := range ts {
			p := left
			if j < n-1 {
				p = left * rng.Float64()
			}
			left -= p
			ts[j] = cmdp.Transition{Next: next[j%len(next)], Probability: p}
			if random {
				ts[j].Next = next[rng.IntN(len(next))]
				ts[j].Returns = vector()
			}
		}
		return ts
	}
	row := func(step, s, a int) cmdp.Row {
		if rng.IntN(4) == 0 {
			return cmdp.Row{Step: step, State: s, Action: a, Next: successors(true)}
		}
		return cmdp.Row{Step: step, State: s, Action: a, Next: successors(false), Returns: vector()}
	}
	single := rng.IntN(2) == 0
	for s := range states {
		for a := range rng.IntN(4) {
			rows = append(rows, row(cmdp.EveryStep, s, a))
			if single && rng.IntN(3) == 0 {
				rows = append(rows, row(1+rng.IntN(horizon), s, a))
			}
		}
	}
	return rows
}

func randomProblem(t *testing.T, rng *rand.Rand) (*Problem, []cmdp.Row) {
	t.Helper()
	states, horizon, dim := 1+rng.IntN(6), 1+rng.IntN(5), 1+rng.IntN(3)
	spec := cmdp.ModelSpec{Horizon: horizon, Dim: dim,
		Start: []cmdp.StartState{{State: rng.IntN(states), Probability: 1}}}
	if rng.IntN(2) == 0 {
		spec.ReturnToGo = &cmdp.Interval{Lower: promised(rng, dim, -1), Upper: promised(rng, dim, 1)}
	}
	b := cmdp.NewBuilder(spec, states)
	rows := randomRows(rng, states, horizon, dim)
	for _, row := range rows {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Name: "random", Model: m}
	for i := range dim {
		p.Returns = append(p.Returns, fmt.Sprintf("r%d", i))
	}
	return p, rows
}

// promised are ends of a range of returns that is wide enough, with or without an end.
func promised(rng *rand.Rand, dim int, sign float64) []float64 {
	ends := make([]float64, dim)
	for i := range ends {
		ends[i] = sign * []float64{90, 100, math.Inf(1)}[rng.IntN(3)]
	}
	return ends
}

// headOf is the text of a random problem up to its rows.
func headOf(p *Problem) string {
	text := fmt.Sprintf("format: cmdp/1\nname: random\nhorizon: %d\nstates: %d\nstart: %d\nreturns: [%s]\n",
		p.Model.Horizon(), p.Model.States(), p.Model.StartStates()[0].State, strings.Join(p.Returns, ", "))
	promise := p.Model.Shape().Promise()
	if promise == nil {
		return text
	}
	end := strings.NewReplacer("+Inf", "null", "-Inf", "null")
	for i, name := range p.Returns {
		at := fmt.Sprintf("%s: [%g, %g]", name, promise.Lower[i], promise.Upper[i])
		text += []string{"return_to_go: {", ", "}[min(i, 1)] + end.Replace(at)
	}
	return text + "}\n"
}

// TestPromises: a promise holds for the return that it names, whatever others there are and in whatever order, and of
// what is not named nothing is promised. Only what rows give can be promised.
func TestPromises(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for range 100 {
		var returns, promises []string
		var want [][2]float64
		wrong, odd := false, false
		for i := range 1 + rng.IntN(5) {
			derived, name := rng.IntN(3) == 0, fmt.Sprint("r", i)
			returns = append(returns, name+": {"+map[bool]string{true: "visits: [0]"}[derived]+"}")
			of := [2]float64{math.Inf(-1), math.Inf(1)}
			if rng.IntN(2) == 0 && (!derived || rng.IntN(8) == 0) {
				wrong = wrong || derived
				of = [2]float64{-float64(rng.IntN(9)), float64(rng.IntN(9))}
				sides := []string{fmt.Sprint(of[0]), fmt.Sprint(of[1])}
				switch side := rng.IntN(2); rng.IntN(8) {
				case 0, 1: // nothing is promised about it
					sides[side], of[side] = "null", math.Inf(2*side-1)
				case 2: // without the return of no steps
					sides[side], odd = fmt.Sprint(0.5-float64(side)), true
				}
				promises = append(promises, fmt.Sprintf("%s: [%s]", name, strings.Join(sides, ", ")))
			}
			if !derived {
				want = append(want, of)
			}
		}
		rng.Shuffle(len(promises), func(i, j int) { promises[i], promises[j] = promises[j], promises[i] })
		text := "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: {" + strings.Join(returns, ", ") +
			"}\nreturn_to_go: {" + strings.Join(promises, ", ") + "}\ntransitions:\n  - {state: 0, action: go, next: {0: 1}}\n"
		p, err := Parse("test", []byte(text), nil)
		if err != nil || wrong || odd {
			said := fmt.Sprint(err)
			if strings.Contains(said, "a promise about a return that rows do not give") != wrong ||
				strings.Contains(said, "the range must contain 0") != odd && !wrong {
				t.Fatalf("%v\n%s", err, text)
			}
			continue
		}
		for i, of := range want {
			got := promiseOf(p.Model.Shape())
			if got == nil {
				got = &cmdp.Interval{Lower: orFill(nil, len(want), math.Inf(-1)),
					Upper: orFill(nil, len(want), math.Inf(1))}
			}
			if got.Lower[i] != of[0] || got.Upper[i] != of[1] {
				t.Fatalf("%s is promised to be in [%g, %g]: want %v\n%s", p.Given()[i], got.Lower[i], got.Upper[i], of, text)
			}
		}
	}
}

func TestRoundTripOfRandomModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p, _ := randomProblem(t, rng)
		if p.Model.Choices() == 0 && !p.Model.Stationary() {
			continue
		}
		roundTrip(t, p)
	}
}

// TestParseAgreesWithBuilder writes rows as text by itself, in every form, in
// random order where the form allows, and compares the model with the builder's.
func TestParseAgreesWithBuilder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p, rows := randomProblem(t, rng)
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		head := headOf(p)
		block, flow := head+"transitions:\n", head+"transitions: ["
		for i, row := range rows {
			text := rowText(row)
			block += fmt.Sprintf("# row %d\n\n- %s\n", i, text)
			flow += "\n  " + text + ","
		}
		if len(rows) == 0 {
			block = head + "transitions: []"
		}
		for _, text := range []string{block, flow + "]\n"} {
			if q := mustParse(t, text); difference(p, q) != "" {
				t.Fatalf("the model read differs from the one built in its %s:\n%s", difference(p, q), text)
			}
		}
	}
}

// TestLinesInAnyOrderAgreeWithBuilder writes rows as lines of a table, whose order is random
// but for that of the successors of one row.
func TestLinesInAnyOrderAgreeWithBuilder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		p, rows := randomProblem(t, rng)
		var turns, next []int
		for i, row := range rows {
			for range row.Next {
				turns = append(turns, i)
			}
		}
		if len(turns) == 0 {
			continue
		}
		next = make([]int, len(rows))
		rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		text := "state,action,step,next,probability," + strings.Join(p.Returns, ",") + "\n"
		for _, i := range turns {
			row, step := rows[i], ""
			n, returns := row.Next[next[i]], row.Returns
			if next[i]++; returns == nil {
				returns = n.Returns
			}
			if row.Step != cmdp.EveryStep {
				step = fmt.Sprint(row.Step)
			}
			text += fmt.Sprintf("%d,%d,%s,%d,%v,%s\n", row.State, row.Action, step, n.Next, n.Probability,
				strings.Trim(strings.ReplaceAll(fmt.Sprint(returns), " ", ","), "[]"))
		}
		head := headOf(p) + "transitions: {file: rows.csv}\n"
		q, err := Parse("test.yaml", []byte(head), fstest.MapFS{"rows.csv": {Data: []byte(text)}})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if difference(p, q) != "" {
			t.Fatalf("the model read differs from the one built in its %s:\n%s", difference(p, q), text)
		}
	}
}

func rowText(row cmdp.Row) string {
	text := fmt.Sprintf("{state: %d, action: %d", row.State, row.Action)
	if row.Step != cmdp.EveryStep {
		text += fmt.Sprintf(", step: %d", row.Step)
	}
	var parts []string
	for _, n := range row.Next {
		if row.Returns == nil {
			parts = append(parts, fmt.Sprintf("{next: %d, probability: %v, returns: %s}", n.Next, n.Probability,
				vectorText(n.Returns)))
		} else {
			parts = append(parts, fmt.Sprintf("%d: %v", n.Next, n.Probability))
		}
	}
	list := strings.Join(parts, ", ")
	if row.Returns == nil {
		return text + ", outcomes: [" + list + "]}"
	}
	return text + ", next: {" + list + "}, returns: " + vectorText(row.Returns) + "}"
}

func vectorText(v []float64) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }

// TestActionOrder checks how actions are numbered.
func TestActionOrder(t *testing.T) {
	const head = "format: cmdp/1\nhorizon: 2\nstates: 3\nstart: 0\nreturns: [r]\ntransitions:\n"
	row := func(s int, a string, step int, r float64) string {
		text := fmt.Sprintf("- {state: %d, action: %s, next: {0: 1}, returns: [%v]", s, a, r)
		if step > 0 {
			text += fmt.Sprintf(", step: %d", step)
		}
		return text + "}\n"
	}
	// Numbers 0, 1, … are numbers, whatever their order; other labels stand in the
	// order of appearance, the same at every step.
	p := mustParse(t, head+row(0, "2", 0, 3)+row(0, "0", 0, 1)+row(0, "1", 0, 2)+
		row(1, "up", 2, 1)+row(1, "5", 0, 2)+row(1, "down", 1, 3))
	want := [][]string{{"0", "1", "2", "5", "down"}, {"0", "1", "2", "up", "5"}}
	if !reflect.DeepEqual(p.Actions, want) {
		t.Errorf("actions are %q: want %q", p.Actions, want)
	}
	if got := fmt.Sprint(p.Model.Kernel(0).Plain(p.Model.Dim()).Returns,
		p.Model.Kernel(1).Plain(p.Model.Dim()).Returns); got != "[1 2 3 2 3] [1 2 3 1 2]" {
		t.Errorf("returns are %s: want those of the actions, in order", got)
	}
	if got := p.ActionName(1, 1, 0) + p.ActionName(0, 1, 0) + p.StateName(2); got != "up52" {
		t.Errorf("names are %s: want up, 5 and 2", got)
	}
	roundTrip(t, p)
	if p := mustParse(t, head+row(0, `"1"`, 0, 2)+row(0, "0", 0, 1)+row(2, "00", 0, 7)); p.Actions != nil {
		t.Errorf("actions are %q: want numbers", p.Actions)
	}
}

// TestRepeatedSuccessors writes models that were made in Go, whose choices name a successor several times, with returns
// that may be the same each time, and reads them again.
func TestRepeatedSuccessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 100 {
		k := cmdp.NewKernel()
		for range 3 {
			for range 1 + rng.IntN(3) {
				next, outcomes := make([]int32, 1+rng.IntN(4)), []float64(nil)
				prob := slices.Repeat([]float64{1 / float64(len(next))}, len(next))
				mean := 0.0
				for i := range next {
					next[i] = int32(rng.IntN(3))
					outcomes = append(outcomes, float64(rng.IntN(2)))
					mean += prob[i] * outcomes[i]
				}
				if trial%2 == 0 {
					outcomes = nil
				}
				k.AppendRandom(next, prob, []float64{mean}, outcomes)
			}
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 2, Dim: 1, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, &Problem{Model: m, Returns: []string{"r"}}); err != nil {
			t.Fatal(err)
		}
		again := mustParse(t, b.String()).Model
		for c := range k.Choices() {
			said := make([]map[string]float64, 2)
			for i, of := range []*cmdp.Model{m, again} {
				said[i] = make(map[string]float64)
				next, prob := of.Rows(0).Row(c)
				for e, n := range next {
					said[i][fmt.Sprint(n, of.Rows(0).Outcome(c, e))] += prob[e]
				}
			}
			if !maps.EqualFunc(said[0], said[1], func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }) {
				t.Errorf("trial %d: choice %d has %v: want %v\n%s", trial, c, said[1], said[0], b.String())
			}
		}
	}
}
