package markov

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawRule draws a rule that randomises in some states.
func drawRule(rng *rand.Rand, k *cmdp.Kernel) *Rule {
	n := len(k.First) - 1
	st := &Rule{Actions: NewActions(n, 256)}
	for s := range n {
		actions := int(k.First[s+1] - k.First[s])
		if actions == 0 {
			continue
		}
		st.Actions.Set(s, rng.IntN(actions))
		if rng.IntN(3) == 0 {
			probs, sum := make([]float64, actions), 0.0
			for a := range probs {
				if rng.IntN(3) > 0 {
					probs[a] = rng.Float64()
					sum += probs[a]
				}
			}
			for a := range probs {
				probs[a] /= sum
			}
			if sum > 0 {
				st.Mix(int32(s), probs)
			}
		}
	}
	return st
}

// visitsOf returns the visits of a kernel in all states, with its quotient.
func visitsOf(k *cmdp.Kernel, gamma float64) (*Visits, *Quotient) {
	g := &Graph{Kernel: k}
	q := g.Number(partsOf(g), nil)
	return NewVisits(q, gamma, 1, new(Chain)), q
}

// checkVisits compares the visits of random rules with those of a dense system, each of which is a guess for the next
// ones. Arrivals are of any size, and of both signs now and then: the change that others bring about. In a recurrent
// class, without a discount, the visits add up to the probability of coming there. Where some may be missing that is
// no more than a share of what comes to a component.
func checkVisits(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, gamma float64) (classes int) {
	t.Helper()
	n := len(k.First) - 1
	v, q := visitsOf(k, gamma)
	for range 4 {
		if rng.IntN(4) == 0 {
			before, guesses := v, maps.Clone(v.initialGuess)
			for lo, x := range guesses {
				guesses[lo] = slices.Clone(x)
			}
			v = v.Twin(new(Chain))
			defer func() { // what is visited next is no matter to it
				if !maps.EqualFunc(before.initialGuess, guesses, slices.Equal[[]float64]) {
					t.Fatalf("a twin has changed first guesses to %v: want %v", before.initialGuess, guesses)
				}
			}()
		}
		st := drawRule(rng, k)
		p, _ := transition(k, st)
		rec, r := recurrent(k, p), closure(p)
		if gamma < 1 {
			clear(rec)
		}
		a := minus(p, gamma, rec)
		if mat.Cond(a, 1) > 1e9 {
			continue
		}
		arrivals, size := make([]float64, n), []float64{1, 1, 0.1, 10}[rng.IntN(4)]
		arrivals[rng.IntN(n)] += 0.75 * size
		arrivals[rng.IntN(n)] += []float64{0.25, -0.7}[rng.IntN(2)] * size
		want := denseSolve(t, a.T(), arrivals)
		mass := make([]float64, q.Rest+1)
		for s, x := range arrivals {
			mass[q.Number[s]] += x
		}
		if missing := rng.Float64(); rng.IntN(2) == 0 {
			checkMissing(t, v, st, p, rec, slices.Clone(mass), missing*missing, gamma)
		}
		got, err := v.Solve(t.Context(), st, mass, 0)
		if err != nil {
			t.Fatal(err)
		}
		for s := range n {
			x, sum := 0.0, 0.0
			for to := range n {
				if to == s || rec[s] && r[s][to] {
					x += got.Counts[q.Number[to]]
					sum += want[to]
				}
			}
			if q.Number[s] != q.Rest && !near(x/size, sum/size, 1e-6) {
				t.Fatalf("γ = %g: %.15g visits of state %d, recurrent %v: want %.15g", gamma, x, s, rec[s], sum)
			}
			listed := slices.Contains(got.Recurrent, int32(s))
			if listed && !rec[s] || !listed && rec[s] && got.Counts[q.Number[s]] != 0 {
				t.Fatalf("γ = %g: state %d, recurrent %v, goes on for ever: %v", gamma, s, rec[s], listed)
			}
			if listed {
				classes++
			}
		}
		checkVisited(t, v, got, rng.Float64())
		checkReturnsToGo(t, rng, k, v, st, gamma)
		checkWithin(t, rng, k, v, st, gamma)
		checkChain(t, rng, k, st, gamma)
	}
	return classes
}

