package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// A Credible is a policy planned from data, and what the data promises of it. All of it is
// about the posterior of [Config.Prior]: rows of the kernel are Dirichlet, returns that are
// learned have Beta means, as in the learner posterior.
type Credible struct {
	// Policy is the best policy found among those whose limits hold in a large enough
	// share of the models. If Promised is false, no policy that was tried is like that,
	// and Policy is the one whose limits hold in the largest share.
	Policy   *exact.Policy
	Promised bool
	// Share is that share, in models that had no part in the choice of the policy.
	Share float64
	// Low and High are the bounds of the central credible interval of each return, at the
	// level.
	Low, High []float64
	// Returns and Objective are those of the policy in the mean model. Optimum is the best
	// objective of that model, which not knowing the true one keeps the policy from; NaN
	// if its limits cannot be kept.
	Returns            []float64
	Objective, Optimum float64
	// Rows are the limits n·v ≤ b that may be broken, and Margins by how much the plan
	// stays within each.
	Rows    []cmdp.Constraint
	Margins []float64
	// Unsure lists the choices that most of the uncertainty of the returns comes from.
	Unsure []Unsure
	// Iterations counts value iterations.
	Iterations int
}

// ModelsNeeded returns how many models it takes to tell that limits hold in a share of at
// least level. If limits hold in all of so many models, a smaller share is ruled out with
// 95% confidence.
func ModelsNeeded(level float64) int { return int(math.Ceil(math.Log(doubt) / math.Log(level))) }

// doubt is the probability of taking a policy whose limits hold in too small a share of the
// models for one that keeps the level.
const doubt = 0.05

// PlanCredibly plans from the transitions in c.Prior: it looks for the best policy whose
// limits hold in a share of at least level of the models that they leave possible.
//
// It plans on the mean model with tightened limits. All are tightened by the same number
// of their posterior standard deviations: the least number with which the policy's
// limits hold in enough of the drawn models. As many others are drawn for what is
// reported. The target must be made of half-spaces. Without data the posterior is the
// prior.
func PlanCredibly(ctx context.Context, c Config, level float64, models int) (*Credible, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("baseline: credible level %g: want between 0 and 1", level)
	}
	if need := ModelsNeeded(level); models < need {
		return nil, fmt.Errorf("baseline: %d models tell nothing of a share of %g: want at least %d", models, level,
			need)
	}
	c.Confidence = cmdp.Confidence{Episodes: 1, Failure: 0.5} // there is no learning
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Shape.Game() {
		return nil, errors.New("baseline: a credible plan for a game: want one player")
	}
	p, err := newCrediblePlanner(ctx, &c, level, models)
	if err != nil {
		return nil, err
	}
	return p.plan()
}

// A crediblePlanner looks for a policy that keeps its limits in enough models.
type crediblePlanner struct {
	ctx     context.Context
	task    cmdp.Task
	drawer  drawer
	box     *geometry.Box
	level   float64
	mean    *cmdp.Model
	planner *exact.Planner // of the mean model
	drawn   []*cmdp.Model  // those by which the policy is chosen
	enough  int            // of them have to keep the limits
	rows    []cmdp.Constraint
	sides   []float64 // how much each row may vary
	scale   []float64 // standard deviation of each row
	tried   *tried    // the best so far
	calls   int
}

// tried is a policy with its share of the drawn models.
type tried struct {
	policy  *exact.Policy
	returns []float64
	cost    float64
	keeps   int // of the drawn models
	tight   float64
}

