package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"
)

// An explorer answers the questions of the page about one problem.
type explorer struct {
	*loaded
	options *planOptions
	about   *aboutReport
	called  []string // options that say how the problem is read
	given   bool     // values were given that the problem does not have
	saved   bool     // only a saved problem has them

	mu    sync.Mutex
	last  int       // number of the last plan
	plans []*played // the last of them
}

// A played plan is what the page may ask more about.
type played struct {
	id              int
	of              *loaded
	policy          *exact.Policy
	mixture         []exact.WeightedPolicy
	returns         []float64
	agent, opponent cmdp.Policy // the policies to show, nil if there is none
	types           *fleet.Plan // of a fleet
}

// A question says what the page wants, in full: it does not depend on earlier ones. A
// goal is that of the problem where Goal is nil.
type question struct {
	Goal    *goalQuestion `json:"goal"`
	Limits  []query.Bound `json:"limits"`
	Inflate float64       `json:"inflate"`
	// Over are the two returns of a trade-off curve, and Signs 1 for what is to be large.
	Over  []string  `json:"over"`
	Signs []float64 `json:"signs"`
	// ID is the number of a plan, whose thresholds of the worst episodes a curve is for, or whose policy is to
	// be saved.
	ID int `json:"id"`
	// Type is the number of the type of a fleet whose policy is to be saved.
	Type int `json:"type"`
	// Keep are the numbers of plans that the page still shows.
	Keep []int `json:"keep"`
}

type goalQuestion struct {
	Kind   string `json:"kind"` // maximize, minimize or none
	Return string `json:"return"`
}

func newExplorer(ctx context.Context, p *loaded, o *planOptions) (*explorer, error) {
	e := &explorer{loaded: p, options: o}
	if o.gap == 0 && !p.isGame() {
		quick := *o
		quick.gap, quick.joinGap = exploreGap, exploreJoinGap
		e.options = &quick
	}
	if !p.isGame() {
		if _, err := p.Planner(); err != nil {
			return nil, err
		}
	}
	var err error
	e.about, err = e.describe(ctx)
	return e, err
}

func (e *explorer) answers() map[string]explore.Answer {
	return map[string]explore.Answer{
		"about":    func(context.Context, []byte, func(any)) (any, error) { return e.about, nil },
		"plan":     e.plan,
		"front":    e.front,
		"policy":   e.showPolicy,
		"episodes": e.playEpisodes,
		"files":    e.files,
	}
}

