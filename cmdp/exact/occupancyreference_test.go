package exact_test

import (
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// An occupancyReference is the linear program of the visits of a problem without a horizon, written out. A
// policy passes through choices x(c), and stops for good, with probability y(s), where it may go on for ever
// without harm; z(c) is then the share of its time.
type occupancyReference struct {
	m        *cmdp.Model
	goal     []float64
	rows     []cmdp.Constraint
	up, down []bool
	left     []bool // of each choice, whether policies that keep the limits may take it
	stays    []int  // of each state, the number of the end component where it may stay, −1 without one
	inside   []bool // of each choice, whether it stays there
}

func newReference(p *problem.Problem, withGoal bool) *occupancyReference {
	m := p.Model
	o := &occupancyReference{m: m, goal: make([]float64, m.Dim()), up: make([]bool, m.Dim()),
		down: make([]bool, m.Dim())}
	for i, name := range p.Returns {
		if name == p.Goal.Minimize {
			o.goal[i] = 1
		}
		if name == p.Goal.Maximize {
			o.goal[i] = -1
		}
		o.up[i], o.down[i] = withGoal && o.goal[i] > 0, withGoal && o.goal[i] < 0
		for _, c := range p.Constraints {
			n := make([]float64, m.Dim())
			if c.Return == name && c.AtMost != nil {
				n[i], o.up[i] = 1, true
				o.rows = append(o.rows, cmdp.Constraint{Normal: n, Offset: *c.AtMost})
			}
			if c.Return == name && c.AtLeast != nil {
				n[i], o.down[i] = -1, true
				o.rows = append(o.rows, cmdp.Constraint{Normal: n, Offset: -*c.AtLeast})
			}
		}
	}
	if p.Target != nil {
		for k, row := range p.Target.Polytope.A {
			for i, x := range row {
				o.up[i], o.down[i] = o.up[i] || x > 0, o.down[i] || x < 0
			}
			o.rows = append(o.rows, cmdp.Constraint{Normal: row, Offset: p.Target.Polytope.B[k]})
		}
	}
	o.left = slices.Repeat([]bool{true}, m.Choices())
	return o
}

// may reports whether a policy may take the choice for ever.
func (o *occupancyReference) may(c int) bool {
	if o.m.Discount() < 1 {
		return false // it ends anyway
	}
	for i, r := range o.m.Kernel(0).Plain(o.m.Dim()).Returns[c*o.m.Dim():][:o.m.Dim()] {
		wanted := o.m.Means() && r != 0 && (o.up[i] || o.down[i])
		if !o.m.Mean(i) && (wanted || r > 0 && o.up[i] || r < 0 && o.down[i]) {
			return false
		}
	}
	return true
}

// findStays finds the maximal end components of choices that do no harm.
func (o *occupancyReference) findStays() {
	k, n := o.m.Kernel(0).Plain(o.m.Dim()), o.m.States()
	o.inside = slices.Clone(o.left)
	for c := range o.inside {
		o.inside[c] = o.inside[c] && o.may(c)
	}
	for {
		reach := make([][]bool, n)
		for s := range reach {
			reach[s] = make([]bool, n)
			reach[s][s] = true
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; o.inside[c] && e < k.Offset[c+1]; e++ {
					reach[s][k.Next[e]] = reach[s][k.Next[e]] || k.Prob[e] > 0
				}
			}
		}
		for j := range n {
			for i := range n {
				for l := range n {
					reach[i][l] = reach[i][l] || reach[i][j] && reach[j][l]
				}
			}
		}
		lost := false
		for s := range n {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; o.inside[c] && e < k.Offset[c+1]; e++ {
					if k.Prob[e] > 0 && !reach[k.Next[e]][s] {
						o.inside[c], lost = false, true
					}
				}
			}
		}
		if lost {
			continue
		}
		o.stays = slices.Repeat([]int{-1}, n)
		for s := range n {
			if slices.Contains(o.inside[k.First[s]:k.First[s+1]], true) {
				o.stays[s] = slices.Index(reach[s], true)
				for l := range n {
					if reach[s][l] && reach[l][s] {
						o.stays[s] = l
						break
					}
				}
			}
		}
		return
	}
}

