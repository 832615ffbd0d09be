package markov

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/internal/threshold"
)

// TestSimultaneousTotals wants the values of each direction to be optimal, by Bellman's equation in rational arithmetic
// from below, and the returns to be those of the policy, by the linear system of all its states. Without vector
// instructions all digits are to be the same, where choices are equally good too. A value of a component that is raised
// by more than rounding is to be seen.
func TestSimultaneousTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 5))
	solved, gaveUp, raised, windows := 0, 0, 0, 0
	for range 400 {
		k, d := cmdptest.DrawKernel(rng, 2+rng.IntN(12)), 1+rng.IntN(3)
		for range d * k.Choices() {
			k.Returns = append(k.Returns, 0.2+float64(rng.IntN(9)))
		}
		if rng.IntN(2) == 0 {
			k = shared(k, d)
		}
		protocol := rng.IntN(100) == 0
		switch {
		case protocol:
			k = drawProtocol(rng, d)
		case rng.IntN(40) == 0:
			k = drawBlocks(rng, d)
		}
		g := &Graph{Kernel: k}
		parts, err := g.LayeredComponents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkComponents(t, &Graph{Kernel: k.Plain(d)}, parts)
		q := g.Number(parts, nil)
		q.Fill(g, q.Origin, nil)
		z := NewLeastTotal(q, 1, 1, new(Chain)).Simultaneous(d)
		plain := NewLeastTotal(q, 1, 1, new(Chain)).Simultaneous(d)
		if z == nil && protocol {
			t.Fatal("not for a protocol, of which one state is on all cycles")
		}
		if z == nil { // somewhere the process cannot rest
			continue
		}
		for n := range 3 { // from the policies of the directions before
			for i, least := range []float64{0, -0.05, 0.1}[:d] {
				z.Directions[i] = Lanes{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64() + least}
				if n == 2 {
					z.Directions[i] = Lanes{0, 1, 1, float64(i)}
				}
			}
			ok, err := z.Solve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkPlain(t, z, plain, ok)
			windows += checkWindow(t, NewLeastTotal(q, 1, 1, new(Chain)), z, ok)
			if !ok {
				gaveUp++
				break
			}
			solved++
			for l := range NumLanes {
				checkDirection(t, z, l)
			}
			checkProved(t, z, solved%NumLanes)
			raised += checkRaised(t, rng, z)
			checkUnproved(t, z)
		}
	}
	if solved < 200 || gaveUp == 0 || raised < 100 || windows < 10 {
		t.Errorf("%d questions were solved, %d of them in windows, and %d given up, %d values raised: want all", solved,
			windows, gaveUp, raised)
	}
}

// drawProtocol draws a protocol with a clock, as benchmarks do: parties draw at each time, and begin again at the end.
func drawProtocol(rng *rand.Rand, d int) *cmdp.Kernel {
	const times, draws = 12, 4
	k := cmdp.NewKernel()
	for s := range int32(times * draws) {
		for range 1 + rng.IntN(2) {
			next, prob := []int32{times * draws, 0}, []float64{0.5, 0.5}
			if s%times < times-1 {
				next[0], next[1] = rng.Int32N(draws)*times+s%times+1, rng.Int32N(draws)*times+s%times+1
			}
			returns := make([]float64, d)
			for i := range returns {
				returns[i] = 0.2 + rng.Float64()
			}
			k.Append(next, prob, returns)
		}
		k.EndState()
	}
	k.EndState()
	return &k
}

// shared returns a kernel with the same rows, d returns each, in which equal distributions and returns are stored once.
func shared(k *cmdp.Kernel, d int) *cmdp.Kernel {
	out := cmdp.NewKernel()
	for s := range len(k.First) - 1 {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			next, prob := k.Row(c)
			out.Append(next, prob, k.ReturnsOf(c, d))
		}
		out.EndState()
	}
	return &out
}

// drawBlocks draws blocks of four states, each left for the next now and then.
func drawBlocks(rng *rand.Rand, d int) *cmdp.Kernel {
	const blocks, size = 7, 4
	k := cmdp.NewKernel()
	for s := range int32(blocks * size) {
		for range 1 + rng.IntN(2) {
			returns := make([]float64, d)
			for i := range returns {
				returns[i] = 0.2 + rng.Float64()
			}
			next := []int32{s - s%size + rng.Int32N(size), min(blocks*size, s+1+rng.Int32N(6))}
			k.Append(next, []float64{0.5, 0.5}, returns)
		}
		k.EndState()
	}
	k.EndState()
	return &k
}

