package monitor_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// An episode is a history with the choices that were taken, −1 where the process rested, and in a product of a product
// those of the inner one, of which it has the states too.
type episode struct {
	history
	choices, inner []int
}

// until returns the first so many steps.
func (e episode) until(step int) episode {
	return episode{history{e.states[:step+1], e.returns[:step]}, e.choices[:step], e.inner[:step]}
}

// A definition says what a monitor is to return over an episode, and what it is to remember on the way.
type definition struct {
	monitor.Monitor
	pays func(e episode) []float64 // over a whole episode
	// says reports whether what is written of the memory after so many steps of an episode is right.
	says func(e episode, step int, value string) bool
	// agrees, if not nil, reports whether what else the monitor tells agrees with an episode.
	agrees func(e episode) bool
}

// A spending is what the costs of an arrival may be of: a return with its amounts, nil for those of the model, and a
// multiple of all units that they may have.
type spending struct {
	coordinate int
	amounts    []float64
	step       float64
	total      func(e episode) float64
}

// drawReach draws an arrival, within steps and costs, or what a return comes to up to there, and its definition.
func drawReach(t *testing.T, rng *rand.Rand, m *cmdp.Model, title string, costs []spending, sum *spending) definition {
	r := &monitor.Reach{Title: title, Target: randomSet(rng, m.States()), Within: rng.IntN(5) - 1}
	if rng.IntN(2) == 0 {
		r.While = randomSet(rng, m.States())
	}
	if rng.IntN(3) == 0 {
		r.Discount = 0.5
	}
	atMost, unit := make(map[int]float64), 0.0
	for of, x := range costs {
		if rng.IntN(2) == 0 {
			values := x.amounts
			if values == nil {
				values = monitor.Amounts(m, x.coordinate)
			}
			if size, _ := monitor.Unit(values).Float64(); unit == 0 || size < unit {
				unit = size
			}
			atMost[of] = x.step * float64(rng.IntN(3))
			cost := monitor.CostSpec{Name: fmt.Sprint("cost ", of), Model: m, Coordinate: x.coordinate, Amounts: x.amounts,
				AtMost: atMost[of]}
			if err := r.Spend(cost); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.Unit() != unit {
		t.Fatalf("%d costs: unit %g, want %g", len(atMost), r.Unit(), unit)
	}
	// arrived returns the step with which the way has ended, −1 if it has not, and whether at the target.
	arrived := func(e episode) (end int, there bool) {
		for i, s := range e.states {
			for of, most := range atMost {
				if costs[of].total(e.until(i)) > most {
					return i, false
				}
			}
			switch {
			case r.Within >= 0 && i > r.Within:
				return i, false
			case r.Target[s]:
				return i, true
			case r.While != nil && !r.While[s] || i == r.Within:
				return i, false
			}
		}
		return -1, false
	}
	pays := func(e episode) []float64 {
		end, there := arrived(e)
		if end > 0 && r.Discount > 0 {
			return []float64{r.Discount * indicator(there)}
		}
		return []float64{indicator(there)}
	}
	out := definition{Monitor: r, pays: pays}
	if sum != nil {
		out = drawPart(r, arrived, costs, atMost, sum)
	}
	out.says = func(e episode, step int, value string) bool {
		var want []string
		end, _ := arrived(e.until(step))
		switch left := r.Within - step; {
		case end >= 0:
			return value == "over"
		case r.Within < 0:
		case left == 1:
			want = append(want, "1 step")
		default:
			want = append(want, fmt.Sprint(left, " steps"))
		}
		for _, of := range slices.Sorted(maps.Keys(atMost)) {
			left := math.Round(1e6*(atMost[of]-costs[of].total(e.until(step)))) / 1e6
			want = append(want, fmt.Sprintf("%g of cost %d", left, of))
		}
		if want == nil {
			return value == "under way"
		}
		return value == strings.Join(want, " and ")+" left"
	}
	return out
}

// drawPart returns what a return comes to up to the end of an arrival: the steps that begin before it, with the costs
// that they have themselves within their bounds.
func drawPart(r *monitor.Reach, arrived func(e episode) (end int, there bool), costs []spending,
	atMost map[int]float64, sum *spending) definition {
	within := func(e episode) bool {
		for of, most := range atMost {
			if costs[of].total(e) > most {
				return false
			}
		}
		return true
	}
	return definition{Monitor: &monitor.PartialTotal{Reach: *r, Coordinate: sum.coordinate},
		pays: func(e episode) []float64 {
			part := 0.0
			if start := e.until(0); within(start) {
				part = sum.total(start)
			}
			for i := range e.returns {
				before, after := e.until(i), e.until(i+1)
				if end, _ := arrived(before); end < 0 && within(after) {
					part += sum.total(after) - sum.total(before)
				}
			}
			return []float64{part}
		}}
}

// drawTable draws an automaton, whose rewards have a sign, either one for 0, and its definition.
func drawTable(t *testing.T, rng *rand.Rand, m *cmdp.Model, title string, sign float64) definition {
	spec := monitor.TableSpec{Title: title, Memory: []string{"a", "b", "c"}[:1+rng.IntN(3)]}
	for range m.States() {
		spec.Symbol = append(spec.Symbol, rng.IntN(2))
	}
	for i := range spec.Memory {
		n := len(spec.Memory)
		spec.Next = append(spec.Next, []int{rng.IntN(n), rng.IntN(n), i})
		reward := []float64{sign * float64(rng.IntN(3)), sign * float64(rng.IntN(2)), 0}
		if sign == 0 {
			reward = []float64{float64(rng.IntN(5) - 2), float64(rng.IntN(5) - 2), 0}
		}
		spec.Reward = append(spec.Reward, reward)
	}
	if m.Horizon() == 0 { // nothing changes at rest, which is for ever
		spec.Symbol[m.States()-1] = 2
	}
	if rng.IntN(3) == 0 {
		spec.Reward = nil
	}
	table, err := monitor.NewTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	read := func(e episode) (memory int, sum float64) {
		for _, s := range e.states {
			x := spec.Symbol[s]
			if spec.Reward != nil {
				sum += spec.Reward[memory][x]
			}
			memory = spec.Next[memory][x]
		}
		return memory, sum
	}
	return definition{Monitor: table, pays: func(e episode) []float64 {
		_, sum := read(e)
		return []float64{sum}[:table.Rewards()]
	}, says: func(e episode, step int, value string) bool {
		memory, _ := read(e.until(step))
		return value == spec.Memory[memory]
	}}
}

// drawTaken draws a monitor of choices and its definition.
func drawTaken(rng *rand.Rand, m *cmdp.Model, title string, of func(e episode) []int) definition {
	taken := &monitor.ChoiceTaken{Title: title, Choices: randomSet(rng, m.Choices())}
	words := []string{"no", "yes"}
	if rng.IntN(2) == 0 {
		words = [][]string{{"before", "after"}, {"", "after"}, {"before", ""}}[rng.IntN(3)]
		taken.Before, taken.After = words[0], words[1]
	}
	says := func(e episode, step int, value string) bool {
		was := slices.ContainsFunc(of(e)[:step], func(c int) bool { return c >= 0 && taken.Choices[c] })
		return value == words[int(indicator(was))]
	}
	return definition{Monitor: taken, pays: func(episode) []float64 { return nil }, says: says}
}

// drawBudget draws limits of a total and their definition. amounts are those of a monitor before it, nil for a return
// of the model.
func drawBudget(t *testing.T, rng *rand.Rand, m *cmdp.Model, title string, coordinate int, amounts []float64,
	total func(e episode) float64) definition {
	spec := monitor.BudgetSpec{Title: title, Model: m, Coordinate: coordinate, Amounts: amounts}
	for range 1 + rng.IntN(3) {
		l := monitor.Threshold{Kind: monitor.LimitKind(rng.IntN(4)), At: float64(rng.IntN(14)-2) / 20}
		if rng.IntN(8) == 0 {
			l.At = []float64{1e300, -1e300, 1e19, -1e19}[rng.IntN(4)]
		}
		spec.Limits = append(spec.Limits, l)
	}
	pays := func(e episode) (out []float64) {
		x := total(e)
		for _, l := range spec.Limits {
			out = append(out, map[monitor.LimitKind]float64{monitor.Above: indicator(x > l.At),
				monitor.AtLeast: indicator(x >= l.At), monitor.Excess: max(0, x-l.At),
				monitor.Shortfall: max(0, l.At-x)}[l.Kind])
		}
		return out
	}
	b := budget(t, spec)
	// The total is one of those that an episode may have, and on the same side of what is next to a limit.
	agrees := func(e episode) bool {
		x := total(e)
		for i, l := range spec.Limits {
			passed := func(limit float64) bool {
				return x > limit || x == limit && (l.Kind == monitor.AtLeast || l.Kind == monitor.Shortfall)
			}
			if near, same := b.Nearest(i); same != (near == l.At) || passed(near) != passed(l.At) {
				return false
			}
		}
		return slices.ContainsFunc(b.Totals(x, true), func(y float64) bool { return math.Abs(x-y) < 1e-9 })
	}
	return definition{Monitor: b, pays: pays, agrees: agrees, says: func(e episode, step int, value string) bool {
		var x, low, high float64
		end := total(e)
		if n, _ := fmt.Sscanf(value, "above %g, at most %g", &low, &high); n == 2 {
			return end > low && end <= high
		} else if n == 1 {
			return end > low
		} else if n, _ := fmt.Sscanf(value, "at most %g", &high); n == 1 {
			return end <= high
		}
		fmt.Sscan(value, &x)
		return value != "" && math.Abs(total(e.until(step))-x) < 1e-9
	}}
}

// drawMonitors draws some monitors, a budget of what another one returns among them.
func drawMonitors(t *testing.T, rng *rand.Rand, m *cmdp.Model, sh shape) (list []definition) {
	width := m.Dim()
	add := func(d definition) {
		list = append(list, d)
		width += d.Rewards()
	}
	costs := []spending{{0, nil, 0.6, func(e episode) float64 { return e.total(0) }},
		{1, nil, 2, func(e episode) float64 { return e.total(1) }}}
	if monitor.Unit(monitor.Amounts(m, 0)).IsInt() {
		costs[0].step = 1 // the unit where nothing is returned
	}
	sums := slices.Clone(costs)
	if sh.negative {
		costs = nil
	}
	for i := range 1 + rng.IntN(3) {
		title := fmt.Sprint("monitor ", i)
		switch rng.IntN(5) {
		case 0:
			of := (*spending)(nil)
			if rng.IntN(2) == 0 {
				of = &sums[rng.IntN(len(sums))]
			}
			add(drawReach(t, rng, m, title, costs, of))
		case 1:
			sign := float64(1 - 2*rng.IntN(2))
			amounts := []float64{0, sign, 2 * sign}
			if sh.horizon > 0 && rng.IntN(3) == 0 {
				sign, amounts = 0, []float64{-2, -1, 0, 1, 2}
			}
			table := drawTable(t, rng, m, title, sign)
			add(table)
			if table.Rewards() > 0 && sh.horizon > 0 { // else it may pay at rest for ever
				paid := spending{width - 1, amounts, 2,
					func(e episode) float64 { return table.pays(e)[0] }}
				add(drawBudget(t, rng, m, title+" paid", paid.coordinate, paid.amounts, paid.total))
				sums = append(sums, paid)
				if sign > 0 {
					costs = append(costs, paid)
				}
				if rng.IntN(3) == 0 {
					add(drawReach(t, rng, m, title+" spent", costs, nil))
				}
			}
		case 2:
			add(drawTaken(rng, m, title, func(e episode) []int { return e.choices }))
		case 3:
			states := randomSet(rng, m.States())
			states[m.States()-1] = states[m.States()-1] && sh.horizon > 0
			pays := func(e episode) []float64 {
				n := 0.0
				for _, s := range e.states[:len(e.returns)] {
					n += indicator(states[s])
				}
				return []float64{n}
			}
			add(definition{Monitor: &monitor.VisitCount{Title: title, States: states}, pays: pays,
				says: func(_ episode, _ int, value string) bool { return value == "" }})
		default:
			of := rng.IntN(2)
			add(drawBudget(t, rng, m, title, of, nil, func(e episode) float64 { return e.total(of) }))
		}
	}
	return list
}

// A walk goes through all episodes of a product, beside its base.
type walk struct {
	*testing.T
	rng      *rand.Rand
	trial    int
	p, inner *monitor.ProductModel // inner is the product that p is one of, or nil
	of       []definition
	columns  []int
	whole    bool // columns are all
}

// TestEpisodesOfProducts: whatever is watched, with a horizon or until rest, stored or generated, in a product or a
// product of that: an episode of a product is one of its base, by the actions that the product says, with the same
// probabilities. It returns in the end what the definitions of all monitors ask for, and on its way what is said of
// the memory is true.
func TestEpisodesOfProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 71))
	generated, epochs, twice := 0, 0, 0
	for trial := range 300 {
		w := drawWalk(t, rng, trial)
		if w.p.Model.Tally() != nil {
			generated++
		}
		if w.inner != nil {
			twice++
		}
		if w.p.Model.Epochs() != nil || w.inner != nil && w.inner.Model.Epochs() != nil {
			epochs++
		}
		w.checkParts()
		for i, st := range w.p.Model.StartStates() {
			at := path{s: st.State, episode: episode{history: history{states: []int{w.p.State(st.State)}}},
				returned: [][]float64{make([]float64, w.p.Model.Dim())}}
			if w.inner != nil {
				at.below = w.inner.Model.StartStates()[i].State
			}
			w.step(at)
		}
	}
	if generated < 20 || epochs < 5 || twice < 20 {
		t.Errorf("%d products are generated, %d of epochs, %d made of another one: want more", generated, epochs, twice)
	}
}

