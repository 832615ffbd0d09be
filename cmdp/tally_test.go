package cmdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// A countedCase is a tally of a random model.
type countedCase struct {
	spec  TallySpec
	tally *Tally
	model *Model
	kept  map[[3]int]bool // whether the bound can be kept, by step, state and count
	told  int             // pairs of counts that are told apart
	aside int             // and of others
}

func drawTally(t *testing.T, seed uint64) *countedCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(27, seed))
	const dim = 2
	m := elaborate(t, rng, randomModel(t, seed, 1+rng.IntN(4), 1+rng.IntN(4), dim, rng.IntN(2) == 0))
	x := &countedCase{spec: TallySpec{Base: m}, kept: make(map[[3]int]bool)}
	for h := range m.Kernels() {
		amounts := make([]int32, m.Rows(h).transitions())
		for e := range amounts {
			amounts[e] = rng.Int32N(4) - 1
		}
		x.spec.Amount = append(x.spec.Amount, amounts)
	}
	line := func() Line { return Line{float64(rng.IntN(5)), float64(rng.IntN(3)-1) / 2} }
	for range 1 + rng.IntN(2) {
		x.spec.Final = append(x.spec.Final, FinalReturn{rng.Int32N(8) - 2, line(), line()})
	}
	columns := rng.Perm(dim + len(x.spec.Final))
	x.spec.Columns = columns[:1+rng.IntN(len(columns))]
	bound := rng.Int32N(7) - 1
	switch rng.IntN(4) {
	case 0:
		x.spec.AtMost = &bound
	case 1:
		x.spec.AtLeast = &bound
	}
	return x
}

// keeps reports whether a choice, or for −1 some choice, keeps the bound of the count at the end whatever chance does.
func (x *countedCase) keeps(h, s int, count int32, choice int) (kept bool) {
	m := x.spec.Base
	if h == m.Horizon() {
		return (x.spec.AtMost == nil || count <= *x.spec.AtMost) && (x.spec.AtLeast == nil || count >= *x.spec.AtLeast)
	}
	first, end := m.Rows(h).Choices(s)
	if first == end {
		return x.keeps(h+1, s, count, -1)
	}
	if choice < 0 {
		at := [3]int{h, s, int(count)}
		kept, known := x.kept[at]
		for c := first; c < end && !known; c++ {
			kept = kept || x.keeps(h, s, count, c)
		}
		x.kept[at] = kept
		return kept
	}
	next, prob := m.Rows(h).Row(choice)
	kept = true
	for e, to := range next {
		kept = kept && (prob[e] == 0 || x.keeps(h+1, int(to), count+x.amount(h, choice, e), -1))
	}
	return kept
}

// amount returns by how much an entry of a choice changes the count.
func (x *countedCase) amount(h, choice, e int) int32 {
	k := x.spec.Base.Kernel(h)
	first, _ := k.Entries(choice)
	return x.spec.Amount[min(h, len(x.spec.Amount)-1)][first+e]
}

