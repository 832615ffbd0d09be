package prism_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
)

// TestRandomPrograms compares random programs, with expressions of all kinds, in PRISM's language and in JANI with what
// plain loops find in them.
func TestRandomPrograms(t *testing.T) {
	states, wrong := 0, make(map[string]int)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(23, seed))
		plain, text := drawProgram(rng)
		text = spaced(rng, text)
		for _, language := range []string{"PRISM", "JANI"} {
			p, err := prism.Read("m.prism", text, nil)
			if language == "JANI" {
				plain.rewards, plain.over = nil, nil
				plain.idle = seed%4 == 1
				plain.silent = seed%5 == 2 && len(plain.modules) > 1
				plain.staged = seed%3 == 0
				plain.indexed = seed%3 == 1
				plain.located = seed%3 == 2 && !slices.ContainsFunc(plain.variables[:len(plain.modules)],
					func(v variable) bool { return v.isBool || v.low != 0 || v.values != 3 })
				plain.goal = nil
				text = shuffled(rng, plain.jani())
				p, err = jani.Read("m.jani", []byte(text), nil)
			}
			if len(plain.starts()) == 0 {
				if err == nil || !strings.Contains(err.Error(), "the condition of initial states holds nowhere") {
					t.Fatalf("%v\n%s", err, text)
				}
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if plain.rewards == nil {
				p.Rewards = nil // those of transient variables
			}
			rows := plain.rows()
			if len(plain.wrong) > 0 {
				if !plain.indexed { // which makes values fit
					checkWrong(t, p, &plain, text)
					wrong[language]++
				}
				continue
			}
			states += checkProgram(t, p, &plain, rows, 1+int(seed%2), text)
			when := drawCondition(rng, plain.variables, 1)
			checkEntering(t, p, when, text)
			checkRest(t, p, when, text)
		}
	}
	if states < 1000 || wrong["PRISM"] < 10 || wrong["JANI"] < 10 {
		t.Errorf("%d states, %v models are wrong: want many", states, wrong)
	}
}

// checkWrong: one of the things that are wrong in a state is what ends an exploration. PRISM's language says where.
func checkWrong(t *testing.T, p *language.Program, plain *plainProgram, text string) {
	t.Helper()
	_, err := language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{Threads: 1})
	if p.File == "m.jani" {
		if err == nil || !strings.Contains(err.Error(), "would become") && !strings.Contains(err.Error(), "probabilit") &&
			!strings.Contains(err.Error(), "written by another") && !strings.Contains(err.Error(), "positive divisor") {
			t.Fatalf("%v\n%v\n%s", err, plain.wrong, text)
		}
		return
	}
	body := regexp.MustCompile(`//[^\n]*`).ReplaceAllStringFunc(text, func(comment string) string {
		return strings.Repeat(" ", utf8.RuneCountInString(comment))
	})
	begins := map[string][][]int{
		"command":    regexp.MustCompile(`\[[ab]?\]`).FindAllStringIndex(body, -1),
		"assignment": regexp.MustCompile(`x\d+'`).FindAllStringIndex(body, -1),
		"mod(5,":     regexp.MustCompile(`mod\(5,`).FindAllStringIndex(body, -1),
		"(true&":     regexp.MustCompile(`\(true&`).FindAllStringIndex(body, -1),
	}
	var all []string
	for wrong := range plain.wrong {
		what, message, _ := strings.Cut(wrong, ": ")
		kind, number, _ := strings.Cut(what, " ")
		n, _ := strconv.Atoi(number)
		all = append(all, "m.prism:"+place(body, begins[kind][n][0])+": "+message)
	}
	if err == nil || !slices.Contains(all, err.Error()) {
		t.Fatalf("got %v: want one of\n%s\n%s", err, strings.Join(all, "\n"), text)
	}
}

