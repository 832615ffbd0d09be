package query

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

// Scale returns the sides of the box of possible returns, by which rounding errors are measured, because
// returns may be of very different sizes.
func (q *Query) Scale() []float64 {
	sides, lower, upper := make([]float64, len(q.Returns)), q.Task.Box.Lower(), q.Task.Box.Upper()
	if q.Shape() == nil {
		exact.CutBox(lower, upper, q.Task.Target)
	}
	for i, x := range lower {
		sides[i] = max(upper[i]-x, 1e-3*math.Abs(x), 1e-3*math.Abs(upper[i]))
	}
	return sides
}

// Keeps reports whether returns v lie in the target up to rounding, each in its own measure.
func (q *Query) Keeps(v []float64) bool {
	if q.Task.Target == nil {
		return true
	}
	near := make([]float64, len(v))
	q.Task.Target.Project(near, v)
	for i, side := range q.Scale() {
		endless := math.IsInf(v[i], 0) && math.Abs(near[i]) == exact.Boundless
		if math.Abs(v[i]-near[i]) > 1e-9*side && !endless {
			return false
		}
	}
	return true
}

// A Standing says how an answer stands to a limit, in the limit's own units.
type Standing struct {
	// Limit is nil for a target set that no list of half-spaces gives, which is one limit as a whole.
	Limit *Limit
	// Slack is by how much the answer keeps the limit, NaN if that is not known. Scale is the size by which
	// rounding errors of Slack are measured.
	Slack, Scale float64
	// Price is how much the optimum improves for each unit by which the limit is relaxed. It is NaN without an
	// optimum, and for limits of every episode.
	Price float64
	// Prices are those of the target set as a whole, one for each return; nil for other limits.
	Prices []float64

	noise float64 // see Shown
}

// priceNoise is a share of the objective. A price that changes the objective by no more is noise: a degenerate optimum
// has many prices, and rounding picks one.
const priceNoise = 1e-9

// Shown is the price, and 0 where over all returns that are possible it changes the objective by less than is
// certified, or by no more than noise.
func (s *Standing) Shown() float64 {
	if s.Scale > 0 && s.Price*s.Scale <= s.noise {
		return 0
	}
	return s.Price
}

func (s *Standing) setNoise(r *exact.Result) {
	s.noise = max(math.Abs(r.Objective-r.Bound), priceNoise*math.Abs(r.Objective))
}

// Standings returns how an answer stands to each limit: to those that are rows of the task, to the target as a
// whole if it is no list of half-spaces, then to those of every episode.
func (q *Query) Standings(r *exact.Result) (list []Standing) {
	rest := slices.Clone(r.Dual) // what the rows leave of it is the price of a curved target
	sides, rows := q.Scale(), q.Rows()
	for k, price := range r.Prices {
		floats.AddScaled(rest, -price.Multiplier, price.Normal)
		if k >= len(rows) || rows[k].Scope == EveryEpisode {
			continue // it holds for all returns that are possible, or is listed below
		}
		slack, scale := price.Offset, 0.0
		for i, n := range price.Normal {
			if n != 0 { // what has no limit may be infinite
				slack -= n * r.Returns[i]
				scale += math.Abs(n) * sides[i]
			}
		}
		l := rows[k]
		list = append(list, Standing{Limit: l, Slack: l.Slack(slack), Scale: l.Slack(scale),
			Price: l.Price(price.Value)})
	}
	if _, polyhedral := halfspaces(q.Task); !polyhedral {
		list = append(list, Standing{Slack: math.NaN(), Price: floats.Norm(rest, 2), Prices: rest})
	}
	for i := range list {
		s := &list[i]
		s.setNoise(r)
		if r.Status != exact.Optimal || q.Task.Cost == nil {
			s.Price, s.Prices = math.NaN(), nil
		}
	}
	for _, l := range q.Of(EveryEpisode) {
		i := slices.Index(q.Returns, l.Return)
		list = append(list, Standing{Limit: l, Slack: slackOfEveryEpisode(q.Model, l, i, r), Scale: sides[i],
			Price: math.NaN()})
	}
	return list
}

