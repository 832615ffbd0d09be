package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// A Part is a model whose returns are added to those of others, such as that of one agent of a fleet. Parts
// have no states in common: only limits on sums couple them.
type Part struct {
	Model *cmdp.Model
	// Weight is by what its returns are multiplied in the sum, the number of agents. It is positive.
	Weight float64
	// Returns says for each return of the model which one of the sum it goes into, -1 for none.
	Returns []int
}

// PartMixture is what one part of a sum does: a draw between policies at the start.
type PartMixture struct {
	Mixture []WeightedPolicy
	// Returns are those of each component, of one copy of the model, in the coordinates of the sum.
	Returns [][]float64
}

// sumPricer is the pricer of the sum of models that share limits and nothing else: its set of returns is the sum of
// those of the parts. A direction is priced by each of them alone. In the master each part has columns of its
// own, whose weights sum to 1 (Dantzig, Wolfe 1960).
type sumPricer struct {
	parts         []partPricer
	block         []int // of each part, the block of columns that it has in the master
	blocks        int
	width         int // dimension
	workers       int
	returned      []float64 // what was returned before the first step, nil for nothing
	lastDirection []float64 // the direction that was priced last
	progress      progress.Func
	work          int // states of all steps of a part, on average
}

// mostBlocksOfSums bounds the blocks of columns in the master, whose time grows with their number to the third.
// More parts share blocks: a column of a block is a policy of each of its parts, and mixtures are those of the
// block.
var mostBlocksOfSums = 320

type partPricer struct {
	pricer
	finite      *finiteHorizon // the pricer, nil without a horizon or where rows are not stored
	weight      float64
	coordinates []int // of each coordinate of the pricer, the coordinate of the sum that it goes into, or -1
}

// NewSumPlanner returns a Planner for the sum of models. Their sum has so many returns, and for those in each,
// which need a horizon, a coordinate for each step beside that of the episode: dim sums come first, then for
// each return in each what it is at each step. In results Policy and Mixture are nil; Parts has what each
// part does. Models have the same horizon, or discounts below 1, or are all about long-run means; none of them
// is a game.
func NewSumPlanner(parts []Part, dim int, each []int, workers int) (*Planner, error) {
	opts, err := Options{Workers: workers}.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 || dim < 0 {
		return nil, fmt.Errorf("exact: a sum of %d models with %d returns: want at least one model", len(parts), dim)
	}
	for k, x := range parts {
		if err := checkPart(x, parts[0].Model, dim, each); err != nil {
			return nil, fmt.Errorf("exact: part %d of a sum: %w", k, err)
		}
	}
	width := dim + len(each)*parts[0].Model.Horizon()
	p := &Planner{workers: opts.Workers, turn: make(chan struct{}, 1), width: width}
	p.sum = func(ctx context.Context, tell progress.Func) (pricer, error) {
		return newSumPricer(ctx, parts, dim, each, opts.Workers, tell)
	}
	return p, nil
}

func checkPart(x Part, first *cmdp.Model, dim int, each []int) error {
	if err := checkTask(x.Model, cmdp.Task{}); err != nil {
		return err
	}
	if !(x.Weight > 0) || math.IsInf(x.Weight, 1) {
		return fmt.Errorf("weight %g: want a positive number", x.Weight)
	}
	if len(x.Returns) != x.Model.Dim() {
		return fmt.Errorf("%d entries say where returns go: want %d", len(x.Returns), x.Model.Dim())
	}
	for _, i := range slices.Concat(x.Returns, each) {
		if i < -1 || i >= dim {
			return fmt.Errorf("return %d of a sum that has %d", i, dim)
		}
	}
	m := x.Model
	switch {
	case m.Horizon() != first.Horizon() || m.Means() != first.Means():
		return errors.New("returns are summed over another time than those of the first part")
	case m.Horizon() == 0 && !m.Means() && !(m.Discount() < 1), m.Means() && !m.Average():
		return errors.New("totals without a horizon cannot be added up: want a horizon, a discount below 1, or " +
			"long-run means of all returns")
	case len(each) > 0 && m.Horizon() == 0:
		return errors.New("returns at each step need a horizon")
	case len(each) > 0 && m.Tally() != nil:
		return errors.New("returns at each step of a product whose rows are not stored")
	}
	return nil
}

