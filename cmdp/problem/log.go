package problem

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
)

// LogOptions say what a log has to have.
type LogOptions struct {
	// Returns have to be logged, since they are to be learned. Otherwise returns in the
	// file are checked and not used.
	Returns bool
	// Support holds a log to the successors that the problem says are possible.
	Support bool
}

// LogSize is how much a log has.
type LogSize struct{ Episodes, Transitions int }

// ReadLog adds what a log has seen of a process to counts, which are those of its shape. The log is CSV or JSON
// lines, by the ending of its name, and one of two kinds. Episodes have the columns episode, step, state,
// action, next and one for each return (in JSON lines the member returns, a list or an object); rows of an
// episode stand together, in the order of steps. Without a horizon an episode is a part of an endless run: it
// may begin in any state, and break off anywhere. Counts have the columns state, action, next, count and,
// unless the counts are pooled, step; they tell nothing of returns.
//
// A log without a row adds nothing. What is wrong with the file is returned as [Errors],
// all at once; counts are then good for nothing.
func ReadLog(path string, of *Process, counts *cmdp.Counts, opts LogOptions) (LogSize, error) {
	if of == nil || of.Model == nil || counts == nil {
		return LogSize{}, fmt.Errorf("problem: log %s: want a process with a model, and counts for what is read", path)
	}
	r := &logReader{path: path, of: of, shape: of.Model.Shape(), counts: counts, opts: opts,
		begun: make(map[string]bool)}
	r.states = listed(nil)
	if !of.Remembers() {
		r.names = of.of.States
		r.states = of.of.stateIndex()
	}
	if env, err := cmdp.NewEndless(of.Model); err == nil {
		r.shape, r.endless, r.scale = env.Shape(), true, 1
		if restart := env.Restart(); restart > 0 {
			r.scale = 1 / restart
		}
	}
	if r.shape == nil || r.shape.Game() {
		return LogSize{}, fmt.Errorf("problem: log %s: logs are of problems with one player and a horizon, a "+
			"discount or long-run means", path)
	}
	r.episode = cmdp.NewTrajectory(r.shape)
	if err := r.scan(); err != nil {
		return LogSize{}, err
	}
	r.end()
	if len(r.errs) > 0 {
		slices.SortStableFunc(r.errs, func(x, y *Error) int { return x.Line - y.Line })
		return LogSize{}, r.errs
	}
	return r.size, nil
}

// A logReader judges the rows of a log and counts them.
type logReader struct {
	spelling
	path    string
	of      *Process
	shape   *cmdp.Shape // of an episode, or of a step of an endless run
	endless bool
	scale   float64 // of the returns of a step of an endless run, see [cmdp.Endless]
	counts  *cmdp.Counts
	opts    LogOptions
	names   []string // of states; none of those of a product
	states  stateIndex
	errs    Errors
	size    LogSize
	known   bool // the columns have been read
	counted bool // the log is one of counts

	line    int // that is being read
	begun   map[string]bool
	label   string // of the episode that is being read
	open    bool
	wrong   bool // something is wrong with the episode
	last    int  // its last line
	step    int  // of an endless run, in the file
	episode *cmdp.Trajectory
}

var (
	episodeColumns = []string{"episode", "step", "state", "action", "next"}
	countColumns   = []string{"state", "action", "next", "count"}
)

func (r *logReader) bad(format string, args ...any) {
	r.wrong = true
	r.errs = append(r.errs, &Error{File: r.path, Line: r.line, Message: fmt.Sprintf(format, args...)})
}

// A logStep is a row of a log.
type logStep struct {
	h, state, action, next int
	number                 int // of the step in the file, from 1
}

// row takes a row, whose cells are known by the names of their columns.
func (r *logReader) row(line int, cells map[string]string) {
	r.line = line
	if r.counted {
		r.countRow(cells)
		return
	}
	label := cells["episode"]
	if !r.open || label != r.label {
		r.end()
		r.line = line
		r.label = label
		r.open, r.wrong = true, false
		r.episode.Steps, r.step = 0, 0
		if r.begun[label] {
			r.bad("episode %s has ended before: want its rows together", shorten(label))
		}
		r.begun[label] = true
	}
	r.last = line
	if r.wrong {
		r.read(cells, nil) // for its own errors
		return
	}
	values := make([]float64, r.shape.Dim())
	if r.endless {
		r.endlessRow(cells, values)
		return
	}
	if x, ok := r.read(cells, values); ok && r.fits(x) {
		tr := r.episode
		tr.States[x.h], tr.Actions[x.h], tr.States[x.h+1] = x.state, x.action, x.next
		copy(tr.Return(x.h), values)
		tr.Steps = x.h + 1
	}
}

// endlessRow counts a step of an endless run.
func (r *logReader) endlessRow(cells map[string]string, values []float64) {
	tr := r.episode
	before := tr.States[1]
	x, ok := r.read(cells, values)
	switch {
	case !ok:
		return
	case tr.Steps > 0 && x.number != r.step+1:
		r.bad("step %d follows step %d: want step %d", x.number, r.step, r.step+1)
		return
	case tr.Steps > 0 && x.state != before:
		r.bad("state %s, but the step before led to %s", r.of.StateName(x.state), r.of.StateName(before))
		return
	}
	r.step, tr.Steps = x.number, 1
	tr.States[0], tr.Actions[0], tr.States[1] = x.state, x.action, x.next
	for i, v := range values {
		tr.Return(0)[i] = v * r.scale
	}
	r.counts.Observe(tr)
	r.size.Transitions++
}

