package cmdp

import (
	"math"

	"cmdpsolve/oracle/game"
)

// matrixPlan is what planning in a game needs beyond a plan: the mixed strategies
// found, and room for one matrix game.
type matrixPlan struct {
	solver   game.Solver
	low, up  []float64 // Q_low and Q_up of the choices of one state
	row, col []float64
	mixed    []float64 // the mixed strategies of the seen states, one after the other
	guessed  []float64 // that of the last state not seen
}

// guessedPlace is the place of the strategy of the last guess.
const guessedPlace = math.MaxInt32 - 1

func newMatrixPlan(sh *Shape) *matrixPlan {
	a, b := sh.MaxActions(), sh.MaxOpponentActions()
	return &matrixPlan{low: make([]float64, a*b), up: make([]float64, a*b),
		row: make([]float64, a), col: make([]float64, b), guessed: make([]float64, a)}
}

// strategy returns the mixed strategy over n actions at a place.
func (p *matrixPlan) strategy(place, n int) []float64 {
	if place == guessedPlace {
		return p.guessed[:n]
	}
	return p.mixed[place : place+n]
}

// game solves the matrix game of Q_low in a seen state. It returns its value, the
// most that the agent's strategy pays under Q_up, and that strategy.
func (b *backup) game(s seenState) (bounds, decision) {
	p := b.plan.matrix
	n := int(s.end - s.first)
	low, up := p.low[:n], p.up[:n]
	for i := range n {
		j := int(s.first) + i
		q := b.choice(&b.layer.choices[j], j, int(s.number)+i)
		low[i], up[i] = q.low, q.up
	}
	cols := int(s.opponents)
	row := p.row[:n/cols]
	value, _ := p.solver.Solve(row, p.col[:cols], low)
	v := bounds{low: value}
	v.up, _ = most(up, row, cols)
	if a := pureAction(row); a >= 0 {
		return v, pureDecision(a)
	}
	p.mixed = append(p.mixed, row...)
	return v, mixedDecision(len(p.mixed) - len(row))
}

// guess solves the matrix game of the returns of a state, given by the numbers
// ids of its choices among scalars.
func (p *matrixPlan) guess(scalars []float64, ids []int32, cols int) (bounds, decision) {
	q := p.low[:len(ids)]
	for i, id := range ids {
		q[i] = scalars[id]
	}
	row := p.guessed[:len(ids)/cols]
	low, up := p.solver.Solve(row, p.col[:cols], q)
	if a := pureAction(row); a >= 0 {
		return bounds{low, up}, pureDecision(a)
	}
	return bounds{low, up}, mixedDecision(guessedPlace)
}

// most returns max_b Σ_a row_a·q(a, b) and where it is attained.
func most(q, row []float64, cols int) (best float64, at int) {
	best = math.Inf(-1)
	for b := range cols {
		sum := 0.0
		for a, x := range row {
			if x != 0 {
				sum += x * q[a*cols+b]
			}
		}
		if sum > best {
			best, at = sum, b
		}
	}
	return best, at
}

// pureAction returns the only action of a strategy, or -1 if it has several.
func pureAction(row []float64) int {
	for a, x := range row {
		if x == 1 {
			return a
		}
		if x != 0 {
			return -1
		}
	}
	return -1
}
