package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// solveBig solves a·x = b by elimination in numbers of 400 bits: chains that are hardly connected are hard in 53.
func solveBig(a *mat.Dense, b *mat.VecDense) []float64 {
	n := b.Len()
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	rows := make([][]*big.Float, n)
	for i := range n {
		for _, x := range a.RawRowView(i) {
			rows[i] = append(rows[i], number(x))
		}
		rows[i] = append(rows[i], number(b.AtVec(i)))
	}
	for j := range n {
		for i := j; i < n; i++ {
			if new(big.Float).Abs(rows[i][j]).Cmp(new(big.Float).Abs(rows[j][j])) > 0 {
				rows[i], rows[j] = rows[j], rows[i]
			}
		}
		for i := range n {
			if i == j || rows[i][j].Sign() == 0 {
				continue
			}
			f := new(big.Float).Quo(rows[i][j], rows[j][j])
			for l := j; l <= n; l++ {
				rows[i][l].Sub(rows[i][l], number(0).Mul(f, rows[j][l]))
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i], _ = new(big.Float).Quo(rows[i][n], rows[i][i]).Float64()
	}
	return x
}

// denseBranches returns the recurrent classes that a stationary policy comes to, with their probabilities and
// means, by dense linear algebra. A state without choices rests.
func denseBranches(t testing.TB, m *cmdp.Model, policy cmdp.Policy) []Branch {
	t.Helper()
	n, d, k := m.States(), m.Dim(), m.Kernel(0).Plain(m.Dim())
	p, r := mat.NewDense(n, n, nil), mat.NewDense(n, d, nil)
	leads := make([][]bool, n)
	for s := range n {
		leads[s] = make([]bool, n)
		leads[s][s] = true
		first, end := int(k.First[s]), int(k.First[s+1])
		if first == end {
			p.Set(s, s, 1)
			continue
		}
		probs := make([]float64, end-first)
		policy.Distribution(probs, 0, s)
		for a, x := range probs {
			c := first + a
			floats.AddScaled(r.RawRowView(s), x, k.Returns[c*d:(c+1)*d])
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				p.Set(s, int(k.Next[e]), p.At(s, int(k.Next[e]))+x*k.Prob[e])
				leads[s][k.Next[e]] = leads[s][k.Next[e]] || x*k.Prob[e] > 0
			}
		}
	}
	for by := range n {
		for s := range n {
			for to := range n {
				leads[s][to] = leads[s][to] || leads[s][by] && leads[by][to]
			}
		}
	}
	class := make([]int, n) // its least state, −1 for transient ones
	var transient []int
	for s := range n {
		class[s] = slices.Index(leads[s], true)
		for to := range n {
			if leads[s][to] && !leads[to][s] {
				class[s] = -1
			}
		}
		if class[s] < 0 {
			transient = append(transient, s)
		}
	}
	var out []Branch
	for root := range n {
		if class[root] != root {
			continue
		}
		b := Branch{Returns: make([]float64, d)}
		for s := range n {
			if class[s] == root {
				b.States = append(b.States, s)
			}
		}
		// The shares x of time: x(P−I) = 0, one equation being that they add up to 1.
		l := len(b.States)
		a, right := mat.NewDense(l, l, nil), mat.NewVecDense(l, nil)
		for i, s := range b.States {
			for j, to := range b.States {
				if i != j {
					a.Set(j, i, a.At(j, i)+p.At(s, to))
					a.Set(i, i, a.At(i, i)-p.At(s, to))
				}
			}
		}
		for i := range l {
			a.Set(l-1, i, 1)
		}
		right.SetVec(l-1, 1)
		for i, x := range solveBig(a, right) {
			floats.AddScaled(b.Returns, x, r.RawRowView(b.States[i]))
		}
		// The probabilities y to come there: y = P y, 1 there.
		y := make([]float64, n)
		if len(transient) > 0 {
			a, right = mat.NewDense(len(transient), len(transient), nil), mat.NewVecDense(len(transient), nil)
			for i, s := range transient {
				for j, to := range transient {
					if i != j {
						a.Set(i, j, -p.At(s, to))
					}
				}
				for to := range n { // what is left of 1 by rounding stays
					if to != s {
						a.Set(i, i, a.At(i, i)+p.At(s, to))
					}
				}
				for _, to := range b.States {
					right.SetVec(i, right.AtVec(i)+p.At(s, to))
				}
			}
			for i, x := range solveBig(a, right) {
				y[transient[i]] = x
			}
		}
		for _, s := range b.States {
			y[s] = 1
		}
		for _, st := range m.StartStates() {
			b.Probability += st.Probability * y[st.State]
		}
		if b.Probability > 1e-14 {
			out = append(out, b)
		}
	}
	return out
}

