package markov

import (
	"context"
	"math"
	"slices"
)

// policyBlocks are the strongly connected components of a policy inside an end, found by Tarjan's search (1972). Each
// leads to itself and to those before it, whose values are known when it is found. States are looked at in the order
// that they had for the last policy: as most still come after all that they lead to, they need no search.
type policyBlocks struct {
	order  []int32 // the states, block after block
	first  []int32 // of each block, where its states begin in order, and the end
	before []int32 // the order of the last policy
	policy []int32 // of each state of the kernel, its choice
	rows   []policyRow
	next   []int32 // of all rows, without what leads from a state to itself
	prob   []float64
	index  []int32 // of each, when it was first met, from 1, while it is on the stack, and else 0
	// of each, the earliest state on the stack that is known to be reached, or its number among those of a block
	lowlink []int32
	stack   []int32
	path    []policyVisit
	closed  [][]int32 // blocks that are never left
	valued  bool      // values are looked for, not only blocks
	exact   bool      // all blocks were eliminated
}

// A policyRow is that of a state: where its entries begin and end among those of all rows, and its reward. Rows of a
// policy lie together, as those of the kernel are far from one another where it has many choices.
type policyRow struct {
	reward   float64
	from, to int32
}

// A policyVisit is a state on the way from the root, with the entry of its row that is looked at next.
type policyVisit struct{ s, e int32 }

// startBlocks begins a search of a policy in states. Their bias is kept in p.next and NaN until it is found.
func (p *LeastMean) startBlocks(states, choices []int32) {
	b := &p.blocks
	if n := len(p.Bias); b.policy == nil {
		b.policy, b.rows = make([]int32, n), make([]policyRow, n)
		b.lowlink, b.index = make([]int32, n), make([]int32, n)
	}
	for _, s := range b.stack { // of a search that was not ended
		b.index[s] = 0
	}
	b.stack, b.path, b.closed, b.exact = b.stack[:0], b.path[:0], nil, true
	b.order, b.first = b.order[:0], append(b.first[:0], 0)
	to, share := b.next[:0], b.prob[:0]
	for j, s := range states {
		b.policy[s] = choices[j]
		row := policyRow{reward: p.Reward[choices[j]], from: int32(len(to))}
		next, prob := p.successors(choices[j])
		for e, n := range next {
			if n != s && prob[e] > 0 {
				to, share = append(to, n), append(share, prob[e])
			}
		}
		row.to = int32(len(to))
		b.rows[s] = row
		p.next[s], p.Bias[s] = p.Bias[s], math.NaN()
	}
	b.next, b.prob = to, share
}

// row returns the successors of a state by its policy.
func (b *policyBlocks) row(s int32) ([]int32, []float64) {
	r := &b.rows[s]
	next := b.next[r.from:r.to]
	return next, b.prob[r.from:][:len(next)]
}

// block returns the states of a block.
func (b *policyBlocks) block(i int) []int32 { return b.order[b.first[i]:b.first[i+1]] }

// end makes states the next block.
func (b *policyBlocks) end(states []int32) {
	b.order = append(b.order, states...)
	b.first = append(b.first, int32(len(b.order)))
}

// enter puts a state on the way from the root.
func (b *policyBlocks) enter(s int32, clock int) {
	b.index[s], b.lowlink[s] = int32(clock), int32(clock)
	b.stack, b.path = append(b.stack, s), append(b.path, policyVisit{s: s})
}

// relativeValues sets the bias to the relative values of a policy in an end, whose mean is known, up to 0.1 of the
// tolerance. They are 0 in a state where the policy is cut open. It returns the sets of states, if any, that never come
// to it; then it finds all of them, and leaves the bias alone.
func (p *LeastMean) relativeValues(ctx context.Context, states, choices []int32, zero int32,
	mean float64) (closed [][]int32, err error) {
	b := &p.blocks
	b.before, b.order, b.valued = b.order, b.before, true
	p.startBlocks(states, choices)
	p.cut, p.Bias[zero] = zero, 0
	b.end([]int32{zero})
	err = p.searchBlocks(ctx, states, mean)
	if err != nil || b.closed != nil {
		p.restoreBias(states)
	}
	return b.closed, err
}

// closedSets returns the sets of states that a policy never leaves. The order of the last one that was evaluated is
// kept.
func (p *LeastMean) closedSets(ctx context.Context, states, choices []int32) (closed [][]int32, err error) {
	b := &p.blocks
	before, order := b.before, b.order
	b.before, b.order, b.valued = nil, nil, false
	p.startBlocks(states, choices)
	err = p.searchBlocks(ctx, states, 0)
	p.restoreBias(states)
	b.before, b.order = before, order
	return b.closed, err
}

// restoreBias puts back what startBlocks kept.
func (p *LeastMean) restoreBias(states []int32) {
	for _, s := range states {
		p.Bias[s] = p.next[s]
	}
}

// searchBlocks finds the blocks of a policy in states, and the values of their states, as long as none is closed.
func (p *LeastMean) searchBlocks(ctx context.Context, states []int32, mean float64) error {
	for _, s := range p.blocks.before {
		if err := p.searchState(ctx, s, mean); err != nil {
			return err
		}
	}
	for _, s := range slices.Backward(states) {
		if err := p.searchState(ctx, s, mean); err != nil {
			return err
		}
	}
	return nil
}