// drawWalk draws a model, monitors and their product, or a product of that.
func drawWalk(t *testing.T, rng *rand.Rand, trial int) *walk {
	sh := shape{states: 3, horizon: trial % 4, rests: trial%3 == 0, outcomes: trial%5 == 0, negative: trial%7 > 4,
		stepwise: trial%8 > 3}
	if sh.horizon == 0 {
		sh = shape{states: 4, forward: true, outcomes: sh.outcomes}
	}
	m := randomModel(t, rng, sh)
	if sh.horizon > 0 && trial%3 == 1 {
		m = promising(t, m)
	}
	w := &walk{T: t, rng: rng, trial: trial, whole: trial%2 == 0, of: drawMonitors(t, rng, m, sh)}
	spec := monitor.Spec{Model: m, Generate: min(1, trial%5/2)}
	width := m.Dim()
	for _, d := range w.of {
		spec.Monitors = append(spec.Monitors, d.Monitor)
		width += d.Rewards()
	}
	w.columns = rng.Perm(width)
	if w.whole {
		slices.Sort(w.columns)
	} else {
		w.columns = w.columns[:1+rng.IntN(width)]
		spec.Columns = w.columns
	}
	w.p = product(t, spec)
	if trial%10 == 0 {
		err := cmdptest.CheckMonitor(m, w.of[0].Monitor)
		if err == nil && sh.horizon > 0 {
			err = cmdptest.CheckEnvironment(w.p.Model)
		}
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
	}
	if w.p.Model.Tally() == nil && sh.horizon > 0 {
		if states, _ := w.p.Model.Shape().Unknown(); states != m.States() {
			t.Errorf("trial %d: %d states are to be learned: want %d", trial, states, m.States())
		}
	}
	if sh.horizon == 0 && trial%3 > 0 {
		w.inner = w.p
		again := drawTaken(rng, w.inner.Model, "again", func(e episode) []int { return e.inner })
		var err error
		if w.p, err = w.inner.With(again.Monitor); err != nil {
			t.Fatal(err)
		}
		w.of = append(w.of, again)
	}
	return w
}