func checkProgram(t *testing.T, p *language.Program, plain *plainProgram, rows map[string][]string, threads int,
	text string) (states int) {
	t.Helper()
	f := &found{p: p}
	r, err := language.Explore(context.Background(), p, f, language.ExploreOptions{Threads: threads})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	f.result = r
	stuck := f.without(func(int) bool { return false })
	condition, err := p.Parse(`"deadlock"`)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := r.States.Satisfying(p.File, language.Label{When: condition})
	if err != nil || !slices.Equal(r.Deadlocks, stuck) || !slices.Equal(dead, stuck) {
		t.Fatalf("deadlocks %v, and %v by the condition, %v: want %v\n%s", r.Deadlocks, dead, err, stuck, text)
	}
	checkModel(t, f, plain.goal, text)
	checkLimits(t, f, text)
	condition, err = p.Parse(`"init"`)
	if err != nil {
		t.Fatal(err)
	}
	if plain.initial != nil && p.File == "m.prism" {
		after := textAt(text, p.InitialAt)
		within := text[:len(text)-len(after)]
		if !regexp.MustCompile(`^[^;]*endinit`).MatchString(after) || !regexp.MustCompile(`init\s[^;]*$`).MatchString(within) {
			t.Fatalf("the initial states stand at %v\n%s", p.InitialAt, text)
		}
	}
	initial, err := r.States.Satisfying(p.File, language.Label{When: condition})
	var starts []string
	for _, s := range r.Initial {
		starts = append(starts, fmt.Sprint(vector(f.name(s))))
	}
	want := fmt.Sprint(plain.starts())
	if err != nil || !slices.Equal(initial, r.Initial) || fmt.Sprint(starts) != want {
		t.Fatalf("begins in %v, and %v by the condition, %v: want %s\n%s", starts, initial, err, want, text)
	}
	got := f.rows(r.States.StateName)
	for x, lines := range rows {
		if !slices.Equal(got[x], lines) || len(got) != len(rows) {
			t.Fatalf("%d states, in %s\n%q: want %d states,\n%q\n%s", len(got), x, got[x], len(rows), lines, text)
		}
	}
	return len(rows)
}

// checkLimits: a limit of as many states or transitions as there are is kept, and one below that is not.
func checkLimits(t *testing.T, f *found, text string) {
	t.Helper()
	states, transitions := len(f.choices), 0
	for _, choices := range f.choices {
		for _, c := range choices {
			transitions += len(c.next)
		}
	}
	for _, o := range []language.ExploreOptions{{States: states}, {Transitions: transitions}, {States: states - 1},
		{Transitions: transitions - 1}} {
		var seen language.Progress
		o.Progress = func(now language.Progress) { seen = now }
		_, err := language.Explore(context.Background(), f.p, nothing{}, o)
		all := language.Progress{States: states, Explored: states, Transitions: transitions}
		if err == nil && seen != all {
			t.Fatalf("progress ends with %+v: want %+v\n%s", seen, all, text)
		}
		below := o.States == states-1 && states > 1 || o.Transitions == transitions-1 && transitions > 1
		if (err != nil) != below || err != nil && !strings.Contains(err.Error(), "the model is too large") {
			t.Fatalf("%d states and %d transitions, at most %d and %d: %v\n%s", states, transitions, o.States,
				o.Transitions, err, text)
		}
	}
}