// searchState finds the blocks that a state leads to and that are not known yet.
func (p *LeastMean) searchState(ctx context.Context, s int32, mean float64) error {
	if !math.IsNaN(p.Bias[s]) || p.addSingle(s, mean) {
		return nil
	}
	return p.searchFrom(ctx, s, mean)
}

// addSingle makes a state the next block and finds its value, if those that it leads to are known.
func (p *LeastMean) addSingle(s int32, mean float64) bool {
	b, x := &p.blocks, p.Bias
	next, prob := b.row(s)
	sum, out := b.rows[s].reward-mean, 0.0
	for j, n := range next {
		sum += float64(prob[j] * x[n])
		out += prob[j]
	}
	if math.IsNaN(sum) && slices.ContainsFunc(next, func(n int32) bool { return math.IsNaN(x[n]) }) {
		return false
	}
	if len(next) == 0 {
		b.closed = append(b.closed, []int32{s})
	}
	x[s] = known(sum / out)
	b.order = append(b.order, s)
	b.first = append(b.first, int32(len(b.order)))
	return true
}

// known is a value that is not NaN, whatever it is.
func known(value float64) float64 {
	if math.IsNaN(value) {
		return math.Inf(1)
	}
	return value
}

// searchFrom finds the blocks that are reached from a state and were not met before.
func (p *LeastMean) searchFrom(ctx context.Context, root int32, mean float64) error {
	b, clock := &p.blocks, 1
	b.enter(root, clock)
	for len(b.path) > 0 {
		top := &b.path[len(b.path)-1]
		s := top.s
		next, _ := b.row(s)
		met := none
		for met == none && int(top.e) < len(next) {
			n := next[top.e]
			switch at := b.index[n]; {
			case !math.IsNaN(p.Bias[n]):
			case at == 0:
				met = int(n)
			default:
				b.lowlink[s] = min(b.lowlink[s], at)
			}
			top.e++
		}
		if met != none {
			clock++
			if clock%reportEvery == 0 {
				p.Progress.At(findingMeans, math.NaN(), len(b.policy))
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			b.enter(int32(met), clock)
			continue
		}
		b.path = b.path[:len(b.path)-1]
		if len(b.path) > 0 {
			up := b.path[len(b.path)-1].s
			b.lowlink[up] = min(b.lowlink[up], b.lowlink[s])
		}
		if b.lowlink[s] == b.index[s] {
			if err := p.endBlock(ctx, s, mean); err != nil {
				return err
			}
		}
	}
	return nil
}

// endBlock takes a block from the stack, of which a state was met first, and finds its values.
func (p *LeastMean) endBlock(ctx context.Context, s int32, mean float64) error {
	b := &p.blocks
	at := len(b.stack) - 1
	for b.stack[at] != s {
		at--
	}
	block := b.stack[at:]
	b.stack = b.stack[:at]
	for _, s := range block {
		b.index[s] = 0
	}
	if len(block) == 1 {
		p.addSingle(s, mean)
		return nil
	}
	slices.Sort(block)
	b.end(block)
	return p.solveBlock(ctx, block, mean)
}

// solveBlock finds the values of a block of several states, if those that it leads to are known.
func (p *LeastMean) solveBlock(ctx context.Context, block []int32, mean float64) error {
	b, y := &p.blocks, p.chain
	for j, s := range block {
		b.lowlink[s] = int32(j)
	}
	y.Reset()
	p.values, p.right = p.values[:0], p.right[:0]
	base, leaves := p.next[p.cut], false
	for _, s := range block {
		next, prob := b.row(s)
		right, leak := b.rows[s].reward-mean, 0.0
		for e, n := range next {
			if math.IsNaN(p.Bias[n]) {
				y.Add(b.lowlink[n], prob[e])
				continue
			}
			right += float64(prob[e] * p.Bias[n])
			leak += prob[e]
		}
		y.EndRow(leak)
		leaves = leaves || leak > 0
		p.values, p.right = append(p.values, p.next[s]-base), append(p.right, right)
	}
	if !leaves {
		set := slices.Clone(block)
		slices.Reverse(set)
		b.closed = append(b.closed, set)
	}
	if b.closed == nil && b.valued {
		if err := y.Solve(ctx, p.values, p.right, false, 0.1*p.tolerance()); err != nil {
			return err
		}
		b.exact = b.exact && y.factors != nil
	}
	for j, s := range block {
		p.Bias[s] = known(p.values[j])
	}
	return nil
}

// passBackBlocks meets the states that lead to one that is met, by a policy with known blocks, which was cut open.
func (p *LeastMean) passBackBlocks(met []bool) {
	b := &p.blocks
	for i := range len(b.first) - 1 {
		block := b.block(i)
		leads := slices.ContainsFunc(block, func(s int32) bool {
			next, _ := b.row(s)
			return met[p.position[s]] || s != p.cut &&
				slices.ContainsFunc(next, func(n int32) bool { return met[p.position[n]] })
		})
		if leads {
			for _, s := range block {
				met[p.position[s]] = true
			}
		}
	}
}