// read reads a question and returns the problem that it is about.
func (e *explorer) read(ctx context.Context, text []byte) (q question, p *loaded, err error) {
	if err := json.Unmarshal(text, &q); err != nil {
		return q, nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	p, err = e.vary(ctx, e.variation(&q))
	return q, p, err
}

// variation returns the changes that lead from the problem to what is asked.
func (e *explorer) variation(q *question) *variation {
	v := &variation{Inflate: q.Inflate}
	if g := q.Goal; g != nil {
		switch g.Kind {
		case "maximize":
			v.Maximize = g.Return
		case "minimize":
			v.Minimize = g.Return
		}
		if v.Maximize == e.Problem.Goal.Maximize && v.Minimize == e.Problem.Goal.Minimize {
			v.Maximize, v.Minimize = "", ""
		}
	}
	asked := func(kind, name string) (float64, bool) {
		for _, l := range q.Limits {
			if l.Kind == kind && l.Return == name {
				return l.Value, true
			}
		}
		return math.Inf(1), false
	}
	for _, name := range e.Limitable() {
		for _, kind := range []string{query.AtLeast, query.AtMost} {
			value, wanted := asked(kind, name)
			given, is := e.Given(kind, name)
			if wanted == is && (!is || value == given) {
				continue
			}
			v.Bounds = append(v.Bounds, query.Bound{Return: name, Kind: kind, Value: value})
		}
	}
	return v
}

// planAnswer is what the page shows of a plan.
type planAnswer struct {
	ID       int              `json:"id"` // 0 if there is no policy
	Report   any              `json:"report,omitempty"`
	Notes    []string         `json:"notes"`
	Conflict []conflictReport `json:"conflict,omitempty"`
	Used     []usedReport     `json:"used,omitempty"` // of a fleet
	Wanted   string           `json:"wanted"`
	Seconds  report.Number    `json:"seconds"`
}

// slow reports whether a plan takes so long that first numbers are shown. Else the last ones are there as soon,
// and painting twice would delay them.
func slow(p *loaded) bool { return work(p) > 1_000_000 }

// work is the number of transitions of all steps.
func work(p *loaded) int { return p.transitions() * max(1, p.Horizon()) }

// An earlyAnswer has the numbers of a plan that is still refined.
type earlyAnswer struct {
	Early *planAnswer `json:"early"`
}

// planStep is the progress of a plan.
type planStep struct {
	Iterations int           `json:"iterations"`
	Bound      report.Number `json:"bound"`
	Objective  report.Number `json:"objective"`
}

func (e *explorer) plan(ctx context.Context, text []byte, progress func(any)) (any, error) {
	begin := time.Now()
	q, p, err := e.read(ctx, text)
	if bad := e.improbable(&q); bad != nil && err == nil {
		return nil, bad
	}
	var a *planAnswer
	switch {
	case errors.Is(err, geometry.ErrEmpty):
		a, err = e.planNothing(ctx, p, err)
	case err == nil && p.Uncertain() && (p.Task.Cost != nil || p.Task.Target != nil):
		a, err = e.planUncertain(ctx, p, q.Keep)
	case err == nil && len(p.Of(query.WorstEpisodes)) > 0:
		a, err = e.planWorst(ctx, p, q.Keep, progress)
	case err != nil:
		return nil, err
	case p.Task.Cost == nil && p.Task.Target == nil:
		return nil, errors.New("there is neither a goal nor a limit: nothing to plan for")
	case p.isFleet():
		a, err = e.planFleet(ctx, p, q.Keep, progress)
	case p.isGame():
		a, err = e.planGame(ctx, p, q.Keep, progress)
	default:
		a, err = e.planOne(ctx, p, q.Keep, progress)
	}
	if err != nil {
		return nil, err
	}
	a.Seconds = report.Number(time.Since(begin).Seconds())
	return a, nil
}

// improbable returns an error for a limit on a probability that is none.
func (e *explorer) improbable(q *question) error {
	for _, l := range q.Limits {
		i := slices.IndexFunc(e.about.Returns, func(r aboutReturn) bool { return r.Name == l.Return })
		if i >= 0 && e.about.Returns[i].Probability && !(l.Value >= 0 && l.Value <= 1) {
			return fmt.Errorf("%s is a probability: want a limit from 0 to 1, not %g", l.Return, l.Value)
		}
	}
	return nil
}

// planNothing answers where the limits alone leave no returns.
func (e *explorer) planNothing(ctx context.Context, p *loaded, why error) (*planAnswer, error) {
	a := &planAnswer{Report: map[string]string{"status": exact.Infeasible.String()},
		Notes: []string{"The limits contradict each other: " + why.Error() + "."}, Wanted: p.wanted()}
	if e.isGame() {
		return a, nil
	}
	notes, err := a.addConflict(ctx, p, exact.Options{})
	if err == nil && a.Conflict != nil {
		a.Notes = notes
	}
	return a, err
}

// addConflict adds the limits in conflict to an answer, if they are found in three quarters of the time that is left,
// and returns what is to be said of them.
func (a *planAnswer) addConflict(ctx context.Context, p *loaded, opts exact.Options) (report.Note, error) {
	within, done := ctx, context.CancelFunc(func() {})
	if end, limited := ctx.Deadline(); limited {
		within, done = context.WithTimeout(ctx, 3*time.Until(end)/4)
	}
	defer done()
	clash, err := findConflict(within, p, opts)
	if within.Err() != nil && ctx.Err() == nil {
		return report.Note{"Which limits are in conflict was not found in time."}, nil
	}
	a.Conflict = clash
	return conflictNotes(clash), err
}

func (e *explorer) planOne(ctx context.Context, p *loaded, keep []int, progress func(any)) (*planAnswer, error) {
	opts := e.options.solver(shown(p.Sense(), progress))
	opts.Budget = e.options.budget
	begin := time.Now()
	if slow(p) {
		opts.Early = func(r *exact.Result) { progress(newEarlyAnswer(p, r, begin)) }
	}
	r, err := p.Solve(ctx, opts)
	if err != nil {
		return nil, err
	}
	return e.answer(ctx, p, r, keep)
}

// newEarlyAnswer returns the first numbers of a plan.
func newEarlyAnswer(p *loaded, r *exact.Result, begin time.Time) earlyAnswer {
	took := time.Since(begin)
	return earlyAnswer{&planAnswer{Report: newPlanReport(p, r, took),
		Notes: []string{"These are first numbers, which are being refined."}, Wanted: p.wanted(),
		Seconds: report.Number(took.Seconds())}}
}

// answer tells the page of a plan.
func (e *explorer) answer(ctx context.Context, p *loaded, r *exact.Result, keep []int) (*planAnswer, error) {
	p, err := p.remembering(r.Product)
	if err != nil {
		return nil, err
	}
	d := newPlanReport(p, r, 0)
	a := &planAnswer{Report: d, Notes: append(append(d.notes(p, false), d.Branches.lines(p)...),
		p.memoryNotes()...), Wanted: p.wanted()}
	if r.Status == exact.Infeasible {
		notes, err := a.addConflict(ctx, p, conflictOptions(p, e.options.solver(nil), r.Iterations))
		if err != nil {
			return nil, err
		}
		a.Notes = append(a.Notes, notes...)
	}
	a.ID = e.rememberPlan(p, r.Policy, r.Mixture, r.Returns, keep)
	return a, nil
}

// rememberPlan keeps the policies of an answer for one player, and returns their number, 0 if there are none.
func (e *explorer) rememberPlan(p *loaded, policy *exact.Policy, mixture []exact.WeightedPolicy, returns []float64,
	keep []int) int {
	plan := &played{of: p, policy: policy, mixture: mixture, returns: returns}
	switch {
	case policy != nil:
		plan.agent = policy
	case len(mixture) == 0:
		return 0
	}
	return e.remember(plan, keep)
}

// shown returns what shows the progress of a solver, ten times a second at most.
func shown(sense float64, progress func(any)) func(int, float64, float64) {
	last := time.Now()
	return func(n int, bound, objective float64) {
		if time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			progress(planStep{n, report.Number(sense * bound), report.Number(sense * objective)})
		}
	}
}

