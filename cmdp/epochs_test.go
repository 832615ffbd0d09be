package cmdp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// drawEpochs draws epochs of a random model of totals. Letters lead from an epoch to itself or to later ones, and the
// epochs that the same letters stay in are of one class.
func drawEpochs(t *testing.T, rng *rand.Rand) *Epochs {
	t.Helper()
	const letters = 2
	states, epochs := 1+rng.IntN(4), 1+rng.IntN(5)
	var base Kernel
	e := &Epochs{Letters: letters, Dim: 1 + rng.IntN(2), Classes: make([]Kernel, 1<<letters)}
	random := rng.IntN(2) == 0
	for i := range e.Classes {
		e.Classes[i] = NewKernel()
	}
	base = NewKernel()
	for s := range states {
		actions := 1 + rng.IntN(3)
		if s > 0 && rng.IntN(4) == 0 {
			actions = 0
		}
		for range actions {
			next := make([]int32, 1+rng.IntN(2))
			prob := make([]float64, len(next))
			for j := range next {
				next[j], prob[j] = rng.Int32N(int32(states)), 1/float64(len(next))
				e.Letter = append(e.Letter, rng.Int32N(letters))
			}
			base.Append(next, prob, []float64{1})
			for i := range e.Classes {
				returns, outcomes := make([]float64, e.Dim), []float64(nil)
				if random && rng.IntN(2) == 0 {
					for range len(next) {
						for j := range returns {
							x := float64(rng.IntN(9))
							outcomes = append(outcomes, x)
							returns[j] += x / float64(len(next))
						}
					}
				} else {
					for j := range returns {
						returns[j] = float64(rng.IntN(9))
					}
				}
				e.Classes[i].AppendRandom(next, prob, returns, outcomes)
			}
		}
		base.EndState()
		for i := range e.Classes {
			e.Classes[i].EndState()
		}
	}
	start := []StartState{{rng.IntN(states), 0.5}, {rng.IntN(states), 0.5}}
	if start[0].State == start[1].State {
		start = []StartState{{start[0].State, 1}}
	}
	var err error
	e.Base, err = NewModel(ModelSpec{Discount: 1, Dim: 1, Start: start, Kernels: []Kernel{base}})
	if err != nil {
		t.Fatal(err)
	}
	for range start {
		e.Start = append(e.Start, rng.Int32N(int32(min(2, epochs))))
	}
	for epoch := range int32(epochs) {
		class := int32(0)
		for letter := range letters {
			next := epoch + rng.Int32N(2)*rng.Int32N(int32(epochs)-epoch)
			if e.Next = append(e.Next, next); next == epoch {
				class |= 1 << letter
			}
		}
		e.Class = append(e.Class, class)
	}
	return e
}

// kept finds the pairs from which some policy surely comes to no broken epoch, whatever chance does, all of them at
// first, and then those that are left without a choice taken away until there is none.
func (e *Epochs) kept(broken []bool) (kept []bool, surely func(epoch, c int) bool) {
	states, k := e.Base.States(), e.Base.Kernel(0)
	kept = make([]bool, e.Len()*states)
	for pair := range kept {
		kept[pair] = !broken[pair/states]
	}
	surely = func(epoch, c int) bool {
		first, end := k.Entries(c)
		for at := first; at < end; at++ {
			after := int(e.Next[epoch*e.Letters+int(e.Letter[at])])
			if next, _ := k.Row(c); !kept[after*states+int(next[at-first])] {
				return false
			}
		}
		return true
	}
	for again := true; again; {
		again = false
		for pair := range kept {
			epoch, s := pair/states, pair%states
			some := k.First[s] == k.First[s+1]
			for c := k.First[s]; c < k.First[s+1]; c++ {
				some = some || surely(epoch, int(c))
			}
			if kept[pair] && !some {
				kept[pair], again = false, true
			}
		}
	}
	return kept, surely
}

