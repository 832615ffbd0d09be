package exchange_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/exchangetest"

	"gonum.org/v1/gonum/floats"
)

func small() *exchange.Model {
	return &exchange.Model{
		Players: 1, Start: []exchange.Start{{State: 0, Probability: 1}},
		First: []int32{0, 3, 4}, Offset: []int{0, 2, 3, 4, 5}, Target: []int32{0, 1, 1, 0, 1},
		Probability: []float64{0.5, 0.5, 1, 1, 1},
		Rewards: []exchange.Reward{{Name: "r", State: []float64{1, 0}, Choice: []float64{0.5, 0, 0, 0},
			Branch: []float64{2, -4, 0, 0, 0}}},
	}
}

func TestCheck(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for want, change := range map[string]func(m *exchange.Model){
		"3 players":                      func(m *exchange.Model) { m.Players = 3 },
		"1 names of players":             func(m *exchange.Model) { m.Players, m.PlayerNames = 2, []string{"a"} },
		"no states":                      func(m *exchange.Model) { m.First = []int32{0} },
		"4 probabilities: want 5":        func(m *exchange.Model) { m.Probability = m.Probability[1:] },
		"go from 0 to 3: want 0 to 4":    func(m *exchange.Model) { m.First[2] = 3 },
		"state 0: choices end before":    func(m *exchange.Model) { m.First = []int32{0, -1, 4} },
		"3 choices in a Markov chain":    func(m *exchange.Model) { m.Players = 0 },
		"1 owners of states":             func(m *exchange.Model) { m.Owner = []int32{0} },
		"state 1: player 1: want 0 to 0": func(m *exchange.Model) { m.Owner = []int32{0, 1} },
		"initial state 2":                func(m *exchange.Model) { m.Start[0].State = 2 },
		"want ascending order":           func(m *exchange.Model) { m.Start = append(m.Start, m.Start[0]) },
		"NaN is not a probability":       func(m *exchange.Model) { m.Start[0].Probability = nan },
		"initial states sum to 0.5":      func(m *exchange.Model) { m.Start[0].Probability = 0.5 },
		"variable x: 1 values": func(m *exchange.Model) {
			m.Variables = []exchange.Variable{{Name: "x", Ints: []int64{1}}}
		},
		"do not go from 0 to 5":          func(m *exchange.Model) { m.Offset[4] = 4 },
		"state 0, choice 1: no branches": func(m *exchange.Model) { m.Offset[1] = 3 },
		"actions of 1 choices: want 4": func(m *exchange.Model) {
			m.ChoiceActions = &exchange.Actions{Names: []string{"a"}, Of: []int32{0}}
		},
		"action 1 of number 0": func(m *exchange.Model) {
			m.ChoiceActions = &exchange.Actions{Names: []string{"a"}, Of: []int32{1, 0, 0, 0}}
		},
		"state 1, choice 0: leads to state -1": func(m *exchange.Model) { m.Target[4] = -1 },
		"state 0, choice 2: 2 is not a":        func(m *exchange.Model) { m.Probability[3] = 2 },
		`label "": the name is empty`:          func(m *exchange.Model) { m.Labels = []exchange.Label{{}} },
		`label "a": state 2`: func(m *exchange.Model) {
			m.Labels = []exchange.Label{{Name: "a", States: []int32{0, 2}}}
		},
		`reward "r": the name is empty or given`: func(m *exchange.Model) {
			m.Rewards = append(m.Rewards, m.Rewards[0])
		},
		"reward r: 1 values":      func(m *exchange.Model) { m.Rewards[0].State = []float64{1} },
		"reward r, branch 4: NaN": func(m *exchange.Model) { m.Rewards[0].Branch[4] = nan },
	} {
		m := small()
		change(m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want %s", err, want)
		}
	}
}

