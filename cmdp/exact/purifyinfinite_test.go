package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// drawComponents draws a model in which components of up to five states follow one another; a choice leads to
// two states of its own component or of later ones. The last state is at rest.
func drawComponents(t *testing.T, rng *rand.Rand, states, dim int) *cmdp.Model {
	t.Helper()
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := 0; s < states-1; {
		size := min(1+rng.IntN(5), states-1-s)
		for range size {
			for range 1 + rng.IntN(3) {
				p := 0.1 + 0.8*rng.Float64()
				k.Next = append(k.Next, int32(s+rng.IntN(size)), int32(s+size+rng.IntN(states-s-size)))
				k.Prob = append(k.Prob, p, 1-p)
				k.Offset = append(k.Offset, len(k.Next))
				for range dim {
					k.Returns = append(k.Returns, rng.NormFloat64())
				}
			}
			k.First = append(k.First, int32(len(k.Offset)-1))
		}
		s += size
	}
	k.First = append(k.First, k.First[states-1])
	m := totalsOf(t, k, dim)
	return m
}

// TestPurifyWithoutHorizon mixes four policies, which differ in many states, and takes the randomisation out:
// what is to be kept stays the same, other returns grow by what they may at most, the cost does not grow, and no
// more states randomise than there are returns.
func TestPurifyWithoutHorizon(t *testing.T) {
	type purify = func(p *infiniteHorizon, policy *Policy, f face) error
	averaged := func(purify purify) recovering {
		return func(p *infiniteHorizon, columns []column, weights []float64, f face) (*Policy, error) {
			parts, err := p.weightedRules(t.Context(), columns, weights)
			if err != nil {
				return nil, err
			}
			policy, err := (&policyMixture{parts: parts}).averageVisits(t.Context(), p)
			if err != nil {
				return nil, err
			}
			return policy, purify(p, policy, f)
		}
	}
	for name, method := range map[string]recovering{
		"as it chooses": averaged(func(p *infiniteHorizon, policy *Policy, f face) error {
			return p.purify(t.Context(), policy, f)
		}),
		"forwards": averaged(func(p *infiniteHorizon, policy *Policy, f face) error {
			return p.purifyForwards(t.Context(), &policy.steps[0], f, 12, 0)
		}),
		"leaving little out": averaged(func(p *infiniteHorizon, policy *Policy, f face) error {
			p.tolerance = 1e-7
			return p.purify(t.Context(), policy, f)
		}),
		"leaving too much out": averaged(func(p *infiniteHorizon, policy *Policy, f face) error {
			return p.purifyCutting(t.Context(), policy, f, 0.3)
		}),
		"in many states at once": func(p *infiniteHorizon, columns []column, weights []float64,
			f face) (*Policy, error) {
			return p.roundMixture(t.Context(), columns, weights, f, 0)
		},
	} {
		t.Run(name, func(t *testing.T) { testPurify(t, method) })
	}
}

// recovering makes a policy of a mixture, or nil where its way is none.
type recovering func(p *infiniteHorizon, columns []column, weights []float64, f face) (*Policy, error)

func testPurify(t *testing.T, method recovering) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 1))
		most, made := 0, 0
		for trial := range 61 {
			const dim = 4
			states := 2 + rng.IntN(60)
			if trial == 60 {
				states = 1500
			}
			m := drawComponents(t, rng, states, dim)
			p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(dim), nil)
			if err != nil {
				t.Fatal(err)
			}
			var columns []column
			for range 4 {
				dir := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
				x, err := p.price(t.Context(), dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				columns = append(columns, newColumn(x, dir))
			}
			weights, before := []float64{0.1, 0.2, 0.3, 0.4}, make([]float64, dim)
			for j, c := range columns {
				floats.AddScaled(before, weights[j], c.returns)
			}
			f, kept := face{cost: []float64{0, 0, 0, 1}}, rng.IntN(dim)
			for i := range kept {
				f.equalities = append(f.equalities,
					targetRow{Constraint: cmdp.Constraint{Normal: axis(dim, i, 1)}, scale: 1})
			}
			for i := kept; i < dim-1; i++ { // may grow by little
				f.inequalities = append(f.inequalities, targetRow{Constraint: cmdp.Constraint{Normal: axis(dim, i, 1),
					Offset: 0.1 * rng.Float64()}, scale: 1})
			}
			room := slices.Clone(f.inequalities)
			differ, _ := p.statesApart(columns)
			policy, err := method(p, columns, weights, f)
			if err != nil {
				t.Fatal(err)
			}
			if policy == nil {
				continue
			}
			most, made = max(most, differ), made+1
			after, err := p.evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			scale := 1 + floats.Norm(before, math.Inf(1))
			for i := range kept {
				if !(math.Abs(after[i]-before[i]) <= 1e-9*scale) {
					t.Errorf("trial %d: return %d was %.15g and is %.15g", trial, i, before[i], after[i])
				}
			}
			for i, r := range room {
				if !(after[kept+i] <= before[kept+i]+r.Offset+1e-9*scale) {
					t.Errorf("trial %d: return %d was %.15g and is %.15g: want at most %g more", trial, kept+i,
						before[kept+i], after[kept+i], r.Offset)
				}
			}
			if !(after[3] <= before[3]+1e-9*scale) {
				t.Errorf("trial %d: the cost was %.15g and is %.15g", trial, before[3], after[3])
			}
			if n := policy.Randomized(); n > dim-1 {
				t.Errorf("trial %d: %d states randomise: want at most %d", trial, n, dim-1)
			}
		}
		if most < 15 || made < 30 {
			t.Errorf("%d policies, mixed in %d states at most: the test says little", made, most)
		}
	})
}

