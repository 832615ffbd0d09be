package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/floats"
)

// A Scope says what a limit is about.
type Scope int

const (
	// OnAverage bounds an expected return.
	OnAverage Scope = iota
	// WithProbability asks for a total with a probability: it bounds the probability of passing it.
	WithProbability
	// EveryEpisode asks that the total of a return keeps a bound in every episode.
	EveryEpisode
	// WorstEpisodes bounds the mean over the worst episodes, a share of all (CVaR).
	WorstEpisodes
	// OfTarget is a side of the target set.
	OfTarget
)

// A Limit is one side of a constraint, or of the target, in the user's words and units. What it comes to in the
// model that is planned for is a bound on one expected return, or nothing where the model offers no choice that
// breaks it. It is known by its place in Query.Limits: nothing finds a limit again by its numbers.
type Limit struct {
	Scope Scope
	// Constraint is its number among the constraints of the problem, -1 for a side of the target.
	Constraint int
	// Name says all of it, such as "fuel ≤ 8", "P(fuel > 8) ≤ 0.1", "fuel ≤ 40 always" or "mean of the worst
	// 10% of fuel ≤ 8".
	Name string
	// Return is what is bounded, such as "fuel", "P(fuel > 8)" or "mean of the worst 10% of fuel"; "" if it is
	// more than one return.
	Return string
	Bound  float64
	// AtLeast says that Bound is the least that is allowed, else it is the most.
	AtLeast bool
	// Step is the step, counted from 1, at which the limit holds for what a fleet returns there; 0 for the episode.
	Step int
	// Share of the episodes are the worst ones, and Threshold is where they are taken to begin, one of
	// Thresholds. The limit holds if for some threshold τ the mean excess over τ is at most Share·(Bound − τ)
	// (Rockafellar, Uryasev 2000).
	Share, Threshold float64
	Thresholds       []float64

	expected expected
	row      int // of the task, -1 if what the model offers keeps the limit
}

// expected is a bound on an expected return of the model.
type expected struct {
	name       string // of the return
	coordinate int    // -1 for a side of the target that is about several
	atLeast    bool
	bound      float64
}

// The kinds of a limit with one bound, which are the keys that a file has it under.
const (
	AtLeast = "at_least"
	AtMost  = "at_most"
)

// Kind is [AtMost] or [AtLeast], "always" for a limit of every episode and "target" for a side of the target.
func (l *Limit) Kind() string {
	switch {
	case l.Scope == EveryEpisode:
		return "always"
	case l.Scope == OfTarget:
		return "target"
	}
	return side(l.AtLeast)
}

// side is the key under which a file has a bound.
func side(atLeast bool) string {
	if atLeast {
		return AtLeast
	}
	return AtMost
}

// Enforced reports whether the model offers no choice that may break the limit, which then has no price.
func (l *Limit) Enforced() bool { return l.row < 0 }

// scale is by how much a unit of the limit moves the bound on the expected return.
func (l *Limit) scale() float64 {
	if l.Scope == WorstEpisodes {
		return l.Share
	}
	return 1
}

// Price turns the price of a unit of the bound on the expected return into that of a unit of the limit.
func (l *Limit) Price(of float64) float64 { return of * l.scale() }

// Slack turns the slack of the bound on the expected return into that of the limit, in its own units.
func (l *Limit) Slack(of float64) float64 { return of / l.scale() }

// Coordinate is the return of the model whose expectation the limit bounds, -1 if it is none or more than one.
func (l *Limit) Coordinate() int {
	if l.row < 0 {
		return -1
	}
	return l.expected.coordinate
}

// Slacks returns the least and the most slack of the limit while the expected return that it bounds lies between
// lower and upper.
func (l *Limit) Slacks(lower, upper float64) (least, most float64) {
	if l.expected.atLeast {
		return l.Slack(lower - l.expected.bound), l.Slack(upper - l.expected.bound)
	}
	return l.Slack(l.expected.bound - upper), l.Slack(l.expected.bound - lower)
}