// planGame plans in a game: its value, or the gap of its target.
func (e *explorer) planGame(ctx context.Context, p *loaded, keep []int, progress func(any)) (*planAnswer, error) {
	opts := e.options.gapOptions(p)
	opts.Progress = shown(1, progress)
	rep, agent, opponent, _, err := solveGame(ctx, p, opts)
	if err != nil {
		return nil, err
	}
	a := &planAnswer{Report: rep, Notes: rep.notes(p), Wanted: p.wanted()}
	plan := &played{of: p}
	if agent != nil {
		plan.agent = agent
	}
	if opponent != nil {
		plan.opponent = opponent
	}
	if agent != nil || opponent != nil {
		a.ID = e.remember(plan, keep)
	}
	return a, nil
}

// exploreGap is the gap that is certified unless another is asked for: finer ones, of which the
// page shows nothing, take many value iterations more.
const exploreGap = 1e-8

// exploreJoinGap is that of plan, so that the page shows the policies that plan writes.
const exploreJoinGap = 1e-6

// keptPlans bounds the number of plans that are kept, and keptPlanBytes their memory.
const (
	keptPlans     = 16
	keptPlanBytes = 512 << 20
)

// remember keeps a plan and returns its number. The oldest go, those first that the page
// does not show.
func (e *explorer) remember(p *played, keep []int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	states, _, _ := e.Size()
	most := max(2, min(keptPlans, keptPlanBytes/(max(1, e.Horizon())*states)))
	e.last++
	p.id = e.last
	for len(e.plans) >= most {
		oldest := max(0, slices.IndexFunc(e.plans, func(q *played) bool { return !slices.Contains(keep, q.id) }))
		e.plans = slices.Delete(e.plans, oldest, oldest+1)
	}
	e.plans = append(e.plans, p)
	return p.id
}