// checkVisited wants the first states of a component that was swept to have all of its visits but a share, and no fewer
// of them.
func checkVisited(t *testing.T, v *Visits, found *Occupancy, share float64) {
	t.Helper()
	for lo, n := range v.Visited(share) {
		x := found.Counts[lo:][:len(v.initialGuess[lo])]
		if all, after := floats.Sum(x), floats.Sum(x[n:]); slices.Equal(x, v.initialGuess[lo]) && slices.Min(x) >= 0 &&
			(after > share*all*(1+1e-12) || n > 0 && after+x[n-1] < share*all*(1-1e-12)) {
			t.Fatalf("the first %d states of visits %v: want all but %g", n, x, share)
		}
	}
}

// checkMissing wants no more than a share of what comes to a component to be on its way there.
func checkMissing(t *testing.T, v *Visits, st *Rule, p *mat.Dense, rec []bool, mass []float64, missing, gamma float64) {
	t.Helper()
	q := v.quotient
	arrivals := slices.Clone(mass)
	found, err := v.Solve(t.Context(), st, mass, missing)
	if err != nil {
		t.Fatal(err)
	}
	for i, hi := range q.Component[1:] {
		lo, left, comes := q.Component[i], 0.0, 0.0
		for n := lo; n < hi; n++ {
			outside, inside := arrivals[n], -found.Counts[n]
			for from, x := range found.Counts[:q.Rest] {
				if s := int(q.Origin[from]); !rec[s] {
					brings := gamma * x * p.At(s, int(q.Origin[n]))
					if int32(from) >= lo && int32(from) < hi {
						inside += brings
					} else {
						outside += brings
					}
				}
			}
			comes += math.Abs(outside)
			if !rec[q.Origin[n]] {
				left += math.Abs(outside + inside)
			}
		}
		if left > (missing+1e-9)*comes {
			t.Fatalf("γ = %g: %g is on its way in a component of %g: want %g of it at most", gamma, left, comes, missing)
		}
	}
}

// checkChain compares values and visits of the chain of a rule, made choice by choice, with dense systems.
func checkChain(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, st *Rule, gamma float64) {
	t.Helper()
	y, n := new(Chain), len(k.First)-1
	y.Reset()
	number, right, x := make([]int32, n), make([]float64, n), make([]float64, n)
	for s := range number {
		number[s] = int32(s)
	}
	for s := range number {
		right[s] = rng.Float64()
		leak := 1 - gamma
		if k.First[s] == k.First[s+1] {
			leak = 1
		} else {
			for _, taken := range st.Choose(nil, k, int32(s)) {
				y.AddChoice(k, number, int32(taken.Choice), gamma*taken.Prob)
			}
		}
		y.EndRow(leak)
	}
	p, _ := transition(k, st)
	for _, transposed := range []bool{false, true} {
		if gamma == 1 || y.Solve(t.Context(), x, right, transposed, 0) != nil {
			continue
		}
		var a mat.Matrix = minus(p, gamma, nil)
		if transposed {
			a = a.T()
		}
		for s, want := range denseSolve(t, a, right) {
			if !near(x[s], want, 1e-9) {
				t.Fatalf("γ = %g, transposed %v: %.15g in state %d: want %.15g", gamma, transposed, x[s], s, want)
			}
		}
	}
}

