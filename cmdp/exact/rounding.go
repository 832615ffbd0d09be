package exact

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A rounding takes randomisation out of a mixture of policies in many states at once, where purifier would solve a
// linear system for each of them. To first order an exchange of actions in a state changes the returns by the visits of
// the state times the difference of what the actions return from there on, whatever is exchanged elsewhere. A purifier
// of these numbers alone rounds most states. Visits of the policy that comes of it show what it missed by, which is of
// second order, and the states that still randomise make up for that, before most of them are rounded in their turn.
type rounding struct {
	p       *infiniteHorizon
	st      *markov.Rule
	face    face      // what is to be kept of the returns wanted
	wanted  []float64 // the returns of the mixture
	spare   float64   // what the cost may grow by
	values  []float64 // what the mixture returns from each state on, about
	visits  []float64 // of the states of the quotient under st
	returns []float64 // of st, or what they should be after what was exchanged since
	free    []int32   // states of the quotient that randomise, those with most visits first
}

// roundMixture returns a policy with what the face keeps of the returns of a mixture, which randomises in as few states
// as that needs. It returns nil where the policies go on for ever, or where what exchanges of actions in many states
// change is not what they change one by one.
func (p *infiniteHorizon) roundMixture(ctx context.Context, columns []column, weights []float64, f face,
	spare float64) (*Policy, error) {
	start, err := p.newRounding(ctx, columns, weights, f, spare)
	if start == nil || err != nil {
		return nil, unlessSingular(err)
	}
	for _, kept := range []int{16, 4} { // one state in so many is kept to make up for the others
		policy, err := start.clone().roundAll(ctx, kept)
		if policy != nil || unlessSingular(err) != nil {
			return policy, err
		}
	}
	return nil, nil
}

// roundQuickly is roundMixture where sweeps show that what is done in a state is not felt in others for long. It
// returns nil elsewhere: exchanges in most states are then rarely what they are one by one.
func (p *infiniteHorizon) roundQuickly(ctx context.Context, columns []column, weights []float64, f face,
	spare float64) (*Policy, error) {
	if p.gamma == 1 || p.visitor.Slow() {
		return nil, nil
	}
	return p.roundMixture(ctx, columns, weights, f, spare)
}

// roundAll rounds all states, or those but for a few which are purified. It returns nil where that does not do.
func (w *rounding) roundAll(ctx context.Context, kept int) (*Policy, error) {
	for few := 4 * (1 + len(w.face.equalities) + len(w.face.inequalities)); len(w.free) > few; {
		if !w.round(kept) {
			return nil, nil
		}
		if ok, err := w.evaluate(ctx, w.negligible()); !ok || err != nil {
			return nil, err
		}
	}
	last := w.clone()
	if last.round(math.MaxInt) {
		ok, err := last.settle(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			return &Policy{steps: []markov.Rule{*last.st}}, nil
		}
	}
	if ok, err := w.settle(ctx); !ok || err != nil {
		return nil, err
	}
	policy := &Policy{steps: []markov.Rule{*w.st}}
	return policy, w.p.purify(ctx, policy, w.remaining(1))
}

// clone returns a copy that changes apart from the rounding.
func (w *rounding) clone() *rounding {
	out := *w
	out.st, out.free = w.st.Clone(), slices.Clone(w.free)
	out.visits, out.returns = slices.Clone(w.visits), slices.Clone(w.returns)
	return &out
}

// unlessSingular returns an error unless a linear system has no solution.
func unlessSingular(err error) error {
	if errors.Is(err, markov.ErrSingular) {
		return nil
	}
	return err
}

