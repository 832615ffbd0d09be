package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A Settable environment has a state of its own, which can be set: a step is then asked for in any state.
// Environments of models can be asked anywhere without.
type Settable interface {
	cmdp.Environment
	SetState(state int)
}

// A Sampled is a policy planned from samples of every choice, and what they promise.
type Sampled struct {
	// Result is the plan for the estimated model, with the limits loosened or tightened. Where its status is
	// Infeasible no policy keeps the limits, if they were loosened, and none was found that is sure to keep
	// them, if they were tightened.
	*exact.Result
	Model *cmdp.Model // that is estimated
	// Error bounds by how much the expected returns of any policy differ between the estimated and the true
	// model, for all policies together with probability 1 − Confidence.Failure. Of long-run means it does so for
	// the policies whose relative values have a span of at most Knowledge.Span in the true model.
	Error []float64
	// Known bounds it for Policy, whose returns are those of Result within Known, and so between Lower and Upper,
	// which are cut to the box of possible returns. It is Error, but of long-run means follows from Span. They are
	// nil without a policy.
	Known, Lower, Upper []float64
	// Bound is a cost that no policy within the limits is below, as surely as Error; of limits that were tightened, no
	// policy that keeps each with room 2·Σ|n_i|·e_i. It is −Inf without a cost or an optimum.
	Bound float64
	// Span are the spans of the relative values of Policy in the estimated model, in ranges of a step, for long-run
	// means. They are +Inf where it has several recurrent classes.
	Span []float64
	// Samples is the number of steps that were sampled.
	Samples int
}

// PlanSampled samples every choice so many times in an environment that can be asked anywhere, and plans
// exactly for the model of the frequencies. The limits of the target, which must be made of half-spaces n·v ≤
// b, are loosened by Σ|n_i|·e_i, where e is [SampleError]: then with probability 1 − Confidence.Failure the
// policy costs no more than the optimum and 2·L·‖e‖ (L the Lipschitz constant of the cost), and breaks a limit
// by at most 2·Σ|n_i|·e_i (relaxed feasibility). If strict is true they are tightened by as much: then the
// policy keeps the limits of the true model (strict feasibility), and is found for sure if some policy keeps
// each with room 2·Σ|n_i|·e_i.
//
// Long-run means need Knowledge.Span, and a model in which all states lead to each other. The optimum is then that
// of the policies whose relative values h in the true model P span no more, w·Span for a return with the range w in
// a step. For these e bounds the difference of the means g, since ĝ − g = μ̂·(r̂ − r + (P̂ − P)h), where μ̂ are the
// frequencies of states in the estimated model P̂. For the policy that is planned Known bounds it, in the same
// way with its relative values in P̂. e + Known stands for 2e above, and with strict limits the status is
// Infeasible unless the limits are kept with room Known. Where classes of states are joined, see
// [exact.Joined], the policy costs the loss of that more.
//
// Of c the shape, the returns if they are known, the task, Confidence.Failure, Pooled, Knowledge.Support,
// Knowledge.Span and Endless matter. With pooled counts a choice is sampled once for all steps. The generator is
// that of the environment.
func PlanSampled(ctx context.Context, env cmdp.Environment, c Config, each int, strict bool,
	rng *rand.Rand) (*Sampled, error) {
	if env == nil || rng == nil {
		return nil, errors.New("baseline: a plan from samples without an environment or without a generator")
	}
	e, err := SampleError(c, each)
	if err != nil {
		return nil, err
	}
	task, err := movedLimits(c.Shape, c.Task, e, strict)
	if err != nil {
		return nil, err
	}
	if _, ok := env.(Settable); ok {
		env.Start(rng) // which tells it what to draw from
	}
	s := &sampler{ctx: ctx, env: env, shape: c.Shape, returns: c.Returns, each: each, rng: rng}
	kernels := make([]cmdp.Kernel, sampledSteps(&c))
	for h := range kernels {
		kernels[h], err = s.kernel(h)
		if err != nil {
			return nil, err
		}
	}
	p := &Sampled{Error: e, Samples: s.samples}
	if c.means() {
		err = p.planMeans(ctx, &c, task, kernels[0], strict)
	} else {
		err = p.plan(ctx, &c, task, kernels)
	}
	if err != nil {
		return nil, err
	}
	p.bound(&c)
	return p, nil
}