// checkModel: the model of a program has what was found. Where no choice is, but a reward, there is a loop and the
// label of deadlocks, and several initial states have no distribution.
func checkModel(t *testing.T, f *found, goal *term, text string) {
	t.Helper()
	p, r := f.p, f.result
	m, err := p.Model(context.Background(), language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if m.Players != []int{1, 0, 2}[p.Kind] || !slices.Equal(m.PlayerNames, p.Players) {
		t.Fatalf("%d players, %v: want %v\n%s", m.Players, m.PlayerNames, p.Players, text)
	}
	if names := regexp.MustCompile(`rewards(?:\s|//[^\n]*\n)+"(\w+)"`).FindAllStringSubmatch(text, -1); names != nil {
		for k, r := range m.Rewards {
			if r.Name != names[k][1] {
				t.Fatalf("reward %d is %s: want %s\n%s", k, r.Name, names[k][1], text)
			}
		}
	}
	var looped []int32
	for s, choices := range f.choices {
		if m.Owner != nil && int(m.Owner[s]) != f.owners[s] {
			t.Fatalf("state %d belongs to player %d: want %d\n%s", s, m.Owner[s], f.owners[s], text)
		}
		earned := f.rewards[s]
		if len(choices) == 0 && slices.ContainsFunc(earned, func(x float64) bool { return x != 0 }) {
			looped = append(looped, int32(s))
			choices = []foundChoice{{0, []int32{int32(s)}, []float64{1}, make([]float64, len(earned)), nil}}
		}
		first := int(m.First[s])
		if got := int(m.First[s+1]) - first; got != len(choices) {
			t.Fatalf("state %d has %d choices: want %d\n%s", s, got, len(choices), text)
		}
		for i, c := range choices {
			from, end := m.Offset[first+i], m.Offset[first+i+1]
			same := slices.Equal(m.Target[from:end], c.next) && slices.Equal(m.Probability[from:end], c.probability) &&
				m.ChoiceActions.Name(first+i) == p.Actions[c.action]
			for k, x := range earned {
				for e := from; e < end; e++ {
					x -= m.Probability[e] * m.Rewards[k].Total(s, first+i, e)
				}
				same = same && math.Abs(x+c.mean()[k]) < 1e-9
			}
			if !same {
				t.Fatalf("state %d, choice %d: %+v\nof %+v\n%s", s, i, c, m, text)
			}
		}
	}
	var start []exchange.Start
	if len(r.Initial) == 1 {
		start = exchange.UniformStart(r.Initial)
	}
	for s := 0; goal != nil && s < m.States(); s++ {
		states, _ := m.Label("goal")
		if want := goal.of(vector(m.Described.StateName(s))); want != holds(slices.Contains(states, int32(s))) {
			t.Fatalf("the states %v are called goal, %s: want %d\n%s", states, m.Described.StateName(s), want, text)
		}
	}
	stuck, err := m.Described.Where(`"deadlock"`)
	if err != nil || !slices.Equal(stuck, r.Deadlocks) || m.Described.Deadlocks() != len(stuck) {
		t.Fatalf("%d deadlocks, %v, %v: want %v\n%s", m.Described.Deadlocks(), stuck, err, r.Deadlocks, text)
	}
	for i, v := range m.Described.Columns() {
		at, _ := strconv.Atoi(v.Name[1:])
		for s, x := range v.Ints {
			name := m.Described.StateName(s)
			if !strings.HasPrefix(strings.Split(name, ",")[i], v.Name+"=") || int(x) != vector(name)[at] {
				t.Fatalf("%s: variable %d, %s, is %d\n%s", name, i, v.Name, x, text)
			}
		}
	}
	if dead, _ := m.Label(exchange.Deadlock); !slices.Equal(dead, looped) || !slices.Equal(m.Start, start) {
		t.Fatalf("deadlocks %v, begins in %v: want %v and %v\n%s", dead, m.Start, looped, start, text)
	}
}

// checkEntering: a choice earns the probability to come into the states where a condition holds. It holds initially
// if it does in some initial state.
func checkEntering(t *testing.T, p *language.Program, when term, text string) {
	t.Helper()
	condition, err := p.Parse(when.text)
	if err != nil {
		t.Fatalf("%s: %v", when.text, err)
	}
	p.Entering("in", condition)
	f := explored(t, p, nil, text)
	begins, err := p.Initially(condition)
	if err != nil || begins != slices.ContainsFunc(f.result.Initial, func(s int32) bool {
		return when.of(vector(f.name(s))) > 0
	}) {
		t.Fatalf("%s holds initially: %t, %v\n%s", when.text, begins, err, text)
	}
	for s, choices := range f.choices {
		for i, c := range choices {
			got := c.mean()[len(c.rewards)-1]
			for k, to := range c.next {
				got -= c.probability[k] * float64(when.of(vector(f.name(to))))
			}
			if math.Abs(got) > 1e-9 {
				t.Fatalf("entering %s: %g too much for choice %d of state %d, %+v\n%s", when.text, got, i, s, c, text)
			}
		}
	}
	p.Rewards = p.Rewards[:len(p.Rewards)-1]
}

// checkRest: states that are asked to be at rest have neither choices nor rewards, and are no deadlocks.
func checkRest(t *testing.T, p *language.Program, rest term, text string) {
	t.Helper()
	var err error
	if p.Rest, err = p.Parse(rest.text); err != nil {
		t.Fatalf("%s: %v", rest.text, err)
	}
	f := explored(t, p, nil, text)
	rests := func(s int) bool { return rest.of(vector(f.name(int32(s)))) > 0 }
	for s, choices := range f.choices {
		if rests(s) && (len(choices) > 0 || slices.ContainsFunc(f.rewards[s], func(x float64) bool { return x != 0 })) {
			t.Fatalf("%s rests by %s, with the choices %v and rewards %v\n%s", f.name(int32(s)), rest.text, choices,
				f.rewards[s], text)
		}
	}
	if stuck := f.without(rests); !slices.Equal(f.result.Deadlocks, stuck) {
		t.Fatalf("at rest by %s: deadlocks %v, want %v\n%s", rest.text, f.result.Deadlocks, stuck, text)
	}
}

// TestRepeated: however many updates and commands there are, successors of a choice are listed once, and choices with
// the same action and successors.
func TestRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 3))
	for range 40 {
		most := 2 + rng.IntN(90)
		text := fmt.Sprintf("mdp module m x : [0..%d];\n", most)
		wide := map[string][]float64{"c": make([]float64, most+1), "d": make([]float64, most+1)}
		for _, action := range []string{"c", "d"} {
			n := 1 + rng.IntN(120)
			text += "[" + action + "] x<2 -> "
			for i := range n {
				to := rng.IntN(most + 1)
				wide[action][to] += 1 / float64(n)
				text += fmt.Sprintf("%s1/%d:(x'=%d)", []string{" + ", ""}[holds(i == 0)], n, to)
			}
			text += ";\n"
		}
		want := []string{"c", "d"}
		for range rng.IntN(120) {
			action, to := []string{"a", "b"}[rng.IntN(2)], rng.IntN(most+1)
			text += fmt.Sprintf("[%s] x<2 -> (x'=%d);\n", action, to)
			if name := fmt.Sprint(action, " 1 ", to); !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		f, err := explore(text+"endmodule", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		value := func(s int32) (x int) {
			fmt.Sscanf(f.name(s), "x=%d", &x)
			return x
		}
		for s, choices := range f.choices {
			var got []string
			for _, c := range choices {
				action := f.p.Actions[c.action]
				if wide[action] == nil {
					got = append(got, fmt.Sprint(action, " ", c.probability[0], " ", value(c.next[0])))
					continue
				}
				got = append(got, action)
				left := slices.Clone(wide[action])
				for i, s := range c.next {
					left[value(s)] -= c.probability[i]
					if slices.Index(c.next, s) < i {
						t.Fatalf("x=%d is listed twice\n%s", value(s), text)
					}
				}
				if slices.Max(left) > 1e-12 || slices.Min(left) < -1e-12 {
					t.Fatalf("%s lacks %v\n%s", action, left, text)
				}
			}
			slices.Sort(got)
			if value(int32(s)) < 2 && !slices.Equal(got, want) {
				t.Fatalf("state %d: choices %q: want %q\n%s", s, got, want, text)
			}
		}
	}
}
