package markov

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/internal/threshold"
)

func drawGraph(rng *rand.Rand, states int) *Graph {
	g := &Graph{Kernel: cmdptest.DrawKernel(rng, states)}
	if rng.IntN(2) == 0 {
		g.In, g.Allowed = make([]bool, states), make([]bool, len(g.Kernel.Offset)-1)
		for s := range g.In {
			g.In[s] = rng.IntN(8) > 0
		}
		for c := range g.Allowed {
			g.Allowed[c] = rng.IntN(8) > 0
		}
	}
	return g
}

// edges calls f for the edges of the choices that use takes.
func (g *Graph) edges(use func(s, c int32) bool, f func(s, n int32)) {
	for s := range int32(g.States()) {
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
			for e := g.Kernel.Offset[c]; e < g.Kernel.Offset[c+1]; e++ {
				if n := g.Kernel.Next[e]; g.Kernel.Prob[e] > 0 && g.Has(s) && g.Has(n) && g.Allows(c) && use(s, c) {
					f(s, n)
				}
			}
		}
	}
}

// reach is the transitive closure of edges, every state reaching itself.
func (g *Graph) reach(use func(s, c int32) bool) [][]bool {
	r := make([][]bool, g.States())
	for s := range r {
		r[s] = make([]bool, len(r))
		r[s][s] = true
	}
	g.edges(use, func(s, n int32) { r[s][n] = true })
	for m := range r {
		for s := range r {
			for n := range r {
				r[s][n] = r[s][n] || r[s][m] && r[m][n]
			}
		}
	}
	return r
}

func all(int32, int32) bool { return true }

// bruteEnds returns the maximal end components by looking at every set of states.
func bruteEnds(g *Graph) []int {
	var found []int
	for set := 1; set < 1<<g.States(); set++ {
		in := func(s int32) bool { return set>>s&1 > 0 }
		stays := func(s, c int32) bool {
			for e := g.Kernel.Offset[c]; e < g.Kernel.Offset[c+1]; e++ {
				if n := g.Kernel.Next[e]; g.Kernel.Prob[e] > 0 && (!in(n) || !g.Has(n)) {
					return false
				}
			}
			return in(s) && g.Allows(c)
		}
		ok := true
		r := g.reach(stays)
		for s := range int32(g.States()) {
			if !in(s) {
				continue
			}
			some := false
			for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
				some = some || stays(s, c)
			}
			ok = ok && g.Has(s) && some
			for n := range int32(g.States()) {
				ok = ok && (!in(n) || r[s][n])
			}
		}
		if ok {
			found = append(found, set)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(set int) bool {
		return slices.ContainsFunc(found, func(o int) bool { return o != set && o&set == set })
	})
}

func checkComponents(t *testing.T, g *Graph, p *Partition) {
	t.Helper()
	r := g.reach(all)
	for s := range g.States() {
		if (p.Of[s] >= 0) != g.Has(int32(s)) {
			t.Fatalf("state %d in component %d", s, p.Of[s])
		}
		for n := range g.States() {
			if g.Has(int32(s)) && g.Has(int32(n)) && (p.Of[s] == p.Of[n]) != (r[s][n] && r[n][s]) {
				t.Fatalf("states %d and %d: components %d and %d", s, n, p.Of[s], p.Of[n])
			}
		}
	}
	g.edges(all, func(s, n int32) {
		if p.Of[n] > p.Of[s] {
			t.Fatalf("an edge from component %d to %d", p.Of[s], p.Of[n])
		}
	})
	total := 0
	for i := range p.Len() {
		for _, s := range p.Part(i) {
			if total++; p.Of[s] != int32(i) {
				t.Fatalf("state %d is listed in component %d", s, i)
			}
		}
	}
	if total != len(p.Order) {
		t.Fatalf("%d states listed of %d", total, len(p.Order))
	}
}

