// Package exchangetest makes random models and compares models, for the tests of
// formats.
package exchangetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"cmdpsolve/cmdp/exchange"
)

// Has says what a random model may have. A format's test turns off what the format
// cannot say.
type Has struct {
	Game, Chain, BranchRewards, StateRewards, Names, TextNames, Actions, BranchActions, SkewedStart, Twins, Rests,
	Intervals bool
}

// All is everything.
var All = Has{true, true, true, true, true, true, true, true, true, true, true, true}

// Random returns a random model with a few states.
func Random(rng *rand.Rand, has Has) *exchange.Model {
	one := func(allowed bool) bool { return allowed && rng.IntN(3) == 0 }
	m := exchange.Empty(1)
	switch {
	case one(has.Game):
		m.Players = 2
		if one(true) {
			m.PlayerNames = []string{"robot", "weather"}
		}
	case one(has.Chain):
		m.Players = 0
	}
	states := 1 + rng.IntN(9)
	rests := one(has.Rests)
	for s := range states {
		choices := 1 + rng.IntN(3)
		if rng.IntN(40) == 0 { // more than have numbers of one digit
			choices = 11
		}
		if m.Players == 0 {
			choices = 1
		}
		if rests && s > 0 && rng.IntN(3) == 0 {
			choices = 0
		}
		for range choices {
			appendChoice(rng, m, states, has.Twins)
		}
		m.First = append(m.First, int32(m.Choices()))
		if m.Players == 2 {
			m.Owner = append(m.Owner, rng.Int32N(2))
		}
	}
	if m.Players < 2 && one(has.Intervals) {
		randomIntervals(rng, m)
	}
	randomStart(rng, m, one(has.SkewedStart))
	if one(has.Actions) && m.Players > 0 {
		m.ChoiceActions = randomActions(rng, m.Choices())
	}
	if one(has.BranchActions) && m.Players == 0 {
		m.BranchActions = randomActions(rng, m.Branches())
	}
	switch {
	case one(has.Names):
		m.Variables = randomVariables(rng, states)
	case one(has.TextNames):
		names := make([]string, states)
		for s := range names {
			names[s] = "room " + strconv.Itoa(s)
		}
		m.Variables = exchange.Named(names)
	}
	for _, name := range []string{"goal", "danger"} {
		label := exchange.Label{Name: name}
		for s := range states {
			if rng.IntN(2) == 0 {
				label.States = append(label.States, int32(s))
			}
		}
		if label.States != nil {
			m.Labels = append(m.Labels, label)
		}
	}
	for i := range rng.IntN(4) {
		r := randomReward(rng, m, one(has.StateRewards))
		r.Name = "reward" + strconv.Itoa(i)
		if i == 0 && rng.IntN(4) == 0 { // as a label
			r.Name = "goal"
		}
		if one(has.BranchRewards) && r.State == nil {
			r.Choice, r.Branch = nil, numbers(rng, m.Branches())
		}
		m.Rewards = append(m.Rewards, r)
	}
	return m
}

// randomVariables returns a number and a truth value for each state, and a text now and then.
func randomVariables(rng *rand.Rand, states int) []exchange.Variable {
	number := exchange.Variable{Name: "x", Ints: make([]int64, states)}
	truth := exchange.Variable{Name: "b", Bool: true, Ints: make([]int64, states)}
	most := []int64{3, 1000}[rng.IntN(2)] // several states may have the same values
	for s := range states {
		number.Ints[s] = rng.Int64N(most) - most/2*rng.Int64N(2)
		truth.Ints[s] = rng.Int64N(2)
	}
	all := []exchange.Variable{number, truth}
	if rng.IntN(4) == 0 {
		text := exchange.Variable{Name: "c"}
		for range states {
			text.Text = append(text.Text, []string{"red", "dark blue"}[rng.IntN(2)])
		}
		all = append(all, text)
	}
	return all
}

// randomReward returns a reward of states, 0 where these rest, or of choices.
func randomReward(rng *rand.Rand, m *exchange.Model, ofStates bool) exchange.Reward {
	if !ofStates {
		return exchange.Reward{Choice: numbers(rng, m.Choices())}
	}
	r := exchange.Reward{State: numbers(rng, len(m.First)-1)}
	for s := range r.State {
		if m.First[s] == m.First[s+1] {
			r.State[s] = 0
		}
	}
	return r
}

func appendChoice(rng *rand.Rand, m *exchange.Model, states int, twins bool) {
	n := 1 + rng.IntN(min(4, states))
	targets := rng.Perm(states)[:n]
	if twins && rng.IntN(4) == 0 {
		targets = append(targets, targets[0])
	} else {
		slices.Sort(targets)
	}
	left := 1.0
	for i, t := range targets {
		p := left
		if i < len(targets)-1 {
			p = left * (0.1 + 0.8*rng.Float64())
		}
		left -= p
		m.Target, m.Probability = append(m.Target, int32(t)), append(m.Probability, p)
	}
	m.Offset = append(m.Offset, m.Branches())
}

