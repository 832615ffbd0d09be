package markov

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"

	"gonum.org/v1/gonum/mat"
)

// drawModel draws a kernel with one return, in which everything awkward is common: periodic parts, several
// recurrent classes, states without choices, entries of probability 0, several entries for one successor, ways
// out that are hardly ever taken.
func drawModel(rng *rand.Rand, states int) *cmdp.Kernel {
	k := cmdptest.DrawKernel(rng, states)
	switch rng.IntN(4) {
	case 0:
		k = joined(rng, k)
	case 1: // steps are short, so that sweeps go block by block where there are many states
		for s := range int32(states) {
			for e := k.Offset[k.First[s]]; e < k.Offset[k.First[s+1]]; e++ {
				k.Next[e] = min(int32(states-1), max(0, s+(k.Next[e]-s)%4))
			}
		}
	}
	for c := range len(k.Offset) - 1 {
		row := k.Prob[k.Offset[c]:k.Offset[c+1]]
		sum, rare := 0.0, rng.IntN(10) == 0
		for j := range row {
			if row[j] > 0 {
				row[j] = 0.1 + rng.Float64()
				if rare && j > 0 {
					row[j] *= 1e-7
				}
				sum += row[j]
			}
		}
		for j := range row {
			row[j] /= sum
		}
		k.Returns = append(k.Returns, float64(rng.IntN(9)-4)/2)
	}
	return k
}

// joined returns a model in which many choices lead where some others do besides, so that rows are long.
func joined(rng *rand.Rand, k *cmdp.Kernel) *cmdp.Kernel {
	out := &cmdp.Kernel{First: k.First, Offset: []int{0}}
	for c := range k.Choices() {
		by := []int{c}
		for rng.IntN(4) > 0 {
			by = append(by, rng.IntN(k.Choices()))
		}
		for _, c := range by {
			next, prob := k.Row(c)
			out.Next, out.Prob = append(out.Next, next...), append(out.Prob, prob...)
		}
		out.Offset = append(out.Offset, len(out.Next))
	}
	return out
}

// transition returns the matrix of a rule, with rows of zeros where the process rests, and what the rule
// returns in a step.
func transition(k *cmdp.Kernel, st *Rule) (p *mat.Dense, reward []float64) {
	n := len(k.First) - 1
	p, reward = mat.NewDense(n, n, nil), make([]float64, n)
	for s := range n {
		if k.First[s] == k.First[s+1] {
			continue
		}
		for _, t := range st.Choose(nil, k, int32(s)) {
			reward[s] += t.Prob * k.Returns[t.Choice]
			for e := k.Offset[t.Choice]; e < k.Offset[t.Choice+1]; e++ {
				to := int(k.Next[e])
				p.Set(s, to, p.At(s, to)+t.Prob*k.Prob[e])
			}
		}
	}
	return p, reward
}

// closure returns which states lead to which, every state to itself.
func closure(p *mat.Dense) [][]bool {
	n, _ := p.Dims()
	r := make([][]bool, n)
	for s := range r {
		r[s] = make([]bool, n)
		for t := range r[s] {
			r[s][t] = s == t || p.At(s, t) > 0
		}
	}
	for m := range r {
		for s := range r {
			for t := range r {
				r[s][t] = r[s][t] || r[s][m] && r[m][t]
			}
		}
	}
	return r
}

// recurrent reports which states the process comes back to for ever, once it is there. It does not where it rests.
func recurrent(k *cmdp.Kernel, p *mat.Dense) []bool {
	r := closure(p)
	out := make([]bool, len(r))
	for s := range out {
		out[s] = k.First[s] < k.First[s+1]
		for t := range r {
			out[s] = out[s] && (!r[s][t] || r[t][s])
		}
	}
	return out
}

// minus returns I − γP, with rows that are those of I in some states; nil for none.
func minus(p *mat.Dense, gamma float64, fixed []bool) *mat.Dense {
	n, _ := p.Dims()
	a := mat.NewDense(n, n, nil)
	for s := range n {
		for t := range n {
			if fixed == nil || !fixed[s] {
				a.Set(s, t, -gamma*p.At(s, t))
			}
		}
		a.Set(s, s, a.At(s, s)+1)
	}
	return a
}

// denseSolve solves a·x = b.
func denseSolve(t *testing.T, a mat.Matrix, b []float64) []float64 {
	t.Helper()
	var x mat.VecDense
	if err := x.SolveVec(a, mat.NewVecDense(len(b), b)); err != nil {
		t.Fatal(err)
	}
	return append([]float64(nil), x.RawVector().Data...)
}

// denseShares returns the share of time in each state of a recurrent class: x·P = x, the sum being 1.
func denseShares(t *testing.T, p *mat.Dense, class []int) []float64 {
	t.Helper()
	n := len(class)
	a, b := mat.NewDense(n, n, nil), make([]float64, n)
	for i, s := range class {
		for j, to := range class {
			a.Set(j, i, -p.At(s, to))
		}
		a.Set(i, i, a.At(i, i)+1)
	}
	for j := range n {
		a.Set(0, j, 1)
	}
	b[0] = 1
	return denseSolve(t, a, b)
}

// denseGain returns the long-run mean of a rule from each state, and 0 where it rests.
func denseGain(t *testing.T, k *cmdp.Kernel, st *Rule) []float64 {
	t.Helper()
	p, reward := transition(k, st)
	rec, r := recurrent(k, p), closure(p)
	n := len(rec)
	gain := make([]float64, n)
	for s := range n {
		if !rec[s] {
			continue
		}
		var class []int
		for to := range n {
			if r[s][to] {
				class = append(class, to)
			}
		}
		for i, x := range denseShares(t, p, class) {
			gain[s] += x * reward[class[i]]
		}
	}
	return denseSolve(t, minus(p, 1, rec), gain)
}

// deterministic calls f with every deterministic rule of a kernel. The rule is lent.
func deterministic(k *cmdp.Kernel, f func(st *Rule)) {
	n := len(k.First) - 1
	st := &Rule{Actions: NewActions(n, 256)}
	var from func(s int)
	from = func(s int) {
		if s == n {
			f(st)
			return
		}
		for a := range max(1, int(k.First[s+1]-k.First[s])) {
			st.Actions.Set(s, a)
			from(s + 1)
		}
	}
	from(0)
}

// near reports whether two numbers are equal up to a relative error.
func near(x, y, tol float64) bool {
	return math.Abs(x-y) < tol*(1+math.Abs(x)+math.Abs(y))
}

// beside returns a model of two that have nothing to do with each other.
func beside(a, b *cmdp.Kernel) *cmdp.Kernel {
	states, choices, entries := int32(len(a.First)-1), a.First[len(a.First)-1], len(a.Next)
	k := &cmdp.Kernel{First: slices.Clone(a.First), Offset: slices.Clone(a.Offset)}
	for _, c := range b.First[1:] {
		k.First = append(k.First, choices+c)
	}
	for _, e := range b.Offset[1:] {
		k.Offset = append(k.Offset, entries+e)
	}
	k.Next = slices.Clone(a.Next)
	for _, s := range b.Next {
		k.Next = append(k.Next, states+s)
	}
	k.Prob, k.Returns = slices.Concat(a.Prob, b.Prob), slices.Concat(a.Returns, b.Returns)
	return k
}