func checkEnds(t *testing.T, g *Graph, ends *EndComponents) {
	t.Helper()
	if l := ends.Listed(); l.Of != nil || ends.Of == nil || !slices.Equal(l.Order, ends.Order) {
		t.Fatalf("listed without their places: %+v of %+v", l, ends)
	}
	want := bruteEnds(g)
	if ends.Len() != len(want) {
		t.Fatalf("%d end components, want %d", ends.Len(), len(want))
	}
	for i := range ends.Len() {
		set := 0
		for _, s := range ends.Part(i) {
			set |= 1 << s
		}
		if !slices.Contains(want, set) {
			t.Fatalf("%b is no maximal end component, want one of %b", set, want)
		}
	}
	for s := range g.States() {
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
			inside := ends.Of[s] >= 0 && g.Allows(c)
			for e := g.Kernel.Offset[c]; e < g.Kernel.Offset[c+1]; e++ {
				inside = inside && (g.Kernel.Prob[e] == 0 || ends.Of[g.Kernel.Next[e]] == ends.Of[s])
			}
			if inside != ends.Inside[c] {
				t.Fatalf("choice %d of state %d: inside is %v", c, s, ends.Inside[c])
			}
		}
	}
}

// checkQuotient compares a quotient with what it is said to be, and plays a lifted
// policy.
func checkQuotient(t *testing.T, rng *rand.Rand, g *Graph, p *Partition, ends *EndComponents) {
	t.Helper()
	stays := make([]bool, ends.Len())
	for i := range stays {
		stays[i] = rng.IntN(2) == 0
	}
	q := g.Quotient(p, ends, func(i int32) bool { return stays[i] })
	same := func(s, n int) bool { return s == n || ends.Of[s] >= 0 && ends.Of[s] == ends.Of[n] }
	got := make(map[int32][]int32) // of each state of the quotient, its choices
	for s := range g.States() {
		if (q.Number[s] == q.Rest) != (!g.Has(int32(s)) || g.Kernel.First[s] == g.Kernel.First[s+1]) {
			t.Fatalf("state %d is number %d of %d", s, q.Number[s], q.Rest)
		}
		for n := range g.States() {
			if q.Number[s] != q.Rest && (q.Number[s] == q.Number[n]) != same(s, n) {
				t.Fatalf("states %d and %d are numbers %d and %d", s, n, q.Number[s], q.Number[n])
			}
		}
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1] && q.Number[s] != q.Rest; c++ {
			if g.Allows(c) && !ends.Inside[c] {
				got[q.Number[s]] = append(got[q.Number[s]], c)
			}
			for e := g.Kernel.Offset[c]; e < g.Kernel.Offset[c+1]; e++ {
				want := q.Rest
				if g.Kernel.Prob[e] > 0 {
					want = q.Number[g.Kernel.Next[e]]
				}
				if q.To[e] != want {
					t.Fatalf("transition to %d leads to %d: want %d", g.Kernel.Next[e], q.To[e], want)
				}
			}
		}
	}
	for n := range q.Rest {
		choices := slices.Clone(q.Choice[q.First[n]:q.First[n+1]])
		slices.Sort(choices)
		want := got[n]
		for s := range g.States() {
			if q.Number[s] == n && ends.Of[s] >= 0 && stays[ends.Of[s]] {
				want = append([]int32{Stay}, want...)
				break
			}
		}
		if !slices.Equal(choices, want) {
			t.Fatalf("state %d has choices %v, want %v", n, choices, want)
		}
	}
	checkNumbers(t, g, p, q)
	checkLift(t, rng, g, q)
	checkStays(t, rng, g, q)
}

// checkStays gives each merged state some of its states as the place to stay, where a policy inside goes round, and
// wants a lifted policy that stays to come there surely and to go round as given.
func checkStays(t *testing.T, rng *rand.Rand, g *Graph, q *Quotient) {
	t.Helper()
	places := make([][]int32, len(q.Merged))
	q.StayChoices = make([]bool, g.Kernel.Choices())
	for j := range places {
		inside := slices.Repeat([]int32{-1}, g.States())
		for _, s := range q.Members(j) {
			for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
				if q.Inside[c] && (inside[s] < 0 || rng.IntN(2) == 0) {
					inside[s] = c
				}
			}
		}
		r := g.reach(func(s, c int32) bool { return inside[s] == c })
		for _, s := range q.Members(j) { // the last one that all states it comes to lead back to
			class, closed := []int32(nil), true
			for n, met := range r[s] {
				if met {
					class, closed = append(class, int32(n)), closed && r[n][s]
				}
			}
			if closed {
				places[j] = class
			}
		}
		for _, s := range places[j] {
			q.StayChoices[inside[s]] = true
		}
	}
	q.StayStates = func(j int) []int32 { return places[j] }
	pick, taken := slices.Repeat([]int32{-1}, int(q.Rest)), slices.Repeat([]int32{-1}, g.States())
	q.Lift(pick, func(s, c int32) { taken[s] = c })
	r := g.reach(func(s, c int32) bool { return taken[s] == c })
	for j, place := range places {
		for _, s := range q.Members(j) {
			c := taken[s]
			if c < 0 || !q.Inside[c] || slices.Contains(place, s) && !q.StayChoices[c] || !r[s][place[0]] {
				t.Fatalf("state %d takes choice %d: want it to come to %v and stay there by %v", s, c, place, q.StayChoices)
			}
		}
	}
}