// checkReturnsToGo compares two returns at a time with dense systems. What does not end counts as 0.
func checkReturnsToGo(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, v *Visits, st *Rule, gamma float64) {
	t.Helper()
	const d = 2
	both := *k
	both.Returns = make([]float64, d*k.Choices())
	for i := range both.Returns {
		both.Returns[i] = float64(rng.IntN(9) - 4)
	}
	v.kernel = &both
	defer func() { v.kernel = k }()
	q := v.quotient
	got, err := v.ReturnsToGo(t.Context(), st, len(q.Component)-1, d, 0)
	if err != nil {
		t.Fatal(err)
	}
	some := rng.IntN(len(q.Component))
	first, err := v.ReturnsToGo(t.Context(), st, some, d, 0)
	if end := int(q.Component[some]) * d; err != nil || !slices.Equal(first[:end], got[:end]) || !allZero(first[end:]) {
		t.Fatalf("γ = %g: returns of the first %d components are %v, %v: want those of %v", gamma, some, first, err, got)
	}
	one := *k
	for j := range d {
		one.Returns = make([]float64, k.Choices())
		for c := range one.Returns {
			one.Returns[c] = both.Returns[c*d+j]
		}
		p, reward := transition(&one, st)
		rec := recurrent(k, p)
		if gamma < 1 {
			clear(rec)
		}
		for s, in := range rec {
			if in {
				reward[s] = 0
			}
		}
		for s, want := range denseSolve(t, minus(p, gamma, rec), reward) {
			if x := got[int(q.Number[s])*d+j]; !near(x, want, 1e-6) {
				t.Fatalf("γ = %g: return %d from state %d is %.15g: want %.15g", gamma, j, s, x, want)
			}
		}
	}
}

// checkWithin compares the visits of a component that several arrivals bring about with those of a dense system
// of that component alone.
func checkWithin(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, v *Visits, st *Rule, gamma float64) {
	t.Helper()
	q := v.quotient
	if q.Rest == 0 {
		return
	}
	i := rng.IntN(len(q.Component) - 1)
	lo, hi := q.Component[i], q.Component[i+1]
	p, _ := transition(k, st)
	inner := mat.NewDense(int(hi-lo), int(hi-lo), nil)
	for a := lo; a < hi; a++ {
		for b := lo; b < hi; b++ {
			inner.Set(int(a-lo), int(b-lo), p.At(int(q.Origin[a]), int(q.Origin[b])))
		}
	}
	var want []int32
	in := make([]bool, hi-lo)
	for n := range in {
		in[n] = gamma == 1 && recurrent(k, p)[q.Origin[lo+int32(n)]]
		if in[n] {
			want = append(want, lo+int32(n))
		}
	}
	rows := make([][]float64, 1+rng.IntN(3))
	visits := make([][]float64, len(rows))
	for j := range rows {
		rows[j] = make([]float64, hi-lo)
		at := rng.IntN(int(hi - lo))
		rows[j][at]++
		visits[j] = denseSolve(t, minus(inner, gamma, in).T(), rows[j])
	}
	got, err := v.Within(t.Context(), st, i, rows, []float64{0, 1e-14}[rng.IntN(2)])
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("γ = %g, component %d: goes on for ever in %v, error %v: want %v", gamma, i, got, err, want)
	}
	for j, row := range rows {
		left := 0.0 // of what comes to stay, which may be shared out in any way
		for n, x := range visits[j] {
			if in[n] {
				left += row[n] - x
			} else if !near(row[n], x, 1e-6) {
				t.Fatalf("γ = %g, row %d: %.15g visits of state %d: want %.15g", gamma, j, row[n], n, x)
			}
		}
		if math.Abs(left) > 1e-6 {
			t.Fatalf("row %d: %g more than arrives to stay", j, left)
		}
	}
}

func TestVisits(t *testing.T) {
	for _, large := range []bool{false, true} { // by the methods for large models too
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng := rand.New(rand.NewPCG(22, 4))
		classes := 0
		for range 400 {
			k := drawModel(rng, 1+rng.IntN(8))
			for _, gamma := range []float64{0.5, 0.99, 1} {
				classes += checkVisits(t, rng, k, gamma)
			}
		}
		if classes < 200 {
			t.Errorf("%d recurrent states: want many", classes)
		}
	}
}

