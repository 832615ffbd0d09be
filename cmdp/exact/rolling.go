package exact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A RollingPlanner plans what is left of an episode of a sum with a horizon, again and again, from the states that
// its parts have come to (rolling horizon). By then limits may be out of reach, so that each has a price at which
// it is broken. Columns are kept from plan to plan: policies whose returns are computed again from the present
// states. A plan is as good as its gap says, and has no certificate. A RollingPlanner is not safe for concurrent
// use.
type RollingPlanner struct {
	sum    *sumPricer
	task   Rolling
	affine bool
	// lower and upper are a box around what is returned in an episode, and steps the largest magnitude of each
	// return in a step.
	lower, upper, steps []float64
	close               float64 // gap that counts as none
	last                []int   // of each limit, the last step that it is about

	columns []rollingColumn
	cuts    []cut
	theta   []float64 // the direction of the last plan, nil before the first one
	prices  []float64
	returns []float64
}

// Rolling says what a [RollingPlanner] plans for.
type Rolling struct {
	Cost   cost.Cost // nil for none
	Limits []cmdp.Constraint
	// Penalties are what a unit costs by which a limit is broken, above 0.
	Penalties []float64
	// Gap is relative to what the cost varies by over all returns that are possible, or as in [Options] where that is
	// more.
	Gap float64
	// Known are policies of each part to begin with; it may be nil.
	Known [][]*Policy
}

// A rollingColumn is a policy of the parts of a block.
type rollingColumn struct {
	column         // tables has the policies
	weight float64 // in the last plan
	idle   int     // for how many plans it had none
}

const (
	rollingIterations = 200
	// rollingBlocks bounds the blocks of columns: more parts share them.
	rollingBlocks = 64
	// idleColumns is for how many plans a column may have no weight before it is dropped.
	idleColumns = 3
	// keptCuts are so many of the newest tangents of a curved cost.
	keptCuts = 50
)

// NewRollingPlanner returns the planner of a sum, see [NewSumPlanner]. Models have a horizon, and their rows are
// stored.
func NewRollingPlanner(ctx context.Context, parts []Part, dim int, each []int,
	task Rolling) (*RollingPlanner, error) {
	planner, err := NewSumPlanner(parts, dim, each, 1)
	if err != nil {
		return nil, err
	}
	if len(task.Penalties) != len(task.Limits) || !(task.Gap > 0 && task.Gap < 1) {
		return nil, fmt.Errorf("exact: %d penalties for %d limits with a gap of %g: want a penalty for each limit, and "+
			"a gap between 0 and 1", len(task.Penalties), len(task.Limits), task.Gap)
	}
	d := planner.width
	of := cmdp.Task{Cost: task.Cost, Constraints: task.Limits}
	if err := of.Check(d); err != nil {
		return nil, fmt.Errorf("exact: %w", err)
	}
	p := &RollingPlanner{task: task, prices: make([]float64, len(task.Limits))}
	p.sum, err = newSumPricer(ctx, parts, dim, each, 1, progress.Of(ctx))
	if err != nil {
		return nil, err
	}
	for k := range p.sum.parts {
		f := p.sum.parts[k].finite
		if f == nil {
			return nil, errors.New("exact: a rolling horizon needs models with a horizon whose rows are stored")
		}
		f.keepValues()
	}
	p.sum.assignBlocks(rollingBlocks)
	p.lower, p.upper = make([]float64, d), make([]float64, d)
	if err := p.sum.extent(ctx, p.lower, p.upper); err != nil {
		return nil, err
	}
	p.steps = p.sum.traits().steps
	if task.Cost == nil {
		box, err := geometry.NewBox(p.lower, p.upper)
		if err != nil {
			return nil, err
		}
		p.task.Cost, err = cost.NewLinear(make([]float64, d), box)
		if err != nil {
			return nil, err
		}
	}
	a, affine := p.task.Cost.(cost.Affine)
	p.affine = affine
	sides := minus(p.upper, p.lower)
	if affine {
		p.close = task.Gap * width(a.Gradient(), sides)
	} else {
		p.close = task.Gap * p.task.Cost.Lipschitz() * floats.Norm(sides, 2)
	}
	p.last = make([]int, len(task.Limits))
	horizon := parts[0].Model.Horizon()
	for k, l := range task.Limits {
		for i, x := range l.Normal {
			switch {
			case x == 0:
			case i < dim:
				p.last[k] = horizon
			default:
				p.last[k] = max(p.last[k], (i-dim)%horizon)
			}
		}
	}
	p.addKnown()
	return p, nil
}

