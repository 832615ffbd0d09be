package cmdp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// An OptimisticPlanner finds an optimistic policy for a direction from what has been seen.
type OptimisticPlanner interface {
	// NewPlan returns an empty plan for use with this planner.
	NewPlan() *Plan
	// Plan fills dst, which NewPlan made, with a policy that minimises an
	// optimistic estimate of ⟨dir, V⟩ on the counts. dir may be zero: every policy
	// then is as good as any other. It allocates nothing once dst was used.
	Plan(dst *Plan, counts *Counts, dir []float64)
}

// A Plan is the answer of an OptimisticPlanner: a policy, and bounds on its value in the
// direction that was asked. It stays valid until the next call of Plan with the
// same destination. It must not be used concurrently.
type Plan struct {
	// Low and Up are V_low and V_up at the start distribution. On the good event,
	// whose probability the bonus sets, Low ≤ min_π ⟨dir, V^π⟩ ≤ Up, in a game
	// Low ≤ min_μ max_ν ⟨dir, V^{μν}⟩ ≤ Up. Up need not bound what the plan itself costs
	// (erratum E-26).
	Low, Up float64

	shape     *Shape
	returns   *Returns
	decisions [][]decision // for each step and state
	scalars   [][]float64  // ⟨dir, r⟩ of the different returns, for each table
	low, up   []float64    // clip ranges L_h and U_h, H+1 of each
	toGoLow   []float64    // promised range of the value to go, H+1 of each
	toGoUp    []float64
	now, next []bounds // values of each state at steps h and h+1
	stage     Stage    // what the bonus sees, kept here so that planning allocates nothing
	moments   Moments
	matrix    *matrixPlan // nil without an opponent
}

type bounds struct{ low, up float64 }

// A decision says what a plan does in a state: nothing yet, since the state was not
// seen; one action; or a mixed strategy that the plan of a game keeps elsewhere. A byte
// more for the kind would double the memory of a plan, so the kind is the sign.
type decision int32

const unseen decision = -1

func pureDecision(action int) decision { return decision(action) }

// mixedDecision is the decision for the mixed strategy that starts at the given place.
func mixedDecision(place int) decision { return unseen - 1 - decision(place) }

// mixed returns the place of a mixed strategy, and whether the decision is one.
func (d decision) mixed() (place int, ok bool) { return int(unseen - 1 - d), d < unseen }

// Choose returns the action of the plan, which in a game it may have to draw. Where
// the plan has not seen a state, all its choices have their clip value, and it is
// best against that.
func (p *Plan) Choose(rng *rand.Rand, h, s int) int {
	d := p.decide(h, s)
	if place, ok := d.mixed(); ok {
		return Draw(rng, p.matrix.strategy(place, p.shape.Actions(h, s)))
	}
	return int(d)
}

// Distribution sets dst to the probabilities of the actions.
func (p *Plan) Distribution(dst []float64, h, s int) {
	d := p.decide(h, s)
	if place, ok := d.mixed(); ok {
		copy(dst, p.matrix.strategy(place, len(dst)))
		return
	}
	clear(dst)
	dst[d] = 1
}

// decide returns the decision in a state, a guess where it was not seen.
func (p *Plan) decide(h, s int) decision {
	d := p.decisions[h][s]
	if d == unseen {
		d, _ = p.guess(h, s)
	}
	return d
}

// guess returns the action with the least clip value in a state never seen, or a
// mixed strategy that is valid until the next guess.
func (p *Plan) guess(h, s int) (d decision, value bounds) {
	first, end := p.shape.Choices(h, s)
	switch {
	case p.shape.Ends(h, s):
		return 0, bounds{}
	case first == end || p.returns == nil: // it rests for now, or nothing is known
		return 0, bounds{p.low[h], p.up[h]}
	}
	t, scalar := p.returns.table(h), p.scalar(h)
	best := bounds{low: math.Inf(1)}
	if n := p.shape.OpponentActions(h, s); n > 1 {
		best, d = p.matrix.guess(scalar, t.id[first:end], n)
	} else {
		for c := first; c < end; c++ {
			if r := scalar[t.id[c]]; r < best.low {
				best, d = bounds{r, r}, pureDecision(c-first)
			}
		}
	}
	return d, bounds{max(best.low+p.low[h+1], p.toGoLow[h]), min(best.up+p.up[h+1], p.toGoUp[h])}
}

func (p *Plan) scalar(h int) []float64 { return p.scalars[min(h, len(p.scalars)-1)] }

