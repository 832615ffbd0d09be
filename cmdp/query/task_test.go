package query

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
)

const taskHead = `format: cmdp/1
horizon: 4
states: 2
start: 0
returns: [reward, cost]
transitions:
  - {state: 0, action: go, next: {0: 0.5, 1: 0.5}, returns: [1, 2]}
  - {state: 0, action: stay, next: {0: 1}, returns: [-1, 0]}
`

func mustTask(t *testing.T, text string) (*Query, cmdp.Task) {
	t.Helper()
	q := parsed(t, taskHead+text)
	return q, q.Task
}

// mustParse reads a problem and compiles nothing.
func mustParse(t *testing.T, text string) *problem.Problem {
	t.Helper()
	p, err := problem.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTaskGoals(t *testing.T) {
	for _, c := range []struct {
		goal            string
		cost, objective float64 // at (3, 5)
	}{
		{"goal: {maximize: reward}", -3, 3},
		{"goal: {minimize: cost}", 5, 5},
		{"goal: {cost: {linear: {reward: -1, cost: 2}}}", 7, 7},
		{"goal: {cost: {max: [{linear: [1, 0], constant: 3}, {linear: [0, 1]}]}}", 6, 6},
		{"goal: {cost: {norm: {p: inf, center: [0, 7]}}}", 3, 3},
		{"goal: {cost: {distance: {halfspace: {normal: {cost: 1}, offset: 1}}}}", 4, 4},
		{"goal: {cost: {precomposed: {A: [[1, 1]], b: [2], cost: {squared: {}}}}}", 100, 100},
	} {
		p, task := mustTask(t, c.goal)
		v := []float64{3, 5}
		if got := task.Cost.Value(v); math.Abs(got-c.cost) > 1e-9 {
			t.Errorf("%s: cost %g: want %g", c.goal, got, c.cost)
		}
		if got := p.Objective(v); math.Abs(got-c.objective) > 1e-9 {
			t.Errorf("%s: objective %g: want %g", c.goal, got, c.objective)
		}
		if task.Target != nil {
			t.Errorf("%s: a target where there is none", c.goal)
		}
	}
	p, task := mustTask(t, "")
	if task.Cost != nil || task.Target != nil || !math.IsNaN(p.Objective([]float64{0, 0})) {
		t.Error("without goal and target: want neither cost nor target, and NaN as objective")
	}
	if _, task := mustTask(t, "goal: {maximize: reward}"); true {
		if _, ok := task.Cost.(cost.Affine); !ok {
			t.Errorf("the cost of a single return is a %T: want one that is known to be affine", task.Cost)
		}
	}
}

func TestTaskTargets(t *testing.T) {
	_, task := mustTask(t, "constraints: [{return: cost, at_most: 3}, {return: reward, at_least: 0, at_most: 2}]")
	box, ok := task.Target.(*geometry.BoundedBox)
	if !ok {
		t.Fatalf("constraints alone give a %T: want a box", task.Target)
	}
	if l, u := box.Lower(), box.Upper(); l[0] != 0 || l[1] != 0 || u[0] != 2 || u[1] != 3 {
		t.Errorf("the box is %v to %v: want [0 0] to [2 3]", l, u)
	}
	_, task = mustTask(t, "constraints: [{return: cost, at_most: 3}]\ntarget: {halfspace: {normal: {reward: -1}, "+
		"offset: -1}}")
	for _, c := range []struct {
		x  []float64
		in bool
	}{{[]float64{1, 3}, true}, {[]float64{4, 0}, true}, {[]float64{0.9, 1}, false}, {[]float64{2, 3.1}, false},
		{[]float64{4.1, 1}, false}} {
		if got := geometry.Contains(task.Target, c.x, 1e-9); got != c.in {
			t.Errorf("%v in the target: %v, want %v", c.x, got, c.in)
		}
	}
}

// TestTargetsByDefinition: returns lie in a target where they keep all sides of its parts, and so all of its limits.
func TestTargetsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 76))
	inside := 0
	for trial := range 60 {
		var parts []string
		var sides [][3]float64 // normal and offset
		number := func() float64 { return float64(rng.IntN(13)-6) / 4 }
		for range 1 + rng.IntN(2) {
			a, b, c := number(), number(), 1+number()/2
			if a == 0 && b == 0 {
				a = 1
			}
			switch rng.IntN(4) {
			case 0: // from both sides, one side or none
				var bounds [2][2]string
				for side, sign := range []float64{-1, 1} {
					for i := range bounds[side] {
						bounds[side][i] = "null"
						if rng.IntN(2) == 0 {
							x := sign * (0.5 + 2*rng.Float64())
							bounds[side][i] = fmt.Sprint(x)
							row := [3]float64{0, 0, sign * x}
							row[i] = sign
							sides = append(sides, row)
						}
					}
				}
				parts = append(parts, fmt.Sprintf("{box: {lower: [%s, %s], upper: [%s, %s]}}", bounds[0][0], bounds[0][1],
					bounds[1][0], bounds[1][1]))
			case 1:
				parts = append(parts, fmt.Sprintf("{halfspace: {normal: {reward: %g, cost: %g}, offset: %g}}", a, b, c))
				sides = append(sides, [3]float64{a, b, c})
			case 2:
				parts = append(parts, fmt.Sprintf("{polytope: {A: [[%g, %g], [1, 1]], b: [%g, 2]}}", a, b, c))
				sides = append(sides, [3]float64{a, b, c}, [3]float64{1, 1, 2})
			default:
				parts = append(parts, fmt.Sprintf("{affine: {A: [[%g, %g]], b: [%g]}}", a, b, c))
				sides = append(sides, [3]float64{a, b, c}, [3]float64{-a, -b, -c})
			}
		}
		text := "target: {intersection: [" + strings.Join(parts, ", ") + "]}"
		q, err := New(t.Context(), mustParse(t, taskHead+text), CompileOptions{})
		if err != nil {
			if !errors.Is(err, geometry.ErrEmpty) {
				t.Fatal(err)
			}
			continue
		}
		for range 20 {
			v := []float64{8*rng.Float64() - 4, 8 * rng.Float64()}
			q.Task.Target.Project(v, v) // half of them are in it, up to rounding
			if rng.IntN(2) == 0 {
				v[rng.IntN(2)] += rng.NormFloat64()
			}
			missed := max(-4-v[0], v[0]-4, -v[1], v[1]-8)
			for _, side := range sides {
				missed = max(missed, side[0]*v[0]+side[1]*v[1]-side[2])
			}
			if keeps := q.Keeps(v); math.Abs(missed) > 1e-7 && keeps != (missed < 0) || missed < 1e-10 && !keeps {
				t.Errorf("trial %d: %s keeps %v: %v, and it is missed by %g", trial, text, v, keeps, missed)
			} else if keeps {
				inside++
			}
			limits := max(-4-v[0], v[0]-4, -v[1], v[1]-8)
			for _, l := range q.Limits {
				limits = max(limits, q.Task.Constraints[l.row].Excess(v, v))
			}
			if math.Abs(missed) > 1e-7 && (limits < 1e-9) != (missed < 0) {
				t.Errorf("trial %d: %s is missed by %g at %v, and its limits by %g", trial, text, missed, v, limits)
			}
		}
	}
	if inside < 100 {
		t.Errorf("%d returns lie in their targets", inside)
	}
}

