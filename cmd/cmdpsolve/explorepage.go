package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// aboutReport is what the page has to know of the problem.
type aboutReport struct {
	Title   string        `json:"title"`
	Name    string        `json:"name"` // what the user called it
	Wanted  string        `json:"wanted"`
	Size    string        `json:"size"`
	Returns []aboutReturn `json:"returns"`
	Tails   []aboutReturn `json:"tails"` // means of the worst episodes that are limited
	Goal    goalQuestion  `json:"goal"`  // kind cost for one that is neither of two
	Limits  []query.Bound `json:"limits"`
	Others  []string      `json:"others"` // limits that the page cannot move
	Always  []aboutAlways `json:"always"`
	// Constants are those of the file.
	Constants []problem.Constant `json:"constants"`
	Remembers []string           `json:"remembers"` // what policies remember
	Target    bool               `json:"target"`
	Extent    report.Number      `json:"extent"` // of the possible returns
	Game      bool               `json:"game"`
	Average   bool               `json:"average"`
	Steps     int                `json:"steps"` // 0 without a horizon
	States    int                `json:"states"`
	Large     bool               `json:"large"` // too large for an answer at every touch
	Grid      *gridReport        `json:"grid,omitempty"`
	Fleet     *aboutFleet        `json:"fleet,omitempty"`
	// Intervals says whether the page can widen probabilities.
	Intervals bool `json:"intervals"`
}

// aboutReturn is a return with its range over all policies.
type aboutReturn struct {
	Name string        `json:"name"`
	Min  report.Number `json:"min"`
	Max  report.Number `json:"max"`
	// Probability says that limits below 0 and above 1 make no sense.
	Probability bool `json:"probability,omitempty"`
}

// quick is up to how many transitions of all steps a plan is ready at every touch.
const quick = 20_000_000

