package cmdp

import "gonum.org/v1/gonum/floats"

// An Evaluator computes exact expected returns of policies in a finite-horizon
// model, or of pairs of policies in a game, by propagating occupancies forward. It
// allocates only when it is made; it must not be used concurrently.
type Evaluator struct {
	model     *Model
	now, next []float64
	probs     []float64
	against   []float64 // the opponent's distribution
}

// NewEvaluator returns an evaluator for m. It panics if m is nil or its
// horizon infinite.
func NewEvaluator(m *Model) *Evaluator {
	if m == nil {
		panic(noModel)
	}
	if m.horizon == 0 {
		panic("cmdp: evaluator needs a finite horizon")
	}
	return &Evaluator{
		model:   m,
		now:     make([]float64, m.states),
		next:    make([]float64, m.states),
		probs:   make([]float64, m.shape.MaxActions()),
		against: make([]float64, m.shape.MaxOpponentActions()),
	}
}

// Returns sets dst, of length d, to the expected return vector V^π of an
// episode. It panics if the model is a game.
func (e *Evaluator) Returns(dst []float64, p Policy) { e.ReturnsAgainst(dst, p, nil) }

// ReturnsAgainst sets dst, of length d, to the expected return vector V^{μν} of an
// episode in which the agent plays μ and the opponent ν. Without an opponent ν may
// be nil; in a game it may not.
func (e *Evaluator) ReturnsAgainst(dst []float64, agent, opponent Policy) {
	if len(dst) != e.model.dim {
		panic(badDim)
	}
	clear(dst)
	e.forward(agent, opponent, func(rows *Rows, _, c int, q float64) {
		floats.AddScaled(dst, q, rows.Returns(c))
	})
}

// Occupancy returns the occupancy measure of p: for each step, the probability
// of taking each choice. It panics if the model is a game.
func (e *Evaluator) Occupancy(p Policy) [][]float64 { return e.OccupancyAgainst(p, nil) }

// OccupancyAgainst returns the occupancy measure of a pair of policies, as
// ReturnsAgainst does their returns.
func (e *Evaluator) OccupancyAgainst(agent, opponent Policy) [][]float64 {
	q := make([][]float64, e.model.horizon)
	for h := range q {
		q[h] = make([]float64, e.model.shape.StepChoices(h))
	}
	e.forward(agent, opponent, func(_ *Rows, h, c int, mass float64) { q[h][c] = mass })
	return q
}

// forward calls visit with every choice of positive probability.
func (e *Evaluator) forward(agent, opponent Policy, visit func(rows *Rows, h, c int, mass float64)) {
	m := e.model
	if m.shape.Game() && opponent == nil {
		panic(noOpponent)
	}
	clear(e.now)
	for _, st := range m.start {
		e.now[st.State] = st.Probability
	}
	for h := range m.horizon {
		rows := m.Rows(h)
		clear(e.next)
		for s, mass := range e.now {
			if mass == 0 {
				continue
			}
			first, end := rows.Choices(s)
			if first == end {
				e.next[s] += mass
				continue
			}
			others := m.shape.OpponentActions(h, s)
			probs, against := e.probs[:(end-first)/others], e.against[:others]
			agent.Distribution(probs, h, s)
			against[0] = 1
			if others > 1 {
				opponent.Distribution(against, h, s)
			}
			c := first
			for _, x := range probs {
				for _, y := range against {
					if q := mass * x * y; x != 0 && y != 0 {
						visit(rows, h, c, q)
						next, prob := rows.Row(c)
						for j, to := range next {
							e.next[to] += q * prob[j]
						}
					}
					c++
				}
			}
		}
		e.now, e.next = e.next, e.now
	}
}
