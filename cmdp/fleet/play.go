package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/internal/sample"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Player controls a fleet: what is made by [NewIndependent], and with a horizon by [NewReplanner],
// [NewDispatcher] and [NewWhittle]. It may play several episodes at a time.
type Player interface {
	// agentGroups says in which groups agents are told apart.
	agentGroups() []agentGroup
	// begin returns what controls one episode. All randomness of the control comes from rng.
	begin(rng *rand.Rand) controller
}

// An agentGroup is a number of agents of one type.
type agentGroup struct {
	kind  int   // number of the type
	count int   // of agents
	start []int // how many begin in each state; nil where that is drawn for each agent
}

// A controller controls one episode.
type controller interface {
	// act sets dst, one entry for each group and choice of step h, to how many agents take the choice. now is
	// how many agents of each group are in each state, and so far is what was returned before the step, in the
	// coordinates of the fleet.
	act(ctx context.Context, dst [][]int, h int, now [][]int, soFar []float64) error
}

// PlayOptions say how a fleet is played.
type PlayOptions struct {
	// Episodes are played, at least 1.
	Episodes int
	// Seed is that of the random numbers. Each episode has streams of its own, so that results do not depend on
	// Workers.
	Seed uint64
	// Steps are those of an episode of a fleet about long-run means, whose returns are then means over them; 0
	// stands for 1000. Other fleets have their own.
	Steps int
	// Workers bounds the number of episodes that are played at a time; 0 stands for GOMAXPROCS.
	Workers int
	// Each, if not nil, is called for each episode in turn with its returns, in the coordinates of the fleet.
	Each func(v []float64)
}

// Played is what came of playing a fleet.
type Played struct {
	Episodes int
	// Steps are those of an episode: the horizon, the steps of a mean, or with a discount those after which the
	// rest is at most a millionth of what can be returned.
	Steps int
	// Mean has the means over the episodes, in the coordinates of the fleet, and Half the half-widths of their
	// 95% confidence intervals, NaN of one episode.
	Mean, Half []float64
	// Objective is the cost of the task at Mean, 0 without a cost. Each is the mean of the costs of single
	// episodes, which is larger where the cost is curved.
	Objective float64
	Each      Estimate
	// Limits says of each limit how it was kept.
	Limits []LimitPlayed
	// Kept is the share of the episodes that kept all limits.
	Kept Share
	// KeptSteps is the share of the episodes that kept all limits of single steps. It is 1 without any.
	KeptSteps Share
}

// An Estimate is a mean with the half-width of its 95% confidence interval, NaN if there was one sample.
type Estimate struct{ Mean, Half float64 }

// A Share is a share of episodes with the ends of Wilson's 95% confidence interval.
type Share struct{ Share, Low, High float64 }

// LimitPlayed says how a limit was kept, where a single episode has to keep it.
type LimitPlayed struct {
	cmdp.Constraint
	// Step is the step that the limit is about, Episode for more than one.
	Step int
	// Value is Normal·v.
	Value Estimate
	// Broken is the share of the episodes in which it was broken by more than rounding, Excess by how much in
	// the mean over these, 0 if there are none, and Most by how much at most.
	Broken       Share
	Excess, Most float64
}

// chunk is how many episodes are played before their results are added up.
const chunk = 256

// Play plays a fleet and says how it kept the limits of a task in each episode, although a plan keeps them in
// the mean. It returns an error if the target of the task is not known to be a polyhedron, or, that of ctx, if
// it ends.
func Play(ctx context.Context, f *Fleet, task cmdp.Task, player Player, options PlayOptions) (*Played, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	rows, err := f.rowsOf(task)
	if err != nil {
		return nil, err
	}
	if player == nil {
		return nil, errors.New("fleet: no player")
	}
	if options.Episodes < 1 || options.Workers < 0 || options.Steps < 0 {
		return nil, fmt.Errorf("fleet: %d episodes of %d steps by %d workers: want at least 1, 0 and 0",
			options.Episodes, options.Steps, options.Workers)
	}
	if options.Workers == 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	time := f.clock(options.Steps)
	s := newSums(f, task, rows)
	s.played.Steps = time.steps
	var played atomic.Int64
	tell := progress.Of(ctx)
	for first := 0; first < options.Episodes; first += chunk {
		n := min(chunk, options.Episodes-first)
		results := make([]*returned, n)
		faults := make([]error, n)
		relay := parallel.Relay{Workers: options.Workers, Stages: 1, Parts: n, Do: func(_, part int) {
			faults[part] = ctx.Err()
			if faults[part] == nil {
				results[part], faults[part] = playEpisode(ctx, f, player, time, options.Seed, first+part)
			}
			tell.Tell("playing episodes", float64(played.Add(1))/float64(options.Episodes))
		}}
		if err := relay.Run(ctx); err != nil {
			return nil, err
		}
		if err := errors.Join(faults...); err != nil {
			return nil, err
		}
		for _, r := range results {
			s.add(r)
			if options.Each != nil {
				options.Each(r.v)
			}
		}
	}
	return s.finish(), nil
}

