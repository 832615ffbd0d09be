package cmdp

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

// mirrored says that states 2i and 2i+1 of a shape are one state with two memories, which a step swaps for both or for
// none. The return of the second memory is negative.
type mirrored struct{ *Shape }

func (f mirrored) Of(state int) int { return state / 2 }

func (f mirrored) Unknown() (states, slots int) { return (f.states + 1) / 2, f.Slots() / 2 }

func (f mirrored) Each(h, state, action, next int, returns []float64,
	visit func(state, action, next int, returns []float64)) {
	visit(state, action, next, returns)
	if f.Actions(h, state^1) <= action || next^1 >= f.states {
		return
	}
	var other []float64
	for _, x := range returns {
		other = append(other, -x)
	}
	visit(state^1, action, next^1, other)
}

// TestAccess wants the accessors to tell what an independent tally of the same
// episodes tells, where half of each state is a known memory too.
func TestAccess(t *testing.T) {
	for trial := range 24 {
		m, pooled, episodes := randomModel(t, uint64(trial/8), 4, 3, 2, true), trial%2 == 1, []int{3, 40}[trial%4/2]
		shape := *m.Shape()
		if trial%8 > 3 {
			shape.factor = mirrored{m.Shape()}
		}
		c := newCounts(t, &shape, pooled, NewReturnConfidence(m.Shape(), 1, 1))
		type key struct{ h, s, a, next int }
		tally, sum := map[key]int{}, map[key]float64{}
		tr := NewTrajectory(m.Shape())
		for k := range episodes {
			env, agent := generator(uint64(k)), generator(uint64(k+1000))
			tr.Play(m, Uniform{m.Shape()}, env, agent)
			c.Observe(tr)
			for h := range tr.Steps {
				at := h
				if pooled {
					at = 0
				}
				for memory := range 2 {
					s, a, next, x := tr.States[h]^memory, tr.Actions[h], tr.States[h+1]^memory, tr.Return(h)[1]
					if memory == 0 || shape.factor != nil && m.Shape().Actions(h, s) > a {
						tally[key{at, s, a, next}]++
						sum[key{at, s, a, -1}] += x * float64(1-2*memory)
					}
				}
			}
		}
		found := 0
		for h := range m.Horizon() {
			if pooled && h > 0 {
				break
			}
			for i := range c.Seen(h) {
				s := c.SeenState(h, i)
				for a := range m.Shape().Actions(h, s) {
					next, times := c.AppendSuccessors(nil, nil, h, s, a)
					total := 0.0
					for j, n := range next {
						if want := tally[key{h, s, a, int(n)}]; float64(want) != times[j] || want == 0 {
							t.Fatal(pooled, h, s, a, n, times[j], want)
						}
						total += times[j]
						found++
					}
					mean := make([]float64, m.Dim())
					ok := c.MeanReturn(mean, h, s, a)
					if ok != (total > 0) || int(total) != c.Visits(h, s, a) {
						t.Fatal(ok, total)
					}
					if ok && math.Abs(mean[1]-sum[key{h, s, a, -1}]/total) > 1e-12 {
						t.Fatal(mean, sum[key{h, s, a, -1}]/total)
					}
				}
			}
		}
		states, of := shape.Representatives()
		for i, s := range states {
			if of(int(s)) != i {
				t.Errorf("state %d stands for what state %d is about", s, i)
			}
		}
		if want := []int{0, (m.States() + 1) / 2}[trial%8/4]; len(states) != want {
			t.Errorf("states %v stand for others: want %d", states, want)
		}
		if found != len(tally) || found != c.Entries() {
			t.Fatalf("found %d entries, tallied %d", found, len(tally))
		}
	}
}

