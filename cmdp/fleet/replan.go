package fleet

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A Replanner plans the steps that are left again and again, from the states in which agents are, and follows
// the plan for some steps (the LP-update policy of Gast, Gaujal, Yan 2023). The actions of a step are rounded
// so that the limits about this step hold surely, where actions are that keep them, and budgets too; limits
// over the episode are planned with what is left of them.
type Replanner struct {
	f        *Fleet
	rows     []row
	every    int
	reserves bool // of budgets, what later steps are planned to use: more of it used now would be missing then
	groups   []agentGroup
	first    *remaining
}

// NewReplanner returns the player that plans again every so many steps. The policies of a plan make its first
// steps faster; it may be nil. The target of the task must be known to be a polyhedron.
func NewReplanner(ctx context.Context, f *Fleet, task cmdp.Task, plan *Plan, every int) (*Replanner, error) {
	rows, err := f.playable(task)
	if err != nil {
		return nil, err
	}
	if every < 1 {
		return nil, fmt.Errorf("fleet: planned again every %d steps: want at least 1", every)
	}
	// Planned again at each step, what is left of a budget is shared out anew, unless later steps need some of it.
	reserves := every > 1 || slices.ContainsFunc(rows, func(r row) bool {
		return !r.budget && slices.ContainsFunc(r.Normal, func(x float64) bool { return x < 0 })
	})
	first, err := newRemaining(ctx, f, task, rows, plan)
	if err != nil {
		return nil, err
	}
	return &Replanner{f: f, rows: rows, every: every, reserves: reserves, groups: f.byType(), first: first}, nil
}

func (f *Fleet) byType() []agentGroup {
	groups := make([]agentGroup, len(f.Types))
	for k, t := range f.Types {
		groups[k] = agentGroup{kind: k, count: t.Count, start: t.Starts}
	}
	return groups
}

func (p *Replanner) agentGroups() []agentGroup { return p.groups }

func (p *Replanner) begin(rng *rand.Rand) controller {
	return &replanning{Replanner: p, rng: rng, program: p.first.clone()}
}

// replanning is one episode of a Replanner.
type replanning struct {
	*Replanner
	rng     *rand.Rand
	program *remaining
	mixture [][]exact.WeightedPolicy // of each type
	// of each type and policy of its mixture, the agents in each state when all follow it
	masses [][][]float64
}

func (c *replanning) act(ctx context.Context, dst [][]int, h int, now [][]int, soFar []float64) error {
	if h%c.every == 0 {
		masses := make([][]float64, len(now))
		for k, of := range now {
			masses[k] = make([]float64, len(of))
			for s, n := range of {
				masses[k][s] = float64(n)
			}
		}
		if err := c.program.solve(ctx, h, masses, soFar); err != nil {
			return err
		}
		if c.reserves {
			c.program.schedule(h, masses, soFar)
		}
		c.masses = make([][][]float64, len(now))
		c.mixture = make([][]exact.WeightedPolicy, len(now))
		for k := range now {
			c.mixture[k] = c.program.program.Mixture(k)
			for range c.mixture[k] {
				c.masses[k] = append(c.masses[k], masses[k])
			}
		}
	}
	v := c.f.newAllocation(c.rows, c.groups, h, now, soFar)
	if c.reserves {
		c.program.reserveBudgets(v, h, soFar)
	}
	c.program.judge(v, c.groups, h)
	v.findRests()
	wanted := make([][]float64, len(v.slots))
	for i := range v.slots {
		wanted[i] = c.wanted(&v.slots[i], h)
	}
	adds, limits := c.matters(v, h)
	v.round(c.rng.Perm(len(v.slots)), wanted, adds, limits)
	v.repairWithBudgets()
	if h%c.every != 0 { // after a plan of this very step nobody gains
		v.fill()
	}
	v.write(dst)
	c.follow(h)
	return nil
}

// wanted returns how many agents of a slot the plan wants to take each action: of those in the state, by the
// policies that bring them there.
func (c *replanning) wanted(x *slot, h int) []float64 {
	sum := 0.0
	out := make([]float64, len(x.acts))
	one := make([]float64, len(x.acts))
	add := func(weight float64, policy cmdp.Policy) {
		policy.Distribution(one, h, x.state)
		for a, y := range one {
			out[a] += weight * y
		}
		sum += weight
	}
	mixture := c.mixture[x.group]
	heaviest := 0
	for j, of := range mixture {
		if weight := of.Weight * c.masses[x.group][j][x.state]; weight > 0 {
			add(weight, of.Policy)
		}
		if of.Weight > mixture[heaviest].Weight {
			heaviest = j
		}
	}
	if sum == 0 { // nobody was planned to be here
		add(1, mixture[heaviest].Policy)
	}
	for a := range out {
		out[a] *= float64(x.agents) / sum
	}
	return out
}

