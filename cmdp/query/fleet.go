package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
)

// A Fleet is what a problem of many agents compiles to.
type Fleet struct {
	// Fleet has the models that are planned for. Its returns are the declared ones, and the coordinates of its
	// tasks are the Returns of the query.
	*fleet.Fleet
	// Members are queries for one agent of each type, without a goal and limits. They name states and actions.
	Members []*Query

	planner *fleet.Planner
}

// stepped names what a return is at a step, counted from 0.
func stepped(name string, h int) string { return fmt.Sprintf("%s at step %d", name, h+1) }

func compileFleet(
	ctx context.Context, p *problem.Problem, opts CompileOptions, declared int,
) (*compiled, *unfolding, error) {
	f := &Fleet{Fleet: &fleet.Fleet{Returns: p.Returns, EachStep: stepwise(p)}}
	wanted := preferencesOf(p, opts.larger)
	for i, m := range p.Fleet {
		agent := *m.Agent
		of := CompileOptions{Resolution: opts.Resolution, Workers: opts.Workers, Bytes: opts.Bytes,
			Generate: neverGenerate, relaxed: opts.relaxed, larger: make(map[string]bool)}
		for j, k := range m.Returns {
			if k >= 0 { // else it is none of the fleet's
				of.larger[agent.Returns[j]] = wanted[k].large
			}
		}
		q, err := New(ctx, &agent, of)
		if err != nil {
			return nil, nil, problem.Inside(err, "fleet", i, "model")
		}
		for j, k := range m.Returns {
			if _, rounded := q.compiled.otherSides()[j]; k >= 0 && rounded && wanted[k].large && wanted[k].small {
				return nil, nil, fmt.Errorf("the total of %s is rounded, and it is to be large for one limit or goal and "+
					"small for another: want a resolution of which its values are multiples", p.Returns[k])
			}
		}
		into := make([]int, len(q.Returns))
		for j := range into {
			into[j] = -1
			if j < len(m.Returns) {
				into[j] = m.Returns[j]
			}
		}
		t := fleet.Type{Name: m.Name, Count: m.Count, Model: q.Model, Returns: into}
		if m.Starts != nil {
			t.Starts = startsOf(q.Process, m.Starts)
		}
		f.Types = append(f.Types, t)
		f.Members = append(f.Members, q)
	}
	rounded := slices.ContainsFunc(f.Members, (*Query).Rounded)
	var err error
	f.planner, err = fleet.NewPlanner(f.Fleet, opts.Workers)
	if err != nil {
		return nil, nil, err
	}
	c := &compiled{declared: declared, of: p, fleet: f, inexact: rounded,
		totals: make(map[tail]func(bound float64) []float64)}
	c.planner = sync.OnceValues(func() (*exact.Planner, error) { return f.planner.Exact(), nil })
	returns := slices.Clone(p.Returns)
	for _, i := range f.EachStep {
		for h := range f.Horizon() {
			returns = append(returns, stepped(p.Returns[i], h))
		}
	}
	c.process = p.Process()
	c.process.Returns = returns
	u, err := unfoldFleet(p, opts, c)
	return c, u, err
}

// A preference says that a return is to be large, small, or both, for goal and limits.
type preference struct{ large, small bool }

// preferencesOf returns what each return of a fleet is to be. The goal has no part in it where it is said what is
// larger.
func preferencesOf(p *problem.Problem, larger map[string]bool) []preference {
	wanted := make([]preference, len(p.Returns))
	for i, name := range p.Returns {
		w := &wanted[i]
		large, known := larger[name]
		w.large, w.small = large, known && !large
		if larger == nil {
			w.large, w.small = p.Goal.Maximize == name, p.Goal.Minimize == name
		}
		for _, c := range p.Constraints {
			if c.Return == name {
				w.large = w.large || c.AtLeast != nil || c.LeastAt != nil
				w.small = w.small || c.AtMost != nil || c.MostAt != nil
			}
		}
	}
	return wanted
}

// neverGenerate is a number of pairs that no product has: rows of all are stored.
const neverGenerate = math.MaxInt

// Members returns the queries for one agent of each type of a fleet, or the query itself.
func (q *Query) Members() []*Query {
	if f := q.Fleet(); f != nil {
		return f.Members
	}
	return []*Query{q}
}

// Horizon is the number of steps of an episode, 0 without a horizon.
func (q *Query) Horizon() int { return q.Members()[0].Model.Horizon() }

// Size counts states, choices and transitions of the model, or of all models of a fleet.
func (q *Query) Size() (states, choices, transitions int) {
	for _, of := range q.Members() {
		states += of.Model.States()
		choices += of.Model.Choices()
		transitions += of.Model.Transitions()
	}
	return states, choices, transitions
}

// startsOf moves numbers of agents from states to those of a process in which episodes begin there.
func startsOf(x *problem.Process, starts []int) []int {
	if !x.Remembers() {
		return starts
	}
	of := make([]int, x.Model.States())
	for _, st := range x.Model.StartStates() {
		of[st.State] = starts[x.Declared(st.State)]
	}
	return of
}