// checkNumbers checks that components follow one another, and what is later is only
// reached from what comes after it.
func checkNumbers(t *testing.T, g *Graph, p *Partition, q *Quotient) {
	t.Helper()
	at := make([]int, q.Rest)
	for i := range len(q.Component) - 1 {
		if q.Component[i] >= q.Component[i+1] {
			t.Fatalf("components %v", q.Component)
		}
		for n := q.Component[i]; n < q.Component[i+1]; n++ {
			at[n] = i
		}
	}
	for s, n := range q.Number {
		for o, m := range q.Number {
			if n != q.Rest && m != q.Rest && (at[n] == at[m]) != (p.Of[s] == p.Of[o]) {
				t.Fatalf("states %d and %d: components %d and %d", s, o, at[n], at[m])
			}
		}
	}
	g.edges(all, func(s, n int32) {
		if a, b := q.Number[s], q.Number[n]; a != q.Rest && b != q.Rest && at[b] > at[a] {
			t.Fatalf("an edge from component %d to %d", at[a], at[b])
		}
	})
}

// checkLift checks that a lifted policy goes surely to the state whose choice was
// picked and takes it, or stays.
func checkLift(t *testing.T, rng *rand.Rand, g *Graph, q *Quotient) {
	t.Helper()
	pick := make([]int32, q.Rest)
	for n := range pick {
		pick[n] = -1
		if first, end := q.First[n], q.First[n+1]; first < end {
			pick[n] = first + rng.Int32N(end-first)
		}
	}
	taken := make([]int32, g.States())
	for s := range taken {
		taken[s] = -1
	}
	q.ZeroStates = nil // some of those that have no number, with any choice
	for s, n := range q.Number {
		if first, end := g.Kernel.First[s], g.Kernel.First[s+1]; n == q.Rest && first < end && rng.IntN(2) == 0 {
			q.ZeroStates = append(q.ZeroStates, [2]int32{int32(s), first + rng.Int32N(end-first)})
		}
	}
	q.Lift(pick, func(s, c int32) { taken[s] = c })
	for _, of := range q.ZeroStates {
		if taken[of[0]] != of[1] {
			t.Fatalf("state %d takes choice %d: want %d", of[0], taken[of[0]], of[1])
		}
	}
	r := g.reach(func(s, c int32) bool { return taken[s] == c })
	for s := range int32(g.States()) {
		n := q.Number[s]
		if n == q.Rest {
			continue
		}
		want := int32(Stay)
		if pick[n] >= 0 {
			want = q.Choice[pick[n]]
		}
		single := q.First[n] == q.First[n+1] && taken[s] < 0
		switch {
		case single && !slices.ContainsFunc(q.Merged, func(m MergedState) bool { return m.State == n }):
			// a state whose choices are all forbidden
		case taken[s] < g.Kernel.First[s] || taken[s] >= g.Kernel.First[s+1] || !g.Allows(taken[s]):
			t.Fatalf("state %d takes choice %d", s, taken[s])
		case want == Stay && !q.Inside[taken[s]]:
			t.Fatalf("state %d takes choice %d and does not stay", s, taken[s])
		case want != Stay && taken[s] != want && (!q.Inside[taken[s]] || !r[s][q.Owner(want)]):
			t.Fatalf("state %d takes choice %d: no way to choice %d", s, taken[s], want)
		}
	}
}