// TestLazyProduct compares products of matrices with those that are made one after the other.
func TestLazyProduct(t *testing.T) {
	const n, most = 3, 2*productBlock*productBlock + 2*productBlock + 2
	rng := rand.New(rand.NewPCG(26, 3))
	p := newLazyProduct(n)
	var plain [][]float64
	for len(plain) < most {
		matrix := make([]float64, n*n)
		for i := range matrix {
			matrix[i] = rng.NormFloat64() / math.Sqrt(n)
		}
		if rng.IntN(50) == 0 {
			matrix[rng.IntN(n*n)] = 0
		}
		p.add(matrix)
		plain = append(plain, matrix)
		if p.len() != len(plain) {
			t.Fatalf("%d matrices: want %d", p.len(), len(plain))
		}
		for range 4 {
			first := max(0, len(plain)-rng.IntN(40)*(1+rng.IntN(20)))
			v := []float64{1, rng.NormFloat64(), rng.NormFloat64()}
			want := append([]float64(nil), v...)
			size := 1.0
			for _, m := range plain[first:] {
				next := make([]float64, n)
				for i, x := range want {
					floats.AddScaled(next, x, m[i*n:][:n])
				}
				want = next
				size = math.Max(size, floats.Norm(want, math.Inf(1)))
			}
			p.apply(v, first)
			if floats.Distance(v, want, math.Inf(1)) > 1e-10*size {
				t.Fatalf("the product of matrices %d to %d is %v: want %v", first, len(plain), v, want)
			}
		}
	}
}

// TestNarrowing makes mixtures of policies narrower. Each round brings them together, or leaves a pair for good, so
// that it ends; what the face preserves stays the same.
func TestNarrowing(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 4))
	before, after := 0, 0
	for trial := range 40 {
		dim := 3 + trial%4
		p, err := newInfiniteHorizon(t.Context(), drawCirculation(t, rng, 60, dim), 1, allRelevant(dim), nil)
		if err != nil {
			t.Fatal(err)
		}
		var columns []column
		var weights []float64
		f := face{cost: make([]float64, dim)}
		for i := range dim {
			dir := make([]float64, dim)
			for j := range dir {
				dir[j] = rng.Float64() - 0.2
			}
			x, err := p.price(t.Context(), dir, 0)
			if err != nil {
				t.Fatal(err)
			}
			columns, weights = append(columns, newColumn(x, dir)), append(weights, 1/float64(dim))
			if i > 0 {
				f.equalities = append(f.equalities,
					targetRow{Constraint: cmdp.Constraint{Normal: axis(dim, i, 1)}, scale: 1})
			}
		}
		w, err := p.newNarrowing(t.Context(), columns, weights, f, math.Inf(1))
		if err != nil {
			t.Fatal(err)
		}
		want := meanOf(w.mix)
		before += w.differences
		for more := true; more; {
			left, kept := w.differences, len(w.kept)
			more, err = w.bringTogether(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if more && w.differences >= left && len(w.kept) == kept {
				t.Fatalf("trial %d: round %d changes nothing: the policies differ in %d states", trial, w.rounds, left)
			}
			if left = w.countDifferences(w.mix); left != w.differences {
				t.Fatalf("trial %d: round %d: %d states differ: want %d", trial, w.rounds, w.differences, left)
			}
		}
		after += w.differences
		got := meanOf(w.mix)
		for i := 1; i < dim; i++ {
			if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
				t.Errorf("trial %d: return %d was %.15g and is %.15g", trial, i, want[i], got[i])
			}
		}
	}
	if before < 1000 || after > before/2 {
		t.Errorf("policies differed in %d states and differ in %d: want at most half", before, after)
	}
}

// drawCirculation draws a model of one component: a step goes a little ahead or back, and the last state is at rest.
func drawCirculation(t *testing.T, rng *rand.Rand, states, dim int) *cmdp.Model {
	t.Helper()
	k := cmdp.NewKernel()
	for s := range states - 1 {
		for range 2 {
			returns := make([]float64, dim)
			for i := range returns {
				returns[i] = rng.Float64()
			}
			ahead, back := min(states-1, s+1+rng.IntN(5)), max(0, s-1-rng.IntN(5))
			k.Append([]int32{int32(ahead), int32(back)}, []float64{0.8, 0.2}, returns)
		}
		k.EndState()
	}
	k.EndState()
	m := totalsOf(t, k, dim)
	return m
}
