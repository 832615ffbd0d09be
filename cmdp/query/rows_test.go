package query

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/geometry"
)

// TestTaskNamesItsConstraints compares the half-spaces of a target, their names and bounds
// with what is written down by hand, sides that no return can break left out.
func TestTaskNamesItsConstraints(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // name, kind, return, normal and offset
	}{
		{"goal: {maximize: reward}", nil},
		{"constraints: [{return: cost, at_least: 0.5, at_most: 3}, {return: reward, at_least: -0.25}]", []string{
			"cost ≥ 0.5 at_least cost [0 -1] -0.5", "cost ≤ 3 at_most cost [0 1] 3",
			"reward ≥ -0.25 at_least reward [-1 0] 0.25"}},
		{"constraints: [{return: cost, at_most: 3}]\ntarget: {halfspace: {normal: {reward: -1, cost: 2}, offset: 3}}",
			[]string{
				"cost ≤ 3 at_most cost [0 1] 3", "-reward + 2 cost ≤ 3 target  [-1 2] 3"}},
		{"target: {intersection: [{box: {lower: [0.125, null]}}, {polytope: {A: [[1, 1]], b: [4]}}, {affine: {A: " +
			"[[0, 1]], b: [1]}}]}", []string{
			"reward ≥ 0.125 target reward [-1 0] -0.125", "reward + cost ≤ 4 target  [1 1] 4",
			"cost ≤ 1 target cost [0 1] 1", "cost ≥ 1 target cost [0 -1] -1"}},
		// The simplex has sides of its own; cost ≥ 0 holds for all returns.
		{"target: {simplex: {total: 2}}", []string{
			"reward + cost ≤ 2 target  [1 1] 2", "-reward - cost ≤ -2 target  [-1 -1] -2",
			"reward ≥ 0 target reward [-1 0] 0"}},
		{"target: {ball: {center: [0, 0], radius: 1}}", nil},
	} {
		q, task := mustTask(t, c.text)
		rows := q.Rows()
		if len(rows) != len(task.Constraints) {
			t.Fatalf("%s: %d limits of %d rows", c.text, len(rows), len(task.Constraints))
		}
		var got []string
		for i, k := range task.Constraints {
			l := rows[i]
			got = append(got, fmt.Sprintf("%s %s %s %v %v", k.Name, l.Kind(), l.Return, addZero(k.Normal), k.Offset+0))
			if l.Name != k.Name || l.Return != "" && math.Abs(l.Bound) != math.Abs(k.Offset) ||
				l.Return == "" && l.Bound != k.Offset {
				t.Errorf("%s: %s has the bound %g and the row %v", c.text, l.Name, l.Bound, k)
			}
		}
		for i := range c.want {
			if i >= len(got) || len(got) != len(c.want) || got[i] != c.want[i] {
				t.Errorf("%s: %q\nwant %q", c.text, got, c.want)
				break
			}
		}
		if len(c.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q: want none", c.text, got)
		}
	}
}

func addZero(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x + 0
	}
	return out
}

// TestTaskKeepsWhatWasAskedFor: the whole of a target is not cut with the box of possible
// returns, which for a target beside the box is a face of it.
func TestTaskKeepsWhatWasAskedFor(t *testing.T) {
	_, task := mustTask(t, "constraints: [{return: cost, at_most: -1}]")
	for _, c := range []struct {
		v           []float64
		whole, cuts bool
	}{
		{[]float64{0, -1}, true, true},
		{[]float64{0, -2}, true, false},
		{[]float64{100, -1}, true, false},
		{[]float64{0, 0}, false, false},
	} {
		if in := geometry.Contains(task.Whole, c.v, 1e-12); in != c.whole {
			t.Errorf("%v in what is asked for: %v", c.v, in)
		}
		if in := geometry.Contains(task.Target, c.v, 1e-12); in != c.cuts {
			t.Errorf("%v in the target: %v", c.v, in)
		}
	}
	if lower, upper := task.Box.Lower(), task.Box.Upper(); lower[0] != -4 || upper[0] != 4 || lower[1] != 0 ||
		upper[1] != 8 {
		t.Errorf("box %v to %v: want -4 to 4 and 0 to 8", lower, upper)
	}
}

// TestNamesKeepTheirPlaces takes limits away, moves others and adds some: limits that are written alike go on being
// named by where they stand in the file.
func TestNamesKeepTheirPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 6))
	for trial := range 40 {
		var list []string
		for range 3 + rng.IntN(5) {
			list = append(list, []string{"{return: cost, at_most: 3}", "{return: reward, at_most: 2}",
				"{return: reward, at_least: -2}"}[rng.IntN(3)])
		}
		sides := strings.Repeat("{box: {upper: [null, 3]}}, {polytope: {A: [[1, 2.0001], [1, 2.0002]], b: [9, 9]}}, ", trial%3)
		if sides != "" {
			sides = "\ntarget: {intersection: [" + sides + "]}"
		}
		q, _ := mustTask(t, "constraints: ["+strings.Join(list, ", ")+"]"+sides)
		for range 3 {
			bound := Bound{Return: "reward", Kind: []string{AtLeast, AtMost}[rng.IntN(2)], Value: math.Inf(1)}
			if rng.IntN(2) == 0 {
				bound.Value = 1 - 2*float64(rng.IntN(2))
			}
			var err error
			q, err = q.With(t.Context(), Change{Bounds: []Bound{bound}})
			if err != nil && !errors.Is(err, geometry.ErrEmpty) {
				t.Fatal(err)
			}
			names := make(map[string]bool)
			for _, l := range q.Limits {
				if names[l.Name] {
					t.Errorf("trial %d: two limits are called %s", trial, l.Name)
				}
				names[l.Name] = true
				_, after, numbered := strings.Cut(l.Name, " (constraints[")
				place, _ := strconv.Atoi(strings.TrimSuffix(after, "])"))
				text := fmt.Sprintf("{return: %s, %s: %g}", l.Return, l.Kind(), l.Bound)
				numbered = numbered && l.Scope != OfTarget
				if numbered && (place >= len(list) || list[place] != text) {
					t.Errorf("trial %d: %s of the file with %v", trial, l.Name, list)
				}
			}
		}
	}
}