// TestDamagedModels spoils one thing in random models, of which each place but its first is drawn too. What is wrong
// with a branch is told with its state and its choice there.
func TestDamagedModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	numbers := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	changes := map[string]func(m *exchange.Model) (want string){
		"label twice": func(m *exchange.Model) string {
			l := &m.Labels[rng.IntN(len(m.Labels))]
			at := rng.IntN(len(l.States))
			l.States = slices.Insert(slices.Clone(l.States), at, l.States[at])
			return fmt.Sprintf("label %q: state %d", l.Name, l.States[at])
		},
		"label out of range": func(m *exchange.Model) string {
			l := &m.Labels[rng.IntN(len(m.Labels))]
			no := []int32{-1, int32(m.States())}[rng.IntN(2)]
			l.States = slices.Insert(slices.Clone(l.States), rng.IntN(len(l.States)+1), no)
			return fmt.Sprintf("label %q: state ", l.Name)
		},
		"start twice": func(m *exchange.Model) string {
			at := rng.IntN(len(m.Start))
			m.Start = slices.Insert(m.Start, at, m.Start[at])
			return fmt.Sprintf("initial state %d after", m.Start[at].State)
		},
		"target": func(m *exchange.Model) string {
			e := rng.IntN(m.Branches())
			m.Target[e] = []int32{-1, int32(m.States())}[rng.IntN(2)]
			return placeOf(m, e) + "leads to"
		},
		"probability": func(m *exchange.Model) string {
			e := rng.IntN(m.Branches())
			m.Probability[e] = append([]float64{-0.1, 1.1}, numbers...)[rng.IntN(5)]
			return placeOf(m, e)
		},
		"reward": func(m *exchange.Model) string {
			r := &m.Rewards[rng.IntN(len(m.Rewards))]
			for _, of := range [][]float64{r.State, r.Choice, r.Branch} {
				if len(of) > 0 {
					of[rng.IntN(len(of))] = numbers[rng.IntN(3)]
				}
			}
			return "reward " + r.Name
		},
		"a reward at rest": func(m *exchange.Model) string {
			r := &m.Rewards[rng.IntN(len(m.Rewards))]
			for s := range m.States() {
				if m.First[s] == m.First[s+1] {
					r.State = make([]float64, m.States())
					r.State[s] = []float64{1, -1}[rng.IntN(2)]
					return fmt.Sprintf("state %d has no choices, but the reward %s", s, r.Name)
				}
			}
			return ""
		},
	}
	maps.Copy(changes, damagedParts(rng))
	kinds, counts := slices.Sorted(maps.Keys(changes)), make(map[string]int)
	for range 3000 {
		m := exchangetest.Random(rng, exchangetest.All)
		if err := cmp.Or(m.Check(), m.CheckRests()); err != nil {
			t.Fatal(err)
		}
		if len(m.Labels) == 0 || len(m.Rewards) == 0 || m.Branches() == 0 {
			continue
		}
		what, want := "", ""
		for want == "" {
			what = kinds[rng.IntN(len(kinds))]
			want = changes[what](m)
		}
		counts[what]++
		if err := cmp.Or(m.Check(), m.CheckRests()); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v: want %s", what, err, want)
		}
	}
	for what := range changes {
		if counts[what] < 10 {
			t.Errorf("%s: %d models", what, counts[what])
		}
	}
}