// TestAdd wants added transitions to count like observed ones.
func TestAdd(t *testing.T) {
	m := randomModel(t, 3, 4, 3, 2, true)
	seen := newCounts(t, m.Shape(), false, nil)
	added, _ := NewCounts(m.Shape(), false, nil)
	tr := NewTrajectory(m.Shape())
	for k := range 60 {
		tr.Play(m, Uniform{m.Shape()}, generator(uint64(k)), generator(uint64(k+1000)))
		seen.Observe(tr)
	}
	for h := range m.Horizon() {
		for i := range seen.Seen(h) {
			s := seen.SeenState(h, i)
			for a := range m.Shape().Actions(h, s) {
				next, times := seen.AppendSuccessors(nil, nil, h, s, a)
				for j, n := range next {
					if err := added.Add(h, s, a, int(n), uint32(times[j])-1); err != nil {
						t.Fatal(err)
					}
					if err := added.Add(h, s, a, int(n), 1); err != nil {
						t.Fatal(err)
					}
				}
				got, times2 := added.AppendSuccessors(nil, nil, h, s, a)
				if len(got) != len(next) {
					t.Fatal(got, next)
				}
				for j, n := range next {
					if k := slices.Index(got, n); k < 0 || times2[k] != times[j] {
						t.Fatal(got, times2, next, times)
					}
				}
				if added.Visits(h, s, a) != seen.Visits(h, s, a) {
					t.Fatal(h, s, a)
				}
			}
		}
	}
	if added.Entries() != seen.Entries() {
		t.Fatal(added.Entries(), seen.Entries())
	}
	for _, bad := range [][4]int{{-1, 0, 0, 0}, {9, 0, 0, 0}, {0, 9, 0, 0}, {0, 0, 99, 0}, {0, 0, 0, 9}} {
		if added.Add(bad[0], bad[1], bad[2], bad[3], 1) == nil {
			t.Error(bad)
		}
	}
	game := randomGame(t, 5, 3, 2, 2, false).Shape()
	pairs := newCounts(t, game, false, nil)
	for h := range game.Horizon() {
		for s := range game.States() {
			first, end := game.Choices(h, s)
			for pair := range end - first + 1 {
				if err := pairs.Add(h, s, pair, 0, 1); (err == nil) != (pair < end-first) {
					t.Errorf("pair %d of %d: %v", pair, end-first, err)
				}
			}
		}
	}
	r := m.KnownReturns()
	for h := range m.Horizon() {
		for c := range m.Shape().StepChoices(h) {
			if !slices.Equal(r.At(h, c), m.Kernel(h).Plain(m.Dim()).Returns[c*m.Dim():(c+1)*m.Dim()]) {
				t.Fatal(h, c)
			}
		}
	}
}

