package baseline

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

// A told learner keeps the episodes and its policies, and sees returns at their ends now and then where they are to be
// learned.
type told struct {
	cmdp.Learner
	p        *posed
	even     bool // what is played draws actions evenly
	rng      *rand.Rand
	episodes []*cmdp.Trajectory
	policies [][]float64
}

func (l *told) Policy() cmdp.Policy {
	policy := l.Learner.Policy()
	l.policies = append(l.policies, l.p.distributions(policy))
	if l.even {
		return cmdp.Uniform{Shape: l.p.Shape}
	}
	return policy
}

func (l *told) Observe(tr *cmdp.Trajectory) {
	seen := cmdp.NewTrajectory(l.p.Shape)
	seen.Steps = tr.Steps
	copy(seen.States, tr.States)
	copy(seen.Actions, tr.Actions)
	for h := range tr.Steps {
		if tr.Actions[h] < 0 {
			continue
		}
		copy(seen.Return(h), tr.Return(h))
		if lower, upper := l.p.Shape.StepReturns(h); !l.p.known && l.rng.IntN(2) == 0 {
			i := l.rng.IntN(len(lower))
			seen.Return(h)[i] = []float64{lower[i], upper[i]}[l.rng.IntN(2)]
		}
		for i, x := range seen.Return(h) {
			seen.Total[i] += x
		}
	}
	l.episodes = append(l.episodes, seen)
	l.Learner.Observe(seen)
}

// distributions lists the probabilities of all actions as the problem was drawn.
func (p *posed) distributions(policy cmdp.Policy) (all []float64) {
	for h := range p.Shape.Horizon() {
		for s := range p.Shape.States() {
			n := p.Shape.Actions(h, p.state(s))
			probs := make([]float64, n)
			if n > 0 {
				policy.Distribution(probs, h, p.state(s))
			}
			for a := range n {
				all = append(all, probs[p.action(s, a)])
			}
		}
	}
	return all
}

// listen runs a learner, or with even a policy that draws actions evenly, for so many episodes.
func (p *posed) listen(t *testing.T, l cmdp.Learner, even bool, episodes int) *told {
	t.Helper()
	w := &told{Learner: l, p: p, even: even, rng: rand.New(rand.NewPCG(p.drawn.seed, 1))}
	var runner *cmdp.Runner
	if p.env != nil {
		runner = cmdp.NewEndlessRunner(p.env, w, p.drawn.seed)
	} else {
		runner = cmdp.NewRunner(p.model, w, p.drawn.seed, nil)
	}
	if err := runner.Run(t.Context(), episodes); err != nil {
		t.Fatal(err)
	}
	return w
}