// damagedParts spoils bounds, owners, actions, names, and the lengths and ends of what models consist of.
func damagedParts(rng *rand.Rand) map[string]func(m *exchange.Model) (want string) {
	ids := func(a *exchange.Actions, what string) string {
		if a == nil {
			return ""
		}
		i := rng.IntN(len(a.Of))
		a.Of[i] = []int32{-1, int32(len(a.Names))}[rng.IntN(2)]
		return fmt.Sprintf("action %d of number %d of the %s", a.Of[i], i, what)
	}
	return map[string]func(m *exchange.Model) string{
		"intervals": func(m *exchange.Model) string {
			if m.Lower == nil {
				return ""
			}
			e := rng.IntN(m.Branches())
			m.Lower[e], m.Upper[e] = 0.7, 0.6
			return placeOf(m, e)
		},
		"bounds missing": func(m *exchange.Model) string {
			if m.Lower == nil {
				return ""
			}
			of := []*[]float64{&m.Lower, &m.Upper}[rng.IntN(2)]
			*of = (*of)[1:]
			return fmt.Sprintf("%d lower and %d upper bounds", len(m.Lower), len(m.Upper))
		},
		"owner": func(m *exchange.Model) string {
			if m.Players < 2 {
				return ""
			}
			s := rng.IntN(m.States())
			m.Owner[s] = []int32{-1, 2}[rng.IntN(2)]
			return fmt.Sprintf("state %d: player %d", s, m.Owner[s])
		},
		"actions of choices":  func(m *exchange.Model) string { return ids(m.ChoiceActions, "choices") },
		"actions of branches": func(m *exchange.Model) string { return ids(m.BranchActions, "branches") },
		"no branches": func(m *exchange.Model) string {
			c := rng.IntN(m.Choices())
			place := placeOf(m, m.Offset[c])
			if c == m.Choices()-1 {
				return ""
			}
			m.Offset[c+1] = m.Offset[c]
			return place + "no branches"
		},
		"variable": func(m *exchange.Model) string {
			if len(m.Variables) < 2 {
				return ""
			}
			v := &m.Variables[rng.IntN(2)]
			v.Ints = append(slices.Clone(v.Ints), 0)[:len(v.Ints)+2*rng.IntN(2)-1]
			return fmt.Sprintf("variable %s: %d values", v.Name, len(v.Ints))
		},
		"start": func(m *exchange.Model) string {
			m.Start[rng.IntN(len(m.Start))].Probability *= []float64{0.9, 1 - 1e-6}[rng.IntN(2)]
			return "the probabilities of initial states sum to "
		},
		"length of a reward": func(m *exchange.Model) string {
			r := &m.Rewards[rng.IntN(len(m.Rewards))]
			i := rng.IntN(3)
			of := []*[]float64{&r.State, &r.Choice, &r.Branch}[i]
			*of = make([]float64, []int{m.States(), m.Choices(), m.Branches()}[i]+2*rng.IntN(2)-1)
			return fmt.Sprintf("reward %s: %d values: want one for each %s", r.Name, len(*of),
				[]string{"state", "choice", "branch"}[i])
		},
		"names twice": func(m *exchange.Model) string {
			if rng.IntN(2) == 0 {
				m.Labels = append(m.Labels, exchange.Label{Name: "end"}, m.Labels[rng.IntN(len(m.Labels))])
				return fmt.Sprintf("label %q: the name is empty or given twice", m.Labels[len(m.Labels)-1].Name)
			}
			m.Rewards = append(m.Rewards, exchange.Reward{Name: "last"}, m.Rewards[rng.IntN(len(m.Rewards))])
			return fmt.Sprintf("reward %q: the name is empty or given twice", m.Rewards[len(m.Rewards)-1].Name)
		},
	}
}

// placeOf says where a branch is, as messages do.
func placeOf(m *exchange.Model, e int) string {
	for s := range m.States() {
		for c := m.First[s]; c < m.First[s+1]; c++ {
			if m.Offset[c] <= e && e < m.Offset[c+1] {
				return fmt.Sprintf("state %d, choice %d: ", s, c-m.First[s])
			}
		}
	}
	return "none"
}

// TestRewardsStay: whichever parts a reward has, what is earned with a branch stays where parts are joined, and what is
// earned with a choice on average where means are taken.
func TestRewardsStay(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	joined := 0
	for range 300 {
		m := exchangetest.Random(rng, exchangetest.Has{Rests: true, Twins: true})
		parts := func(n int) (values []float64) {
			if rng.IntN(2) == 0 {
				return nil
			}
			how, x := rng.IntN(4), float64(rng.IntN(9)-4)
			for range n {
				switch values = append(values, x); how {
				case 0:
					x = float64(rng.IntN(9) - 4)
				case 1: // which is another number all the same
					x = math.Nextafter(x, 9)
				}
			}
			return values
		}
		m.Rewards = []exchange.Reward{{Name: "a", State: parts(m.States()), Choice: parts(m.Choices()),
			Branch: parts(m.Branches())}}
		r := &m.Rewards[0]
		earned := func() (each, means []float64) {
			for s := range m.States() {
				for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
					mean := 0.0
					for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
						each = append(each, r.Total(s, c, e))
						mean += m.Probability[e] * r.Total(s, c, e)
					}
					means = append(means, math.Round(1e9*mean))
				}
			}
			return each, means
		}
		each, means := earned()
		before := r.Branch != nil
		m.JoinBranchRewards()
		if got, _ := earned(); !slices.Equal(got, each) {
			t.Fatalf("joined to %+v: branches earn %v: want %v", *r, got, each)
		}
		if before && r.Branch == nil {
			joined++
		}
		m.MeanRewards()
		if _, got := earned(); r.Branch != nil || !slices.Equal(got, means) {
			t.Fatalf("means %+v: choices earn %v: want %v", *r, got, means)
		}
	}
	if joined < 20 {
		t.Errorf("%d rewards were joined", joined)
	}
}