// program writes out the program for a cost of the visits of each choice, or for the goal if it is nil.
func (o *occupancyReference) program(visits []float64) *lp.Problem {
	o.findStays()
	k, n, d, choices := o.m.Kernel(0).Plain(o.m.Dim()), o.m.States(), o.m.Dim(), o.m.Choices()
	columns := 2*choices + n // x, z, y
	p := &lp.Problem{Minimize: make([]float64, columns), Upper: slices.Repeat([]float64{math.Inf(1)}, columns)}
	amount := func(normal []float64) []float64 {
		coef := make([]float64, columns)
		for c := range choices {
			for i, r := range k.Returns[c*d:][:d] {
				if o.m.Mean(i) {
					coef[choices+c] += normal[i] * r
				} else {
					coef[c] += normal[i] * r
				}
			}
		}
		return coef
	}
	p.Minimize = amount(o.goal)
	if visits != nil {
		p.Minimize = append(slices.Clone(visits), make([]float64, choices+n)...)
	}
	for s := range n {
		flow, around, share := make([]float64, columns), make([]float64, columns), make([]float64, columns)
		for c := range choices {
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				if int(k.Next[e]) == s {
					flow[c] -= o.m.Discount() * k.Prob[e]
					around[choices+c] -= k.Prob[e]
				}
			}
			if c >= int(k.First[s]) && c < int(k.First[s+1]) {
				flow[c]++
				around[choices+c]++
			}
		}
		for l := range n {
			if o.stays[l] != s {
				continue
			}
			share[2*choices+l] = -1
			for c := k.First[l]; c < k.First[l+1]; c++ {
				if o.inside[c] {
					share[choices+int(c)] = 1
				}
			}
		}
		flow[2*choices+s] = 1
		mass := 0.0
		for _, st := range o.m.StartStates() {
			if st.State == s {
				mass += st.Probability
			}
		}
		p.Rows = append(p.Rows, lp.Equal(flow, mass), lp.Equal(around, 0), lp.Equal(share, 0))
		if o.stays[s] < 0 && k.First[s] < k.First[s+1] {
			p.Upper[2*choices+s] = 0
		}
	}
	for c := range choices {
		if !o.left[c] {
			p.Upper[c] = 0
		}
		if !o.inside[c] {
			p.Upper[choices+c] = 0
		}
	}
	for _, r := range o.rows {
		p.Rows = append(p.Rows, lp.AtMost(amount(r.Normal), r.Offset))
	}
	return p
}

// solve leaves out the choices that no policy within the limits comes to, until all that are left in
// circulations are connected with the start, and solves the program.
func (o *occupancyReference) solve(t *testing.T) (lp.Status, float64) {
	t.Helper()
	k, choices := o.m.Kernel(0).Plain(o.m.Dim()), o.m.Choices()
	for {
		taken := make([]bool, choices)
		for c := range choices {
			most := make([]float64, choices)
			most[c] = -1
			sol, err := embeddedSolution(o.program(most))
			if err != nil {
				t.Fatal(err)
			}
			if sol.Status == lp.Infeasible {
				return lp.Infeasible, 0
			}
			taken[c] = sol.Status == lp.Unbounded || sol.Objective < -1e-7
		}
		met := make([]bool, o.m.States())
		for _, st := range o.m.StartStates() {
			met[st.State] = st.Probability > 0
		}
		for range met {
			for s := range met {
				for c := k.First[s]; met[s] && c < k.First[s+1]; c++ {
					for e := k.Offset[c]; taken[c] && e < k.Offset[c+1]; e++ {
						met[k.Next[e]] = met[k.Next[e]] || k.Prob[e] > 0
					}
				}
			}
		}
		fewer := false
		for s := range met {
			for c := k.First[s]; !met[s] && c < k.First[s+1]; c++ {
				fewer, o.left[c] = fewer || o.left[c], false
			}
		}
		if !fewer {
			sol, err := embeddedSolution(o.program(nil))
			if err != nil {
				t.Fatal(err)
			}
			return sol.Status, sol.Objective
		}
	}
}

// flows reports whether some policy comes to rest, or stays where it does no harm, whatever the limits are.
func (o *occupancyReference) flows(t *testing.T) bool {
	t.Helper()
	free := *o
	free.rows, free.left = nil, slices.Repeat([]bool{true}, o.m.Choices())
	sol, err := embeddedSolution(free.program(make([]float64, o.m.Choices())))
	if err != nil {
		t.Fatal(err)
	}
	return sol.Status != lp.Infeasible
}

// forgetInfinite takes away the limits on returns that are infinite.
func (o *occupancyReference) forgetInfinite(v []float64) {
	for i, x := range v {
		if math.IsInf(x, 0) && o.goal[i] == 0 {
			o.up[i], o.down[i] = false, false
			o.rows = slices.DeleteFunc(o.rows, func(row cmdp.Constraint) bool { return row.Normal[i] != 0 })
		}
	}
}

// grows reports whether a policy might collect a total for ever that matters.
func (o *occupancyReference) grows() bool {
	k, d := o.m.Kernel(0).Plain(o.m.Dim()), o.m.Dim()
	for j, r := range k.Returns {
		if i := j % d; r != 0 && !o.m.Mean(i) && (o.up[i] || o.down[i]) {
			return true
		}
	}
	return false
}

// growing returns a policy that never draws, keeps all limits and collects the goal for ever, nil if there is none.
func (o *occupancyReference) growing() (found cmdp.Deterministic) {
	goal := slices.IndexFunc(o.goal, func(g float64) bool { return g != 0 })
	if goal < 0 || o.m.Mean(goal) {
		return nil
	}
	everyDeterministic(o.m, func(policy cmdp.Deterministic) {
		v, _ := denseReturns(o.m, policy)
		grows := math.IsInf(o.goal[goal]*v[goal], -1)
		for _, row := range o.rows {
			for i, n := range row.Normal {
				grows = grows && (n == 0 || n*v[i] <= row.Offset)
			}
		}
		if grows {
			found = cmdp.Deterministic{slices.Clone(policy[0])}
		}
	})
	return found
}

