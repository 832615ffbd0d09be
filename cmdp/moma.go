package cmdp

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp/internal/saved"

	"gonum.org/v1/gonum/floats"
)

// A Learner plays an environment that it does not know, one episode after the
// other. MOMA is one, the baselines are others.
type Learner interface {
	// Policy returns the policy of the next episode. It is valid until the next
	// Observe.
	Policy() Policy
	// Observe takes the episode that was played with that policy. It must not keep
	// tr.
	Observe(tr *Trajectory)
}

// A Limited learner was made for a number of episodes, over which its bonuses hold
// together. A [Runner] refuses to play more.
type Limited interface {
	// MostEpisodes returns the number, or 0 if there is none.
	MostEpisodes() int
}

// An Interruptible learner can leave a plan that takes long. A [Runner] has it do so when it is told to stop.
type Interruptible interface {
	// PlanWithin gives a context, with which the plans to come end.
	PlanWithin(ctx context.Context)
	// Unfinished reports whether the last plan ended with its context. Its policy is then none to play, and from its
	// state the learner does not go on as it would have.
	Unfinished() bool
}

// interruptible returns a learner, or the one that it wraps, if that is [Interruptible], else nil.
func interruptible(l Learner) Interruptible {
	if outer, ok := l.(interface{ Unwrap() Learner }); ok {
		l = outer.Unwrap()
	}
	planner, _ := l.(Interruptible)
	return planner
}

// ErrUnfinished is the error of a run that was stopped while its learner made a plan, with that of the context. The run
// must not be saved then: it would not go on as it would have.
var ErrUnfinished = errors.New("cmdp: stopped during a plan")

// MostEpisodes returns that of a learner, 0 if it is not [Limited].
func MostEpisodes(l Learner) int {
	if limited, ok := l.(Limited); ok {
		return limited.MostEpisodes()
	}
	return 0
}

// MOMA is the multi-objective meta-algorithm (Algorithm 1 of Yu, Tian, Zhang,
// Sra 2021): plan optimistically in the direction θ, play, count, turn θ. It can be saved if
// its dual update can, and restored into a learner made of the same parts.
type MOMA struct {
	saved.State
	counts  *Counts
	planner OptimisticPlanner
	dual    DualUpdate
	plan    *Plan
	most    int // episodes that the bonus was made for, 0 for any number
	// The least cost of any possible return within the target, and the greatest of any possible return, as far as
	// they are known without playing. A bound above the latter says no more than that: the target is out of reach.
	least, greatest float64
	state           momaState
	batches         *batches // that planning sees, nil for all counts
}

type momaState struct {
	Episodes int
	Begun    bool    // batches have begun
	Optimum  float64 // sum of the lower bounds on the optimum
	Best     float64 // the largest of them
	Gap      float64 // the largest lower bound on the gap
	GapAt    int     // its episode
	GapDir   []float64
	// Recent counts the episodes since the last power of two, and those among them
	// whose evidence says that the target cannot be met.
	Recent, RecentGaps int
}

// NewMOMA returns a learner made of its three parts: counts, a planner on them,
// and a dual update. It panics if one is missing.
func NewMOMA(counts *Counts, planner OptimisticPlanner, dual DualUpdate) *MOMA {
	if counts == nil || planner == nil || dual == nil {
		panic("cmdp: MOMA without counts, planner or dual update")
	}
	m := &MOMA{counts: counts, planner: planner, dual: dual, plan: planner.NewPlan(),
		least: math.Inf(-1), greatest: math.Inf(1), state: momaState{Best: math.Inf(-1), Gap: math.Inf(-1)}}
	m.Keep(&m.state, counts, saved.Own{Name: "cmdp: dual update", Part: dual})
	m.Then(func() error {
		m.plan = planner.NewPlan() // the old one may know states that are not seen yet
		return nil
	})
	return m
}

// MostEpisodes returns the number of episodes that [Settings] asked for, 0 for a MOMA of
// [NewMOMA].
func (m *MOMA) MostEpisodes() int { return m.most }