// stepwise lists the returns that have limits at single steps.
func stepwise(p *problem.Problem) []int {
	var each []int
	for _, c := range p.Constraints {
		i := slices.Index(p.Returns, c.Return)
		if c.Stepwise() && i >= 0 && !slices.Contains(each, i) {
			each = append(each, i)
		}
	}
	return each
}

// servesFleet unfolds another problem of the fleet, and reports whether the coordinates tell all that it needs.
func (c *compiled) servesFleet(p *problem.Problem, opts CompileOptions) (u *unfolding, ok bool, err error) {
	same := len(p.Fleet) == len(c.of.Fleet) && &p.Fleet[0] == &c.of.Fleet[0] && slices.Equal(p.Returns, c.of.Returns)
	for _, i := range stepwise(p) {
		same = same && slices.Contains(c.fleet.EachStep, i)
	}
	same = same && (!c.inexact || slices.Equal(preferencesOf(p, opts.larger), preferencesOf(c.of, opts.larger)))
	if !same {
		return nil, false, nil
	}
	u, err = unfoldFleet(p, opts, c)
	return u, err == nil, err
}

// unfoldFleet turns constraints into limits, those at single steps into one for each of them.
func unfoldFleet(p *problem.Problem, opts CompileOptions, c *compiled) (*unfolding, error) {
	u := &unfolding{p: p, opts: opts, known: c}
	for i := range p.Constraints {
		x := &p.Constraints[i]
		switch {
		case !x.OnAverage():
			return nil, problem.Inside(fmt.Errorf("limits of a fleet hold in expectation: want none of always, "+
				"probability and cvar"), "constraints", p.PlaceOf(i))
		case x.Stepwise():
			limits, err := atSteps(i, x, c.fleet.Horizon())
			if err != nil {
				return nil, problem.Inside(err, "constraints", p.PlaceOf(i))
			}
			u.limits = append(u.limits, limits...)
		default:
			u.limits = append(u.limits, onAverage(i, x)...)
		}
	}
	return u, nil
}

// atSteps returns the limits of a constraint on single steps.
func atSteps(number int, c *problem.Limit, horizon int) (limits []*Limit, err error) {
	first, end, err := c.Range(horizon)
	if err != nil {
		return nil, err
	}
	for _, atLeast := range []bool{true, false} {
		for h := first; h < end; h++ {
			if b := c.At(atLeast, h-first); b != nil {
				l := newExpected(number, stepped(c.Return, h), *b, atLeast)
				l.Return, l.Step = c.Limited(), h+1
				limits = append(limits, l)
			}
		}
	}
	return limits, nil
}

// SolveFleet plans for a query about a fleet. It starts from the policies that were found for queries of the
// same fleet. What is claimed where totals are rounded is as of [Query.Solve].
func (q *Query) SolveFleet(ctx context.Context, opts exact.Options) (*fleet.Plan, error) {
	begin := time.Now()
	plan, err := q.Fleet().planner.Solve(ctx, q.Task, opts)
	if err == nil && q.Rounded() {
		plan.Result, err = certification{q, opts, begin}.certify(ctx, plan.Result)
	}
	return plan, err
}

// Fleet returns what a problem of many agents compiles to, nil for any other.
func (q *Query) Fleet() *Fleet { return q.compiled.fleet }

// Plan says what an answer for the fleet means for each type.
func (f *Fleet) Plan(r *exact.Result) *fleet.Plan { return f.planner.Plan(r) }

// limitable lists what a [Bound] of a fleet can name.
func (f *Fleet) limitable(q *Query) []string {
	names := slices.Clone(q.Problem.Returns)
	for _, l := range q.Limits {
		if l.Step > 0 && !slices.Contains(names, l.Return) {
			names = append(names, l.Return)
		}
	}
	return names
}

// Steps returns the names of limits, one for those that follow on one another and differ in the step alone:
// "kwh at each of the steps 5-7 ≤ 3".
func Steps(limits []*Limit) (names []string) {
	limits = slices.DeleteFunc(slices.Clone(limits), func(l *Limit) bool { return l == nil })
	for i := 0; i < len(limits); {
		j := i
		for j+1 < len(limits) && limits[i].Step > 0 && limits[j+1].Step == limits[j].Step+1 &&
			limits[j+1].Constraint == limits[i].Constraint &&
			limits[j+1].AtLeast == limits[i].AtLeast && limits[j+1].Bound == limits[i].Bound {
			j++
		}
		name := limits[i].Name
		if j > i {
			name = strings.Replace(name, fmt.Sprintf(" at step %d", limits[i].Step),
				fmt.Sprintf(" at each of the steps %d-%d", limits[i].Step, limits[j].Step), 1)
		}
		names = append(names, name)
		i = j + 1
	}
	return names
}
