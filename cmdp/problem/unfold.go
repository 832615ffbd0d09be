package problem

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"sync"

	"cmdpsolve/cmdp/monitor"
)

// An unfolding is a problem p on the way to one without memory, q.
type unfolding struct {
	p, q       *Problem
	spec       monitor.Spec
	width      int            // coordinates of all returns so far
	coordinate map[string]int // of a return
	wanted     []wanted
	soft       bool // what must hold in every episode becomes a probability that is to be 0
}

// wanted is a limit for the total of a return.
type wanted struct {
	of    string // the return
	limit monitor.Limit
	name  string // of the return that tells about the limit; "" if none does
	large bool   // it is to be large, so that a bound has to be one from below
	path  []any  // where it stands in the file
}

func (u *unfolding) run() error {
	p, q := u.p, u.q
	opts := q.Memory.options
	u.spec = monitor.Spec{Model: p.Model, Bytes: opts.Bytes, Generate: opts.Generate}
	for i, name := range p.given() {
		u.coordinate[name] = i
	}
	u.width = p.Model.Dim()
	if err := u.watch(); err != nil {
		return err
	}
	if err := u.constrain(); err != nil {
		return err
	}
	if err := u.spend(); err != nil {
		return err
	}
	var hidden []string
	for _, w := range u.wanted {
		if w.name != "" && !slices.Contains(p.Returns, w.name) && !slices.Contains(hidden, w.name) {
			hidden = append(hidden, w.name)
		}
	}
	var means []bool
	for _, name := range slices.Concat(p.Returns, hidden, u.other(p.Returns), u.other(hidden)) {
		q.Returns, u.spec.Columns = append(q.Returns, name), append(u.spec.Columns, u.coordinate[name])
		at := slices.Index(p.Returns, name)
		means = append(means, at >= 0 && p.mean(at))
	}
	if p.Model.Horizon() == 0 && p.Model.Discount() == 1 {
		u.spec.Means = means
	}
	var err error
	if q.Memory.Product, err = monitor.New(u.spec); err != nil {
		return fmt.Errorf("problem: %s", trimmed(err, "monitor: "))
	}
	q.Model, q.Memory.asked, q.Memory.wanted = q.Memory.Model, slices.Clone(q.Constraints), u.wanted
	q.Memory.pairs = sync.OnceValue(q.Memory.index)
	return nil
}

// other returns the names of the other bounds of returns whose totals were rounded.
func (u *unfolding) other(names []string) []string {
	var out []string
	for _, name := range names {
		for _, side := range []string{lowerBound, upperBound} {
			if _, ok := u.coordinate[name+side]; ok {
				out = append(out, name+side)
			}
		}
	}
	return out
}

const lowerBound, upperBound = " (lower bound)", " (upper bound)"

// watch adds the monitors that look at states, and takes down limits of totals.
func (u *unfolding) watch() error {
	for i, r := range u.p.Kinds {
		name, sets := u.p.Returns[i], [3][]bool{}
		for j, set := range []*StateSet{r.Reach, r.While, r.Visits} {
			if set == nil {
				continue
			}
			in, err := u.p.StatesIn(set)
			if err != nil {
				return inside(err, "returns", name, []string{"reach", "while", "visits"}[j])
			}
			sets[j] = in
		}
		switch {
		case r.Reach != nil && u.p.mean(i):
			return inside(errors.New("problem: the long-run mean of what happens once is 0: want a horizon, or totals (discount: 1)"), "returns", name, "reach")
		case r.Reach != nil:
			within := -1
			if r.Within != nil {
				within = *r.Within
			}
			u.add(&monitor.Reach{Title: name, Target: sets[0], While: sets[1], Within: within}, name)
		case r.Visits != nil:
			u.add(&monitor.Visits{Title: name, States: sets[2]}, name)
		case (r.Exceeds != nil || r.Excess != nil) && u.p.mean(i):
			return inside(errors.New("problem: the total over an episode has no long-run mean: want criterion: total"), "returns", name, "criterion")
		case r.Exceeds != nil:
			u.want(r.Exceeds, monitor.Above, name, "exceeds")
		case r.Excess != nil:
			u.want(r.Excess, monitor.Excess, name, "excess")
		}
	}
	return nil
}

// add adds a monitor whose rewards are the returns of the given names.
func (u *unfolding) add(m monitor.Monitor, names ...string) {
	u.spec.Monitors = append(u.spec.Monitors, m)
	for i, name := range names {
		if name != "" {
			u.coordinate[name] = u.width + i
		}
	}
	u.width += m.Rewards()
}

