package cmdp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A plainRow is what was appended to a kernel.
type plainRow struct {
	next          []int32
	prob, returns []float64
	outcomes      []float64 // the returns of each successor, nil if they are not random
}

// drawRows draws rows of so many different distributions and vectors of d returns, of which each row takes one.
// Some distributions begin as others do, and some numbers differ only in the sign of a zero.
func drawRows(rng *rand.Rand, rows, states, kinds, d int) []plainRow {
	distributions, vectors := make([][]float64, kinds), make([][]float64, kinds)
	for i := range kinds {
		p := make([]float64, 1+rng.IntN(4))
		sum := 0.0
		for j := range p {
			p[j] = float64(rng.IntN(1 << 20))
			sum += p[j]
		}
		for j := range p {
			p[j] /= max(sum, 1)
		}
		p[0] = 1
		for _, x := range p[1:] {
			p[0] -= x
		}
		if i > 0 && rng.IntN(4) == 0 {
			p = append(slices.Clone(distributions[i-1]), 0)
		}
		distributions[i] = p
		vectors[i] = make([]float64, d)
		for j := range d {
			vectors[i][j] = []float64{0, math.Copysign(0, -1), 1, rng.NormFloat64()}[rng.IntN(4)]
		}
	}
	out := make([]plainRow, rows)
	for c := range out {
		i, j := rng.IntN(kinds), rng.IntN(kinds)
		if kinds == rows { // each its own
			i, j = c, c
		}
		out[c].prob, out[c].returns = distributions[i], vectors[j]
		for range out[c].prob {
			out[c].next = append(out[c].next, int32(rng.IntN(states)))
		}
	}
	return out
}

// drawOutcomes makes the returns of some rows random. Those of some are then the same whatever happens.
func drawOutcomes(rng *rand.Rand, rows []plainRow, d int) {
	for c := range rows {
		r := &rows[c]
		if rng.IntN(3) > 0 {
			continue
		}
		r.returns = make([]float64, d)
		for _, p := range r.prob {
			for i := range d {
				x := float64(rng.IntN(1 + rng.IntN(3)))
				r.outcomes = append(r.outcomes, x)
				r.returns[i] += p * x
			}
		}
	}
}

// appended returns a kernel of rows, three in each state.
func appended(rows []plainRow) Kernel {
	k := NewKernel()
	for c, r := range rows {
		k.AppendRandom(r.next, r.prob, r.returns, r.outcomes)
		if c%3 == 2 {
			k.EndState()
		}
	}
	return k
}

// wantRows compares each row of a kernel with what was appended, bit by bit.
func wantRows(t *testing.T, k *Kernel, rows []plainRow, d int) {
	t.Helper()
	if k.Choices() != len(rows) {
		t.Fatalf("%d choices: want %d", k.Choices(), len(rows))
	}
	plain := k.Plain(d)
	for c, r := range rows {
		if r.outcomes != nil && allSame(r.outcomes, d) {
			r.returns, r.outcomes = r.outcomes[:d], nil
		}
		next, prob := k.Row(c)
		first, end := k.Entries(c)
		returns := k.ReturnsOf(c, d)
		same := slices.Equal(next, r.next) && len(prob) == len(r.prob) && sameBits(prob, r.prob) && len(returns) == d &&
			sameBits(returns, r.returns)
		same = same && sameBits(r.prob, plain.Prob[first:end]) && sameBits(r.returns, plain.Returns[c*d:(c+1)*d])
		same = same && slices.Equal(k.OutcomesOf(c, d), r.outcomes)
		if r.outcomes != nil {
			same = same && slices.Equal(plain.Outcomes[first*d:end*d], r.outcomes)
		}
		if !same {
			t.Fatalf("choice %d leads to %v with %v and returns %v: want %v, %v, %v", c, next, prob, returns, r.next,
				r.prob, r.returns)
		}
	}
	if 8*len(k.Prob)+4*len(k.Distribution) > 8*len(k.Next) || 8*len(k.Returns)+4*len(k.Vector) > 8*d*len(rows) {
		t.Errorf("%d probabilities and %d numbers of them, %d returns and %d: more than those of %d transitions and "+
			"%d choices take",
			len(k.Prob), len(k.Distribution), len(k.Returns), len(k.Vector), len(k.Next), len(rows))
	}
}