// plan plans with a horizon or a discount.
func (p *Sampled) plan(ctx context.Context, c *Config, task cmdp.Task, kernels []cmdp.Kernel) error {
	var err error
	p.Model, err = NewModel(c.Shape, c.Endless, kernels)
	if err != nil {
		return err
	}
	p.Result, err = bestOrNearest(ctx, p.Model, task, exact.Options{})
	if err == nil && p.Policy != nil {
		p.Known = p.Error
	}
	return err
}

// bound computes between what the returns of the policy lie, and what the cost of others is not below.
func (p *Sampled) bound(c *Config) {
	p.Bound = math.Inf(-1)
	lower, upper := c.Shape.Totals()
	if p.Known != nil {
		p.Lower, p.Upper = lower, upper
		for i, x := range p.Returns {
			p.Lower[i], p.Upper[i] = max(p.Lower[i], x-p.Known[i]), min(p.Upper[i], x+p.Known[i])
		}
	}
	if p.Status != exact.Optimal || c.Task.Cost == nil {
		return
	}
	room := c.Task.Cost.Lipschitz() * floats.Norm(p.Error, 2)
	if g, ok := c.Task.Cost.(cost.Affine); ok {
		room = roomOf(g.Gradient(), p.Error)
	}
	p.Bound = max(p.Result.Bound-room, c.Task.LeastCost(c.Shape))
}

// means reports whether long-run means are wanted.
func (c *Config) means() bool { return c.Endless != nil && c.Endless.Discount == 1 }

// planMeans plans for long-run means. The plan begins in all states, so that it says what to do in each: where
// all states lead to each other the means do not depend on it.
func (p *Sampled) planMeans(ctx context.Context, c *Config, task cmdp.Task, kernel cmdp.Kernel, strict bool) error {
	start := make([]cmdp.StartState, c.Shape.States())
	for s := range start {
		start[s] = cmdp.StartState{State: s, Probability: 1 / float64(len(start))}
	}
	var err error
	p.Model, err = newModel(c.Shape, c.Endless, start, []cmdp.Kernel{kernel})
	if err != nil {
		return err
	}
	parts, err := (&markov.Graph{Kernel: p.Model.Kernel(0)}).Components(ctx)
	if err != nil {
		return err
	}
	if parts.Len() > 1 {
		return errors.New("baseline: a plan from samples for long-run means: in the samples not all states lead to " +
			"each other: want a model in which they do, and enough samples to see it")
	}
	row, mean := errorOfChoice(c)
	root := math.Sqrt(float64(p.Samples) / float64(c.Shape.StepChoices(0)))
	// Where classes are joined a part g of the objective is lost, and the span is some 1/g steps, which leaves x/(2g)
	// open: that is balanced.
	p.Result, err = bestOrNearest(ctx, p.Model, task, exact.Options{JoinGap: min(0.1, 0.5*math.Sqrt(row/root))})
	if err != nil || p.Policy == nil {
		return err
	}
	ev, err := exact.Evaluate(ctx, p.Model, p.Policy)
	if err != nil {
		return err
	}
	lower, upper := c.Shape.Totals()
	p.Known, p.Span = make([]float64, len(p.Error)), ev.Span
	for i := range p.Known {
		w := upper[i] - lower[i]
		if w == 0 { // the return is known
			continue
		}
		p.Known[i] = mean * w / root
		if row > 0 { // else the kernel is
			p.Known[i] = min(w, p.Known[i]+row*p.Span[i]/(2*root))
		}
		p.Span[i] /= w
	}
	if strict && !p.keeps(c.Task, lower, upper) {
		p.Status = exact.Infeasible
	}
	return nil
}

// keeps reports whether the policy is sure to keep the limits.
func (p *Sampled) keeps(task cmdp.Task, lower, upper []float64) bool {
	if task.Target == nil {
		return true
	}
	rows, _ := task.LinearConstraints(lower, upper)
	for _, r := range rows {
		if floats.Dot(r.Normal, p.Returns)+roomOf(r.Normal, p.Known) > r.Offset+p.Tolerance {
			return false
		}
	}
	return true
}

// roomOf is the most that a change of each return v_i by e_i changes n·v.
func roomOf(normal, e []float64) float64 {
	room := 0.0
	for i, n := range normal {
		room += math.Abs(n) * e[i]
	}
	return room
}