// slackOfEveryEpisode returns by how much the episode that fares worst under an answer keeps a limit on return
// i, NaN if it is not known.
func slackOfEveryEpisode(m *cmdp.Model, l *Limit, i int, r *exact.Result) float64 {
	policies := Draws(r.Policy, r.Mixture)
	if len(policies) == 0 {
		return math.NaN()
	}
	slack := math.Inf(1)
	for _, c := range policies {
		if l.AtLeast {
			slack = min(slack, 0-monitor.Greatest(m, c.Policy, i, -1)-l.Bound)
		} else {
			slack = min(slack, l.Bound-monitor.Greatest(m, c.Policy, i, 1))
		}
	}
	return slack
}

// Branches returns the branches that endless runs come to where one of several policies is drawn at the start. Each has
// long-run means of its own, see [exact.Branches].
func (q *Query) Branches(ctx context.Context, drawn []Drawn) ([]exact.Branch, error) {
	var policies []cmdp.Policy
	var weights []float64
	for _, d := range drawn {
		policies, weights = append(policies, d.Policy), append(weights, d.Weight)
	}
	return exact.Branches(ctx, q.Model, policies, weights)
}

// BrokenForEver names the limits on long-run means that runs with these means break for ever, in a branch of
// [Query.Branches] or of an answer.
func (q *Query) BrokenForEver(means []float64) (names []string) {
	const rounding = 1e-9
	sides := q.Scale()
	for k, l := range q.Rows() {
		row := q.Task.Constraints[k]
		if !limitsMeans(q.Model, l, row) {
			continue
		}
		scale := math.Abs(row.Offset) * 1e-3
		for i, n := range row.Normal {
			if n != 0 {
				scale += math.Abs(n) * sides[i]
			}
		}
		if row.Excess(means, means) > rounding*scale {
			names = append(names, l.Name)
		}
	}
	if _, polyhedral := halfspaces(q.Task); !polyhedral && q.Model.Average() && !q.Keeps(means) {
		names = append(names, "target")
	}
	return names
}

// LimitsMeans reports whether some limit is on long-run means alone.
func (q *Query) LimitsMeans() bool {
	for k, l := range q.Rows() {
		if limitsMeans(q.Model, l, q.Task.Constraints[k]) {
			return true
		}
	}
	return false
}

// limitsMeans reports whether a limit, whose row of the task is given, is on long-run means alone.
func limitsMeans(m *cmdp.Model, l *Limit, row cmdp.Constraint) bool {
	for i, n := range row.Normal {
		if n != 0 && !m.Mean(i) {
			return false
		}
	}
	return l.Scope != EveryEpisode
}

// Visits returns at each step how much each state is visited under a policy. Without a horizon there is one step: it
// has expected visits, for long-run means shares of the time, and states that are only passed through on the way to
// these count a little.
func (q *Query) Visits(ctx context.Context, policy *exact.Policy) ([][]float64, error) {
	m := q.Model
	if m.Horizon() == 0 {
		x, err := exact.Visits(ctx, m, policy, nil)
		if err != nil {
			return nil, err
		}
		reached := markov.ReachedBy(m, policy)
		for s := range x {
			x[s] = max(x[s], 1e-300)
			if !reached[s] {
				x[s] = 0
			}
		}
		return [][]float64{x}, nil
	}
	visits := cmdp.NewEvaluator(m).Occupancy(policy)
	for h, taken := range visits {
		rows, x := m.Rows(h), make([]float64, m.States())
		for s := range x {
			first, end := rows.Choices(s)
			for _, y := range taken[first:end] {
				x[s] += y
			}
		}
		visits[h] = x
	}
	return visits, nil
}
