package instance

import (
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// Machines is the maintenance of many machines by few crews, a restless bandit (Whittle, Restless bandits, J.
// Applied Probability 25A, 1988; Glazebrook, Mitchell, Ansell, Index policies for the maintenance of a
// collection of machines by a set of repairmen, European J. Operational Research 165, 2005). A machine is in a
// state of wear, from 0 to Wear. At each step it earns what its wear leaves it, and may wear by one more; one
// that a crew works on earns nothing, and is as new with probability Success, else as it was. Half of the
// machines, rounded up, are robust, and wear with probability Robust in a step; the others are fragile, and
// wear with probability Fragile. All begin as new, and at most Crews of them are worked on at each step. The
// numbers are ours.
type Machines struct {
	Count, Crews, Horizon, Wear int
	Robust, Fragile, Success    float64
}

// DefaultMachines returns 100 machines with 20 crews over 20 steps.
func DefaultMachines() Machines {
	return Machines{Count: 100, Crews: 20, Horizon: 20, Wear: 4, Robust: 0.25, Fragile: 0.5, Success: 0.9}
}

func (m *Machines) parameters() []parameter {
	return []parameter{
		whole("n", &m.Count, 1, 1_000_000_000, "machines"),
		whole("crews", &m.Crews, 0, 1_000_000_000, "machines that are worked on at a step, at most"),
		horizonParameter(&m.Horizon),
		whole("wear", &m.Wear, 1, 1000, "greatest wear of a machine"),
		probability("robust", &m.Robust, "probability that a robust machine wears in a step"),
		probability("fragile", &m.Fragile, "probability that a fragile machine wears in a step"),
		probability("success", &m.Success, "probability that a repair succeeds"),
	}
}

// Problem returns the maintenance as a fleet: maximise output with at most so many crews at work at each step.
func (m Machines) Problem() (*problem.Problem, error) {
	if err := checkAll("machines", m.parameters()); err != nil {
		return nil, err
	}
	p := atWork("machines", m.parameters(), new(DefaultMachines()).parameters(), "output", "crews", m.Crews)
	types := []struct {
		name  string
		count int
		wears float64
	}{{"robust", m.Count - m.Count/2, m.Robust}, {"fragile", m.Count / 2, m.Fragile}}
	for _, t := range types {
		if t.count == 0 {
			continue
		}
		agent, err := m.machine(t.name, t.wears)
		if err != nil {
			return nil, err
		}
		starts := make([]int, m.Wear+1)
		starts[0] = t.count
		p.Fleet = append(p.Fleet, problem.Member{Name: t.name, Count: t.count, Agent: agent, Returns: []int{0, 1},
			Starts: starts})
	}
	return p, nil
}

// atWork returns the problem, without its types, to maximise a return with at most so many agents at work at each step.
func atWork(name string, parameters, defaults []parameter, goal, active string, most int) *problem.Problem {
	bound := float64(most)
	return &problem.Problem{
		Name:        specOf(name, parameters, defaults),
		Returns:     []string{goal, active},
		Goal:        problem.Goal{Maximize: goal},
		Constraints: []problem.Limit{{Return: active, AtMost: &bound, EachStep: true}},
	}
}

func (m *Machines) machine(name string, wears float64) (*problem.Problem, error) {
	as := assemble(cmdp.ModelSpec{Horizon: m.Horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		m.Wear+1)
	p := &problem.Problem{Name: name, Returns: []string{"output", "crews"}}
	for wear := range m.Wear + 1 {
		p.States = append(p.States, fmt.Sprintf("wear%d", wear))
		worn := min(m.Wear, wear+1)
		earns := 1 - float64(wear)/float64(m.Wear)
		as.add(wear, "work", []float64{earns, 0}, spread(spread(nil, worn, wears), wear, 1-wears))
		as.add(wear, "repair", []float64{0, 1}, spread(spread(nil, 0, m.Success), wear, 1-m.Success))
	}
	return as.finish(p)
}