// checkWindow wants a program that keeps what it finds of as few states as it may, with and without vector
// instructions, to find what z found. It returns 1 if these are not all states.
func checkWindow(t *testing.T, solver *LeastTotal, z *SimultaneousTotals, solved bool) int {
	t.Helper()
	defer func(block int, with bool) { threshold.Block, vectors = block, with }(threshold.Block, vectors)
	threshold.Block = 1
	d := len(z.Directions)
	for range 2 {
		few := solver.Simultaneous(d)
		if few.mask < 0 {
			return 0
		}
		copy(few.Directions, z.Directions)
		few.Solved = func(lo, hi int32) {
			for s := lo; s < hi; s++ {
				at := few.Slot(s)
				if solved && (few.Values[at] != z.Values[s] || few.Policy[at] != z.Policy[s] ||
					!slices.Equal(few.Returns[int(at)*d:][:d], z.Returns[int(s)*d:][:d])) {
					t.Fatalf("value %v of state %d in a window of %d: want %v", few.Values[at], s, few.rest, z.Values[s])
				}
			}
		}
		if ok, err := few.Solve(t.Context()); err != nil || ok != solved {
			t.Fatalf("in a window: solved %t, error %v: want solved %t", ok, err, solved)
		}
		vectors = false
	}
	return 1
}

// drawLayers draws layers of components of some states, which lead to the next two layers, now and then to the next
// component of theirs, and within themselves. States are numbered layer by layer or, where they are mixed, at random in
// some layers at a time.
func drawLayers(rng *rand.Rand, d int, mixed bool) *cmdp.Kernel {
	width, size := 3+rng.Int32N(6), 1+rng.Int32N(4)
	layer := width * size
	states, beside := 60*layer, 4
	if !mixed {
		beside = 100 // so that layers stay whole
	}
	number := make([]int32, states+1)
	for s := range number {
		number[s] = int32(s)
	}
	for at := range slices.Chunk(number[:states], int(2*layer)) {
		if mixed {
			rng.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		}
	}
	rows := make([][][]int32, states)
	for s := range states {
		for range 1 + rng.IntN(2) {
			ahead := min(states, (s/layer+1)*layer+rng.Int32N(2*layer))
			if rng.IntN(beside) == 0 {
				ahead = min(states, s-s%size+size)
			}
			rows[number[s]] = append(rows[number[s]], []int32{number[ahead], number[s-s%size+rng.Int32N(size)]})
		}
	}
	k := cmdp.NewKernel()
	for _, choices := range rows {
		for _, next := range choices {
			returns := make([]float64, d)
			for i := range returns {
				returns[i] = 0.2 + rng.Float64()
			}
			k.Append(next, []float64{0.5, 0.5}, returns)
		}
		k.EndState()
	}
	k.EndState()
	return &k
}

// TestSharedTotals wants two workers, who share levels of six states and more in a window of few states, to
// find the digits that one worker finds, state by state, from the same policy.
func TestSharedTotals(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	defer func(block, level int) { threshold.Block, threshold.Level = block, level }(threshold.Block, threshold.Level)
	rng := rand.New(rand.NewPCG(26, 9))
	shared, sorted, windows := 0, 0, 0
	for trial := range 60 {
		d := 1 + rng.IntN(2)
		g := &Graph{Kernel: drawLayers(rng, d, trial%2 == 0)}
		q := layered(t, g)
		threshold.Block = 1000
		z := NewLeastTotal(q, 1, 1, new(Chain)).Simultaneous(d)
		threshold.Block, threshold.Level = 1+rng.IntN(8), 6
		both := NewLeastTotal(q, 1, 2, new(Chain)).Simultaneous(d)
		if both.workers == 1 {
			continue
		}
		shared++
		if both.Quotient != q {
			sorted++
		}
		if both.mask > 0 {
			windows++
			checkReach(t, both)
		}
		for i := range z.Directions {
			z.Directions[i] = Lanes{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()}
		}
		ok, err := z.Solve(t.Context())
		if !ok || err != nil {
			t.Fatalf("one worker: solved %t, error %v", ok, err)
		}
		checkShared(t, both, z)
	}
	if shared < 30 || sorted < 10 || windows < 10 {
		t.Errorf("%d programs were shared, %d of them sorted by levels, %d in windows: want more", shared, sorted, windows)
	}
}

// checkReach wants all that the states of a shared stage lead to to be known until each of them is solved.
func checkReach(t *testing.T, z *SimultaneousTotals) {
	t.Helper()
	q := z.Quotient
	for _, at := range z.stages {
		lo, hi := q.Component[at.first], q.Component[at.end]
		for i := q.First[lo]; i < q.First[hi] && at.shared; i++ {
			to, _ := q.Row(i)
			for _, n := range to {
				if n < lo && hi-n > z.mask+1 {
					t.Fatalf("the stage [%d, %d) leads to state %d, of %d that are known", lo, hi, n, z.mask+1)
				}
			}
		}
	}
}