func TestEmptyTargets(t *testing.T) {
	p := mustParse(t, taskHead)
	three := 3.0
	p.Constraints = []problem.Limit{{Return: "cost", AtMost: &three}, {Return: "cost", AtLeast: new(3.5)}}
	_, err := New(t.Context(), p, CompileOptions{})
	var member *problem.MemberError
	if !errors.Is(err, geometry.ErrEmpty) || !errors.As(err, &member) || member.Path != "constraints[1]" {
		t.Errorf("got %v: want an empty target, because of constraints[1]", err)
	}
	p.Constraints = p.Constraints[:1]
	p.Target = &problem.Set{Point: []float64{0, 4}}
	_, err = New(t.Context(), p, CompileOptions{})
	if !errors.Is(err, geometry.ErrEmpty) || !errors.As(err, &member) || member.Path != "target" {
		t.Errorf("got %v: want an empty target", err)
	}
}

// TestBoundsTooLarge: a bound whose square is no number is refused where it stands, by what it is about.
func TestBoundsTooLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 9))
	for range 30 {
		p, bound := mustParse(t, taskHead), math.Pow(10, 95+213*rng.Float64())
		if rng.IntN(2) == 0 {
			bound = -bound
		}
		p.Constraints = []problem.Limit{{Return: "reward", AtLeast: new(-3.0)}, {Return: "cost"}}
		*[]**float64{&p.Constraints[1].AtLeast, &p.Constraints[1].AtMost}[rng.IntN(2)] = &bound
		_, err := New(t.Context(), p, CompileOptions{})
		var member *problem.MemberError
		switch {
		case math.Abs(bound) <= 1e100:
			if err != nil {
				t.Errorf("%g: %v", bound, err)
			}
		case !errors.As(err, &member) || member.Path != "constraints[1]" || !strings.Contains(err.Error(), "cost is limited"):
			t.Errorf("%g: %v: want constraints[1], and what is limited", bound, err)
		}
	}
}