// difference shows a learner the episodes that another one has seen, and returns where it plays another way.
func (p *posed) difference(t *testing.T, name string, log []*cmdp.Trajectory, was *told) string {
	t.Helper()
	l, err := p.learner(t, name, log)
	if err != nil {
		return err.Error()
	}
	for k, tr := range was.episodes {
		got, want := p.distributions(l.Policy()), was.policies[k]
		for i, x := range want {
			if !(math.Abs(got[i]-x) <= 1e-6) {
				return fmt.Sprintf("round %d: plays %.4v, want %.4v", k, got, want)
			}
		}
		l.Observe(p.retell(tr))
		if p.saved {
			data, err := l.(encoding.BinaryMarshaler).MarshalBinary()
			if err != nil {
				return err.Error()
			}
			l, err = p.learner(t, name, nil)
			if err == nil {
				err = l.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
			}
			if err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// A law restates a problem so that an algorithm has to play the same.
type law struct {
	name  string
	state func(w *wording, d *drawn, rng *rand.Rand)
	holds func(name string, d *drawn) bool
}

// scaledNames lists the algorithms that scale their signals, see [scaledTask]: what stands for the same signals is the
// same to them. The others measure distances between vectors of returns, or know the box of all returns.
var scaledNames = []string{"optcmdp", "optcmdp-bonus", "optdual", "optprimaldual", "conrl-lp", "conrl-lagr",
	"conrl-knapsack", "opdop", "ucpd", "optpess-lp", "optpess-pd", "dope", "triple-q", "rpg-pd", "uopt-rpgpd",
	"c-ucrl2", "fha"}

// drawing lists those that draw models, row by row and return by return.
var drawing = []string{"posterior", "posterior-plain", "posterior-safe", "moma-posterior", "psconrl"}

func drawsNoReturns(name string, d *drawn) bool { return d.known || !slices.Contains(drawing, name) }

// beginsSomewhere says that an algorithm starts from a direction that the problem does not tell, or that its programs
// have several solutions.
func beginsSomewhere(name string) bool {
	return name == "appropo" || name == "moma-projection" || name == "blackwell" || name == "conrl-convex"
}

func anyAlgorithm(string, *drawn) bool { return true }

func scaledAlone(name string, _ *drawn) bool { return slices.Contains(scaledNames, name) }

// unitReturns has factors and constants that leave all returns as they are, unless there are some.
func (w *wording) unitReturns(d *drawn) {
	if w.scale != nil {
		return
	}
	w.scale, w.shift = make([]float64, d.dim), make([]float64, d.dim)
	for i := range w.scale {
		w.scale[i] = 1
	}
}

// restatements are the laws.
var restatements = []law{
	{"other units of each return", func(w *wording, d *drawn, rng *rand.Rand) {
		w.unitReturns(d)
		for i := range w.scale {
			w.scale[i] *= []float64{0.25, 8, 1, 2}[rng.IntN(4)]
		}
	}, func(name string, d *drawn) bool {
		return scaledAlone(name, d) && (d.named || len(d.limits) == 0) // else normals of other lengths stand for limits
	}},
	{"other units", func(w *wording, d *drawn, rng *rand.Rand) {
		w.unitReturns(d)
		for i := range w.scale {
			w.scale[i] *= 4
		}
	}, anyAlgorithm},
	{"mirrored returns", func(w *wording, d *drawn, rng *rand.Rand) {
		w.unitReturns(d)
		for i := range w.scale {
			w.scale[i] *= float64(1 - 2*rng.IntN(2))
		}
	}, func(name string, d *drawn) bool { return !beginsSomewhere(name) && drawsNoReturns(name, d) }},
	{"moved returns", func(w *wording, d *drawn, rng *rand.Rand) {
		w.unitReturns(d)
		for i := range w.shift {
			w.shift[i] = float64(rng.IntN(7) - 3)
		}
	}, func(name string, d *drawn) bool { // a rest returns 0, and cones stand at 0
		return name != "appropo" && name != "abh" && !d.rests() && !d.remembers
	}},
	{"returns in another order", func(w *wording, d *drawn, rng *rand.Rand) { w.order = rng.Perm(d.dim) },
		drawsNoReturns},
	{"an unused return", func(w *wording, _ *drawn, _ *rand.Rand) { w.unused = true }, scaledAlone},
	{"longer normals", func(w *wording, _ *drawn, _ *rand.Rand) { w.norm = 4 }, anyAlgorithm},
	{"implied half-spaces", func(w *wording, _ *drawn, _ *rand.Rand) { w.implied = true }, scaledAlone},
	{"an intersection", func(w *wording, _ *drawn, _ *rand.Rand) { w.hull = true },
		func(name string, d *drawn) bool { return d.named || !scaledAlone(name, d) }},
	{"a multiple of the cost", func(w *wording, _ *drawn, _ *rand.Rand) { w.goal = 4 }, anyAlgorithm},
	{"another offset of the cost", func(w *wording, _ *drawn, _ *rand.Rand) { w.goalOffset = 2 }, anyAlgorithm},
	{"saved", func(w *wording, _ *drawn, _ *rand.Rand) { w.saved = true }, anyAlgorithm},
	{"other names", func(w *wording, d *drawn, rng *rand.Rand) {
		w.states = rng.Perm(len(d.start))
		for s := range d.start {
			w.actions = append(w.actions, rng.Perm(len(d.rows[0][s])))
		}
	}, func(name string, d *drawn) bool {
		return !slices.Contains(drawing, name) && name != "moma-free" && d.known && !d.curved && !d.remembers &&
			len(d.rows) == 1 && d.logged > 10 && d.scale.Mode == cmdp.Theory && d.scale.Multiplier() < 1 // no ties
	}},
}

// TestRestated wants all algorithms to play drawn problems as they play the same problems in other words, for the same
// episodes. Those that do not scale their signals, and those that see other names, may differ in one of eight problems,
// where rounding or the order of equally good choices decides.
func TestRestated(t *testing.T) {
	problems := uint64(200)
	if testing.Short() {
		problems = 60
	}
	type count struct {
		tried, differ int
		first         string
	}
	counts := map[[2]string]*count{}
	for seed := range problems {
		d := drawProblem(seed)
		p := d.pose(t, wording{})
		var log []*cmdp.Trajectory
		if d.logged > 0 {
			log = p.listen(t, idle{cmdp.Uniform{Shape: p.Shape}}, true, d.logged).episodes
		}
		for _, name := range Names() {
			l, err := p.learner(t, name, log)
			if err != nil {
				if !errors.Is(err, ErrUnsupported) {
					t.Errorf("seed %d: %s: %v", seed, name, err)
				}
				continue
			}
			if name == "posterior-safe" && seed%12 > 0 { // plans for 120 models
				continue
			}
			was := p.listen(t, l, seed%2 == 0, 8)
			for _, law := range restatements {
				if !law.holds(name, d) {
					continue
				}
				x := counts[[2]string{law.name, name}]
				if x == nil {
					x = &count{}
					counts[[2]string{law.name, name}] = x
				}
				x.tried++
				var w wording
				law.state(&w, d, rand.New(rand.NewPCG(seed, 7)))
				if what := d.pose(t, w).difference(t, name, log, was); what != "" {
					x.differ++
					x.first = cmp.Or(x.first, fmt.Sprintf("seed %d: %s", seed, what))
				}
			}
		}
	}
	for _, name := range Names() {
		if x := counts[[2]string{"saved", name}]; x == nil || x.tried < 2 {
			t.Errorf("%s played %+v: want more problems", name, x)
		}
	}
	for key, x := range counts {
		allowed := (x.tried + 7) / 8
		if slices.Contains(scaledNames, key[1]) && key[0] != "other names" || key[0] == "saved" {
			allowed = 0
		}
		if x.differ > allowed {
			t.Errorf("%s: with %s it plays another way in %d of %d problems, %s", key[1], key[0], x.differ, x.tried,
				x.first)
		}
	}
}

// An idle learner has one policy.
type idle struct{ policy cmdp.Policy }

func (l idle) Policy() cmdp.Policy { return l.policy }

func (idle) Observe(*cmdp.Trajectory) {}