// explore goes on from a state and a count that come up, by one of the choices at random and by all of its successors.
// What has been paid so far in each column is the sum of what base and final returns come to at the end.
func (x *countedCase) explore(t *testing.T, rng *rand.Rand, h, s int, count int32, paid, base []float64) {
	t.Helper()
	m, pair := x.spec.Base, x.tally.At(h, s, count)
	if !x.tally.Apart(h)[s].Reached() {
		t.Fatalf("step %d, state %d: said not to be reached", h, s)
	}
	of, about := x.tally.State(pair)
	if aside := pair == x.tally.Below(s) || pair == x.tally.Above(s); aside {
		x.aside++
	} else if x.told++; about != count {
		t.Fatalf("count %d: the pair %d is about %d", count, pair, about)
	}
	if of != s {
		t.Fatalf("state %d: the pair %d is about %d", s, pair, of)
	}
	if h == m.Horizon() {
		for j, i := range x.spec.Columns {
			want := 0.0
			if i < m.Dim() {
				want = base[i]
			} else {
				f := x.spec.Final[i-m.Dim()]
				line := f.Low
				if count > f.Cut {
					line = f.High
				}
				want = line.At0 + line.Slope*float64(count)
			}
			if math.Abs(paid[j]-want) > 1e-12 {
				t.Fatalf("column %d of %v is %g after a count of %d: want %g, %+v", j, x.spec.Columns, paid[j], count, want,
					x.spec.Final)
			}
		}
		return
	}
	rows, own := m.Rows(h), x.model.Rows(h)
	first, end := rows.Choices(s)
	from, to := own.Choices(pair)
	if to-from != max(1, end-first) {
		t.Fatalf("step %d, state %d: %d choices of the base, %d of a pair", h, s, end-first, to-from)
	}
	offered := []int{-1}
	if first < end {
		offered = nil
	}
	for c := first; c < end; c++ {
		next, _ := own.Row(from + c - first)
		if x.keeps(h, s, count, c) != (len(next) > 0) {
			t.Fatalf("step %d, state %d, count %d: choice %d is offered: %v", h, s, count, c, len(next) > 0)
		}
		if len(next) > 0 {
			offered = append(offered, c)
		}
	}
	c := offered[rng.IntN(len(offered))]
	next, prob, amounts, returns := []int32{int32(s)}, []float64{1}, []int32{0}, [][]float64{make([]float64, m.Dim())}
	at := from
	if c >= 0 {
		successors, shares := rows.Row(c)
		at, next, prob, amounts, returns = from+c-first, nil, nil, nil, nil
		for e, p := range shares {
			if p == 0 {
				continue // it is left out
			}
			next, prob = append(next, successors[e]), append(prob, p)
			amounts, returns = append(amounts, x.amount(h, c, e)), append(returns, rows.Outcome(c, e))
		}
	}
	pairs, shares := own.Row(at)
	pairs, shares = slices.Clone(pairs), slices.Clone(shares)
	if len(pairs) != len(next) {
		t.Fatalf("step %d, choice %d: %d successors, %d of the base", h, c, len(pairs), len(next))
	}
	least, most := x.model.Shape().StepReturns(h)
	mean := make([]float64, len(paid))
	var after [][]float64
	for e := range pairs {
		if pairs[e] != int32(x.tally.At(h+1, int(next[e]), count+amounts[e])) || shares[e] != prob[e] {
			t.Fatalf("step %d, choice %d: %v with %v: want states %v with %v", h, c, pairs, shares, next, prob)
		}
		pays := own.Outcome(at, e)
		floats.AddScaled(mean, shares[e], pays)
		for j, y := range pays {
			if y < least[j]-1e-12 || y > most[j]+1e-12 {
				t.Fatalf("step %d: %g is paid in column %d: want %g to %g", h, y, j, least[j], most[j])
			}
		}
		after = append(after, floats.AddTo(make([]float64, len(paid)), paid, pays))
	}
	for j, y := range own.Returns(at) {
		low, up := math.Inf(1), math.Inf(-1)
		for e := range pairs {
			low, up = min(low, own.Outcome(at, e)[j]), max(up, own.Outcome(at, e)[j])
		}
		if slack := 1e-9 * float64(max(0, x.spec.Base.Dim()-x.spec.Columns[j])); y < low-slack || y > up+slack {
			t.Fatalf("step %d, choice %d: a mean of %.17g of returns from %.17g to %.17g", h, c, y, low, up)
		}
		if low < up && !x.model.RandomReturns() {
			t.Fatalf("step %d, choice %d: returns from %g to %g are said not to be random", h, c, low, up)
		}
	}
	if !floats.EqualApprox(mean, own.Returns(at), 1e-12) {
		t.Fatalf("step %d, choice %d: means %v: want %v", h, c, own.Returns(at), mean)
	}
	for e, n := range next {
		sum := floats.AddTo(make([]float64, m.Dim()), base, returns[e])
		x.explore(t, rng, h+1, int(n), count+amounts[e], after[e], sum)
	}
}