// TestKernelSharesRows: a model has the rows that were appended to its kernel, whether few of them differ or all.
// Where many are the same each is stored once, and where they are not, no more than they take.
func TestKernelSharesRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		d, states, kinds := 1+rng.IntN(3), 1+rng.IntN(60), 1+rng.IntN(200)
		rows := drawRows(rng, 3*states, states, kinds, d)
		if rng.IntN(2) == 0 {
			drawOutcomes(rng, rows, d)
		}
		m, err := NewModel(ModelSpec{Discount: 0.5, Dim: d, Start: []StartState{{0, 1}},
			Kernels: []Kernel{appended(rows)}})
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, m.Kernel(0), rows, d)
	}
	rows := drawRows(rng, 30_000, 10_000, 12, 2)
	m, err := NewModel(ModelSpec{Discount: 0.5, Dim: 2, Start: []StartState{{0, 1}}, Kernels: []Kernel{appended(rows)}})
	if err != nil {
		t.Fatal(err)
	}
	k := m.Kernel(0)
	wantRows(t, k, rows, 2)
	distributions, vectors, numbers := make(map[string]bool), make(map[string]bool), 0
	for _, r := range rows {
		if !distributions[fmt.Sprint(r.prob)] {
			distributions[fmt.Sprint(r.prob)] = true
			numbers += len(r.prob)
		}
		vectors[fmt.Sprint(r.returns)] = true
	}
	if len(k.Prob) > numbers || len(k.Returns) != 2*len(vectors) {
		t.Errorf("%d probabilities and %d returns are stored: want at most %d, and %d", len(k.Prob), len(k.Returns),
			numbers, 2*len(vectors))
	}
	if room := cap(k.Prob) + cap(k.Returns); room > 4*(len(k.Prob)+len(k.Returns)) {
		t.Errorf("room for %d numbers is kept, for %d", room, len(k.Prob)+len(k.Returns))
	}
}

// TestKernelStopsSharing: rows that all differ are looked for no longer after a while, and those that come after
// some that were shared stand where they belong.
func TestKernelStopsSharing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	some := drawRows(rng, 9_000, 50_000, 5, 1)
	rows := append(some, drawRows(rng, 141_000, 50_000, 141_000, 1)...)
	rows = append(rows, some[:3000]...)
	k := appended(rows)
	wantRows(t, &k, rows, 1)
	if k.Distribution != nil || k.pools.distributions != nil || len(k.Prob) != len(k.Next) {
		t.Errorf("%d probabilities of %d transitions are looked for", len(k.Prob), len(k.Next))
	}
}

// TestKernelsOfSteps makes two steps of a model from one kernel, with another one between, so that what becomes of
// the first is not to be seen in the last.
func TestKernelsOfSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, kinds := range []int{3, 500} {
		x, y := drawRows(rng, 60, 20, kinds, 2), drawRows(rng, 60, 20, kinds, 2)
		k := appended(x)
		m, err := NewModel(ModelSpec{Horizon: 3, Dim: 2, Start: []StartState{{0, 1}},
			Kernels: []Kernel{k, appended(y), k}})
		if err != nil {
			t.Fatal(err)
		}
		for h, want := range [][]plainRow{x, y, x} {
			wantRows(t, m.Kernel(h), want, 2)
		}
		r := m.KnownReturns()
		for c := range x {
			if !slices.Equal(r.At(2, c), x[c].returns) {
				t.Fatalf("choice %d is known to return %v: want %v", c, r.At(2, c), x[c].returns)
			}
		}
	}
}

