package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// epochModels are the small models of a cmdp.Epochs, for all its pricers.
type epochModels struct {
	m       *cmdp.Model
	e       *cmdp.Epochs
	workers int
	models  []*epochModel // of each class, nil where no epoch comes up
	comesUp []bool        // of each epoch, some pair does
	done    [][]int32     // of each epoch, those whose values are not needed any more once it is solved
	steps   []float64     // of each return, the largest magnitude in a step
	longest int
	actions int  // the most of a state
	endless bool // a policy may stay in some epoch for ever and return something
	lower   []float64
	upper   []float64 // the extremes of the returns, nil before they are known
}

// An epochModel is the small model of the epochs of a class: what stays in the epoch. All that leaves it leads to one
// state more.
type epochModel struct {
	kernel *cmdp.Kernel // the rows of the base, with the returns of the class
	graph  *markov.Graph
	parts  *markov.Partition
	states *markov.Quotient      // in which nothing is merged
	ends   *markov.EndComponents // where a policy may stay in the epoch for ever
	dim    int
}

// An epochClass is such a model in a pricer.
type epochClass struct {
	*epochModel
	*epochSolver                // that of the direction
	solvers      []*epochSolver // the last ones
	harmless     []bool         // choices in end components that return nothing which matters
	reward, size []float64      // of each choice in the direction, and what that is the sum of
}

// An epochSolver solves the epochs of a class in directions in which the same choices of end components return nothing:
// these end components are merged.
type epochSolver struct {
	free       []bool // these choices
	quotient   *markov.Quotient
	members    [][]int32          // of each state of the quotient, those of the base
	components *markov.LeastTotal // of several states
	proper     []int32            // its first policy
	restricted map[int32]*restrictedSolver
	// a way through what is merged may return something, and staying there
	insideReturns, stayReturns bool
}

func newEpochModels(ctx context.Context, m *cmdp.Model, workers int) (*epochModels, error) {
	e := m.Epochs()
	p := &epochModels{m: m, e: e, workers: workers, models: make([]*epochModel, len(e.Classes)),
		steps: make([]float64, e.Dim), comesUp: make([]bool, e.Len())}
	base := &e.Classes[0]
	p.longest = markov.LongestRow(base)
	for s := range e.Base.States() {
		p.actions = max(p.actions, int(base.First[s+1]-base.First[s]))
	}
	until := make([]int32, e.Len())
	for epoch := range until {
		until[epoch] = int32(epoch)
	}
	for epoch := e.Len() - 1; epoch >= 0; epoch-- {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for l := range int32(e.Letters) {
			until[e.After(epoch, l)] = int32(epoch)
		}
		for s := 0; s < e.Base.States() && !p.comesUp[epoch]; s++ {
			p.comesUp[epoch] = e.ComesUp(e.Pair(epoch, s))
		}
		if i := e.Class[epoch]; p.comesUp[epoch] && p.models[i] == nil {
			var err error
			p.models[i], err = newEpochModel(ctx, e, epoch)
			if err != nil {
				return nil, err
			}
			p.endless = p.endless || p.models[i].returnsForEver(allRelevant(e.Dim))
		}
	}
	p.done = make([][]int32, e.Len())
	for epoch, last := range until {
		p.done[last] = append(p.done[last], int32(epoch))
	}
	for i := range e.Classes {
		for j, x := range mostReturns(&e.Classes[i], e.Dim) {
			p.steps[j] = max(p.steps[j], x)
		}
	}
	return p, nil
}

// newEpochModel makes the small model of the class of an epoch.
func newEpochModel(ctx context.Context, e *cmdp.Epochs, epoch int) (*epochModel, error) {
	c := &epochModel{kernel: &e.Classes[e.Class[epoch]], graph: markov.EpochGraph(e, epoch), dim: e.Dim}
	var err error
	c.parts, err = c.graph.LayeredComponents(ctx)
	if err != nil {
		return nil, err
	}
	c.graph.Cycles = c.parts
	c.ends, err = c.graph.EndComponents(ctx)
	if err != nil {
		return nil, err
	}
	c.states = c.graph.Number(c.parts, nil)
	c.states.Fill(c.graph, c.states.Origin, nil)
	return c, nil
}

// giant reports whether a component takes more time than where rows are stored.
func (c *epochModel) giant() bool {
	for i := range c.states.Component[1:] {
		if c.states.Component[i+1]-c.states.Component[i] > mostTogether {
			return true
		}
	}
	return false
}

// returnsForEver reports whether a policy may stay in the epoch for ever with returns that matter.
func (c *epochModel) returnsForEver(of relevance) bool {
	return c.ends.Len() > 0 && !slices.Equal(c.harmless(of), c.ends.Inside)
}

