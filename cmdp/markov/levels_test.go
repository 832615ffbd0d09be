package markov

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/internal/threshold"
)

// TestLevels compares levels, the stages in which workers share them, and the quotient in their order with what they
// are said to be, in layers and in models of all kinds.
func TestLevels(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng := rand.New(rand.NewPCG(27, 17))
	wide, cut, sorted := 0, 0, 0
	for trial := range 300 {
		k := drawModel(rng, 2+rng.IntN(40))
		if trial%10 == 0 {
			k = drawLayers(rng, 1, trial%20 == 0)
		}
		q := layered(t, &Graph{Kernel: k})
		if q.Rest == 0 {
			continue
		}
		threshold.Level, threshold.Sorted = 1+rng.IntN(10), 1+rng.IntN(60)
		for _, z := range []*levels{q.runs(), q.levels()} {
			checkLevels(t, q, z)
			most := 1 + rng.IntN(20)
			for _, at := range checkStages(t, z, most) {
				if at.shared {
					wide++
				}
				if at.shared && !slices.Contains(z.first, at.end) {
					cut++
				}
			}
			if z.order != nil {
				checkInOrder(t, q, z)
				if !slices.IsSorted(z.order) {
					sorted++
				}
			}
		}
	}
	if wide < 100 || cut < 100 || sorted < 50 {
		t.Errorf("%d stages are shared, %d cut, and %d orders are others: want more", wide, cut, sorted)
	}
}

// checkLevels wants each component to be in one level and to lead to lower ones alone, and as few levels as there can
// be: of runs each begins where a component leads to the last one, and those of a block are as many as the longest way
// in it.
func checkLevels(t *testing.T, q *Quotient, z *levels) {
	t.Helper()
	level, of := levelsOf(t, q, z), make([]int, q.Rest) // the component of each state
	depth, most, start, base := make([]int, len(level)), 0, int32(0), 0
	for i, hi := range q.Component[1:] {
		lo := q.Component[i]
		if lo >= start+int32(threshold.Sorted) { // the next block
			start, base = lo, most
		}
		depth[i] = base
		next := false // whether the level before is led to
		for n := lo; n < hi; n++ {
			of[n] = i
		}
		for j := q.First[lo]; j < q.First[hi]; j++ {
			to, _ := q.Row(j)
			for _, n := range to {
				if n >= lo {
					continue
				}
				if level[of[n]] >= level[i] {
					t.Fatalf("component %d of level %d leads to level %d", i, level[i], level[of[n]])
				}
				next = next || level[of[n]] == level[i]-1
				if n >= start {
					depth[i] = max(depth[i], depth[of[n]]+1)
				}
			}
		}
		most = max(most, depth[i]+1)
		if z.order != nil && level[i] != depth[i] {
			t.Fatalf("component %d is in level %d: want %d", i, level[i], depth[i])
		}
		if l := level[i]; z.order == nil && l > 0 && int(z.first[l]) == i && !next {
			t.Fatalf("a run ends before component %d, which does not lead to it", i)
		}
	}
}

// levelsOf returns the level of each component, and wants each to be in one, after the states that stand before it.
func levelsOf(t *testing.T, q *Quotient, z *levels) []int {
	t.Helper()
	level, at, states := slices.Repeat([]int{-1}, len(q.Component)-1), int32(0), int32(0)
	for l, end := range z.first[1:] {
		for ; at < end; at++ {
			i := at
			if z.order != nil {
				i = z.order[at]
			}
			if level[i] >= 0 || z.begin[at] != states {
				t.Fatalf("component %d of levels %+v: want it once, after %d states", i, z, states)
			}
			level[i] = l
			states += q.Component[i+1] - q.Component[i]
		}
	}
	if states != q.Rest || z.begin[at] != states || z.first[0] != 0 {
		t.Fatalf("levels %+v have %d states of %d", z, states, q.Rest)
	}
	return level
}

// checkStages wants all components in order, wide levels by themselves and cut when they have most states, and what is
// between these in one stage; and each component of a stage in one of its parts.
func checkStages(t *testing.T, z *levels, most int) []stage {
	t.Helper()
	wide, shared := make([]bool, len(z.begin)), 0 // whether the component at each place is in a wide level
	for l, end := range z.first[1:] {
		states := int(z.begin[end] - z.begin[z.first[l]])
		if end > z.first[l]+1 && states >= threshold.Level {
			shared += states
			for at := z.first[l]; at < end; at++ {
				wide[at] = true
			}
		}
	}
	if all := int(z.begin[len(z.begin)-1]); z.mostlyWide() != (2*shared >= all) {
		t.Fatalf("mostly wide %v: %d states of %d are in wide levels", z.mostlyWide(), shared, all)
	}
	stages, at := z.stages(most), int32(0)
	for i, x := range stages {
		if x.first != at || x.end <= at || x.shared && int(z.begin[x.end-1]-z.begin[at]) >= most ||
			!x.shared && i > 0 && !stages[i-1].shared {
			t.Fatalf("stages %+v of at most %d states, levels %+v", stages, most, z)
		}
		whole := slices.Contains(z.first, x.end)
		if !whole && (!x.shared || int(z.begin[x.end]-z.begin[at]) < most) {
			t.Fatalf("stage %+v ends within a level, below %d states: levels %+v", x, most, z)
		}
		parts := 1 + i%5
		for part := range parts {
			first, end := x.part(part, parts)
			if first != at && first != end || end < first || !x.shared && part > 0 && first < end {
				t.Fatalf("part %d of %d of the stage %+v is [%d, %d): want it from %d on", part, parts, x, first, end, at)
			}
			for ; at < end; at++ {
				if wide[at] != x.shared || at > x.first && x.shared && slices.Contains(z.first, at) {
					t.Fatalf("stage %+v: want wide levels %v to be shared, each by itself", x, wide)
				}
			}
		}
		if at != x.end {
			t.Fatalf("the %d parts of the stage %+v end at %d", parts, x, at)
		}
	}
	if int(at) != len(z.begin)-1 {
		t.Fatalf("stages %+v end at %d of %d components", stages, at, len(z.begin)-1)
	}
	return stages
}

// checkInOrder wants the states of the quotient in the order of its levels to be what they were by other numbers.
func checkInOrder(t *testing.T, q *Quotient, z *levels) {
	t.Helper()
	out, before := q.inOrder(z)
	number := slices.Repeat([]int32{-1}, int(q.Rest)+1)
	number[q.Rest] = q.Rest
	for n, s := range before {
		number[s] = int32(n)
		if out.Origin[n] != q.Origin[s] ||
			!slices.Equal(out.Choice[out.First[n]:out.First[n+1]], q.Choice[q.First[s]:q.First[s+1]]) {
			t.Fatalf("state %d, once %d, has the choices of another", n, s)
		}
	}
	for at, i := range z.order {
		for s := q.Component[i]; s < q.Component[i+1]; s++ {
			if number[s] != out.Component[at]+s-q.Component[i] {
				t.Fatalf("state %d has the number %d in the component from %d on", s, number[s], out.Component[at])
			}
		}
	}
	for _, both := range [][2][]int32{{q.Number, out.Number}, {q.To, out.To}} {
		for j, s := range both[0] {
			if both[1][j] != number[s] {
				t.Fatalf("%d in place of state %d: want %d", both[1][j], s, number[s])
			}
		}
	}
}