// checkTables compares the rows that are made one by one, in any order, with those of a whole step, with the returns
// that learners are told, and with the sizes that are told.
func (x *countedCase) checkTables(t *testing.T, rng *rand.Rand) {
	t.Helper()
	known, choices, transitions := x.model.KnownReturns(), 0, 0
	for h := range x.spec.Base.Kernels() {
		rows := x.spec.Base.Rows(h)
		for s := range x.spec.Base.States() {
			pairs, first, end, successors := x.tally.Above(s)-x.tally.Below(s)+1, 0, 0, 0
			for first, end = rows.Choices(s); first < end; first++ {
				next, _ := rows.Row(first)
				successors += len(next)
				choices += pairs
			}
			if successors == 0 { // rest is a choice
				choices, successors = choices+pairs, 1
			}
			transitions += pairs * successors
		}
	}
	if x.model.Choices() != choices || x.model.Transitions() != transitions {
		t.Fatalf("%d choices and %d transitions are told: want %d and %d", x.model.Choices(), x.model.Transitions(),
			choices, transitions)
	}
	for h := range x.model.Horizon() {
		rows, k := x.model.Rows(h), x.model.Kernel(h)
		for _, pair := range rng.Perm(x.model.States()) {
			first, end := rows.Choices(pair)
			if n := int(k.First[pair+1] - k.First[pair]); n != end-first {
				t.Fatalf("step %d, pair %d: %d choices, %d in the table", h+1, pair, end-first, n)
			}
			for c := first; c < end; c++ {
				next, prob := rows.Row(c)
				i := int(k.First[pair]) + c - first
				to, shares := k.Row(i)
				if !slices.Equal(next, to) || !slices.Equal(prob, shares) ||
					!slices.Equal(rows.Returns(c), k.ReturnsOf(i, x.model.Dim())) {
					t.Fatalf("step %d, pair %d, choice %d: %v with %v, and %v with %v in the table", h+1, pair, c-first, next,
						prob, to, shares)
				}
				if len(next) > 0 && !floats.EqualApprox(known.At(h, c), rows.Returns(c), 1e-12) {
					t.Fatalf("step %d, pair %d, choice %d: returns %v are known as %v", h+1, pair, c-first, rows.Returns(c),
						known.At(h, c))
				}
			}
		}
	}
}

// TestTally compares tallies with counting: episodes pay what the count at their end says, choices are offered where
// they can keep the bound, and there is none where no policy can.
func TestTally(t *testing.T) {
	broken, told, aside := 0, 0, 0
	for seed := range uint64(200) {
		x := drawTally(t, seed)
		m, keeps := x.spec.Base, true
		for _, st := range m.StartStates() {
			keeps = keeps && x.keeps(0, st.State, 0, -1)
		}
		var err error
		if x.tally, err = NewTally(x.spec); errors.Is(err, ErrBroken) && !keeps {
			broken++
			continue
		}
		if err != nil || !keeps {
			t.Fatalf("seed %d: error %v: some policy keeps the bounds: %v", seed, err, keeps)
		}
		wide := slices.Repeat([]float64{1e6}, len(x.spec.Columns))
		x.model, err = x.tally.Model(Interval{Lower: floats.ScaleTo(slices.Clone(wide), -1, wide), Upper: wide})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(28, seed))
		x.checkTables(t, rng)
		for i, st := range m.StartStates() {
			if got := x.model.StartStates()[i]; got != (StartState{x.tally.At(0, st.State, 0), st.Probability}) {
				t.Fatalf("seed %d: start %+v: want that of %+v", seed, got, st)
			}
			for range 3 {
				x.explore(t, rng, 0, st.State, 0, make([]float64, len(wide)), make([]float64, m.Dim()))
			}
		}
		told, aside = told+x.told, aside+x.aside
	}
	if broken < 10 || told < 1000 || aside < 1000 {
		t.Errorf("%d bounds are broken, %d counts are told apart and %d are not: want more", broken, told, aside)
	}
}
