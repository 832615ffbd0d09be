package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

// A watched learner keeps the distributions of all its policies, of all states and steps.
type watched struct {
	cmdp.Learner
	shape *cmdp.Shape
	seen  []float64
}

func (w *watched) Policy() cmdp.Policy {
	p := w.Learner.Policy()
	for h := range w.shape.Horizon() {
		for s := range w.shape.States() {
			if n := w.shape.Actions(h, s); n > 0 {
				probs := make([]float64, n)
				p.Distribution(probs, h, s)
				w.seen = append(w.seen, probs...)
			}
		}
	}
	return p
}

// wantSamePlay wants two Configs to make learners that play the same.
func wantSamePlay(t *testing.T, name, what string, ex *example, one, other Config) {
	t.Helper()
	var seen [2][]float64
	for i, c := range []Config{one, other} {
		w := &watched{Learner: newLearner(t, name, c), shape: c.Shape}
		play(t, ex.model, w, 3, 24)
		seen[i] = w.seen
	}
	if !slices.Equal(seen[0], seen[1]) {
		t.Errorf("%s: %s plays another way", name, what)
	}
}

// defaults spells out what the zero Tuning means for an algorithm.
func defaults(name string, endless bool) Tuning {
	margin, bonus := DefaultKnapsackMargin, 1.0
	x := Tuning{KnapsackMargin: &margin, MultiplierStep: DefaultMultiplierStep, ObjectiveBonus: &bonus,
		PriorWeight: OtherPriorWeight, Correction: DefaultCorrection, Growth: DefaultGrowth}
	if !endless && (name == "posterior" || name == "posterior-plain" || name == "moma-posterior") {
		x.PriorWeight = DefaultPriorWeight
	}
	return x
}

// TestDefaults wants settings of 0 to be the defaults that are documented, with and without episodes.
func TestDefaults(t *testing.T) {
	ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	for _, a := range Algorithms() {
		c := ex.config(60)
		c.Bonus, c.Seed = cmdp.TheoryTimes(0.01), 4
		ex.withNull(&c)
		if _, err := New(a.Name, c); errors.Is(err, ErrUnsupported) {
			continue
		}
		spelled := c
		spelled.Tuning = defaults(a.Name, false)
		wantSamePlay(t, a.Name, "with the defaults spelled out it", ex, c, spelled)
	}
	rooms := threeRooms(t)
	for _, a := range Algorithms() {
		if !a.Endless {
			continue
		}
		var seen [2][]float64
		for i := range seen {
			c := rooms.config(60, 4)
			if i == 1 {
				c.Tuning = defaults(a.Name, true)
			}
			w := &watched{Learner: newLearner(t, a.Name, c), shape: c.Shape}
			if err := cmdp.NewEndlessRunner(rooms.env, w, 3).Run(t.Context(), 60); err != nil {
				t.Fatal(err)
			}
			seen[i] = w.seen
			if x, ok := w.Learner.(*posterior); ok && x.drawer.alpha != OtherPriorWeight {
				t.Errorf("%s: without episodes the prior weighs %g", a.Name, x.drawer.alpha)
			}
		}
		if !slices.Equal(seen[0], seen[1]) {
			t.Errorf("%s: without episodes it plays another way with the defaults spelled out", a.Name)
		}
	}
}

// TestPrintedIsTheory wants the printed constants to be those of theory in all algorithms that do not share the bonus
// of MOMA, of which alone the paper prints others.
func TestPrintedIsTheory(t *testing.T) {
	ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	for _, name := range planners {
		switch name {
		case "moma", "moma-projection", "moma-free", "moma-double", "appropo":
			continue
		}
		c := ex.config(60)
		ex.withNull(&c)
		printed := c
		printed.Bonus.Mode = cmdp.Printed
		wantSamePlay(t, name, "with the printed constants it", ex, c, printed)
	}
}