// TestBoundsOutOfReach: a bound that no possible return keeps is no mistake; its
// target is the face of the bound, and distances to it are those to the bound.
func TestBoundsOutOfReach(t *testing.T) {
	for _, c := range []struct {
		constraints  string
		lower, upper []float64
	}{
		{"[{return: reward, at_least: 5}]", []float64{5, 0}, []float64{5, 8}},
		{"[{return: cost, at_most: -1}, {return: reward, at_most: 2}]", []float64{-4, -1}, []float64{2, -1}},
		{"[{return: cost, at_most: -1}, {return: cost, at_most: -2}]", []float64{-4, -2}, []float64{4, -2}},
		{"[{return: cost, at_least: -3, at_most: -1}]", []float64{-4, -1}, []float64{4, -1}},
	} {
		_, task := mustTask(t, "constraints: "+c.constraints)
		box, ok := task.Target.(*geometry.BoundedBox)
		if !ok || !slices.Equal(box.Lower(), c.lower) || !slices.Equal(box.Upper(), c.upper) {
			t.Errorf("%s: target %v to %v: want %v to %v", c.constraints, box.Lower(), box.Upper(), c.lower, c.upper)
		}
	}
	game := parsed(t, `format: cmdp/1
horizon: 1
states: 1
start: 0
returns: [reward]
transitions:
  - {state: 0, action: on, opponent: left, next: {0: 1}, returns: [1]}
  - {state: 0, action: on, opponent: right, next: {0: 1}, returns: [2]}
constraints: [{return: reward, at_most: -1}]
`)
	if distance := oracle.Distance(game.Task.Target, []float64{1}); distance != 2 {
		t.Errorf("a game whose bound is out of reach: the distance of 1 from the target is %g: want 2", distance)
	}
	p := mustParse(t, taskHead)
	for _, pair := range [][2]problem.Limit{
		{{Return: "cost", AtMost: new(-2.0)}, {Return: "cost", AtLeast: new(-1.0)}},
		{{Return: "cost", AtLeast: new(7.0)}, {Return: "cost", AtMost: new(6.0)}},
		{{Return: "cost", AtMost: new(8.0)}, {Return: "cost", AtLeast: new(9.0)}},
		{{Return: "cost", AtLeast: new(6.0), AtMost: new(5.0)}, {Return: "reward", AtMost: new(1.0)}},
	} {
		p.Constraints = pair[:]
		if _, err := New(t.Context(), p, CompileOptions{}); !errors.Is(err, geometry.ErrEmpty) {
			t.Errorf("%v: error %v: want a contradiction", pair, err)
		}
	}
}

