package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// randomGame returns rows for a random game: states with different numbers of
// actions of both players, or none, and rows for single steps.
func randomGame(t *testing.T, rng *rand.Rand) (*Problem, []cmdp.Row) {
	t.Helper()
	states, horizon := 1+rng.IntN(4), 1+rng.IntN(4)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states)
	var rows []cmdp.Row
	for s := range states {
		agent, opponent := rng.IntN(4), 1+rng.IntN(3)
		for i := range agent * opponent {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: i / opponent, Opponent: i % opponent,
				Next:    []cmdp.Transition{{Next: rng.IntN(states), Probability: 1}},
				Returns: []float64{rng.NormFloat64(), rng.NormFloat64()}}
			rows = append(rows, row)
			if rng.IntN(5) == 0 {
				row.Step, row.Returns = 1+rng.IntN(horizon), []float64{1, 2}
				rows = append(rows, row)
			}
		}
	}
	for _, row := range rows {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return &Problem{Name: "random", Model: m, Returns: []string{"r0", "r1"}}, rows
}

func TestRandomGames(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	games := 0
	for range 300 {
		p, rows := randomGame(t, rng)
		if p.Model.Choices() == 0 {
			continue
		}
		roundTrip(t, p)
		if p.Model.Shape().Game() {
			games++
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		text := fmt.Sprintf("format: cmdp/1\nname: random\nhorizon: %d\nstates: %d\nstart: 0\nreturns: [r0, "+
			"r1]\ntransitions:\n",
			p.Model.Horizon(), p.Model.States())
		for _, row := range rows {
			line := rowText(row)
			if row.Opponent > 0 || rng.IntN(2) == 0 { // action 0 may be left out
				line = strings.Replace(line, ", ", fmt.Sprintf(", opponent: %d, ", row.Opponent), 1)
			}
			text += "- " + line + "\n"
		}
		if q := mustParse(t, text); difference(p, q) != "" {
			t.Fatalf("the game read differs from the one built in its %s:\n%s", difference(p, q), text)
		}
	}
	if games < 100 {
		t.Errorf("%d of the models are games: too few for a test", games)
	}
}

// TestOnePlayerGame reads a process as a game whose opponent has one action: it is
// the same model.
func TestOnePlayerGame(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		p, rows := randomProblem(t, rng)
		text := headOf(p) + "opponent: {policy: uniform}\ntransitions:\n"
		for _, row := range rows {
			text += "- " + strings.Replace(rowText(row), ", ", ", opponent: 0, ", 1) + "\n"
		}
		if len(rows) == 0 {
			continue
		}
		q := mustParse(t, text)
		q.Opponent = nil
		if d := difference(p, q); d != "" || q.Model.Shape().Game() {
			t.Fatalf("differs in its %s:\n%s", d, text)
		}
	}
}

// TestNamesOfPairs checks names and numbers of both players' actions.
func TestNamesOfPairs(t *testing.T) {
	p, err := Read("testdata/good/game-steps.json")
	if err != nil {
		t.Fatal(err)
	}
	sh := p.Model.Shape()
	got := ""
	for h := range 3 {
		for a := range sh.Actions(h, 0) {
			for b := range sh.OpponentActions(h, 0) {
				got += fmt.Sprintf("%s%s%v ", p.ActionName(h, 0, a), p.OpponentName(h, 0, b),
					p.Model.Kernel(h).Plain(p.Model.Dim()).Returns[sh.Joint(h, 0, a, b)])
			}
		}
	}
	if want := "yp1 yq2 xq3 zp4 "; got != want {
		t.Errorf("pairs and returns are %s: want %s", got, want)
	}
	if a, b := p.ActionName(2, 1, 0), p.OpponentName(2, 1, 0); a != "1" || b != "1" {
		t.Errorf("names are %s and %s: want 1 and 1", a, b)
	}
}

