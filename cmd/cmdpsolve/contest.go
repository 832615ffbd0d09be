package main

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/pflag"
)

// playOptions say how learn and compare play. Results do not depend on them.
type playOptions struct {
	flags    *pflag.FlagSet
	steps    int // of endless runs
	save     string
	resume   string
	every    time.Duration
	parallel int
	quiet    bool
	// lock keeps others from the checkpoint.
	lock *atomicfile.Lock
}

func (o *playOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	o.steps = defaultSteps
	f.Var((*wholeNumber)(&o.steps), "steps",
		"steps of each run of a problem without a horizon, which is played in one run without end")
	f.StringVar(&o.save, "save", "", "keep a checkpoint of the runs in `FILE`")
	f.StringVar(&o.resume, "resume", "", "go on from the checkpoint `FILE`, and keep saving to it")
	f.DurationVar(&o.every, "save-every", 30*time.Second, "time between checkpoints of unfinished runs")
	f.IntVar(&o.parallel, "parallel", 0,
		"runs at the same time (default: one for each processor); results do not depend on it")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
}

// A textual setting is read from a text and written as one.
type textual interface {
	encoding.TextUnmarshaler
	fmt.Stringer
}

// A textValue is the flag of a textual setting.
type textValue struct{ textual }

func (v textValue) Type() string          { return "string" }
func (v textValue) Set(text string) error { return v.UnmarshalText([]byte(text)) }

// addSettings declares the settings of a contest but some. Defaults are the present values.
func addSettings(f *pflag.FlagSet, s *contest.Settings, without ...string) {
	for _, of := range s.List() {
		if slices.Contains(without, of.Name) {
			continue
		}
		switch v := of.Value.(type) {
		case *[]string:
			f.StringSliceVar(v, of.Name, *v, of.Help)
		case *int:
			f.Var((*wholeNumber)(v), of.Name, of.Help)
		case *uint64:
			f.Uint64Var(v, of.Name, *v, of.Help)
		case *float64:
			f.Float64Var(v, of.Name, *v, of.Help)
		case *bool:
			f.BoolVar(v, of.Name, *v, of.Help)
		case *string:
			f.StringVar(v, of.Name, *v, of.Help)
		case textual:
			f.Var(textValue{v}, of.Name, of.Help)
		case *contest.OpponentText:
			f.StringVar((*string)(v), of.Name, string(*v), of.Help)
		default:
			panic("setting " + of.Name + " of a kind that flags do not have")
		}
	}
}

// defaultSteps are those of an endless run.
const defaultSteps = 100_000

// length makes --steps or --episodes, whichever the problem has, the length of runs.
func (o *playOptions) length(s *contest.Settings, p *loaded) error {
	switch endless := p.endless() > 0; {
	case endless && o.flags.Changed("episodes"):
		return usage("--episodes: %s has no horizon, and is played in one run without end: want --steps", p.name)
	case !endless && p.Shape() != nil && o.flags.Changed("steps"):
		return usage("--steps: %s is played in episodes of %s: want --episodes", p.name, count(p.steps(), "step"))
	case endless && o.steps < 1:
		return usage("--steps %d: want at least 1", o.steps)
	case endless:
		s.Episodes = o.steps
	}
	return nil
}

// given reports whether a setting was given.
func (o *playOptions) given(name string) bool {
	return o.flags.Changed(name) || name == "episodes" && o.flags.Changed("steps")
}

func (o *playOptions) check() error {
	return cmp.Or(checkParallel(o.parallel), wantUnless(o.every > 0, "--save-every", o.every, "a positive time"),
		writable("--save", o.save))
}

// read prepares --save and --resume: it locks the checkpoint, reads the one to go on from, whose settings
// replace those not given, and makes sure that no other checkpoint is overwritten.
func (o *playOptions) read(ctx context.Context, s *contest.Settings, measured bool) (*cmdp.Checkpoint, error) {
	if path := cmp.Or(o.save, o.resume); path != "" {
		var err error
		o.lock, err = atomicfile.NewLock(path)
		switch {
		case errors.Is(err, atomicfile.ErrLocked):
			return nil, usage("checkpoint %s: another run is keeping it: wait until that has ended, or save to "+
				"another file", path)
		case err != nil:
			return nil, usage("checkpoint %s: %w", path, err)
		}
	}
	if o.resume == "" {
		if _, err := os.Stat(o.save); o.save != "" && err == nil {
			return nil, usage("--save %s: the file exists; go on from it with --resume, or remove it", o.save)
		}
		return nil, nil
	}
	o.save = cmp.Or(o.save, o.resume)
	return interruptible(ctx, 0, func() (*cmdp.Checkpoint, error) {
		return contest.ReadCheckpoint(o.resume, s, measured, o.given)
	})
}

// keeper returns where the runs of a contest are kept. It takes over those of a checkpoint.
func (o *playOptions) keeper(c *contest.Contest, from *cmdp.Checkpoint) (*contest.CheckpointFile, error) {
	file, err := contest.NewCheckpointFile(o.save, c)
	if err == nil && from != nil {
		err = file.Adopt(from, o.resume)
	}
	return file, err
}

