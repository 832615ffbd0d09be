package gymnasium_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/gymnasium"
)

func read(text string) (*exchange.Model, error) {
	return gymnasium.Read(strings.NewReader(text), int64(len(text)))
}

func TestRoundTrip(t *testing.T) {
	has := exchangetest.All
	has.Intervals = false
	has.Game, has.Chain, has.BranchActions, has.Actions, has.StateRewards, has.Names, has.TextNames = false, false,
		false, false, false, false, false
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		m := exchangetest.Random(rng, has)
		if m.Choices() == 0 {
			continue
		}
		var b bytes.Buffer
		if err := gymnasium.Write(&b, m); err != nil {
			t.Fatal(i, err)
		}
		if whole := wholeNumbers.FindString(b.String()); whole != "" && len(m.Rewards) > 0 {
			t.Fatalf("%d: %s has a whole number: want it with a point, as Python has the type by that", i, whole)
		}
		again, err := read(b.String())
		if err != nil {
			t.Fatal(i, err, b.String())
		}
		m.JoinBranchRewards()
		m.Labels, again.Labels = nil, nil
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, b.String())
		}
	}
}

// wholeNumbers are probabilities or rewards of outcomes that are written like states.
var wholeNumbers = regexp.MustCompile(`\[-?\d+, \d+,|, \d+, \[?-?\d+[,\]]`)

// TestForms: states and actions may stand in any order, what leads on nowhere and is led to may be left out, as may be
// the names that rewards have anyway, and numbers may be written in other ways.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 9))
	for i := range 500 {
		has := exchangetest.Has{BranchRewards: true, SkewedStart: true, Rests: true, Twins: true}
		m := exchangetest.Random(rng, has)
		if m.Choices() == 0 {
			continue
		}
		for k := range m.Rewards { // as they are called without names
			m.Rewards[k].Name = "reward" + strconv.Itoa(k)
			if len(m.Rewards) == 1 {
				m.Rewards[k].Name = "reward"
			}
		}
		var b bytes.Buffer
		if err := gymnasium.Write(&b, m); err != nil {
			t.Fatal(i, err)
		}
		var head map[string]json.RawMessage
		var table map[int]map[int]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &head); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(head["P"], &table); err != nil {
			t.Fatal(err)
		}
		var states []string
		for s, choices := range table {
			var actions []string
			for a, outcomes := range choices {
				actions = append(actions, fmt.Sprintf("%q: %s", strconv.Itoa(a), outcomes))
			}
			if len(actions) > 0 || rng.IntN(2) == 0 || !slices.Contains(m.Target, int32(s)) {
				states = append(states, fmt.Sprintf("\"%d\": {%s}", s, strings.Join(actions, ", ")))
			}
		}
		text := "{" + strings.Join(states, ",\n") + "}"
		if form := rng.IntN(3); form > 0 || len(m.Rewards) == 0 {
			text = `"P": ` + text + `, "initial_state_distrib": ` + string(head["initial_state_distrib"])
			if form == 1 || len(m.Rewards) == 0 {
				text = `"rewards": ` + string(head["rewards"]) + ", " + text
			}
			text = "{" + text + "}"
		} else {
			m.Start = nil
		}
		text = strings.ReplaceAll(text, ".0,", []string{".0,", ",", ".00,", "e0 ,"}[rng.IntN(4)])
		again, err := read(text)
		if err != nil {
			t.Fatal(i, err, text)
		}
		m.JoinBranchRewards()
		m.Labels, again.Labels = nil, nil
		if err := exchangetest.Same(m, again); err != nil {
			t.Fatal(i, err, text)
		}
	}
}

