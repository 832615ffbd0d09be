package instance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
)

// A Garnet is a random model after Archibald, McKinnon and Thomas (On the
// generation of Markov decision processes, J. Operational Research Society 46,
// 1995), in the form of Bhatnagar, Sutton, Ghavamzadeh and Lee (Natural
// actor-critic algorithms, Automatica 45, 2009). Every choice leads to Branching
// different states, drawn uniformly; their probabilities are the gaps between
// Branching−1 points drawn uniformly from [0, 1]. The d expected returns of every
// choice, r0 to r(d−1), are drawn uniformly from [0, 1]. Episodes start in state
// 0. Equal parameters give equal problems, bit for bit, on every machine.
//
// The finite horizon, the vector returns and the bounds are ours. r0 is to be
// minimised, the other returns are bounded from above: let V* be the return
// vector of a policy that minimises r0 alone, and V⁰ that of a policy that
// minimises the sum of the others. With q = Budget the bounds are
//
//	b_i = V⁰_i + q·max(0, V*_i − V⁰_i),  i = 1, …, d−1.
//
// Playing the policy of V* with probability q, else that of V⁰, keeps all of
// them, and a smaller probability leaves room; the policy of V* breaks some, as
// its sum cannot be below the least one. So the target can be met and matters.
// Only in a very small model may one policy be best in both ways; no bound can
// bind then, and H takes the place of V*_i, so that at least there is room.
type Garnet struct {
	// States, Actions, Horizon and Dim are S, A (at least 2), H and d. With d = 1
	// there are no bounds.
	States, Actions, Horizon, Dim int
	// Branching is the number of successors of a choice, at most S.
	Branching int
	// Budget is q, strictly between 0 and 1: the smaller, the tighter the bounds.
	Budget float64
	// Stationary is false for kernels and returns drawn afresh for every step.
	Stationary bool
	Seed       uint64
}

// DefaultGarnet returns a model with 50 states, 4 actions, 10 steps and 3
// returns.
func DefaultGarnet() Garnet {
	return Garnet{States: 50, Actions: 4, Horizon: 10, Dim: 3, Branching: 5, Budget: 0.5, Stationary: true, Seed: 1}
}

func (g *Garnet) parameters() []parameter {
	return []parameter{
		whole("S", &g.States, 1, 100_000_000, "states"),
		whole("A", &g.Actions, 2, 10_000, "actions of each state"),
		horizonParameter(&g.Horizon),
		whole("d", &g.Dim, 1, 1000, "returns"),
		whole("b", &g.Branching, 1, 100_000_000, "successors of each choice, at most S"),
		{name: "budget", field: &g.Budget, high: 1, open: true,
			meaning: "place of the bounds between the cautious policy, 0, and the best one without bounds, 1"},
		{name: "stationary", field: &g.Stationary, meaning: "whether all steps share one kernel"},
		{name: "seed", field: &g.Seed, meaning: "seed of the random numbers"},
	}
}

// mostEntries bounds the stored successors and returns, 8 to 12 bytes each.
const mostEntries = 1 << 28

// check is that of a [GarnetGame] too, whose pairs of actions are the Actions.
func (g *Garnet) check(name string, params []parameter) error {
	if err := checkAll(name, params); err != nil {
		return err
	}
	if g.Branching > g.States {
		return fmt.Errorf("instance: %s: parameter b=%d: want at most S=%d", name, g.Branching, g.States)
	}
	entries := float64(g.States) * float64(g.Actions) * float64(max(g.Branching, g.Dim)) * float64(g.kernels())
	if entries > mostEntries {
		return fmt.Errorf("instance: %s: %.3g successors or returns to store: want at most %d", name, entries,
			mostEntries)
	}
	return nil
}

// size is what the parameters ask for, before they are checked.
func (g *Garnet) size() cmdp.Size {
	choices := float64(g.States) * float64(g.Actions) * float64(g.kernels())
	return cmdp.Size{States: g.States, Horizon: g.Horizon, Kernels: g.kernels(), Dim: g.Dim, Choices: choices,
		Transitions: choices * float64(g.Branching)}
}

func (g *Garnet) kernels() int {
	if g.Stationary {
		return 1
	}
	return g.Horizon
}

// Problem draws the model: minimise r0 with r1, r2, … at most their bounds.
// States and actions are numbered.
func (g Garnet) Problem() (*problem.Problem, error) { return g.draw(context.Background()) }