// TestVisitsNear: where visits of the first states of a component are asked for, those of the others are told, or are
// none.
func TestVisitsNear(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng := rand.New(rand.NewPCG(27, 6))
	near, beyond := 0, 0
	for range 2000 {
		k := drawModel(rng, 3+rng.IntN(6))
		v, q := visitsOf(k, 1)
		if q.Rest == 0 {
			continue
		}
		i := rng.IntN(len(q.Component) - 1)
		lo, hi := q.Component[i], q.Component[i+1]
		if int(hi-lo) <= threshold.Swept {
			continue
		}
		at := rng.Int32N(hi - lo)
		v.Near = map[int32]int32{lo: at + 1 + rng.Int32N(hi-lo-at)}
		mass := make([]float64, q.Rest+1)
		mass[lo+at] = 1
		st := drawRule(rng, k)
		p, _ := transition(k, st)
		if far := rng.Int32N(hi - lo); far >= v.Near[lo] { // something arrives beyond
			mass[lo+far] = 1
			checkMissing(t, v, st, p, recurrent(k, p), mass, 0.1, 1)
			continue
		}
		checkMissing(t, v, st, p, recurrent(k, p), mass, 0.1, 1)
		if v.Beyond {
			beyond++
			continue
		}
		if near++; !allZero(mass[lo+v.Near[lo] : hi]) {
			t.Fatalf("visits %v beyond the first %d states of %d are not told", mass[lo:hi], v.Near[lo], hi-lo)
		}
	}
	if near < 50 || beyond < 50 {
		t.Errorf("%d near and %d beyond: want many of both", near, beyond)
	}
}

// TestRowsBySweeps: of two arrivals in a component sweeps soon find the visits that the first brings about, since
// hardly any of it comes to two states that the second goes round in, for longer than they are swept. Each is found
// once.
func TestRowsBySweeps(t *testing.T) {
	t.Cleanup(threshold.Lower())
	const back, out, hardly = 0.5, 1e-7, 1e-160
	k := kernelOf(make([]float64, 4), [][]int32{{1, 2, 4}, {0}, {3}, {2, 0}},
		[][]float64{{back, hardly, 1 - back}, {1}, {1}, {1 - out, out}})
	k.First = append(k.First, k.First[4]) // where the process rests
	v, q := visitsOf(k, 1)
	rows := [][]float64{make([]float64, 4), make([]float64, 4)}
	lo := q.Component[0]
	rows[0][q.Number[0]-lo], rows[1][q.Number[2]-lo] = 1, 1
	forever, err := v.Within(t.Context(), &Rule{Actions: NewActions(5, 1)}, 0, rows, 0)
	if err != nil || forever != nil {
		t.Fatal(forever, err)
	}
	for j, want := range [][]float64{{2, 1, 0, 0}, {2, 1, 1 / out, 1 / out}} {
		for s, x := range want {
			if got := rows[j][q.Number[s]-lo]; !near(got, x, 1e-6) {
				t.Errorf("row %d: %g visits of state %d: want %g", j, got, s, x)
			}
		}
	}
}

// Visits that are rare count, as what they return may be large: each step ahead has a probability of 1e-9, else the
// process goes back to the first state or ends.
func TestRareVisits(t *testing.T) {
	t.Cleanup(threshold.Lower())
	const states, ahead, back = 14, 1e-9, 0.25
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	away := 1.0 // the probability of not coming back to the first state
	for s := range int32(states) {
		k.Next = append(k.Next, min(s+1, states-1), 0, states)
		k.Prob = append(k.Prob, ahead, back, 1-ahead-back)
		k.Offset = append(k.Offset, len(k.Next))
		k.First = append(k.First, s+1)
		away -= back * math.Pow(ahead, float64(s))
	}
	k.First = append(k.First, states)
	v, q := visitsOf(k, 1)
	mass := make([]float64, q.Rest+1)
	mass[q.Number[0]] = 1
	found, err := v.Solve(t.Context(), &Rule{Actions: NewActions(states+1, 1)}, mass, 0)
	if err != nil {
		t.Fatal(err)
	}
	for s := range states - 1 {
		if x := math.Pow(ahead, float64(s)) / away; math.Abs(found.Counts[q.Number[s]]-x) > 1e-8*x {
			t.Errorf("%g visits of state %d: want %g", found.Counts[q.Number[s]], s, x)
		}
	}
}
