package instance

import (
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// A Soccer is the game of Littman (Markov games as a framework for multi-agent
// reinforcement learning, ICML 1994), there on a 4×5 grid. Both players stand on
// different cells, one of them has the ball, and each moves up, down, left or right
// or stands. The two moves are made one after the other, in either order with
// probability 1/2. A move to the other's cell is not made, and the other gets the
// ball if the mover had it; one off the grid is not made. The player with the ball who moves out
// of the grid through the goal scores: the agent on the left side, the opponent on
// the right one. The goals are the middle row, or the middle two. After a goal the
// players are where they were at first, and either has the ball with probability
// 1/2, as at first.
//
// Ours are the vector of returns, the start, the horizon in place of a discount,
// and sizes other than 4×5. scored and conceded count goals, possession the steps
// begun with the ball. The agent wants to score as often as it concedes and to
// have the ball for the given share of the time.
//
// The start is symmetric under a half-turn of the grid, which makes either player
// the other. So the zero-sum game of any direction that weighs conceded against
// scored alike, and possession, has its value at scored = conceded and half the time: both at once
// can be approached, and with a larger Share the gap is (Share − 1/2)·Horizon.
type Soccer struct {
	Rows, Cols, Horizon int
	Share               float64
}

// DefaultSoccer returns Littman's 4×5 grid with 20 steps and a share of 1/2.
func DefaultSoccer() Soccer { return Soccer{Rows: 4, Cols: 5, Horizon: 20, Share: 0.5} }

func (g *Soccer) parameters() []parameter {
	return []parameter{
		whole("rows", &g.Rows, 1, 20, "rows of the grid"),
		whole("cols", &g.Cols, 3, 20, "columns of the grid, 4 or more if the rows are odd"),
		horizonParameter(&g.Horizon),
		probability("share", &g.Share, "part of the time in which the agent wants the ball"),
	}
}

var soccerMoves = []struct {
	name        string
	down, right int
}{{"up", -1, 0}, {"down", 1, 0}, {"left", 0, -1}, {"right", 0, 1}, {"stand", 0, 0}}

// A position is the cells of agent and opponent, and who has the ball.
type position struct {
	cell  [2]int
	owner int
}

const noGoal = -1

// Problem returns the game against an opponent that plays best responses.
func (g Soccer) Problem() (*problem.Problem, error) {
	if err := checkAll("soccer", g.parameters()); err != nil {
		return nil, err
	}
	if g.Rows%2 == 1 && g.Cols == 3 {
		return nil, fmt.Errorf("instance: soccer: parameter cols=3: want at least 4, because rows=%d is odd", g.Rows)
	}
	share := g.Share * float64(g.Horizon)
	p := &problem.Problem{
		Name:    specOf("soccer", g.parameters(), new(DefaultSoccer()).parameters()),
		Returns: []string{"scored", "conceded", "possession"},
		Target: &problem.Set{Halfspace: &problem.Halfspace{
			Normal: problem.Coefficients{Named: map[string]float64{"scored": -1, "conceded": 1}}}},
		Constraints: []problem.Limit{{Return: "possession", AtLeast: &share}},
		Opponent:    &problem.OpponentSpec{Policy: "best-response"},
	}
	index := make(map[position]int)
	var all []position
	cells := g.Rows * g.Cols
	for i := range cells * cells * 2 {
		at := position{cell: [2]int{i / 2 / cells, i / 2 % cells}, owner: i % 2}
		if at.cell[0] == at.cell[1] {
			continue
		}
		index[at] = len(all)
		all = append(all, at)
		p.States = append(p.States, fmt.Sprintf("%s-%s-%s", g.lattice().name(at.cell[0]), g.lattice().name(at.cell[1]),
			[2]string{"agent", "opponent"}[at.owner]))
	}
	spec := cmdp.ModelSpec{Horizon: g.Horizon, Dim: 3}
	for owner := range 2 {
		spec.Start = append(spec.Start, cmdp.StartState{State: index[g.start(owner)], Probability: 0.5})
	}
	rows := assemble(spec, len(all))
	for s, at := range all {
		for a, mine := range soccerMoves {
			for b, other := range soccerMoves {
				returns, next := g.outcomes(at, a, b, index)
				rows.addPair(s, pair{a, b, mine.name, other.name}, returns, next)
			}
		}
	}
	return rows.finish(p)
}

func (g Soccer) lattice() lattice { return lattice{g.Rows, g.Cols} }

// start returns the first position: the agent on the right, in the lower of the
// middle rows, the opponent turned half round.
func (g Soccer) start(owner int) position {
	return position{[2]int{g.Rows/2*g.Cols + g.Cols - 2, (g.Rows-1)/2*g.Cols + 1}, owner}
}

// goalRow reports whether a row leads into the goals.
func (g Soccer) goalRow(r int) bool { return r == g.Rows/2 || r == (g.Rows-1)/2 }

// move lets one player move. It returns who scored, or noGoal.
func (g Soccer) move(at *position, player, move int) int {
	m, from := soccerMoves[move], at.cell[player]
	r, c := from/g.Cols+m.down, from%g.Cols+m.right
	if at.owner == player && g.goalRow(r) && (player == 0 && c < 0 || player == 1 && c >= g.Cols) {
		return player
	}
	if r < 0 || r >= g.Rows || c < 0 || c >= g.Cols {
		return noGoal
	}
	to := r*g.Cols + c
	if to == at.cell[1-player] {
		at.owner = 1 - player
		return noGoal
	}
	at.cell[player] = to
	return noGoal
}

// outcomes returns what a pair of moves leads to, and the returns of the step if
// they do not depend on it.
func (g Soccer) outcomes(at position, a, b int, index map[position]int) (returns []float64, next []cmdp.Transition) {
	possession := float64(1 - at.owner)
	goals := false
	for first := range 2 {
		now := at
		scorer := g.move(&now, first, [2]int{a, b}[first])
		if scorer == noGoal {
			scorer = g.move(&now, 1-first, [2]int{a, b}[1-first])
		}
		if scorer == noGoal {
			next = addOutcome(next, index[now], 0.5, []float64{0, 0, possession})
			continue
		}
		goals = true
		r := []float64{0, 0, possession}
		r[scorer] = 1
		for owner := range 2 {
			next = addOutcome(next, index[g.start(owner)], 0.25, r)
		}
	}
	if goals {
		return nil, next
	}
	for i := range next {
		next[i].Returns = nil
	}
	return []float64{0, 0, possession}, next
}

// addOutcome adds to the probability of an outcome. Outcomes are the same if
// successor and returns are.
func addOutcome(next []cmdp.Transition, state int, p float64, returns []float64) []cmdp.Transition {
	for i := range next {
		if next[i].Next == state && next[i].Returns[0] == returns[0] && next[i].Returns[1] == returns[1] {
			next[i].Probability += p
			return next
		}
	}
	return append(next, cmdp.Transition{Next: state, Probability: p, Returns: returns})
}