// embeddedSolution solves a program by the embedded simplex in every build: numbers of 1e9 beside those of 1
// are beyond GLPK's tolerances.
func embeddedSolution(p *lp.Problem) (*lp.Solution, error) {
	s, err := lp.NewEmbedded(p)
	if err != nil {
		return nil, err
	}
	sol := new(lp.Solution)
	err = s.Solve(sol)
	return sol, err
}

// denseReturns evaluates a stationary policy with dense matrices. What does not end is infinite, or NaN where
// it goes up and down. rarest is the least probability of an action that is taken.
func denseReturns(m *cmdp.Model, policy cmdp.Policy) (v []float64, rarest float64) {
	k, n, d := m.Kernel(0).Plain(m.Dim()), m.States(), m.Dim()
	step, probs := mat.NewDense(n, n, nil), make([][]float64, n)
	rarest = 1
	for s := range n {
		probs[s] = make([]float64, k.First[s+1]-k.First[s])
		if len(probs[s]) == 0 {
			continue
		}
		policy.Distribution(probs[s], 0, s)
		for a, x := range probs[s] {
			c := int(k.First[s]) + a
			if x > 0 {
				rarest = min(rarest, x)
			}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				step.Set(s, int(k.Next[e]), step.At(s, int(k.Next[e]))+x*k.Prob[e])
			}
		}
	}
	reach := make([][]bool, n)
	for s := range n {
		reach[s] = make([]bool, n)
		for l := range n {
			reach[s][l] = s == l || step.At(s, l) > 0
		}
	}
	for j := range n {
		for i := range n {
			for l := range n {
				reach[i][l] = reach[i][l] || reach[i][j] && reach[j][l]
			}
		}
	}
	recurrent := make([]bool, n)
	for s := range n {
		recurrent[s] = len(probs[s]) > 0
		for l := range n {
			recurrent[s] = recurrent[s] && (!reach[s][l] || reach[l][s])
		}
	}
	// Visits of what is passed, and arrivals where it goes on for ever.
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for s := range n {
		a.Set(s, s, 1)
		for l := range n {
			if !recurrent[l] && len(probs[l]) > 0 {
				x := -step.At(l, s)
				if s == l { // what leaves, to lose nothing
					x = -1
					for o := range n {
						if o != l {
							x += step.At(l, o)
						}
					}
				}
				a.Set(s, l, a.At(s, l)+x)
			}
		}
	}
	for _, st := range m.StartStates() {
		b.SetVec(st.State, b.AtVec(st.State)+st.Probability)
	}
	var visits mat.VecDense
	if err := visits.SolveVec(a, b); err != nil && visits.Len() == 0 {
		panic(err)
	}
	v = make([]float64, d)
	for s := range n {
		x := visits.AtVec(s)
		for j, y := range probs[s] {
			for i, r := range k.Returns[(int(k.First[s])+j)*d:][:d] {
				switch {
				case m.Mean(i) || y == 0:
				case !recurrent[s]:
					v[i] += x * y * r
				}
			}
		}
	}
	for s := range n { // of each recurrent class once
		if !recurrent[s] || slices.Index(reach[s], true) != s {
			continue
		}
		mass, states := 0.0, []int{}
		for l := range n {
			if reach[s][l] {
				mass += visits.AtVec(l)
				states = append(states, l)
			}
		}
		if !(mass > 1e-15) {
			continue
		}
		share := stationaryShares(step, states)
		for j, l := range states {
			once := make([]float64, d)
			for a, y := range probs[l] {
				floats.AddScaled(once, y, k.Returns[(int(k.First[l])+a)*d:][:d])
			}
			for i, r := range once {
				if m.Mean(i) {
					v[i] += mass * share[j] * r
				} else if r != 0 {
					v[i] += math.Inf(int(math.Copysign(1, r)))
				}
			}
		}
	}
	return v, rarest
}

// stationaryShares returns the stationary distribution of a recurrent class.
func stationaryShares(step *mat.Dense, states []int) []float64 {
	n := len(states)
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for i, s := range states {
		for j, l := range states {
			a.Set(j, i, step.At(s, l))
		}
	}
	for i := range n {
		a.Set(i, i, a.At(i, i)-1)
	}
	for i := range n {
		a.Set(n-1, i, 1)
	}
	b.SetVec(n-1, 1)
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil && x.Len() == 0 {
		panic(err)
	}
	return x.RawVector().Data
}

// everyDeterministic calls f with all policies of a model that never draw.
func everyDeterministic(m *cmdp.Model, f func(policy cmdp.Deterministic)) {
	k, policy := m.Kernel(0), cmdp.Deterministic{make([]int32, m.States())}
	var next func(s int)
	next = func(s int) {
		if s == m.States() {
			f(policy)
			return
		}
		for a := range max(1, k.First[s+1]-k.First[s]) {
			policy[0][s] = a
			next(s + 1)
		}
	}
	next(0)
}
