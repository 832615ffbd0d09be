package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/problem"
)

// TestMarksOfMap: the lake says where it begins, and where episodes end and how.
func TestMarksOfMap(t *testing.T) {
	p, err := load("frozenlake4")
	if err != nil {
		t.Fatal(err)
	}
	want := []gridMark{{0, 0, "start"}, {1, 1, "hole"}, {1, 3, "hole"}, {2, 3, "hole"}, {3, 0, "hole"}, {3, 3, "goal"}}
	if got := gridOf(p.Query).Marks; !slices.Equal(got, want) {
		t.Errorf("got %v: want %v", got, want)
	}
}

// TestEndsOfEpisodes: a state of rest is called after the return that every step into it has, if there is one alone.
// The map has that at the place of the state, and where episodes start and what labels say.
func TestEndsOfEpisodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 5))
	file, returns := filepath.Join(t.TempDir(), "ends.yaml"), []string{"a", "b", "c"}
	for range 30 {
		text := "format: cmdp/1\nhorizon: 2\nstates: [r0c0, r0c1, r0c2, r1c0, r1c1, r1c2]\nreturns: [a, b, c]\n" +
			"goal: {maximize: a}\n"
		start, labelled := rng.Perm(6)[:2], rng.Perm(6)[:3]
		marked := map[gridMark]bool{}
		mark := func(s int, name string) { marked[gridMark{s / 3, s % 3, name}] = true }
		for _, s := range start {
			mark(s, "start")
		}
		mark(labelled[0], "lit")
		mark(labelled[1], "lit")
		mark(labelled[2], "c")
		text += fmt.Sprintf("start: {%d: 0.5, %d: 0.5}\nlabels: {lit: [%d, %d], c: [%d]}\ntransitions:\n", start[0],
			start[1], labelled[0], labelled[1], labelled[2])
		for s := 3; s < 6; s++ {
			text += fmt.Sprintf("  - {state: %d, action: stay, next: {%[1]d: 1}, returns: [0, 0, 0]}\n", s)
		}
		always := map[int][]string{} // what all steps into a state have
		for k := range 6 {
			to, has := rng.IntN(6), make([]int, 3)
			for i := range has {
				has[i] = indicator(rng.IntN(3) > 0) * (1 - 3*rng.IntN(2))
			}
			text += fmt.Sprintf("  - {state: %d, action: %d, next: {%d: 1}, returns: [%d, %d, %d]}\n", k/2, k%2, to, has[0],
				has[1], has[2])
			if to < 3 {
				continue
			}
			if _, known := always[to]; !known {
				always[to] = slices.Clone(returns)
			}
			always[to] = slices.DeleteFunc(always[to],
				func(name string) bool { return has[slices.Index(returns, name)] == 0 })
		}
		want := map[int]string{}
		for s, names := range always {
			if want[s] = "end"; len(names) == 1 {
				want[s] = names[0]
			}
			mark(s, want[s])
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := load(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := endings(p.Problem); !maps.Equal(got, want) {
			t.Errorf("%s: %v: want %v", text, got, want)
		}
		marks := gridOf(p.Query).Marks
		inOrder := slices.IsSortedFunc(marks, func(a, b gridMark) int {
			return cmp.Or(a.Row-b.Row, a.Column-b.Column, strings.Compare(a.Name, b.Name))
		})
		for _, m := range marks {
			if !marked[m] {
				t.Errorf("%s: mark %v", text, m)
			}
		}
		if !inOrder || len(marks) != len(marked) {
			t.Errorf("%s: marks %v: want %v in order", text, marks, marked)
		}
	}
}

// TestPlacesWithMemory: what is remembered does not move a state.
func TestPlacesWithMemory(t *testing.T) {
	p, err := load("../../docs/examples/corridor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][2]int{"west": {0, 0}, "a": {0, 1}, "hall": {0, 2}, "b": {0, 3}, "pit": {1, 3}}
	g := gridOf(p.Query)
	if g.Rows != 2 || g.Columns != 4 || len(g.Row) != p.Model.States() || len(g.Row) <= len(places) {
		t.Fatalf("%d rows, %d columns, %d states", g.Rows, g.Columns, len(g.Row))
	}
	recalled := map[string]bool{}
	for s := range g.Row {
		name, _, _ := strings.Cut(p.recalled(s), " ")
		if recalled[p.recalled(s)] {
			t.Errorf("two states of the product are called %s", p.recalled(s))
		}
		recalled[p.recalled(s)] = true
		if got := [2]int{g.Row[s], g.Column[s]}; got != places[name] {
			t.Errorf("%s is at %v: want %v", p.recalled(s), got, places[name])
		}
	}
}

// TestMarksOfMostVisits: a cell of the map has the mark of what is done there most often, with a plus where other
// things are done too. A state without a place has no mark, and there is no map if an action in another has none.
func TestMarksOfMostVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 8))
	names, rows := []string{}, ""
	for s := range 10 {
		names = append(names, fmt.Sprintf("r%dc%d", s/3, s%3))
		rows += fmt.Sprintf("  - {state: %d, action: stay, next: {%[1]d: 1}, returns: [1]}\n", s)
	}
	names[9] = "hall"
	file := filepath.Join(t.TempDir(), "hall.yaml")
	text := "format: cmdp/1\nhorizon: 2\nstates: [" + strings.Join(names, ", ") + "]\nstart: 0\nreturns: [a]\n" +
		"goal: {maximize: a}\ntransitions:\n" + rows
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var problems []*loaded
	for _, name := range []string{"../../docs/examples/corridor.yaml", file} {
		p, err := load(name)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p)
	}
	unmarked := 0
	for trial := range 200 {
		p := problems[trial%2]
		g, marks := gridOf(p.Query), map[string]string{"left": "←", "up": "↑", "0.7 right, 0.3 up": "→", "stay": "o"}
		if rng.IntN(3) == 0 {
			marks["jump"] = ""
		}
		v, drawn := &policyShown{loaded: p}, true
		most, does, several := map[[2]int]float64{}, map[[2]int]string{}, map[[2]int]bool{}
		for range 1 + rng.IntN(12) {
			l := policyLine{state: rng.IntN(p.Model.States()), visits: rng.Float64()}
			l.steps.does = slices.Sorted(maps.Keys(marks))[rng.IntN(len(marks))]
			v.lines = append(v.lines, l)
			at := [2]int{g.Row[l.state], g.Column[l.state]}
			if p.Problem.StateName(p.Declared(l.state)) == "hall" && trial%2 == 1 {
				if at != [2]int{-1, -1} {
					t.Errorf("the hall is at %v", at)
				}
				continue
			}
			drawn = drawn && l.steps.does != "jump"
			_, again := most[at]
			several[at] = several[at] || again || strings.Contains(l.steps.does, ",")
			if l.visits > most[at] {
				most[at], does[at] = l.visits, l.steps.does
			}
		}
		sections := v.grid()
		if (sections != nil) != drawn {
			t.Errorf("%+v: a map: %v", v.lines, sections != nil)
		}
		if !drawn {
			unmarked++
			continue
		}
		table := sections[0].(*report.Table)
		for i, row := range table.Rows {
			for j, cell := range row[1:] {
				at := [2]int{i, j}
				if want := marks[does[at]] + map[bool]string{true: "+"}[several[at]]; cell != want {
					t.Errorf("%v: %v: want %s", at, cell, want)
				}
			}
		}
	}
	if unmarked < 20 {
		t.Errorf("%d policies have no map: want more", unmarked)
	}
}