func newCrediblePlanner(ctx context.Context, c *Config, level float64, models int) (*crediblePlanner, error) {
	e, err := newEstimate(newCoordinates(c, false), c)
	if err != nil {
		return nil, err
	}
	p := &crediblePlanner{ctx: ctx, task: c.Task, level: level}
	p.drawer = newDrawer(e, c, "credible")
	if err := p.findRows(); err != nil {
		return nil, err
	}
	if err := p.affordable(); err != nil {
		return nil, err
	}
	p.drawer.expect = true
	p.mean, err = p.drawer.model()
	if err != nil {
		return nil, err
	}
	p.planner, err = exact.NewPlanner(p.mean, 1)
	if err != nil {
		return nil, err
	}
	p.drawer.expect = false
	for range models {
		m, err := p.drawer.model()
		if err != nil {
			return nil, err
		}
		p.drawn = append(p.drawn, m)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	p.enough = modelsThatMustKeep(models, level)
	return p, nil
}

// modelsThatMustKeep returns the least k with P(at least k of so many models | the share is the level) ≤ doubt, and all
// models where no k is like that.
func modelsThatMustKeep(models int, level float64) int {
	n := float64(models)
	k := max(1, int(level*n)) // half of the probability, or nearly, is there or beyond
	for k < models && mathext.RegIncBeta(float64(k), n-float64(k)+1, level) > doubt {
		k++
	}
	return k
}

// mostEntries is the number of entries that the mean model may have. Where any state may follow a
// choice, it has one for each.
const mostEntries = 50_000_000

func (p *crediblePlanner) affordable() error {
	entries := 0
	for _, rows := range p.drawer.layers {
		for c := range rows {
			if rows[c].closed {
				entries += len(rows[c].next)
			} else {
				entries += len(p.drawer.any)
			}
		}
	}
	if entries > mostEntries {
		return fmt.Errorf("baseline: the mean model has %d transitions, as any state may follow any choice: want at "+
			"most %d; tell which successors are possible, or pool the counts", entries, mostEntries)
	}
	return nil
}

// findRows collects the limits that some return in the box of possible ones breaks.
func (p *crediblePlanner) findRows() error {
	lower, upper := p.drawer.shape.Totals()
	var err error
	p.box, err = geometry.NewBox(lower, upper)
	if err != nil {
		return err
	}
	all, complete := p.task.LinearConstraints(lower, upper)
	if !complete {
		return errors.New("baseline: a credible plan tightens limits one by one: want a target made of half-spaces, " +
			"not a curved one")
	}
	for _, row := range all {
		side := 0.0
		for i, x := range row.Normal {
			side += math.Abs(x) * (upper[i] - lower[i])
		}
		if row.Excess(lower, upper) > 1e-12*side {
			p.rows, p.sides = append(p.rows, row), append(p.sides, side)
		}
	}
	return nil
}

// plan finds the policy and describes it.
func (p *crediblePlanner) plan() (*Credible, error) {
	first, err := p.try(0)
	if err != nil {
		return nil, err
	}
	optimum := math.NaN()
	if first != nil && p.task.Cost != nil {
		optimum = first.cost
	}
	if len(p.rows) > 0 && (first == nil || first.keeps < p.enough || p.task.Cost == nil) {
		if err := p.tighten(); err != nil {
			return nil, err
		}
	}
	// Where fresh models contradict by a little, more of the first have to agree.
	const attempts = 4
	least, n := p.enough, len(p.drawn)
	for attempt := 1; ; attempt++ {
		out, err := p.report(optimum)
		if err != nil {
			return nil, err
		}
		out.Promised = p.tried.keeps >= least && out.Share >= p.level
		if out.Promised || p.tried.keeps < least || attempt == attempts || len(p.rows) == 0 {
			return out, nil
		}
		p.enough = min(n, p.enough+int(math.Ceil(math.Sqrt(float64(n)*p.level*(1-p.level)))))
		if err := p.tighten(); err != nil {
			return nil, err
		}
	}
}

// report judges the policy by models that had no part in its choice.
func (p *crediblePlanner) report(optimum float64) (*Credible, error) {
	x, d := p.tried, p.box.Dim()
	out := &Credible{Policy: x.policy, Returns: x.returns, Objective: x.cost, Optimum: optimum, Rows: p.rows,
		Iterations: p.calls}
	if p.task.Cost == nil {
		out.Objective = math.NaN()
	}
	values, v, keeps := make([][]float64, d), make([]float64, d), 0
	for range p.drawn {
		m, err := p.drawer.model()
		if err != nil {
			return nil, err
		}
		cmdp.NewEvaluator(m).Returns(v, x.policy)
		if p.kept(v) {
			keeps++
		}
		for i := range v {
			values[i] = append(values[i], v[i])
		}
	}
	out.Share = float64(keeps) / float64(len(p.drawn))
	variance := make([]float64, d)
	for i := range values {
		slices.Sort(values[i])
		out.Low = append(out.Low, stat.Quantile((1-p.level)/2, stat.LinInterp, values[i], nil))
		out.High = append(out.High, stat.Quantile((1+p.level)/2, stat.LinInterp, values[i], nil))
		variance[i] = stat.Variance(values[i], nil)
	}
	for _, r := range p.rows {
		out.Margins = append(out.Margins, r.Offset-floats.Dot(r.Normal, x.returns))
	}
	out.Unsure = p.drawer.unsure(p.mean, x.policy, variance)
	return out, nil
}