// TestFaults: the first 50 faults are told, each on a line, and how many others there are.
func TestFaults(t *testing.T) {
	for n := range 60 {
		var f exchange.Faults
		var want []string
		for i := range n {
			f.Add(i%3, i, 2*i, nil)
			f.Add(i%3, i, 2*i, fmt.Errorf("fault %d", i))
			want = append(want, fmt.Sprintf("line %d: state %d, choice %d: fault %d", i%3, i, 2*i, i))
			want[i] = strings.TrimPrefix(want[i], "line 0: ")
		}
		if n > 50 {
			want = append(want[:50], fmt.Sprintf("and %d more", n-50))
		}
		if err := f.Err(); (err == nil) != (n == 0) || err != nil && err.Error() != strings.Join(want, "\n") {
			t.Errorf("%d faults: %v\nwant %s", n, err, strings.Join(want, "\n"))
		}
	}
}

// TestSumsAndNormalize: the first choice is named whose probabilities do not sum to 1. Those are divided by their sum
// that miss 1 by no more than is allowed, above and below, and all others stay.
func TestSumsAndNormalize(t *testing.T) {
	const most = 0.2
	rng := rand.New(rand.NewPCG(27, 4))
	named := 0
	for range 300 {
		m := exchangetest.Random(rng, exchangetest.Has{Rests: true})
		var before, after string // the first choices that miss 1
		want, changed := slices.Clone(m.Probability), 0
		for s := range m.States() {
			for c := m.First[s]; c < m.First[s+1]; c++ {
				sum := []float64{1, 1, 1, 1 - 1e-11, 1 + 1e-7, 0.9, 1.1, 0.5, 1.5}[rng.IntN(9)]
				name := fmt.Sprintf("state %d, choice %d: the probabilities sum to %.4g", s, c-m.First[s], sum)
				if miss := math.Abs(sum - 1); miss > most {
					before, after = cmp.Or(before, name), cmp.Or(after, name)
				} else if miss > exchange.Tolerance {
					before = cmp.Or(before, name)
					changed++
				}
				for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
					m.Probability[e] *= sum
					if miss := math.Abs(sum - 1); miss > most || miss <= exchange.Tolerance {
						want[e] = m.Probability[e]
					}
				}
			}
		}
		check := func(want string) {
			t.Helper()
			if err := m.CheckSums(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v: want %q", err, want)
			}
			named += len(want)
		}
		check(before)
		if n := m.Normalize(most); n != changed || !floats.EqualApprox(m.Probability, want, 1e-15) {
			t.Fatalf("%d choices became %v: want %d, %v", n, m.Probability, changed, want)
		}
		check(after)
	}
	if named == 0 {
		t.Error("all sums are 1")
	}
}

func TestMeanRewards(t *testing.T) {
	m := small()
	m.MeanRewards()
	if r := m.Rewards[0]; r.Branch != nil || !slices.Equal(r.Choice, []float64{0.5 + 0.5*2 - 0.5*4, 0, 0, 0}) {
		t.Error(r)
	}
}

func TestDistinctActions(t *testing.T) {
	m := small()
	for _, c := range []struct{ given, want []string }{
		{[]string{"a", "b", "c", "a"}, []string{"a", "b", "c", "a"}},
		{[]string{"a", "a", "a", "a"}, []string{"a", "a/2", "a/3", "a"}},
		{[]string{"", "", "", ""}, nil},
		{[]string{"", "", "a", ""}, []string{"0", "1", "a", "0"}},
		{[]string{"", "0", "", ""}, []string{"0/2", "0", "2", "0"}},
		{[]string{"a", "a", "a/2", ""}, []string{"a", "a/3", "a/2", "0"}},
		{[]string{"0", "1", "2", "0"}, nil},
	} {
		var names exchange.ActionNames
		for _, name := range c.given {
			names.Add(name)
		}
		m.ChoiceActions = names.Actions()
		if got := m.DistinctActions(); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q: want %q", c.given, got, c.want)
		}
	}
}