// TestParseOpponent reads opponents by themselves.
func TestParseOpponent(t *testing.T) {
	o, err := ParseOpponent("--opponent", "best-response")
	if err != nil || o.Policy != "best-response" {
		t.Errorf("got %v, %v: want best-response", o, err)
	}
	o, err = ParseOpponent("--opponent",
		"{policy: random-start, episodes: 3, then: {policy: best-response, direction: [1, 0]}}")
	if err != nil || o.Episodes != 3 || o.Then.Direction.Along == nil {
		t.Errorf("got %v, %v: want what was written", o, err)
	}
	for text, want := range map[string]string{
		"bestresponse": `--opponent: unknown policy bestresponse, did you mean "best-response"?`,
		"fixed": "--opponent: fixed alone does not say enough: probabilities is missing: the " +
			"policy fixed needs it",
		"{policy: switching}":         "--opponent:1:1: opponents is missing: the policy switching needs it",
		"{policy: uniform, perod: 1}": `--opponent:1:19: perod: unknown key, did you mean "period"? want policy, probabilities, direction, opponents, period, then, episodes, actions or log`,
		"{policy: uniform":            "--opponent:1:1: ",
		"": "--opponent: nothing is given: want uniform, fixed, best-response, " +
			"adversarial, switching, random-start, scripted or replay",
	} {
		if _, err := ParseOpponent("--opponent", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v: want %s", text, err, want)
		}
	}
}

// TestActionsOfOtherSteps writes a state whose actions at one step are not those
// at another, in an order that names do not tell.
func TestActionsOfOtherSteps(t *testing.T) {
	const head = "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [r]\ntransitions:\n"
	for _, rows := range [][]string{
		{"action: 0, step: 1", "action: 1, step: 2"},
		{"action: 1, step: 1", "action: 0, step: 2"},
		{"action: y, opponent: p, step: 1", "action: y, opponent: q, step: 1", "action: x, opponent: q, step: 2"},
		{"action: y, opponent: p, step: 2", "action: y, opponent: q, step: 2", "action: x, opponent: q, step: 1"},
	} {
		text := head
		for _, row := range rows {
			text += "- {state: 0, " + row + ", next: {0: 1}}\n"
		}
		roundTrip(t, mustParse(t, text))
	}
}