// TestEpochs compares the rows of epochs, one by one, with those of their classes: where letters lead, what comes up,
// and which choices are offered so that no policy comes to a broken epoch.
func TestEpochs(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 31))
	losing, missing, hidden := 0, 0, 0
	for trial := range 3000 {
		e := drawEpochs(t, rng)
		states, k := e.Base.States(), e.Base.Kernel(0)
		offered := func(epoch, c int) bool { return true }
		for i, spoil := range []func(e *Epochs){
			func(e *Epochs) { e.Next[len(e.Next)-1]-- },
			func(e *Epochs) { e.Next[rng.IntN(len(e.Next))] = int32(e.Len()) },
			func(e *Epochs) { e.Next = e.Next[1:] }, func(e *Epochs) { e.Start = e.Start[1:] },
			func(e *Epochs) { e.Letter = append(e.Letter, 0) }, func(e *Epochs) { e.Base = nil },
			func(e *Epochs) { e.Class[rng.IntN(e.Len())] = int32(len(e.Classes)) },
			func(e *Epochs) { e.Classes = nil }, func(e *Epochs) { e.Classes[len(e.Classes)-1] = NewKernel() },
		} {
			if trial%100 > 0 {
				break
			}
			spoilt := *e
			spoilt.Next, spoilt.Class = slices.Clone(e.Next), slices.Clone(e.Class)
			spoilt.Classes = slices.Clone(e.Classes)
			spoil(&spoilt)
			if _, err := spoilt.Model(); err == nil {
				t.Errorf("trial %d: spoilt epochs %d are taken: %+v", trial, i, spoilt)
			}
			if _, err := spoilt.Enforce(make([]bool, e.Len())); err == nil {
				t.Errorf("trial %d: spoilt epochs %d are enforced: %+v", trial, i, spoilt)
			}
		}
		if trial%3 > 0 {
			broken := make([]bool, e.Len())
			for i := range broken {
				broken[i] = rng.IntN(4) == 0
			}
			kept, surely := e.kept(broken)
			want := -1
			for i, st := range e.Base.StartStates() {
				if want < 0 && !kept[int(e.Start[i])*states+st.State] {
					want = i
				}
			}
			got, err := e.Enforce(broken)
			if err != nil || got != want {
				t.Fatalf("broken %v: error %v, start %d is lost: want %d", broken, err, got, want)
			}
			if want < 0 {
				offered = surely
			} else {
				losing++
			}
		}
		m, err := e.Model()
		if err != nil {
			t.Fatal(err)
		}
		up, queue := make([]bool, e.Len()*states), []int(nil)
		meet := func(pair int) {
			if !up[pair] {
				up[pair], queue = true, append(queue, pair)
			}
		}
		for i, st := range e.Base.StartStates() {
			pair := int(e.Start[i])*states + st.State
			if m.StartStates()[i] != (StartState{pair, st.Probability}) {
				t.Fatalf("start %+v: want pair %d, %+v", m.StartStates()[i], pair, st)
			}
			meet(pair)
		}
		successor := func(epoch, at, n int) int { return int(e.Next[epoch*e.Letters+int(e.Letter[at])])*states + n }
		for at := 0; at < len(queue); at++ {
			epoch, s := queue[at]/states, queue[at]%states
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				next, _ := k.Row(c)
				for j, n := range next {
					if offered(epoch, c) {
						meet(successor(epoch, k.Offset[c]+j, int(n)))
					}
				}
			}
		}
		if m.States() != len(up) || m.Choices() != e.Len()*k.Choices() {
			t.Fatalf("%d states and %d choices: want %d and %d", m.States(), m.Choices(), len(up), e.Len()*k.Choices())
		}
		random := slices.ContainsFunc(e.Classes, func(k Kernel) bool { return k.Outcomes != nil })
		if m.RandomReturns() != random {
			t.Fatalf("returns are random: %v: want %v", m.RandomReturns(), random)
		}
		compareStored(t, e, m)
		rows := m.Rows(0)
		for _, pair := range rng.Perm(len(up)) {
			epoch, s := pair/states, pair%states
			first, end := rows.Choices(pair)
			of := int(k.First[s+1] - k.First[s])
			if !up[pair] {
				of = 0
				hidden++
			}
			if end-first != of || e.ComesUp(pair) != up[pair] {
				t.Fatalf("pair %d has %d choices, comes up %v: want %d, %v", pair, end-first, e.ComesUp(pair), of, up[pair])
			}
			class := &e.Classes[e.Class[epoch]]
			for c := range of {
				own := int(k.First[s]) + c
				next, prob := rows.Row(first + c)
				to, share := class.Row(own)
				returns, offers := class.ReturnsOf(own, e.Dim), offered(epoch, own)
				if e.Offers(epoch, int32(own)) != offers || !slices.Equal(rows.Returns(first+c), returns) {
					t.Fatalf("epoch %d, choice %d: offered %v, returns %v: want %v, %v", epoch, own, e.Offers(epoch, int32(own)),
						rows.Returns(first+c), offers, returns)
				}
				if !offers {
					missing++
					to, share = nil, nil
				}
				if !slices.Equal(prob, share) {
					t.Fatalf("epoch %d, choice %d: probabilities %v: want %v", epoch, own, prob, share)
				}
				for j, n := range to {
					want := successor(epoch, k.Offset[own]+j, int(n))
					pays := returns
					if of := class.OutcomesOf(own, e.Dim); of != nil {
						pays = of[j*e.Dim:][:e.Dim]
					}
					if int(next[j]) != want || !slices.Equal(rows.Outcome(first+c, j), pays) {
						t.Fatalf("epoch %d, choice %d: pair %d after %v: want %d after %v", epoch, own, next[j],
							rows.Outcome(first+c, j), want, pays)
					}
				}
			}
		}
	}
	if losing < 30 || missing < 60 || hidden < 300 {
		t.Errorf("%d starts are lost, %d choices are not offered, %d pairs do not come up: want more", losing, missing,
			hidden)
	}
}