// gainsForEver reports whether a policy that stays in the epoch for ever may gain something that matters, or loses next
// to nothing where some steps gain.
func (c *epochModel) gainsForEver(ctx context.Context, of relevance) (bool, error) {
	const nothing = 1e-9
	ends := *c.ends
	ends.Order = slices.Clone(ends.Order) // which the search for means sorts
	means := markov.NewLeastMean(c.kernel, &ends, new(markov.Chain))
	for i := range c.dim {
		for _, sign := range []float64{1, -1} {
			gains, size := c.endsThatGain(i, sign)
			if sign > 0 && !of.up[i] || sign < 0 && !of.down[i] || !slices.Contains(gains, true) {
				continue
			}
			least, err := means.Solve(ctx, axis(c.dim, i, sign))
			if err != nil {
				return true, err
			}
			for end, some := range gains {
				if some && least[end] <= nothing*size {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// endsThatGain reports in which end components some choice makes sign times return i smaller, and the largest magnitude
// of it in a step.
func (c *epochModel) endsThatGain(i int, sign float64) (gains []bool, size float64) {
	gains = make([]bool, c.ends.Len())
	for _, s := range c.ends.Order {
		for choice := c.kernel.First[s]; choice < c.kernel.First[s+1]; choice++ {
			if c.ends.Inside[choice] {
				x := sign * c.kernel.ReturnsOf(int(choice), c.dim)[i]
				gains[c.ends.Of[s]] = gains[c.ends.Of[s]] || x < 0
				size = max(size, math.Abs(x))
			}
		}
	}
	return gains, size
}

// harmless reports which choices inside end components return nothing that matters.
func (c *epochModel) harmless(of relevance) []bool {
	return c.inside(func(returns []float64) bool { return of.unwanted(nil, returns) < 0 })
}

// inside reports which choices inside end components have returns that are ok.
func (c *epochModel) inside(ok func(returns []float64) bool) []bool {
	out := make([]bool, len(c.ends.Inside))
	for i, inside := range c.ends.Inside {
		out[i] = inside && ok(c.kernel.ReturnsOf(i, c.dim))
	}
	return out
}

// endsOf returns the end components of some choices that are inside of end components.
func (c *epochModel) endsOf(ctx context.Context, choices []bool) (*markov.EndComponents, error) {
	if slices.Equal(choices, c.ends.Inside) {
		return c.ends, nil
	}
	return c.graph.Only(choices).EndComponents(ctx)
}

// enterDirection sets the rewards of choices to those of a direction, and finds the solver for it.
func (c *epochClass) enterDirection(ctx context.Context, dir []float64, chain *markov.Chain) error {
	for i := range c.reward {
		c.reward[i], c.size[i] = 0, 0
		for j, x := range c.kernel.ReturnsOf(i, len(dir)) {
			y := float64(dir[j] * x)
			c.reward[i] += y
			c.size[i] += math.Abs(y)
		}
	}
	free := c.inside(func(returns []float64) bool { return nothingIn(dir, returns) })
	i := slices.IndexFunc(c.solvers, func(z *epochSolver) bool { return slices.Equal(z.free, free) })
	if i < 0 {
		const most = 6
		z, err := c.newSolver(ctx, free, chain)
		if err != nil {
			return err
		}
		if len(c.solvers) == most {
			c.solvers = slices.Delete(c.solvers, 0, 1)
		}
		i = len(c.solvers)
		c.solvers = append(c.solvers, z)
	}
	c.epochSolver = c.solvers[i]
	c.restart(c.components, c.proper)
	for _, r := range c.restricted {
		c.restart(r.components, r.proper)
	}
	return nil
}

// restart begins with the first policy again, so that a direction finds the same one whatever was asked before.
func (z *epochSolver) restart(components *markov.LeastTotal, proper []int32) {
	copy(components.Policy, proper)
	clear(components.Values)
}

// newSolver merges the end components of some choices. A policy may stay where that does no harm.
func (c *epochClass) newSolver(ctx context.Context, free []bool, chain *markov.Chain) (*epochSolver, error) {
	z := &epochSolver{free: free, quotient: c.states, restricted: make(map[int32]*restrictedSolver)}
	ends, err := c.endsOf(ctx, free)
	if err != nil {
		return nil, err
	}
	if ends.Len() > 0 {
		safe := slices.Clone(free)
		for i := range safe {
			safe[i] = safe[i] && c.harmless[i]
		}
		places, err := c.endsOf(ctx, safe)
		if err != nil {
			return nil, err
		}
		z.quotient = collapse(c.graph, c.parts, ends, places)
		z.stayReturns = c.returnsIn(places.Inside)
		z.quotient.Predecessors = c.graph.Only(ends.Inside).Predecessors()
	}
	z.members = make([][]int32, z.quotient.Rest)
	for _, s := range c.states.Origin {
		n := z.quotient.Number[s]
		z.members[n] = append(z.members[n], s)
	}
	z.components = markov.NewLeastTotal(z.quotient, 1, 1, chain)
	z.proper = slices.Clone(z.components.Policy)
	z.insideReturns = c.returnsIn(free)
	return z, nil
}

// returnsIn reports whether some of the choices return anything.
func (c *epochModel) returnsIn(choices []bool) bool {
	for i, in := range choices {
		if in && floats.Norm(c.kernel.ReturnsOf(i, c.dim), 1) > 0 {
			return true
		}
	}
	return false
}

// ranges is extent, which finds the extremes once.
func (m *epochModels) ranges(ctx context.Context, lower, upper []float64) error {
	if m.lower == nil {
		least, most := make([]float64, len(lower)), make([]float64, len(lower))
		for i := range least {
			for _, sign := range []float64{1, -1} {
				bound, err := m.leastTotal(ctx, axis(len(lower), i, sign))
				if err != nil {
					return err
				}
				if sign > 0 {
					least[i] = bound
				} else {
					most[i] = -bound
				}
			}
		}
		m.lower, m.upper = least, most
	}
	copy(lower, m.lower)
	copy(upper, m.upper)
	return nil
}

// leastTotal returns the least total in a direction, rounded down, −Boundless if there is none.
func (m *epochModels) leastTotal(ctx context.Context, dir []float64) (float64, error) {
	p, err := m.withRelevance(ctx, relevanceOf(len(dir), cmdp.Task{}, dir))
	if err != nil && !errors.Is(err, ErrNoTotal) {
		return 0, err
	}
	bound := -Boundless
	if err == nil {
		var value, margin float64
		value, margin, err = p.recheck(ctx, dir)
		if err == nil && value-margin > bound { // which is no number where values are beyond all numbers
			bound = value - margin
		}
	}
	if errors.Is(err, ErrNoTotal) || errors.Is(err, errWantsRows) { // rows would not bound it either
		err = nil
	}
	return bound, err
}
