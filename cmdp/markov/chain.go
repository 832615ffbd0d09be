package markov

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// unit is half the distance from 1 to the next float64, the relative error of one rounding.
const unit = 0x1p-53

// A Chain is the linear system of a policy over the states of a strongly connected
// component, numbered from 0, which is (I − P)x = right without what leads from a state to itself:
//
//	(leak + Σ prob)·x(s) − Σ prob·x(next) = right(s),
//
// where leak is what goes out of the component in a step, by a transition or the discount. A
// state's way to itself has no entry: it cancels, so that staying for very long costs no precision.
// Rows are added in the order of their numbers, after a Reset. Memory serves the next system.
type Chain struct {
	first     []int32 // of each row, where its entries begin in next and prob, and the end
	mid       []int32 // of each row, where the entries for higher numbers begin
	next      []int32
	prob      []float64
	leak      []float64
	diag      []float64 // leak + Σ prob
	factors   factors   // nil as long as the system is not eliminated
	blocks    blockForm
	band      band
	dense     denseFactors
	feedback  feedback
	iterative bool // elimination was given up
	visited   []bool
	position  []int32   // of each state, its number in a set
	inverse   []float64 // 1 / diag, for sweeps
	scratch   [7][]float64
	cache     rowCache // of sweeps in place
	choices   rowCache // of a component that sweeps go over as a whole, see holdChoices
	holder    *LeastTotal
	progress  progress.Func
}

// Reset makes the chain empty.
func (y *Chain) Reset() {
	y.first = append(y.first[:0], 0)
	y.mid = y.mid[:0]
	y.next = y.next[:0]
	y.prob = y.prob[:0]
	y.leak = y.leak[:0]
	y.diag = y.diag[:0]
	y.factors = nil
	y.blocks.chain = nil
	y.iterative = false
}

// States returns the number of rows.
func (y *Chain) States() int { return len(y.leak) }

// Add adds a transition to another state n, with probability x, to the row that EndRow ends.
func (y *Chain) Add(n int32, x float64) {
	y.next = append(y.next, n)
	y.prob = append(y.prob, x)
}

// AddChoice adds the transitions of a choice that is taken with probability x to the row that EndRow ends.
// number holds the number in the chain of each state of the kernel that the choice may lead to, and is negative for
// those that are not in the chain.
func (y *Chain) AddChoice(k *cmdp.Kernel, number []int32, c int32, x float64) {
	s := int32(y.States())
	next, prob := k.Row(int(c))
	toNext, toProb := y.next, y.prob // the chain is written once for all of them
	for j, to := range next {
		if n := number[to]; prob[j] > 0 && n != s && n >= 0 {
			toNext, toProb = append(toNext, n), append(toProb, x*prob[j])
		}
	}
	y.next, y.prob = toNext, toProb
}

// EndRow ends the row of the next state, whose transitions have been added, with its leak.
func (y *Chain) EndRow(leak float64) {
	sum, s := leak, int32(len(y.leak))
	first, mid := y.first[s], 0
	next, prob := y.next[first:], y.prob[first:]
	for e, to := range next {
		sum += prob[e]
		if to < s {
			next[e], next[mid] = next[mid], to
			prob[e], prob[mid] = prob[mid], prob[e]
			mid++
		}
	}
	y.first, y.mid = append(y.first, int32(len(y.next))), append(y.mid, first+int32(mid))
	y.leak, y.diag = append(y.leak, leak), append(y.diag, sum)
}

// ErrSingular is the error of a system that has no solution, or whose solution cannot be found to rounding.
var ErrSingular = errors.New("markov: a linear system of the model cannot be solved to rounding")

// eliminated reports whether the system could be eliminated, which is left alone where it
// would fill up, and where ctx ends.
func (y *Chain) eliminated(ctx context.Context) bool {
	if y.factors == nil && !y.iterative {
		switch {
		case y.States() <= min(denseStates, threshold.Eliminated) && y.dense.factorize(y):
			y.factors = &y.dense
		case y.feedback.factorize(ctx, y, threshold.Heads):
			y.factors = &y.feedback
		case y.States() <= threshold.Eliminated:
			y.factors = y.blocks.factorize(ctx, y, math.Inf(1), math.Inf(1))
		case y.band.factorize(ctx, y):
			y.factors = &y.band
		default: // blocks with more entries fill up, as a rule
			y.factors = y.blocks.factorize(ctx, y, 3, 2.5)
		}
		y.iterative = y.factors == nil
		if y.iterative {
			y.blocks.elimination = elimination{} // which may be large
		}
	}
	return y.factors != nil
}