// A clock says how long an episode is, and how its steps count.
type clock struct {
	steps           int
	first, discount float64 // the weight of the first step, and by what weights change from step to step
}

const (
	// truncated is the share of the discounted returns that the steps left out of an episode may have at most.
	truncated = 1e-6
	// meanSteps are those of an episode of a fleet about long-run means.
	meanSteps = 1000
)

// clock returns the time of an episode; steps are those of long-run means, 0 for meanSteps.
func (f *Fleet) clock(steps int) clock {
	m := f.Types[0].Model
	switch {
	case m.Horizon() > 0:
		return clock{m.Horizon(), 1, 1}
	case m.Means():
		if steps == 0 {
			steps = meanSteps
		}
		return clock{steps, 1 / float64(steps), 1}
	}
	return clock{max(1, int(math.Ceil(math.Log(truncated)/math.Log(m.Discount())))), 1, m.Discount()}
}

// playable returns the limits of a task, or an error if the fleet cannot be played step by step to an end.
func (f *Fleet) playable(task cmdp.Task) ([]row, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if f.Horizon() == 0 {
		return nil, errHorizon
	}
	return f.rowsOf(task)
}

// A returned is what an episode returns, in the coordinates of the fleet.
type returned struct {
	v    []float64
	size []float64 // the sums of the magnitudes that v adds up, by which its rounding is measured
}

// playEpisode plays one episode.
func playEpisode(ctx context.Context, f *Fleet, player Player, time clock, seed uint64, number int) (*returned, error) {
	chance := rand.New(cmdp.Stream(seed, fmt.Sprintf("fleet episode %d", number)))
	agent := rand.New(cmdp.Stream(seed, fmt.Sprintf("control of fleet episode %d", number)))
	groups := player.agentGroups()
	now := make([][]int, len(groups))
	next := make([][]int, len(groups))
	acts := make([][]int, len(groups))
	for g, p := range groups {
		m := f.Types[p.kind].Model
		now[g] = make([]int, m.States())
		next[g] = make([]int, m.States())
		if p.start != nil {
			copy(now[g], p.start)
			continue
		}
		start := m.StartStates()
		probabilities := make([]float64, len(start))
		for i, st := range start {
			probabilities[i] = st.Probability
		}
		multinomial(chance, p.count, probabilities, func(i, n int) { now[g][start[i].State] += n })
	}
	sum := &returned{v: make([]float64, f.Dim()), size: make([]float64, f.Dim())}
	control := player.begin(agent)
	weight := time.first
	for h := range time.steps {
		for g, p := range groups {
			acts[g] = resized(acts[g], stepChoices(f.Types[p.kind].Model, h))
		}
		if err := control.act(ctx, acts, h, now, sum.v); err != nil {
			return nil, err
		}
		for g, p := range groups {
			f.step(sum, weight, chance, p.kind, h, next[g], now[g], acts[g])
		}
		now, next = next, now
		weight *= time.discount
	}
	return sum, nil
}

// stepChoices returns the number of choices of a step.
func stepChoices(m *cmdp.Model, h int) int {
	_, end := m.Rows(h).Choices(m.States() - 1)
	return end
}

// resized returns n zeros, in the memory of x if that suffices.
func resized(x []int, n int) []int {
	if cap(x) < n {
		return make([]int, n)
	}
	x = x[:n]
	clear(x)
	return x
}

// step draws where agents of a type get to by what they do, and adds weight times what they return to a sum.
func (f *Fleet) step(sum *returned, weight float64, chance *rand.Rand, kind, h int, next, now, acts []int) {
	clear(next)
	rows := f.Types[kind].Model.Rows(h)
	for s, agents := range now {
		if agents == 0 {
			continue
		}
		first, end := rows.Choices(s)
		if first == end {
			next[s] += agents
			continue
		}
		for c := first; c < end; c++ {
			if acts[c] == 0 {
				continue
			}
			to, probabilities := rows.Row(c)
			if !rows.Random() {
				f.collect(sum, kind, h, rows.Returns(c), weight*float64(acts[c]))
			}
			multinomial(chance, acts[c], probabilities, func(i, n int) {
				next[to[i]] += n
				if rows.Random() {
					f.collect(sum, kind, h, rows.Outcome(c, i), weight*float64(n))
				}
			})
		}
	}
}