// TestModelsTellOfAllSteps: whether returns are random, how many rows there are, and between what returns lie, is told
// of all steps and outcomes. A mean that is not that of its outcomes is refused, whatever return it is of.
func TestModelsTellOfAllSteps(t *testing.T) {
	const states, d, steps = 4, 2, 3
	rng := rand.New(rand.NewPCG(9, 11))
	for trial := range 60 {
		spec := ModelSpec{Horizon: steps, Dim: d, Start: []StartState{{0, 1}}}
		random, transitions := false, 0
		var lower, upper [steps][]float64
		for h := range steps {
			rows := drawRows(rng, 3*states, states, 3, d)
			if rng.IntN(2) == 0 {
				drawOutcomes(rng, rows, d)
			}
			lower[h], upper[h] = slices.Repeat([]float64{math.Inf(1)}, d), slices.Repeat([]float64{math.Inf(-1)}, d)
			for _, r := range rows {
				transitions += len(r.next)
				random = random || r.outcomes != nil && !allSame(r.outcomes, d)
				values := r.returns
				if r.outcomes != nil {
					values = r.outcomes
				}
				for j, x := range values {
					lower[h][j%d], upper[h][j%d] = min(lower[h][j%d], x), max(upper[h][j%d], x)
				}
			}
			spec.Kernels = append(spec.Kernels, appended(rows))
		}
		m, err := NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		if m.RandomReturns() != random || m.Choices() != 3*states*steps || m.Transitions() != transitions {
			t.Errorf("trial %d: random %v, %d choices, %d transitions: want %v, %d, %d", trial, m.RandomReturns(),
				m.Choices(), m.Transitions(), random, 3*states*steps, transitions)
		}
		for h := range steps {
			if low, up := m.Shape().StepReturns(h); !slices.Equal(low, lower[h]) || !slices.Equal(up, upper[h]) {
				t.Errorf("trial %d, step %d: from %v to %v: want %v to %v", trial, h+1, low, up, lower[h], upper[h])
			}
			k := *m.Kernel(h).Plain(d)
			k.Returns = slices.Clone(k.Returns)
			k.Returns[rng.IntN(len(k.Returns))] += 0.5
			spec.Kernels[h] = k
			if _, err := NewModel(spec); (err != nil) != (k.Outcomes != nil) {
				t.Errorf("trial %d, step %d: a mean that is not that of outcomes: %v", trial, h+1, err)
			}
			spec.Kernels[h] = *m.Kernel(h)
		}
	}
}

