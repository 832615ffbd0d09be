package instance

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// A Media is the control of a stream. A client has a buffer of packets; in every
// step a packet arrives with a probability that depends on the service asked
// for, fast or slow, and independently of it a packet is played with
// probability Play. A full buffer takes no more, an empty one plays nothing, and
// what counts then is that the play is interrupted.
//
// Buffer 0 to 9, 10 steps, rates 0.9 and 0.1, play 0.8, the empty buffer at the
// start, and the budget of 5 uses of the fast service are those of the
// experiments of Bura et al. (DOPE, NeurIPS 2022, arXiv:2112.00885).
type Media struct {
	// States is the number of buffer levels, from empty to full.
	States  int
	Horizon int
	// Budget bounds the expected number of steps with the fast service; +Inf for
	// no bound.
	Budget float64
	// Fast and Slow are the probabilities that a packet arrives, Play that one is
	// played.
	Fast, Slow, Play float64
}

// DefaultMedia returns the published case.
func DefaultMedia() Media {
	return Media{States: 10, Horizon: 10, Budget: 5, Fast: 0.9, Slow: 0.1, Play: 0.8}
}

func (m *Media) parameters() []parameter {
	return []parameter{
		whole("S", &m.States, 2, 1_000_000, "buffer levels"),
		horizonParameter(&m.Horizon),
		budgetParameter(&m.Budget, "bound on the expected uses of the fast service"),
		probability("fast", &m.Fast, "probability of a packet with the fast service"),
		probability("slow", &m.Slow, "probability of a packet with the slow service"),
		probability("play", &m.Play, "probability that a packet is played"),
	}
}

func (m *Media) size() cmdp.Size { return chainSize(m.States, m.Horizon) }

// Problem returns the stream as a problem: minimise empty, the steps begun with
// an empty buffer, with fast, the uses of the fast service, at most the budget.
// States are numbered by the packets in the buffer.
func (m Media) Problem() (*problem.Problem, error) {
	if err := checkAll("media", m.parameters()); err != nil {
		return nil, err
	}
	p := &problem.Problem{
		Name:        specOf("media", m.parameters(), new(DefaultMedia()).parameters()),
		Returns:     []string{"empty", "fast"},
		Goal:        problem.Goal{Minimize: "empty"},
		Constraints: atMost("fast", m.Budget),
	}
	as := assemble(cmdp.ModelSpec{
		Horizon: m.Horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
	}, m.States)
	for packets := range m.States {
		empty := 0.0
		if packets == 0 {
			empty = 1
		}
		as.add(packets, "fast", []float64{empty, 1}, m.move(packets, m.Fast))
		as.add(packets, "slow", []float64{empty, 0}, m.move(packets, m.Slow))
	}
	return as.finish(p)
}

func (m *Media) move(packets int, arrival float64) []cmdp.Transition {
	next := spread(nil, max(packets-1, 0), (1-arrival)*m.Play)
	next = spread(next, packets, arrival*m.Play+(1-arrival)*(1-m.Play))
	return spread(next, min(packets+1, m.States-1), arrival*(1-m.Play))
}
