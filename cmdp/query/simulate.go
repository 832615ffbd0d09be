package query

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/internal/sample"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// truncated is the share of the discounted return that the steps left out of an
// episode may have at most.
const truncated = 1e-6

// A Simulation plays episodes and keeps mean and variance of their returns.
type Simulation struct {
	// Environment is what is played: the model, unless another one is set before the first episode.
	Environment cmdp.Environment
	// Mixture holds the policies of which one is drawn at the start.
	Mixture []Drawn
	// Steps bounds those of an episode, and MeanSteps are those of a long-run mean; an episode has at least as many.
	Steps, MeanSteps int
	// Keep keeps the returns of each episode in Totals.
	Keep   bool
	Totals [][]float64

	// Episodes counts the episodes played. Total has the returns of the last one, Mean the means of all.
	Episodes    int
	Total, Mean []float64

	m             *cmdp.Model // nil if a simulator is played
	over          [][]bool    // of each policy, the states in which all is over, without a horizon
	chance, agent *rand.Rand
	sumsq         []float64 // sums of squared deviations
	step          []float64
	wanted        int // episodes that are to be played, 0 if that is not known
	taken         int // steps of all episodes
}

// A Drawn policy is drawn at the start of an episode, with the probability of its weight.
type Drawn struct {
	Weight float64
	Policy cmdp.Policy
}

// Draws returns what is drawn at the start of an answer of exact planning.
func Draws(policy *exact.Policy, mixture []exact.WeightedPolicy) []Drawn {
	if policy != nil {
		return []Drawn{{1, policy}}
	}
	var out []Drawn
	for _, c := range mixture {
		out = append(out, Drawn{c.Weight, c.Policy})
	}
	return out
}

// NewSimulation returns a simulation of policies in the model of a query, which may be set to another
// environment. Of a simulator, and with a horizon, episodes have so many steps as the environment says; steps
// are those of long-run means. It is reproducible by its seed.
func NewSimulation(q *Query, mixture []Drawn, seed uint64, steps int) *Simulation {
	if q == nil {
		panic("query: no query")
	}
	m, d := q.Model, len(q.Returns)
	s := &Simulation{m: m, Environment: m, Mixture: mixture, Steps: steps,
		chance: rand.New(cmdp.Stream(seed, "environment")), agent: rand.New(cmdp.Stream(seed, "agent")),
		Mean: make([]float64, d), sumsq: make([]float64, d), step: make([]float64, d), Total: make([]float64, d)}
	switch {
	case m == nil:
		s.Steps = q.Shape().Horizon()
		return s
	case m.Horizon() > 0:
		s.Steps = m.Horizon()
		return s
	case m.Average():
		s.MeanSteps = steps
		return s
	case m.Means():
		s.Steps, s.MeanSteps = math.MaxInt, steps
	case m.Discount() < 1:
		s.Steps = int(math.Ceil(math.Log(truncated) / math.Log(m.Discount())))
	default:
		s.Steps = math.MaxInt
	}
	for _, c := range mixture {
		s.over = append(s.over, monitor.Over(m, c.Policy))
	}
	return s
}

// Ends reports whether episodes end where nothing more can be returned, or at a discount: they have no horizon
// and are not for means alone.
func (s *Simulation) Ends() bool { return s.over != nil }

// draw returns the number of a policy of the mixture.
func (s *Simulation) draw() int {
	if len(s.Mixture) == 1 {
		return 0 // nothing is drawn
	}
	weights := make([]float64, len(s.Mixture))
	for i, c := range s.Mixture {
		weights[i] = c.Weight
	}
	return cmdp.Draw(s.agent, weights)
}

// PlayAll plays so many episodes more.
func (s *Simulation) PlayAll(ctx context.Context, episodes int) error {
	s.wanted = s.Episodes + episodes
	for s.Episodes < s.wanted {
		if err := s.Play(ctx); err != nil {
			return err
		}
	}
	return nil
}

// toldSteps is after how many steps of a model is told again how far a simulation is.
const toldSteps = 1 << 10