// compareStored compares stored rows with those that are generated, which have no successors where a choice is not
// offered. Pairs that do not come up stay where they are.
func compareStored(t *testing.T, e *Epochs, m *Model) {
	t.Helper()
	stored, err := e.Stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := stored.Kernel(0)
	e.Bytes = 1 + 12*len(k.Next) + 8*len(k.Returns) + 8*len(k.Outcomes)
	if _, err := e.Stored(t.Context()); !errors.As(err, new(*MemoryError)) {
		t.Errorf("%v: want too large for %d bytes, which transitions and returns take alone", err, e.Bytes)
	}
	e.Bytes = 0
	if !slices.Equal(stored.StartStates(), m.StartStates()) || stored.States() != m.States() ||
		e.offered == nil && stored.Choices() != m.Choices() {
		t.Errorf("%d states and %d choices, from %v: want %d, %d, %v", stored.States(), stored.Choices(),
			stored.StartStates(), m.States(), m.Choices(), m.StartStates())
	}
	of, rows, base := stored.Rows(0), m.Rows(0), e.Base.Kernel(0)
	for pair := range m.States() {
		c, end := of.Choices(pair)
		if !e.ComesUp(pair) {
			_, s := e.Split(pair)
			for ; c < end; c++ {
				next, _ := of.Row(c)
				if !slices.Equal(next, []int32{int32(pair)}) || floats.Norm(of.Returns(c), 1) != 0 {
					t.Errorf("pair %d, which does not come up, leads to %v and returns %v", pair, next, of.Returns(c))
				}
			}
			if first, end := of.Choices(pair); end-first != int(base.First[s+1]-base.First[s]) {
				t.Errorf("pair %d, which does not come up, has %d choices", pair, end-first)
			}
			continue
		}
		for d, last := rows.Choices(pair); d < last; d++ {
			next, prob := rows.Row(d)
			if len(next) == 0 {
				continue
			}
			got, share := of.Row(c)
			if !slices.Equal(got, next) || !slices.Equal(share, prob) ||
				!slices.Equal(of.Returns(c), rows.Returns(d)) || e.offered == nil && c != d {
				t.Errorf("choice %d leads to %v with %v: want choice %d with %v, %v", c, got, share, d, next, prob)
			}
			for j := range next {
				if !slices.Equal(of.Outcome(c, j), rows.Outcome(d, j)) {
					t.Errorf("choice %d pays %v, not %v", c, of.Outcome(c, j), rows.Outcome(d, j))
				}
			}
			c++
		}
		if c != end {
			t.Errorf("pair %d has %d choices more", pair, end-c)
		}
	}
}
