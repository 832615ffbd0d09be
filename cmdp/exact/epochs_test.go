package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// drawEpochs draws a model of three epochs and some states, in which much returns nothing, and which may go on for ever
// for nothing. Of some the last epoch must not come.
func drawEpochs(t *testing.T, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	states := 3 + rng.IntN(6)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states+1)
	for s := range states {
		for a := range 1 + rng.IntN(3) {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: make([]float64, 2)}
			if rng.IntN(3) == 0 {
				row.Returns = []float64{rng.Float64() - 0.5, rng.Float64() - 0.5}
			}
			end := states
			if floats.Norm(row.Returns, 1) == 0 && rng.IntN(3) == 0 {
				end = rng.IntN(states)
			}
			for _, x := range []float64{0.3, 0.45} {
				row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(states), Probability: x})
			}
			row.Next = append(row.Next, cmdp.Transition{Next: end, Probability: 0.25})
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	base, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return threeEpochs(t, rng, base, []int32{0})
}

// threeEpochs returns a model that goes through up to three epochs, in each of which it is the base. Of the
// transitions a fifth, drawn, lead on; in a third of the models nothing may be done that leads to the last epoch.
func threeEpochs(t *testing.T, rng *rand.Rand, base *cmdp.Model, start []int32) *cmdp.Model {
	t.Helper()
	k := base.Kernel(0)
	e := &cmdp.Epochs{Base: base, Start: start, Letters: 2, Next: []int32{0, 1, 1, 2, 2, 2}, Dim: base.Dim(),
		Class: []int32{0, 0, 1}, Classes: []cmdp.Kernel{*k, *k}}
	for range k.Next {
		e.Letter = append(e.Letter, int32(rng.IntN(5)/4))
	}
	if rng.IntN(3) == 0 {
		if _, err := e.Enforce([]bool{false, false, true}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := e.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// epochPricer returns the pricer of epochs to which all returns matter.
func epochPricer(t *testing.T, m *cmdp.Model) *epochTotals {
	t.Helper()
	all, err := newEpochModels(t.Context(), m, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := all.withRelevance(t.Context(), allRelevant(m.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawRule draws what a policy does with the choices that are offered, and reports whether all are. It draws where a
// state offers two.
func drawRule(rng *rand.Rand, m *cmdp.Model) (rule markov.Rule, all bool) {
	rule, all = markov.Rule{Actions: markov.NewActions(m.States(), 4), Mixed: make(map[int32][]float64)}, true
	for s, rows := 0, m.Rows(0); s < m.States(); s++ {
		first, end := rows.Choices(s)
		offered := offered(rows, s)
		switch {
		case end == first+2 && len(offered) == 2 && rng.IntN(3) == 0:
			rule.Mixed[int32(s)] = []float64{0.3, 0.7}
		case first < end:
			rule.Actions.Set(s, int(offered[rng.IntN(len(offered))]))
		}
		all = all && len(offered) == end-first
	}
	return rule, all
}

// TestEpochPolicies: a policy that draws returns in epochs what it does in the model that stores their rows, also where
// it goes on for ever, and so does that of a price. Of returns that do not end one is named, with a choice that gives
// it where the policy comes.
func TestEpochPolicies(t *testing.T) {
	ctx, rng := t.Context(), rand.New(rand.NewPCG(26, 12))
	limited, endless := 0, 0
	for i := range 600 {
		m, c := drawEpochs(t, rng), allRelevant(2)
		if i%2 == 1 {
			m, _ = drawEndlessEpochs(t, rng)
			c = noneRelevant(3)
		}
		all, err := newEpochModels(ctx, m, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := all.withRelevance(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		rule, offersAll := drawRule(rng, m)
		if !offersAll {
			limited++
		}
		policies := []*Policy{NewPolicy([]markov.Rule{rule})}
		var price pricedPolicy
		if i%2 == 0 {
			dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
			price, err = p.price(ctx, dir, 0)
			if err != nil {
				t.Fatal(err)
			}
			best, err := p.recoverPolicy(ctx, []column{{dir: dir}}, []float64{1}, face{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, best, &Policy{mixture: []WeightedPolicy{{0.25, best}, {0.75, policies[0]}}})
		}
		for j, policy := range policies {
			got, err := p.evaluate(ctx, policy)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, m.Dim())
			drawn := policy.mixture
			if drawn == nil {
				drawn = []WeightedPolicy{{1, policy}}
			}
			for _, o := range drawn {
				e, err := Evaluate(ctx, m, o.Policy)
				if err != nil {
					t.Fatal(err)
				}
				floats.AddScaled(want, o.Weight, e.Returns)
			}
			same := func(a, b float64) bool { return near(a, b) && !(math.Abs(a-b) > 1e-12*(1+math.Abs(b))) }
			if !slices.EqualFunc(got, want, same) || j == 1 && !slices.EqualFunc(got, price.returns, same) {
				t.Errorf("model %d: %v in epochs, %v by rows, %v by the price", i, got, want, price.returns)
			}
		}
		e, err := Evaluate(ctx, m, policies[0])
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.infiniteReturn(ctx, allRelevant(m.Dim()), []WeightedPolicy{{1, policies[0]}})
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			if slices.ContainsFunc(e.Returns, func(x float64) bool { return !isFinite(x) }) {
				t.Errorf("model %d: returns %v, and none is named that does not end", i, e.Returns)
			}
			continue
		}
		endless++
		rows := m.Rows(0)
		first, end := rows.Choices(found.State)
		probs := make([]float64, end-first)
		policies[0].Distribution(probs, 0, found.State)
		x, comes := rows.Returns(first + found.Action)[found.Return], markov.ReachedBy(m, policies[0])[found.State]
		ends := isFinite(e.Returns[found.Return]) && len(rule.Mixed) == 0
		if !comes || probs[found.Action] == 0 || x == 0 || ends || !found.Kept {
			t.Errorf("model %d: returns %v: %+v is named, which gives %g", i, e.Returns, found, x)
		}
	}
	if limited < 20 || endless < 50 {
		t.Errorf("%d models do not offer all choices, and %d policies go on for ever: want more", limited, endless)
	}
}

// TestEpochPrices: a direction has a proved bound and a policy that is worth it, also where what policies return
// cancels out in it, and the same policy whatever was asked before.
func TestEpochPrices(t *testing.T) {
	ctx, rng := t.Context(), rand.New(rand.NewPCG(26, 11))
	for i := range 300 {
		p := epochPricer(t, drawEpochs(t, rng))
		dirs := [][]float64{{1, 0}, {0, -1}, {rng.NormFloat64(), rng.NormFloat64()}}
		var first []pricedPolicy
		for j := 0; j < len(dirs); j++ {
			x, err := p.price(ctx, dirs[j], 0)
			if err != nil {
				t.Fatal(err)
			}
			first = append(first, x)
			if len(dirs) < 8 {
				dirs = append(dirs, []float64{-x.returns[1], x.returns[0]})
			}
			if worth := floats.Dot(dirs[j], x.returns); !(x.margin <= 1e-12) || math.Abs(worth-x.value) > 1e-12 {
				t.Errorf("model %d: %g is proved with a margin of %g, and the policy returns %g", i, x.value, x.margin,
					worth)
			}
		}
		for _, j := range rng.Perm(len(dirs)) {
			x, err := p.price(ctx, dirs[j], 0)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x.returns, first[j].returns) || x.value != first[j].value {
				t.Errorf("model %d: %v of value %g, before %v of value %g", i, x.returns, x.value, first[j].returns,
					first[j].value)
			}
		}
	}
}

// TestGiantEpochs: epochs with a giant component are left to stored rows.
func TestGiantEpochs(t *testing.T) {
	for states, want := range map[int]bool{100: true, mostTogether + 1: false} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			states+1)
		for s := range states { // a ring, and a way out
			err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{1}, Next: []cmdp.Transition{
				{Next: (s + 1) % states, Probability: 0.5}, {Next: states, Probability: 0.5}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		base, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		k := base.Kernel(0)
		e := &cmdp.Epochs{Base: base, Start: []int32{0}, Letters: 1, Letter: make([]int32, len(k.Next)),
			Next: []int32{0}, Class: []int32{0}, Classes: []cmdp.Kernel{*k}, Dim: 1}
		m, err := e.Model()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := PlannerOf(t, m).SolvesEpochs(t.Context(), cmdp.Task{}); got != want || err != nil {
			t.Errorf("%d states: solved: %v, %v; want %v", states, got, err, want)
		}
	}
}

// TestRoundedDown: what is found in rational arithmetic is rounded to the next number that is not above it.
func TestRoundedDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 17))
	for range 1000 {
		x := big.NewRat(rng.Int64()-rng.Int64(), 1+rng.Int64N(1<<uint(1+rng.IntN(60))))
		got := roundedDown(x)
		if rational(got).Cmp(x) > 0 || rational(math.Nextafter(got, math.Inf(1))).Cmp(x) <= 0 {
			t.Errorf("%v is rounded to %g", x, got)
		}
	}
	most := rational(math.MaxFloat64)
	beyond := new(big.Rat).Mul(most, big.NewRat(3, 1))
	below := new(big.Rat).Neg(beyond)
	if up, down := roundedDown(beyond), roundedDown(below); up != math.MaxFloat64 || !math.IsInf(down, -1) {
		t.Errorf("what is beyond all numbers is rounded to %g and %g", up, down)
	}
}

// TestChoiceSets: each epoch has the choices that it was given, and equal sets have the same number.
func TestChoiceSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 18))
	const epochs, choices = 60, 19
	x, given := newChoiceSets(epochs), make([][]bool, epochs)
	for epoch := range given {
		given[epoch] = slices.Repeat([]bool{true}, choices)
		for range rng.IntN(3) {
			given[epoch][rng.IntN(choices)] = false
		}
		x.put(epoch, given[epoch])
	}
	for epoch, want := range given {
		got := x.in(epoch)
		if all := !slices.Contains(want, false); all != (got == nil) || !all && !slices.Equal(got, want) {
			t.Errorf("epoch %d allows %v: want %v", epoch, got, want)
		}
		for other := range epoch {
			if (x.of[epoch] == x.of[other]) != slices.Equal(want, given[other]) {
				t.Errorf("epochs %d and %d share a set: %v", epoch, other, x.of[epoch] == x.of[other])
			}
		}
	}
}