// TestPlacesInNames: states that are called after their row and column in one of the usual ways have that place.
func TestPlacesInNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 1))
	for range 200 {
		row, column := rng.IntN(2000), rng.IntN(2000)
		for _, form := range []string{"r%[1]dc%[2]d", "y%[1]dx%[2]d", "x%[2]dy%[1]d", "x%[2]d_y%[1]d", "(%d,%d)", "%d,%d",
			"%d_%d", "(%d, %d)", "%d-%d"} {
			name := fmt.Sprintf(form, row, column)
			if place, is := cellOf(name); !is || place != (problem.Place{Row: row, Column: column}) {
				t.Errorf("%s: %v, %v", name, place, is)
			}
		}
	}
}

// TestPlacesOfNames: of states that are called after the same place the first has it. There is a map if nine of ten
// states have a place, and the map has two rows and columns, and a state for every four cells.
func TestPlacesOfNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 12))
	forms := []string{"r%[1]dc%[2]d", "%d,%d", "x%[2]dy%[1]d"}
	shown, twins := 0, 0
	for range 1000 {
		rows, columns := 1+rng.IntN(4), 1+rng.IntN(6)
		list, n := []*problem.Place{}, rows*columns
		for i := range n {
			list = append(list, &problem.Place{Row: i / columns, Column: i % columns})
		}
		for range rng.IntN(3) { // called otherwise
			list = append(list, nil)
		}
		for range rng.IntN(2) {
			list = append(list, list[rng.IntN(n)])
		}
		for range rng.IntN(2) {
			list = append(list, &problem.Place{Row: rng.IntN(rows), Column: rng.IntN(6 * columns)})
		}
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		var names []string
		want, owner := map[int]problem.Place{}, map[problem.Place]bool{}
		last := problem.Place{}
		for s, at := range list {
			if at == nil {
				names = append(names, fmt.Sprintf("hall %d", s))
				continue
			}
			names = append(names, fmt.Sprintf(forms[rng.IntN(len(forms))], at.Row, at.Column))
			if owner[*at] {
				twins++
				continue
			}
			owner[*at], want[s] = true, *at
			last.Row, last.Column = max(last.Row, at.Row), max(last.Column, at.Column)
		}
		cells := (last.Row + 1) * (last.Column + 1)
		if 10*len(want) < 9*len(list) || last.Row == 0 || last.Column == 0 || 4*len(list) < cells {
			want = nil
		}
		if got := placesNamed(names); !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q: %v: want %v", names, got, want)
		}
		shown += indicator(want != nil)
	}
	if shown < 200 || shown > 800 || twins < 100 {
		t.Errorf("%d maps, %d states in places of others: want more", shown, twins)
	}
}