// TestLimitsAgainstTheirIntervals draws up to five limits on two returns, equal and contradicting ones too, and
// compares the target with the interval that they leave of each return.
func TestLimitsAgainstTheirIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 41))
	p := mustParse(t, taskHead)
	empty := 0
	for trial := range 400 {
		p.Constraints = nil
		least, most := []float64{math.Inf(-1), math.Inf(-1)}, []float64{math.Inf(1), math.Inf(1)}
		for range 1 + rng.IntN(5) {
			i := rng.IntN(2)
			c := problem.Limit{Return: p.Returns[i]}
			at := float64(rng.IntN(13) - 5)
			sides := rng.IntN(4) // both of 3 are an equality
			if sides != 0 {
				c.AtLeast = new(at)
				least[i] = max(least[i], at)
			}
			if sides != 1 {
				most[i] = min(most[i], at)
				c.AtMost = new(at)
			}
			p.Constraints = append(p.Constraints, c)
		}
		q, err := New(t.Context(), p, CompileOptions{})
		if least[0] > most[0] || least[1] > most[1] {
			empty++
			if !errors.Is(err, geometry.ErrEmpty) {
				t.Errorf("trial %d: %v to %v: error %v: want a contradiction", trial, least, most, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("trial %d: %v to %v: %v", trial, least, most, err)
			continue
		}
		lower, upper := []float64{-4, 0}, []float64{4, 8} // of the returns that are possible
		for i := range lower {
			near := func(x float64) float64 { return min(max(x, least[i]), most[i]) }
			lower[i], upper[i] = near(lower[i]), near(upper[i])
		}
		box := q.Task.Target.(*geometry.BoundedBox)
		if !slices.Equal(box.Lower(), lower) || !slices.Equal(box.Upper(), upper) {
			t.Errorf("trial %d: target %v to %v: want %v to %v", trial, box.Lower(), box.Upper(), lower, upper)
		}
		for range 10 {
			v, in, keeps := []float64{float64(rng.IntN(15) - 6), float64(rng.IntN(15) - 6)}, true, true
			for i, x := range v {
				in = in && x >= least[i] && x <= most[i]
			}
			for _, row := range q.Task.Constraints {
				keeps = keeps && row.Normal[0]*v[0]+row.Normal[1]*v[1] <= row.Offset
			}
			if geometry.Contains(q.Task.Whole, v, 0) != in || keeps != in {
				t.Errorf("trial %d: %v keeps the limits: %v, by the rows %v: want %v", trial, v, !in, keeps, in)
			}
		}
	}
	if empty < 40 || empty > 360 {
		t.Errorf("%d contradictions of 400: want some of both", empty)
	}
}

func TestBoxOfDiscountedReturns(t *testing.T) {
	box := parsed(t, strings.Replace(taskHead, "horizon: 4", "discount: 0.75", 1)).Task.Box
	if l, u := box.Lower(), box.Upper(); l[0] != -4 || l[1] != 0 || u[0] != 4 || u[1] != 8 {
		t.Errorf("the box is %v to %v: want [-4 0] to [4 8]", l, u)
	}
}

// TestReturnsOutOfRange: returns that no set can be made of are named, with their place in the file.
func TestReturnsOutOfRange(t *testing.T) {
	p := mustParse(t, strings.Replace(taskHead, "[1, 2]", "[1, 1e100]", 1))
	_, err := New(t.Context(), p, CompileOptions{})
	const want = "test.yaml:5:10: returns: return cost: its possible values go from 0 to 4e+100: want at most 1e+100"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v: want %s", err, want)
	}
}