// checkShared wants both to find what z found.
func checkShared(t *testing.T, both, z *SimultaneousTotals) {
	t.Helper()
	copy(both.Directions, z.Directions)
	p, q, d := both.Quotient, z.Quotient, len(z.Directions)
	var told atomic.Int64
	both.Solved = func(lo, hi int32) {
		told.Add(int64(hi - lo))
		for n := lo; n < hi; n++ {
			at, s := int(both.Slot(n)), int(q.Number[p.Origin[n]])
			choices := [NumLanes]int32{}
			for l, i := range both.Policy[at] {
				choices[l] = i - p.First[n] + q.First[s]
			}
			if both.Values[at] != z.Values[s] || choices != z.Policy[s] ||
				!slices.Equal(both.Returns[at*d:][:d], z.Returns[s*d:][:d]) {
				t.Errorf("values %v of state %d by two workers: want %v", both.Values[at], s, z.Values[s])
			}
			if both.proper[n]-p.First[n] != z.proper[s]-q.First[s] {
				t.Errorf("two workers begin with choice %d in state %d: want %d", both.proper[n]-p.First[n], s,
					z.proper[s]-q.First[s])
			}
		}
	}
	ok, err := both.Solve(t.Context())
	if err != nil || !ok || told.Load() != int64(q.Rest) {
		t.Fatalf("two workers: solved %t, error %v, told of %d states: want all %d", ok, err, told.Load(), q.Rest)
	}
	if both.Above != z.Above {
		t.Fatalf("two workers: not proved in directions %t: want %t", both.Above, z.Above)
	}
}

// TestLargestSystem wants several directions not to be solved at once where the system of a component would take more
// memory than that.
func TestLargestSystem(t *testing.T) {
	defer func(columns int) { threshold.Columns = columns }(threshold.Columns)
	k := drawProtocol(rand.New(rand.NewPCG(26, 8)), 2)
	g := &Graph{Kernel: k}
	q := layered(t, g)
	z := NewLeastTotal(q, 1, 1, new(Chain))
	used := 0
	for i, hi := range q.Component[1:] { // one state is on all cycles
		if states := int(hi - q.Component[i]); states > 1 {
			used = max(used, states*(1+2+2))
		}
	}
	for more, want := range []bool{false, true} {
		threshold.Columns = used - 1 + more
		if got := z.Simultaneous(2) != nil; got != want {
			t.Errorf("%d columns where %d are used: solved at once %t", threshold.Columns, used, got)
		}
	}
}

// checkPlain wants the same of plain, which is solved without vector instructions.
func checkPlain(t *testing.T, z, plain *SimultaneousTotals, solved bool) {
	t.Helper()
	defer func(before bool) { vectors = before }(vectors)
	vectors = false
	copy(plain.Directions, z.Directions)
	ok, err := plain.Solve(t.Context())
	if err != nil || ok != solved {
		t.Fatalf("without vector instructions: solved %t, error %v: want solved %t", ok, err, solved)
	}
	if ok && !(slices.Equal(z.Values, plain.Values) && slices.Equal(z.Returns, plain.Returns) &&
		slices.Equal(z.Policy, plain.Policy)) {
		t.Fatalf("values %v and returns %v, without vector instructions %v and %v", z.Values, z.Returns, plain.Values,
			plain.Returns)
	}
}

// checkDirection checks what was found for direction l.
func checkDirection(t *testing.T, z *SimultaneousTotals, l int) {
	t.Helper()
	q, k, d := z.Quotient, z.Quotient.Kernel, len(z.Directions)
	rule := &Rule{Actions: NewActions(len(q.Number), 256)}
	for n, s := range q.Origin {
		rule.Actions.Set(int(s), int(q.Choice[z.Policy[n][l]]-k.First[s]))
	}
	for i := range d {
		one := *k.Plain(d)
		one.Returns = nil
		for c := range k.Choices() {
			one.Returns = append(one.Returns, k.ReturnsOf(c, d)[i])
		}
		for s, x := range denseTotal(t, &one, rule) {
			if got := z.Returns[d*int(q.Number[s])+i].Array()[l]; !near(got, x, 1e-9) {
				t.Fatalf("return %d from state %d in direction %d is %g, want %g", i, s, l, got, x)
			}
		}
	}
	for n := range q.Rest {
		value, x := z.Values[n].Array()[l], 0.0
		for i, w := range z.Returns[d*int(n):][:d] {
			x += z.Directions[i].Array()[l] * w.Array()[l]
		}
		if !near(value, x, 1e-9) {
			t.Fatalf("value %g of state %d in direction %d, but the policy returns %g", value, n, l, x)
		}
	}
}