// OptimisticVI is optimistic value iteration on counts, Algorithms 2 and 3 of Yu,
// Tian, Zhang, Sra (2021) with their errata: each lower value is backed up from
// lower values and each upper one from upper ones (E-02), clip ranges follow the
// direction (E-01, E-03, E-18, E-21), values after the last step are zero. It
// takes time proportional to the number of entries seen plus the number of
// different returns. In a game it solves a matrix game for each seen state and
// step too, see [game.Solver].
//
// In a game the agent's mixed strategy μ in a state is optimal for Q_low, the
// opponent's ω only serves to find it. V_low is what ω guarantees against Q_low,
// and V_up the most that μ can cost under Q_up. So V_low ≤ V* ≤ V_up there too, and
// both bonuses are optimistic; that the gap closes is shown for the Hoeffding
// bonus alone, and not where the opponent never plays (errata E-24, E-26).
//
// An OptimisticVI is immutable and safe for concurrent use.
type OptimisticVI struct {
	shape   *Shape
	returns *Returns // nil if returns are learned
	bonus   Bonus
	first   bool      // the bonus looks at first moments only
	lower   []float64 // (H+1)×d: promised range of the return to go
	upper   []float64
	diag    []float64 // H+1: diameter of the box of the return to go
	rests   []bool    // whether some state has no choice at the step
}

// NewOptimisticVI returns a planner. returns is the table of expected returns, or
// nil if they are learned by the counts.
func NewOptimisticVI(shape *Shape, returns *Returns, bonus Bonus) (*OptimisticVI, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if bonus == nil {
		return nil, fmt.Errorf("cmdp: no bonus: want one, or NoBonus")
	}
	if returns != nil && returns.dim != shape.dim {
		return nil, fmt.Errorf("cmdp: returns have %d coordinates: want %d", returns.dim, shape.dim)
	}
	n := shape.horizon + 1
	vi := &OptimisticVI{shape: shape, returns: returns, bonus: bonus, first: firstMomentsOnly(bonus),
		lower: make([]float64, n*shape.dim), upper: make([]float64, n*shape.dim), diag: make([]float64, n),
		rests: make([]bool, n)}
	for h := range n {
		lo, up := vi.lower[h*shape.dim:(h+1)*shape.dim], vi.upper[h*shape.dim:(h+1)*shape.dim]
		shape.ReturnToGo(lo, up, h)
		vi.diag[h] = diameter(lo, up)
		vi.rests[h] = h < shape.horizon && shape.Rests(h)
	}
	return vi, nil
}

// NewPlan returns an empty plan.
func (vi *OptimisticVI) NewPlan() *Plan {
	sh := vi.shape
	p := &Plan{shape: sh, returns: vi.returns, decisions: make([][]decision, sh.horizon),
		low: make([]float64, sh.horizon+1), up: make([]float64, sh.horizon+1),
		toGoLow: make([]float64, sh.horizon+1), toGoUp: make([]float64, sh.horizon+1),
		now: make([]bounds, sh.states), next: make([]bounds, sh.states)}
	for h := range p.decisions {
		p.decisions[h] = slices.Repeat([]decision{unseen}, sh.states)
	}
	if sh.Game() {
		p.matrix = newMatrixPlan(sh)
	}
	if vi.returns != nil {
		for _, t := range vi.returns.tables {
			p.scalars = append(p.scalars, make([]float64, len(t.vectors)/sh.dim))
		}
	}
	return p
}

// Plan fills dst by backward induction.
func (vi *OptimisticVI) Plan(dst *Plan, counts *Counts, dir []float64) {
	sh := vi.shape
	if len(dir) != sh.dim {
		panic(badDim)
	}
	vi.clip(dst, dir)
	if dst.matrix != nil {
		dst.matrix.mixed = dst.matrix.mixed[:0]
	}
	st := &dst.stage
	st.Norm = floats.Norm(dir, 2)
	for _, l := range counts.layers {
		for _, s := range l.seen { // V_{H+1} = 0
			dst.next[s.state], dst.now[s.state] = bounds{}, bounds{}
		}
	}
	for h := sh.horizon - 1; h >= 0; h-- {
		st.Step, st.Range, st.Diagonal = h, dst.up[h+1]-dst.low[h+1], vi.diag[h+1]
		vi.backup(dst, counts.layer(h), dir)
		dst.now, dst.next = dst.next, dst.now
	}
	dst.Low, dst.Up = 0, 0
	for _, start := range sh.start {
		v := dst.next[start.State]
		if counts.layer(0).at[start.State] == 0 {
			_, v = dst.guess(0, start.State)
		}
		dst.Low += start.Probability * v.low
		dst.Up += start.Probability * v.up
	}
}

