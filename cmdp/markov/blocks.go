package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
)

// A blockForm holds the factors of a chain in block triangular form (Duff and Reid 1978; Davis and Palamadai Natarajan
// 2010). The strongly connected components are its blocks, each of which leads to itself and to those before it. They
// are eliminated one by one: what leads from one to another does not fill up, and a state on no cycle is one division.
type blockForm struct {
	chain       *Chain  // whose blocks are known, nil for none
	order       []int32 // the states, block after block
	first       []int32 // of each block, where its states begin in order, and the end
	large       []int32 // the blocks of several states
	place       []int32 // of each state, where it is in order
	graph       Graph   // of the chain
	components  tarjan
	entering    []int32 // of each state, how many transitions lead to it from states that are not peeled off
	peeled      []int32 // the states that no cycle leads to, each before those that it leads to
	open        []int32 // those that are to be peeled off next
	within      *Chain  // of the block at hand, its states numbered from 0
	elimination elimination
	v           []float64 // of the states of a block
}

// search finds the blocks: the components of the chain, as a graph with one choice in each state. A policy has few
// states that a cycle leads to as a rule, and the others are found without a search.
func (f *blockForm) search(ctx context.Context, y *Chain) error {
	n := y.States()
	f.chain, f.order, f.first, f.place = nil, f.order[:0], append(f.first[:0], 0), grown(f.place, n)
	f.large = f.large[:0]
	if f.graph.Kernel == nil {
		f.graph.Kernel = new(cmdp.Kernel)
	}
	k := f.graph.Kernel
	k.First, k.Offset, k.Next, k.Prob = grown(k.First, n+1), grown(k.Offset, n+1), y.next, y.prob
	for s, at := range y.first {
		k.First[s], k.Offset[s] = int32(s), int(at)
	}
	f.graph.Progress = y.progress
	f.components.start(ctx, &f.graph, eliminating)
	emit := f.endBlock
	f.peel(y)
	for root := int32(n) - 1; root >= 0; root-- {
		if err := f.components.from(root, emit); err != nil {
			return err
		}
	}
	for _, s := range slices.Backward(f.peeled) {
		f.place[s] = int32(len(f.order))
		f.order = append(f.order, s)
		f.first = append(f.first, int32(len(f.order)))
	}
	f.chain = y
	return nil
}

// peel takes off the states that no cycle leads to, each after all that lead to it (Kahn 1962). It goes on with what
// the last one leads to, which is close in memory as a rule.
func (f *blockForm) peel(y *Chain) {
	f.entering, f.peeled = resized(f.entering, y.States()), f.peeled[:0]
	for _, to := range y.next {
		f.entering[to]++
	}
	for root := range int32(y.States()) {
		if f.entering[root] == 0 && f.components.index[root] != finished {
			f.open = append(f.open, root)
		}
		for len(f.open) > 0 {
			s := f.open[len(f.open)-1]
			f.open = f.open[:len(f.open)-1]
			f.components.index[s] = finished
			f.peeled = append(f.peeled, s)
			for _, to := range y.next[y.first[s]:y.first[s+1]] {
				f.entering[to]--
				if f.entering[to] == 0 {
					f.open = append(f.open, to)
				}
			}
		}
	}
}

// endBlock makes states the next block, in the order of their numbers.
func (f *blockForm) endBlock(states []int32) {
	if len(states) > 1 {
		f.large = append(f.large, int32(len(f.first)-1))
		slices.Sort(states)
	}
	for _, s := range states {
		f.place[s] = int32(len(f.order))
		f.order = append(f.order, s)
	}
	f.first = append(f.first, int32(len(f.order)))
}

// block returns the states of a block.
func (f *blockForm) block(i int) []int32 { return f.order[f.first[i]:f.first[i+1]] }

// factorize returns nil if the factors of the blocks would have more than fill entries for each one that the blocks
// have, if these have more than dense entries for each of their states, if the chain has a part that it does not leave,
// and if ctx ends. The factors are good as long as the chain stays as it is.
func (f *blockForm) factorize(ctx context.Context, y *Chain, fill, dense float64) factors {
	if f.search(ctx, y) != nil {
		return nil
	}
	states, entries := f.size()
	stays := func(diag float64) bool { return !(diag > 0) }
	if float64(entries) > dense*float64(states) || slices.ContainsFunc(y.diag, stays) {
		return nil
	}
	most := math.Inf(1)
	if !math.IsInf(fill, 1) {
		most = fill * float64(entries)
	}
	if f.within == nil {
		f.within = new(Chain)
	}
	f.within.progress = y.progress
	f.elimination.f.reset()
	for n, i := range f.large {
		y.progress.AtStep(eliminating, n, len(f.large), states/len(f.large))
		f.load(int(i))
		if ctx.Err() != nil || !f.elimination.factorize(ctx, f.within, most) {
			return nil
		}
	}
	return f
}