func checkGraph(t *testing.T, rng *rand.Rand, states int) (ends int) {
	t.Helper()
	g := drawGraph(rng, states)
	p, e := partsOf(g), endsOf(g)
	fewer := &Graph{Kernel: g.Kernel, In: g.In, Allowed: make([]bool, g.Kernel.Choices())}
	for c := range fewer.Allowed {
		fewer.Allowed[c] = rng.IntN(3) > 0
	}
	checkEnds(t, fewer, endsOf(g.Only(fewer.Allowed)))
	checkComponents(t, g, p)
	checkEnds(t, g, e)
	restore := threshold.Lower() // passes over all states come first
	checkComponents(t, g, partsOf(g))
	checkEnds(t, g, endsOf(g))
	restore()
	checkQuotient(t, rng, g, p, e)
	checkLayers(t, g)
	for _, parts := range []*Partition{nil, p, partsOf(&Graph{Kernel: g.Kernel})} { // of which not all need take part
		g.Cycles, g.Connected = parts, parts != nil
		checkEnds(t, g, endsOf(g))
		if has, err := g.HasEndComponent(t.Context()); err != nil || has != (e.Len() > 0) {
			t.Fatalf("has an end component: %v of %d", has, e.Len())
		}
	}
	return e.Len()
}

// checkLayers wants the states of components with an edge back over more than half of them ordered by their distances
// from outside, in steps until transitions happen, others as they were.
func checkLayers(t *testing.T, g *Graph) {
	t.Helper()
	defer threshold.Lower()()
	p := partsOf(g)
	far, back := make([]int, g.States()), make([]int, p.Len())
	for s := range far {
		far[s] = 1000
	}
	var choice int32
	of := func(_, c int32) bool {
		choice = c
		return true
	}
	for range far {
		g.edges(of, func(s, n int32) {
			for e := g.Kernel.Offset[choice]; e < g.Kernel.Offset[choice+1]; e++ {
				if x := g.Kernel.Prob[e]; g.Kernel.Next[e] == n && x > 0 {
					steps := int(math.Ceil(min(1/x, 32)))
					if p.Of[s] == p.Of[n] {
						steps += far[n]
					}
					far[s] = min(far[s], steps)
				}
			}
		})
	}
	g.edges(all, func(s, n int32) {
		if i := p.Of[s]; i == p.Of[n] {
			part := p.Part(int(i))
			back[i] = max(back[i], slices.Index(part, n)-slices.Index(part, s))
		}
	})
	before := slices.Clone(p.Order)
	p, err := g.LayeredComponents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Len() {
		want := before[p.First[i]:p.First[i+1]]
		if back[i] > len(want)/2 {
			slices.SortStableFunc(want, func(a, b int32) int { return far[a] - far[b] })
		}
		if far[want[0]] < 1000 && !slices.Equal(p.Part(i), want) { // the order of what does not lead out is no matter
			t.Fatalf("order %v: want %v", p.Part(i), want)
		}
	}
	checkComponents(t, g, p)
}

// TestQuotient checks components, end components and quotients of small random graphs
// against their definitions.
func TestQuotient(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	most := 0
	for range 1000 {
		most = max(most, checkGraph(t, rng, 1+rng.IntN(7)))
	}
	if most < 3 {
		t.Errorf("at most %d end components in a graph: want more", most)
	}
}

// FuzzQuotient takes its draws from the input, so that the fuzzer finds its way from graph to graph.
func FuzzQuotient(f *testing.F) {
	f.Add([]byte{1}, uint8(3))
	f.Fuzz(func(t *testing.T, draws []byte, states uint8) {
		checkGraph(t, rand.New(&drawn{draws, rand.NewPCG(15, 2)}), 1+int(states%8))
	})
}

// drawn is a source of the numbers given, one byte each, and then of others.
type drawn struct {
	bytes []byte
	then  *rand.PCG
}

func (d *drawn) Uint64() uint64 {
	if len(d.bytes) == 0 {
		return d.then.Uint64()
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return uint64(b) * 0x0101010101010101
}

// TestComponentsDeep goes along a path and a ring too long for recursion.
func TestComponentsDeep(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const states = 1 << 20
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range int32(states) {
		if s < states-1 {
			k.Next, k.Prob, k.Offset = append(k.Next, s+1), append(k.Prob, 1), append(k.Offset, int(s+1))
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	g := &Graph{Kernel: k}
	if n := partsOf(g).Len(); n != states {
		t.Errorf("%d components of a path, want %d", n, states)
	}
	if n := endsOf(g).Len(); n != 0 {
		t.Errorf("%d end components of a path, want none", n)
	}
	k.Next, k.Prob, k.Offset = append(k.Next, 0), append(k.Prob, 1), append(k.Offset, states)
	k.First[states] = states
	if n := partsOf(g).Len(); n != 1 {
		t.Errorf("%d components of a ring, want 1", n)
	}
	if n := endsOf(g).Len(); n != 1 {
		t.Errorf("%d end components of a ring, want 1", n)
	}
}