// Policy plans in the present direction.
func (m *MOMA) Policy() Policy {
	counts := m.counts
	if m.batches != nil {
		m.begin()
		counts = m.batches.shown
	}
	m.planner.Plan(m.plan, counts, m.dual.Direction())
	return m.plan
}

// begin begins the batches with what was counted before the run.
func (m *MOMA) begin() {
	if !m.state.Begun {
		m.batches.begin(m.counts)
		m.state.Begun = true
	}
}

// Observe updates counts and direction, and collects what the plan proved.
func (m *MOMA) Observe(tr *Trajectory) {
	if m.batches != nil {
		m.begin()
		m.batches.observe(m.counts, tr)
	} else {
		m.counts.Observe(tr)
	}
	ev := m.dual.Observe(tr.Total, m.plan.Low)
	ev.Optimum = min(max(ev.Optimum, m.least), m.greatest)
	m.state.collect(ev)
}

func (st *momaState) collect(ev Evidence) {
	st.Episodes++
	st.Optimum += ev.Optimum
	st.Best = max(st.Best, ev.Optimum)
	if ev.Gap > st.Gap {
		st.Gap, st.GapAt = ev.Gap, st.Episodes
		st.GapDir = append(st.GapDir[:0], ev.Direction...)
	}
	if st.Episodes&(st.Episodes-1) == 0 {
		st.Recent, st.RecentGaps = 0, 0
	}
	st.Recent++
	if ev.Gap > 0 {
		st.RecentGaps++
	}
}

// Findings are what a run of MOMA has proved so far. The statements hold on the
// good event, whose probability the bonus sets; without a theory bonus they are
// estimates.
type Findings struct {
	// Bound is a lower bound on the least cost within the target: the mean over the episodes of their lower
	// bounds. BestBound is the largest of them. Both are -Inf if the learner pursues no cost. None of the
	// bounds that NewLearner's MOMA collects is less than the least cost in the box of possible returns and, if
	// it is affine, in the target, or greater than the greatest cost in the box, or a bound on it.
	Bound, BestBound float64
	// Gap is the largest lower bound on the distance of the target from the
	// achievable set, found in episode GapEpisode with the unit vector GapDirection.
	// A positive one certifies that the target cannot be met.
	Gap          float64
	GapEpisode   int
	GapDirection []float64
	// GapShare is the share of episodes with a positive gap since the last power of
	// two. An estimate of the gap that hovers around zero has a small share, a
	// target out of reach a share that tends to 1.
	GapShare float64
	// Rho is the present weight of the distance, Doublings how often it was doubled,
	// PenaltyRule the rule that chose it.
	Rho         float64
	Doublings   int
	PenaltyRule PenaltyRule
}

// Findings returns what the run has proved so far.
func (m *MOMA) Findings() Findings {
	st := &m.state
	f := Findings{
		Bound: st.Optimum / float64(st.Episodes), BestBound: st.Best,
		Gap: st.Gap, GapEpisode: st.GapAt, GapDirection: slices.Clone(st.GapDir),
		GapShare: float64(st.RecentGaps) / float64(st.Recent),
		Rho:      1, PenaltyRule: PenaltyNone,
	}
	floats.Scale(1/floats.Norm(f.GapDirection, 2), f.GapDirection)
	if st.Episodes == 0 {
		f.Bound, f.GapShare = math.Inf(-1), 0
	}
	if t, ok := m.dual.(*TermsDual); ok {
		f.Rho, f.Doublings, f.PenaltyRule = t.Rho(), t.Doublings(), t.penalty.Rule
	}
	return f
}

// Direction returns the direction θ of the next episode, valid until the next
// Observe. It must not be changed.
func (m *MOMA) Direction() []float64 { return m.dual.Direction() }

// Counts returns the learner's counts. They must not be changed.
func (m *MOMA) Counts() *Counts { return m.counts }
