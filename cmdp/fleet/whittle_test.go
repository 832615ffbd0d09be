package fleet_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/fleet"
)

// bandit returns a fleet of agents with two actions in each state, of which action 1 uses a unit, and a task
// that lets a share of them act.
func bandit(t testing.TB, rows []cmdp.Row, states, horizon, count int,
	share float64) (*fleet.Fleet, *fleet.Planner, cmdp.Task) {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states)
	for _, r := range rows {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet.Fleet{Returns: []string{"reward", "active"}, EachStep: []int{1},
		Types: []fleet.Type{{Name: "arm", Count: count, Model: m, Returns: []int{0, 1}}}}
	p, task := capped(t, f, share)
	return f, p, task
}

// bestAtPrice returns by how much acting is better than rest at each step and state where acting costs a price,
// by backward induction.
func bestAtPrice(m *cmdp.Model, price float64) [][]float64 {
	value := make([]float64, m.States())
	out := make([][]float64, m.Horizon())
	for h := m.Horizon() - 1; h >= 0; h-- {
		rows := m.Rows(h)
		now := make([]float64, m.States())
		out[h] = make([]float64, m.States())
		for s := range now {
			first, end := rows.Choices(s)
			if first == end {
				now[s] = value[s]
				out[h][s] = math.NaN()
				continue
			}
			q := make([]float64, 2)
			for a := range end - first {
				q[a] = rows.Returns(first + a)[0] - price*rows.Returns(first + a)[1]
				next, prob := rows.Row(first + a)
				for i, n := range next {
					q[a] += prob[i] * value[n]
				}
			}
			if end-first == 1 {
				q[1] = q[0]
			}
			now[s] = max(q[0], q[1])
			out[h][s] = q[1] - q[0]
		}
		value = now
	}
	return out
}

// TestWhittleByPrices compares indices with what is best at many prices.
func TestWhittleByPrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	indexable := 0
	for i := range 120 {
		states := 2 + rng.IntN(3)
		var rows []cmdp.Row
		horizon := 1 + rng.IntN(7)
		steps := 1 // of the rows: the same for all, or one for each
		if i >= 60 {
			steps = horizon
		}
		for k := range steps * states {
			actions := 2
			if i >= 60 && k > 0 {
				actions = rng.IntN(3) // the agent may rest, or have no choice
			}
			for a := range actions {
				r := cmdp.Row{Step: k/states + 1, State: k % states, Action: a,
					Returns: []float64{2*rng.Float64() - 1, float64(a)}}
				if steps == 1 {
					r.Step = cmdp.EveryStep
				}
				left := 1.0
				for n := range states {
					p := left * rng.Float64()
					if n == states-1 {
						p = left
					}
					left -= p
					r.Next = append(r.Next, cmdp.Transition{Next: n, Probability: p})
				}
				rows = append(rows, r)
			}
		}
		f, _, task := bandit(t, rows, states, horizon, 2, 0.5)
		indices, err := fleet.WhittleIndices(f, task)
		checkOrder(t, f, task, indices, err)
		m := f.Types[0].Model
		rested := make(map[[2]int]bool)
		broken := false
		for price := -12.0; price <= 12; price += 0.037 {
			for h, of := range bestAtPrice(m, price) {
				for s, gain := range of {
					if gain < -1e-9 {
						rested[[2]int{h, s}] = true
					}
					broken = broken || gain > 1e-9 && rested[[2]int{h, s}]
					if err != nil {
						continue
					}
					if index := indices[0][h][s]; price < index-1e-9 && gain < -1e-9 ||
						price > index+1e-9 && gain > 1e-9 {
						t.Fatalf("index %g at step %d in state %d: at price %g acting gains %g", index, h, s, price,
							gain)
					}
				}
			}
		}
		if err == nil {
			indexable++
			checkFree(t, f)
		}
		if (err != nil) != broken && broken {
			t.Fatalf("prices show that there is no index, but it is found")
		}
		if err != nil && !errors.Is(err, fleet.ErrNotIndexable) {
			t.Fatal(err)
		}
	}
	if indexable < 40 {
		t.Errorf("%d of 120 bandits are indexable", indexable)
	}
}

// TestWhittleClosedForm: arms with two states that stand still when they rest, with a discount, which is a
// chance of death at each step. Whittle's index is then that of Gittins, with a closed form.
func TestWhittleClosedForm(t *testing.T) {
	const discount = 0.8
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		low := rng.Float64()
		high := low + rng.Float64()
		up, stay := rng.Float64(), rng.Float64() // to the better state from the worse one and from itself
		rows := []cmdp.Row{
			{State: 0, Action: 0, Returns: []float64{0, 0},
				Next: []cmdp.Transition{{Next: 0, Probability: discount}, {Next: 2, Probability: 1 - discount}}},
			{State: 0, Action: 1, Returns: []float64{low, 1}, Next: []cmdp.Transition{
				{Next: 1, Probability: discount * up}, {Next: 0, Probability: discount * (1 - up)},
				{Next: 2, Probability: 1 - discount}}},
			{State: 1, Action: 0, Returns: []float64{0, 0},
				Next: []cmdp.Transition{{Next: 1, Probability: discount}, {Next: 2, Probability: 1 - discount}}},
			{State: 1, Action: 1, Returns: []float64{high, 1}, Next: []cmdp.Transition{
				{Next: 1, Probability: discount * stay}, {Next: 0, Probability: discount * (1 - stay)},
				{Next: 2, Probability: 1 - discount}}},
		}
		f, _, task := bandit(t, rows, 3, 150, 2, 0.5)
		indices, err := fleet.WhittleIndices(f, task)
		if err != nil {
			t.Fatal(err)
		}
		later := discount * up / (1 - discount*stay)
		near(t, "index of the better state", indices[0][0][1], high, 1e-7)
		near(t, "index of the worse state", indices[0][0][0], (low+later*high)/(1+later), 1e-7)
		if !math.IsNaN(indices[0][0][2]) {
			t.Errorf("death has index %g", indices[0][0][2])
		}
	}
}

