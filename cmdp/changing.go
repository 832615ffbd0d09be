package cmdp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp/internal/saved"

	"gonum.org/v1/gonum/floats"
)

// A ReturnSchedule says how expected returns change from episode to episode. Exactly one of Drift, Switch and
// Against is given.
type ReturnSchedule struct {
	// Other is a model with the same choices as the one that is played, for its returns. It is for Drift and Switch.
	Other *Model
	// Drift is the number K ≥ 2 of episodes over which the returns go from those of the model, in the first
	// episode, to those of Other, in episode K, in equal steps. From then on they stay.
	Drift int
	// Switch is the probability, above 0 and at most 1, with which before an episode, but for the first, the
	// returns change from those of the model to those of Other, or back.
	Switch float64
	// Against is the gradient of a cost, of length d, that an adversary raises where the learner has been: each
	// return whose coefficient is not 0 moves from its value in the model towards the worse end of its range,
	// by the share of the last [AdversaryMemory] episodes, weighted by their age, in which the choice was
	// taken.
	Against []float64
}

// AdversaryMemory is the mean age, in episodes, of what an adversary remembers.
const AdversaryMemory = 10

// A Changing is a model of finite horizon whose expected returns change from episode to episode, as the
// environment of one run. A step returns what is expected of the choice in this episode; states follow as in
// the model. Other than a model it must not be used concurrently, and it is played in episodes that begin with
// Start.
type Changing struct {
	saved.State
	model    *Model
	shape    *Shape
	schedule ReturnSchedule
	// expected returns of the choices, one table if they are the same at every step, else one for each
	base [][]float64
	end  [][]float64 // what they move to: those of the other model, or the worst
	pcg  *rand.PCG
	rng  *rand.Rand
	x    changingState
}

// changingState is the state of a run. Shares are those of end in the returns of a choice.
type changingState struct {
	Episodes int
	Share    float64     // of all choices, without an adversary
	Shares   float64     // their sum over the episodes
	Lately   [][]float64 // share of each choice, with an adversary
	Sum      [][]float64 // their sums over the episodes
	Taken    [][]bool    // choices of the present episode
}

// NewChanging returns the environment of a run. What is random in the schedule comes from the seed.
func NewChanging(m *Model, schedule ReturnSchedule, seed uint64) (*Changing, error) {
	switch {
	case m == nil:
		return nil, errors.New(noModel)
	case m.horizon == 0 || m.shape.Game() || m.tally != nil:
		return nil, errors.New("cmdp: returns that change: want a model with a horizon and one player whose rows are stored")
	}
	c := &Changing{model: m, schedule: schedule, base: m.returnTables(), pcg: Stream(seed, "returns")}
	c.rng = rand.New(c.pcg)
	if err := schedule.check(m); err != nil {
		return nil, err
	}
	c.end = c.worst()
	if schedule.Other != nil {
		c.end = schedule.Other.returnTables()
		if len(c.end) != len(c.base) {
			c.base, c.end = perStep(c.base, m.horizon), perStep(c.end, m.horizon)
		}
	}
	if err := c.makeShape(); err != nil {
		return nil, err
	}
	c.x.Share = math.NaN() // before the first episode
	if schedule.Against != nil {
		for _, table := range c.base {
			n := len(table) / m.dim
			c.x.Lately = append(c.x.Lately, make([]float64, n))
			c.x.Sum = append(c.x.Sum, make([]float64, n))
			c.x.Taken = append(c.x.Taken, make([]bool, n))
		}
	}
	c.Keep(&c.x, c.pcg)
	return c, nil
}