// promising returns the same model with bounds of what its episodes return.
func promising(t *testing.T, m *cmdp.Model) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates(), Promised: true}
	spec.ReturnToGo = &cmdp.Interval{Lower: []float64{-7, -1}, Upper: []float64{8, 9}}
	for h := range m.Kernels() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(h))
	}
	with, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return with
}

// values returns what is remembered in a state, by the names of the monitors.
func (w *walk) values(s int) map[string]string {
	parts, list := strings.Split(w.p.Memory(s), "; "), w.p.Remembered()
	if len(parts) == len(list)+1 { // start, or later
		parts = parts[1:]
	}
	if len(parts) != len(list) {
		w.Fatalf("trial %d: %q is remembered: want values of %v", w.trial, w.p.Memory(s), list)
	}
	out := make(map[string]string)
	for i, r := range list {
		out[r.Name] = parts[i]
	}
	return out
}

// checkParts checks what is remembered, monitor by monitor, of a product whose rows are stored: words are those of the
// parts, and a tuple is what its parts are.
func (w *walk) checkParts() {
	list := w.p.Monitors()
	if len(list) != len(w.of) {
		w.Fatalf("trial %d: %d monitors: want %d", w.trial, len(list), len(w.of))
	}
	for i, d := range w.of {
		if list[i].Name() != d.Name() {
			w.Errorf("trial %d: monitor %d is %s: want %s", w.trial, i, list[i].Name(), d.Name())
		}
	}
	list[0] = nil
	if w.p.Monitors()[0] == nil {
		w.Errorf("trial %d: the list of monitors is not the caller's to change", w.trial)
	}
	if w.p.Model.Tally() != nil {
		return
	}
	own := w.of
	if w.inner != nil {
		own = w.of[len(w.of)-1:]
	}
	words, tuples := make(map[int]string), make(map[string]int)
	for s := range w.p.Model.States() {
		values, text := w.values(s), fmt.Sprint(w.inner == nil && strings.HasPrefix(w.p.Memory(s), "start"))
		for i, d := range own {
			part := d.Value(w.p.Part(s, i))
			text += "; " + part
			if said, is := values[d.Name()]; is && said != part {
				w.Errorf("trial %d: %s is %q: want %q", w.trial, d.Name(), said, part)
			}
		}
		tuple := w.p.Tuple(s)
		before, met := words[tuple]
		number, known := tuples[text]
		if met && before != text || known && number != tuple {
			w.Errorf("trial %d: tuple %d is %q and %q, which is tuple %d too", w.trial, tuple, before, text, number)
		}
		words[tuple], tuples[text] = text, tuple
	}
	if w.p.Model.Horizon() > 0 {
		w.checkEquivalent()
	}
}