func newSumPricer(ctx context.Context, parts []Part, dim int, each []int, workers int,
	tell progress.Func) (*sumPricer, error) {
	inner := 1 // parts are priced side by side
	if len(parts) < workers {
		inner = workers
	}
	p := &sumPricer{width: dim + len(each)*parts[0].Model.Horizon(), workers: workers, progress: tell}
	for _, x := range parts {
		p.work += x.Model.States() * max(1, x.Model.Horizon()) / len(parts)
		q := partPricer{weight: x.Weight, coordinates: slices.Clone(x.Returns)}
		var split []int
		for j, i := range x.Returns {
			k := slices.Index(each, i)
			if k < 0 {
				continue
			}
			split = append(split, j)
			for h := range x.Model.Horizon() {
				q.coordinates = append(q.coordinates, dim+k*x.Model.Horizon()+h)
			}
		}
		if x.Model.Horizon() > 0 && x.Model.Tally() == nil {
			q.finite = newFiniteHorizon(x.Model, inner, split...)
			q.pricer = q.finite
		} else {
			var err error
			q.pricer, err = newPricer(ctx, x.Model, inner, allRelevant(x.Model.Dim()), tell)
			if err != nil {
				return nil, err
			}
		}
		p.parts = append(p.parts, q)
	}
	p.assignBlocks(mostBlocksOfSums)
	return p, nil
}

// assignBlocks gives parts their blocks, so many at most. Parts whose policies are kept with their columns do not share
// one.
func (p *sumPricer) assignBlocks(most int) {
	p.blocks = len(p.parts)
	if !slices.ContainsFunc(p.parts, func(q partPricer) bool { return q.finite == nil }) {
		p.blocks = min(p.blocks, most)
	}
	p.block = make([]int, len(p.parts))
	for k := range p.block {
		p.block[k] = k * p.blocks / len(p.parts)
	}
}

// direction returns what a direction of the sum is for the part.
func (q *partPricer) direction(dir []float64) []float64 {
	own := make([]float64, len(q.coordinates))
	for j, i := range q.coordinates {
		if i >= 0 {
			own[j] = dir[i]
		}
	}
	return own
}

// add adds factor times returns of the part to those of the sum.
func (q *partPricer) add(dst []float64, factor float64, returns []float64) {
	for j, i := range q.coordinates {
		if i >= 0 {
			dst[i] += float64(factor * returns[j])
		}
	}
}

// each calls do for all parts, several at a time, and returns the first error of the first part that has one.
func (p *sumPricer) each(ctx context.Context, do func(k int, q *partPricer) error) error {
	errs := make([]error, len(p.parts))
	r := parallel.Relay{Workers: p.workers, Stages: 1, Parts: len(p.parts), Do: func(_, k int) {
		errs[k] = ctx.Err()
		if errs[k] == nil {
			errs[k] = do(k, &p.parts[k])
		}
	}}
	if err := r.Run(ctx); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *sumPricer) dim() int { return p.width }

func (p *sumPricer) traits() traits {
	t := traits{stateless: true, blocks: p.blocks, steps: make([]float64, p.width)}
	for _, q := range p.parts {
		own := q.traits()
		t.infiniteHorizon = t.infiniteHorizon || own.infiniteHorizon
		t.stateless = t.stateless && own.stateless
		if own.steps != nil {
			q.add(t.steps, q.weight, own.steps)
		}
	}
	return t
}

func (p *sumPricer) extent(ctx context.Context, lower, upper []float64) error {
	clear(lower)
	clear(upper)
	for _, q := range p.parts {
		low, high := make([]float64, len(q.coordinates)), make([]float64, len(q.coordinates))
		if err := q.extent(ctx, low, high); err != nil {
			return err
		}
		q.add(lower, q.weight, low)
		q.add(upper, q.weight, high)
	}
	return nil
}

func (p *sumPricer) configure(tell progress.Func, enough float64, proving bool) {
	p.progress = tell
	for _, q := range p.parts {
		q.configure(nil, enough, proving)
	}
}