// TestFixedOpponentsByDefinition: what a fixed opponent does at a step is what its rows of that step say or, without
// any for a state, those of every step.
func TestFixedOpponentsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 11))
	compared := 0
	for range 200 {
		p, _ := randomGame(t, rng)
		sh := p.Model.Shape()
		if !sh.Game() {
			continue
		}
		o := &OpponentSpec{Policy: "fixed"}
		want := make([][][]float64, sh.Horizon())
		for h := range want {
			want[h] = make([][]float64, sh.States())
		}
		draw := func(s, step int) []float64 {
			n := sh.OpponentActions(0, s)
			probs, left := make([]float64, n), 8
			for b := range probs {
				k := rng.IntN(left + 1)
				if b == n-1 {
					k = left
				}
				left -= k
				probs[b] = float64(k) / 8
				o.Probabilities = append(o.Probabilities, OpponentChoice{State: Label(p.StateName(s)),
					Opponent: Label(p.OpponentName(0, s, b)), Step: step, Probability: probs[b]})
			}
			return probs
		}
		for s := range sh.States() {
			if p.offered(0, s) == 0 {
				continue
			}
			always := draw(s, 0)
			for h := range want {
				if want[h][s] = always; rng.IntN(2) == 0 {
					want[h][s] = draw(s, h+1)
				}
			}
		}
		rng.Shuffle(len(o.Probabilities), func(i, j int) {
			o.Probabilities[i], o.Probabilities[j] = o.Probabilities[j], o.Probabilities[i]
		})
		policy, err := o.fixed(p)
		if err != nil {
			t.Fatal(err)
		}
		for h := range want {
			for s, of := range want[h] {
				got := make([]float64, len(of))
				if policy.Distribution(got, h, s); len(of) > 0 && !slices.Equal(got, of) {
					t.Errorf("step %d, state %d: %v: want %v of %v", h+1, s, got, of, o.Probabilities)
				}
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d states were compared", compared)
	}
}

// TestScriptsNameOneAction: the name of an action in a script has to stand for the same number in all states that offer
// it. Numbers may be names too, and are numbers where nothing has that name.
func TestScriptsNameOneAction(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 12))
	counts := make(map[string]int)
	for range 300 {
		alphabet := [][]string{{"x", "y", "z"}, {"1", "0", "2"}, {"1", "y", "0"}, {"2", "0", "z"}}[rng.IntN(4)]
		script := alphabet[0]
		text := "format: cmdp/1\nhorizon: 2\nstates: 3\nstart: 0\nreturns: [r]\nopponent: {policy: scripted, actions: [" +
			script + "]}\ntransitions:\n"
		numbers, most := make(map[int]bool), 0
		for s := range 3 {
			names := slices.Clone(alphabet)
			rng.Shuffle(3, func(i, j int) { names[i], names[j] = names[j], names[i] })
			names = names[:1+rng.IntN(3)]
			most = max(most, len(names))
			for _, name := range names {
				text += fmt.Sprintf("  - {state: %d, action: go, opponent: %s, next: {%d: 1}}\n", s, name, rng.IntN(3))
			}
			sorted := slices.Sorted(slices.Values(names))
			if strings.Join(sorted, "") == "012"[:len(sorted)] {
				names = sorted
			}
			if b := slices.Index(names, script); b >= 0 {
				numbers[b] = true
			}
		}
		if n, err := strconv.Atoi(script); err == nil && len(numbers) == 0 && n < most {
			numbers[n] = true
		}
		p, err := Parse("script.yaml", []byte(text), nil)
		counts[fmt.Sprint(script, err == nil)]++
		if (err == nil) != (len(numbers) == 1) {
			t.Fatalf("error %v: the action has the numbers %v\n%s", err, numbers, text)
		}
		if err != nil {
			continue
		}
		o, err := p.Opponent.Build(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b := o.Choose(nil, 1, 0); !numbers[b] {
			t.Fatalf("action %d is played: want %v\n%s", b, numbers, text)
		}
	}
	for _, of := range []string{"xtrue", "xfalse", "1true", "1false", "2true"} {
		if counts[of] < 10 {
			t.Errorf("%v", counts)
		}
	}
}

// TestExportedActions: where one player chooses, the choices have the names of its actions for other tools, whether
// both players' actions have names, those of one, or none; so they do in the problem that is made of it again.
func TestExportedActions(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 14))
	for range 100 {
		text := "format: cmdp/1\nhorizon: 2\nstates: 3\nstart: 0\nreturns: [r]\nopponent: {policy: uniform}\ntransitions:\n"
		named := [2]bool{rng.IntN(2) == 0, rng.IntN(2) == 0}
		var owners [3]int
		var names [3][]string
		for s := range 3 {
			choices := 1 + rng.IntN(3)
			if choices > 1 {
				owners[s] = rng.IntN(2)
			}
			for a := range choices {
				pair := [2]string{"0", "0"}
				pair[owners[s]] = strconv.Itoa(a)
				for i := range pair {
					if named[i] {
						pair[i] = string(byte('x'-3*i-s)) + pair[i]
					}
				}
				names[s] = append(names[s], pair[owners[s]])
				text += fmt.Sprintf("  - {state: %d, action: %s, opponent: %s, next: {%d: 1}}\n", s, pair[0], pair[1], rng.IntN(3))
			}
		}
		p := mustParse(t, text)
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Import(m, Time{Horizon: 2})
		if err != nil {
			t.Fatal(err)
		}
		for s, of := range names {
			for a, want := range of {
				got := strconv.Itoa(a)
				if m.ChoiceActions != nil {
					got = m.ChoiceActions.Name(int(m.First[s]) + a)
				}
				back := [](func(h, s, a int) string){again.ActionName, again.OpponentName}[owners[s]](0, s, a)
				if got != want || back != want || p.Shape().Game() && int(m.Owner[s]) != owners[s] {
					t.Fatalf("choice %d of state %d is %s of player %d, and %s again: want %s of player %d\n%s", a, s, got,
						m.Owner[s], back, want, owners[s], text)
				}
			}
		}
	}
}

