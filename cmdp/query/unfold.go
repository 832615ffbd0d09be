package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// An unfolding turns what is asked about the course of episodes into expected returns of
// a product with monitors, and limits into bounds on them.
type unfolding struct {
	p          *problem.Problem
	opts       CompileOptions
	known      *compiled // an earlier one, whose totals are taken over, or nil
	soft       bool      // what must hold in every episode becomes a probability that is to be 0
	spec       monitor.Spec
	width      int            // coordinates of all returns so far
	coordinate map[string]int // of a return
	wanted     []wanted
	rounded    []bool // of each return with rounded costs on the way: more of it is better
	inexact    bool   // some totals are rounded
	limits     []*Limit
	totals     map[tail]func(bound float64) []float64
	notes      []string
}

// A tail is a return whose worst episodes are limited, from above or from below.
type tail struct {
	of      string
	atLeast bool
}

// wanted is a limit for the total of a return.
type wanted struct {
	of    string // the return
	limit monitor.Threshold
	name  string // of the return that tells about the limit; "" if none does
	large bool   // it is to be large, so that a bound has to be one from below
	path  []any  // where it stands in the file
}

// unfold turns what a problem asks about episodes into limits and what is wanted of totals.
func unfold(p *problem.Problem, opts CompileOptions, known *compiled, soft bool) (*unfolding, error) {
	u := &unfolding{p: p, opts: opts, known: known, soft: soft, coordinate: make(map[string]int),
		totals: make(map[tail]func(float64) []float64)}
	for i, name := range p.Given() {
		u.coordinate[name] = i
	}
	if p.Model != nil {
		u.width = p.Model.Dim()
	}
	u.spec = monitor.Spec{Model: p.Model, Bytes: opts.Bytes, Generate: opts.Generate}
	if p.Intervals != nil { // a set of models has stored rows
		u.spec.Generate = 0
	}
	if err := u.watch(); err != nil {
		return nil, err
	}
	u.thresholds()
	return u, u.constrain()
}

func (u *unfolding) build(ctx context.Context, c *compiled) error {
	p := u.p
	if err := u.addBudgets(); err != nil {
		return err
	}
	var hidden []string
	for _, w := range u.wanted {
		if w.name != "" && !slices.Contains(p.Returns, w.name) && !slices.Contains(hidden, w.name) {
			hidden = append(hidden, w.name)
		}
	}
	var means []bool
	returns := slices.Concat(p.Returns, hidden, u.other(p.Returns), u.other(hidden))
	for _, name := range returns {
		u.spec.Columns = append(u.spec.Columns, u.coordinate[name])
		at := slices.Index(p.Returns, name)
		means = append(means, at >= 0 && p.Mean(at))
	}
	if p.Model.Horizon() == 0 && p.Model.Discount() == 1 {
		u.spec.Means = means
	}
	c.inexact = u.inexact
	product, err := u.product(ctx, c)
	if large, ok := errors.AsType[*cmdp.MemoryError](err); ok {
		return large
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "monitor: "))
	}
	c.process, c.product, c.notes = processOf(p, product, returns), product, u.notes
	return nil
}

// product returns the product, stored where its epochs have giant components.
func (u *unfolding) product(ctx context.Context, c *compiled) (*monitor.ProductModel, error) {
	u.spec.Told = func(pairs int) error {
		progress.Of(ctx).Tell(fmt.Sprintf("%d pairs of a state and what is to be remembered", pairs), math.NaN())
		return ctx.Err()
	}
	p, err := monitor.New(u.spec)
	if err != nil || p.Model.Epochs() == nil {
		return p, err
	}
	planner, err := exact.NewPlanner(p.Model, u.opts.Workers)
	if err != nil {
		return nil, err
	}
	solves, err := planner.SolvesEpochs(ctx, cmdp.Task{})
	if err != nil || solves { // the planner knows the small models now
		c.planner = func() (*exact.Planner, error) { return planner, nil }
		return p, err
	}
	u.spec.Generate = 0
	return monitor.New(u.spec)
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
	var later []*monitor.Reach
	for i, r := range u.p.Kinds {
		name, sets := u.p.Returns[i], [3][]bool{}
		for j, set := range []*problem.StateSet{r.Reach, r.While, r.Visits} {
			if set == nil {
				continue
			}
			in, err := u.p.StatesIn(set)
			if err != nil {
				return problem.Inside(err, "returns", name, []string{"reach", "while", "visits"}[j])
			}
			sets[j] = in
		}
		switch {
		case r.Reach != nil && u.p.Mean(i):
			return problem.Inside(errors.New("the long-run mean of what happens once is 0: want a horizon, or "+
				"totals (discount: 1)"), "returns", name, "reach")
		case (r.Judged() != nil || r.Total != "") && u.p.Mean(i):
			return problem.Inside(errors.New("the total over an episode has no long-run mean: want criterion: total"),
				"returns", name, "criterion")
		case r.Reach != nil || r.Total != "":
			way := &monitor.Reach{Title: name, Target: sets[0], While: sets[1], Within: r.Within.Steps(),
				Discount: u.p.Model.Discount()}
			if r.Total != "" || r.Within.Spends() {
				later = append(later, way) // what counts may be a return of another monitor
				continue
			}
			u.add(way, name)
		case r.Visits != nil:
			u.add(&monitor.VisitCount{Title: name, States: sets[2]}, name)
		}
	}
	for _, way := range later {
		if err := u.spending(way); err != nil {
			return problem.Inside(err, "returns", way.Title, "within")
		}
	}
	return nil
}

