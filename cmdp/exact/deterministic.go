package exact

import (
	"context"
	"errors"
	"math"
	"sync"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// DeterministicOptions say how long SolveDeterministic may search. The zero value is ready to use.
type DeterministicOptions struct {
	Options
	// Nodes bounds the number of relaxed problems. 0 stands for 10,000.
	Nodes int
	// Each, if not nil, is called with every point of a front.
	Each func(DeterministicPoint)

	known *[]DeterministicPoint // policies that earlier searches of a front have evaluated
}

// A DeterministicResult is the answer of SolveDeterministic.
type DeterministicResult struct {
	// Status is Optimal if Gap is within DeterministicOptions.Gap, 1e-9 by default, relative to the objective
	// or to what costs vary by, if that is less than 1; Infeasible if no policy that never draws meets the
	// target; Undecided if the search was cut, Stopped if Options.Budget did so; and Unbounded where a policy that
	// never draws has no bound.
	Status Verdict
	// Objective is the cost of Policy, and Bound a lower bound of the cost of every policy that never
	// draws and meets the target; ±Inf where there is none. Gap is their difference.
	Objective, Bound, Gap float64
	// Returns are those of Policy, and Violation their distance from the target, at most Tolerance.
	Returns              []float64
	Violation, Tolerance float64
	Policy               *Policy // nil if none was found
	Nodes, Iterations    int
	// Relaxed is the answer for policies that may draw.
	Relaxed *Result
}

// SolveDeterministic finds the best Markov policy that never draws, by branch and bound. It branches on a step and
// state where the best policy that may draw does draw: one branch takes the likeliest action there, and the other
// never takes it. Bounds are those of Solve. Deciding whether there is a policy is NP-hard, even with one
// constraint (Dolgov, Durfee 2005); some hundred pairs of step and state are practical. With a horizon and certain
// successors it goes through the paths instead. Without a horizon policies are stationary. When ctx ends after the
// first problem, what was found so far is returned.
func SolveDeterministic(ctx context.Context, m *cmdp.Model, task cmdp.Task,
	opts DeterministicOptions) (*DeterministicResult, error) {
	if err := checkTask(m, task); err != nil {
		return nil, err
	}
	if opts.Nodes == 0 {
		opts.Nodes = 10_000
	}
	gap := opts.Gap
	if gap == 0 {
		gap = 1e-9
	}
	s := &branchAndBound{m: m, extendedValues: newExtendedValues(task, relevanceOf(m.Dim(), task)), opts: opts,
		gap:  gap,
		best: &DeterministicResult{Objective: math.Inf(1)}}
	whole := ctx
	if opts.Budget > 0 {
		within, cancel := context.WithTimeout(ctx, opts.Budget)
		defer cancel()
		ctx = within
	}
	s.opts.Budget -= opts.Budget / 4   // in which policies that never draw are made of the answer
	r, err := s.relax(whole, s.m, nil) // which looks at the budget itself
	if err != nil {
		return nil, err
	}
	s.best.Relaxed, s.best.Tolerance, s.undividedBound = r, r.Tolerance, math.Inf(1)
	s.opts.Budget = 0
	s.offerKnown()
	err = s.divide(ctx, s.m, new(restriction), r, nil)
	if errors.Is(err, context.DeadlineExceeded) && whole.Err() == nil {
		s.undividedBound = r.Bound
	} else if err != nil {
		return nil, err
	}
	done, err := s.solveCertain(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && whole.Err() == nil: // the search below ends at once
	case err != nil:
		return nil, err
	case done:
		s.queue, s.undividedBound = nil, math.Inf(1)
	}
	for len(s.queue) > 0 && s.best.Nodes+2 <= opts.Nodes && !s.pruned(s.bestFirst().bound) {
		n := s.bestFirst()
		s.queue = s.queue[:len(s.queue)-1]
		for _, only := range []bool{true, false} {
			d := n.next
			d.only = only
			err := s.solveSubproblem(ctx, &d)
			if ctx.Err() != nil {
				s.queue = insert(s.queue, n)
				return s.concluded(ctx, whole), nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return s.concluded(ctx, whole), nil
}

// concluded returns what the search has shown. It was stopped if the time of ctx is over and whole goes on.
func (s *branchAndBound) concluded(ctx, whole context.Context) *DeterministicResult {
	s.conclude()
	over := ctx.Err() != nil && whole.Err() == nil || s.best.Relaxed.Status == Stopped
	if s.best.Status == Undecided && over {
		s.best.Status = Stopped
	}
	return s.best
}

// A decision takes, in a state at a step, one action alone or excludes it.
type decision struct {
	step, state, action int
	only                bool
	before              *decision
}

// A subproblem is a relaxed problem that was solved, and the decision that divides it.
type subproblem struct {
	bound float64
	next  decision
}

// rank puts the least bound last.
func (b *subproblem) rank() float64 { return -b.bound }

// A branchAndBound is a branch and bound.
type branchAndBound struct {
	m *cmdp.Model
	extendedValues
	opts           DeterministicOptions
	gap            float64
	queue          []*subproblem // the least bound last, of equal ones the deepest
	best           *DeterministicResult
	undividedBound float64 // the least bound of what was pruned or could not be divided
}

// bestFirst returns the branch with the least bound.
func (s *branchAndBound) bestFirst() *subproblem { return s.queue[len(s.queue)-1] }

// pruned reports whether a branch with the bound cannot improve on what was found.
func (s *branchAndBound) pruned(bound float64) bool { return bound >= s.cutoff() }

// cutoff is the least bound of branches that are pruned.
func (s *branchAndBound) cutoff() float64 {
	return s.best.Objective - s.gap*max(min(1, s.best.Relaxed.targetTest.extent), math.Abs(s.best.Objective))
}

// solveSubproblem solves the problem that is left after some decisions, and queues it if it is to be divided.
func (s *branchAndBound) solveSubproblem(ctx context.Context, d *decision) error {
	m, allowed, err := s.restrictedModel(ctx, d)
	if err != nil {
		return err
	}
	cutoff := s.cutoff()
	r, err := s.relax(ctx, m, &cutoff)
	if errors.Is(err, ErrNoTotal) {
		return nil // with these decisions every policy goes on for ever
	}
	if err != nil {
		return err
	}
	return s.divide(ctx, m, allowed, r, d)
}

// relax solves a problem for policies that may draw. It is of no use from a cutoff on, nil for none.
func (s *branchAndBound) relax(ctx context.Context, m *cmdp.Model, cutoff *float64) (*Result, error) {
	opts := s.opts.Options
	opts.Early, opts.memoryless, opts.unpriced, opts.cutoff = nil, true, true, cutoff
	r, err := Solve(ctx, m, s.task, opts)
	if err != nil {
		return nil, err
	}
	s.best.Nodes++
	s.best.Iterations += r.Iterations
	return r, nil
}

// divide judges policies that the answer to a problem after some decisions suggests, and queues it if it is to be
// divided.
func (s *branchAndBound) divide(ctx context.Context, m *cmdp.Model, allowed *restriction, r *Result,
	d *decision) error {
	if r.Status == Infeasible {
		return nil
	}
	if s.pruned(r.Bound) {
		s.undividedBound = min(s.undividedBound, r.Bound)
		return nil
	}
	if r.Policy == nil && r.Mixture == nil { // the time is over
		s.undividedBound = min(s.undividedBound, r.Bound)
		return nil
	}
	if err := s.roundingHeuristic(ctx, m, r, allowed); err != nil {
		return err
	}
	at, found := randomizedState(m, r)
	if !found {
		if r.Status != Optimal || s.opts.Gap > 0 { // which may be wide
			s.undividedBound = min(s.undividedBound, r.Bound)
		}
		return nil
	}
	next := decision{step: at.step, state: at.state, action: allowed.number(at.step, at.state, at.action), before: d}
	s.queue = insert(s.queue, &subproblem{r.Bound, next})
	return nil
}

// randomizedState returns the first step and state where the policy of an answer draws, and the likeliest
// action there. Where it draws nowhere and the answer is undecided, any choice will do.
func randomizedState(m *cmdp.Model, r *Result) (at decision, found bool) {
	policies := r.mixture()
	for h := range decisionRules(m) {
		rows := m.Rows(h)
		for state := range m.States() {
			first, end := rows.Choices(state)
			n := end - first
			if n < 2 {
				continue
			}
			sum, probs := make([]float64, n), make([]float64, n)
			for _, c := range policies {
				c.Policy.Distribution(probs, h, state)
				floats.Add(sum, probs)
			}
			if a := floats.MaxIdx(sum); sum[a] < float64(len(policies))-1e-12 {
				return decision{step: h, state: state, action: a}, true
			} else if !found && r.Status == Undecided {
				at, found = decision{step: h, state: state}, true
			}
		}
	}
	return at, found
}

func decisionRules(m *cmdp.Model) int { return max(1, m.Horizon()) }

// roundingHeuristic judges the policies that take one of the likely actions wherever an answer draws.
// If there are too many of them, it judges the one that takes the likeliest actions.
func (s *branchAndBound) roundingHeuristic(ctx context.Context, m *cmdp.Model, r *Result, allowed *restriction) error {
	if len(r.Mixture) > 0 {
		for _, c := range r.Mixture {
			if err := s.offer(ctx, m, rounded(m, c.Policy, nil), allowed); err != nil {
				return err
			}
		}
		return nil
	}
	const most = 4
	drawn := min(r.Policy.Randomized(), most)
	for choice := range 1 << drawn {
		second := make([]bool, drawn)
		for i := range second {
			second[i] = choice>>i&1 == 1
		}
		if err := s.offer(ctx, m, rounded(m, r.Policy, second), allowed); err != nil {
			return err
		}
	}
	return nil
}

// rounded returns the policy with the likeliest action wherever p draws; in the i-th of these places
// the second likeliest if second says so.
func rounded(m *cmdp.Model, p *Policy, second []bool) cmdp.Deterministic {
	out := make(cmdp.Deterministic, decisionRules(m))
	drawn := 0
	for h := range out {
		rows := m.Rows(h)
		out[h] = make([]int32, m.States())
		for state := range out[h] {
			first, end := rows.Choices(state)
			n := end - first
			if n == 0 {
				continue
			}
			probs := make([]float64, n)
			p.Distribution(probs, h, state)
			a := floats.MaxIdx(probs)
			if probs[a] < 1 {
				if drawn < len(second) && second[drawn] {
					probs[a] = -1
					a = floats.MaxIdx(probs)
				}
				drawn++
			}
			out[h][state] = int32(a)
		}
	}
	return out
}

// offer keeps a policy if it is the best so far.
func (s *branchAndBound) offer(ctx context.Context, m *cmdp.Model, p cmdp.Deterministic, allowed *restriction) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v := make([]float64, m.Dim())
	if m.Horizon() > 0 {
		cmdp.NewEvaluator(m).Returns(v, p)
	} else {
		e, err := Evaluate(ctx, m, p)
		if err != nil {
			return err
		}
		v = e.Returns
	}
	of := sync.OnceValue(func() *Policy { return fixed(allowed.original(m, p)) })
	if s.opts.known != nil && len(*s.opts.known) < mostKnown {
		*s.opts.known = append(*s.opts.known, DeterministicPoint{Returns: v, Policy: of()})
	}
	s.keep(v, of)
	return nil
}

// mostKnown bounds the policies that are kept for later searches.
const mostKnown = 10_000

// keep keeps a policy with returns v if it is the best so far.
func (s *branchAndBound) keep(v []float64, policy func() *Policy) {
	objective, violation := 0.0, s.task.Violation(s.finiteReturns(v))
	if s.task.Cost != nil {
		objective = s.costOf(v)
	}
	better := objective < s.best.Objective || s.best.Policy == nil && objective < math.Inf(1)
	if !better || !s.best.Relaxed.targetTest.satisfied(s.finiteReturns(v), violation) {
		return
	}
	s.best.Objective, s.best.Returns, s.best.Violation = objective, v, violation
	s.best.Policy = policy()
}

// offerKnown keeps the best of the policies that are known from other searches.
func (s *branchAndBound) offerKnown() {
	if s.opts.known == nil {
		return
	}
	for _, k := range *s.opts.known {
		s.keep(k.Returns, func() *Policy { return k.Policy })
	}
}

// conclude judges what the search has shown.
func (s *branchAndBound) conclude() {
	b := s.best
	b.Bound = min(s.undividedBound, b.Objective)
	if len(s.queue) > 0 {
		b.Bound = min(b.Bound, s.bestFirst().bound)
	}
	b.Gap = b.Objective - b.Bound
	switch {
	case b.Policy != nil && math.IsInf(b.Objective, -1):
		b.Status, b.Bound, b.Gap = Unbounded, b.Objective, 0
	case b.Policy == nil && math.IsInf(b.Bound, 1):
		b.Status, b.Gap = Infeasible, 0
	case b.Policy == nil:
		b.Status, b.Gap = Undecided, math.Inf(1)
	case s.pruned(b.Bound):
		b.Status = Optimal
	default:
		b.Status = Undecided
	}
}