func (s *ReturnSchedule) check(m *Model) error {
	kinds := 0
	for _, given := range []bool{s.Drift != 0, s.Switch != 0, s.Against != nil} {
		if given {
			kinds++
		}
	}
	switch o := s.Other; {
	case kinds != 1:
		return fmt.Errorf("cmdp: returns that change in %d ways: want a drift, a switch or an adversary", kinds)
	case s.Drift < 0 || s.Drift == 1:
		return fmt.Errorf("cmdp: returns that drift over %d episodes: want at least 2", s.Drift)
	case s.Switch != 0 && !(s.Switch > 0 && s.Switch <= 1):
		return fmt.Errorf("cmdp: returns that switch with probability %g: want above 0 and at most 1", s.Switch)
	case s.Against != nil && len(s.Against) != m.dim:
		return fmt.Errorf("cmdp: adversary with %d coefficients: want %d, one for each return", len(s.Against), m.dim)
	case s.Against != nil && floats.HasNaN(s.Against):
		return errors.New("cmdp: adversary with a coefficient that is not a number")
	case (s.Against == nil) != (o != nil):
		return errors.New("cmdp: returns that drift or switch need another model, and an adversary does not")
	case o == nil:
		return nil
	case o.horizon != m.horizon || o.dim != m.dim || o.states != m.states:
		return fmt.Errorf("cmdp: the other model has horizon %d, %d returns and %d states: want %d, %d and %d",
			o.horizon, o.dim, o.states, m.horizon, m.dim, m.states)
	}
	for h := range m.horizon {
		for st := range m.states {
			if a, b := m.shape.Actions(h, st), s.Other.shape.Actions(h, st); a != b {
				return fmt.Errorf("cmdp: step %d, state %d: the other model has %d actions: want %d", h+1, st, b, a)
			}
		}
	}
	return nil
}

// returnTables returns the expected returns of all choices, in one table or one for each step.
func (m *Model) returnTables() [][]float64 {
	var tables [][]float64
	for h := range m.rows {
		tables = append(tables, slices.Clone(m.Kernel(h).table(m.dim)))
	}
	return tables
}

// perStep repeats a table that serves all steps for each of them.
func perStep(tables [][]float64, steps int) [][]float64 {
	if len(tables) == 1 {
		return slices.Repeat(tables, steps)
	}
	return tables
}

// worst returns the tables with the returns that the adversary is after at the worst end of their ranges.
func (c *Changing) worst() [][]float64 {
	var tables [][]float64
	for h, table := range c.base {
		lower, upper := c.model.shape.StepReturns(h)
		table = slices.Clone(table)
		for i := range table {
			switch j := i % c.model.dim; {
			case c.schedule.Against == nil || c.schedule.Against[j] == 0:
			case c.schedule.Against[j] > 0:
				table[i] = upper[j]
			default:
				table[i] = lower[j]
			}
		}
		tables = append(tables, table)
	}
	return tables
}

// makeShape makes the shape, with ranges that hold all returns that there can be.
func (c *Changing) makeShape() error {
	m := c.model
	spec := ShapeSpec{Horizon: m.horizon, Dim: m.dim, Start: m.StartStates(), First: m.shape.first}
	for h := range m.horizon {
		box := Interval{Lower: slices.Repeat([]float64{math.Inf(1)}, m.dim),
			Upper: slices.Repeat([]float64{math.Inf(-1)}, m.dim)}
		for _, tables := range [][][]float64{c.base, c.end} {
			for i, x := range tables[min(h, len(tables)-1)] {
				box.Lower[i%m.dim] = min(box.Lower[i%m.dim], x)
				box.Upper[i%m.dim] = max(box.Upper[i%m.dim], x)
			}
		}
		for i := range box.Lower {
			if box.Lower[i] > box.Upper[i] { // no choices
				box.Lower[i], box.Upper[i] = 0, 0
			}
		}
		spec.Returns = append(spec.Returns, box)
	}
	var err error
	c.shape, err = NewShape(spec)
	return err
}

// Shape returns the shape. Its ranges are those of the returns of all episodes.
func (c *Changing) Shape() *Shape { return c.shape }

