package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Metrics are what a run is judged by, in the user's units, for K episodes. Each is
// defined in docs/metrics.md. Costs are those of the task, to be minimised: for a
// return that is maximised they are its negative. Numbers that need a cost, a
// target or a known optimum are NaN without it.
type Metrics struct {
	Episodes int
	// Average is W^K, the mean of the realised returns, Expected V̄^K, the mean of
	// the expected returns of the policies played, Last those of the last policy.
	Average, Expected, Last []float64
	// Regret is g(W^K) − g*, Violation the Euclidean distance of W^K from the target;
	// then the same of V̄^K and of the last policy.
	Regret, Violation                 float64
	ExpectedRegret, ExpectedViolation float64
	LastRegret, LastViolation         float64
	// MaxViolation is the largest excess of W^K over a constraint, at least 0, and
	// ExpectedMaxViolation that of V̄^K. Without a linear form they are the distances.
	MaxViolation, ExpectedMaxViolation float64
	// WeakRegret is the sum over episodes of g(V^k) − g*, signed, WeakViolation the
	// largest over constraints of the sum of signed excesses, at least 0; in
	// StrongRegret and StrongViolation every term is cut at 0 first. Without a linear
	// form the violations are K times the distance of V̄^K and the sum of distances.
	WeakRegret, WeakViolation     float64
	StrongRegret, StrongViolation float64
	// RealizedWeakRegret and RealizedStrongRegret, and the violations, are the same of
	// the returns received in place of their expectations.
	RealizedWeakRegret, RealizedWeakViolation     float64
	RealizedStrongRegret, RealizedStrongViolation float64
	// ViolatingShare is the share of episodes whose policy violates the target by more
	// than ViolationTolerance times the diameter of the box of possible returns, in expectation;
	// RealizedViolatingShare that of episodes whose return does.
	ViolatingShare, RealizedViolatingShare float64
	// SecondsPerEpisode is the mean time that the learner took, for planning and
	// learning; that of the environment and of measuring is not in it.
	SecondsPerEpisode float64
	Work
}

// ViolationTolerance is the relative distance that counts as no violation.
const ViolationTolerance = 1e-9

// A tally sums the performance of one kind of returns, expected or realised.
type tally struct {
	Sum                      []float64 // of returns
	WeakRegret, StrongRegret float64
	Excess, Positive         []float64 // per row: signed and positive parts
	Distance                 float64   // sum of distances
	Violating                int
}

func newTally(dim, rows int) tally {
	return tally{Sum: make([]float64, dim), Excess: make([]float64, rows), Positive: make([]float64, rows)}
}

// add counts an episode with returns v.
func (t *tally) add(r *Recorder, v []float64) {
	floats.Add(t.Sum, v)
	regret := r.regret(v)
	t.WeakRegret += regret
	t.StrongRegret += math.Max(0, regret)
	if r.linear != nil {
		for i := range t.Excess {
			x := r.linear.Excess(i, v)
			t.Excess[i] += x
			t.Positive[i] += max(0, x)
		}
	}
	d := r.distance(v)
	t.Distance += d
	if d > r.tolerance {
		t.Violating++
	}
}

// weak and strong return the violations.
func (t *tally) weak(r *Recorder) float64 {
	if r.linear == nil {
		return float64(r.state.Episodes) * r.distance(t.mean(r.state.Episodes))
	}
	return slices.Max(append([]float64{0}, t.Excess...))
}

func (t *tally) strong(r *Recorder) float64 {
	if r.linear == nil {
		return t.Distance
	}
	return floats.Norm(t.Positive, math.Inf(1))
}

func (t *tally) mean(episodes int) []float64 {
	m := make([]float64, len(t.Sum))
	for i, x := range t.Sum {
		m[i] = x / float64(episodes)
	}
	return m
}
