package fleet

import (
	"context"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// A remaining program plans the steps that are left of an episode, from the states in which agents are, see
// [exact.RollingPlanner]. Limits are those of the whole episode, of which a part is used up. They may have become
// impossible to keep, so that each has a price at which it is broken, more than any agent could gain by that.
type remaining struct {
	f       *Fleet
	rows    []row
	program *exact.RollingPlanner
	// allowed has, of each budget and step, how much of it may be used until the step is over: what the plan
	// uses, and what it leaves in the end. Other limits have none.
	allowed [][]float64
}

// remainingGap is relative.
const remainingGap = 1e-7

// newRemaining returns the program of a task, with the policies of a plan as first columns; there may be no plan.
func newRemaining(ctx context.Context, f *Fleet, task cmdp.Task, rows []row, plan *Plan) (*remaining, error) {
	of := exact.Rolling{Cost: task.Cost, Gap: remainingGap, Penalties: f.penalties(task.Cost, rows)}
	for _, r := range rows {
		of.Limits = append(of.Limits, r.Constraint)
	}
	if plan != nil && len(plan.Types) == len(f.Types) {
		for _, t := range plan.Types {
			known := make([]*exact.Policy, len(t.Policies))
			for j, a := range t.Policies {
				known[j] = a.Policy
			}
			of.Known = append(of.Known, known)
		}
	}
	program, err := exact.NewRollingPlanner(ctx, f.parts(), len(f.Returns), f.EachStep, of)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &remaining{f: f, rows: rows, program: program}, nil
}

// penalties returns for each limit twice what an agent could gain in an episode, over the least that one can use
// of the limit at a step.
func (f *Fleet) penalties(goal cost.Cost, rows []row) []float64 {
	gain := 0.0
	for k := range f.Types {
		if goal != nil {
			gain = max(gain, f.reach(goal, k))
		}
	}
	if gain == 0 {
		gain = 1
	}
	out := make([]float64, len(rows))
	for k := range rows {
		out[k] = 2 * gain / f.leastUse(&rows[k])
	}
	return out
}

// reach returns by how much a cost can vary with what one agent of a type does.
func (f *Fleet) reach(goal cost.Cost, kind int) float64 {
	t := &f.Types[kind]
	m := t.Model
	a, affine := goal.(cost.Affine)
	weights := make([]float64, m.Dim())
	reach := make([]float64, f.Dim())
	sum := 0.0
	for h := range m.Horizon() {
		lower, upper := m.Shape().StepReturns(h)
		if affine {
			f.stepWeights(weights, kind, h, a.Gradient())
		}
		for i, to := range t.Returns {
			most := max(0, upper[i]) - min(0, lower[i])
			sum += math.Abs(weights[i]) * most
			if to >= 0 {
				reach[to] += most
			}
		}
	}
	if affine {
		return sum
	}
	return goal.Lipschitz() * floats.Norm(reach, 2) * math.Sqrt(float64(1+len(f.EachStep)))
}

// leastUse returns the least that a choice adds to a limit in absolute value, but for those that add nothing, 1 if
// none does.
func (f *Fleet) leastUse(r *row) float64 {
	least, most := math.Inf(1), 0.0
	for kind, t := range f.Types {
		m := t.Model
		weights := make([]float64, m.Dim())
		for h := range m.Horizon() {
			if r.step != Episode && r.step != h || r.step == Episode && h > 0 && m.Stationary() && r.weights != nil {
				continue
			}
			f.stepWeights(weights, kind, h, r.Normal)
			rows := m.Rows(h)
			for s := range m.States() {
				first, end := rows.Choices(s)
				for c := first; c < end; c++ {
					x := math.Abs(floats.Dot(weights, rows.Returns(c)))
					most = max(most, x)
					if x > 0 {
						least = min(least, x)
					}
				}
			}
		}
	}
	if most == 0 {
		return 1
	}
	return max(least, 1e-6*most)
}

// clone returns a program of its own that begins where this one is.
func (p *remaining) clone() *remaining {
	return &remaining{f: p.f, rows: p.rows, program: p.program.Clone()}
}

// solve plans from step h on. now is how many agents of each type are in each state, and soFar what was returned
// before.
func (p *remaining) solve(ctx context.Context, h int, now [][]float64, soFar []float64) error {
	starts := make([][]cmdp.StartState, len(now))
	for k, of := range now {
		for s, n := range of {
			if n > 0 {
				starts[k] = append(starts[k], cmdp.StartState{State: s, Probability: n / float64(p.f.Types[k].Count)})
			}
		}
	}
	err := p.program.Plan(ctx, h, starts, soFar)
	if err != nil {
		return fmt.Errorf("fleet: step %d: %w", h+1, err)
	}
	return nil
}

// schedule sets what may be used of budgets by the last solution, which begins at step h.
func (p *remaining) schedule(h int, masses [][]float64, soFar []float64) {
	p.allowed = make([][]float64, len(p.rows))
	for k := range p.rows {
		if !p.rows[k].budget {
			continue
		}
		use := make([]float64, p.f.Horizon())
		for kind := range p.f.Types {
			t := &p.f.Types[kind]
			for _, c := range p.program.Mixture(kind) {
				propagate(t.Model, c.Policy, h, startsOf(masses[kind]), func(at int, mass float64, returns []float64) {
					if returns != nil {
						use[at] += c.Weight * mass * t.use(p.rows[k].weights, returns)
					}
				})
			}
		}
		floats.CumSum(use, use)
		used := p.rows[k].value(soFar)
		spare := max(0, p.rows[k].Offset-used-use[len(use)-1])
		floats.AddConst(used+spare, use)
		p.allowed[k] = use
	}
}

// reserveBudgets keeps an allocation of step h to the schedule of the budgets.
func (p *remaining) reserveBudgets(v *allocation, h int, soFar []float64) {
	v.reserved = make([]float64, len(v.rows))
	for i, r := range v.rows {
		for k := range p.rows {
			if r == &p.rows[k] && p.rows[k].budget {
				room := min(v.room[i], p.allowed[k][h]-r.value(soFar))
				v.reserved[i] = v.room[i] - room
				v.room[i] = room
			}
		}
	}
}

// startsOf lists the states that have a mass.
func startsOf(masses []float64) (list []cmdp.StartState) {
	for s, n := range masses {
		if n > 0 {
			list = append(list, cmdp.StartState{State: s, Probability: n})
		}
	}
	return list
}

// judge sets the values of the actions of an allocation of step h by the last prices.
func (p *remaining) judge(v *allocation, groups []agentGroup, h int) {
	dir, ofStep := p.program.Direction(), p.pricesOf(h)
	for i := range v.slots {
		x := &v.slots[i]
		kind := groups[x.group].kind
		m := p.f.Types[kind].Model
		rows := m.Rows(h)
		rows.Choices(x.state)
		weights := make([]float64, m.Dim())
		own := make([]float64, m.Dim())
		p.f.stepWeights(weights, kind, h, dir)
		p.f.stepWeights(own, kind, h, ofStep)
		for a := range x.acts {
			x.value[a] = actionValue(rows, x.first+a, weights, p.program.Values(kind, h+1))
			x.own[a] = floats.Dot(own, rows.Returns(x.first+a))
		}
	}
}

// actionValue returns what a choice costs with the values of the next step.
func actionValue(rows *cmdp.Rows, c int, weights, values []float64) float64 {
	q := floats.Dot(weights, rows.Returns(c))
	next, prob := rows.Row(c)
	for i, n := range next {
		q += prob[i] * values[n]
	}
	return q
}

// pricesOf returns what the prices of the limits about step h alone, and of budgets, which bound each step, add
// to the direction.
func (p *remaining) pricesOf(h int) []float64 {
	dir := make([]float64, p.f.Dim())
	for k, y := range p.program.Prices() {
		if y != 0 && (p.rows[k].step == h || p.rows[k].budget) {
			floats.AddScaled(dir, y, p.rows[k].Normal)
		}
	}
	return dir
}