// TestTerminated compares random tables with what each outcome of them says: where one is terminated, the episode is
// over, in a state of its own unless nothing more happens and is earned in the one that it names. Written again, those
// outcomes are terminated that lead to where it is over, by a label or for lack of choices.
func TestTerminated(t *testing.T) {
	type outcome struct {
		next  int
		earns float64
		over  bool
	}
	rng := rand.New(rand.NewPCG(64, 4))
	for range 500 {
		states := 1 + rng.IntN(4)
		all, rests := make([][]outcome, states), make([]bool, states)
		table := make(map[string]map[string][][4]any)
		for s := range all {
			rests[s] = true
			still := rng.IntN(2) == 0
			key, of := strconv.Itoa(s), make(map[string][][4]any)
			for a := range 1 + rng.IntN(2) {
				o := outcome{rng.IntN(states), float64(max(0, rng.IntN(4)-2)), rng.IntN(3) == 0}
				if still {
					o.next = s
				}
				all[s] = append(all[s], o)
				rests[s] = rests[s] && o.next == s && o.earns == 0
				outcomes := [][4]any{{1, o.next, o.earns, o.over}}
				if rng.IntN(3) == 0 { // what never happens is no matter
					never := outcome{rng.IntN(states), 0, rng.IntN(3) == 0}
					all[s] = append(all[s], never)
					outcomes = append(outcomes, [4]any{0, never.next, 0, never.over})
				}
				of[strconv.Itoa(a)] = outcomes
			}
			table[key] = of
		}
		text, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		m, err := read(string(text))
		if err != nil {
			t.Fatal(err)
		}
		over := make([]bool, states+1)
		e := 0
		for s := range all {
			for _, o := range all[s] {
				want := o.next
				if o.over && !rests[o.next] {
					want = states
				}
				over[want] = over[want] || o.over
				if got := int(m.Target[e]); got != want {
					t.Fatalf("outcome %d leads to %d: want %d\n%s", e, got, want, text)
				}
				e++
			}
		}
		label, _ := m.Label(gymnasium.Terminated)
		for s := range m.States() {
			if slices.Contains(label, int32(s)) != over[s] {
				t.Fatalf("terminated are %v: want %v\n%s", label, over, text)
			}
		}
		checkOver(t, m, over)
		for s := range m.States() { // whether a label says so or not, it is over without choices
			over[s] = m.First[s] == m.First[s+1]
		}
		m.Labels = nil
		if rng.IntN(2) == 0 {
			s := rng.Int32N(int32(m.States()))
			over[s], m.Labels = true, []exchange.Label{{Name: gymnasium.Terminated, States: []int32{s}}}
		}
		checkOver(t, m, over)
	}
}

// checkOver compares the marks of a table that is written with where episodes are over.
func checkOver(t *testing.T, m *exchange.Model, over []bool) {
	t.Helper()
	var b bytes.Buffer
	if err := gymnasium.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	var written struct{ P map[int]map[int][][4]any }
	if err := json.Unmarshal(b.Bytes(), &written); err != nil {
		t.Fatal(err)
	}
	for _, actions := range written.P {
		for _, outcomes := range actions {
			for _, o := range outcomes {
				if next := int(o[1].(float64)); o[3] != over[next] {
					t.Fatalf("an outcome to %d is terminated: %v, want %v\n%s", next, o[3], over[next], b.String())
				}
			}
		}
	}
}

// lake is a row of three cells as FrozenLake has them: cell 1 is a hole, where the
// episode has ended, and going right from cell 0 may slip.
const lake = `{"0": {"0": [[1.0, 0, 0.0, false]], "1": [[0.5, 1, 0.0, true], [0.25, 0, 0, false], [0.25, 0, 0, false]]},
	"1": {"0": [[1.0, 1, 0, true]], "1": [[1.0, 1, 0, true]]}}`

