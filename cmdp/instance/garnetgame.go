package instance

import (
	"context"
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"

	"gonum.org/v1/gonum/floats"
)

// A GarnetGame is a [Garnet] for two players: every state offers Actions to the
// agent and Opponents to the opponent, and successors, probabilities and returns
// are drawn for each pair as there for each choice. The game, its horizon and its
// bounds are ours.
//
// The returns, r0 to r(d−1), are bounded from above. Let low_i be the least
// expected return in coordinate i alone that the agent can guarantee, and up_i the
// most that the opponent can drive it up to against the policy that is minimax for
// the sum of all returns. With q = Room the bounds are
//
//	b_i = low_i + q·(up_i − low_i),  i = 0, …, d−1.
//
// With q = 1 that one policy keeps all bounds, whatever the opponent does. With
// q < 0 no bound can be kept against an opponent who aims at it. In between each
// can be kept, all together perhaps not.
type GarnetGame struct {
	// States, Actions, Opponents, Horizon and Dim are S, A, B, H and d.
	States, Actions, Opponents, Horizon, Dim int
	// Branching is the number of successors of a pair, at most S.
	Branching int
	// Room is q, between −10 and 10.
	Room float64
	// Stationary is false for kernels and returns drawn afresh for every step.
	Stationary bool
	Seed       uint64
}

// DefaultGarnetGame returns a game with 20 states, 3 actions of either player, 5
// steps and 2 returns.
func DefaultGarnetGame() GarnetGame {
	return GarnetGame{States: 20, Actions: 3, Opponents: 3, Horizon: 5, Dim: 2, Branching: 3, Room: 0.5,
		Stationary: true, Seed: 1}
}

func (g *GarnetGame) parameters() []parameter {
	return []parameter{
		whole("S", &g.States, 1, 10_000_000, "states"),
		whole("A", &g.Actions, 1, 1000, "actions of the agent in each state"),
		whole("B", &g.Opponents, 1, 1000, "actions of the opponent in each state"),
		horizonParameter(&g.Horizon),
		whole("d", &g.Dim, 1, 1000, "returns"),
		whole("b", &g.Branching, 1, 10_000_000, "successors of each pair of actions, at most S"),
		{name: "room", field: &g.Room, low: -10, high: 10,
			meaning: "place of the bounds between what can be guaranteed for each alone, 0, and what one policy " +
				"guarantees for all, 1"},
		{name: "stationary", field: &g.Stationary, meaning: "whether all steps share one kernel"},
		{name: "seed", field: &g.Seed, meaning: "seed of the random numbers"},
	}
}

// Problem draws the game: every return at most its bound, against an opponent that
// plays best responses. States and actions are numbered.
func (g GarnetGame) Problem() (*problem.Problem, error) { return g.draw(context.Background()) }

func (g *GarnetGame) draw(ctx context.Context) (*problem.Problem, error) {
	pairs := g.pairs()
	if err := pairs.check("garnetgame", g.parameters()); err != nil {
		return nil, err
	}
	p := &problem.Problem{Name: specOf("garnetgame", g.parameters(), new(DefaultGarnetGame()).parameters()),
		Opponent: &problem.OpponentSpec{Policy: "best-response"}}
	if err := pairs.drawModel(ctx, p, slices.Repeat([]int32{int32(g.Opponents)}, g.States)); err != nil {
		return nil, err
	}
	bounds, err := g.bounds(ctx, p.Model)
	if err != nil {
		return nil, fmt.Errorf("instance: %s: %w", p.Name, err)
	}
	for i, bound := range bounds {
		p.Constraints = append(p.Constraints, atMost(p.Returns[i], bound)...)
	}
	return p, nil
}

// pairs returns the model whose actions are the pairs of the players' actions.
func (g *GarnetGame) pairs() Garnet {
	return Garnet{States: g.States, Actions: g.Actions * g.Opponents, Horizon: g.Horizon, Dim: g.Dim,
		Branching: g.Branching, Stationary: g.Stationary, Seed: g.Seed}
}

func (g *GarnetGame) size() cmdp.Size {
	pairs := g.pairs()
	return pairs.size()
}

func (g *GarnetGame) bounds(ctx context.Context, m *cmdp.Model) ([]float64, error) {
	game, err := cmdp.NewMinimax(m)
	if err != nil {
		return nil, err
	}
	direction := make([]float64, g.Dim)
	floats.AddConst(1, direction)
	if _, _, err := game.Solve(ctx, direction); err != nil {
		return nil, err
	}
	cautious := game.Agent().Clone()
	bounds := make([]float64, g.Dim)
	for i := range bounds {
		clear(direction)
		direction[i] = 1
		_, low, err := game.Solve(ctx, direction)
		if err != nil {
			return nil, err
		}
		up, _, err := game.OpponentResponse(ctx, direction, cautious)
		if err != nil {
			return nil, err
		}
		bounds[i] = low + float64(g.Room*(up-low))
	}
	return bounds, nil
}
