package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Safe is a plan whose limits hold with a probability in each episode, and not only in the mean.
type Safe struct {
	// Plan keeps the limits less the margins in the mean. Its bound and prices are those of the tightened
	// limits. It may be "infeasible": then no plan keeps the tightened limits, or none was found.
	*Plan
	// Without is the plan without margins: the difference of the objectives is what they cost.
	Without *Plan
	// Margins are by how much each limit is tightened, at least 0, and Holds is the probability with which the
	// plan keeps each limit.
	Margins []float64
	Holds   []Holding
	// Probability is the one that was asked for.
	Probability float64
	// Met says that every limit holds with the probability that was asked for.
	Met bool
	// Rounds counts the plans.
	Rounds int
}

// A Holding is the probability with which a limit holds. Of one that was found by playing episodes Half is the
// half-width of its 95% confidence interval.
type Holding struct {
	Probability float64
	Episodes    int // 0 if it was computed
	Half        float64
}

const (
	// marginRounds bounds the plans of SolveSafely. The first steps of margins, up to marginQuantiles, are by
	// quantiles, the others by Newton's method on the normal approximation; after marginLoosens margins are
	// only made larger.
	marginRounds    = 40
	marginQuantiles = 6
	marginLoosens   = 24
	// marginEpisodes are played where values cannot be counted.
	marginEpisodes = 10_000
)

// SolveSafely plans so that every limit holds with a probability in an episode in which each agent plays the
// policy that it is given. Limits are tightened by margins, one for each, that are found from the distributions
// of the sums: first by as much as a quantile is beyond the bound, then by Newton steps on the normal
// approximation. The best plan counts for which the distributions themselves keep the limits. Where values
// cannot be counted, episodes are played with the seed. task returns the task with other bounds of the same
// limits, in the same order; [Planner.Task] makes such tasks.
func (p *Planner) SolveSafely(ctx context.Context, limits []Limit, task func(limits []Limit) (cmdp.Task, error),
	probability float64, seed uint64, opts exact.Options) (*Safe, error) {
	if !(probability > 0 && probability < 1) {
		return nil, fmt.Errorf("fleet: limits hold with probability %g: want above 0 and below 1", probability)
	}
	if p.fleet.Horizon() == 0 {
		return nil, errHorizon
	}
	asked, err := task(limits)
	if err != nil {
		return nil, err
	}
	plan, err := p.Solve(ctx, asked, opts)
	if err != nil {
		return nil, err
	}
	s := &safety{planner: p, limits: limits, probability: probability, seed: seed}
	margins := make([]float64, len(limits))
	push := slices.Repeat([]float64{1}, len(limits))
	best := &Safe{Plan: plan, Without: plan, Margins: margins, Probability: probability}
	for round := 1; round <= marginRounds; round++ {
		if plan.Status != exact.Optimal {
			break
		}
		holds, over, err := s.judge(ctx, plan)
		if err != nil {
			return nil, err
		}
		met := !slices.ContainsFunc(holds, func(h Holding) bool { return h.Probability < probability })
		gained := best.Met && plan.Objective < best.Objective-1e-9*(1+math.Abs(best.Objective))
		if !best.Met || met && gained {
			best = &Safe{Plan: plan, Without: best.Without, Margins: margins, Holds: holds, Met: met,
				Probability: probability}
		}
		best.Rounds = round
		step := over.quantile
		if round > marginQuantiles {
			step = over.newton
		}
		next, changed := moved(margins, push, step, over.deviation, round > marginLoosens)
		if !changed && round <= marginQuantiles {
			round = marginQuantiles
			next, changed = moved(margins, push, over.newton, over.deviation, false)
		}
		if !changed || best.Met && round > marginLoosens {
			break
		}
		margins = next
		tight, err := task(tightened(limits, margins))
		if errors.Is(err, geometry.ErrEmpty) { // the margins of two sides leave nothing between them
			break
		}
		if err != nil {
			return nil, err
		}
		plan, err = p.Solve(ctx, tight, opts)
		if err != nil {
			return nil, err
		}
		if plan.Status != exact.Optimal && !best.Met {
			best = &Safe{Plan: plan, Without: best.Without, Margins: margins, Probability: probability,
				Rounds: round + 1}
		}
	}
	return best, nil
}