// room is what the mean excess over the threshold may be.
func (l *Limit) room() float64 {
	x := l.Share * (l.Bound - l.Threshold)
	if l.AtLeast {
		return 0 - x
	}
	return x
}

// beyond reports whether its threshold of the worst episodes is beyond the bound of their mean, so that no
// policy can do.
func (l *Limit) beyond() bool { return l.Scope == WorstEpisodes && l.room() < 0 }

// Rows returns the limit that each row of the task stands for.
func (q *Query) Rows() []*Limit {
	rows := make([]*Limit, 0, len(q.Limits))
	for _, l := range q.Limits {
		if l.row >= 0 {
			rows = append(rows, l)
		}
	}
	return rows
}

// Of returns the limits of a scope.
func (q *Query) Of(scope Scope) (limits []*Limit) {
	for _, l := range q.Limits {
		if l.Scope == scope {
			limits = append(limits, l)
		}
	}
	return limits
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
		floats.AddScaled(rest, -price.Value, price.Normal)
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
	if _, polyhedral := q.Task.LinearConstraints(q.Task.Box.Lower(), q.Task.Box.Upper()); !polyhedral {
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
		list = append(list, Standing{Limit: l, Slack: q.slackOfEveryEpisode(l, i, r), Scale: sides[i],
			Price: math.NaN()})
	}
	return list
}

// slackOfEveryEpisode returns by how much the episode that fares worst under an answer keeps a limit on return
// i, NaN if it is not known.
func (q *Query) slackOfEveryEpisode(l *Limit, i int, r *exact.Result) float64 {
	policies := Draws(r.Policy, r.Mixture)
	if len(policies) == 0 {
		return math.NaN()
	}
	slack := math.Inf(1)
	for _, c := range policies {
		if l.AtLeast {
			slack = min(slack, 0-monitor.Greatest(q.Model, c.Policy, i, -1)-l.Bound)
		} else {
			slack = min(slack, l.Bound-monitor.Greatest(q.Model, c.Policy, i, 1))
		}
	}
	return slack
}

// words writes a bound, such as "fuel ≤ 8 always".
func words(of string, atLeast bool, bound, after string) string {
	return of + " " + problem.Relation(atLeast) + " " + bound + after
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// short6 writes a number for people with at most six significant digits.
func short6(x float64) string {
	return strconv.FormatFloat(x+0, 'g', 6, 64) // + 0 makes -0 plain
}

// maxThresholds bounds the thresholds of a limit on the worst episodes.
const maxThresholds = 10_000

// onAverage returns the limits of a constraint on an expected return.
func onAverage(number int, c *problem.Constraint) (limits []*Limit) {
	for _, b := range []struct {
		bound   *float64
		atLeast bool
	}{{c.AtLeast, true}, {c.AtMost, false}} {
		if b.bound != nil {
			limits = append(limits, &Limit{Scope: OnAverage, Constraint: number,
				Name: words(c.Return, b.atLeast, short6(*b.bound), ""), Return: c.Return,
				Bound: *b.bound, AtLeast: b.atLeast, expected: expected{name: c.Return, atLeast: b.atLeast,
					bound: *b.bound}})
		}
	}
	return limits
}

// setThresholds lists where the worst episodes may be taken to begin.
func (l *Limit) setThresholds(totals func(bound float64) []float64, of string) error {
	l.Thresholds = totals(l.Bound)
	if len(l.Thresholds) > maxThresholds {
		return fmt.Errorf("the total of %s has more than %d values that the worst episodes may begin at: want a "+
			"coarser resolution", of, maxThresholds)
	}
	return nil
}

// Expression writes a linear form of the returns for people, such as "reward + 2 cost".
func (q *Query) Expression(coefficients []float64) string {
	var b strings.Builder
	for i, x := range coefficients {
		if x == 0 {
			continue
		}
		switch {
		case b.Len() == 0 && x < 0:
			b.WriteString("-")
		case x < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		if size := math.Abs(x); size != 1 {
			b.WriteString(strconv.FormatFloat(size, 'g', 3, 64) + " ")
		}
		b.WriteString(q.Returns[i])
	}
	return b.String()
}