// size returns how many states blocks of several states have, and how many entries.
func (f *blockForm) size() (states, entries int) {
	y := f.chain
	for _, i := range f.large {
		block := f.block(int(i))
		states += len(block)
		for _, s := range block {
			for _, to := range y.next[y.first[s]:y.first[s+1]] {
				if f.place[to] >= f.first[i] {
					entries++
				}
			}
		}
	}
	return states, entries
}

// load makes the chain of a block, which leaks to the blocks before it.
func (f *blockForm) load(i int) {
	y, w, begin := f.chain, f.within, f.first[i]
	w.Reset()
	for _, s := range f.block(i) {
		leak := y.leak[s]
		for e := y.first[s]; e < y.first[s+1]; e++ {
			if at := f.place[y.next[e]]; at < begin {
				leak += y.prob[e]
			} else {
				w.Add(at-begin, y.prob[e])
			}
		}
		w.EndRow(leak)
	}
}

// solve goes through the blocks, from the first to the last or, transposed, back.
func (f *blockForm) solve(x, right []float64, transposed bool) {
	from := 0
	if !transposed {
		single := int32(0) // where the states of single blocks begin
		for _, i := range f.large {
			f.solveSingles(f.order[single:f.first[i]], x, right)
			from += f.solveBlock(int(i), from, x, right)
			single = f.first[i+1]
		}
		f.solveSingles(f.order[single:], x, right)
		return
	}
	copy(x, right)
	from = len(f.elimination.f.order)
	for i := len(f.first) - 2; i >= 0; i-- {
		from -= f.solveBlockTransposed(i, from, x)
	}
}

// solveSingles finds the values of states on no cycle, in their order.
func (f *blockForm) solveSingles(states []int32, x, right []float64) {
	y := f.chain
	for _, s := range states {
		sum := right[s]
		next := y.next[y.first[s]:y.first[s+1]]
		prob := y.prob[y.first[s]:][:len(next)]
		for e, to := range next {
			sum += float64(prob[e] * x[to])
		}
		x[s] = sum / y.diag[s]
	}
}

// solveBlock finds the values in a block of several states, whose factors begin at from. It returns how many factors
// that were.
func (f *blockForm) solveBlock(i, from int, x, right []float64) int {
	y, block, begin := f.chain, f.block(i), f.first[i]
	f.v = grown(f.v, len(block))
	for j, s := range block {
		sum := right[s]
		next := y.next[y.first[s]:y.first[s+1]]
		prob := y.prob[y.first[s]:][:len(next)]
		for e, to := range next {
			if f.place[to] < begin {
				sum += float64(prob[e] * x[to])
			}
		}
		f.v[j] = sum
	}
	f.elimination.f.solve(from, f.v, false)
	for j, s := range block {
		x[s] = f.v[j]
	}
	return len(block)
}

// solveBlockTransposed finds the visits in a block from its arrivals, and adds what they bring to other blocks. Its
// factors end at end, see solveBlock.
func (f *blockForm) solveBlockTransposed(i, end int, x []float64) int {
	y, block, begin, used := f.chain, f.block(i), f.first[i], 0
	if len(block) == 1 {
		x[block[0]] /= y.diag[block[0]]
	} else {
		used = len(block)
		f.v = f.v[:0]
		for _, s := range block {
			f.v = append(f.v, x[s])
		}
		f.elimination.f.solve(end-used, f.v, true)
		for j, s := range block {
			x[s] = f.v[j]
		}
	}
	for _, s := range block {
		visits := x[s]
		if visits == 0 {
			continue
		}
		next := y.next[y.first[s]:y.first[s+1]]
		prob := y.prob[y.first[s]:][:len(next)]
		for e, to := range next {
			if f.place[to] < begin {
				x[to] += float64(prob[e] * visits)
			}
		}
	}
	return used
}