// matters returns what an agent of a slot adds to each limit at step h by each action, in the unit of the
// largest such number. Limits about other steps are left out.
func (c *replanning) matters(v *allocation, h int) (adds func(slot int) [][]float64, limits int) {
	table := make([][][]float64, len(v.slots))
	for k := range c.rows {
		r := &c.rows[k]
		if r.step != h && r.step != Episode {
			continue
		}
		limits++
		most := 0.0
		for i := range v.slots {
			x := &v.slots[i]
			kind := c.groups[x.group].kind
			m := c.f.Types[kind].Model
			rows := m.Rows(h)
			rows.Choices(x.state)
			weights := make([]float64, m.Dim())
			c.f.stepWeights(weights, kind, h, r.Normal)
			add := make([]float64, len(x.acts))
			for a := range add {
				for j, y := range rows.Returns(x.first + a) {
					add[a] += weights[j] * y
				}
				most = max(most, math.Abs(add[a]))
			}
			table[i] = append(table[i], add)
		}
		for i := range table {
			for a := range table[i][limits-1] {
				if most > 0 {
					table[i][limits-1][a] /= most
				}
			}
		}
	}
	return func(slot int) [][]float64 { return table[slot] }, limits
}

// follow moves the planned masses on to the next step.
func (c *replanning) follow(h int) {
	if c.every == 1 {
		return // they are found anew
	}
	for k, of := range c.masses {
		m := c.f.Types[c.groups[k].kind].Model
		probabilities := make([]float64, m.Shape().MaxActions())
		for j := range of {
			next := make([]float64, m.States())
			advance(m, c.mixture[k][j].Policy, h, next, of[j], probabilities, nil)
			of[j] = next
		}
	}
}

// A Dispatcher lets agents act in the order of what they gain by it at fixed prices of the limits, those of the
// plan for the whole episode, while the capacities of the step last (a Lagrange index policy; Brown and Smith
// 2020). Limits about single steps hold surely where actions are that keep them, and so do budgets, of which no
// more is used until a step is over than the plan uses until then, and what it leaves. Other limits over the
// episode have their price, and are kept in expectation at best.
type Dispatcher struct {
	f      *Fleet
	rows   []row
	groups []agentGroup
	prices *remaining
}

// NewDispatcher returns the player that serves agents by the prices of the program that plans for the whole
// episode. The policies of a plan make it faster to find; it may be nil. The target of the task must be known
// to be a polyhedron.
func NewDispatcher(ctx context.Context, f *Fleet, task cmdp.Task, plan *Plan) (*Dispatcher, error) {
	rows, err := f.playable(task)
	if err != nil {
		return nil, err
	}
	p, err := newRemaining(ctx, f, task, rows, plan)
	if err != nil {
		return nil, err
	}
	masses := make([][]float64, len(f.Types))
	for k, t := range f.Types {
		masses[k] = make([]float64, t.Model.States())
		for _, st := range t.Model.StartStates() {
			masses[k][st.State] += st.Probability * float64(t.Count)
		}
	}
	if err := p.solve(ctx, 0, masses, make([]float64, f.Dim())); err != nil {
		return nil, err
	}
	p.schedule(0, masses, make([]float64, f.Dim()))
	return &Dispatcher{f: f, rows: rows, groups: f.byType(), prices: p}, nil
}

func (p *Dispatcher) agentGroups() []agentGroup { return p.groups }

func (p *Dispatcher) begin(*rand.Rand) controller { return p }

func (p *Dispatcher) act(_ context.Context, dst [][]int, h int, now [][]int, soFar []float64) error {
	v := p.f.newAllocation(p.rows, p.groups, h, now, soFar)
	p.prices.reserveBudgets(v, h, soFar)
	p.prices.judge(v, p.groups, h)
	v.findRests()
	v.restAll()
	v.fill()
	v.repairWithBudgets()
	v.write(dst)
	return nil
}