// TestStateNames: states are called by the values of their variables, or by the text of a single one.
func TestStateNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 11))
	for range 200 {
		m := exchangetest.Random(rng, exchangetest.Has{Names: true, TextNames: true})
		names := m.StateNames()
		if (names == nil) != (m.Variables == nil) {
			t.Fatalf("names %q of %+v", names, m.Variables)
		}
		for s, name := range names {
			var parts []string
			for _, v := range m.Variables {
				value := ""
				switch {
				case v.Text != nil:
					value = v.Text[s]
				case v.Bool:
					value = fmt.Sprint(v.Ints[s] == 1)
				default:
					value = fmt.Sprint(v.Ints[s])
				}
				if v.Value(s) != value {
					t.Fatalf("state %d of %+v has the value %s", s, v, v.Value(s))
				}
				parts = append(parts, v.Name+"="+value)
			}
			want := strings.Join(parts, ",")
			if len(parts) == 1 {
				want = strings.TrimPrefix(want, "name=")
			}
			if name != want {
				t.Fatalf("state %d is called %q: want %q", s, name, want)
			}
		}
	}
}

// TestDrawnActions: the choices of a state have different names. The first one of a given name keeps it, what has none
// is called by its number, and where that is taken there is a number behind it.
func TestDrawnActions(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 7))
	for range 500 {
		m := exchangetest.Random(rng, exchangetest.Has{Rests: true})
		var given exchange.ActionNames
		numbered := true
		for s := range m.States() {
			for c := range int(m.First[s+1] - m.First[s]) {
				name := []string{"", strconv.Itoa(c), "a", "a/2", "0", "1", "1/2", "b"}[rng.IntN([]int{2, 8}[m.States()%2])]
				numbered = numbered && (name == "" || name == strconv.Itoa(c))
				given.Add(name)
			}
		}
		m.ChoiceActions = given.Actions()
		names := m.DistinctActions()
		if (names == nil) != numbered {
			t.Fatalf("%q are called %q", m.ChoiceActions, names)
		}
		for s := range m.States() {
			of := make(map[string]int)
			for c := int(m.First[s]); c < int(m.First[s+1]) && !numbered; c++ {
				of[m.ChoiceActions.Name(c)]++
			}
			used, first := make(map[string]bool), make(map[string]bool)
			for c := int(m.First[s]); c < int(m.First[s+1]) && !numbered; c++ {
				name := m.ChoiceActions.Name(c)
				keeps, number := name != "" && !first[name], strconv.Itoa(c-int(m.First[s]))
				first[name] = true
				if name == "" {
					name, keeps = number, of[number] == 0
				}
				behind, ok := strings.CutPrefix(names[c], name+"/")
				n, _ := strconv.Atoi(behind)
				if used[names[c]] || keeps && names[c] != name || !keeps && !(ok && n >= 2 && of[names[c]] == 0) {
					t.Fatalf("state %d: choice %d of %v, %q, is called %q", s, c, m.First, name, names)
				}
				used[names[c]] = true
			}
		}
	}
}

// TestBounds: a choice has bounds if one of its branches has an interval, whichever, and is refused if they leave no
// distribution.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 5))
	m := exchange.Empty(1)
	for c := range 1000 {
		var lower, upper []float64
		low, high, order := 0.0, 0.0, true
		branches := 1 + rng.IntN(4)
		for i := range branches {
			l, u := float64(rng.IntN(11))/10, float64(rng.IntN(11))/10
			if rng.IntN(2) == 0 {
				u = l
			}
			if i == branches-1 && rng.IntN(2) == 0 { // so that they sum to 1 but for rounding
				u = math.Round(10*max(0, 1-high)) / 10
				l = min(l, u)
			}
			m.AppendBranch(0, l, u)
			lower, upper = append(lower, l), append(upper, u)
			low, high, order = low+l, high+u, order && l <= u
		}
		some := !slices.Equal(lower, upper)
		if err := m.EndChoice(); (err != nil) != (some && !(order && low <= 1+1e-9 && high >= 1-1e-9)) {
			t.Fatalf("%v to %v: %v", lower, upper, err)
		}
		x, y := m.Bounds(c)
		if !some {
			lower, upper = nil, nil
		}
		if !slices.Equal(x, lower) || !slices.Equal(y, upper) {
			t.Fatalf("bounds %v to %v: want %v to %v", x, y, lower, upper)
		}
	}
}

