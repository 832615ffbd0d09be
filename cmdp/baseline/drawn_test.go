package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A drawn is a learner's problem as plain numbers, so that it can be stated in several ways, see [wording]. Returns,
// limits and starts are multiples of powers of two, so that other units and origins round nothing.
type drawn struct {
	seed       uint64
	horizon    int     // 0 for a run without end
	discount   float64 // of a run without end
	dim        int
	start      []float64
	rows       [][][]drawnRow // by step, one if all are alike, state and action
	limits     []cmdp.Constraint
	radius     float64 // of a ball about center, as a target in the place of limits; 0 without
	center     []float64
	goal       []float64 // nil without a cost
	goalOffset float64
	curved     bool // the cost is a sum of squares about center
	named      bool // the limits are stated beside the target too
	pooled     bool
	known      bool // returns are known
	told       bool // which successors are possible is known
	remembers  bool // states are pairs with a memory that follows
	logged     int  // episodes seen before, played evenly
	scale      cmdp.BonusScale
	slater     float64 // room that the policy of even draws leaves in each limit, at least
}

type drawnRow struct {
	returns, next []float64
}

// drawProblem draws a problem that combines what learners have to be right about together.
func drawProblem(seed uint64) *drawn {
	rng := rand.New(rand.NewPCG(seed, 415))
	d := &drawn{seed: seed, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(3), discount: 1}
	states := 2 + rng.IntN(3)
	stationary := rng.IntN(2) == 0
	switch rng.IntN(8) {
	case 0, 1: // a bandit
		states, d.horizon = 1, 1
	case 2, 3: // a run without end
		d.horizon, stationary = 0, true
		d.discount = []float64{1, 1, 0.75}[rng.IntN(3)]
	}
	for range states {
		d.start = append(d.start, 0)
	}
	d.start[rng.IntN(states)] += 0.75
	d.start[rng.IntN(states)] += 0.25
	steps := max(1, d.horizon)
	if stationary {
		steps = 1
	}
	sparse, rests := rng.IntN(2) == 0, d.horizon > 1 && rng.IntN(3) == 0
	for h := range steps {
		step := make([][]drawnRow, states)
		for s := range step {
			if rests && s == states-1 && (stationary || (h+int(seed))%2 == 0) {
				continue
			}
			for range 1 + rng.IntN(3) {
				step[s] = append(step[s], d.drawRow(states, sparse, rng))
			}
		}
		d.rows = append(d.rows, step)
	}
	d.pooled = stationary && d.horizon > 1 && rng.IntN(2) == 0
	d.known, d.told = rng.IntN(2) == 0, rng.IntN(2) == 0
	d.remembers = d.horizon > 1 && rng.IntN(4) == 0
	d.logged = []int{0, 5, 60, 60}[rng.IntN(4)]
	d.scale = []cmdp.BonusScale{{}, {Mode: cmdp.Practice}, cmdp.TheoryTimes(0), cmdp.TheoryTimes(0.02),
		cmdp.TheoryTimes(0.02)}[rng.IntN(5)]
	d.drawTask(rng)
	return d
}

func (d *drawn) drawRow(states int, sparse bool, rng *rand.Rand) (row drawnRow) {
	for i := range d.dim {
		row.returns = append(row.returns, float64(rng.IntN(1024)-512*i)/256)
	}
	for range states {
		row.next = append(row.next, math.Pow(rng.Float64(), 3)+0.02)
	}
	if sparse {
		for range states / 2 {
			row.next[rng.IntN(states)] = 0
		}
		row.next[rng.IntN(states)] += 0.1
	}
	floats.Scale(1/floats.Sum(row.next), row.next)
	return row
}