// played returns a plan that is kept.
func (e *explorer) played(id int) (*played, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.plans {
		if p.id == id {
			return p, nil
		}
	}
	return nil, errors.New("this plan is no longer kept: plan again")
}

// curve is a trade-off curve for the page: points that policies reach, and corners that
// none passes.
type curve struct {
	Points  [][2]report.Number `json:"points"`
	Corners [][2]report.Number `json:"corners"`
	Error   report.Number      `json:"error"`
	Status  string             `json:"status"`
}

// curveGap is the gap of the points of a curve, far less than the width of its line.
const curveGap = 1e-5

// front computes the trade-off curve between two returns, without the limits on either.
func (e *explorer) front(ctx context.Context, text []byte, progress func(any)) (any, error) {
	q, _, err := e.read(ctx, text)
	if err != nil {
		return nil, err
	}
	var thresholds []float64
	if shown, err := e.played(q.ID); err == nil {
		for _, l := range shown.of.Of(query.WorstEpisodes) {
			thresholds = append(thresholds, l.Threshold)
		}
	}
	if e.isGame() || len(q.Over) != 2 || len(q.Signs) != 2 {
		return nil, errors.New("a trade-off curve is between two returns of a problem with one player")
	}
	q.Limits = slices.DeleteFunc(q.Limits, func(l query.Bound) bool { return slices.Contains(q.Over, l.Return) })
	p, err := e.vary(ctx, e.variation(&q))
	if err != nil {
		return nil, err
	}
	if len(thresholds) == len(p.Of(query.WorstEpisodes)) {
		at, err := p.At(ctx, thresholds)
		if err != nil {
			return nil, err
		}
		p = p.as(at)
	}
	opts := exact.FrontOptions{Options: e.options.solver(nil), Error: 2e-4, Points: 60}
	if slow(p) {
		opts.Error = 2e-3
	}
	opts.Gap, opts.Budget = max(opts.Gap, curveGap), e.options.budget
	var over []objective
	var wanted []query.Objective
	for i, name := range q.Over {
		o, err := parseOver(p, name+","+q.Over[1-i])
		if err != nil {
			return nil, err
		}
		over, wanted = append(over, o[0]), append(wanted, query.Objective{Return: name, Maximize: q.Signs[i] > 0})
	}
	at := func(v []float64) [2]report.Number {
		return [2]report.Number{report.Number(v[over[0].index]), report.Number(v[over[1].index])}
	}
	opts.Each = func(f exact.FrontPoint) { progress(at(f.Returns)) }
	r, err := p.Curve(ctx, wanted, opts)
	if err != nil {
		return nil, err
	}
	c := &curve{Points: [][2]report.Number{}, Corners: [][2]report.Number{}, Error: report.Number(r.Error),
		Status: r.Status.String()}
	for _, f := range r.Points {
		c.Points = append(c.Points, at(f.Returns))
	}
	for _, y := range r.Corners {
		c.Corners = append(c.Corners, [2]report.Number{report.Number(-q.Signs[0] * y[0]),
			report.Number(-q.Signs[1] * y[1])})
	}
	return c, nil
}

func (o *planOptions) solver(progress func(int, float64, float64)) exact.Options {
	return exact.Options{Gap: o.gap, JoinGap: o.joinGap, Iterations: o.iterations, Workers: o.parallel,
		Progress: progress}
}