// report tells who waits in ctx which part of all steps is done before step h of an episode.
func (s *Simulation) report(ctx context.Context, h int) {
	s.taken++
	if s.wanted > 0 && (s.m == nil || s.taken%toldSteps == 0) {
		progress.Of(ctx).Tell("playing episodes", (float64(s.Episodes)+float64(h)/float64(s.Steps))/float64(s.wanted))
	}
}

// Play plays one episode. It looks at ctx now and then.
func (s *Simulation) Play(ctx context.Context) error {
	clear(s.Total)
	state, weight, of := s.Environment.Start(s.chance), 1.0, s.draw()
	policy := s.Mixture[of].Policy
	for h := range s.Steps {
		if h%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if s.over != nil && s.over[of][state] && h >= s.MeanSteps {
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
		s.report(ctx, h)
		state = s.Environment.Step(s.step, s.chance, h, state, policy.Choose(s.agent, h, state))
		for i, x := range s.step {
			switch {
			case s.m == nil || !s.m.Mean(i):
				s.Total[i] += weight * x
			case h < s.MeanSteps:
				s.Total[i] += x / float64(s.MeanSteps)
			}
		}
		if s.over != nil {
			weight *= s.m.Discount()
		}
	}
	if failing, ok := s.Environment.(cmdp.Fallible); ok && failing.Err() != nil {
		return failing.Err()
	}
	s.Episodes++
	if s.Keep {
		s.Totals = append(s.Totals, slices.Clone(s.Total))
	}
	for i, x := range s.Total {
		sample.Add(&s.Mean[i], &s.sumsq[i], x, s.Episodes)
	}
	return nil
}

// rests reports whether nothing can be done in a state.
func (s *Simulation) rests(h, state int) bool {
	switch {
	case s.m == nil:
		return s.Environment.Shape().Actions(h, state) == 0
	case s.m.Shape() != nil:
		return s.m.Shape().Actions(h, state) == 0
	}
	first, end := s.m.Rows(h).Choices(state)
	return first == end
}

// ready returns an error if a simulator has failed, or has come to a state of which the policy says nothing.
func (s *Simulation) ready(policy cmdp.Policy, h, state int) error {
	if failing, ok := s.Environment.(cmdp.Fallible); ok && failing.Err() != nil {
		return failing.Err()
	}
	if read, ok := policy.(*problem.FilePolicy); ok && !s.rests(h, state) && !read.Known(h, state) {
		return fmt.Errorf("episode %d comes to state %d at step %d, for which the policy has no row", s.Episodes+1,
			state, h+1)
	}
	return nil
}

// Half returns the half-width of the 95% confidence interval of a mean, NaN after
// one episode.
func (s *Simulation) Half(i int) float64 { return sample.Half(s.sumsq[i], s.Episodes) }

// Expected returns the exact expected returns of a policy that draws one of several policies, NaN in a
// simulator. Without a horizon it also bounds how far the mean of the steps played is from a long-run mean.
func (s *Simulation) Expected(ctx context.Context) (returns, stopping []float64, err error) {
	if s.m == nil {
		returns = slices.Repeat([]float64{math.NaN()}, len(s.Mean))
		return returns, nil, nil
	}
	returns, stopping = make([]float64, s.m.Dim()), make([]float64, s.m.Dim())
	for _, c := range s.Mixture {
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
			floats.AddScaled(stopping, c.Weight/float64(max(1, s.MeanSteps)), e.Drift)
		}
		floats.AddScaled(returns, c.Weight, v)
	}
	return returns, stopping, nil
}

// Exactly returns the distribution of a return where it can be computed.
func (s *Simulation) Exactly(ctx context.Context, i int) (values, probabilities []float64, ok bool) {
	if s.m == nil {
		return nil, nil, false
	}
	sum := make(map[float64]float64)
	for _, c := range s.Mixture {
		x, p, ok := monitor.Distribution(ctx, s.m, c.Policy, i)
		if !ok {
			return nil, nil, false
		}
		for j := range x {
			if _, seen := sum[x[j]]; !seen {
				values = append(values, x[j])
			}
			sum[x[j]] += c.Weight * p[j]
		}
	}
	slices.Sort(values)
	for _, x := range values {
		probabilities = append(probabilities, sum[x])
	}
	return values, probabilities, true
}