// drawTask draws limits that the policy that draws all actions evenly keeps, a goal, or both.
func (d *drawn) drawTask(rng *rand.Rand) {
	even := d.even()
	d.named = rng.IntN(3) > 0
	down := func(x float64) float64 { return math.Floor(x*64) / 64 }
	for _, x := range even {
		d.center = append(d.center, down(x))
	}
	arms := len(d.start) == 1
	if goalless := rng.IntN(8) == 0 || arms && rng.IntN(2) == 0; !goalless {
		d.goal = make([]float64, d.dim)
		for i := range d.goal {
			d.goal[i] = float64(rng.IntN(5) - 2)
		}
		d.goal[rng.IntN(d.dim)] = 1
		d.goalOffset = float64(rng.IntN(3) - 1)
		d.curved = rng.IntN(5) == 0
	}
	if rng.IntN(8) == 0 {
		d.radius = 0.5
		return
	}
	limits := rng.IntN(4)
	if d.goal == nil {
		limits = max(1, limits)
	}
	d.slater = 0.125
	for range limits {
		c := cmdp.Constraint{Normal: make([]float64, d.dim)}
		c.Normal[rng.IntN(d.dim)] = float64(1+rng.IntN(3)) * float64(1-2*rng.IntN(2))
		if rng.IntN(2) == 0 {
			c.Normal[rng.IntN(d.dim)] += 4
		}
		c.Offset = d.slater + down(floats.Dot(c.Normal, even)) + float64(1+rng.IntN(16))/64
		d.limits = append(d.limits, c)
	}
}

// A wording is one of several ways to state a problem and to show its episodes. The zero wording, of the problem as it
// was drawn, has nil or zero fields.
type wording struct {
	scale, shift []float64 // return i of a step is scale·x + shift
	order        []int     // return i stands at order[i]
	unused       bool      // one more return, at the end
	norm         float64   // of half-spaces, in units of what they were; 0 stands for 1
	implied      bool      // half-spaces that others imply are stated too
	hull         bool      // the target is the intersection of sets
	goal         float64   // factor of the cost; 0 stands for 1
	goalOffset   float64
	saved        bool    // the learner is saved and restored after each episode
	states       []int   // the new number of each state
	actions      [][]int // and by state of each action
}

// put returns a return of a step, or with steps a sum of so many, in another wording.
func (w *wording) put(x []float64, steps, unused float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		at := i
		if w.order != nil {
			at = w.order[i]
		}
		y[at] = v
		if w.scale != nil {
			y[at] = w.scale[i]*v + steps*w.shift[i]
		}
	}
	if w.unused {
		y = append(y, unused)
	}
	return y
}

// covector returns the coefficients of a linear function of returns in another wording, and what to add to an offset.
func (w *wording) covector(n []float64, steps float64) (other []float64, offset float64) {
	other = make([]float64, len(n))
	for i, v := range n {
		at := i
		if w.order != nil {
			at = w.order[i]
		}
		other[at] = v
		if w.scale != nil {
			other[at] = v / w.scale[i]
			offset += other[at] * steps * w.shift[i]
		}
	}
	if w.unused {
		other = append(other, 0)
	}
	return other, offset
}

// unusedReturn is that of an action where there is one more return than was drawn.
func unusedReturn(action int) float64 { return float64(action) / 2 }

func (w *wording) state(s int) int {
	if w.states == nil {
		return s
	}
	return w.states[s]
}

func (w *wording) action(s, a int) int {
	if w.actions == nil || a < 0 {
		return a
	}
	return w.actions[s][a]
}

// steps is how many steps a mean return is the sum of.
func (d *drawn) steps() float64 { return math.Max(1, float64(d.horizon)) }

// rests says whether some state offers nothing at some step.
func (d *drawn) rests() bool {
	return slices.ContainsFunc(d.rows, func(step [][]drawnRow) bool {
		return slices.ContainsFunc(step, func(rows []drawnRow) bool { return len(rows) == 0 })
	})
}