// sampledSteps is the number of steps whose choices are sampled apart.
func sampledSteps(c *Config) int {
	if c.Pooled {
		return 1
	}
	return c.Shape.Horizon()
}

// SampleError returns e for PlanSampled with so many samples of each choice. A frequency vector of a choice
// with b possible successors has a distance in the 1-norm of at most x = √(2·(ln(2^b − 2) + ln(C/p))/N) from
// the probabilities, for all C choices with probability 1 − p (Weissman and others 2003), and a learned mean
// return of range w one of at most y = w·√(ln(2·C·d/p)/(2N)) (Hoeffding). With the range W_h of the return from
// step h on,
//
//	e = Σ_h (y_h + x·W_{h+1}/2),   or with a discount   e = y/(1−γ) + γ/(1−γ)·x·W/2,
//
// or of long-run means   e = y + x·Span·W/2, but no more than the range of the returns. Where returns are learned
// both have half of p. The papers on sampling for constrained problems (Vaswani, Yang, Szepesvári 2022, and Wei,
// Li, Yang 2025 of long-run means) perturb the returns instead and need about S times fewer samples; their
// constants are not used here.
func SampleError(c Config, each int) ([]float64, error) {
	if each < 1 {
		return nil, fmt.Errorf("baseline: %d samples of each choice: want at least 1", each)
	}
	e, err := errorOfOne(c)
	if err != nil {
		return nil, err
	}
	lower, upper := c.Shape.Totals()
	for i := range e {
		e[i] = min(e[i]/math.Sqrt(float64(each)), upper[i]-lower[i])
	}
	return e, nil
}

// SamplesFor returns how many samples of each choice it takes for an error of at most accuracy in every return.
func SamplesFor(c Config, accuracy float64) (int, error) {
	if !(accuracy > 0) || math.IsInf(accuracy, 1) {
		return 0, fmt.Errorf("baseline: accuracy %g: want a positive number", accuracy)
	}
	e, err := errorOfOne(c)
	if err != nil {
		return 0, err
	}
	n := math.Ceil(math.Pow(slices.Max(e)/accuracy, 2))
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("baseline: accuracy %g: it takes %.3g samples of each choice: want fewer than %d",
			accuracy, n, math.MaxInt32)
	}
	return max(1, int(n)), nil
}

// errorOfOne is the error of one sample of each choice, without the cut to the range. It shrinks like 1/√N.
func errorOfOne(c Config) ([]float64, error) {
	c.Confidence.Episodes = max(1, c.Confidence.Episodes)
	if err := c.check(); err != nil {
		return nil, err
	}
	switch {
	case c.Shape.Game():
		return nil, errors.New("baseline: a plan from samples for a game: want one player")
	case c.means() && c.Knowledge.Span == 0:
		return nil, errors.New("baseline: a plan from samples for long-run means: want a bound on the span of the " +
			"relative values, on which the number of samples depends")
	case !c.means() && c.Knowledge.Span > 0:
		return nil, errors.New("baseline: a plan from samples with a bound on the span of relative values: that is " +
			"for long-run means")
	}
	row, mean := errorOfChoice(&c)
	return sumErrors(&c, row, mean), nil
}

// errorOfChoice returns x and y/w after one sample of each choice, see [SampleError].
func errorOfChoice(c *Config) (row, mean float64) {
	sh, choices, most := c.Shape, 0, 1
	for h := range sampledSteps(c) {
		choices += sh.StepChoices(h)
	}
	for h := range sampledSteps(c) {
		for k := range sh.StepChoices(h) {
			b := sh.States()
			if sp := c.Knowledge.Support; sp != nil {
				b = len(sp[min(h, len(sp)-1)][k])
			}
			most = max(most, b)
		}
	}
	p := c.Confidence.Failure
	if c.Returns == nil {
		p /= 2
	}
	if most > 1 { // a single possible successor is certain
		row = math.Sqrt(2 * (logSubsets(most) + math.Log(float64(max(1, choices))/p)))
	}
	if c.Returns == nil {
		mean = math.Sqrt(math.Log(2*float64(max(1, choices)*sh.Dim())/p) / 2)
	}
	return row, mean
}

// logSubsets is ln(2^b − 2), for b ≥ 2.
func logSubsets(b int) float64 {
	return float64(b)*math.Ln2 + math.Log1p(-math.Exp2(1-float64(b)))
}