// TestWhittlePlays: in the bandit of machines the index, the plan made again and dispatch keep the capacity and
// come near to the bound.
func TestWhittlePlays(t *testing.T) {
	f := machines(t, 200, 10)
	p, task := capped(t, f, 0.2)
	plan := solved(t, p, task)
	player, err := fleet.NewWhittle(f, task)
	if err != nil {
		t.Fatal(err)
	}
	played := play(t, f, task, player, 200, 2)
	if played.Kept.Share != 1 {
		t.Errorf("the capacity is kept in %g of the episodes", played.Kept.Share)
	}
	if loss := (played.Each.Mean - plan.Bound) / -plan.Bound; loss > 0.01 || loss < -0.005 {
		t.Errorf("the index loses %g of the bound", loss)
	}
}

// checkFree: where all agents may act, they earn in the mean what is best without limits.
func checkFree(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	_, task := capped(t, f, 1)
	player, err := fleet.NewWhittle(f, task)
	if err != nil {
		t.Fatal(err)
	}
	played := play(t, f, task, player, 50, 2)
	m := f.Types[0].Model
	value := make([]float64, m.States())
	for h := m.Horizon() - 1; h >= 0; h-- {
		rows := m.Rows(h)
		now := make([]float64, m.States())
		for s := range now {
			first, end := rows.Choices(s)
			now[s] = math.Inf(-1)
			if first == end {
				now[s] = value[s]
			}
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				q := rows.Returns(c)[0]
				for i, n := range next {
					q += prob[i] * value[n]
				}
				now[s] = max(now[s], q)
			}
		}
		value = now
	}
	near(t, "what is earned without a limit", -played.Each.Mean, float64(f.Agents())*value[0], 3*played.Each.Half+1e-9)
}

// TestNoWhittle: tasks that are no restless bandits.
func TestNoWhittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	three := random(t, rng, shape{types: 1, agents: 3, states: 3, actions: 5, successors: 2, horizon: 3, resources: 1})
	two := random(t, rng, shape{types: 1, agents: 3, states: 3, actions: 2, successors: 2, horizon: 3, resources: 2})
	for name, f := range map[string]*fleet.Fleet{"many actions": three, "two resources": two} {
		_, task := capped(t, f, 0.3)
		if _, err := fleet.WhittleIndices(f, task); !errors.Is(err, fleet.ErrNotIndexable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	f := machines(t, 4, 3)
	p, _ := capped(t, f, 0.3)
	task, err := p.Task(t.Context(), nil, []fleet.Limit{{Return: 1, Step: fleet.Episode, Bound: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.WhittleIndices(f, task); !errors.Is(err, fleet.ErrNotIndexable) {
		t.Errorf("a limit over the episode: error %v", err)
	}
	if _, err := fleet.WhittleIndices(f, cmdp.Task{}); !errors.Is(err, fleet.ErrNotIndexable) {
		t.Errorf("no limit: error %v", err)
	}
}

// checkOrder: with the actions of each state in the opposite order, agents have the same indices.
func checkOrder(t *testing.T, f *fleet.Fleet, task cmdp.Task, want fleet.Indices, wanted error) {
	t.Helper()
	m := f.Types[0].Model
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	for h := range m.Kernels() {
		k, rows := cmdp.NewKernel(), m.Rows(h)
		for s := range m.States() {
			first, end := rows.Choices(s)
			for c := end - 1; c >= first; c-- {
				next, prob := rows.Row(c)
				k.Append(next, prob, rows.Returns(c))
			}
			k.EndState()
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	other := *f
	other.Types = slices.Clone(f.Types)
	var err error
	other.Types[0].Model, err = cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fleet.WhittleIndices(&other, task)
	if (err == nil) != (wanted == nil) {
		t.Fatalf("in the opposite order: error %v: want %v", err, wanted)
	}
	if err != nil {
		return
	}
	for h, of := range got[0] {
		for s, x := range of {
			if y := want[0][h][s]; x != y && !(math.Abs(x-y) <= 1e-9) && !(math.IsNaN(x) && math.IsNaN(y)) {
				t.Fatalf("index %g at step %d in state %d: in the opposite order %g", y, h, s, x)
			}
		}
	}
}
