package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

// An estimate is what the counts say of the environment, laid out for planning
// and kept up to date choice by choice: the frequencies of successors and the mean
// signals.
type estimate struct {
	*scaledTask
	counts *cmdp.Counts
	layers [][]row   // the choices of each step; one slice if pooled
	mean   []float64 // slots×signals: scaled mean signals, 0 where nothing is known
	fresh  bool      // a successor's count has passed a power of two since the last countDoubled

	support Support // which successors are possible, nil if any

	value []float64 // d
	times []float64
	marks []bool // slots of a layer that an episode touched
	dirty []slot
	// touch notes a transition of the step that observe is at. It is made once, because a function
	// for each step would be an allocation.
	touch func(state, action, next int, returns []float64)
	step  int
}

// A row is what was seen of one choice.
type row struct {
	visits float64
	closed bool    // no other successors than next are possible
	next   []int32 // those that were seen, or, if it is closed, all
	count  []float64
	prob   []float64 // frequencies; all the same without a visit
}

// unknown reports whether nothing is known of the choice.
func (r *row) unknown() bool { return r.visits == 0 && !r.closed }

// A slot is a choice of a step.
type slot struct{ h, s, a int }

// newEstimate returns the estimate of a problem, from the prior if there is one.
func newEstimate(u *scaledTask, c *Config) (*estimate, error) {
	var confidence *cmdp.ReturnConfidence
	if c.Returns == nil {
		confidence = cmdp.NewReturnConfidence(c.Shape, 0, 0) // only its means are used
	}
	counts, err := c.newCounts(confidence)
	if err != nil {
		return nil, err
	}
	e := &estimate{scaledTask: u, counts: counts, value: make([]float64, c.Shape.Dim()), support: c.Knowledge.Support}
	steps := u.horizon
	if c.Pooled {
		steps = 1
	}
	for h := range steps {
		e.layers = append(e.layers, make([]row, u.shape.StepChoices(h)))
	}
	e.mean, e.marks = make([]float64, u.slots()*u.signals), make([]bool, u.slots())
	e.touch = func(state, action, _ int, _ []float64) {
		x := slot{e.step, state, action}
		if i := e.index(x); !e.marks[i] {
			e.marks[i] = true
			e.dirty = append(e.dirty, x)
		}
	}
	e.refreshAll()
	return e, nil
}

// layer returns the choices of step h.
func (e *estimate) layer(h int) []row { return e.layers[min(h, len(e.layers)-1)] }

// visits returns how often each choice of each layer was made, one after the other.
func (e *estimate) visits() (all []float64) {
	for _, layer := range e.layers {
		for c := range layer {
			all = append(all, layer[c].visits)
		}
	}
	return all
}

// pooled reports whether all steps share their rows.
func (e *estimate) pooled() bool { return len(e.layers) < e.horizon }

// refreshAll brings everything up to date with the counts.
func (e *estimate) refreshAll() {
	for h := range e.horizon {
		f := e.offsets(h)
		for s := range e.states {
			for a := range int(f[s+1] - f[s]) {
				if h < len(e.layers) {
					e.refreshRow(h, s, a)
				}
				e.refreshMean(h, s, a)
			}
		}
	}
}

// refreshRow brings the frequencies of one choice up to date.
func (e *estimate) refreshRow(h, s, a int) {
	r := &e.layer(h)[int(e.offsets(h)[s])+a]
	r.next, e.times = e.counts.AppendSuccessors(r.next[:0], e.times[:0], h, s, a)
	if e.support != nil {
		r.closed = true
		r.next, e.times = e.support.complete(r.next, e.times, h, int(e.offsets(h)[s])+a)
	}
	r.visits = 0
	for _, n := range e.times {
		r.visits += n
	}
	for i, n := range e.times {
		if i >= len(r.prob) {
			r.prob, r.count = append(r.prob, 0), append(r.count, 0)
		}
		// math.Ilogb(0) is very negative: a first visit counts.
		e.fresh = e.fresh || math.Ilogb(n) > math.Ilogb(r.count[i])
		r.count[i], r.prob[i] = n, n/r.visits
		if r.visits == 0 { // possible, and not seen
			r.prob[i] = 1 / float64(len(r.next))
		}
	}
}

// refreshMean brings the mean signals of one slot up to date.
func (e *estimate) refreshMean(h, s, a int) {
	c := int(e.offsets(h)[s]) + a
	i := (e.base[h] + c) * e.signals
	returns := e.value
	if e.returns != nil {
		returns = e.returns.At(h, c)
	} else if !e.counts.MeanReturn(returns, h, s, a) {
		return
	}
	for j := range e.signals {
		e.mean[i+j] = e.signal(h, j, returns)
	}
}

// observe counts an episode and returns the choices that it touched, once each
// (with pooling: of step 0). The slice is valid until the next call.
func (e *estimate) observe(tr *cmdp.Trajectory) []slot {
	e.counts.Observe(tr)
	e.dirty = e.dirty[:0]
	for t := range tr.Steps {
		if tr.Actions[t] < 0 {
			continue
		}
		e.step = t
		if e.pooled() {
			e.step = 0
		}
		e.shape.EachEquivalent(t, tr.States[t], tr.Actions[t], tr.States[t+1], tr.Return(t), e.touch)
	}
	for _, x := range e.dirty {
		e.marks[e.index(x)] = false
		e.refreshRow(x.h, x.s, x.a)
		if e.returns != nil {
			continue
		}
		e.refreshMean(x.h, x.s, x.a)
		if e.pooled() {
			for h := 1; h < e.horizon; h++ {
				e.refreshMean(h, x.s, x.a)
			}
		}
	}
	return e.dirty
}

func (e *estimate) index(x slot) int { return e.base[x.h] + int(e.offsets(x.h)[x.s]) + x.a }

// countDoubled reports whether the count of some successor has passed a power of two
// since the last call.
func (e *estimate) countDoubled() bool {
	was := e.fresh
	e.fresh = false
	return was
}

// A signalTable holds what planners add up: a rule makes it from the estimate.
type signalTable struct {
	*estimate
	signal []float64 // slots×signals
	rested []float64 // H×signals: what a rest adds
	set    setSignals
	// episode, if not nil, is told that all signals are set anew for the coming episode.
	episode func()
}

// A setSignals sets dst to the signals of a slot of step h, from the row and the mean signals of its choice.
type setSignals func(dst []float64, h int, r *row, mean []float64)

func newSignalTable(e *estimate) *signalTable {
	t := &signalTable{estimate: e, signal: make([]float64, e.slots()*e.signals),
		rested: make([]float64, e.horizon*e.signals)}
	for h := range e.horizon {
		for j := range e.signals {
			t.rested[h*e.signals+j] = e.rest(h, j)
		}
	}
	return t
}

// refresh sets the signals of choice c at step h.
func (t *signalTable) refresh(h, c int) {
	i := (t.base[h] + c) * t.signals
	t.set(t.signal[i:i+t.signals], h, &t.layer(h)[c], t.mean[i:i+t.signals])
}

// rebuild sets the signals of all slots.
func (t *signalTable) rebuild() {
	if t.episode != nil {
		t.episode()
	}
	for h := range t.horizon {
		for c := range t.shape.StepChoices(h) {
			t.refresh(h, c)
		}
	}
}

// update sets the signals of the choices that an episode touched.
func (t *signalTable) update(touched []slot) {
	for _, x := range touched {
		c := int(t.offsets(x.h)[x.s]) + x.a
		t.refresh(x.h, c)
		for h := x.h + 1; h < t.horizon && t.pooled(); h++ {
			t.refresh(h, c)
		}
	}
}