// sumErrors adds the errors of rows and means up along an episode, or a discounted run.
func sumErrors(c *Config, row, mean float64) []float64 {
	sh := c.Shape
	e, lower, upper := make([]float64, sh.Dim()), make([]float64, sh.Dim()), make([]float64, sh.Dim())
	for h := range sh.Horizon() {
		least, greatest := sh.StepReturns(h)
		sh.ReturnToGo(lower, upper, h+1)
		for i := range e {
			width := greatest[i] - least[i]
			if c.means() {
				e[i] = mean*width + row*c.Knowledge.Span*width/2
				continue
			}
			if c.Endless != nil { // the returns of a step are those of the model over 1 − γ, and so are values
				e[i] = mean*width + c.Endless.Discount/(1-c.Endless.Discount)*row*width/2
				continue
			}
			e[i] += mean*width + row*(upper[i]-lower[i])/2
		}
	}
	return e
}

// movedLimits is the task with its limits loosened by what e makes of them, or tightened.
func movedLimits(sh *cmdp.Shape, task cmdp.Task, e []float64, strict bool) (cmdp.Task, error) {
	moved := cmdp.Task{Cost: task.Cost}
	if task.Target == nil {
		return moved, nil
	}
	lower, upper := sh.Totals()
	rows, complete := task.LinearConstraints(lower, upper)
	if !complete {
		return moved, errors.New("baseline: a plan from samples with a target that is no polyhedron: want limits " +
			"that are linear")
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return moved, err
	}
	for _, r := range rows {
		room := roomOf(r.Normal, e)
		if strict {
			room = -room
		}
		r.Offset += room
		moved.Constraints = append(moved.Constraints, r)
	}
	moved.Target, err = boxWithin(moved.Constraints, box)
	if errors.Is(err, geometry.ErrEmpty) {
		return moved, fmt.Errorf("baseline: the limits, tightened by what the samples leave open, contradict the "+
			"ranges of the returns: want more samples of each choice, or relaxed feasibility: %w", geometry.ErrEmpty)
	}
	return moved, err
}

// A sampler makes kernels of samples.
type sampler struct {
	ctx     context.Context
	env     cmdp.Environment
	shape   *cmdp.Shape
	returns *cmdp.Returns
	each    int
	rng     *rand.Rand
	samples int
}

// kernel samples the choices of step h.
func (s *sampler) kernel(h int) (cmdp.Kernel, error) {
	k := cmdp.Kernel{First: s.shape.AgentOffsets()[min(h, len(s.shape.AgentOffsets())-1)], Offset: []int{0}}
	states, steps := s.shape.States(), max(1, s.shape.Horizon())
	tell := progress.Of(s.ctx)
	for state := range states {
		tell.Tell("sampling choices", (float64(h)+float64(state)/float64(states))/float64(steps))
		for a := range s.shape.Actions(h, state) {
			if err := s.ctx.Err(); err != nil {
				return k, err
			}
			s.choice(&k, h, state, a)
			if f, ok := s.env.(cmdp.Fallible); ok && f.Err() != nil {
				return k, f.Err()
			}
		}
	}
	return k, nil
}

// choice samples one choice, and adds its row.
func (s *sampler) choice(k *cmdp.Kernel, h, state, action int) {
	settable, _ := s.env.(Settable)
	counts := make(map[int32]int)
	got, mean := make([]float64, s.shape.Dim()), make([]float64, s.shape.Dim())
	for range s.each {
		if settable != nil {
			settable.SetState(state)
		}
		counts[int32(s.env.Step(got, s.rng, h, state, action))]++
		floats.Add(mean, got)
	}
	s.samples += s.each
	next := make([]int32, 0, len(counts))
	for n := range counts {
		next = append(next, n)
	}
	slices.Sort(next)
	for _, n := range next {
		k.Next, k.Prob = append(k.Next, n), append(k.Prob, float64(counts[n])/float64(s.each))
	}
	k.Offset = append(k.Offset, len(k.Next))
	if s.returns != nil {
		k.Returns = append(k.Returns, s.returns.At(h, len(k.Offset)-2)...)
		return
	}
	lower, upper := s.shape.StepReturns(h)
	for i := range mean {
		k.Returns = append(k.Returns, min(max(mean[i]/float64(s.each), lower[i]), upper[i]))
	}
}