// TestBoxOfAbsorbedReturns compares the box with the exact extremes, found by
// going through all deterministic policies.
func TestBoxOfAbsorbedReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		const states, actions = 3, 2
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			states+1)
		var next [states][actions][states]float64
		var r [states][actions]float64
		for s := range states {
			for a := range actions {
				left := 1.0
				row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.NormFloat64()}}
				for u := range states {
					p := left * rng.Float64() * 0.9
					left -= p
					next[s][a][u] = p
					row.Next = append(row.Next, cmdp.Transition{Next: u, Probability: p})
				}
				row.Next = append(row.Next, cmdp.Transition{Next: states, Probability: left})
				r[s][a] = row.Returns[0]
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		least, most := math.Inf(1), math.Inf(-1)
		for policy := range 1 << states {
			var v [states]float64
			for range 5000 {
				for s := range states {
					a := policy >> s & 1
					x := r[s][a]
					for u := range states {
						x += next[s][a][u] * v[u]
					}
					v[s] = x
				}
			}
			least, most = min(least, v[0]), max(most, v[0])
		}
		q, err := New(t.Context(), &problem.Problem{Model: m, Returns: []string{"r"}}, CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		box := q.Task.Box
		l, u := box.Lower()[0], box.Upper()[0]
		if l > least+1e-12 || u < most-1e-12 || l < least-1e-6 || u > most+1e-6 {
			t.Fatalf("the box is [%g, %g]: want just around [%g, %g]", l, u, least, most)
		}
	}
}

// TestOpponentsPlay plays every policy and compares the actions taken.
func TestOpponentsPlay(t *testing.T) {
	const head = "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [r, q]\nconstraints: [{return: r, " +
		"at_most: 0}]\ntransitions:\n" +
		"- {state: 0, action: 0, opponent: left, next: {0: 1}}\n- {state: 0, action: 0, opponent: right, next: {0: " +
		"1}, returns: [1, 0]}\nopponent: "
	for text, want := range map[string][]float64{
		"{policy: uniform}":                          {0.5, 0.5},
		"{policy: best-response}":                    {0, 1},
		"{policy: adversarial}":                      {0, 1},
		"{policy: scripted, actions: [right, left]}": {0, 1},
		"{policy: replay, log: [[1]]}":               {0, 1},
		"{policy: fixed, probabilities: [{state: 0, opponent: right, probability: 0.25}, {state: 0, opponent: left, " +
			"probability: 0.75}]}": {0.75, 0.25},
		"{policy: random-start, episodes: 1, then: {policy: best-response}}":                               {0.5, 0.5},
		"{policy: switching, period: 1, opponents: [{policy: scripted, actions: [1]}, {policy: uniform}]}": {0, 1},
	} {
		p := parsed(t, head+text+"\n")
		o, err := p.Problem.Opponent.Build(p.Problem, p.Task.Target)
		if err != nil {
			t.Fatal(err)
		}
		view := &cmdp.View{Policy: cmdp.Uniform{Shape: p.Model.Shape()}, Direction: []float64{1, 0},
			Average: []float64{0, 0}}
		if err := o.Begin(view); err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 2)
		if policy, ok := cmdp.Markov(o); ok {
			policy.Distribution(got, 0, 0)
		} else {
			got[o.Choose(nil, 0, 0)] = 1
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s plays %v: want %v", text, got, want)
		}
	}
}

// TestConflictOfWorstEpisodes: what a limit has to give beside one on the worst episodes is the least over all
// thresholds. The first action may have a share x with −0.4 x − 0.7 (0.01 − x) ≤ −0.6·0.01, so x = 1/300, and
// the other 0.3 (1 − x) = 0.299.
func TestConflictOfWorstEpisodes(t *testing.T) {
	q := parsed(t, `format: cmdp/1
horizon: 1
states: 1
start: 0
returns: [delay, price]
transitions:
  - {state: 0, action: cheap, next: {0: 1}, returns: [-0.4, 0]}
  - {state: 0, action: dear, next: {0: 1}, returns: [-0.7, 0.3]}
constraints:
  - {return: price, at_most: 0.2}
  - {return: delay, at_most: -0.6, cvar: 0.01}
`)
	q, err := q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clashes, err := q.Conflict(t.Context(), exact.Options{})
	if err != nil || len(clashes) != 2 {
		t.Fatalf("conflict %v, error %v: want both limits", clashes, err)
	}
	for _, c := range clashes {
		if c.Limit.Scope == OnAverage && !(math.Abs(c.Needed-0.299) <= 1e-9 && math.Abs(c.Give-0.099) <= 1e-9) {
			t.Errorf("%s: needed %g, gives %g: want 0.299, 0.099", c.Limit.Name, c.Needed, c.Give)
		}
	}
}