// TestPlansAfterFallback wants learners that have fallen back on the policy that they were told to play what they plan
// as soon as they plan again.
func TestPlansAfterFallback(t *testing.T) {
	ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	for _, name := range []string{"dope", "optpess-lp"} {
		l, other := newKnown(t, name, ex, 60).(*lpLearner), newKnown(t, name, ex, 60).(*lpLearner)
		l.gate, other.gate = func() bool { return true }, nil
		if l.Policy() != ex.know.Safe {
			t.Fatalf("%s: it does not fall back", name)
		}
		l.gate, l.state.Planned = nil, false
		w, v := &watched{Learner: l, shape: l.shape}, &watched{Learner: other, shape: l.shape}
		w.Policy()
		v.Policy()
		if !slices.Equal(w.seen, v.seen) || l.Work().Infeasible > 0 {
			t.Errorf("%s: after it fell back it plays %v, want %v", name, w.seen, v.seen)
		}
	}
}

// TestBlendByDefinition compares the policies of OptCMDP with the occupancies of the mixture: each column is followed
// under the kernel of the box that makes its values least.
func TestBlendByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for trial := range uint64(8) {
		ex := newExample(t, 20+trial, modelSpec{states: 4, actions: 3, horizon: 4, dim: 2, rests: trial%2 == 1})
		c := ex.config(1000)
		c.Bonus, c.Prior = cmdp.TheoryTimes(0.05), logOf(t, ex.model, false, false, 40, rng)
		l := newLearner(t, "optcmdp", c).(*lpLearner)
		l.Policy()
		through := make([]float64, l.slots())
		for j, number := range l.program.Numbers {
			mass := make([]float64, l.states)
			for _, st := range l.start {
				mass[st.State] = l.program.Weights[j] * st.Probability
			}
			for h := range l.horizon {
				mass = followColumn(l.sweep, l.sweep.columns[number], h, mass, through)
			}
		}
		for h := range l.horizon {
			for s := range l.states {
				f := l.offsets(h)
				row, sum := through[l.base[h]+int(f[s]):l.base[h]+int(f[s+1])], 0.0
				for _, x := range row {
					sum += x
				}
				for a, x := range row {
					if got := l.policy.row(h, s)[a]; sum > 1e-9 && math.Abs(got-x/sum) > 1e-9 {
						t.Errorf("trial %d: step %d, state %d: action %d has the probability %v, want %v", trial, h, s, a,
							got, x/sum)
					}
				}
			}
		}
	}
}

// followColumn adds the mass of a column at a step to the choices that it goes through, and returns where it goes.
func followColumn(sw *sweep, c *column, h int, mass, through []float64) []float64 {
	next, later := make([]float64, sw.states), c.v[(h+1)*sw.states:(h+2)*sw.states]
	order := make([]int, sw.states)
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(later[a], later[b]) })
	for s, x := range mass {
		a := int(c.take[h*sw.states+s])
		if a < 0 {
			next[s] += x
			continue
		}
		k := int(sw.offsets(h)[s]) + a
		through[sw.base[h]+k] += x
		r, iv := &sw.layer(h)[k], sw.box(h, k)
		if r.visits == 0 {
			next[order[0]] += x
			continue
		}
		left := 1.0
		for _, low := range iv.lower {
			left -= low
		}
		for _, n := range order {
			low, room := 0.0, iv.unseen
			if i := slices.Index(r.next, int32(n)); i >= 0 {
				low, room = iv.lower[i], iv.span[i]
			}
			more := min(room, left)
			next[n] += x * (low + more)
			left -= more
		}
	}
	return next
}

// TestPlansFromTheState wants learners that plan for the rest of a run to plan from the state that it is in.
func TestPlansFromTheState(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 1, Probability: 1}}, Average: true}, 3)
	for s := range 3 {
		addRow(t, b, cmdp.Row{State: s, Returns: []float64{float64(s), 0},
			Next: []cmdp.Transition{{Next: (s + 1) % 3, Probability: 1}}})
	}
	c := newEndlessExample(t, built(t, b), 1, -1).config(1000, 1)
	for s := range c.Shape.States() {
		l := newLearner(t, "c-ucrl2", c).(*cUCRL2)
		l.course.x.At = s
		m, err := l.estimated()
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint([]cmdp.StartState{{State: s, Probability: 1}})
		if got := fmt.Sprint(m.StartStates()); got != want {
			t.Errorf("c-ucrl2 in state %d plans from %v", s, got)
		}
		f := newLearner(t, "fha", c).(*fha)
		f.x.At = s
		f.Policy()
		if got := fmt.Sprint(f.start); got != want || !f.sweep.begins[s] {
			t.Errorf("fha in state %d plans from %v", s, got)
		}
	}
}