// addKnown makes columns of the policies that are known.
func (p *RollingPlanner) addKnown() {
	if len(p.task.Known) != len(p.sum.parts) {
		return
	}
	of := make([][]int, p.sum.blocks)
	for k, b := range p.sum.block {
		of[b] = append(of[b], k)
	}
	for b, parts := range of {
		most := 0
		for _, k := range parts {
			most = max(most, len(p.task.Known[k]))
		}
		for j := range most {
			c := rollingColumn{column: column{block: b}}
			for _, k := range parts {
				known := p.task.Known[k]
				if len(known) == 0 {
					return
				}
				policy := known[min(j, len(known)-1)]
				table := make([]markov.Actions, p.sum.parts[k].finite.m.Horizon())
				for h := range table {
					table[h] = policy.step(h).Actions
				}
				c.tables = append(c.tables, table)
			}
			p.columns = append(p.columns, c)
		}
	}
}

// Clone returns a planner of its own that begins where p is.
func (p *RollingPlanner) Clone() *RollingPlanner {
	q := *p
	s := *p.sum
	s.parts = slices.Clone(s.parts)
	for k := range s.parts {
		s.parts[k].finite = s.parts[k].finite.clone()
		s.parts[k].pricer = s.parts[k].finite
	}
	s.lastDirection = nil
	q.sum = &s
	q.columns = slices.Clone(p.columns)
	q.cuts = slices.Clone(p.cuts)
	q.prices = slices.Clone(p.prices)
	return &q
}

// Plan plans from step h on. starts says in which states the copies of each part are, as shares that sum to 1,
// and past what was returned before.
func (p *RollingPlanner) Plan(ctx context.Context, h int, starts [][]cmdp.StartState, past []float64) error {
	horizon := p.sum.parts[0].finite.m.Horizon()
	if h < 0 || h >= horizon || len(starts) != len(p.sum.parts) || len(past) != p.sum.width {
		return fmt.Errorf("exact: a plan from step %d of %d for %d parts with %d coordinates: want one of the steps, "+
			"%d parts and %d coordinates", h, horizon, len(starts), len(past), len(p.sum.parts), p.sum.width)
	}
	p.sum.returned = past
	for k, start := range starts {
		f := p.sum.parts[k].finite
		f.first, f.start = h, start
	}
	s := p.columnGeneration(ctx, h)
	if err := s.resetMaster(); err != nil {
		return err
	}
	s.master.solver = nil // the program is made as a whole once its columns are known
	room := len(p.columns) + len(s.rows) + 8*p.sum.blocks
	s.master.columns = make([]column, 0, room)
	s.master.costs = slices.Grow(s.master.costs, room)
	s.seed = make([]column, 0, len(p.columns))
	if err := p.seedColumns(ctx, s); err != nil {
		return err
	}
	if err := s.initialize(); err != nil {
		return err
	}
	for _, c := range p.cuts {
		if err := s.master.addCut(c); err != nil {
			return err
		}
	}
	if err := s.master.startPhase2(0); err != nil {
		return err
	}
	if err := s.closeGap(); err != nil {
		return err
	}
	return p.keepSolution(ctx, s, h)
}

// columnGeneration returns one for the limits that are not over before step h.
func (p *RollingPlanner) columnGeneration(ctx context.Context, h int) *columnGeneration {
	s := &columnGeneration{
		ctx:     ctx,
		pricing: p.sum,
		traits:  p.sum.traits(),
		program: program{
			extendedValues: extendedValues{task: cmdp.Task{Cost: p.task.Cost}},
			lower:          p.lower,
			upper:          p.upper,
			steps:          p.steps,
			penalties:      []float64{},
			complete:       true,
			affine:         p.affine,
			acceptedGap:    p.task.Gap,
			absoluteGap:    p.close,
			opts:           Options{Gap: p.task.Gap, Iterations: rollingIterations},
		},
	}
	for k, l := range p.task.Limits {
		if p.last[k] >= h {
			s.rows = append(s.rows, l)
			s.penalties = append(s.penalties, p.task.Penalties[k])
		}
	}
	return s
}

