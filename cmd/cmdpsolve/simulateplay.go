package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// truncated is the share of the discounted return that the steps left out of an
// episode may have at most.
const truncated = 1e-6

// A simulation plays episodes and keeps mean and variance of their returns.
type simulation struct {
	m             *cmdp.Model      // nil if a simulator is played
	env           cmdp.Environment // the model or the simulator
	components    []drawn          // of which one is drawn at the start
	over          [][]bool         // of each component, the states in which all is over, without a horizon
	chance, agent *rand.Rand
	steps         int // of an episode, at most
	meanSteps     int // of a long-run mean; an episode has at least as many

	episodes    int
	mean, sumsq []float64 // means of the returns, sums of squared deviations
	step, total []float64
	keep        bool        // keep the returns of each episode
	totals      [][]float64 // of each episode
}

// A drawn policy is drawn at the start of an episode, with the probability of its weight.
type drawn struct {
	Weight float64
	Policy cmdp.Policy
}

// draws returns what is drawn at the start of an answer of exact planning.
func draws(policy *exact.Policy, components []exact.Component) []drawn {
	if policy != nil {
		return []drawn{{1, policy}}
	}
	var out []drawn
	for _, c := range components {
		out = append(out, drawn{c.Weight, c.Policy})
	}
	return out
}

func newSimulation(p *loaded, components []drawn, seed uint64, steps int) *simulation {
	m, d := p.Model, len(p.Returns)
	s := &simulation{m: m, env: m, components: components, steps: steps,
		chance: rand.New(cmdp.Stream(seed, "environment")), agent: rand.New(cmdp.Stream(seed, "agent")),
		mean: make([]float64, d), sumsq: make([]float64, d), step: make([]float64, d), total: make([]float64, d)}
	switch {
	case m == nil:
		s.steps = p.steps()
		return s
	case m.Horizon() > 0:
		s.steps = m.Horizon()
		return s
	case m.Average():
		s.meanSteps = steps
		return s
	case m.Means():
		s.steps, s.meanSteps = math.MaxInt, steps
	case m.Discount() < 1:
		s.steps = int(math.Ceil(math.Log(truncated) / math.Log(m.Discount())))
	default:
		s.steps = math.MaxInt
	}
	for _, c := range components {
		s.over = append(s.over, monitor.Over(m, c.Policy))
	}
	return s
}

// draw returns the number of a component.
func (s *simulation) draw() int {
	if len(s.components) == 1 {
		return 0 // nothing is drawn
	}
	u, last := s.agent.Float64(), 0
	for i, c := range s.components {
		if c.Weight <= 0 {
			continue
		}
		if u -= c.Weight; u < 0 {
			return i
		}
		last = i
	}
	return last
}

// play plays one episode. It looks at ctx now and then.
func (s *simulation) play(ctx context.Context) error {
	clear(s.total)
	state, weight, of := s.env.Start(s.chance), 1.0, s.draw()
	policy := s.components[of].Policy
	for h := range s.steps {
		if h%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if s.over != nil && s.over[of][state] && h >= s.meanSteps {
			break
		}
		if s.m == nil {
			if err := s.ready(policy, h, state); err != nil {
				return err
			}
		}
		if s.rests(h, state) {
			continue
		}
		state = s.env.Step(s.step, s.chance, h, state, policy.Choose(s.agent, h, state))
		for i, x := range s.step {
			switch {
			case s.m == nil || !s.m.Mean(i):
				s.total[i] += weight * x
			case h < s.meanSteps:
				s.total[i] += x / float64(s.meanSteps)
			}
		}
		if s.over != nil {
			weight *= s.m.Discount()
		}
	}
	if failing, ok := s.env.(cmdp.Fallible); ok && failing.Err() != nil {
		return failing.Err()
	}
	s.episodes++
	if s.keep {
		s.totals = append(s.totals, slices.Clone(s.total))
	}
	for i, x := range s.total { // Welford
		before := x - s.mean[i]
		s.mean[i] += before / float64(s.episodes)
		s.sumsq[i] += before * (x - s.mean[i])
	}
	return nil
}

// rests reports whether nothing can be done in a state.
func (s *simulation) rests(h, state int) bool {
	if s.m == nil {
		return s.env.Shape().Actions(h, state) == 0
	}
	first := s.m.Kernel(h).First
	return first[state] == first[state+1]
}

// ready returns an error if a simulator has failed, or has come to a state of which the policy says nothing.
func (s *simulation) ready(policy cmdp.Policy, h, state int) error {
	if failing, ok := s.env.(cmdp.Fallible); ok && failing.Err() != nil {
		return failing.Err()
	}
	if read, ok := policy.(*problem.FilePolicy); ok && !s.rests(h, state) && !read.Known(h, state) {
		return fmt.Errorf("episode %d comes to state %d at step %d, for which the policy has no row", s.episodes+1, state, h+1)
	}
	return nil
}

// half returns the half-width of the 95% confidence interval of a mean, NaN after
// one episode.
func (s *simulation) half(i int) float64 {
	n := float64(s.episodes)
	if n < 2 {
		return math.NaN()
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return t * math.Sqrt(s.sumsq[i]/(n-1)/n)
}

// expected returns the exact expected returns of a policy that draws one of several components, NaN in a simulator. Without
// a horizon it also bounds how far the mean of the steps played is from a long-run mean.
func (s *simulation) expected(ctx context.Context) (returns, stopping []float64, err error) {
	if s.m == nil {
		returns = slices.Repeat([]float64{math.NaN()}, len(s.mean))
		return returns, nil, nil
	}
	returns, stopping = make([]float64, s.m.Dim()), make([]float64, s.m.Dim())
	for _, c := range s.components {
		if c.Weight == 0 {
			continue
		}
		v := make([]float64, s.m.Dim())
		if s.m.Horizon() > 0 {
			cmdp.NewEvaluator(s.m).Returns(v, c.Policy)
		} else {
			e, err := exact.Evaluate(ctx, s.m, c.Policy)
			if err != nil {
				return nil, nil, err
			}
			v = e.Returns
			floats.AddScaled(stopping, c.Weight/float64(max(1, s.meanSteps)), e.Drift)
		}
		floats.AddScaled(returns, c.Weight, v)
	}
	return returns, stopping, nil
}
