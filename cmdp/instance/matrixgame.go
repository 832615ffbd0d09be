package instance

import (
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/nearest"
)

// A MatrixGame is a game of one state and one step with vector payoffs, as in
// Blackwell (An analog of the minimax theorem for vector payoffs, Pacific J.
// Mathematics 6, 1956). Its target is x ≤ Limit, in every coordinate or in one, and
// its gap, the distance from the target that the opponent can enforce, is known:
//
//	name      d  payoffs                                    target          gap
//	pennies   2  1 in one coordinate if the pennies match,  x ≤ Limit       √2·max(0, 1/2 − Limit)
//	             in the other if they do not
//	rps       3  rock, paper, scissors: 1 in win, lose or   lose ≤ Limit    max(0, 1/3 − Limit)
//	             tie
//	regret2   2  matching pennies: how much less each       x ≤ Limit       √2·max(0, −Limit)
//	             action would have lost than the one taken
//	regret3   3  the same in rock, paper, scissors, where   x ≤ Limit       √3·max(0, −Limit)
//	             a tie loses 1/2
//
// In pennies the payoffs sum to 1, and the even mixture of both actions has the
// expected payoff (1/2, 1/2) whatever the opponent does. In rps the even mixture
// loses with probability 1/3, and so it does against the even mixture. Regrets
// that are at most 0 on average are Hannan's consistency (Blackwell, Controlled
// random walks, 1954; Hart and Mas-Colell, A simple adaptive procedure leading to
// correlated equilibrium, Econometrica 68, 2000): for every opponent's mixture
// the action that is best against it has no regret, so the target can be
// approached; but no mixture is best against all, so no single policy reaches it.
// Against the even mixture all actions lose the same, all regrets are 0, and a
// limit below 0 is missed by its distance from 0.
type MatrixGame struct {
	Game  string
	Limit float64
}

var matrixGames = []string{"pennies", "rps", "regret2", "regret3"}

// DefaultMatrixGame returns a game by its name, with a target that can be
// approached and has no room to spare, in pennies a little; an unknown name gives
// an error.
func DefaultMatrixGame(game string) (MatrixGame, error) {
	switch game {
	case "pennies":
		return MatrixGame{game, 0.6}, nil
	case "rps":
		return MatrixGame{game, 0.4}, nil
	case "regret2", "regret3":
		return MatrixGame{game, 0}, nil
	}
	return MatrixGame{}, fmt.Errorf("parameter game=%s: want one of %s", game, nearest.List(game, matrixGames))
}

func newMatrixGame(game string) (definition, error) {
	if game == "" {
		game = "pennies"
	}
	g, err := DefaultMatrixGame(game)
	return &g, err
}

func (g *MatrixGame) parameters() []parameter {
	return []parameter{
		{name: "game", field: &g.Game, words: matrixGames, meaning: "the payoffs"},
		{name: "limit", field: &g.Limit, low: -10, high: 10, meaning: "bound on the returns"},
	}
}

// Problem returns the game against an opponent that plays best responses.
func (g MatrixGame) Problem() (*problem.Problem, error) {
	if err := checkAll("matrix", g.parameters()); err != nil {
		return nil, err
	}
	defaults, err := DefaultMatrixGame(g.Game)
	if err != nil {
		return nil, fmt.Errorf("instance: matrix: %w", err)
	}
	first := MatrixGame{Game: "pennies", Limit: defaults.Limit} // the default game, with this one's own limit
	p := &problem.Problem{
		Name: specOf("matrix", g.parameters(), first.parameters()), States: []string{"table"},
		Opponent: &problem.OpponentSpec{Policy: "best-response"},
	}
	actions := []string{"heads", "tails"}
	if g.Game == "rps" || g.Game == "regret3" {
		actions = []string{"rock", "paper", "scissors"}
	}
	p.Returns = g.returns(actions)
	rows := assemble(cmdp.ModelSpec{Horizon: 1, Dim: len(p.Returns),
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a := range actions {
		for b := range actions {
			rows.addPair(0, pair{a, b, actions[a], actions[b]}, g.payoff(a, b, len(actions)),
				[]cmdp.Transition{{Next: 0, Probability: 1}})
		}
	}
	for i, name := range p.Returns {
		if g.Game != "rps" || i == 1 {
			p.Constraints = append(p.Constraints, atMost(name, g.Limit)...)
		}
	}
	return rows.finish(p)
}

func (g MatrixGame) returns(actions []string) []string {
	switch g.Game {
	case "pennies":
		return []string{"match", "differ"}
	case "rps":
		return []string{"win", "lose", "tie"}
	}
	var names []string
	for _, a := range actions {
		names = append(names, "regret-"+a)
	}
	return names
}

// payoff returns the vector of a pair of actions among n.
func (g MatrixGame) payoff(a, b, n int) []float64 {
	switch g.Game {
	case "pennies":
		if a == b {
			return []float64{1, 0}
		}
		return []float64{0, 1}
	case "rps":
		v := make([]float64, 3)
		v[map[int]int{0: 2, 1: 0, 2: 1}[(a-b+n)%n]] = 1
		return v
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = loss(a, b, n) - loss(i, b, n)
	}
	return v
}

// loss is what action a loses to action b: of two, 1 if they match; of three, 1 if
// b beats a and 1/2 if they tie.
func loss(a, b, n int) float64 {
	switch {
	case n == 2 && a != b:
		return 0
	case n == 3 && a == b:
		return 0.5
	case n == 3 && (a-b+n)%n == 1:
		return 0
	}
	return 1
}
