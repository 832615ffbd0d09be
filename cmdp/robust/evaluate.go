package robust

import (
	"context"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A dynamics is what differs between criteria: with a horizon, discounted, total and average.
type dynamics interface {
	// evaluate returns the greatest return of a policy over the set in each direction.
	evaluate(ctx context.Context, policy cmdp.Policy, dirs [][]float64, keep *[][]float64) (passed, error)
	// price returns a policy that makes the greatest return in a direction least, and makes nature's answer to it.
	price(ctx context.Context, dir []float64, answer *Answer) (*exact.Policy, passed, error)
	// respond returns nature's answer to a policy.
	respond(ctx context.Context, policy cmdp.Policy, dir []float64) (*Answer, error)
	// improve returns a policy that may be better where directions count with weights. policy may be nil.
	improve(ctx context.Context, policy cmdp.Policy, dirs [][]float64, weights []float64) (*exact.Policy, error)
	newAnswer() *Answer
}

// dynamics returns the dynamic programming of the criterion, or an error that says why the criterion is not defined
// over the set.
func (s *Set) dynamics() (dynamics, error) {
	if s.m.Horizon() > 0 {
		return &finite{s}, nil
	}
	return newEndless(s)
}

// A Drawn policy is drawn at the start of an episode, with the probability of its weight, and played for good.
type Drawn struct {
	Weight float64
	Policy cmdp.Policy
}

// Evaluate bounds the returns of a policy over the set: from below and above in each coordinate, rounded outward. Each
// bound is reached in some model where nature chooses anew at every visit, up to that rounding. It is an error if a
// return is not defined in every model, a [NotDefinedError]. Without a horizon the policy is asked for step 0. It
// is asked by several goroutines at the same time.
func (s *Set) Evaluate(ctx context.Context, policy cmdp.Policy) (Bounds, error) {
	return s.EvaluateDrawn(ctx, []Drawn{{1, policy}})
}

// EvaluateDrawn bounds the returns of a plan that draws one of several policies at the start. What the set does to it
// is at most the mean of what it does to each of them.
func (s *Set) EvaluateDrawn(ctx context.Context, policies []Drawn) (Bounds, error) {
	dyn, err := s.dynamics()
	if err != nil {
		return Bounds{}, err
	}
	n := s.m.Dim()
	var dirs [][]float64
	for i := range n {
		for _, sign := range []float64{1, -1} {
			dir := make([]float64, n)
			dir[i] = sign
			dirs = append(dirs, dir)
		}
	}
	sums, sizes, terms := make([]float64, 2*n), make([]float64, 2*n), 0.0
	for _, d := range policies {
		if d.Weight == 0 {
			continue
		}
		terms++
		p, err := dyn.evaluate(ctx, d.Policy, dirs, nil)
		if err != nil {
			return Bounds{}, err
		}
		for j, x := range p.greatest {
			sums[j] += d.Weight * (x + p.margin[j])
			sizes[j] += d.Weight * math.Abs(x)
		}
	}
	b := Bounds{make([]float64, n), make([]float64, n)}
	for i := range n {
		b.Greatest[i] = sums[2*i] + sumRounding(terms, sizes[2*i])
		b.Least[i] = 0 - (sums[2*i+1] + sumRounding(terms, sizes[2*i+1]))
	}
	return b, nil
}

// sumRounding bounds the rounding error of a weighted sum of so many terms, whose magnitudes sum to size. A sum of one
// term has none.
func sumRounding(terms, size float64) float64 {
	if terms <= 1 {
		return 0
	}
	return 4 * terms * unit * size
}

// A NotDefinedError says that a return is not defined in every model of a set: from a state nature can keep the
// process from coming to rest, or from coming back.
type NotDefinedError struct {
	// At are the choices by which nature can do so, at least one.
	At []StateChoice
	// Zero says that a lower bound of 0 lets it.
	Zero bool
	// Mean says that the return is a long-run mean, else it is a total.
	Mean bool
}

// A StateChoice is a state and the number of a choice in it.
type StateChoice struct{ State, Choice int }

func (e *NotDefinedError) Error() string {
	what := "total"
	if e.Mean {
		what = "long-run mean"
	}
	return fmt.Sprintf("robust: the %s is not defined in every model of the set: state %d, choice %d",
		what, e.At[0].State, e.At[0].Choice)
}