// newRounding returns a rounding that begins with the averaged visits of a mixture, nil where a policy goes on for
// ever.
func (p *infiniteHorizon) newRounding(ctx context.Context, columns []column, weights []float64, f face,
	spare float64) (*rounding, error) {
	w := &rounding{p: p, face: f, spare: spare, wanted: make([]float64, p.dim()),
		visits: make([]float64, p.quotient.Rest+1)}
	visited, heaviest := new(choiceVisits), 0
	for n, s := range p.quotient.Origin[:p.quotient.Rest] {
		if slices.ContainsFunc(columns, func(c column) bool { return c.actionAt(s) != columns[0].actionAt(s) }) {
			visited.states = append(visited.states, int32(n))
			visited.mass = append(visited.mass, make([]float64, p.actionsIn(s)))
		}
	}
	const missing = 1e-4 // which is seen, and made up for
	for j, c := range columns {
		x, err := p.visits(ctx, &markov.Rule{Actions: *c.policy.actions()}, missing)
		if err != nil || len(x.Recurrent) > 0 {
			return nil, err
		}
		if slices.ContainsFunc(c.returns, func(y float64) bool { return !isFinite(y) }) {
			return nil, nil
		}
		for n, y := range x.Counts {
			w.visits[n] += weights[j] * math.Max(0, y)
		}
		floats.AddScaled(w.wanted, weights[j], c.returns)
		for i, n := range visited.states {
			visited.mass[i][c.actionAt(p.quotient.Origin[n])] += weights[j] * math.Max(0, x.Counts[n])
		}
		if weights[j] > weights[heaviest] {
			heaviest = j
		}
	}
	w.st = &markov.Rule{Actions: columns[heaviest].policy.actions().Clone()}
	for i, n := range visited.states {
		w.st.Assign(int(p.quotient.Origin[n]), visited.mass[i], floats.Sum(visited.mass[i]))
	}
	w.returns, w.free = slices.Clone(w.wanted), visited.states
	w.dropSettled()
	slices.SortStableFunc(w.free, func(a, b int32) int { return cmp.Compare(w.visits[b], w.visits[a]) })
	const coarse = 1e-3
	var err error
	w.values, err = p.visitor.ReturnsToGo(ctx, w.st, len(p.quotient.Component)-1, p.dim(), coarse)
	return w, err
}

// dropSettled leaves the states that still randomise in free.
func (w *rounding) dropSettled() {
	w.free = slices.DeleteFunc(w.free, func(n int32) bool {
		_, mixed := w.st.Mixed[w.p.quotient.Origin[n]]
		return !mixed
	})
}

// round takes the randomisation out of all free states but one in so many. It reports whether what the last policy
// missed can be made up for.
func (w *rounding) round(kept int) bool {
	if !w.correct() {
		return false
	}
	const slack = 0.5 // the rest is for what is of second order
	pure := &purifier{face: w.remaining(slack), mass: w.visits, onSettled: func(e entry) {
		s := w.p.quotient.Origin[e.s]
		w.st.Actions.Set(int(s), e.a)
		delete(w.st.Mixed, s)
	}}
	for j, n := range w.free {
		if w.visits[n] == 0 {
			delete(w.st.Mixed, w.p.quotient.Origin[n])
			continue
		}
		if j%kept != 0 || kept == math.MaxInt {
			pure.addPair(0, int(n), w.st.Mixed[w.p.quotient.Origin[n]], w.actionValues(n))
		}
	}
	mass := make(map[int32][]float64)
	for _, e := range pure.entries {
		s := w.p.quotient.Origin[e.s]
		if mass[s] == nil {
			mass[s] = make([]float64, w.p.actionsIn(s))
		}
		mass[s][e.a] += e.x
	}
	for s, x := range mass {
		w.st.Assign(int(s), x, floats.Sum(x))
	}
	w.dropSettled()
	return true
}

// negligible is the share of visits that may be missing from those of the policy: free states can make up for them.
func (w *rounding) negligible() float64 {
	const least = 1e-3
	free := 0.0
	for _, n := range w.free {
		free += w.visits[n]
	}
	return least * free / floats.Sum(w.visits)
}

// evaluate finds visits and returns of the policy, and reports whether it comes to rest.
func (w *rounding) evaluate(ctx context.Context, missing float64) (bool, error) {
	x, err := w.p.visits(ctx, w.st, missing)
	if err != nil || len(x.Recurrent) > 0 {
		return false, err
	}
	for n, y := range x.Counts {
		w.visits[n] = math.Max(0, y)
	}
	w.returns = w.p.sumReturns(w.st, x)
	return true, nil
}

// settle corrects the policy until it keeps what is to be kept, and reports whether it does.
func (w *rounding) settle(ctx context.Context) (bool, error) {
	const most, rounding = 10, 1e-12
	for last, n := math.Inf(1), 0; n < most; n++ {
		if ok, err := w.evaluate(ctx, 0); !ok || err != nil {
			return false, err
		}
		left := w.missed()
		if left <= rounding {
			w.p.lastEvaluated = &evaluatedPolicy{w.st.Clone(), slices.Clone(w.returns)}
			return floats.Dot(w.face.cost, minus(w.returns, w.wanted)) <= w.spare, nil
		}
		if !(left <= last/2) || !w.correct() {
			return false, nil
		}
		last = left
	}
	return false, nil
}

// missed returns by how much the returns miss what is to be kept, as a share of its scale.
func (w *rounding) missed() (most float64) {
	for _, r := range w.broken() {
		most = math.Max(most, math.Abs(r.Offset)/r.scale)
	}
	if floats.HasNaN(w.returns) {
		return math.Inf(1)
	}
	return most
}