// randomIntervals makes intervals of the probabilities of some choices.
func randomIntervals(rng *rand.Rand, m *exchange.Model) {
	lower, upper := slices.Clone(m.Probability), slices.Clone(m.Probability)
	for c := range m.Choices() {
		for e := m.Offset[c]; e < m.Offset[c+1] && m.Offset[c+1]-m.Offset[c] > 1; e++ {
			if rng.IntN(2) == 0 {
				continue
			}
			lower[e] = max(0, lower[e]-0.2*rng.Float64())
			upper[e] = min(1, upper[e]+0.2*rng.Float64())
		}
	}
	if slices.Equal(lower, upper) {
		return
	}
	m.Lower, m.Upper = lower, upper
	m.SetNominal()
}

func randomStart(rng *rand.Rand, m *exchange.Model, skewed bool) {
	states := []int32{0}
	for s := 1; s < m.States(); s++ {
		if rng.IntN(4) == 0 {
			states = append(states, int32(s))
		}
	}
	m.Start = exchange.UniformStart(states)
	switch {
	case !skewed || len(states) == 1:
	case rng.IntN(4) == 0: // by the last digit
		m.Start[1].Probability = math.Nextafter(m.Start[1].Probability, rng.Float64())
	default:
		m.Start[0].Probability /= 2
		m.Start[1].Probability += m.Start[0].Probability
	}
}

func randomActions(rng *rand.Rand, n int) *exchange.Actions {
	var a exchange.ActionNames
	for range n {
		a.Add([]string{"", "stay", "go", "wait"}[rng.IntN(4)])
	}
	return a.Actions()
}

func numbers(rng *rand.Rand, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		switch rng.IntN(4) {
		case 0:
		case 1:
			values[i] = float64(rng.IntN(9) - 4)
		default:
			values[i] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)-10))
		}
	}
	return values
}

// Same returns an error that says where two models differ, nil if every number of
// them is the same bit for bit. A reward of zeros is the
// same as none, and labels have no order.
func Same(a, b *exchange.Model) error {
	switch {
	case a.Players != b.Players || !slices.Equal(a.PlayerNames, b.PlayerNames):
		return fmt.Errorf("players: %d %q and %d %q", a.Players, a.PlayerNames, b.Players, b.PlayerNames)
	case !slices.Equal(a.First, b.First):
		return fmt.Errorf("choices of states: %v and %v", a.First, b.First)
	case !slices.Equal(a.Offset, b.Offset):
		return fmt.Errorf("branches of choices: %v and %v", a.Offset, b.Offset)
	case !slices.Equal(a.Target, b.Target):
		return fmt.Errorf("targets: %v and %v", a.Target, b.Target)
	case !sameBits(a.Lower, b.Lower) || !sameBits(a.Upper, b.Upper):
		return fmt.Errorf("intervals: %v to %v and %v to %v", a.Lower, a.Upper, b.Lower, b.Upper)
	case !sameBits(a.Probability, b.Probability):
		return fmt.Errorf("probabilities: %v and %v", a.Probability, b.Probability)
	case !slices.Equal(a.Owner, b.Owner):
		return fmt.Errorf("owners: %v and %v", a.Owner, b.Owner)
	case !slices.Equal(a.Start, b.Start):
		return fmt.Errorf("start: %v and %v", a.Start, b.Start)
	case !slices.Equal(a.StateNames(), b.StateNames()):
		return fmt.Errorf("names of states: %q and %q", a.StateNames(), b.StateNames())
	case !slices.EqualFunc(byName(a.Labels), byName(b.Labels),
		func(x, y exchange.Label) bool { return x.Name == y.Name && slices.Equal(x.States, y.States) }):
		return fmt.Errorf("labels: %v and %v", a.Labels, b.Labels)
	case len(a.Rewards) != len(b.Rewards):
		return fmt.Errorf("%d and %d rewards", len(a.Rewards), len(b.Rewards))
	}
	for c := range a.Choices() {
		if x, y := a.ChoiceActions.Name(c), b.ChoiceActions.Name(c); x != y {
			return fmt.Errorf("choice %d: actions %q and %q", c, x, y)
		}
	}
	for e := range a.Branches() {
		if x, y := a.BranchActions.Name(e), b.BranchActions.Name(e); x != y {
			return fmt.Errorf("branch %d: actions %q and %q", e, x, y)
		}
	}
	for i, r := range a.Rewards {
		o := b.Rewards[i]
		if r.Name != o.Name || !sameReward(r.State, o.State) || !sameReward(r.Choice, o.Choice) ||
			!sameReward(r.Branch, o.Branch) {
			return fmt.Errorf("reward %d: %v and %v", i, r, o)
		}
	}
	return nil
}

func byName(labels []exchange.Label) []exchange.Label {
	return slices.SortedFunc(slices.Values(labels),
		func(x, y exchange.Label) int { return cmp.Compare(x.Name, y.Name) })
}

func sameReward(a, b []float64) bool {
	if a == nil {
		a = make([]float64, len(b))
	}
	if b == nil {
		b = make([]float64, len(a))
	}
	return sameBits(a, b)
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