// TestCountsAgainstTables counts many successors of many choices, in an order that makes room run out again and
// again, beside plain tables.
func TestCountsAgainstTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 8))
	const states, actions, horizon = 30, 3, 2
	first := make([]int32, states+1)
	for s := range states {
		first[s+1] = first[s] + actions
	}
	sh, err := NewShape(ShapeSpec{Horizon: horizon, Dim: 1, Start: []StartState{{0, 1}}, First: [][]int32{first},
		Returns: []Interval{{Lower: []float64{0}, Upper: []float64{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, pooled := range []bool{false, true} {
		c := newCounts(t, sh, pooled, nil)
		seen := map[[3]int]map[int32]float64{}
		for range 8000 {
			h, s, a, next, times := rng.IntN(horizon), rng.IntN(states), rng.IntN(actions), rng.IntN(states),
				1+rng.IntN(3)
			if err := c.Add(h, s, a, next, uint32(times)); err != nil {
				t.Fatal(err)
			}
			if pooled {
				h = 0
			}
			if seen[[3]int{h, s, a}] == nil {
				seen[[3]int{h, s, a}] = map[int32]float64{}
			}
			seen[[3]int{h, s, a}][int32(next)] += float64(times)
			if rng.IntN(100) == 0 {
				c.layer(h).compact() // which may come at any time
			}
		}
		entries := 0
		for at, want := range seen {
			entries += len(want)
			next, times := c.AppendSuccessors(nil, nil, at[0], at[1], at[2])
			visits := 0.0
			for i, to := range next {
				visits += times[i]
				if times[i] != want[to] {
					t.Fatalf("pooled %v: %v leads to %d %g times, want %g", pooled, at, to, times[i], want[to])
				}
			}
			if len(next) != len(want) || float64(c.Visits(at[0], at[1], at[2])) != visits {
				t.Fatalf("pooled %v: %v has %d successors and %d visits, want %d and %g", pooled, at, len(next),
					c.Visits(at[0], at[1], at[2]), len(want), visits)
			}
		}
		if c.Entries() != entries {
			t.Errorf("pooled %v: %d entries, want %d", pooled, c.Entries(), entries)
		}
	}
}

// TestLearnedReturn: the interval of a scalar return is that of all return vectors within the radii, and within
// the clip range.
func TestLearnedReturn(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	for range 300 {
		const d = 3
		l := &layer{choices: []choice{{rates: newRates(2)}}}
		dir := make([]float64, d)
		for i := range dir {
			dir[i] = rng.NormFloat64()
			l.returns = append(l.returns, returnStat{mean: rng.NormFloat64(), radius: rng.Float64()})
		}
		least, most := math.Inf(1), math.Inf(-1)
		for corner := range 1 << d {
			x := 0.0
			for i, st := range l.returns {
				x += dir[i] * (st.mean + st.radius*float64(2*(corner>>i&1)-1))
			}
			least, most = min(least, x), max(most, x)
		}
		rate := bounds{least + rng.NormFloat64(), most + rng.NormFloat64()}
		got, want := l.learnedReturn(0, dir, rate), bounds{max(least, rate.low), min(most, rate.up)}
		if math.Abs(got.low-want.low) > 1e-12 || math.Abs(got.up-want.up) > 1e-12 {
			t.Fatalf("%v in the direction %v of %+v within %v, want %v", got, dir, l.returns, rate, want)
		}
		l.choices[0].rates = rates{}
		if unseen := l.learnedReturn(0, dir, rate); unseen != rate {
			t.Fatalf("%v of a choice that was never taken, want %v", unseen, rate)
		}
	}
}

// TestSpoiltCounts changes one thing of saved counts: they are refused, or are counts that save what was read, so that
// nothing of it is left out or out of range.
func TestSpoiltCounts(t *testing.T) {
	rng := generator(16)
	refused := 0
	for trial := range 600 {
		m := randomModel(t, uint64(trial%5), 4, 3, 2, true)
		var confidence *ReturnConfidence
		if trial%2 == 0 {
			confidence = NewReturnConfidence(m.Shape(), 1, 1)
		}
		fresh := func() *Counts { return try(NewCounts(m.Shape(), trial%3 == 0, confidence))(t) }
		c, tr := fresh(), NewTrajectory(m.Shape())
		for range 4 {
			tr.Play(m, Uniform{m.Shape()}, rng, rng)
			c.Observe(tr)
		}
		var saved countsBinary
		if err := gob.NewDecoder(bytes.NewReader(try(c.MarshalBinary())(t))).Decode(&saved); err != nil {
			t.Fatal(err)
		}
		l := &saved.Layers[rng.IntN(len(saved.Layers))]
		switch rng.IntN(8) {
		case 0:
			saved.Layers = saved.Layers[1:]
		case 1:
			l.Returns = append(l.Returns, make([]float64, 1+rng.IntN(99))...)
		case 2:
			l.Returns = l.Returns[:rng.IntN(len(l.Returns)+1)]
		case 3:
			l.Count = append(l.Count, 1)
		default:
			list := [][]int32{l.States, l.Successors, l.Next}[rng.IntN(3)]
			if len(list) > 0 {
				list[rng.IntN(len(list))] += int32(rng.IntN(9) - 4)
			}
		}
		var data bytes.Buffer
		if err := gob.NewEncoder(&data).Encode(&saved); err != nil {
			t.Fatal(err)
		}
		read := fresh()
		if err := read.UnmarshalBinary(data.Bytes()); err != nil {
			refused++
			continue
		}
		var again countsBinary
		if err := gob.NewDecoder(bytes.NewReader(try(read.MarshalBinary())(t))).Decode(&again); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again) != fmt.Sprint(saved) {
			t.Fatalf("trial %d: %v is read as %v", trial, saved, again)
		}
		for h := range m.Horizon() {
			for i := range read.Seen(h) {
				for a := range m.Shape().Actions(h, read.SeenState(h, i)) {
					next, times := read.AppendSuccessors(nil, nil, h, read.SeenState(h, i), a)
					sum := 0.0
					for k, n := range next {
						sum += times[k]
						if n < 0 || int(n) >= m.States() {
							t.Fatalf("trial %d: successor %d", trial, n)
						}
					}
					read.MeanReturn(make([]float64, 2), h, read.SeenState(h, i), a)
					if sum != float64(read.Visits(h, read.SeenState(h, i), a)) {
						t.Fatalf("trial %d: %d visits, %g followed", trial, read.Visits(h, read.SeenState(h, i), a), sum)
					}
				}
			}
		}
	}
	if refused < 200 || refused > 550 {
		t.Errorf("%d of 600 are refused", refused)
	}
}