// TestDirections: an opponent may push along a vector only as the best response, and away from a target only if there
// is one: constraints are one too.
func TestDirections(t *testing.T) {
	const rows = "transitions:\n  - {state: 0, action: go, opponent: x, next: {0: 1}}\n" +
		"  - {state: 0, action: go, opponent: y, next: {0: 1}}\n"
	for _, wanted := range []string{"", "constraints: [{return: r, at_most: 1}]\n", "target: {point: [1]}\n",
		"goal: {maximize: r}\n"} {
		for _, policy := range []string{"best-response", "adversarial", "uniform"} {
			for _, direction := range []string{"", "target", "learner", "[1]", "{r: -1}", "[1, 2]", "away"} {
				text := "format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [r]\n" + wanted + "opponent: {policy: " + policy
				if direction != "" {
					text += ", direction: " + direction
				}
				target := strings.HasPrefix(wanted, "constraints") || strings.HasPrefix(wanted, "target")
				good := direction == "" || policy != "uniform" && (direction == "learner" || direction == "target" && target ||
					policy == "best-response" && (direction == "[1]" || direction == "{r: -1}"))
				if _, err := Parse("p.yaml", []byte(text+"}\n"+rows), nil); good != (err == nil) {
					t.Errorf("good: %v, but %v\n%s", good, err, text)
				}
			}
		}
	}
}

// TestOpponentsFollowTheirDirection: opponents that respond to the agent, or play the game, do it along the direction
// that the file says: that of the learner, a fixed one, or that from the target to the average; so they do in their
// turn where others play too.
func TestOpponentsFollowTheirDirection(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 3))
	for range 200 {
		p, _ := randomGame(t, rng)
		if p.Model.Choices() == 0 || !p.Model.Shape().Game() {
			continue
		}
		view := &cmdp.View{Episode: rng.IntN(3), Policy: cmdp.Uniform{Shape: p.Model.Shape()},
			Direction: []float64{rng.NormFloat64(), rng.NormFloat64()},
			Average:   []float64{2 * rng.NormFloat64(), 2 * rng.NormFloat64()}}
		spec := &OpponentSpec{Policy: []string{"adversarial", "best-response"}[rng.IntN(2)]}
		along, target := view.Direction, geometry.Compact(nil)
		if rng.IntN(3) > 0 {
			ball, err := geometry.NewBall([]float64{1, 0}, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			target = ball
			away := []float64{view.Average[0] - 1, view.Average[1]}
			if view.Episode > 0 && floats.Norm(away, 2) > 0.5 {
				along = away
			}
			spec.Direction.Word = []string{"", "target"}[rng.IntN(2)]
		}
		switch {
		case rng.IntN(3) == 0:
			spec.Direction, along = Direction{Word: "learner"}, view.Direction
		case spec.Policy == "best-response" && rng.IntN(2) == 0:
			along = []float64{rng.NormFloat64(), rng.NormFloat64()}
			spec.Direction = Direction{Along: &Coefficients{Named: map[string]float64{"r0": along[0], "r1": along[1]}}}
		}
		// Among others it plays in its turn, and they play at random.
		whole, turn, random := spec, true, &OpponentSpec{Policy: "uniform"}
		switch n := 1 + rng.IntN(2); rng.IntN(3) {
		case 0:
			whole, turn = &OpponentSpec{Policy: "random-start", Episodes: n, Then: spec}, view.Episode >= n
		case 1:
			whole = &OpponentSpec{Policy: "switching", Period: n, Opponents: []*OpponentSpec{random, spec}}
			turn = view.Episode/n == 1
		}
		o, err := whole.Build(p, target)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Begin(view); err != nil {
			t.Fatal(err)
		}
		if turn {
			checkOpponent(t, p.Model, o, spec, view.Policy, along)
			continue
		}
		policy, _ := cmdp.Markov(o)
		probs := make([]float64, p.Model.Shape().OpponentActions(0, 0))
		if policy.Distribution(probs, 0, 0); floats.Min(probs) != floats.Max(probs) {
			t.Errorf("episode %d of %+v: %v: want chance", view.Episode, whole, probs)
		}
	}
}