func (e *explorer) describe(ctx context.Context) (*aboutReport, error) {
	m := e.Members()[0].Model
	states, _, _ := e.Size()
	a := &aboutReport{Title: e.title(), Name: e.name, Wanted: e.wanted(), Size: e.size(),
		Target: e.Problem.Target != nil, Extent: report.Number(e.extent()),
		Goal: goalQuestion{Kind: "none"}, Limits: []query.Bound{}, Tails: []aboutReturn{}, Others: []string{},
		Always: alwaysLimits(e.Problem), Constants: e.Problem.Constants(), Remembers: []string{}, Game: e.isGame(),
		Average: m.Average(), Steps: m.Horizon(), States: states,
		Large: work(e.loaded) > quick, Grid: gridOf(e.Query),
		Intervals: !e.isGame() && !e.isFleet() && len(e.Of(query.WorstEpisodes)) == 0}
	switch g := e.Problem.Goal; {
	case g.Maximize != "":
		a.Goal = goalQuestion{"maximize", g.Maximize}
	case g.Minimize != "":
		a.Goal = goalQuestion{"minimize", g.Minimize}
	case g.Cost != nil:
		a.Goal.Kind = "cost"
	}
	for _, name := range e.alwaysNames() {
		if !slices.ContainsFunc(a.Always, func(l aboutAlways) bool { return strings.HasPrefix(name, l.Name) }) {
			a.Others = append(a.Others, name)
		}
	}
	for _, r := range e.Product.Remembered() {
		a.Remembers = append(a.Remembers, r.Name)
	}
	names := e.Limitable()
	for _, name := range names {
		for _, kind := range []string{query.AtLeast, query.AtMost} {
			if value, is := e.Given(kind, name); is {
				a.Limits = append(a.Limits, query.Bound{Return: name, Kind: kind, Value: value})
			}
		}
	}
	var low, high []float64
	var err error
	if a.Game {
		low, high, err = forced(ctx, m)
	} else {
		var planner *exact.Planner
		planner, err = e.Planner()
		if err == nil {
			low, high, err = planner.Ranges(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	for i, name := range e.Returns {
		if slices.Contains(names, name) {
			a.Returns = append(a.Returns, aboutReturn{name, report.Number(min(low[i], high[i])),
				report.Number(max(low[i], high[i])), isProbability(e.Problem, name)})
		}
	}
	if e.isFleet() {
		e.describeFleet(a, low, high)
	}
	for _, l := range e.Of(query.WorstEpisodes) {
		name := e.Problem.Constraints[l.Constraint].Return
		of := a.Returns[slices.IndexFunc(a.Returns, func(r aboutReturn) bool { return r.Name == name })]
		a.Tails = append(a.Tails, tailOf(l, of, low, high))
	}
	return a, nil
}

// tailOf is the mean of the worst episodes of a return, as far as it can go beyond the mean of all.
func tailOf(l *query.Limit, of aboutReturn, low, high []float64) aboutReturn {
	of.Name = l.Return
	c := l.Coordinate()
	if c < 0 {
		return of
	}
	least, _ := l.Slacks(low[c], high[c])
	if l.AtLeast {
		of.Min = min(of.Min, report.Number(l.Bound+least))
	} else {
		of.Max = max(of.Max, report.Number(l.Bound-least))
	}
	return of
}

// isProbability reports whether a return is the probability of an event: one that the problem declares, or that
// a limit came to.
func isProbability(p *problem.Problem, name string) bool {
	i := slices.Index(p.Returns, name)
	if i < 0 {
		return strings.HasPrefix(name, "P(")
	}
	return p.Kinds != nil && (p.Kinds[i].Reach != nil || p.Kinds[i].Exceeds != nil)
}

// episodesQuestion asks for the returns of episodes.
type episodesQuestion struct {
	ID    int    `json:"id"`
	Seed  uint64 `json:"seed"`
	Count int    `json:"count"`
}

// episodesAnswer says how returns vary from episode to episode. Played is 0 if none had to be played.
type episodesAnswer struct {
	Returns []variedReturn `json:"returns"`
	Played  int            `json:"played"`
}

// A variedReturn is the distribution of a return: values with their shares of the episodes. Half is that of the
// 95% confidence interval of the mean, 0 where all is computed.
type variedReturn struct {
	Values []report.Number `json:"values"`
	Shares []report.Number `json:"shares"`
	Exact  bool            `json:"exact"`
	Mean   report.Number   `json:"mean"`
	Half   report.Number   `json:"half"`
}

// mostCounting bounds the time for which distributions are computed before episodes are played.
var mostCounting = 2 * time.Second

// mostEpisodes bounds the episodes that are played for the page, mostPlayed their steps, mostValues the
// values of a distribution that is computed.
const (
	mostValues   = 20_000
	mostEpisodes = 4000
	mostPlayed   = 2_000_000
)

// playEpisodes tells how the returns of a plan vary: exactly where they can be counted, else by playing it.
func (e *explorer) playEpisodes(ctx context.Context, text []byte, progress func(any)) (any, error) {
	var q episodesQuestion
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	plan, err := e.played(q.ID)
	if err != nil {
		return nil, err
	}
	if e.isGame() {
		return nil, errors.New("the returns of a game depend on both players")
	}
	if plan.types != nil {
		return e.playFleet(ctx, plan, &q)
	}
	sim := query.NewSimulation(plan.of.Query, query.Draws(plan.policy, plan.mixture), q.Seed, 1000)
	if sim.Ends() && e.Model.Discount() == 1 {
		if err := checkEnds(plan.of.Returns, plan.returns); err != nil {
			return nil, err
		}
	}
	a := &episodesAnswer{Returns: make([]variedReturn, len(e.about.Returns))}
	at := make([]int, len(a.Returns)) // of the page's returns, in the plan's
	for i, r := range e.about.Returns {
		at[i] = slices.Index(plan.of.Returns, r.Name)
	}
	counted, cancel := context.WithTimeout(ctx, mostCounting)
	defer cancel()
	var sampled []int
	for i := range a.Returns {
		if values, shares, ok := sim.Exactly(counted, at[i]); ok && len(values) <= mostValues {
			a.Returns[i] = variedReturn{report.Numbers(values), report.Numbers(shares), true,
				report.Number(floats.Dot(values, shares)), 0}
		} else {
			sampled = append(sampled, i)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if sampled == nil {
		return a, nil
	}
	a.Played = min(mostEpisodes, max(200, q.Count), max(200, mostPlayed/max(1, min(sim.Steps, mostPlayed))))
	for range a.Played {
		if err := sim.Play(ctx); err != nil {
			return nil, err
		}
		for _, i := range sampled {
			r := &a.Returns[i]
			r.Values, r.Shares = append(r.Values, report.Number(sim.Total[at[i]])),
				append(r.Shares, 1/report.Number(a.Played))
			r.Mean, r.Half = report.Number(sim.Mean[at[i]]), report.Number(sim.Half(at[i]))
		}
	}
	return a, nil
}

// filesAnswer is what the page offers to save.
type filesAnswer struct {
	Problem string `json:"problem"`
	Command string `json:"command"`
	Policy  string `json:"policy,omitempty"`
	File    string `json:"file,omitempty"` // of the policy, if not policy.csv
	// Withheld says why something is not there.
	Withheld string `json:"withheld,omitempty"`
}

// mostSaved bounds the bytes of a file that the page saves.
const mostSaved = 32 << 20

// files writes the problem as it stands, the command that plans it, and with an id the policy.
func (e *explorer) files(ctx context.Context, text []byte, _ func(any)) (any, error) {
	q, p, err := e.read(ctx, text)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return nil, err
	}
	a := &filesAnswer{}
	args := []string{"cmdpsolve", "plan", e.name}
	if e.saved { // no option changes limits that hold in every episode
		args[2] = "problem.yaml"
	} else {
		args = append(args, e.called...)
	}
	args = append(args, e.variation(&q).flags()...)
	for i, s := range args {
		args[i] = quote(s)
	}
	a.Command = strings.Join(args, " ")
	var file, policy bounded
	switch err := problem.Write(&file, p.Problem); {
	case errors.Is(err, errTooLong):
		a.Withheld = "the problem is too large for the page; the command has the same limits"
	case err != nil && p.Remembers():
		a.Withheld = fmt.Sprintf("these limits on the course of episodes cannot be written to a file (%v); the "+
			"command has them", err)
	case err != nil:
		return nil, err
	}
	if a.Withheld == "" {
		a.Problem = file.String()
	}
	plan, err := e.played(q.ID)
	if err == nil && plan.types != nil && q.Type >= 0 && q.Type < len(plan.types.Types) {
		a.File = typeFile("policy.csv", plan.of.Fleet().Types[q.Type].Name)
		plan = plan.agentOf(q.Type)
	}
	if err != nil || plan.policy == nil && plan.mixture == nil {
		return a, nil
	}
	a.Command += " --policy policy.csv"
	switch err := problem.WritePolicyCSV(&policy, plan.of.PlanRows(plan.policy, plan.mixture)); {
	case errors.Is(err, errTooLong):
		a.Withheld = "the policy is too large for the page; the command writes it to a file"
	case err != nil:
		return nil, err
	default:
		a.Policy = policy.String()
	}
	return a, nil
}

// bounded is a buffer whose Write fails once it would be longer than its limit.
type bounded struct{ bytes.Buffer }

var errTooLong = errors.New("too long")

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostSaved {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