// drawLoops draws a model in which many choices are loops, and few rewards are not 0. gone tells the states whose loop
// stands for having no choices.
func drawLoops(rng *rand.Rand) (m *exchange.Model, label []int32, gone []bool) {
	m = exchange.Empty(1)
	states := 1 + rng.IntN(5)
	gone = make([]bool, states)
	for s := range states {
		loop := rng.IntN(3)
		for range min(2, rng.IntN(4)) {
			if rng.IntN(4) > 0 {
				loop = 0
			}
			if loop == 0 {
				m.Target, m.Probability = append(m.Target, int32(s)), append(m.Probability, 1)
			} else {
				m.Target = append(m.Target, int32(rng.IntN(states)), int32(rng.IntN(states)))
				m.Probability = append(m.Probability, 0.5, 0.5)
			}
			m.Offset = append(m.Offset, m.Branches())
		}
		m.First = append(m.First, int32(m.Choices()))
		if rng.IntN(2) == 0 {
			label = append(label, int32(s))
		}
	}
	few := func(n int) (values []float64) {
		for range n {
			values = append(values, float64(max(0, rng.IntN(6)-4)))
		}
		return values
	}
	m.Rewards = []exchange.Reward{{Name: "a", State: few(states), Choice: few(m.Choices())},
		{Name: "b", Branch: few(m.Branches())}}
	for _, s := range label {
		c := m.First[s]
		if m.First[s+1] != c+1 {
			continue
		}
		e := m.Offset[c]
		earned := m.Rewards[0].State[s] + m.Rewards[0].Choice[c] + m.Rewards[1].Branch[e] // none is negative
		gone[s] = m.Offset[c+1] == e+1 && m.Target[e] == s && earned == 0
	}
	return m, label, gone
}

// TestRestAtDeadlocks: of states with the label, those lose their choice that had none: it is a loop, the only one, and
// earns nothing, in the state or by the choice or branch. All else stays with its state.
func TestRestAtDeadlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 1))
	say := func(m *exchange.Model, s int, without bool) string {
		text := fmt.Sprint(m.Rewards[0].State[s])
		for c := m.First[s]; c < m.First[s+1] && !without; c++ {
			from, end := m.Offset[c], m.Offset[c+1]
			text += fmt.Sprint(";", m.Target[from:end], m.Probability[from:end], m.Rewards[0].Choice[c],
				m.Rewards[1].Branch[from:end])
		}
		return text
	}
	for range 300 {
		m, label, gone := drawLoops(rng)
		var want []string
		var kept []int32
		for s := range m.States() {
			want = append(want, say(m, s, gone[s]))
			if slices.Contains(label, int32(s)) && !gone[s] && m.First[s] < m.First[s+1] {
				kept = append(kept, int32(s))
			}
		}
		m.Labels = []exchange.Label{{Name: exchange.Deadlock, States: label}}
		var deadlocks []int32
		for s := range int32(m.States()) {
			if m.First[s] == m.First[s+1] || slices.Contains(label, s) {
				deadlocks = append(deadlocks, s)
			}
		}
		if got := m.Deadlocks(); !slices.Equal(got, deadlocks) {
			t.Fatalf("deadlocks %v: want %v", got, deadlocks)
		}
		m.RestAtDeadlocks()
		for s := range m.States() {
			if got := say(m, s, false); got != want[s] {
				t.Fatalf("state %d of those with the label, %v: %s, want %s", s, label, got, want[s])
			}
		}
		if states, _ := m.Label(exchange.Deadlock); !slices.Equal(states, kept) {
			t.Fatalf("the label has %v: want %v", states, kept)
		}
	}
}