// clip computes the ranges [L_h, U_h] that every value of step h lies in, for any
// kernel, and scalarises the known returns.
func (vi *OptimisticVI) clip(dst *Plan, dir []float64) {
	d := vi.shape.dim
	var known bounds
	if len(dst.scalars) == 1 {
		known.low, known.up = vi.returns.tables[0].scalarize(dst.scalars[0], dir)
	}
	for h := vi.shape.horizon - 1; h >= 0; h-- {
		step := known
		switch {
		case vi.returns == nil:
			step = vi.stepRange(h, dir)
		case len(dst.scalars) > 1:
			step.low, step.up = vi.returns.tables[h].scalarize(dst.scalars[h], dir)
		}
		if vi.rests[h] {
			step.low, step.up = min(step.low, 0), max(step.up, 0)
		}
		dst.toGoLow[h], dst.toGoUp[h] = geometry.LinearRange(dir, vi.lower[h*d:(h+1)*d], vi.upper[h*d:(h+1)*d])
		dst.low[h] = max(dst.low[h+1]+step.low, dst.toGoLow[h])
		dst.up[h] = min(dst.up[h+1]+step.up, dst.toGoUp[h])
	}
}

// stepRange returns the range of the scalar return of a step when returns are
// learned.
func (vi *OptimisticVI) stepRange(h int, dir []float64) bounds {
	lo, up := vi.shape.StepReturns(h)
	least, most := geometry.LinearRange(dir, lo, up)
	return bounds{least, most}
}

// A backup is what the backups of all states of one step have in common.
type backup struct {
	plan        *Plan
	layer       *layer
	bonus       Bonus
	first       bool // the bonus looks at first moments only
	stage       *Stage
	moments     *Moments
	next        []bounds
	arena       []entry
	id          []int32 // the vector of each choice, if returns are known
	scalar, dir []float64
	low, up     float64 // clip range of the next step
	floor, ceil float64
	learned     bounds // range of a learned return
}

func (vi *OptimisticVI) newBackup(dst *Plan, l *layer, dir []float64) backup {
	h := dst.stage.Step
	b := backup{plan: dst, layer: l, dir: dir,
		bonus: vi.bonus, first: vi.first, stage: &dst.stage, moments: &dst.moments, next: dst.next, arena: l.arena,
		low: dst.low[h+1], up: dst.up[h+1], floor: dst.toGoLow[h], ceil: dst.toGoUp[h],
		learned: vi.stepRange(h, dir)}
	if vi.returns != nil {
		b.id, b.scalar = vi.returns.table(h).id, dst.scalar(h)
	}
	return b
}

// backup fills dst.now and the decisions of one step from dst.next.
func (vi *OptimisticVI) backup(dst *Plan, l *layer, dir []float64) {
	b, decisions := vi.newBackup(dst, l, dir), dst.decisions[dst.stage.Step]
	for _, s := range l.seen {
		if s.first == s.end {
			dst.now[s.state] = dst.next[s.state] // the process rests
			continue
		}
		if s.opponents > 1 {
			dst.now[s.state], decisions[s.state] = b.game(s)
			continue
		}
		best, action := bounds{low: math.Inf(1)}, 0
		for a := range int(s.end - s.first) {
			i := int(s.first) + a
			if q := b.choice(&l.choices[i], i, int(s.number)+a); q.low < best.low {
				best, action = q, a
			}
		}
		dst.now[s.state] = best
		decisions[s.state] = pureDecision(action)
	}
}

// choice returns the optimistic range of Q of ch, which is choice i of the layer
// and has the given number in the shape.
func (b *backup) choice(ch *choice, i, number int) bounds {
	var r, rate bounds // the scalar return and its clip range
	if b.id != nil {
		x := b.scalar[b.id[number]]
		r, rate = bounds{x, x}, bounds{x, x}
	} else {
		rate = b.learned
		r = b.layer.learnedReturn(i, b.dir, rate)
	}
	q := bounds{larger(rate.low+b.low, b.floor), smaller(rate.up+b.up, b.ceil)} // the clip range
	if ch.visits > 0 {
		var mean float64
		if b.first {
			mean = ch.firstMoments(b.moments, b.arena, b.next)
		} else {
			mean = ch.moments(b.moments, b.arena, b.next)
		}
		beta := b.bonus.Width(b.stage, b.moments)
		q = bounds{
			smaller(larger(r.low+mean-beta, q.low), q.up),
			larger(smaller(r.up+mean+b.moments.Gap+beta, q.up), q.low),
		}
	}
	return q
}
