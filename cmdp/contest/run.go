package contest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/internal/saved"
)

// A Trial is one run of a contest, before it is played.
type Trial struct {
	*Contest
	*Entrant
	Index int // of the seed
	Run   *Run
}

// Seed is the seed of the run.
func (t *Trial) Seed() uint64 { return t.Settings.Seed + uint64(t.Index) }

// A RunResult is what one run found, and the form of a suite's result files.
type RunResult struct {
	Problem   string    `json:"problem"`
	Algorithm string    `json:"algorithm"`
	Seed      uint64    `json:"seed"`
	Episodes  int       `json:"episodes"`
	Suite     string    `json:"suite,omitempty"` // fingerprint, in result files
	Metrics   Values    `json:"metrics"`
	Average   []float64 `json:"average"`
	History   []Record  `json:"history"`
}

// A Record is the state of a run after an episode. A measured run keeps its metrics that
// are drawn; another one the mean returns so far, and of MOMA what it has found: "bound",
// "gap" and "rho".
type Record struct {
	Episode  int       `json:"episode"`
	Metrics  Values    `json:"metrics"`
	Average  []float64 `json:"average,omitempty"`
	Expected []float64 `json:"expected,omitempty"`
}

// A Run is a trial that is being played. It has one evaluator at most, that of the recorder if
// it is measured, else that of the runner if expected returns are asked for.
type Run struct {
	*Trial
	Runner  *cmdp.Runner
	Learner cmdp.Learner
	History []Record
	Spent   time.Duration

	recorder    *baseline.Recorder // nil in a game, and in runs that are not measured
	actions     *actionCounter     // nil unless mixtures are asked for
	environment cmdp.Environment
}

// Finder is implemented by learners that find bounds, as MOMA does.
type Finder interface{ Findings() cmdp.Findings }

// Begin makes the learner of a trial, and its opponent.
func (t *Trial) Begin() error {
	cfg := t.config(&t.Algorithm)
	cfg.Seed = t.Seed()
	learner, err := t.Algorithm.Make(cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Title, err)
	}
	env, err := t.environment(t.Seed())
	if err != nil {
		return fmt.Errorf("%s: %w", t.Title, err)
	}
	r := &Run{Trial: t, Learner: learner, environment: env}
	var evaluator *cmdp.Evaluator
	if t.Expected && !t.measured {
		evaluator = cmdp.NewEvaluator(t.Query.Model)
	}
	switch {
	case t.opponent != nil:
		opponent, err := t.opponent(t.Seed())
		if err != nil {
			return err
		}
		r.Runner, err = cmdp.NewGameRunner(env, learner, opponent, t.Seed(), evaluator)
		if err != nil {
			return err
		}
	case t.Endless():
		r.Runner = cmdp.NewEndlessRunner(env.(*cmdp.Endless), learner, t.Seed())
	case t.Changes():
		r.Runner = cmdp.NewRunner(env, learner, t.Seed(), nil)
	case t.measured:
		r.recorder, err = baseline.NewRecorder(learner, t.Query.Model, t.Task,
			t.Answer.Optimum(t.Task))
		if err != nil {
			return err
		}
		r.Runner = cmdp.NewRunner(env, r.recorder, t.Seed(), nil)
	case t.mixture:
		counts, err := cmdp.NewCounts(t.shape, false, nil)
		if err != nil {
			return err
		}
		r.actions = &actionCounter{Learner: learner, counts: counts}
		r.actions.Keep(counts, saved.Own{Name: "contest: learner", Part: learner})
		r.Runner = cmdp.NewRunner(env, r.actions, t.Seed(), evaluator)
	default:
		r.Runner = cmdp.NewRunner(env, learner, t.Seed(), evaluator)
	}
	t.Run = r
	return nil
}

// play plays to the end, or until ctx is done. It calls pause at least every second or so,
// and recorded after every record. The result does not depend on how a run is cut into
// pieces.
func (r *Run) play(ctx context.Context, recorded func(*Run), pause func() error) error {
	piece := 1
	for r.Runner.Episodes() < r.Episodes {
		k := r.Runner.Episodes()
		begin := time.Now()
		err := r.Runner.Run(ctx, min(k+piece, r.next(k), r.Episodes))
		took := time.Since(begin)
		r.Spent += took
		if took < 20*time.Millisecond && piece < 1<<20 {
			piece *= 2
		} else if took > 50*time.Millisecond && piece > 1 {
			piece /= 2
		}
		if k := r.Runner.Episodes(); k > 0 && (r.lasting(k) || err != nil) {
			r.record(k)
			if recorded != nil {
				recorded(r)
			}
		}
		if err != nil {
			return err
		}
		if err := pause(); err != nil {
			return err
		}
	}
	return nil
}

// lasting reports whether a run that is not interrupted has a record of episode k.
func (r *Run) lasting(k int) bool { return k == r.next(k-1) || k == r.Episodes }

// next returns the first episode after k that is recorded.
func (r *Run) next(k int) int {
	if r.records == nil {
		return cmdp.NextRecord(k)
	}
	if i, _ := slices.BinarySearch(r.records, k+1); i < len(r.records) {
		return r.records[i]
	}
	return r.Episodes
}

// record adds the present state to the history. A run that was interrupted and resumed has
// the records of one that was not: one made at an interruption is replaced, and none is
// made twice.
func (r *Run) record(k int) {
	if n := len(r.History); n > 0 && (r.History[n-1].Episode == k || !r.lasting(r.History[n-1].Episode)) {
		r.History = r.History[:n-1]
	}
	rec := Record{Episode: k}
	if r.measured {
		m := r.Measure()
		rec.Metrics = valuesOf(&m, Drawn())
	} else {
		rec.Average, rec.Expected = r.Runner.Average(), r.Runner.Expected()
		if l, ok := r.Learner.(Finder); ok {
			f := l.Findings()
			rec.Metrics = Values{"bound": f.Bound, "gap": f.Gap, "rho": f.Rho}
		}
	}
	r.History = append(r.History, rec)
}