// even has the mean returns of a policy that draws actions evenly, or without episodes the mean of all choices.
func (d *drawn) even() []float64 {
	sum, mass := make([]float64, d.dim), d.start
	for h := range int(d.steps()) {
		step := d.rows[min(h, len(d.rows)-1)]
		next := make([]float64, len(mass))
		for s, rows := range step {
			x := mass[s]
			if d.horizon == 0 {
				x = 1 / float64(len(mass))
			}
			if len(rows) == 0 {
				next[s] += x
			}
			for _, row := range rows {
				floats.AddScaled(sum, x/float64(len(rows)), row.returns)
				floats.AddScaled(next, x/float64(len(rows)), row.next)
			}
		}
		mass = next
	}
	return sum
}

// A posed is a problem in one wording.
type posed struct {
	*drawn
	wording
	model *cmdp.Model
	env   *cmdp.Endless // nil with episodes
	Config
}

// pose states a problem in a wording.
func (d *drawn) pose(t testing.TB, w wording) *posed {
	t.Helper()
	p := &posed{drawn: d, wording: w}
	p.model = p.build(t)
	p.Config = Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 20, Failure: 0.1}, Bonus: d.scale,
		Pooled: d.pooled}, Shape: p.model.Shape(), Seed: d.seed}
	if d.horizon == 0 {
		var err error
		p.env, err = cmdp.NewEndless(p.model)
		if err != nil {
			t.Fatal(err)
		}
		p.Shape, p.Endless = p.env.Shape(), &Endless{Discount: d.discount}
	}
	switch {
	case d.known && p.env != nil:
		p.Returns = p.env.KnownReturns()
	case d.known:
		p.Returns = p.model.KnownReturns()
	}
	if d.told {
		p.Knowledge.Support = SupportOf(p.model)
	}
	p.Task = p.task(t)
	if even := w.put(d.even(), d.steps(), 0.25); len(d.limits) > 0 {
		p.Knowledge.Slater = d.slater
		if d.named {
			p.Knowledge.Slater *= w.unit()
		} else if w.scale != nil { // the target knows unit normals alone
			p.Knowledge.Slater *= math.Abs(w.scale[0])
		}
		p.Knowledge.Safe, p.Knowledge.SafeReturns = cmdp.Uniform{Shape: p.Shape}, even
		p.Knowledge.Null, p.Knowledge.NullReturns = p.Knowledge.Safe, even
	}
	return p
}

func (p *posed) build(t testing.TB) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Horizon: p.horizon, Dim: len(p.put(p.center, 0, 0))}
	if p.horizon == 0 {
		spec.Average = p.discount == 1
	}
	if p.discount < 1 {
		spec.Discount = p.discount
	}
	for s, x := range p.start {
		if x > 0 {
			spec.Start = append(spec.Start, cmdp.StartState{State: p.state(s), Probability: x})
		}
	}
	b := cmdp.NewBuilder(spec, len(p.start))
	for h, step := range p.rows {
		for s, rows := range step {
			for a, row := range rows {
				x := cmdp.Row{Step: h + 1, State: p.state(s), Action: p.action(s, a),
					Returns: p.put(row.returns, 1, unusedReturn(a))}
				if p.discount < 1 {
					floats.Scale(1-p.discount, x.Returns)
				}
				if len(p.rows) == 1 {
					x.Step = cmdp.EveryStep
				}
				for n, q := range row.next {
					if q > 0 {
						x.Next = append(x.Next, cmdp.Transition{Next: p.state(n), Probability: q})
					}
				}
				addRow(t, b, x)
			}
		}
	}
	m := built(t, b)
	if !p.remembers {
		return m
	}
	parity := func(memory int, t monitor.Transition) int { return (memory + t.Next) % 2 }
	product, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{recalling(parity)}})
	if err != nil {
		t.Fatal(err)
	}
	return product.Model
}

// unit is the factor of half-spaces.
func (w *wording) unit() float64 {
	if w.norm == 0 {
		return 1
	}
	return w.norm
}