// checkEquivalent: a transition is as likely as those of the pairs of the same state, by the same action of the base.
// One that the model does not have leads each of them to what its own monitors remember after the first returns of the
// action, where that comes up.
func (w *walk) checkEquivalent() {
	m, sh, h := w.p.Model, w.p.Model.Shape(), w.rng.IntN(w.p.Model.Horizon())
	key := func(state int, parts []int) string { return fmt.Sprint(state, parts) }
	pairs := make(map[string]int)
	for s := range m.States() {
		var parts []int
		for i := range w.of {
			parts = append(parts, w.p.Part(s, i))
		}
		if k := key(w.p.State(s), parts); !strings.HasPrefix(w.p.Memory(s), "start") {
			pairs[k] = s
		}
	}
	after := func(s, a, next int) int {
		state, returns := w.p.State(next), slices.Clone(w.edges(h, s, a, w.p.State(s))[0].returns)
		tr, parts := monitor.Transition{State: w.p.State(s), Choice: w.p.Action(h, s, a), Next: state}, []int(nil)
		if first, end := w.p.Base().Rows(h).Choices(tr.State); first < end {
			tr.Choice += first
			copy(returns, w.p.Base().Rows(h).Outcome(tr.Choice, 0))
		}
		for i, d := range w.of {
			tr.Returns = returns
			dst := make([]float64, d.Rewards())
			parts = append(parts, d.Step(dst, w.p.Part(s, i), tr))
			returns = append(returns, dst...)
		}
		if to, is := pairs[key(state, parts)]; is {
			return to
		}
		return next
	}
	for s := range m.States() {
		for a := range sh.Actions(h, s) {
			c, _, _ := possible(m.Rows(h), s, a)
			successors, _ := m.Rows(h).Row(c)
			next := w.rng.IntN(m.States())
			sh.EachEquivalent(h, s, a, next, nil, func(state, action, to int, _ []float64) {
				if w.p.State(state) != w.p.State(s) || w.p.Action(h, state, action) != w.p.Action(h, s, a) {
					w.Errorf("trial %d: action %d of state %d is as likely as %d of %d", w.trial, action, state, a, s)
				}
				if want := after(state, action, next); !slices.Contains(successors, int32(next)) && to != want {
					w.Errorf("trial %d: action %d of state %d leads to %d: want %d", w.trial, action, state, to, want)
				}
			})
		}
	}
}

