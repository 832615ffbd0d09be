package baseline

import (
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

var _ = register(Algorithm{
	Name: "c-ucrl2", New: newCUCRL2, Endless: true, NoEpisodes: true,
	Source: "Zheng, Ratliff (2020), C-UCRL, with estimated transitions as in the experiments of Provodin, Kaptein, " +
		"Pechenizkiy (2024)", Planner: "linear program of long-run means, once in each phase",
	Guarantee: "with known transitions regret Õ(T^{3/4}) and no violation; none with estimated ones", Efficient: true,
	Published: "bonus 0.1/√n (code of Provodin and others)",
	Certainty: "from the abstract and code of others; the logarithm of the bonus is ours",
})

// phaseSteps are the steps of exploration in a phase of c-ucrl2, and of an interval of fha, for each state of
// the problem: the code of Provodin and others has 50 for 16 states and 120 for 64.
const phaseSteps = 3

// A cUCRL2 is C-UCRL of Zheng and Ratliff, "Constrained upper confidence reinforcement learning" (2020), for
// transitions that are not known either, as in the experiments of Provodin, Kaptein and Pechenizkiy. Phase k
// explores for h steps, with actions drawn evenly, and then plays for (k−1)·h steps the best stationary policy
// of
//
//	min c̄ − b   s.t.   d̄_i + b ≤ α_i   in the long run,
//
// where the frequencies stand for the transitions: a choice never taken stays where it is. The bonus makes it
// hopeful for the cost and cautious for the limits: b = √(L/n), or 1 without a visit, with signals scaled to
// [0,1] and L = ln(2·S·A·(I+1)·T/p)/2, by Hoeffding's inequality. If no policy keeps the limits, actions are
// drawn evenly.
type cUCRL2 struct {
	*core
	*course
	task   cmdp.Task // of the scaled signals
	bonus  float64   // of one visit
	phase  int       // h
	source *rand.PCG
	rng    *rand.Rand
	x      cUCRL2State
}

// cUCRL2State says where the phases are.
type cUCRL2State struct {
	Phase   int // k
	Explore bool
	Until   int // step at which this half of the phase ends
}

func newCUCRL2(c Config) (cmdp.Learner, error) {
	core, err := newCore("c-ucrl2", &c)
	if err != nil {
		return nil, err
	}
	l := &cUCRL2{core: core, course: newCourse(core, c.Endless), phase: phaseSteps * core.states,
		source: cmdp.Stream(c.Seed, "c-ucrl2")}
	l.rng = rand.New(l.source)
	l.bonus = l.scale.Multiplier() * math.Sqrt(l.logTerm(2*float64(l.signals))/2)
	if l.scale.Mode == cmdp.Published {
		l.bonus = 0.1 * l.scale.Multiplier()
	}
	l.task, err = l.signalTask()
	if err != nil {
		return nil, err
	}
	l.x = cUCRL2State{Explore: true, Phase: 1, Until: l.phase}
	l.core.replan = l.plan
	l.core.Keep(l.source, &l.x)
	return l, nil
}

// signalTask is the task of the signals: the least signal 0 with the others within their limits.
func (c *core) signalTask() (cmdp.Task, error) {
	lower, upper := make([]float64, c.signals), make([]float64, c.signals)
	for j := range c.signals {
		lower[j], upper[j] = -2, 2 // with bonuses
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return cmdp.Task{}, err
	}
	var task cmdp.Task
	task.Cost, err = cost.NewLinear(unitVector(c.signals, 0), box)
	if err != nil || len(c.limit) == 0 {
		return task, err
	}
	for i, b := range c.limit {
		upper[i+1] = min(b, 2)
	}
	target, err := geometry.NewBox(lower, upper)
	if err != nil {
		return task, err
	}
	task.Target, err = target.Bounded()
	return task, err
}

// plan chooses the policy of this half of the phase.
func (l *cUCRL2) plan() {
	l.course.begin()
	if l.x.Explore {
		l.policy.explore()
		return
	}
	m, err := l.estimated()
	l.course.plan(m, err, l.task, l.rng)
}

// estimated is the model of the frequencies, with the signals and their bonuses as returns.
func (l *cUCRL2) estimated() (*cmdp.Model, error) {
	rows := l.layer(0)
	k := cmdp.Kernel{First: l.offsets(0), Offset: make([]int, 1, len(rows)+1)}
	for s := range l.states {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			r := &rows[c]
			if r.visits == 0 {
				k.Next, k.Prob = append(k.Next, int32(s)), append(k.Prob, 1)
			} else {
				k.Next, k.Prob = append(k.Next, r.next...), append(k.Prob, r.prob[:len(r.next)]...)
			}
			k.Offset = append(k.Offset, len(k.Next))
			b := 1.0
			if r.visits > 0 {
				b = min(1, l.bonus/math.Sqrt(r.visits))
			}
			for j, x := range l.mean[c*l.signals : (c+1)*l.signals] {
				if j == 0 {
					x -= b
				} else {
					x += b
				}
				k.Returns = append(k.Returns, x)
			}
		}
	}
	start := l.start
	if at := l.course.x.At; at >= 0 {
		start = []cmdp.StartState{{State: at, Probability: 1}}
	}
	return cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: l.signals, Start: start, Kernels: []cmdp.Kernel{k}})
}

// Observe counts a step, and goes on to the next half of a phase if it is time to.
func (l *cUCRL2) Observe(tr *cmdp.Trajectory) {
	planned := l.state.Planned
	l.observe(tr)
	l.step(tr)
	l.state.Planned = planned
	for l.state.Episodes >= l.x.Until {
		l.state.Planned = false
		l.x.Explore = !l.x.Explore
		if l.x.Explore {
			l.x.Phase++
			l.x.Until += l.phase
		} else {
			l.x.Until += (l.x.Phase - 1) * l.phase
		}
	}
}