// spending adds a monitor of arrivals, or of a total, within bounds of costs. Costs that are rounded up make the
// probability and a total of rewards smaller, rounded down larger: limits and goals see the side that is safe.
func (u *unfolding) spending(way *monitor.Reach) error {
	name := way.Title
	kind := u.p.Kinds[slices.Index(u.p.Returns, name)]
	add := func(r *monitor.Reach, name string) {
		if kind.Total == "" {
			u.add(r, name)
		} else {
			u.add(&monitor.PartialTotal{Reach: *r, Coordinate: u.coordinate[kind.Total]}, name)
		}
	}
	spend := func(how monitor.Rounding) (*monitor.Reach, error) {
		r := *way
		for _, b := range kind.Within {
			if b.Return == "" {
				continue
			}
			err := r.Spend(monitor.CostSpec{Name: b.Return, Model: u.p.Model, Coordinate: u.coordinate[b.Return],
				Amounts: u.amounts(b.Return), AtMost: b.AtMost, Rounding: how, Resolution: u.opts.Resolution})
			if err != nil {
				return nil, errors.New(strings.TrimPrefix(err.Error(), "monitor: "))
			}
		}
		return &r, nil
	}
	exact, err := spend(monitor.Exact)
	if r := u.opts.Resolution; r == 0 || !kind.Within.Spends() || err == nil && exact.Unit() >= r {
		if err == nil {
			add(exact, name)
		}
		return err
	}
	least, most := floats.Min(u.amounts(name)), floats.Max(u.amounts(name))
	if least < 0 && most > 0 {
		return fmt.Errorf("returns of %s of both signs, and costs that are rounded: want a finer resolution, or "+
			"returns of one sign", kind.Total)
	}
	large := u.large(name) != u.opts.relaxed
	u.rounded, u.inexact = append(u.rounded, large), true
	for _, side := range []string{lowerBound, upperBound} {
		how := monitor.Down
		if (side == lowerBound) == (least >= 0) {
			how = monitor.Up
		}
		r, err := spend(how)
		if err != nil {
			return err
		}
		r.Title = name + side
		if large == (side == lowerBound) {
			side = ""
		}
		add(r, name+side)
	}
	return nil
}

// amounts lists what a return may be in a step.
func (u *unfolding) amounts(name string) []float64 {
	var kind problem.Return
	if u.p.Kinds != nil {
		kind = u.p.Kinds[slices.Index(u.p.Returns, name)]
	}
	switch {
	case kind.Total != "":
		return append(u.amounts(kind.Total), 0)
	case kind.Derived():
		return []float64{0, 1}
	}
	return monitor.Amounts(u.p.Model, u.coordinate[name])
}

// large reports whether more of a return is better. A total that is rounded is then rounded down. The goal decides,
// since limits find the bound that is safe for them by themselves.
func (u *unfolding) large(name string) bool {
	if large, known := u.opts.larger[name]; known {
		return large
	}
	if u.p.Goal.Minimize == name {
		return false
	}
	large := u.p.Goal.Maximize == name
	for _, c := range u.p.Constraints {
		large = large || c.Return == name && c.AtLeast != nil && c.AtMost == nil
	}
	return large
}