// broken returns the rows of what is to be kept that have to change, by their offsets.
func (w *rounding) broken() (rows []targetRow) {
	change := minus(w.returns, w.wanted)
	for _, r := range w.face.equalities {
		r.Offset = -floats.Dot(r.Normal, change)
		rows = append(rows, r)
	}
	for _, r := range w.face.inequalities {
		r.Offset = r.Offset - floats.Dot(r.Normal, change)
		if r.Offset < 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// remaining returns the face with a share of the slack that is left.
func (w *rounding) remaining(share float64) face {
	f, change := w.face, minus(w.returns, w.wanted)
	f.inequalities = slices.Clone(f.inequalities)
	for i, r := range f.inequalities {
		f.inequalities[i].Offset = share * math.Max(0, r.Offset-floats.Dot(r.Normal, change))
	}
	return f
}

// A massExchange moves visits of a state from one action to another.
type massExchange struct {
	n        int32
	from, to int
	room     float64   // for moves to and fro
	returns  []float64 // what a visit that is moved changes
	effect   []float64 // on the rows that are broken, in their scales
}

// correct exchanges actions of free states, by as small a share of what there is room for as possible, so that what is
// to be kept is met to first order. It reports whether there is room.
func (w *rounding) correct() bool {
	const most = 20
	for range most {
		if met, ok := w.exchangeLeast(); met || !ok {
			return met
		}
	}
	return false
}

// exchangeLeast is correct but for what there is no room for at once. It reports whether there is room for all, or may
// be.
func (w *rounding) exchangeLeast() (met, ok bool) {
	rows := w.broken()
	if len(rows) == 0 {
		return true, true
	}
	var moves []massExchange
	gram, right := mat.NewSymDense(len(rows), nil), mat.NewVecDense(len(rows), nil)
	for i, r := range rows {
		right.SetVec(i, r.Offset/r.scale)
	}
	for _, n := range w.free {
		for _, m := range w.exchanges(n) {
			m.effect = make([]float64, len(rows))
			for i, r := range rows {
				m.effect[i] = floats.Dot(r.Normal, m.returns) / r.scale
			}
			gram.SymRankOne(gram, m.room*m.room, mat.NewVecDense(len(rows), m.effect))
			moves = append(moves, m)
		}
	}
	for i := range rows { // rows that depend on others
		gram.SetSym(i, i, gram.At(i, i)*(1+1e-13))
	}
	var factors mat.Cholesky
	lambda := mat.NewVecDense(len(rows), nil)
	if mat.Norm(right, 1) == 0 {
		return true, true
	}
	if !factors.Factorize(gram) {
		return false, false
	}
	// An ill-conditioned system is told by an error; what it misses is seen.
	_ = factors.SolveVecTo(lambda, right)
	const most = 0.9 // of the room
	met = true
	for _, m := range moves {
		x := m.room * m.room * floats.Dot(m.effect, lambda.RawVector().Data)
		if limit := most * m.room; !(math.Abs(x) <= limit) {
			met = false
			x = math.Max(-limit, math.Min(x, limit))
		}
		if math.IsNaN(x) {
			return false, false
		}
		if m.room > 0 {
			probs := w.st.Mixed[w.p.quotient.Origin[m.n]]
			probs[m.from] -= x / w.visits[m.n]
			probs[m.to] += x / w.visits[m.n]
			floats.AddScaled(w.returns, x, m.returns)
		}
	}
	return met, true
}

// exchanges returns those of the likeliest action of a free state with each other one that is taken.
func (w *rounding) exchanges(n int32) (out []massExchange) {
	probs, values := w.st.Mixed[w.p.quotient.Origin[n]], w.actionValues(n)
	from, others := floats.MaxIdx(probs), -1
	for _, x := range probs {
		if x > 0 {
			others++
		}
	}
	for a, x := range probs {
		if x > 0 && a != from {
			room := math.Max(0, w.visits[n]) * math.Min(x, probs[from]/float64(others))
			out = append(out, massExchange{n: n, from: from, to: a, room: room,
				returns: minus(values[a], values[from])})
		}
	}
	return out
}

// actionValues returns what each action that is taken in a free state returns from there on, nil for others.
func (w *rounding) actionValues(n int32) [][]float64 {
	p, d := w.p, w.p.dim()
	s := p.quotient.Origin[n]
	probs := w.st.Mixed[s]
	out, all := make([][]float64, len(probs)), make([]float64, len(probs)*d)
	for a, x := range probs {
		if x == 0 {
			continue
		}
		c := int(p.k.First[s]) + a
		out[a] = all[a*d:][:d]
		copy(out[a], p.k.ReturnsOf(c, d))
		next, prob := p.k.Row(c)
		for e, to := range next {
			y := p.gamma * prob[e]
			for i, v := range w.values[int(p.quotient.Number[to])*d:][:d] {
				out[a][i] += float64(y * v)
			}
		}
	}
	return out
}