// play plays trials, and shows how far they are on a terminal.
func (o *playOptions) play(ctx context.Context, line *statusLine, trials []*contest.Trial, keeper contest.Keeper,
	about func(*contest.Run) string) error {
	opts := contest.PlayOptions{Parallel: o.parallel, Every: o.every, Keeper: keeper}
	all := 0
	for _, t := range trials {
		all += t.Episodes
	}
	var played atomic.Int64
	begin := time.Now()
	opts.Progress = func(r *contest.Run, episodes int) {
		n := played.Add(int64(episodes))
		line.knows(func() string {
			text := fmt.Sprintf("%d of %s", n, count(all, unit(r.Contest)))
			if n == 0 {
				return text
			}
			rate := float64(n) / time.Since(begin).Seconds()
			left := time.Duration(float64(int64(all)-n) / rate * float64(time.Second)).Round(time.Second)
			return fmt.Sprintf("%s, %.3g in a second, %v left", text, rate, left)
		}, func() string { return about(r) })
		progress.Of(ctx).Tell("playing", float64(n)/float64(all))
	}
	err := contest.Play(ctx, trials, opts)
	line.forgets()
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return err
}

// unit is what the length of the runs of a contest counts.
func unit(c *contest.Contest) string {
	if c.Endless() {
		return "step"
	}
	return "episode"
}

// sayResume says with which command an interrupted run goes on, if it was saved.
func (o *playOptions) sayResume(s streams, err error) {
	if !errors.Is(err, errInterrupted) || o.save == "" {
		return
	}
	if _, missing := os.Stat(o.save); missing != nil {
		return
	}
	line := "cmdpsolve"
	for _, word := range resuming(s.args, o.save) {
		line += " " + quote(word)
	}
	s.status.clear()
	fmt.Fprintln(s.err, "go on with: "+line)
}

// resuming returns the arguments of the command that goes on from a checkpoint where one with args stopped.
func resuming(args []string, checkpoint string) []string {
	var again []string
	for i := 0; i < len(args); i++ {
		switch name, _, joined := strings.Cut(args[i], "="); {
		case name != "--save" && name != "--resume":
			again = append(again, args[i])
		case !joined:
			i++ // its file
		}
	}
	return append(again, "--resume", checkpoint)
}

// newContest prepares a contest. The opponent of --opponent must have something to do.
func newContest(ctx context.Context, p *loaded, s contest.Settings,
	opts contest.PrepareOptions) (*contest.Contest, error) {
	opts.Name = p.name
	c, err := interruptible(ctx, 0, func() (*contest.Contest, error) {
		return contest.New(progress.Within(ctx, "exact answer"), p.Query, s, opts)
	})
	if ctx.Err() != nil {
		return nil, failed(errInterrupted)
	}
	return c, err
}

// exactReport is the exact answer, for comparison.
type exactReport struct {
	Status    string        `json:"status"`
	Objective report.Number `json:"objective"`
	Returns   named         `json:"returns"`
	Distance  report.Number `json:"distance"`
	// Bounds of the gap, in a game with a target.
	GapLower *report.Number `json:"gap_lower,omitempty"`
	GapUpper *report.Number `json:"gap_upper,omitempty"`
}

func newExactReport(p *loaded, a *contest.Answer) *exactReport {
	e := &exactReport{Objective: report.NaN, Distance: report.NaN}
	switch {
	case a.Value != nil:
		e.Status, e.Objective = "minimax", report.Number(p.Sense()*a.Value.Value)
	case a.Gap != nil:
		low, up := report.Number(a.Gap.Lower), report.Number(a.Gap.Upper)
		e.Status, e.GapLower, e.GapUpper = a.Gap.Status.String(), &low, &up
	case a.Best == nil:
		return nil
	default:
		e.Status = a.Best.Status.String()
	}
	if a.Best == nil {
		return e
	}
	switch a.Best.Status {
	case exact.Optimal:
		e.Returns, e.Distance = p.named(a.Best.Returns), 0
		if p.Task.Cost != nil {
			e.Objective = report.Number(p.Sense() * a.Best.Objective)
		}
	case exact.Infeasible:
		e.Distance = report.Number(a.Best.Certificate.Distance)
	}
	return e
}

// distance says how near the target one can come: in a game the gap, or between
// which bounds it lies.
func (e *exactReport) distance() string {
	if e.GapLower == nil {
		return report.Short(e.Distance)
	}
	low, up := *e.GapLower, *e.GapUpper
	if report.Brief(low) == report.Brief(up) || up-low <= 1e-4*up {
		return report.Short(low)
	}
	return report.Brief(low) + " to " + report.Brief(up)
}

// unanswered says what of the exact answer is not there, or bad news; "" if nothing.
func unanswered(a *contest.Answer) string {
	switch {
	case a.Err != nil:
		return fmt.Sprintf("the exact answer is not known, and there is no regret: %v", a.Err)
	case a.Gap != nil && a.Gap.Status == exact.NotApproachable:
		return fmt.Sprintf("warning: the opponent can keep the mean return at least %s away from the target",
			report.Short(a.Gap.Lower))
	case a.Best != nil && a.Best.Status == exact.Infeasible:
		return fmt.Sprintf("warning: no policy meets the target; the nearest return is %s away from it",
			report.Short(a.Best.Certificate.Distance))
	case a.Best != nil && a.Best.Status == exact.Undecided:
		return "the exact optimum is not known, and there is no regret: neither a policy within the target nor a " +
			"proof that there is none was found"
	}
	return ""
}

// describeOpponent names an opponent in a few words.
func describeOpponent(o *problem.OpponentSpec) string {
	var parts []string
	for _, inner := range o.Opponents {
		parts = append(parts, describeOpponent(inner))
	}
	switch o.Policy {
	case "switching":
		return fmt.Sprintf("every %s another of: %s", count(o.Period, "episode"), strings.Join(parts, "; "))
	case "random-start":
		return fmt.Sprintf("uniform for %s, then %s", count(o.Episodes, "episode"), describeOpponent(o.Then))
	case "fixed":
		return "a fixed policy"
	case "scripted":
		return "a script"
	case "replay":
		return "a log"
	case "best-response":
		return "best responses"
	case "adversarial":
		return "an adversary"
	}
	return o.Policy + " play"
}
