package markov

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

func partsOf(g *Graph) *Partition {
	p, err := g.Components(context.Background())
	if err != nil {
		panic(err)
	}
	return p
}

func endsOf(g *Graph) *EndComponents {
	e, err := g.EndComponents(context.Background())
	if err != nil {
		panic(err)
	}
	return e
}

// TestAnalysesEndWithTheContext wants the error of a context that ends when an analysis tells of its work for the first
// time, before it tells again. In the model each state goes on to the next one and to the first, or is a component by
// itself.
func TestAnalysesEndWithTheContext(t *testing.T) {
	for _, ring := range []bool{true, false} {
		const states = 4 * reportEvery
		k := cmdp.NewKernel()
		for s := range int32(states) {
			next := []int32{s}
			if ring {
				next = []int32{(s + 1) % states, 0}
			}
			k.Append(next, slices.Repeat([]float64{1 / float64(len(next))}, len(next)), []float64{0})
			k.EndState()
		}
		for i, analyse := range []func(ctx context.Context, g *Graph) error{
			func(ctx context.Context, g *Graph) error { _, err := g.Only(nil).Components(ctx); return err },
			func(ctx context.Context, g *Graph) error { _, err := g.EndComponents(ctx); return err },
			func(ctx context.Context, g *Graph) error { _, err := g.Reachable(ctx, []int32{0}); return err },
			func(ctx context.Context, g *Graph) error { _, err := g.HasEndComponent(ctx); return err },
			func(ctx context.Context, g *Graph) error {
				g.In, g.Allowed = slices.Repeat([]bool{true}, states), slices.Repeat([]bool{true}, states)
				_, _, err := g.AlmostSurely(ctx, func(s int32) bool {
					if s == 0 {
						g.Progress("looking for goals", 0)
					}
					return s == 0
				})
				return err
			},
		} {
			told := 0
			ctx, cancel := context.WithCancel(t.Context())
			g := &Graph{Kernel: &k, Progress: func(string, float64) { told++; cancel() }}
			if err := analyse(ctx, g); !errors.Is(err, context.Canceled) || told != 1 {
				t.Errorf("ring %v, analysis %d: %v after it told %d times", ring, i, err, told)
			}
		}
	}
}

// TestReachable compares what is reached and who can be attracted with the transitive closure.
func TestReachable(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 9))
	for range 500 {
		g := drawGraph(rng, 1+rng.IntN(7))
		n := int32(g.States())
		from := []int32{rng.Int32N(n), rng.Int32N(n)}
		whole := (&Graph{Kernel: g.Kernel}).reach(all)
		reached, err := (&Graph{Kernel: g.Kernel}).Reachable(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		for s, met := range reached {
			if want := whole[from[0]][s] || whole[from[1]][s]; met != want {
				t.Fatalf("from %v: state %d is reached: %v", from, s, met)
			}
		}
		r := g.reach(all)
		var next []int32
		into := g.Predecessors()
		for range 2 { // nothing is left from the first time
			next = slices.Repeat([]int32{-1}, int(n))
			into.Attract(from, func(s, c int32) { next[s] = c })
		}
		nearer := g.reach(func(s, c int32) bool { return next[s] == c })
		for s := range n {
			target := s == from[0] || s == from[1]
			if can := r[s][from[0]] || r[s][from[1]]; can != (target || next[s] >= 0 && into.Owner[next[s]] == s) {
				t.Fatalf("state %d takes choice %d on the way to %v: want one: %v", s, next[s], from, can)
			}
			if next[s] >= 0 && !target && !nearer[s][from[0]] && !nearer[s][from[1]] {
				t.Fatalf("the choices %v do not lead from %d to %v", next, s, from)
			}
		}
	}
}

// ruleFor is a rule as a policy of the model of a kernel.
type ruleFor struct {
	*Rule
	k *cmdp.Kernel
}

func (p ruleFor) Choose(*rand.Rand, int, int) int { panic("not played") }