// naiveEnds returns the maximal end component of each state, −1 for none, by taking away choices that may leave
// the set of states which lead to one another until nothing changes.
func naiveEnds(m *cmdp.Model) []int {
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()
	allowed := make([]bool, len(k.Offset)-1)
	for c := range allowed {
		allowed[c] = true
	}
	end := make([]int, n)
	for changed := true; changed; {
		changed = false
		leads := make([][]bool, n)
		for s := range n {
			leads[s] = make([]bool, n)
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; allowed[c] && e < k.Offset[c+1]; e++ {
					leads[s][k.Next[e]] = leads[s][k.Next[e]] || k.Prob[e] > 0
				}
			}
		}
		for by := range n {
			for s := range n {
				for to := range n {
					leads[s][to] = leads[s][to] || leads[s][by] && leads[by][to]
				}
			}
		}
		for s := range n {
			end[s] = -1
			for to := range n {
				if leads[s][to] && leads[to][s] {
					end[s] = to
					break
				}
			}
		}
		for s := range n {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; allowed[c] && e < k.Offset[c+1]; e++ {
					if k.Prob[e] > 0 && (end[s] < 0 || end[k.Next[e]] != end[s]) {
						allowed[c], changed = false, true
					}
				}
			}
		}
	}
	return end
}

// TestBranchesOfSeveralEnds: with several end components, the branches have the probabilities and means that
// dense linear algebra finds for the policies shown, add up to the returns, and no two of them are in the same
// end.
func TestBranchesOfSeveralEnds(t *testing.T) {
	several, drawn, chance := 0, 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 73))
		m := randomAverage(t, seed+5000, 3+rng.IntN(6), 3)
		gradient := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		task, rows := meansTask(t, gradient, []float64{1000, 2*rng.Float64() - 0.5, 2*rng.Float64() - 0.5})
		r, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		Fits(t, m, task, r)
		if _, feasible := kallenberg(t, m, gradient, rows); r.Status != Optimal {
			if feasible {
				t.Errorf("seed %d: %v: want an optimum", seed, r.Status)
			}
			continue
		}
		components := r.Mixture
		if r.Policy != nil {
			components = []WeightedPolicy{{1, r.Policy}}
		} else if drawn++; len(components) < 2 {
			t.Errorf("seed %d: a draw between %d components", seed, len(components))
		}
		if several += min(1, len(r.Branches)-1); len(r.Branches) > len(components) {
			chance++
		}
		ends := naiveEnds(m)
		var policies []cmdp.Policy
		var weights []float64
		left, total := 1.0, make([]float64, 3)
		seen := make(map[int]bool)
		for _, b := range r.Branches {
			left -= b.Probability
			floats.AddScaled(total, b.Probability, b.Returns)
			if len(b.States) > 0 {
				if end := ends[b.States[0]]; end < 0 || seen[end] {
					t.Errorf("seed %d: branches %+v: want one in an end", seed, r.Branches)
				}
				seen[ends[b.States[0]]] = true
			}
			want := 0.0
			for _, c := range components {
				for _, o := range denseBranches(t, m, c.Policy) {
					rests := len(o.States) == 1 && m.Kernel(0).First[o.States[0]] == m.Kernel(0).First[o.States[0]+1]
					if slices.Equal(o.States, b.States) || rests && len(b.States) == 0 {
						want += c.Weight * o.Probability
						if !floats.EqualApprox(o.Returns, b.Returns, 1e-8) {
							t.Errorf("seed %d: branch %+v: want the means %v", seed, b, o.Returns)
						}
					}
				}
			}
			if math.Abs(want-b.Probability) > 1e-9 {
				t.Errorf("seed %d: branch %+v: want the probability %v", seed, b, want)
			}
		}
		if math.Abs(left) > 1e-9 || !floats.EqualApprox(total, r.Returns, 1e-8) {
			t.Errorf("seed %d: branches %+v add up to %v, %v is left: want %v", seed, r.Branches, total, left,
				r.Returns)
		}
		for _, c := range components {
			policies, weights = append(policies, c.Policy), append(weights, c.Weight)
		}
		again, err := Branches(t.Context(), m, policies, weights)
		if err != nil || len(again) != len(r.Branches) {
			t.Fatalf("seed %d: branches %+v, %v: want %+v", seed, again, err, r.Branches)
		}
		for i, b := range again {
			if !slices.Equal(b.States, r.Branches[i].States) ||
				math.Abs(b.Probability-r.Branches[i].Probability) > 1e-9 ||
				!floats.EqualApprox(b.Returns, r.Branches[i].Returns, 1e-8) {
				t.Errorf("seed %d: branch %+v: want %+v", seed, b, r.Branches[i])
			}
		}
	}
	if several < 30 || drawn < 10 || chance < 10 {
		t.Errorf("%d with several branches, %d draws, %d by chance: the test says little", several, drawn, chance)
	}
}