// Solve sets x to the solution of the system, or the transposed one; x holds a first guess. Small systems,
// bands, those with few states on all cycles and sparse ones are eliminated. Others are solved by an iterative
// method, to rounding, or until no residual is above rest. The error is ErrSingular or that of ctx.
func (y *Chain) Solve(ctx context.Context, x, right []float64, transposed bool, rest float64) error {
	if y.eliminated(ctx) {
		y.factors.solve(x, right, transposed)
		return nil
	}
	err := y.iterativeRefinement(ctx, x, right, transposed, rest)
	if errors.Is(err, ErrSingular) { // what mixes that slowly is eliminated even if it fills up
		y.factors = y.blocks.factorize(ctx, y, 40, math.Inf(1))
		if y.factors != nil {
			y.factors.solve(x, right, transposed)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// iterativeRefinement is Solve by an iterative method, started again from the residual until that is
// rounding.
func (y *Chain) iterativeRefinement(ctx context.Context, x, right []float64, transposed bool, rest float64) error {
	n := len(x)
	if allZero(right) {
		clear(x)
		return nil
	}
	for i := range y.scratch {
		if cap(y.scratch[i]) < n {
			y.scratch[i] = make([]float64, n)
		}
		y.scratch[i] = y.scratch[i][:n]
	}
	y.inverse = y.inverse[:0]
	for _, d := range y.diag {
		y.inverse = append(y.inverse, 1/d)
	}
	left, step := y.scratch[0], y.scratch[1]
	last := math.Inf(1)
	for range 60 {
		y.apply(left, x, transposed)
		most, size := 0.0, 0.0
		for i := range left {
			left[i] = right[i] - left[i]
			most = math.Max(most, math.Abs(left[i]))
			size = math.Max(size, math.Abs(x[i])*y.diag[i]+math.Abs(right[i]))
		}
		const tiny = 1e-290 // below, relative accuracy is lost
		if most <= math.Max(2*unit*size+tiny, rest) || most >= last/2 && most <= 1e-13*size {
			return nil
		}
		last = most
		if err := y.bicgstab(ctx, step, left, transposed, math.Max(rest/2, unit*size)/most); err != nil {
			return err
		}
		floats.AddScaled(x, 1, step)
	}
	return ErrSingular
}

// residual returns the largest residual at x.
func (y *Chain) residual(x, right []float64) float64 {
	most := 0.0
	for s, d := range y.diag {
		sum := right[s] - d*x[s]
		for e := y.first[s]; e < y.first[s+1]; e++ {
			sum += y.prob[e] * x[y.next[e]]
		}
		most = math.Max(most, math.Abs(sum))
	}
	return most
}

// apply sets dst to the left-hand side of the system at x.
func (y *Chain) apply(dst, x []float64, transposed bool) {
	if transposed {
		for s, d := range y.diag {
			dst[s] = d * x[s]
		}
		for s, v := range x {
			next := y.next[y.first[s]:y.first[s+1]]
			prob := y.prob[y.first[s]:][:len(next)]
			for j, n := range next {
				dst[n] -= float64(prob[j] * v)
			}
		}
		return
	}
	for s, d := range y.diag {
		sum := d * x[s]
		next := y.next[y.first[s]:y.first[s+1]]
		prob := y.prob[y.first[s]:][:len(next)]
		for j, n := range next {
			sum -= float64(prob[j] * x[n])
		}
		dst[s] = sum
	}
}

// lowerSolve sets dst to the solution of the system without the entries that lead to higher
// numbers. These are the entries that a sweep of Gauss and Seidel does not know yet;
// states are numbered so that most successors have lower numbers. dst may be right.
func (y *Chain) lowerSolve(dst, right []float64, transposed bool) {
	if !transposed {
		for s, d := range y.inverse {
			sum := right[s]
			next := y.next[y.first[s]:y.mid[s]]
			prob := y.prob[y.first[s]:][:len(next)]
			for j, n := range next {
				sum += float64(prob[j] * dst[n])
			}
			dst[s] = sum * d
		}
		return
	}
	copy(dst, right)
	for s := len(dst) - 1; s >= 0; s-- {
		x := dst[s] * y.inverse[s]
		dst[s] = x
		next := y.next[y.first[s]:y.mid[s]]
		prob := y.prob[y.first[s]:][:len(next)]
		for j, n := range next {
			dst[n] += float64(prob[j] * x)
		}
	}
}

// upperResidual sets dst to the left-hand side of the system at x, which lowerSolve has made of right:
// only the entries that it left out are missing.
func (y *Chain) upperResidual(dst, x, right []float64, transposed bool) {
	copy(dst, right)
	for s := range x {
		next := y.next[y.mid[s]:y.first[s+1]]
		prob := y.prob[y.mid[s]:][:len(next)]
		if transposed {
			v := x[s]
			for j, n := range next {
				dst[n] -= float64(prob[j] * v)
			}
			continue
		}
		sum := 0.0
		for j, n := range next {
			sum += float64(prob[j] * x[n])
		}
		dst[s] -= sum
	}
}

// bicgstab sets x to an approximate solution by the stabilised biconjugate gradient method (van
// der Vorst 1992), preconditioned by lowerSolve from the right. Its residual is shrink times that of
// 0, or about 1e-8. Where it breaks down it returns what it has;
// iterativeRefinement starts again from there.
func (y *Chain) bicgstab(ctx context.Context, x, right []float64, transposed bool, shrink float64) error {
	clear(x)
	r, p, v, t, hat := y.scratch[2], y.scratch[3], y.scratch[4], y.scratch[5], y.scratch[6]
	copy(r, right)
	clear(p)
	clear(v)
	rho, alpha, omega := 1.0, 1.0, 1.0
	start := floats.Norm(r, 2)
	goal := math.Max(shrink, 1e-8) * start
	left := start
	// right is the shadow residual.
	for range 2000 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		y.progress.At("solving linear equations", math.Log(left/start)/math.Log(goal/start), len(x))
		next := floats.Dot(right, r)
		if next == 0 || omega == 0 {
			return nil
		}
		beta := next / rho * alpha / omega
		rho = next
		for i := range p {
			p[i] = r[i] + beta*(p[i]-omega*v[i])
		}
		y.lowerSolve(hat, p, transposed)
		y.upperResidual(v, hat, p, transposed)
		alpha = rho / floats.Dot(right, v)
		if math.IsNaN(alpha) || math.IsInf(alpha, 0) {
			return nil
		}
		floats.AddScaled(x, alpha, hat)
		floats.AddScaled(r, -alpha, v)
		if floats.Norm(r, 2) <= goal {
			return nil
		}
		y.lowerSolve(hat, r, transposed)
		y.upperResidual(t, hat, r, transposed)
		omega = floats.Dot(t, r) / floats.Dot(t, t)
		if math.IsNaN(omega) || math.IsInf(omega, 0) {
			return nil
		}
		floats.AddScaled(x, omega, hat)
		floats.AddScaled(r, -omega, t)
		left = floats.Norm(r, 2)
		switch {
		case left <= goal:
			return nil
		case left > 1e6*start:
			clear(x) // lost; sweeps do not diverge
			for range 50 {
				y.gaussSeidelStep(x, right, transposed)
			}
			return nil
		}
	}
	return nil
}

// gaussSeidelStep improves x by a sweep.
func (y *Chain) gaussSeidelStep(x, right []float64, transposed bool) {
	r, hat := y.scratch[5], y.scratch[6]
	y.apply(r, x, transposed)
	for i := range r {
		r[i] = right[i] - r[i]
	}
	y.lowerSolve(hat, r, transposed)
	floats.AddScaled(x, 1, hat)
}

// rescaledSweeps solves the transposed system of a chain, for arrivals right that are not negative. It improves
// a guess x of the visits by sweeps in which every state sends on what comes to it, until a sweep changes the
// flows by no more than rest in all, or by rounding. After each sweep all are multiplied so that as much leaks
// as arrives (Takahashi 1975): what sweeps are slow to change is their sum. It reports false where they are
// slow all the same.
func (y *Chain) rescaledSweeps(ctx context.Context, x, right []float64, rest float64) bool {
	arrives := 0.0
	for s, r := range right {
		x[s] = math.Max(x[s], 0)
		arrives += r
	}
	y.scratch[0] = grown(y.scratch[0], len(x))
	come, last := y.scratch[0], math.Inf(1)
	for n := 1; ctx.Err() == nil; n++ {
		y.progress.At(findingVisits, math.NaN(), len(x))
		copy(come, right)
		for s, v := range x {
			next := y.next[y.first[s]:y.first[s+1]]
			prob := y.prob[y.first[s]:][:len(next)]
			for j, n := range next {
				come[n] += float64(prob[j] * v)
			}
		}
		most, sum, size, leaks := 0.0, 0.0, 0.0, 0.0
		for s, r := range come {
			change := math.Abs(r - x[s]*y.diag[s])
			most, sum, size = max(most, change), sum+change, max(size, r)
			x[s] = r / y.diag[s]
			leaks += x[s] * y.leak[s]
		}
		if n%reviewEvery == 0 {
			if most > 0.1*last {
				return false
			}
			last = most
		}
		if !(leaks > 0) {
			return false
		}
		if math.Abs(arrives-leaks) <= 1e-13*arrives { // to rounding
			if sum <= rest || most <= 4*unit*size {
				return true
			}
			continue
		}
		for s := range x {
			x[s] *= arrives / leaks
		}
	}
	return false
}

// rescaleToLeak makes visits so much larger or smaller that as much leaks as arrives. Where little leaks, a residual
// that is only rounding leaves that open.
func (y *Chain) rescaleToLeak(x, arrivals []float64) {
	leaks := floats.Dot(x, y.leak)
	if leaks > 0 {
		floats.Scale(floats.Sum(arrivals)/leaks, x)
	}
}

// stationaryShares returns the share of the time that the chain spends in each state of a set that it does
// not leave. It is exact to rounding, or up to a residual of rest. It works in the memory of cycle.
// The error is that of ctx.
func (y *Chain) stationaryShares(ctx context.Context, set []int32, rest float64, cycle *Chain) ([]float64, error) {
	y.position = grown(y.position, y.States())
	place := y.position // of the states of the set, where all successors are too
	for j, s := range set {
		place[s] = int32(j)
	}
	// Cut open at the first state: the visits between two arrivals there.
	cycle.Reset()
	cycle.progress = y.progress
	for _, s := range set {
		leak := 0.0
		for e := y.first[s]; e < y.first[s+1]; e++ {
			if n := place[y.next[e]]; n == 0 {
				leak += y.prob[e]
			} else {
				cycle.next, cycle.prob = append(cycle.next, n), append(cycle.prob, y.prob[e])
			}
		}
		cycle.EndRow(leak)
	}
	x, right := make([]float64, len(set)), make([]float64, len(set))
	right[0] = 1
	if len(set) == 1 {
		return right, nil
	}
	err := cycle.Solve(ctx, x, right, true, rest)
	if errors.Is(err, ErrSingular) {
		return right, nil // no loop that is worth more than its first state
	}
	if err != nil {
		return nil, err
	}
	floats.Scale(1/floats.Sum(x), x)
	return x, nil
}

// StationaryShares returns the share of time in each state of a closed set, or an error if it could not be found.
func (y *Chain) StationaryShares(ctx context.Context, set []int32) ([]float64, error) {
	shares, err := y.stationaryShares(ctx, set, 0, new(Chain))
	if err != nil {
		return nil, err
	}
	flow := make([]float64, y.States())
	size := 0.0
	for j, s := range set {
		out := y.diag[s] * shares[j]
		size = max(size, out)
		flow[s] -= out
		for e := y.first[s]; e < y.first[s+1]; e++ {
			flow[y.next[e]] += shares[j] * y.prob[e]
		}
	}
	const balanced = 1e-9
	if len(set) > 1 && !(floats.Norm(flow, math.Inf(1)) <= balanced*size) {
		return nil, ErrSingular
	}
	return shares, nil
}

// leaksEverywhere reports whether a few passes show that the chain leaks from every state, sooner or later. As
// most successors are below, one pass is enough as a rule.
func (y *Chain) leaksEverywhere() bool {
	y.visited = resized(y.visited, y.States())
	left := len(y.visited)
	for range 8 {
		before := left
		for s, met := range y.visited {
			if met {
				continue
			}
			met = y.leak[s] > 0
			for _, n := range y.next[y.first[s]:y.first[s+1]] {
				met = met || y.visited[n]
			}
			y.visited[s] = met
			if met {
				left--
			}
		}
		if left == 0 || left == before {
			break
		}
	}
	return left == 0
}

// ClosedSets returns the sets of states, each connected, that the chain never leaves once it is there: blocks that lead
// to no other one. That takes a second for some 10⁷ transitions, and is not cut off.
func (y *Chain) ClosedSets() (sets [][]int32) {
	f := &y.blocks
	if f.chain != y { // else the blocks are known
		if y.leaksEverywhere() {
			return nil
		}
		_ = f.search(context.Background(), y) // which does not end
	}
	for i, begin := range f.first[:len(f.first)-1] {
		block := f.block(i)
		leaves := func(s int32) bool {
			return y.leak[s] > 0 || slices.ContainsFunc(y.next[y.first[s]:y.first[s+1]],
				func(to int32) bool { return f.place[to] < begin })
		}
		if !slices.ContainsFunc(block, leaves) {
			set := slices.Clone(block) // the memory serves the next search
			slices.Reverse(set)
			sets = append(sets, set)
		}
	}
	return sets
}

// OpenClosedSets makes each state of the closed sets leak, and returns them.
func (y *Chain) OpenClosedSets() (forever []int32) {
	for _, n := range slices.Concat(y.ClosedSets()...) {
		y.leak[n]++
		y.diag[n]++
		forever = append(forever, n)
	}
	if forever != nil {
		y.factors, y.iterative = nil, false
	}
	return forever
}

func allZero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}