func (g *Garnet) draw(ctx context.Context) (*problem.Problem, error) {
	if err := g.check("garnet", g.parameters()); err != nil {
		return nil, err
	}
	p := &problem.Problem{Name: specOf("garnet", g.parameters(), new(DefaultGarnet()).parameters()),
		Goal: problem.Goal{Minimize: "r0"}}
	if err := g.drawModel(ctx, p, nil); err != nil {
		return nil, err
	}
	bounds, err := g.bounds(ctx, p.Model)
	if err != nil {
		return nil, fmt.Errorf("instance: %s: %w", p.Name, err)
	}
	for i, bound := range bounds {
		p.Constraints = append(p.Constraints, atMost(p.Returns[i+1], bound)...)
	}
	return p, nil
}

// drawModel completes p by the model and the names of its returns. In a game opponents holds the
// number of the opponent's actions in each state.
func (g *Garnet) drawModel(ctx context.Context, p *problem.Problem, opponents []int32) error {
	spec := cmdp.ModelSpec{Horizon: g.Horizon, Dim: g.Dim, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	draw := &garnetDraw{
		Garnet: g, rng: rand.New(cmdp.Stream(g.Seed, "garnet")),
		taken: make([]int32, g.States), cuts: make([]float64, g.Branching+1),
	}
	for i := range g.kernels() {
		spec.Kernels = append(spec.Kernels, draw.kernel(ctx, i))
		if opponents != nil {
			spec.Opponents = append(spec.Opponents, opponents)
		}
	}
	var err error
	p.Model, err = cmdp.NewModel(spec)
	if err != nil {
		return fmt.Errorf("instance: %s: %w", p.Name, err)
	}
	for i := range g.Dim {
		p.Returns = append(p.Returns, fmt.Sprintf("r%d", i))
	}
	return nil
}

// bounds returns b_1 to b_{d−1}.
func (g *Garnet) bounds(ctx context.Context, m *cmdp.Model) ([]float64, error) {
	if g.Dim == 1 {
		return nil, nil
	}
	direction := make([]float64, g.Dim)
	direction[0] = 1
	best, err := cmdp.BestReturns(progress.Within(ctx, "bounds"), m, direction)
	if err != nil {
		return nil, err
	}
	for i := range direction {
		direction[i] = 1 - direction[i]
	}
	cautious, err := cmdp.BestReturns(progress.Within(ctx, "bounds"), m, direction)
	if err != nil {
		return nil, err
	}
	excess := 0.0
	for i := 1; i < g.Dim; i++ {
		excess += best[i] - cautious[i]
	}
	if excess <= 1e-9*float64(g.Horizon) {
		for i := range best {
			best[i] = float64(g.Horizon)
		}
	}
	bounds := make([]float64, g.Dim-1)
	for i := range bounds {
		bounds[i] = cautious[i+1] + float64(g.Budget*max(0, best[i+1]-cautious[i+1]))
	}
	return bounds, nil
}

// A garnetDraw draws kernels of one stream.
type garnetDraw struct {
	*Garnet
	rng    *rand.Rand
	taken  []int32 // taken[s] = the last choice that s is a successor of
	choice int32
	cuts   []float64
}

func (g *garnetDraw) kernel(ctx context.Context, at int) cmdp.Kernel {
	choices := g.States * g.Actions
	k := cmdp.Kernel{
		First:   make([]int32, g.States+1),
		Offset:  make([]int, choices+1),
		Next:    make([]int32, 0, choices*g.Branching),
		Prob:    make([]float64, 0, choices*g.Branching),
		Returns: make([]float64, choices*g.Dim),
	}
	for s := range g.States {
		k.First[s+1] = int32((s + 1) * g.Actions)
	}
	tell, all := progress.Of(ctx), g.kernels()*choices
	for c := range choices {
		tell.AtStep("drawing the model", at*choices+c, all, g.Branching)
		k.Next = g.successors(k.Next)
		k.Prob = g.probabilities(k.Prob)
		k.Offset[c+1] = len(k.Next)
	}
	for j := range k.Returns {
		k.Returns[j] = g.rng.Float64()
	}
	return k
}

// successors appends Branching different states in increasing order, every set
// of them being as likely (Floyd's sampling).
func (g *garnetDraw) successors(to []int32) []int32 {
	g.choice++
	first := len(to)
	for last := g.States - g.Branching; last < g.States; last++ {
		s := g.rng.IntN(last + 1)
		if g.taken[s] == g.choice {
			s = last
		}
		g.taken[s] = g.choice
		to = append(to, int32(s))
	}
	slices.Sort(to[first:])
	return to
}

// probabilities appends the gaps between sorted points of [0, 1].
func (g *garnetDraw) probabilities(to []float64) []float64 {
	b := g.Branching
	g.cuts[0], g.cuts[b] = 0, 1
	for i := 1; i < b; i++ {
		g.cuts[i] = g.rng.Float64()
	}
	slices.Sort(g.cuts[1:b])
	for i := range b {
		to = append(to, g.cuts[i+1]-g.cuts[i])
	}
	return to
}