// fits reports whether a step goes on where the episode is.
func (r *logReader) fits(x logStep) bool {
	tr := r.episode
	if tr.Steps == 0 {
		if !slices.ContainsFunc(r.shape.StartStates(),
			func(st cmdp.StartState) bool { return st.State == x.state }) {
			r.bad("episode %s begins in state %s, in which no episode can", shorten(r.label), r.of.StateName(x.state))
			return false
		}
		tr.States[0] = x.state
	}
	r.rest(x.h)
	switch {
	case x.h != tr.Steps && tr.Steps == 0:
		r.bad("episode %s begins at step %d: want step 1", shorten(r.label), x.h+1)
	case x.h != tr.Steps:
		r.bad("step %d follows step %d: want step %d", x.h+1, tr.Steps, tr.Steps+1)
	case x.state != tr.States[x.h]:
		r.bad("state %s, but the step before led to %s", r.of.StateName(x.state), r.of.StateName(tr.States[x.h]))
	default:
		return true
	}
	return false
}

// rest adds the steps before h where the episode has no choice.
func (r *logReader) rest(h int) {
	tr := r.episode
	for tr.Steps < h && r.shape.Actions(tr.Steps, tr.States[tr.Steps]) == 0 {
		tr.Actions[tr.Steps], tr.States[tr.Steps+1] = -1, tr.States[tr.Steps]
		clear(tr.Return(tr.Steps))
		tr.Steps++
	}
}

// end counts the episode that was read.
func (r *logReader) end() {
	if !r.open || r.wrong {
		return
	}
	r.line = r.last
	if r.endless {
		r.size.Episodes++
		return
	}
	taken := r.episode.Steps
	r.rest(r.shape.Horizon())
	if r.episode.Steps < r.shape.Horizon() {
		r.bad("episode %s breaks off after step %d of %d", shorten(r.label), taken, r.shape.Horizon())
		return
	}
	r.counts.Observe(r.episode)
	r.size.Episodes++
	for _, a := range r.episode.Actions {
		if a >= 0 {
			r.size.Transitions++
		}
	}
}

func (r *logReader) countRow(cells map[string]string) {
	n, err := strconv.ParseUint(cells["count"], 10, 31)
	if err != nil {
		r.bad("count %q: want a whole number from 0 to %d", shorten(cells["count"]), math.MaxInt32)
	}
	if x, ok := r.read(cells, nil); ok && err == nil {
		if err := r.counts.Add(x.h, x.state, x.action, x.next, uint32(n)); err != nil {
			r.bad("%v", err)
		}
		r.size.Transitions += int(n)
	}
}

// read reads what all rows have. Returns go to values.
func (r *logReader) read(cells map[string]string, values []float64) (x logStep, ok bool) {
	before := len(r.errs)
	if text, given := cells["step"]; given || !r.counts.Pooled() && r.shape.Horizon() > 1 {
		n, err := strconv.Atoi(text)
		switch {
		case r.endless && (err != nil || n < 1):
			r.bad("step %q: want a whole number of at least 1", shorten(text))
		case !r.endless && (err != nil || n < 1 || n > r.shape.Horizon()):
			r.bad("step %q: want 1 to %d", shorten(text), r.shape.Horizon())
		case r.endless:
			x.number = n
		default:
			x.h, x.number = n-1, n
		}
	}
	x.state, x.next = r.state(cells["state"]), r.state(cells["next"])
	if x.state >= 0 {
		x.action = -1
		for a := range r.shape.Actions(x.h, x.state) {
			if r.of.ActionName(x.h, x.state, a) == cells["action"] {
				x.action = a
			}
		}
		if x.action < 0 {
			r.bad("state %s offers no action %q at step %d", r.of.StateName(x.state), shorten(cells["action"]),
				max(x.number, x.h+1))
		}
	}
	for i, name := range r.of.Returns {
		text, given := cells[name]
		if !given {
			continue
		}
		least, most := r.stepReturns(x.h, i)
		value, complaint := parseNumber(text)
		slack := 1e-9 * (1 + math.Abs(least) + math.Abs(most))
		switch {
		case complaint != "":
			r.bad("%s %q: %s", name, shorten(text), complaint)
		case value < least-slack || value > most+slack:
			r.bad("%s %s: the problem's returns of a step go from %g to %g", name, shorten(text), least, most)
		case values != nil:
			values[i] = value
		}
	}
	if len(r.errs) > before {
		return x, false
	}
	return x, !r.opts.Support || r.possible(x)
}

// stepReturns returns the least and the greatest return i of a step, in the units of the file.
func (r *logReader) stepReturns(h, i int) (least, most float64) {
	lower, upper := r.shape.StepReturns(h)
	if r.endless {
		return lower[i] / r.scale, upper[i] / r.scale
	}
	return lower[i], upper[i]
}

// possible reports whether the problem knows the successor of a step.
func (r *logReader) possible(x logStep) bool {
	rows := r.of.Model.Rows(x.h)
	first, _ := rows.Choices(x.state)
	next, prob := rows.Row(first + x.action)
	for e, s := range next {
		if int(s) == x.next && prob[e] > 0 {
			return true
		}
	}
	r.bad("action %s of state %s leads to %s, which the problem says is not possible",
		r.of.ActionName(x.h, x.state, x.action), r.of.StateName(x.state), r.of.StateName(x.next))
	return false
}

func (r *logReader) state(text string) int {
	if s, ok := stateNamed(text, r.states, r.shape.States()); ok {
		return s
	}
	r.bad("unknown state %q%s", shorten(text), r.nearest(text, r.names))
	return -1
}