// thresholds takes down the returns that judge the total of another.
func (u *unfolding) thresholds() {
	for i, r := range u.p.Kinds {
		name := u.p.Returns[i]
		switch {
		case r.Exceeds != nil:
			u.want(r.Exceeds, monitor.Above, name, "exceeds")
		case r.Meets != nil:
			u.want(r.Meets, monitor.AtLeast, name, "meets")
		case r.Excess != nil:
			u.want(r.Excess, monitor.Excess, name, "excess")
		}
	}
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

func (u *unfolding) want(t *problem.Threshold, kind monitor.LimitKind, name, key string) {
	u.wanted = append(u.wanted, wanted{t.Return, monitor.Threshold{Kind: kind, At: t.Limit}, name, u.large(name),
		[]any{"returns", name, key}})
}

// rounding says in which direction a total is rounded, if it has to be: down where it should be large, so that the
// exact one is at least as large, else up.
func (u *unfolding) rounding(of string, large bool) monitor.Rounding {
	exact, err := u.budget(of, of, []monitor.Threshold{{}}, monitor.Exact)
	switch r := u.opts.Resolution; {
	case r == 0 || err == nil && exact.Unit() >= r:
		return monitor.Exact
	case large != u.opts.relaxed:
		return monitor.Down
	}
	return monitor.Up
}

func (u *unfolding) budget(of, title string, limits []monitor.Threshold,
	rounding monitor.Rounding) (*monitor.Budget, error) {
	i := slices.Index(u.p.Returns, of)
	if u.coordinate[of] >= u.p.Model.Dim() && u.p.Mean(i) {
		return nil, fmt.Errorf("%s is a long-run mean: a limit on whole episodes wants criterion: total", of)
	}
	b, err := monitor.NewBudget(monitor.BudgetSpec{Title: title, Model: u.p.Model, Coordinate: u.coordinate[of],
		Amounts: u.amounts(of), Limits: limits, Rounding: rounding, Resolution: u.opts.Resolution})
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "monitor: "))
	}
	return b, nil
}

// addBudgets adds the budgets, one for all limits of the total of a return; where it has to be rounded, one
// rounded down and one rounded up.
func (u *unfolding) addBudgets() error {
	done := make(map[string]bool)
	for _, first := range u.wanted {
		if done[first.of] {
			continue
		}
		done[first.of] = true
		_, below := u.coordinate[first.of+lowerBound]
		_, above := u.coordinate[first.of+upperBound]
		if below || above {
			return problem.Inside(fmt.Errorf("the costs within which %s counts are rounded: limits for its total want "+
				"a finer resolution", first.of), first.path...)
		}
		var all []wanted
		for _, w := range u.wanted {
			if w.of == first.of {
				all = append(all, w)
			}
		}
		roundings := []monitor.Rounding{monitor.Exact}
		if u.rounding(first.of, false) != monitor.Exact {
			roundings, u.inexact = []monitor.Rounding{monitor.Up, monitor.Down}, true
		}
		for _, r := range roundings {
			if err := u.addBudget(all, r); err != nil {
				return problem.Inside(err, first.path...)
			}
		}
	}
	return nil
}

func (u *unfolding) addBudget(all []wanted, r monitor.Rounding) error {
	var limits []monitor.Threshold
	var names []string
	enforced := false
	for _, w := range all {
		// A shortfall is small where the total is large.
		down := (w.large || w.limit.Kind == monitor.Shortfall) != u.opts.relaxed
		switch {
		case r == monitor.Exact || down == (r == monitor.Down):
			limits, names = append(limits, w.limit), append(names, w.name)
			enforced = enforced || w.limit.Enforced
		case w.name != "" && w.large != u.opts.relaxed:
			limits, names = append(limits, w.limit), append(names, w.name+upperBound)
		case w.name != "":
			limits, names = append(limits, w.limit), append(names, w.name+lowerBound)
		}
	}
	if len(limits) == 0 {
		return nil
	}
	title := map[monitor.Rounding]string{monitor.Exact: "%s so far", monitor.Up: "%s so far, rounded up",
		monitor.Down: "%s so far, rounded down"}[r]
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
	note := func(format string, args ...any) { u.notes = append(u.notes, fmt.Sprintf(format, args...)) }
	for i, w := range all {
		relation := map[monitor.LimitKind]string{monitor.Above: "above", monitor.Excess: "above",
			monitor.AtLeast: "below", monitor.Shortfall: "below"}[w.limit.Kind]
		never, surely := true, true
		for _, st := range u.p.Model.StartStates() {
			passed, certain := b.Certain(i, st.State)
			high := w.limit.Kind == monitor.Above || w.limit.Kind == monitor.Excess
			never = never && certain && passed != high
			surely = surely && certain && passed == high
		}
		switch nearest, on := b.Nearest(i); {
		case never:
			note("The total of %s is never %s %s, whatever is done.", w.of, relation, short(w.limit.At))
		case surely:
			note("The total of %s is always %s %s, whatever is done.", w.of, relation, short(w.limit.At))
		case !on && (w.limit.Kind == monitor.Above || w.limit.Kind == monitor.AtLeast):
			note("Totals of %s are multiples of %s: the limit %s means %s.", w.of, short(b.Unit()), short(w.limit.At),
				short(nearest))
		}
	}
}
