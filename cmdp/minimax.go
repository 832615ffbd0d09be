package cmdp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/oracle/game"

	"gonum.org/v1/gonum/floats"
)

// Minimax is value iteration on a known model with a finite horizon and two
// players, for one direction at a time: the minimax value V*(θ) = min_μ max_ν
// ⟨θ, V^{μν}⟩ with both policies, and the best response of either player to a policy
// of the other. A model without an opponent is a game too. A Minimax keeps its
// memory from one direction to the next; it must not be used concurrently.
type Minimax struct {
	model     *Model
	agent     *Randomized
	opponent  *Randomized
	solver    game.Solver
	now, next []bounds
	low, up   []float64 // Q of one state
	probs     []float64
}

// NewMinimax returns a solver for m. It is an error if the horizon of m is
// infinite.
func NewMinimax(m *Model) (*Minimax, error) {
	if m == nil {
		return nil, errors.New(noModel)
	}
	if m.horizon == 0 {
		return nil, fmt.Errorf("cmdp: a game with an infinite horizon: want a finite one")
	}
	sh := m.shape
	most := sh.MaxActions() * sh.MaxOpponentActions()
	return &Minimax{model: m,
		agent: blankPolicy(sh.horizon, sh.AgentOffsets()), opponent: blankPolicy(sh.horizon, sh.OpponentOffsets()),
		now: make([]bounds, m.states), next: make([]bounds, m.states),
		low: make([]float64, most), up: make([]float64, most),
		probs: make([]float64, max(sh.MaxActions(), sh.MaxOpponentActions())),
	}, nil
}

func blankPolicy(horizon int, first [][]int32) *Randomized {
	p := &Randomized{first: first, probs: make([][]float64, horizon)}
	for h := range p.probs {
		f := p.firstAt(h)
		p.probs[h] = make([]float64, f[len(f)-1])
	}
	return p
}

// Solve solves the game in a direction and returns bounds of its value, equal but
// for rounding: Low is what Opponent guarantees and Up what Agent guarantees. It
// costs one pass over the transitions and one matrix game for each state and step,
// and allocates nothing after the first call. The error is that of ctx.
func (g *Minimax) Solve(ctx context.Context, dir []float64) (low, up float64, err error) {
	return g.backward(ctx, dir, func(h, s, n int) bounds {
		// Rows and columns are read where the policies keep them.
		row, col := g.agent.row(h, s), g.opponent.row(h, s)
		v := bounds{}
		v.low, v.up = g.solver.Solve(row, col, g.low[:n])
		v.up, _ = most(g.up[:n], row, len(col))
		if v.up < v.low {
			v.up = v.low
		}
		return v
	})
}

// Agent returns the agent's policy of the last Solve; it is overwritten by the
// next.
func (g *Minimax) Agent() *Randomized { return g.agent }

// Opponent returns the opponent's policy of the last Solve; it is overwritten by
// the next.
func (g *Minimax) Opponent() *Randomized { return g.opponent }

// OpponentResponse returns max_ν ⟨dir, V^{μν}⟩ for the agent's policy μ, and the
// opponent's policy that attains it, which it allocates. The error is that of ctx.
func (g *Minimax) OpponentResponse(ctx context.Context, dir []float64,
	agent Policy) (most float64, policy Deterministic, err error) {
	return g.respond(ctx, dir, agent, g.mostColumn)
}

// AgentResponse returns min_μ ⟨dir, V^{μν}⟩ for the opponent's policy ν, and the
// agent's policy that attains it, which it allocates. The error is that of ctx.
func (g *Minimax) AgentResponse(ctx context.Context, dir []float64,
	opponent Policy) (least float64, policy Deterministic, err error) {
	return g.respond(ctx, dir, opponent, g.leastRow)
}

// respond plans for one player, who takes the best pair of each state, against a policy of the other.
func (g *Minimax) respond(ctx context.Context, dir []float64, other Policy,
	best func(q []float64, cols int, other Policy, h, s int) (float64, int)) (float64, Deterministic, error) {
	policy := firstActions(g.model)
	value, _, err := g.backward(ctx, dir, func(h, s, n int) bounds {
		v, at := best(g.low[:n], g.model.shape.OpponentActions(h, s), other, h, s)
		policy[h][s] = int32(at)
		return bounds{v, v}
	})
	return value, policy, err
}

// leastRow returns min_a Σ_b ν_b·q(a, b) and where it is attained.
func (g *Minimax) leastRow(q []float64, cols int, opponent Policy, h, s int) (best float64, at int) {
	probs := g.probs[:cols]
	probs[0] = 1
	if cols > 1 {
		opponent.Distribution(probs, h, s)
	}
	best = math.Inf(1)
	for a := range len(q) / cols {
		if v := floats.Dot(probs, q[a*cols:(a+1)*cols]); v < best {
			best, at = v, a
		}
	}
	return best, at
}

// mostColumn returns max_b Σ_a μ_a·q(a, b) and where it is attained.
func (g *Minimax) mostColumn(q []float64, cols int, agent Policy, h, s int) (best float64, at int) {
	probs := g.probs[:len(q)/cols]
	agent.Distribution(probs, h, s)
	return most(q, probs, cols)
}

// backward returns the mean value of the first states. value gives the value of a
// state with n pairs of actions from their Q in g.low and g.up.
func (g *Minimax) backward(ctx context.Context, dir []float64,
	value func(h, s, n int) bounds) (low, up float64, err error) {
	if len(dir) != g.model.dim {
		panic(badDim)
	}
	values, err := backwardInduction(ctx, g.model, g.now, g.next, func(rows *Rows, h, s int, next []bounds) bounds {
		n := g.state(rows, s, dir, next)
		if n == 0 { // the process rests
			return next[s]
		}
		return value(h, s, n)
	})
	if err != nil {
		return 0, 0, err
	}
	for _, st := range g.model.start {
		low += st.Probability * values[st.State].low
		up += st.Probability * values[st.State].up
	}
	return low, up, err
}

// state sets g.low and g.up to Q of the choices of a state, from the values of the
// next step, and returns their number.
func (g *Minimax) state(rows *Rows, s int, dir []float64, next []bounds) int {
	first, end := rows.Choices(s)
	for c := first; c < end; c++ {
		r := floats.Dot(dir, rows.Returns(c))
		low, up := r, r
		to, prob := rows.Row(c)
		for e, s := range to {
			v := next[s]
			low += prob[e] * v.low
			up += prob[e] * v.up
		}
		g.low[c-first], g.up[c-first] = low, up
	}
	return end - first
}