// moved returns margins that have made a step, and whether one of them has changed. Whole agents change in
// jumps: of a step that does not help push doubles the next one. Margins may be kept from becoming smaller.
func moved(margins, push, step, deviation []float64, grow bool) (next []float64, changed bool) {
	next = slices.Clone(margins)
	for k, x := range step {
		if x <= 0 {
			push[k] = 1
			if grow {
				continue
			}
		} else {
			x *= push[k]
			push[k] *= 2
		}
		next[k] = max(0, margins[k]+x)
		changed = changed || math.Abs(next[k]-margins[k]) > 1e-4*(deviation[k]+margins[k])
	}
	return next, changed
}

// tightened returns limits with their bounds moved by margins.
func tightened(limits []Limit, margins []float64) []Limit {
	out := slices.Clone(limits)
	for k := range out {
		if out[k].AtLeast {
			out[k].Bound += margins[k]
		} else {
			out[k].Bound -= margins[k]
		}
	}
	return out
}

// steps are by how much margins have to grow: by the quantiles of what is limited, and by Newton's method. The standard
// deviation of what is limited is the unit in which a step may be too small to count.
type steps struct{ quantile, newton, deviation []float64 }

// safety judges plans by what agents do on their own.
type safety struct {
	planner     *Planner
	limits      []Limit
	probability float64
	seed        uint64
}

// newton returns by how much a margin has to grow for a limit that holds with a probability to hold with the
// one that is asked for, negative where it may shrink: what it would be for a normal distribution of the same
// standard deviation. Where nothing varies it is by how much the quantile is beyond the bound.
func (s *safety) newton(holds, sd, beyond float64) float64 {
	if sd == 0 {
		return beyond
	}
	// A probability near to 0 or 1 tells little of how far the margin is off: no step is longer than a standard
	// deviation.
	const certain = 1e-9
	z := distuv.UnitNormal.Quantile(min(1-certain, max(certain, holds)))
	return sd * min(1, max(-1, distuv.UnitNormal.Quantile(s.probability)-z))
}

// judge returns the probability with which each limit holds, and by how much its margin has to grow, negative
// where it may shrink.
func (s *safety) judge(ctx context.Context, plan *Plan) (holds []Holding, over steps, err error) {
	f := s.planner.fleet
	player, err := NewIndependent(f, plan)
	if err != nil {
		return nil, over, err
	}
	task := cmdp.Task{}
	for _, l := range s.limits {
		c, err := f.Constraint(l)
		if err != nil {
			return nil, over, err
		}
		task.Constraints = append(task.Constraints, c)
	}
	distributions, err := player.Sums(ctx, task)
	if err != nil {
		return nil, over, err
	}
	holds = make([]Holding, len(s.limits))
	over = steps{
		quantile:  make([]float64, len(s.limits)),
		newton:    make([]float64, len(s.limits)),
		deviation: make([]float64, len(s.limits)),
	}
	for k, d := range distributions {
		if d == nil {
			continue
		}
		offset := task.Constraints[k].Offset
		holds[k] = Holding{Probability: d.AtMost(offset)}
		over.quantile[k] = d.Least(s.probability) - offset
		over.deviation[k] = d.SD()
		over.newton[k] = s.newton(holds[k].Probability, over.deviation[k], over.quantile[k])
	}
	if slices.Contains(distributions, nil) {
		err = s.play(ctx, player, task, distributions, holds, over)
	}
	return holds, over, err
}

// play judges the limits that have no distribution by episodes.
func (s *safety) play(ctx context.Context, player Player, task cmdp.Task, known []*Sum, holds []Holding,
	over steps) error {
	f := s.planner.fleet
	rows, err := f.rowsOf(task)
	if err != nil {
		return err
	}
	values := make([][]float64, len(rows))
	options := PlayOptions{Episodes: marginEpisodes, Seed: s.seed, Each: func(v []float64) {
		for k := range rows {
			if known[k] == nil {
				values[k] = append(values[k], rows[k].value(v))
			}
		}
	}}
	played, err := Play(ctx, f, task, player, options)
	if err != nil {
		return err
	}
	for k, x := range values {
		if known[k] != nil {
			continue
		}
		slices.Sort(x)
		broken := played.Limits[k].Broken
		holds[k] = Holding{Probability: 1 - broken.Share, Episodes: marginEpisodes,
			Half: max(broken.High-broken.Share, broken.Share-broken.Low)}
		at := min(len(x)-1, int(math.Ceil(s.probability*float64(len(x))))-1)
		over.quantile[k] = x[max(0, at)] - rows[k].Offset
		over.deviation[k] = stat.StdDev(x, nil)
		over.newton[k] = s.newton(holds[k].Probability, over.deviation[k], over.quantile[k])
	}
	return nil
}