// task states cost and target over the returns of the wording.
func (p *posed) task(t testing.TB) (task cmdp.Task) {
	t.Helper()
	box := boxOfShape(t, p.Shape)
	task.Box = box
	var err error
	factor := p.wording.goal
	if factor == 0 {
		factor = 1
	}
	if goal := p.drawn.goal; goal != nil {
		gradient, moved := p.covector(goal, p.steps())
		floats.Scale(factor, gradient)
		task.Cost, err = cost.NewAffine(gradient, factor*(p.drawn.goalOffset-moved)+p.wording.goalOffset, box)
		if p.curved {
			weights := make([]float64, p.dim)
			for i := range weights {
				weights[i] = factor * float64(1+i)
				if p.wording.scale != nil {
					weights[i] /= p.wording.scale[i] * p.wording.scale[i]
				}
			}
			flat := wording{order: p.order, unused: p.unused}
			task.Cost, err = cost.NewSquared(p.put(p.center, p.steps(), 0), flat.put(weights, 0, 0), box)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var sets []geometry.Set
	var normals [][]float64
	var offsets []float64
	for _, c := range p.stated() {
		normals, offsets = append(normals, c.Normal), append(offsets, c.Offset)
		half, err := geometry.NewHalfspace(c.Normal, c.Offset)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, half)
	}
	var set geometry.Set
	switch {
	case p.radius > 0:
		radius := p.radius
		if p.wording.scale != nil {
			radius *= math.Abs(p.wording.scale[0])
		}
		set, err = geometry.NewBall(p.put(p.center, p.steps(), 0), radius)
	case len(sets) == 0:
		return task
	case p.hull:
		set, err = geometry.NewIntersection(sets...)
	default:
		set, err = geometry.NewPolyhedron(normals, offsets)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.named && p.radius == 0 {
		task.Constraints = p.stated()
	}
	task.Target, err = geometry.Restrict(set, box)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// stated lists the half-spaces of the wording.
func (p *posed) stated() (all []cmdp.Constraint) {
	for _, c := range p.limits {
		normal, moved := p.covector(c.Normal, p.steps())
		floats.Scale(p.unit(), normal)
		c = cmdp.Constraint{Normal: normal, Offset: p.unit() * (c.Offset + moved)}
		all = append(all, c)
	}
	if p.implied {
		for _, c := range slices.Clone(all) {
			twice := make([]float64, len(c.Normal))
			floats.AddScaled(twice, 2, c.Normal)
			all = append(all, cmdp.Constraint{Normal: twice, Offset: 2*c.Offset + 0.25},
				cmdp.Constraint{Normal: c.Normal, Offset: c.Offset + 0.125},
				cmdp.Constraint{Normal: twice, Offset: 2 * c.Offset})
		}
	}
	return all
}

// retell puts an episode in the wording.
func (p *posed) retell(tr *cmdp.Trajectory) *cmdp.Trajectory {
	image := cmdp.NewTrajectory(p.Shape)
	image.Steps = tr.Steps
	image.States[0] = p.state(tr.States[0])
	for h := range tr.Steps {
		image.Actions[h], image.States[h+1] = p.action(tr.States[h], tr.Actions[h]), p.state(tr.States[h+1])
		if tr.Actions[h] >= 0 {
			copy(image.Return(h), p.put(tr.Return(h), 1, unusedReturn(tr.Actions[h])))
			floats.Add(image.Total, image.Return(h))
		}
	}
	return image
}

// learner makes a learner that has seen the log.
func (p *posed) learner(t testing.TB, name string, log []*cmdp.Trajectory) (cmdp.Learner, error) {
	t.Helper()
	c := p.Config
	if len(log) > 0 {
		var returns *cmdp.ReturnConfidence
		if c.Returns == nil {
			returns = cmdp.NewReturnConfidence(c.Shape, 0, 0)
		}
		var err error
		c.Prior, err = cmdp.NewCounts(c.Shape, c.Pooled, returns)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range log {
			c.Prior.Observe(p.retell(tr))
		}
	}
	return New(name, c)
}