func TestReadsFrozenLake(t *testing.T) {
	m, err := read(lake)
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{
		Players: 1, First: []int32{0, 2, 4}, Offset: []int{0, 1, 4, 5, 6}, Target: []int32{0, 1, 0, 0, 1, 1},
		Probability: []float64{1, 0.5, 0.25, 0.25, 1, 1},
		Labels:      []exchange.Label{{Name: "terminated", States: []int32{1}}},
		Rewards:     []exchange.Reward{{Name: "reward"}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

// TestEndsEpisodes reads a table in which the state that a terminated transition
// leads to goes on, as in Taxi and CliffWalking.
func TestEndsEpisodes(t *testing.T) {
	m, err := read(`{"P": {"1": {"1": [[1, 0, -1, false]], "3": [[0.5, 0, 20, true], [0.5, 1, -1, false]]}, "0": {"0": [[1.0, 1, -1, false]]}},
		"initial_state_distrib": [0.0, 1.0], "rewards": ["fare"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &exchange.Model{
		Players: 1, First: []int32{0, 1, 3, 3}, Offset: []int{0, 1, 2, 4}, Target: []int32{1, 0, 2, 1},
		Probability:   []float64{1, 1, 0.5, 0.5},
		Start:         []exchange.Start{{State: 1, Probability: 1}},
		ChoiceActions: &exchange.Actions{Names: []string{"0", "1", "3"}, Of: []int32{0, 1, 2}},
		Labels:        []exchange.Label{{Name: "terminated", States: []int32{2}}},
		Rewards:       []exchange.Reward{{Name: "fare", Branch: []float64{-1, -1, 20, -1}}},
	}
	if err := exchangetest.Same(want, m); err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{lake, "", "the file: the file ends too early"},
		{lake, "[]", "the file: got \"[\": want {"},
		{lake, "{}", "the table is empty"},
		{lake, lake + "x", "more text after the table"},
		{lake, lake[:len(lake)-1], "the file ends too early"},
		{`"1": {"0": [[1.0, 1`, `"x": {"0": [[1.0, 1`, `got "x": want the number of a state`},
		{`"1": {"0": [[1.0, 1`, `"01": {"0": [[1.0, 1`, `got "01": want the number of a state`},
		{`"1": {"0": [[1.0, 1`, `"2000000000": {"0": [[1.0, 1`, `got "2000000000": want the number of a state`},
		{`"1": {"0": [[1.0, 1`, `"0": {"0": [[1.0, 1`, "state 0 is given twice"},
		{`{"0": [[1.0, 1`, `{"1": [[1.0, 1`, "state 1, action 1 is given twice"},
		{`{"0": [[1.0, 1`, `{"-1": [[1.0, 1`, `state 1: got "-1": want the number of an action`},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0, 0.0]`,
			"state 0, action 0: 3 values: want [probability, next state, reward, terminated]"},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0.5, 0.0, false]`, `got "0.5": want the number of the next state`},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0, 0.0, 0]`, `terminated: got "0": want true or false`},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0, 0.0, null]`, "want true or false"},
		{`[1.0, 0, 0.0, false]`, `["1", 0, 0.0, false]`, "probability: "},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0, NaN, false]`, "state 0, action 0: invalid character"},
		{`[1.0, 0, 0.0, false]`, `[1.0, 0, 1e999, false]`, "reward: \"1e999\" is not a number, or too large"},
		{`[1.0, 0, 0.0, false]`, `[-1.0, 0, 0.0, false]`, "-1 is not a probability"},
		{`[0.5, 1, 0.0, true]`, `[0.5, 1, [0, 1], true]`, "2 rewards: want 1 as before"},
		{lake, `{"P": ` + lake + `, "P": {}}`, "P is given twice"},
		{lake, `{"P": ` + lake + `, "Q": {}}`, `unknown key "Q"`},
		{lake, `{"P": ` + lake + `, "initial_state_distrib": [0, 0, 1]}`, "3 probabilities: want at most 2"},
		{lake, `{"P": ` + lake + `, "initial_state_distrib": [0, 0.5]}`, "sum to 0.5"},
		{lake, `{"P": ` + lake + `, "rewards": ["a", "b"]}`, "rewards: 2 names: want 1"},
		{lake, `{"P": {"0": {"0": [[1, 0, 2, false]]}}, "rewards": []}`, "rewards: 0 names: want 1"},
	} {
		if !strings.Contains(lake, c.old) {
			t.Fatal(c.old)
		}
		if _, err := read(strings.Replace(lake, c.old, c.new, 1)); err == nil ||
			!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "gymnasium: ") {
			t.Errorf("%.60s: got %v: want %s", c.new, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(lake)
	f.Add(`{"P": {"0": {"1": [[1, 0, [-1, 2e3], true]]}}, "initial_state_distrib": [1], "rewards": ["a", "b"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := read(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := gymnasium.Write(&b, m); err != nil {
			t.Fatal(err)
		}
		again, err := read(b.String())
		if err != nil {
			t.Fatal(err, b.String())
		}
		if again.Branches() != m.Branches() || len(again.Rewards) != len(m.Rewards) {
			t.Fatalf("%d branches are %d again: %s", m.Branches(), again.Branches(), b.String())
		}
	})
}