func (p ruleFor) Distribution(dst []float64, _, s int) {
	clear(dst)
	for _, c := range p.Rule.Choose(nil, p.k, int32(s)) {
		dst[c.Choice-int(p.k.First[s])] = c.Prob
	}
}

// TestReachedBy compares what a policy comes to with the transitive closure of its matrix.
func TestReachedBy(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 4))
	for range 300 {
		k := drawModel(rng, 2+rng.IntN(6))
		n := len(k.First) - 1
		start := []cmdp.StartState{{State: rng.IntN(n), Probability: 1}}
		if other := rng.IntN(n); other != start[0].State {
			start = []cmdp.StartState{{State: start[0].State, Probability: 0.5}, {State: other, Probability: 0.5}}
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: start, Kernels: []cmdp.Kernel{*k}})
		if err != nil {
			t.Fatal(err)
		}
		st := drawRule(rng, k)
		p, _ := transition(k, st)
		r := closure(p)
		for s, met := range ReachedBy(m, ruleFor{st, k}) {
			want := false
			for _, from := range start {
				want = want || r[from.State][s]
			}
			if met != want {
				t.Fatalf("from %v a policy comes to state %d: %v", start, s, met)
			}
		}
	}
}

// TestAlmostSurely compares with all deterministic policies: one of them surely comes to a goal if all states
// that it may come to, before it does, lead there.
func TestAlmostSurely(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 10))
	some, whole := 0, 0
	for range 2000 {
		g := drawGraph(rng, 1+rng.IntN(5))
		n := g.States()
		if g.In == nil {
			g.In, g.Allowed = slices.Repeat([]bool{true}, n), slices.Repeat([]bool{true}, len(g.Kernel.Offset)-1)
		}
		before, allowed := slices.Clone(g.In), slices.Clone(g.Allowed)
		goal := make([]bool, n)
		for s := range goal {
			goal[s] = rng.IntN(3) == 0
		}
		surely := func(st *Rule) []bool {
			takes := func(s, c int32) bool { return !goal[s] && int(c-g.Kernel.First[s]) == st.Actions.At(int(s)) }
			in, choices := g.In, g.Allowed
			g.In, g.Allowed = nil, nil // a way out of the graph is a way out
			r := g.reach(takes)
			g.In, g.Allowed = in, choices
			out := make([]bool, n)
			for s := range out {
				out[s] = true
				for to := range out {
					if !r[s][to] {
						continue
					}
					ends := false
					for o, leads := range r[to] {
						ends = ends || leads && goal[o] && before[o]
					}
					first := int(g.Kernel.First[to])
					takes := first + st.Actions.At(to)
					legal := goal[to] || first < int(g.Kernel.First[to+1]) && allowed[takes]
					out[s] = out[s] && ends && before[to] && legal
				}
			}
			return out
		}
		want := make([]bool, n)
		deterministic(g.Kernel, func(st *Rule) {
			for s, x := range surely(st) {
				want[s] = want[s] || x
			}
		})
		stays, nearer, err := g.AlmostSurely(t.Context(), func(s int32) bool { return goal[s] })
		if err != nil || !slices.Equal(g.In, want) || stays != slices.Equal(before, want) {
			t.Fatalf("surely from %v, all %v: want %v of %v, goals %v", g.In, stays, want, before, goal)
		}
		st := &Rule{Actions: NewActions(n, 256)}
		for s, in := range g.In {
			if in && !goal[s] {
				some++
				st.Actions.Set(s, int(nearer[s]-g.Kernel.First[s]))
			}
		}
		if stays {
			whole++
		}
		for s, x := range surely(st) {
			if x != want[s] {
				t.Fatalf("the choices %v surely lead from state %d to goals %v: %v", nearer, s, goal, x)
			}
		}
	}
	if some < 100 || whole < 20 {
		t.Errorf("%d states, and all of them in %d graphs: want many of both", some, whole)
	}
}