// Start begins an episode and draws its first state.
func (c *Changing) Start(rng *rand.Rand) int {
	x := &c.x
	x.Episodes++
	first := x.Episodes == 1
	switch s := &c.schedule; {
	case s.Drift > 0:
		x.Share = min(1, float64(x.Episodes-1)/float64(s.Drift-1))
	case first:
		x.Share = 0
	case s.Switch > 0 && c.rng.Float64() < s.Switch:
		x.Share = 1 - x.Share
	}
	x.Shares += x.Share
	for t, lately := range x.Lately {
		for i := range lately {
			seen := 0.0
			if x.Taken[t][i] {
				seen = 1
			}
			lately[i] += (seen - lately[i]) / AdversaryMemory
			x.Sum[t][i] += lately[i]
		}
		clear(x.Taken[t])
	}
	return c.model.Start(rng)
}

// Step takes an action, see [Environment].
func (c *Changing) Step(returns []float64, rng *rand.Rand, h, state, action int) int {
	next := c.model.Step(returns, rng, h, state, action)
	first, _ := c.model.shape.Choices(h, state)
	t, i := min(h, len(c.base)-1), first+action
	if c.x.Taken != nil {
		c.x.Taken[t][i] = true
	}
	c.mix(returns, t, i, c.share(t, i))
	return next
}

// share is how far the returns of a choice of a table have moved in the present episode.
func (c *Changing) share(t, i int) float64 {
	if c.x.Lately != nil {
		return c.x.Lately[t][i]
	}
	return c.x.Share
}

// mix sets dst to the returns of a choice that have moved by a share.
func (c *Changing) mix(dst []float64, t, i int, share float64) {
	d := c.model.dim
	for j := range dst {
		from, to := c.base[t][i*d+j], c.end[t][i*d+j]
		dst[j] = min(max(from+share*(to-from), min(from, to)), max(from, to))
	}
}

// Returns are the expected returns of the present episode, or of the last one if none has begun since. It allocates.
func (c *Changing) Returns() *Returns {
	r, err := NewReturns(c.shape, c.tables(c.share))
	if err != nil {
		panic("cmdp: " + err.Error()) // they are within the ranges
	}
	return r
}

// tables makes tables of returns of which each choice has moved by its share.
func (c *Changing) tables(share func(t, i int) float64) [][]float64 {
	d := c.model.dim
	tables := make([][]float64, len(c.base))
	for t := range tables {
		tables[t] = make([]float64, len(c.base[t]))
		for i := range len(tables[t]) / d {
			c.mix(tables[t][i*d:(i+1)*d], t, i, share(t, i))
		}
	}
	return tables
}

// Mean returns the model with the means of the returns over the episodes that have begun. The return of a
// policy in it is the mean of what the policy would have had in expectation in these episodes, so that planning
// for it finds the best fixed policy in hindsight. It is an error if none has begun. It allocates.
func (c *Changing) Mean() (*Model, error) {
	k := float64(c.x.Episodes)
	if k == 0 {
		return nil, errors.New("cmdp: mean returns of no episodes")
	}
	m := c.model
	tables := c.tables(func(t, i int) float64 {
		if c.x.Sum != nil {
			return c.x.Sum[t][i] / k
		}
		return c.x.Shares / k
	})
	spec := ModelSpec{Horizon: m.horizon, Dim: m.dim, Start: m.StartStates()}
	for t, table := range tables {
		rows, kernel := m.Rows(t), NewKernel()
		for s := range m.states {
			first, end := rows.Choices(s)
			for i := first; i < end; i++ {
				next, prob := rows.Row(i)
				kernel.Append(next, prob, table[i*m.dim:(i+1)*m.dim])
			}
			kernel.EndState()
		}
		spec.Kernels = append(spec.Kernels, kernel)
	}
	return NewModel(spec)
}

// A ReturnsObserver is a learner that is told the expected returns of each episode after it, where returns change.
type ReturnsObserver interface {
	Learner
	ObserveReturns(*Returns)
}