// seedColumns gives column generation the columns that are kept, with their returns from here on, and the last
// direction.
func (p *RollingPlanner) seedColumns(ctx context.Context, s *columnGeneration) error {
	if p.theta != nil {
		s.directions = [][]float64{p.theta}
	}
	next := make([]int, p.sum.blocks) // parts of a block stand together
	for k, b := range slices.Backward(p.sum.block) {
		next[b] = k
	}
	for i := range p.columns {
		c := &p.columns[i]
		c.returns = make([]float64, p.sum.width)
		if c.block == 0 {
			copy(c.returns, p.sum.returned)
		}
		for j, table := range c.tables {
			q := &p.sum.parts[next[c.block]+j]
			own, err := q.finite.returns(ctx, table)
			if err != nil {
				return err
			}
			q.add(c.returns, q.weight, own)
		}
		s.seed = append(s.seed, c.column)
	}
	s.seedSuffices = len(p.columns) > 0
	return nil
}

// keepSolution keeps the columns, prices and tangents of a solution.
func (p *RollingPlanner) keepSolution(ctx context.Context, s *columnGeneration, h int) error {
	old := p.columns
	p.columns = nil
	for j, c := range s.master.columns {
		if c.surplus != nil {
			continue
		}
		kept := rollingColumn{column: c}
		i := slices.IndexFunc(old, func(o rollingColumn) bool { return &o.tables[0][0] == &c.tables[0][0] })
		if i >= 0 {
			kept.idle = old[i].idle
		}
		if j < len(s.incumbent.lambda) {
			kept.weight = s.incumbent.lambda[j]
		}
		kept.idle++
		if kept.weight > 1e-12 {
			kept.idle = 0
		}
		if kept.idle <= idleColumns {
			p.columns = append(p.columns, kept)
		}
	}
	if !p.affine {
		p.cuts = s.master.cuts[max(0, len(s.master.cuts)-keptCuts):]
	}
	p.returns = s.incumbent.v
	clear(p.prices)
	active := 0
	for k := range p.prices {
		if p.last[k] >= h {
			p.prices[k] = s.bound.nu[active]
			active++
		}
	}
	p.theta, _ = s.bound.proof.direction()
	if slices.Equal(p.sum.lastDirection, p.theta) {
		return nil
	}
	_, err := p.sum.price(ctx, p.theta, 0) // so that values are those of the direction
	return err
}

// Mixture returns the policies of a part with their shares in the last plan. They are for the steps from its
// first one on.
func (p *RollingPlanner) Mixture(part int) []WeightedPolicy {
	b := p.sum.block[part]
	first := slices.Index(p.sum.block, b)
	var out []WeightedPolicy
	for _, c := range p.columns {
		if c.block != b || c.weight <= 0 {
			continue
		}
		rules := make([]markov.Rule, len(c.tables[part-first]))
		for h, actions := range c.tables[part-first] {
			rules[h].Actions = actions
		}
		out = append(out, WeightedPolicy{Weight: c.weight, Policy: NewPolicy(rules)})
	}
	return out
}

// Returns returns what was returned before the last plan and what is expected by it.
func (p *RollingPlanner) Returns() []float64 { return p.returns }

// Prices returns the price of each limit in the last plan.
func (p *RollingPlanner) Prices() []float64 { return p.prices }

// Direction returns the costs of the coordinates of the sum at these prices.
func (p *RollingPlanner) Direction() []float64 { return p.theta }

// Values returns what a copy of a part costs from each state and a step on, at these prices. The step is at least
// the first one of the last plan.
func (p *RollingPlanner) Values(part, h int) []float64 {
	return p.sum.parts[part].finite.values[h]
}
