package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
)

// A pricingProblem answers for a compact convex set, such as the set 𝒱 of the returns of all policies of a model, which
// of its points is the least in a direction (Lübbecke and Desrosiers 2005). It is all that column generation knows of
// the set. It is not safe for concurrent use.
type pricingProblem interface {
	// dim returns the dimension of 𝒱.
	dim() int
	// extent sets lower and upper to the sides of a box around 𝒱, ±Boundless where there
	// is none.
	extent(ctx context.Context, lower, upper []float64) error
	// price finds a deterministic policy that minimises dir·V, or one that is worse by aim at most, if it says so. The
	// same direction finds the same policy again.
	price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error)
	// recheck computes a lower bound of V*(dir) by other means than price: value −
	// margin, margin being a bound of all errors.
	recheck(ctx context.Context, dir []float64) (value, margin float64, err error)
	// traits says what is special about the problem. It is the same at all times, but for what matters.
	traits() traits
}

// traits are what pricing problems differ in, for those who use them.
type traits struct {
	// unboundedTotals tells that some returns are totals, whose extremes take as long to find as an answer, and may
	// be infinite.
	unboundedTotals bool
	// infiniteHorizon tells that some returns are totals or discounted sums, which may be far smaller than the sides of
	// a box around them.
	infiniteHorizon bool
	// magnified are what the rounding of a step comes to in each return with a discount so near to 1 that it matters,
	// nil elsewhere.
	magnified []float64
	// singlePolicy tells that what is best in a direction is a single policy.
	singlePolicy bool
	// usesSweeps tells that some part of the model is so large that it is solved by sweeps, which take the longer
	// the more exact they are.
	usesSweeps bool
	// uncertified tells that nothing is proved of the answers, so that no certificate is made of them.
	uncertified bool
	// stateless tells that every call starts anew: the next one may follow on one that was interrupted.
	stateless bool
	// steps are the largest magnitudes of each return in a step, nil if they are not known.
	steps []float64
	// cancelling are the same where steps that cancel out may leave a total that is far smaller, nil if they are not
	// known.
	cancelling []float64
	// relevance says which returns matter to what is asked, nil for any. Where relevanceOnly is true, answers are good
	// for nothing else; else they are good for any, and it may be set to what matters to the next task.
	relevance     *relevance
	relevanceOnly bool
	// improper tells whether some policy goes on for ever for a return that has to be finite, so that V* leaves it out;
	// nil where none does.
	improper func(ctx context.Context) (bool, error)
	// rays answers that V* is −∞ in a direction, and how policies go on for ever there; nil where that does not happen.
	rays rayModel
	// purificationCost says how long it takes to make one policy of a mixture of columns; nil where it is never long.
	purificationCost func(columns []column) purificationCost
	// crossover returns a policy between two columns, see infiniteHorizon.crossover; nil where purificationCost is.
	crossover func(ctx context.Context, columns []column, weights []float64) (*column, error)
	// roundQuickly makes one policy of a mixture, see infiniteHorizon.roundQuickly; nil where purificationCost is.
	roundQuickly func(ctx context.Context, columns []column, weights []float64, f face, spare float64) (*Policy, error)
	// simultaneous makes what prices several directions at once; nil where each is priced by itself.
	simultaneous func(ctx context.Context) (*simultaneousPricer, error)
	// blocks is the number of parts that a sum consists of, each of which has columns of its own; 0 stands for 1.
	blocks int
	// classes joins recurrent classes, and says in which ways endless runs of a policy can go on; nil where policies
	// have no recurrent classes that matter.
	classes *averageReward
}

// A pricer is the pricing problem of a model, which makes one policy of a mixture as well.
type pricer interface {
	pricingProblem
	// configure says whom to tell of what is done from now on, which relative error of a bound does not matter, 0 for
	// rounding, and whether bounds that are not exact are to be proved all the same.
	configure(tell progress.Func, enough float64, proving bool)
	// recoverPolicy returns the policy that has the occupancies of the mixture of
	// columns, which draws as seldom as the face allows. The cost may grow by spare.
	recoverPolicy(ctx context.Context, columns []column, weights []float64, face face, spare float64) (*Policy, error)
	// evaluate returns the expected returns of a policy, by other means than price.
	evaluate(ctx context.Context, p *Policy) ([]float64, error)
}

// pricedPolicy is an answer of a pricer: the returns of the policy found, and
// V*(dir) ≥ value − margin, where margin bounds the errors.
type pricedPolicy struct {
	returns       []float64
	value, margin float64
	approximate   bool               // the policy may be worse than the best one by what was aimed at
	certified     bool               // the bound is that of a pass over the model, as of recheck
	withInfinite  []float64          // the returns with those that do not end, nil if all of them do
	policy        *columnPolicy      // kept by pricers for which that is cheap
	tables        [][]markov.Actions // of each part of a block the actions of each step, where they are kept
	number        int                // of a Mixer
	// returns of a step in loops whose returns cancel out in the direction, up to rounding
	cancellingGains [][]float64
	// ray, if not nil, shows that V* is −∞ in the direction. returns is then the gain of
	// each step in a place where a policy may go on for ever.
	ray *ray
	// parts are the answers of the parts of a sum, their returns weighted and in its coordinates; nil without parts.
	parts []pricedPolicy
}

// pricedDirections are directions that were priced up to rounding. The policies found are columns already.
type pricedDirections struct {
	dirs  [][]float64
	found []pricedPolicy
}

// keep notes what was found in a direction, unless the policy may be worse than the best one.
func (d *pricedDirections) keep(p pricedPolicy, dir []float64) {
	if d != nil && !p.approximate {
		p.policy, p.tables, p.parts = nil, nil, nil
		d.dirs, d.found = append(d.dirs, slices.Clone(dir)), append(d.found, p)
	}
}

// find returns what was found in a direction, nil if it is not known.
func (d *pricedDirections) find(dir []float64) *pricedPolicy {
	if d == nil {
		return nil
	}
	at := slices.IndexFunc(d.dirs, func(o []float64) bool { return slices.Equal(o, dir) })
	if at < 0 {
		return nil
	}
	return &d.found[at]
}

// A column is a deterministic policy in the master: its returns, and the policy
// itself or the direction for which the pricer finds it again.
type column struct {
	returns, dir []float64
	policy       *columnPolicy
	tables       [][]markov.Actions
	number       int
	surplus      *surplus // a limit, instead of a policy; ray is not nil then
	ray          *ray     // returns are then those of a step, see pricedPolicy
	link         *link    // instead of a policy: joins recurrent classes
	leastWeight  float64  // the weight is at least that
	block        int      // of the sum, see traits.blocks
}

// A columnPolicy is the policy of a column, which may be made when it is asked for: most columns are not.
type columnPolicy struct {
	known *markov.Actions
	make  func() *markov.Actions // instead; it may be called concurrently, and returns the same every time
}

// knownPolicy returns a policy that is there.
func knownPolicy(policy *markov.Actions) *columnPolicy { return &columnPolicy{known: policy} }

// actions returns the policy, which is only read.
func (c *columnPolicy) actions() *markov.Actions {
	if c.known != nil {
		return c.known
	}
	return c.make()
}

// actionAt returns the action of a column's policy in a state.
func (c *column) actionAt(s int32) int { return c.policy.actions().At(int(s)) }

func newColumn(p pricedPolicy, dir []float64) column {
	return column{returns: p.returns, dir: slices.Clone(dir), policy: p.policy, tables: p.tables, number: p.number,
		ray: p.ray}
}

// Boundless stands for infinity in the sides of boxes, which have to be finite.
const Boundless = 1e99