// checkProved wants no value in direction l to be above a backup.
func checkProved(t *testing.T, z *SimultaneousTotals, l int) {
	t.Helper()
	for n := range z.Quotient.Rest {
		for i := z.Quotient.First[n]; i < z.Quotient.First[n+1]; i++ {
			if short := shortOf(z, n, i, l); short.Sign() > 0 {
				t.Fatalf("the value of state %d in direction %d is %v above what choice %d gives", n, l, short, i)
			}
		}
	}
}

// checkUnproved solves once more without an allowance for rounding, and wants the directions to be named in which some
// value of a component is not proved then.
func checkUnproved(t *testing.T, z *SimultaneousTotals) {
	t.Helper()
	w := <-z.solvers // the only one
	z.solvers <- w
	allow := func(rounding float64) { z.rounding, w.rows.rounding = rounding, rounding }
	defer allow(z.rounding)
	allow(0)
	if ok, err := z.Solve(t.Context()); err != nil || !ok {
		return
	}
	want := [NumLanes]bool{}
	for i, hi := range z.Quotient.Component[1:] {
		if lo := z.Quotient.Component[i]; hi > lo+1 {
			_, above := w.improve(lo, hi)
			for l, x := range above {
				want[l] = want[l] || x
			}
		}
	}
	if z.Above != want {
		t.Fatalf("directions %t are not proved: want %t", z.Above, want)
	}
}

// shortOf is by how much the value of a state in direction l is above what choice i gives, where what its probabilities
// lack of 1 leads back to the state.
func shortOf(z *SimultaneousTotals, s, i int32, l int) *big.Rat {
	product := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	number := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	value := func(n int32) *big.Rat { return number(z.Values[n].Array()[l]) }
	short := new(big.Rat)
	for j, r := range z.Quotient.Kernel.ReturnsOf(int(z.Quotient.Choice[i]), len(z.Directions)) {
		short.Sub(short, product(number(z.Directions[j].Array()[l]), number(r)))
	}
	next, prob := z.Quotient.Row(i)
	for j, n := range next {
		short.Sub(short, product(number(prob[j]), new(big.Rat).Sub(value(n), value(s))))
	}
	return short
}

// checkRaised raises a value in each component of several states, in one direction, and wants that to be seen if it is
// by more than rounding, and in any case what plain Go sees. It returns how many there are.
func checkRaised(t *testing.T, rng *rand.Rand, z *SimultaneousTotals) (raised int) {
	t.Helper()
	with := vectors
	defer func() { vectors = with }()
	for i, hi := range z.Quotient.Component[1:] {
		lo := z.Quotient.Component[i]
		if hi == lo+1 {
			continue
		}
		s, l, by := lo+rng.Int32N(hi-lo), rng.IntN(NumLanes), math.Pow(10, -16+4*rng.Float64())
		before, policy, x := z.Values[s], slices.Clone(z.Policy), z.Values[s].Array()[l]
		var in [NumLanes]bool
		in[l] = true
		z.Values[s].set(in, Lanes{}.AddScaled(x+by*math.Abs(x), allLanes))
		var seen [2]string
		for k, now := range []bool{with, false} {
			vectors = now
			changed, above := z.newSolver().improve(lo, hi)
			if x != 0 && by > 2e-13 && !changed && above != in {
				t.Fatalf("state %d raised in direction %d: directions %t are not proved", s, l, above)
			}
			seen[k] = fmt.Sprint(changed, above, z.Policy)
			copy(z.Policy, policy)
		}
		if seen[0] != seen[1] {
			t.Fatalf("state %d raised by %g: %s by vector instructions: want %s", s, by, seen[0], seen[1])
		}
		z.Values[s] = before
		raised++
	}
	return raised
}

// TestSimultaneousTotalsEnd wants a program to ask whether its context has ended within a component too, since one may
// have a million states.
func TestSimultaneousTotalsEnd(t *testing.T) {
	k := drawProtocol(rand.New(rand.NewPCG(26, 7)), 2)
	g := &Graph{Kernel: k}
	q := layered(t, g)
	z := NewLeastTotal(q, 1, 1, new(Chain)).Simultaneous(2)
	for i := range z.Directions {
		z.Directions[i] = Lanes{1, 2, 3, 4}
	}
	ok, err := z.Solve(cmdptest.EndAfter(t.Context(), 1))
	if ok || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends before the first evaluation: solved %t, error %v", ok, err)
	}
}

// layered numbers the states of a model by the layers of its components.
func layered(t *testing.T, g *Graph) *Quotient {
	t.Helper()
	parts, err := g.LayeredComponents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := g.Number(parts, nil)
	q.Fill(g, q.Origin, nil)
	return q
}