func (u *unfolding) want(t *Threshold, kind monitor.LimitKind, name, key string) {
	large := u.p.Goal.Maximize == name
	for _, c := range u.p.Constraints {
		large = large || c.Return == name && c.AtLeast != nil && c.AtMost == nil
	}
	u.wanted = append(u.wanted, wanted{t.Return, monitor.Limit{Kind: kind, At: t.Limit}, name, large, []any{"returns", name, key}})
}

// constrain turns constraints on episodes into constraints on average and limits of totals.
func (u *unfolding) constrain() error {
	for i, c := range u.p.Constraints {
		if c.OnAverage() {
			u.ask(i, c)
			continue
		}
		if c.CVaR != nil {
			if err := u.tail(&c, i); err != nil {
				return inside(err, "constraints", i)
			}
			continue
		}
		keep, probability := u.chance, 1.0
		if c.Probability != nil {
			probability = *c.Probability
		}
		if probability == 1 {
			keep = u.always
		}
		if c.AtLeast != nil {
			keep(c.Return, monitor.Limit{Kind: monitor.AtLeast, At: *c.AtLeast}, probability, i)
		}
		if c.AtMost != nil {
			keep(c.Return, monitor.Limit{Kind: monitor.Above, At: *c.AtMost}, probability, i)
		}
	}
	return nil
}

// ask adds a constraint on average, for number i of the declared ones.
func (u *unfolding) ask(i int, c Constraint) {
	u.q.Constraints = append(u.q.Constraints, c)
	u.q.Memory.constraint = append(u.q.Memory.constraint, i)
}

// always asks that a bound holds whatever chance does.
func (u *unfolding) always(of string, limit monitor.Limit, _ float64, i int) {
	a := Always{Name: of + " ≤ " + short(limit.At) + " always", Return: of, Limit: limit.At, AtLeast: limit.Kind == monitor.AtLeast}
	if a.AtLeast {
		a.Name = of + " ≥ " + short(limit.At) + " always"
	}
	// A bound from below need not be kept at any moment without a horizon, but come true in the end.
	if limit.Enforced = !u.soft && !(a.AtLeast && u.p.Model.Horizon() == 0); limit.Enforced {
		u.wanted = append(u.wanted, wanted{of, limit, "", a.AtLeast, []any{"constraints", i}})
	} else {
		u.chance(of, limit, 1, i)
		a.Chance = u.wanted[len(u.wanted)-1].name
	}
	u.q.Memory.Always = append(u.q.Memory.Always, a)
}

// chance asks that a bound holds with a probability.
func (u *unfolding) chance(of string, limit monitor.Limit, probability float64, i int) {
	asked, large := Constraint{Return: fmt.Sprintf("P(%s > %s)", of, short(limit.At)), AtMost: complement(probability)}, false
	if limit.Kind == monitor.AtLeast {
		asked, large = Constraint{Return: fmt.Sprintf("P(%s ≥ %s)", of, short(limit.At)), AtLeast: &probability}, true
	}
	u.wanted = append(u.wanted, wanted{of, limit, asked.Return, large, []any{"constraints", i}})
	u.ask(i, asked)
}

// complement returns 1 − p as decimals, so that 0.95 leaves 0.05.
func complement(p float64) *float64 {
	x, _ := new(big.Rat).SetString(short(p))
	rest, _ := x.Sub(big.NewRat(1, 1), x).Float64()
	return &rest
}

// tail asks that the mean of the worst episodes keeps a bound.
func (u *unfolding) tail(c *Constraint, number int) error {
	memory := u.q.Memory
	bound, kind, text := c.AtMost, monitor.Excess, "excess of %s over %s"
	if c.AtLeast != nil {
		bound, kind, text = c.AtLeast, monitor.Shortfall, "shortfall of %s below %s"
	}
	tail := Tail{Constraint: number, Threshold: *bound, Mean: c.limited(), AtLeast: c.AtLeast != nil, Share: *c.CVaR}
	if at := len(memory.Tails); at < len(memory.options.Thresholds) {
		tail.Threshold = memory.options.Thresholds[at]
	}
	limit := monitor.Limit{Kind: kind, At: tail.Threshold}
	b, err := u.budget(c.Return, c.Return, []monitor.Limit{limit}, u.rounding(c.Return, c.AtLeast != nil))
	if err != nil {
		return err
	}
	tail.Excess, tail.totals = fmt.Sprintf(text, c.Return, short(tail.Threshold)), func(x float64) []float64 { return b.Totals(x, kind == monitor.Excess) }
	if err := tail.bound(c, *bound); err != nil {
		return err
	}
	memory.Tails = append(memory.Tails, tail)
	u.wanted = append(u.wanted, wanted{c.Return, limit, tail.Excess, false, []any{"constraints", number}})
	u.ask(number, Constraint{Return: tail.Excess, AtMost: &tail.Room})
	return nil
}

