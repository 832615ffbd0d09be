package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// aboutReport is what the page has to know of the problem.
type aboutReport struct {
	Title   string          `json:"title"`
	Name    string          `json:"name"` // what the user called it
	Wanted  string          `json:"wanted"`
	Size    string          `json:"size"`
	Returns []aboutReturn   `json:"returns"`
	Goal    goalQuestion    `json:"goal"` // kind cost for one that is neither of two
	Limits  []limitQuestion `json:"limits"`
	Others  []string        `json:"others"` // limits that the page cannot move
	Target  bool            `json:"target"`
	Extent  report.Number   `json:"extent"` // of the possible returns
	Game    bool            `json:"game"`
	Average bool            `json:"average"`
	Steps   int             `json:"steps"` // 0 without a horizon
	States  int             `json:"states"`
	Large   bool            `json:"large"` // too large for an answer at every touch
	Grid    *gridReport     `json:"grid,omitempty"`
}

// aboutReturn is a return with its range over all policies.
type aboutReturn struct {
	Name string        `json:"name"`
	Min  report.Number `json:"min"`
	Max  report.Number `json:"max"`
}

// quick is up to how many transitions of all steps a plan is ready at every touch.
const quick = 20_000_000

// describe describes the problem.
func (e *explorer) describe(ctx context.Context) (*aboutReport, error) {
	m := e.Model
	a := &aboutReport{Title: e.title(), Name: e.name, Wanted: e.wanted(), Size: e.size(), Target: e.Target != nil, Extent: report.Number(e.extent()),
		Goal: goalQuestion{Kind: "none"}, Limits: []limitQuestion{}, Others: []string{}, Game: e.isGame(), Average: m.Average(), Steps: m.Horizon(), States: m.States(),
		Large: m.Transitions()*max(1, m.Horizon()) > quick, Grid: gridOf(e.Problem)}
	switch g := e.Goal; {
	case g.Maximize != "":
		a.Goal = goalQuestion{"maximize", g.Maximize}
	case g.Minimize != "":
		a.Goal = goalQuestion{"minimize", g.Minimize}
	case g.Cost != nil:
		a.Goal.Kind = "cost"
	}
	for _, name := range e.Returns {
		for _, kind := range []string{"at_least", "at_most"} {
			if value, is := givenLimit(e.Problem, kind, name); is {
				a.Limits = append(a.Limits, limitQuestion{name, kind, value})
			}
		}
	}
	for _, c := range e.Constraints {
		if !c.OnAverage() {
			a.Others = append(a.Others, c.Return)
		}
	}
	var low, high []float64
	var err error
	if a.Game {
		low, high, err = forced(ctx, m)
	} else {
		low, high, err = exact.Ranges(ctx, m, exact.Options{Workers: e.options.parallel})
	}
	if err != nil {
		return nil, err
	}
	for i, name := range e.Returns {
		a.Returns = append(a.Returns, aboutReturn{name, report.Number(min(low[i], high[i])), report.Number(max(low[i], high[i]))})
	}
	return a, nil
}

// episodesQuestion asks for the returns of episodes.
type episodesQuestion struct {
	ID    int    `json:"id"`
	Seed  uint64 `json:"seed"`
	Count int    `json:"count"`
}

// episodesAnswer has the totals of episodes, return by return.
type episodesAnswer struct {
	Totals [][]report.Number `json:"totals"`
	Mean   []report.Number   `json:"mean"`
	Half   []report.Number   `json:"half"` // of the 95% confidence interval of the mean
}

// mostEpisodes bounds the episodes that are played for the page, mostPlayed their steps.
const (
	mostEpisodes = 4000
	mostPlayed   = 2_000_000
)

// playEpisodes plays a plan.
func (e *explorer) playEpisodes(ctx context.Context, text []byte, progress func(any)) (any, error) {
	var q episodesQuestion
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	plan, err := e.played(q.ID)
	if err != nil {
		return nil, err
	}
	if e.planner == nil {
		return nil, errors.New("the returns of a game depend on both players")
	}
	components := []drawn{}
	for _, c := range plan.components {
		components = append(components, drawn{c.Weight, c.Policy})
	}
	if plan.policy != nil {
		components = []drawn{{1, plan.policy}}
	}
	sim := newSimulation(e.loaded, components, q.Seed, 1000)
	if sim.over != nil && e.Model.Discount() == 1 {
		for i, x := range plan.returns {
			if math.IsInf(x, 0) || math.IsNaN(x) {
				return nil, fmt.Errorf("under this policy the total %s does not end, and neither does an episode", e.Returns[i])
			}
		}
	}
	a := &episodesAnswer{Totals: make([][]report.Number, len(e.Returns))}
	most := min(mostEpisodes, max(200, q.Count), max(200, mostPlayed/max(1, min(sim.steps, mostPlayed))))
	for range most {
		if err := sim.play(ctx); err != nil {
			return nil, err
		}
		for i, x := range sim.total {
			a.Totals[i] = append(a.Totals[i], report.Number(x))
		}
	}
	for i := range e.Returns {
		a.Mean, a.Half = append(a.Mean, report.Number(sim.mean[i])), append(a.Half, report.Number(sim.half(i)))
	}
	return a, nil
}

// filesAnswer is what the page offers to save.
type filesAnswer struct {
	Problem string `json:"problem"`
	Command string `json:"command"`
	Policy  string `json:"policy,omitempty"`
	// Withheld says why something is not there.
	Withheld string `json:"withheld,omitempty"`
}

// mostSaved bounds the bytes of a file that the page saves.
const mostSaved = 32 << 20

// files writes the problem as it stands, the command that plans it, and with an id the policy.
func (e *explorer) files(_ context.Context, text []byte, _ func(any)) (any, error) {
	var which struct {
		ID int `json:"id"`
	}
	q, p, err := e.read(text)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return nil, err
	}
	if err := json.Unmarshal(text, &which); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	a := &filesAnswer{}
	args := []string{"cmdpsolve", "plan", e.name}
	args = append(args, e.variation(&q).flags()...)
	for i, s := range args {
		args[i] = quoted(s)
	}
	a.Command = strings.Join(args, " ")
	var file, policy bounded
	switch err := problem.Write(&file, p.Problem); {
	case p.Memory != nil:
		a.Withheld = "the problem is about the course of episodes and has been rewritten for the page; the command has the same limits"
	case errors.Is(err, errTooLong):
		a.Withheld = "the problem is too large for the page; the command has the same limits"
	case err != nil:
		return nil, err
	}
	if a.Withheld == "" {
		a.Problem = file.String()
	}
	plan, err := e.played(which.ID)
	if err != nil || plan.policy == nil && plan.components == nil {
		return a, nil
	}
	a.Command += " --policy policy.csv"
	switch err := problem.WritePolicyCSV(&policy, e.PlanRows(plan.policy, plan.components)); {
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

// plain are arguments that no shell changes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%-]+$`)

// quoted quotes an argument for a shell, where that is necessary.
func quoted(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
