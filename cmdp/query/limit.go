package query

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
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

// constrain turns constraints into limits, and takes down what they want to be told of episodes.
func (u *unfolding) constrain() error {
	worst := 0
	for i := range u.p.Constraints {
		c := &u.p.Constraints[i]
		switch {
		case c.OnAverage():
			u.limits = append(u.limits, onAverage(i, c)...)
		case c.CVaR != nil:
			if err := u.worst(i, c, worst); err != nil {
				return problem.Inside(err, "constraints", u.p.PlaceOf(i))
			}
			worst++
		default:
			u.episodes(i, c)
		}
	}
	return nil
}

// onAverage returns the limits of a constraint on an expected return.
func onAverage(number int, c *problem.Limit) (limits []*Limit) {
	for _, atLeast := range []bool{true, false} {
		if x := *bound(c, atLeast); x != nil {
			limits = append(limits, newExpected(number, c.Return, *x, atLeast))
		}
	}
	return limits
}

// newExpected returns a bound on an expected return.
func newExpected(number int, name string, bound float64, atLeast bool) *Limit {
	return &Limit{Scope: OnAverage, Constraint: number, Name: words(name, atLeast, sixDigits(bound), ""), Return: name,
		Bound: bound, AtLeast: atLeast, expected: expected{name: name, atLeast: atLeast, bound: bound}}
}

// episodes takes down a constraint on the total of every episode, or of a share of them.
func (u *unfolding) episodes(i int, c *problem.Limit) {
	probability := 1.0
	if c.Probability != nil {
		probability = *c.Probability
	}
	for _, b := range []struct {
		bound *float64
		kind  monitor.LimitKind
	}{{c.AtLeast, monitor.AtLeast}, {c.AtMost, monitor.Above}} {
		if b.bound == nil {
			continue
		}
		limit := monitor.Threshold{Kind: b.kind, At: *b.bound}
		if probability < 1 {
			u.limits = append(u.limits, u.chance(i, c.Return, limit, probability))
			continue
		}
		u.limits = append(u.limits, u.always(i, c.Return, limit))
	}
}

// always returns a bound that holds whatever chance does.
func (u *unfolding) always(i int, of string, limit monitor.Threshold) *Limit {
	atLeast := limit.Kind == monitor.AtLeast
	l := &Limit{row: -1, expected: expected{name: chanceOf(of, limit)}}
	// Without a horizon no single choice breaks a lower bound, since the total may still grow, nor an upper bound
	// below what a falling total begins with.
	limit.Enforced = !u.soft && (u.p.Model.Horizon() > 0 || !atLeast && !(limit.At < 0 && u.falls(of)))
	if limit.Enforced {
		u.wanted = append(u.wanted, wanted{of, limit, "", atLeast, []any{"constraints", u.p.PlaceOf(i)}})
	} else {
		l = u.chance(i, of, limit, 1)
	}
	l.Scope = EveryEpisode
	l.Constraint = i
	l.Return = of
	l.Bound, l.AtLeast = limit.At, atLeast
	l.Name = words(of, atLeast, short(limit.At), " always")
	return l
}

// falls reports whether steps may give less than nothing of a return.
func (u *unfolding) falls(of string) bool {
	return slices.ContainsFunc(u.amounts(of), func(x float64) bool { return x < 0 })
}

// chance returns a bound that holds with a probability.
func (u *unfolding) chance(i int, of string, limit monitor.Threshold, probability float64) *Limit {
	l := &Limit{Scope: WithProbability, Constraint: i, AtLeast: limit.Kind == monitor.AtLeast,
		Return: chanceOf(of, limit), Bound: probability}
	if !l.AtLeast {
		l.Bound = complement(probability)
	}
	l.Name = words(l.Return, l.AtLeast, sixDigits(l.Bound), "")
	l.expected = expected{name: l.Return, atLeast: l.AtLeast, bound: l.Bound}
	large, known := u.opts.larger[l.Return]
	if !known {
		large = l.AtLeast
	}
	u.wanted = append(u.wanted, wanted{of, limit, l.Return, large, []any{"constraints", u.p.PlaceOf(i)}})
	return l
}

// chanceOf names the probability that a limit on a total bounds.
func chanceOf(of string, limit monitor.Threshold) string {
	relation := ">"
	if limit.Kind == monitor.AtLeast {
		relation = "≥"
	}
	return fmt.Sprintf("P(%s %s %s)", of, relation, short(limit.At))
}

// complement returns 1 − p as decimals, so that 0.95 leaves 0.05.
func complement(p float64) float64 {
	x, _ := new(big.Rat).SetString(short(p))
	rest, _ := x.Sub(big.NewRat(1, 1), x).Float64()
	return rest
}

// worst takes down that the mean of the worst episodes keeps a bound. number counts such constraints.
func (u *unfolding) worst(i int, c *problem.Limit, number int) error {
	l := &Limit{Scope: WorstEpisodes, Constraint: i, Name: c.String(), Return: c.Limited(), Share: *c.CVaR}
	kind, text := monitor.Excess, "excess of %s over %s"
	if c.AtLeast != nil {
		l.Bound, l.AtLeast, kind, text = *c.AtLeast, true, monitor.Shortfall, "shortfall of %s below %s"
	} else {
		l.Bound = *c.AtMost
	}
	l.Threshold = l.Bound
	if number < len(u.opts.Thresholds) {
		l.Threshold = u.opts.Thresholds[number]
	}
	limit := monitor.Threshold{Kind: kind, At: l.Threshold}
	totals, err := u.totalsOf(tail{c.Return, l.AtLeast}, limit)
	if err != nil {
		return err
	}
	if err := l.setThresholds(totals, c.Return); err != nil {
		return err
	}
	l.expected = expected{name: fmt.Sprintf(text, c.Return, short(l.Threshold)), bound: l.room()}
	u.limits = append(u.limits, l)
	u.wanted = append(u.wanted, wanted{c.Return, limit, l.expected.name, false, []any{"constraints", u.p.PlaceOf(i)}})
	return nil
}

// Rows returns the limit that each row of the task stands for.
func (q *Query) Rows() []*Limit { return rowsOf(q.Limits) }

// rowsOf returns the limits that rows of a task stand for.
func rowsOf(limits []*Limit) []*Limit {
	rows := make([]*Limit, 0, len(limits))
	for _, l := range limits {
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

// nameApart gives limits that are written alike names of their own: with all digits of the bound or, where these are
// the same too, with their place in the file.
func nameApart(limits []*Limit, p *problem.Problem) {
	written := func() map[string]int {
		times := make(map[string]int)
		for _, l := range limits {
			times[l.Name]++
		}
		return times
	}
	times := written()
	for _, l := range limits {
		if times[l.Name] > 1 && (l.Scope == OnAverage && l.Step == 0 || l.Scope == WithProbability) {
			l.Name = words(l.Return, l.AtLeast, short(l.Bound), "")
		}
	}
	times = written()
	for _, l := range limits {
		if times[l.Name] > 1 {
			l.Name += fmt.Sprintf(" (constraints[%d])", p.PlaceOf(l.Constraint))
		}
	}
}

// words writes a bound, such as "fuel ≤ 8 always".
func words(of string, atLeast bool, bound, after string) string {
	return of + " " + problem.Relation(atLeast) + " " + bound + after
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// sixDigits writes a number for people with at most six significant digits.
func sixDigits(x float64) string {
	return strconv.FormatFloat(x+0, 'g', 6, 64) // + 0 makes -0 plain
}