// TestBuilderSharesRows adds rows in order and in disorder, single transitions too, of every step and of single ones.
func TestBuilderSharesRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const states, d = 400, 2
	rows := drawRows(rng, states, states, 4, d)
	for c := range rows { // a builder leaves out what is impossible, and adds up what is the same
		kept := plainRow{returns: rows[c].returns}
		for j, p := range rows[c].prob {
			if p > 0 {
				kept.next, kept.prob = append(kept.next, int32((c+j)%states)), append(kept.prob, p)
			}
		}
		rows[c] = kept
	}
	for _, disorder := range []bool{false, true} {
		for _, single := range []bool{false, true} {
			b := NewBuilder(ModelSpec{Horizon: 2, Dim: d, Start: []StartState{{0, 1}}}, states)
			order := rng.Perm(states)
			for i := range order {
				c := i
				if disorder {
					c = order[i]
				}
				row := Row{State: c, Returns: rows[c].returns}
				var err error
				for j, n := range rows[c].next {
					row.Next = append(row.Next, Transition{Next: int(n), Probability: rows[c].prob[j]})
					if single && err == nil {
						err = b.AddTransition(EveryStep, c, 0, 0, Transition{int(n), rows[c].prob[j], rows[c].returns})
					}
				}
				if !single {
					err = b.Add(row)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			m := built(t, b)
			wantRows(t, m.Kernel(0), rows, d)
			if k := m.Kernel(1); k.Distribution == nil || k.Vector == nil || len(k.Prob) > 20 || len(k.Returns) > 4*d {
				t.Errorf("disorder %t, single transitions %t: %d probabilities and %d returns: want those of 4 kinds",
					disorder, single, len(k.Prob), len(k.Returns))
			}
		}
	}
}

// TestModelRefusesWrongShares spoils a kernel whose rows are shared.
func TestModelRefusesWrongShares(t *testing.T) {
	for _, test := range []struct {
		spoil func(k *Kernel)
		want  string
	}{
		{func(k *Kernel) { k.Distribution = k.Distribution[:2] }, "distributions of 2 choices: want 3"},
		{func(k *Kernel) { k.Distribution[1] = 1 }, "state 0, action 1: probabilities from number 1 on: want 2 of 2"},
		{func(k *Kernel) { k.Vector = k.Vector[:1] }, "vectors of returns of 1 choices: want 3"},
		{func(k *Kernel) { k.Vector[2] = math.MaxUint32 },
			"state 0, action 2: returns number 4294967295: want 1 of 2 entries"},
		{func(k *Kernel) { k.Offset[1] = 7 }, "state 0, action 0: successors up to number 7: want at most 5"},
		{func(k *Kernel) { k.Random = make([]int, 4) }, "outcomes of 4 choices: want at most 3"},
		{func(k *Kernel) { k.Random = []int{0} }, "state 0, action 0: outcomes from number 0 on: want 2 of 0"},
		{func(k *Kernel) { k.Random, k.Outcomes = []int{-1, 1}, []float64{3, 5} },
			"state 0, action 1: outcomes from number 1 on: want 2 of 2"},
		{func(k *Kernel) { k.Random, k.Outcomes = []int{-1, 0}, []float64{3, 6} },
			"state 0, action 1: return coordinate 0 is 4: its outcomes average 4.5"},
		{func(k *Kernel) { k.Prob[0] = 0.25 }, "state 0, action 0: probabilities sum to 0.75: want 1"},
	} {
		k := Kernel{First: []int32{0, 3}, Offset: []int{0, 2, 4, 5}, Next: make([]int32, 5),
			Distribution: []uint32{0, 0, 0}, Prob: []float64{0.5, 0.5},
			Vector: []uint32{0, 1, 1}, Returns: []float64{3, 4}}
		k.Next, k.Offset[3] = k.Next[:5], 5
		test.spoil(&k)
		_, err := NewModel(ModelSpec{Discount: 0.5, Dim: 1, Start: []StartState{{0, 1}}, Kernels: []Kernel{k}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v: want %q", err, test.want)
		}
	}
}

// TestSizes: a model takes the memory of its rows, and of an action for each state and step; it fits where there is so
// much, and an error tells the sizes where there is not.
func TestSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 12))
	for range 100 {
		s := Size{States: 1 + rng.IntN(50), Horizon: rng.IntN(4), Kernels: 1, Dim: 1 + rng.IntN(3),
			Choices: float64(rng.IntN(100)), Transitions: float64(rng.IntN(1000)), Random: rng.IntN(2) == 0}
		k := Kernel{First: make([]int32, s.States), Offset: make([]int, int(s.Choices)),
			Next: make([]int32, int(s.Transitions)), Prob: make([]float64, int(s.Transitions)),
			Returns: make([]float64, int(s.Choices)*s.Dim)}
		if s.Random {
			k.Outcomes = make([]float64, int(s.Transitions)*s.Dim)
		}
		policy := s.States * max(1, s.Horizon) // a byte each
		if got, want := s.Bytes(), float64(k.Bytes()+policy); got != want {
			t.Errorf("%+v takes %g bytes: want %g", s, got, want)
		}
		need := int(s.Bytes())
		if s.Fits(0) != nil || s.Fits(need) != nil || !errors.As(s.Fits(need-1), new(*MemoryError)) {
			t.Errorf("%+v fits into %d bytes: %v, and into less: %v", s, need, s.Fits(need), s.Fits(need-1))
		}
	}
}