// A path is an episode of the product so far, with the episode of the base that it stands for.
type path struct {
	episode
	s, below int // the state of the product, and of the inner one
	said     []map[string]string
	returned [][]float64 // in all, at each moment
}

// resting reports whether a state has no choice at a step.
func resting(m *cmdp.Model, h, s int) bool {
	first, end := m.Rows(h).Choices(s)
	return first == end
}

// step checks the present state of a path, and goes on to what may follow, after the first step to half of it.
func (w *walk) step(at path) {
	m, base, h := w.p.Model, w.p.Base(), len(at.returns)
	state := at.states[h]
	if w.p.State(at.s) != state {
		w.Fatalf("trial %d: state %d is about %d of the base: want %d", w.trial, at.s, w.p.State(at.s), state)
	}
	at.said = append(slices.Clip(at.said), w.values(at.s))
	if base.Horizon() > 0 && h == base.Horizon() || base.Horizon() == 0 && resting(m, 0, at.s) {
		w.check(at)
		return
	}
	if resting(m, h, at.s) {
		if !resting(base, h, state) {
			w.Fatalf("trial %d: state %d rests", w.trial, at.s)
		}
		w.step(at.to(edge{choice: -1, next: state, returns: make([]float64, base.Dim())}, -1, make([]float64, m.Dim())))
		return
	}
	first, end := m.Rows(h).Choices(at.s)
	for a := range end - first {
		w.take(at, a)
	}
}