// Measure returns the metrics of the episodes so far. In a game they are those of the mean
// return alone; before the first episode there are none.
func (r *Run) Measure() baseline.Metrics {
	if r.recorder != nil {
		return r.recorder.Metrics()
	}
	w, no := r.Runner.Average(), math.NaN()
	m := baseline.Metrics{
		Episodes: r.Runner.Episodes(), Average: w, Regret: no, Violation: no, ExpectedRegret: no, ExpectedViolation: no,
		LastRegret:    no,
		LastViolation: no, MaxViolation: no, ExpectedMaxViolation: no, WeakRegret: no, WeakViolation: no,
		StrongRegret:    no,
		StrongViolation: no, RealizedWeakRegret: no, RealizedWeakViolation: no, RealizedStrongRegret: no,
		RealizedStrongViolation: no,
		ViolatingShare:          no, RealizedViolatingShare: no,
		SecondsPerEpisode: r.Spent.Seconds() / float64(max(1, r.Runner.Episodes())),
	}
	if r.Task.Target != nil && m.Episodes > 0 {
		m.Violation = r.Task.Violation(w)
	}
	switch {
	case m.Episodes == 0: // nothing has a mean
	case r.Endless() || r.Answer.Value != nil:
		r.measureMean(&m, r.Answer.Optimum(r.Task))
	case r.Changes():
		r.measureChanging(&m)
	}
	if worker, ok := r.Learner.(baseline.Worker); ok {
		m.Work = worker.Work()
	}
	return m
}

// result returns what a finished run found.
func (r *Run) result() *RunResult {
	m := r.Measure()
	return &RunResult{
		Problem: r.Title, Algorithm: r.Entrant.Name, Seed: r.Seed(), Episodes: m.Episodes,
		Metrics: valuesOf(&m, metrics), Average: m.Average, History: r.History,
	}
}

// A Keeper keeps runs and results. It is called from several goroutines.
type Keeper interface {
	// Restore brings a run to where it was when it was last kept.
	Restore(*Run) error
	// Keep saves a run that is under way.
	Keep(*Run) error
	// Finish saves the result of a run.
	Finish(*Run, *RunResult) error
}

// PlayOptions say how runs are played. Results do not depend on them.
type PlayOptions struct {
	Parallel int           // runs at the same time; 0: one for each processor
	Every    time.Duration // between calls of Keeper.Keep
	Keeper   Keeper        // nil keeps results in memory alone
	// Recorded is called after every record of a run, from several goroutines.
	Recorded func(*Run)
	// Progress is told of episodes as they are played, from several goroutines.
	Progress func(r *Run, episodes int)
}

// Play plays trials to their end, several at a time, and enters their results. It returns
// the error of ctx if that was done first, or the first error of a run. Runs of trials that
// have begun before go on from where they are, and stay in their trials.
func Play(ctx context.Context, trials []*Trial, opts PlayOptions) error {
	if slices.Contains(trials, nil) {
		return errors.New("contest: a trial is nil")
	}
	if opts.Keeper == nil {
		opts.Keeper = &CheckpointFile{}
	}
	return each(ctx, opts.Parallel, len(trials), func(ctx context.Context,
		i int) error {
		return opts.play(ctx, trials[i])
	})
}

// each calls play with the numbers from 0 to n−1, at most parallel of them at a time, where 0
// stands for one for each processor. When a call fails, the context of the others is
// cancelled. each returns the first error, or that of ctx.
func each(ctx context.Context, parallel, n int, play func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if parallel == 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	queue := make(chan int, n)
	for i := range n {
		queue <- i
	}
	close(queue)
	var wg sync.WaitGroup
	for range min(parallel, n) {
		wg.Go(func() {
			for i := range queue {
				if err := play(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (o *PlayOptions) play(ctx context.Context, t *Trial) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t.Run == nil {
		if err := t.Begin(); err != nil {
			return err
		}
		if err := o.Keeper.Restore(t.Run); err != nil {
			return err
		}
		defer func() { t.Run = nil }()
	}
	r, last, shown := t.Run, time.Now(), 0
	every := min(o.Every, time.Second) // so that there is something to go on from soon
	show := func() {
		if k := r.Runner.Episodes(); o.Progress != nil {
			o.Progress(r, k-shown)
			shown = k
		}
	}
	show()
	err := r.play(ctx, o.Recorded, func() error {
		show()
		if time.Since(last) < every || r.Runner.Episodes() == r.Episodes {
			return nil
		}
		last, every = time.Now(), o.Every
		return o.Keeper.Keep(r)
	})
	if c, ok := r.environment.(interface{ Close() }); ok {
		c.Close()
	}
	var kept error
	// Where the environment failed, the run is where it was before the episode. During a plan it is nowhere.
	fallible, ok := r.environment.(cmdp.Fallible)
	between := errors.Is(err, context.Canceled) && !errors.Is(err, cmdp.ErrUnfinished)
	if (between || ok && fallible.Err() != nil) && r.Runner.Episodes() > 0 {
		kept = o.Keeper.Keep(r)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return errors.Join(err, kept)
	case err != nil:
		return errors.Join(fmt.Errorf("%s, %s, seed %d: %w", t.Title, t.Entrant.Name, t.Seed(), err), kept)
	}
	result := r.result()
	t.Results[t.Index] = result
	return o.Keeper.Finish(r, result)
}