// multinomial draws n times with the given probabilities and calls count for each index that is drawn, in
// ascending order, with how often it is.
func multinomial(rng *rand.Rand, n int, probabilities []float64, count func(i, n int)) {
	left := 1.0
	last := len(probabilities) - 1
	for last > 0 && !(probabilities[last] > 0) {
		last--
	}
	for i, p := range probabilities[:last] {
		if n == 0 {
			return
		}
		if !(p > 0) {
			continue
		}
		k := binomial(rng, n, min(1, p/left))
		left = max(left-p, math.SmallestNonzeroFloat64)
		if k > 0 {
			count(i, k)
			n -= k
		}
	}
	if n > 0 {
		count(last, n)
	}
}

// byInversion is the expected number of successes, or of failures, up to which binomial goes through
// probabilities one by one. At 30 the first of them is at least 1e-19.
const byInversion = 30

// binomial draws the number of successes in n trials.
func binomial(rng *rand.Rand, n int, p float64) int {
	switch {
	case p >= 1:
		return n
	case n == 1:
		if rng.Float64() < p {
			return 1
		}
		return 0
	case p > 0.5:
		return n - binomial(rng, n, 1-p)
	case float64(n)*p > byInversion:
		return int(distuv.Binomial{N: float64(n), P: p, Src: rng}.Rand())
	}
	u := rng.Float64()
	ratio := p / (1 - p)
	mass := math.Exp(float64(n) * math.Log1p(-p))
	for k := range n {
		u -= mass
		if u < 0 {
			return k
		}
		mass *= ratio * float64(n-k) / float64(k+1)
		if mass < 1e-20 && float64(k) > float64(n)*p {
			return k + 1 // what is left of u is rounding
		}
	}
	return n
}

// sums add up what episodes returned.
type sums struct {
	task    cmdp.Task
	rows    []row
	played  Played
	squares []float64 // sums of squared deviations
	cost    float64   // of the objective of single episodes
	value   []float64 // of the limits
	broken  []int
	kept    int
	steps   int // episodes that kept all limits of single steps
}

func newSums(f *Fleet, task cmdp.Task, rows []row) *sums {
	s := &sums{task: task, rows: rows, squares: make([]float64, f.Dim()), value: make([]float64, len(rows)),
		broken: make([]int, len(rows))}
	s.played.Mean = make([]float64, f.Dim())
	s.played.Half = make([]float64, f.Dim())
	s.played.Limits = make([]LimitPlayed, len(rows))
	for k, r := range rows {
		s.played.Limits[k].Constraint = r.Constraint
		s.played.Limits[k].Step = r.step
	}
	return s
}

// add adds an episode.
func (s *sums) add(r *returned) {
	p, v := &s.played, r.v
	p.Episodes++
	for i, x := range v {
		sample.Add(&p.Mean[i], &s.squares[i], x, p.Episodes)
	}
	if s.task.Cost != nil {
		sample.Add(&p.Each.Mean, &s.cost, s.task.Cost.Value(v), p.Episodes)
	}
	kept, steps := true, true
	for k := range s.rows {
		l := &p.Limits[k]
		sample.Add(&l.Value.Mean, &s.value[k], s.rows[k].value(v), p.Episodes)
		excess, broken := s.rows[k].broken(r)
		if !broken {
			continue
		}
		kept = false
		steps = steps && s.rows[k].step == Episode
		s.broken[k]++
		l.Excess += (excess - l.Excess) / float64(s.broken[k])
		l.Most = max(l.Most, excess)
	}
	if kept {
		s.kept++
	}
	if steps {
		s.steps++
	}
}

func (s *sums) finish() *Played {
	p := &s.played
	for i := range p.Half {
		p.Half[i] = sample.Half(s.squares[i], p.Episodes)
	}
	if s.task.Cost != nil {
		p.Objective = s.task.Cost.Value(p.Mean)
	}
	p.Each.Half = sample.Half(s.cost, p.Episodes)
	for k := range p.Limits {
		p.Limits[k].Value.Half = sample.Half(s.value[k], p.Episodes)
		p.Limits[k].Broken = wilson(s.broken[k], p.Episodes)
	}
	p.Kept = wilson(s.kept, p.Episodes)
	p.KeptSteps = wilson(s.steps, p.Episodes)
	return p
}

// wilson returns a share with Wilson's interval.
func wilson(k, n int) Share {
	p := float64(k) / float64(n)
	middle, half := sample.Wilson(p, float64(n))
	return Share{p, max(0, min(p, middle-half)), min(1, max(p, middle+half))}
}