// TestBranchesOfCopies: beside a copy of itself, half of the runs of a model come to each branch, and half to its copy.
// Those that rest rest in either.
func TestBranchesOfCopies(t *testing.T) {
	for seed := range uint64(60) {
		m := randomAverage(t, seed, 3+int(seed%6), 2)
		k, n, d := m.Kernel(0), int32(m.States()), m.Dim()
		twice := cmdp.NewKernel()
		var start []cmdp.StartState
		for half := range int32(2) {
			for s := range n {
				for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
					next, prob := k.Row(c)
					next = slices.Clone(next)
					for j := range next {
						next[j] += half * n
					}
					twice.Append(next, prob, k.ReturnsOf(c, d))
				}
				twice.EndState()
			}
			for _, st := range m.StartStates() {
				start = append(start, cmdp.StartState{State: st.State + int(half*n), Probability: st.Probability / 2})
			}
		}
		double, err := cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: d, Start: start, Kernels: []cmdp.Kernel{twice}})
		if err != nil {
			t.Fatal(err)
		}
		var found [2][]Branch
		for i, m := range []*cmdp.Model{m, double} {
			found[i], err = Branches(t.Context(), m, []cmdp.Policy{uniform{}}, []float64{1})
			if err != nil {
				t.Fatal(err)
			}
		}
		var want []Branch
		for _, b := range found[0] {
			if len(b.States) == 0 {
				want = append(want, b)
				continue
			}
			b.Probability /= 2
			other := b
			other.States = slices.Clone(b.States)
			for j := range other.States {
				other.States[j] += int(n)
			}
			want = append(want, b, other)
		}
		for _, b := range want {
			if !slices.ContainsFunc(found[1], func(o Branch) bool {
				return slices.Equal(b.States, o.States) && math.Abs(b.Probability-o.Probability) < 1e-12 &&
					floats.EqualApprox(b.Returns, o.Returns, 1e-12)
			}) || len(found[1]) != len(want) {
				t.Fatalf("seed %d: branches %+v: want %+v", seed, found[1], want)
			}
		}
	}
}

// TestBranchesOfDraws: of a draw between policies, branches are one where both states and means are the same, with the
// probabilities of all together; those at rest are one.
func TestBranchesOfDraws(t *testing.T) {
	apart := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 74))
		m := randomAverage(t, seed, 2+int(seed%3), 2)
		k, rests := m.Kernel(0), func(s int) bool { return m.Kernel(0).First[s] == m.Kernel(0).First[s+1] }
		policies, weights := make([]cmdp.Policy, 4), []float64{0.1, 0.2, 0.3, 0.4}
		var want []Branch
		for i := range policies {
			p := cmdp.Deterministic{make([]int32, m.States())}
			for s := range p[0] {
				p[0][s] = rng.Int32N(max(1, k.First[s+1]-k.First[s]))
			}
			policies[i] = p
			for _, b := range denseBranches(t, m, p) {
				if rests(b.States[0]) {
					b.States = nil
				}
				b.Probability *= weights[i]
				at := slices.IndexFunc(want, func(o Branch) bool {
					return slices.Equal(o.States, b.States) && floats.EqualApprox(o.Returns, b.Returns, 1e-8)
				})
				if at >= 0 {
					want[at].Probability += b.Probability
					continue
				}
				if slices.ContainsFunc(want, func(o Branch) bool { return slices.Equal(o.States, b.States) }) {
					apart++
				}
				want = append(want, b)
			}
		}
		got, err := Branches(t.Context(), m, policies, weights)
		if err != nil || len(got) != len(want) {
			t.Fatalf("seed %d: branches %+v, %v: want %+v", seed, got, err, want)
		}
		for _, b := range got {
			if !slices.ContainsFunc(want, func(o Branch) bool {
				return slices.Equal(o.States, b.States) && floats.EqualApprox(o.Returns, b.Returns, 1e-8) &&
					math.Abs(o.Probability-b.Probability) < 1e-9
			}) {
				t.Errorf("seed %d: branch %+v: want %+v", seed, b, want)
			}
		}
	}
	if apart < 10 {
		t.Errorf("%d branches with the states of others and other means: the test says little", apart)
	}
}