// maxThresholds bounds the thresholds of a tail.
const maxThresholds = 10_000

// rounding says how a total is to be rounded, if it has to be, so that what is large or small is
// so for certain.
func (u *unfolding) rounding(of string, large bool) monitor.Rounding {
	exact, err := u.budget(of, of, []monitor.Limit{{}}, monitor.Exact)
	switch r := u.q.Memory.options.Resolution; {
	case r == 0 || err == nil && exact.Unit() >= r:
		return monitor.Exact
	case large:
		return monitor.Down
	}
	return monitor.Up
}

func (u *unfolding) budget(of, title string, limits []monitor.Limit, rounding monitor.Rounding) (*monitor.Budget, error) {
	b, err := monitor.NewBudget(monitor.BudgetSpec{Title: title, Model: u.p.Model, Coordinate: u.coordinate[of], Amounts: []float64{0, 1},
		Limits: limits, Rounding: rounding, Resolution: u.q.Memory.options.Resolution})
	if err != nil {
		return nil, fmt.Errorf("problem: %s", trimmed(err, "monitor: "))
	}
	return b, nil
}

// spend adds the budgets, one for all limits of the total of a return; where it has to be rounded, one
// rounded down and one rounded up.
func (u *unfolding) spend() error {
	done := make(map[string]bool)
	for _, first := range u.wanted {
		if done[first.of] {
			continue
		}
		done[first.of] = true
		var all []wanted
		for _, w := range u.wanted {
			if w.of == first.of {
				all = append(all, w)
			}
		}
		roundings := []monitor.Rounding{monitor.Exact}
		if u.rounding(first.of, false) != monitor.Exact {
			roundings = []monitor.Rounding{monitor.Up, monitor.Down}
		}
		for _, r := range roundings {
			if err := u.spendRounded(all, r); err != nil {
				return inside(err, first.path...)
			}
		}
	}
	return nil
}

func (u *unfolding) spendRounded(all []wanted, r monitor.Rounding) error {
	var limits []monitor.Limit
	var names []string
	enforced := false
	for _, w := range all {
		// A shortfall is small where the total is large.
		safe := r == monitor.Exact || (w.large || w.limit.Kind == monitor.Shortfall) == (r == monitor.Down)
		switch {
		case safe:
			limits, names = append(limits, w.limit), append(names, w.name)
			enforced = enforced || w.limit.Enforced
		case w.name != "" && w.large:
			limits, names = append(limits, w.limit), append(names, w.name+upperBound)
		case w.name != "":
			limits, names = append(limits, w.limit), append(names, w.name+lowerBound)
		}
	}
	if len(limits) == 0 {
		return nil
	}
	title := map[monitor.Rounding]string{monitor.Exact: "%s so far", monitor.Up: "%s so far, rounded up", monitor.Down: "%s so far, rounded down"}[r]
	b, err := u.budget(all[0].of, fmt.Sprintf(title, all[0].of), limits, r)
	if err != nil {
		return err
	}
	if r == monitor.Exact {
		u.note(b, all)
	}
	if enforced {
		u.spec.Enforced = append(u.spec.Enforced, len(u.spec.Monitors))
	}
	u.add(b, names...)
	return nil
}

// note takes down limits that are kept or passed whatever happens, and those between two totals.
func (u *unfolding) note(b *monitor.Budget, all []wanted) {
	notes := &u.q.Memory.Notes
	for i, w := range all {
		relation := map[monitor.LimitKind]string{monitor.Above: "above", monitor.Excess: "above", monitor.AtLeast: "below", monitor.Shortfall: "below"}[w.limit.Kind]
		never, surely := true, true
		for _, st := range u.p.Model.StartStates() {
			passed, certain := b.Certain(i, st.State)
			high := w.limit.Kind == monitor.Above || w.limit.Kind == monitor.Excess
			never = never && certain && passed != high
			surely = surely && certain && passed == high
		}
		switch nearest, on := b.Nearest(i); {
		case never:
			*notes = append(*notes, fmt.Sprintf("The total of %s is never %s %s, whatever is done.", w.of, relation, short(w.limit.At)))
		case surely:
			*notes = append(*notes, fmt.Sprintf("The total of %s is always %s %s, whatever is done.", w.of, relation, short(w.limit.At)))
		case !on && (w.limit.Kind == monitor.Above || w.limit.Kind == monitor.AtLeast):
			*notes = append(*notes, fmt.Sprintf("Totals of %s are multiples of %s: the limit %s means %s.", w.of, short(b.Unit()), short(w.limit.At), short(nearest)))
		}
	}
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