// possible lists the transitions of an action of a state that have a probability, by their places in the row of the
// choice, and returns the number of the choice. rows are those of one call, since rows may be generated.
func possible(rows *cmdp.Rows, s, a int) (choice int, next []int32, places []int) {
	choice, _ = rows.Choices(s)
	choice += a
	to, prob := rows.Row(choice)
	for i, x := range prob {
		if x > 0 {
			next, places = append(next, to[i]), append(places, i)
		}
	}
	return choice, next, places
}

// take goes on to what may follow an action.
func (w *walk) take(at path, a int) {
	m, h := w.p.Model, len(at.returns)
	rows, below, lower := m.Rows(h), -1, []int32(nil)
	c, next, places := possible(rows, at.s, a)
	if w.inner != nil {
		below, lower, _ = possible(w.inner.Model.Rows(0), at.below, a)
	}
	edges := w.edges(h, at.s, a, at.states[h])
	if len(edges) != len(next) {
		w.Fatalf("trial %d: %d successors: want %d", w.trial, len(next), len(edges))
	}
	_, prob := rows.Row(c)
	for i, e := range edges {
		if prob[places[i]] != e.probability {
			w.Fatalf("trial %d: probability %g: want %g", w.trial, prob[places[i]], e.probability)
		}
		outcome := slices.Clone(rows.Outcome(c, places[i]))
		pays := slices.ContainsFunc(outcome, func(x float64) bool { return x != 0 })
		if e.choice < 0 && int(next[i]) == at.s && w.whole && m.Tally() == nil && !pays {
			w.Fatalf("trial %d: a state has a choice that changes nothing where the base rests", w.trial)
		}
		if h > 0 && w.rng.IntN(2) == 0 {
			continue // there are many
		}
		then := at.to(e, below, outcome)
		then.s = int(next[i])
		if lower != nil {
			then.below = int(lower[i])
		}
		w.step(then)
	}
}