func (p *sumPricer) price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error) {
	out := pricedPolicy{returns: make([]float64, p.width), parts: make([]pricedPolicy, p.blocks)}
	of := make([]pricedPolicy, len(p.parts))
	var done atomic.Int64
	p.lastDirection = append(p.lastDirection[:0], dir...)
	err := p.each(ctx, func(k int, q *partPricer) error {
		found, err := q.price(ctx, q.direction(dir), aim/(q.weight*float64(len(p.parts))))
		of[k] = found
		p.progress.AtStep("finding values of parts", int(done.Add(1))-1, len(p.parts), p.work)
		return err
	})
	if err != nil {
		return pricedPolicy{}, err
	}
	for b := range out.parts {
		out.parts[b].returns = make([]float64, p.width)
	}
	for k, q := range p.parts {
		x := &of[k]
		if x.ray != nil {
			return pricedPolicy{}, fmt.Errorf("exact: part %d of a sum may go on for ever: %w", k, ErrNoTotal)
		}
		out.approximate = out.approximate || x.approximate
		column := &out.parts[p.block[k]]
		column.policy = x.policy
		column.tables = append(column.tables, x.tables...)
		q.add(column.returns, q.weight, x.returns)
	}
	out.value, out.margin = p.total(func(k int) (value, margin float64) { return of[k].value, of[k].margin })
	if p.returned != nil {
		floats.Add(out.parts[0].returns, p.returned)
		out.value += floats.Dot(dir, p.returned)
	}
	for _, column := range out.parts {
		floats.AddScaled(out.returns, 1, column.returns)
	}
	return out, nil
}

// total adds up values of the parts with their margins, and allows for the rounding of the sum.
func (p *sumPricer) total(of func(k int) (value, margin float64)) (value, margin float64) {
	size := 0.0
	for k, q := range p.parts {
		x, m := of(k)
		value += float64(q.weight * x)
		size += math.Abs(q.weight * x)
		margin += q.weight * m
	}
	return value, 1.001*margin + float64(len(p.parts)+2)*roundoff*size
}

func (p *sumPricer) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	values, margins := make([]float64, len(p.parts)), make([]float64, len(p.parts))
	err = p.each(ctx, func(k int, q *partPricer) (err error) {
		values[k], margins[k], err = q.recheck(ctx, q.direction(dir))
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	value, margin = p.total(func(k int) (float64, float64) { return values[k], margins[k] })
	return value, margin, nil
}

// recoverPolicy finds the policies of the mixture again. They stay apart: which copy of a
// model plays which of them is for the caller to say.
func (p *sumPricer) recoverPolicy(ctx context.Context, columns []column, weights []float64, _ face,
	_ float64) (*Policy, error) {
	of := byBlock(columns, p.blocks)
	out := &Policy{parts: make([]PartMixture, len(p.parts))}
	err := p.each(ctx, func(k int, q *partPricer) error {
		mine := weights
		kept := of[p.block[k]]
		if p.blocks < len(p.parts) {
			var err error
			kept, mine, err = q.distinctColumns(ctx, columns, kept, weights)
			if err != nil {
				return err
			}
		}
		for _, j := range kept {
			own := columns[j]
			own.dir = q.direction(own.dir)
			policy, err := q.recoverPolicy(ctx, []column{own}, []float64{1}, face{}, 0)
			if err != nil {
				return err
			}
			out.parts[k].Mixture = append(out.parts[k].Mixture, WeightedPolicy{Weight: mine[j], Policy: policy})
		}
		return nil
	})
	return out, err
}

// distinctColumns returns those columns of a block in which the part has different returns, with the weights of the
// others added to theirs.
func (q *partPricer) distinctColumns(ctx context.Context, columns []column, of []int,
	weights []float64) (kept []int, sums []float64, err error) {
	if len(of) == 1 {
		return of, weights, nil
	}
	sums = make([]float64, len(weights))
	var returns [][]float64
	for _, j := range of {
		found, err := q.price(ctx, q.direction(columns[j].dir), 0)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(returns, func(r []float64) bool { return slices.Equal(r, found.returns) })
		if i < 0 {
			i = len(kept)
			kept, returns = append(kept, j), append(returns, found.returns)
		}
		sums[kept[i]] += weights[j]
	}
	return kept, sums, nil
}

func (p *sumPricer) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	err := p.each(ctx, func(k int, q *partPricer) error {
		x := &policy.parts[k]
		x.Returns = make([][]float64, len(x.Mixture))
		for j, c := range x.Mixture {
			own, err := q.evaluate(ctx, c.Policy)
			if err != nil {
				return err
			}
			x.Returns[j] = make([]float64, p.width)
			q.add(x.Returns[j], 1, own)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v := make([]float64, p.width)
	for k, q := range p.parts {
		for j, c := range policy.parts[k].Mixture {
			for i, y := range policy.parts[k].Returns[j] {
				v[i] += float64(q.weight * c.Weight * y)
			}
		}
	}
	return v, nil
}
