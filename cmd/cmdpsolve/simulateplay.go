package main

import (
	"context"
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/stat/distuv"
)

// truncated is the share of the discounted return that the steps left out of an
// episode may have at most.
const truncated = 1e-6

// A simulation plays episodes and keeps mean and variance of their returns.
type simulation struct {
	m          *cmdp.Model
	policy     *problem.FilePolicy
	env, agent *rand.Rand
	steps      int    // of an episode, at most
	over       []bool // states in which all is over, without a horizon

	episodes    int
	mean, sumsq []float64 // means of the returns, sums of squared deviations
	step, total []float64
}

func newSimulation(p *loaded, policy *problem.FilePolicy, seed uint64) *simulation {
	m, d := p.Model, len(p.Returns)
	s := &simulation{m: m, policy: policy, steps: m.Horizon(),
		env: rand.New(cmdp.Stream(seed, "environment")), agent: rand.New(cmdp.Stream(seed, "agent")),
		mean: make([]float64, d), sumsq: make([]float64, d), step: make([]float64, d), total: make([]float64, d)}
	if m.Horizon() > 0 {
		return s
	}
	s.steps = math.MaxInt
	if m.Discount() < 1 {
		s.steps = int(math.Ceil(math.Log(truncated) / math.Log(m.Discount())))
	}
	s.over = over(m, policy)
	return s
}

// play plays one episode. It looks at ctx now and then.
func (s *simulation) play(ctx context.Context) error {
	clear(s.total)
	state, weight := s.m.Start(s.env), 1.0
	for h := range s.steps {
		if h%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if s.over != nil && s.over[state] {
			break
		}
		if first := s.m.Kernel(h).First; first[state] == first[state+1] {
			continue
		}
		state = s.m.Step(s.step, s.env, h, state, s.policy.Choose(s.agent, h, state))
		for i, x := range s.step {
			s.total[i] += weight * x
		}
		if s.over != nil {
			weight *= s.m.Discount()
		}
	}
	s.episodes++
	for i, x := range s.total { // Welford
		before := x - s.mean[i]
		s.mean[i] += before / float64(s.episodes)
		s.sumsq[i] += before * (x - s.mean[i])
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

// over returns the largest set of states that the policy does not leave and in
// which it returns nothing.
func over(m *cmdp.Model, f *problem.FilePolicy) []bool {
	in := make([]bool, m.States())
	for s := range in {
		in[s] = true
	}
	for changed := true; changed; {
		changed = false
		for s := range in {
			if in[s] && !idle(m, f, s, in) {
				in[s], changed = false, true
			}
		}
	}
	return in
}

// idle reports whether a step from s returns nothing and leads to states of in.
func idle(m *cmdp.Model, f *problem.FilePolicy, s int, in []bool) bool {
	k, d := m.Kernel(0), m.Dim()
	for a, x := range f.Probabilities(0, s) {
		c := int(k.First[s]) + a
		if !(x > 0) {
			continue
		}
		for _, r := range k.Returns[c*d : (c+1)*d] {
			if r != 0 {
				return false
			}
		}
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			if !(k.Prob[e] > 0) {
				continue
			}
			if !in[k.Next[e]] {
				return false
			}
			for i := range d {
				if k.Outcomes != nil && k.Outcomes[e*d+i] != 0 {
					return false
				}
			}
		}
	}
	return true
}

// expected returns the exact expected returns of the policy. Without a horizon they
// are those of the only policy of the process that it makes of the model.
func expected(ctx context.Context, m *cmdp.Model, f *problem.FilePolicy) ([]float64, error) {
	if m.Horizon() > 0 {
		v := make([]float64, m.Dim())
		cmdp.NewEvaluator(m).Returns(v, f)
		return v, nil
	}
	process, err := process(m, f)
	if err != nil {
		return nil, err
	}
	v, _, err := exact.Ranges(ctx, process, exact.Options{})
	return v, err
}

// process returns the model without choices that the policy makes of a stationary
// one. States that it does not reach are at rest.
func process(m *cmdp.Model, f *problem.FilePolicy) (*cmdp.Model, error) {
	k, d := m.Kernel(0), m.Dim()
	out := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range m.States() {
		if f.Known(0, s) {
			r := make([]float64, d)
			for a, x := range f.Probabilities(0, s) {
				c := int(k.First[s]) + a
				for i := range r {
					r[i] += x * k.Returns[c*d+i]
				}
				for e := k.Offset[c]; x > 0 && e < k.Offset[c+1]; e++ {
					out.Next, out.Prob = append(out.Next, k.Next[e]), append(out.Prob, x*k.Prob[e])
				}
			}
			out.Returns, out.Offset = append(out.Returns, r...), append(out.Offset, len(out.Next))
		}
		out.First = append(out.First, int32(len(out.Offset)-1))
	}
	return cmdp.NewModel(cmdp.ModelSpec{Discount: m.Discount(), Dim: d, Start: m.StartStates(), Kernels: []cmdp.Kernel{out}})
}