// to goes on by a transition of the base, with what the product returns for it.
func (at path) to(e edge, below int, outcome []float64) path {
	at.returned = append(slices.Clip(at.returned), floats.AddTo(outcome, at.returned[len(at.returned)-1], outcome))
	at.history = extend(at.history, e.next, e.returns)
	at.choices, at.inner = append(slices.Clip(at.choices), e.choice), append(slices.Clip(at.inner), below)
	return at
}

// An edge is a transition of the base.
type edge struct {
	choice, next int
	probability  float64
	returns      []float64
}

// edges lists the transitions of the base that those of an action of the product stand for.
func (w *walk) edges(h, s, a, state int) (out []edge) {
	rows := w.p.Base().Rows(h)
	first, end := rows.Choices(state)
	if of := w.p.Action(h, s, a); first == end && of != -1 || first < end && (of != a || first+of >= end) {
		w.Fatalf("trial %d: action %d is action %d of %d", w.trial, a, of, end-first)
	}
	if first == end {
		return []edge{{-1, state, 1, make([]float64, w.p.Base().Dim())}}
	}
	next, prob := rows.Row(first + a)
	for i, to := range next {
		if prob[i] > 0 {
			out = append(out, edge{first + a, int(to), prob[i], slices.Clone(rows.Outcome(first+a, i))})
		}
	}
	return out
}

// check compares a whole episode with the definitions.
func (w *walk) check(at path) {
	var all []float64
	for i := range w.p.Base().Dim() {
		all = append(all, at.total(i))
	}
	for _, d := range w.of {
		all = append(all, d.pays(at.episode)...)
		if d.agrees != nil && !d.agrees(at.episode) {
			w.Fatalf("trial %d: what %s tells does not agree with %+v", w.trial, d.Name(), at.episode)
		}
		for step, said := range at.said {
			if value, is := said[d.Name()]; is && !d.says(at.episode, step, value) {
				w.Fatalf("trial %d: %s is %q after %d steps of %+v", w.trial, d.Name(), value, step, at.episode)
			}
		}
	}
	var promise, given *cmdp.Interval // of the product, and of its base
	if sh := w.p.Model.Shape(); sh != nil {
		promise, given = sh.Promise(), w.p.Base().Shape().Promise()
	}
	for j, x := range at.returned[len(at.returned)-1] {
		if want := all[w.columns[j]]; math.Abs(x-want) > 1e-9*max(1, math.Abs(want)) {
			w.Fatalf("trial %d: return %d of %+v is %g: want %g", w.trial, w.columns[j], at.episode, x, want)
		}
		c := w.columns[j]
		if given != nil && c < len(given.Lower) &&
			(promise.Lower[j] != given.Lower[c] || promise.Upper[j] != given.Upper[c]) {
			w.Fatalf("trial %d: return %d of the base is promised anew", w.trial, c)
		}
		for step, before := range at.returned {
			left := x - before[j]
			if promise != nil && (left < promise.Lower[j]-1e-9 || left > promise.Upper[j]+1e-9) {
				w.Fatalf("trial %d: return %d of %+v after %d steps: %g, want %g to %g as promised", w.trial,
					w.columns[j], at.episode, step, left, promise.Lower[j], promise.Upper[j])
			}
		}
	}
}