// checkOpponent compares the agent's cost along a direction with the value of the game, or with the most that an
// opponent makes of it against the agent's policy.
func checkOpponent(t *testing.T, m *cmdp.Model, o cmdp.Opponent, spec *OpponentSpec, agent cmdp.Policy,
	along []float64) {
	t.Helper()
	policy, ok := cmdp.Markov(o)
	game, err := cmdp.NewMinimax(m)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want, _, err := game.Solve(t.Context(), along)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := game.AgentResponse(t.Context(), along, policy)
	if spec.Policy == "best-response" {
		returns := make([]float64, 2)
		cmdp.NewEvaluator(m).ReturnsAgainst(returns, agent, policy)
		got = floats.Dot(along, returns)
		want, _, err = game.OpponentResponse(t.Context(), along, agent)
	}
	if err != nil || math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
		t.Errorf("%s along %v, %+v: %g: want %g, error %v", spec.Policy, along, spec.Direction, got, want, err)
	}
}

// TestFixedOpponentsAtSteps: rows for every step may name what the opponent is offered at some steps alone, if the
// others have rows of their own or nothing to choose.
func TestFixedOpponentsAtSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 13))
	for range 50 {
		text := "format: cmdp/1\nhorizon: 3\nstates: 2\nstart: 0\nreturns: [r]\ntransitions:\n" +
			"  - {state: 1, action: go, opponent: z, next: {0: 1}}\n"
		o := &OpponentSpec{Policy: "fixed", Probabilities: []OpponentChoice{{State: "0", Opponent: "x", Probability: 0.25},
			{State: "0", Opponent: "y", Probability: 0.75}}}
		for h, offer := range rng.Perm(3) { // x and y at one step, v and w at one, and nothing at one
			names := [][]string{{"x", "y"}, {"v", "w"}, nil}[offer]
			if offer == 1 {
				o.Probabilities = append(o.Probabilities,
					OpponentChoice{State: "0", Opponent: "v", Step: h + 1, Probability: 0.625},
					OpponentChoice{State: "0", Opponent: "w", Step: h + 1, Probability: 0.375})
			}
			rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			for _, name := range names {
				text += fmt.Sprintf("  - {state: 0, action: go, opponent: %s, step: %d, next: {1: 1}}\n", name, h+1)
			}
		}
		p := mustParse(t, text)
		policy, err := o.fixed(p)
		if err != nil {
			t.Fatalf("%v\n%s%+v", err, text, o.Probabilities)
		}
		for h := range 3 {
			got := make([]float64, p.offered(h, 0))
			if len(got) > 0 {
				policy.Distribution(got, h, 0)
			}
			for b, q := range got {
				name := p.OpponentName(h, 0, b)
				if want := map[string]float64{"x": 0.25, "y": 0.75, "v": 0.625, "w": 0.375}[name]; q != want {
					t.Fatalf("step %d: %s has %g: want %g\n%s%+v", h+1, name, q, want, text, o.Probabilities)
				}
			}
		}
	}
}
