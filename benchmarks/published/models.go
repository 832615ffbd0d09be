package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distmv"
)

// A sketch is a problem whose model is being built, choice by choice.
type sketch struct {
	problem.Problem
	builder *cmdp.Builder
	err     error
}

func newSketch(name string, spec cmdp.ModelSpec, states int) *sketch {
	return &sketch{Problem: problem.Problem{Name: name}, builder: cmdp.NewBuilder(spec, states)}
}

// add adds a choice. Transitions without probability are left out.
func (s *sketch) add(step, state, action int, returns []float64, next ...cmdp.Transition) {
	row := cmdp.Row{Step: step, State: state, Action: action, Returns: returns}
	for _, t := range next {
		if t.Probability > 0 {
			row.Next = append(row.Next, t)
		}
	}
	if err := s.builder.Add(row); err != nil && s.err == nil {
		s.err = err
	}
}

// maximize completes the problem: maximise reward with cost at most the bound.
func (s *sketch) maximize(bound float64) (*problem.Problem, error) {
	s.Returns, s.Goal = []string{"reward", "cost"}, problem.Goal{Maximize: "reward"}
	s.Constraints = []problem.Limit{{Return: "cost", AtMost: &bound}}
	return s.finish()
}

func (s *sketch) finish() (*problem.Problem, error) {
	if s.err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, s.err)
	}
	var err error
	s.Model, err = s.builder.Build()
	return &s.Problem, err
}

func surely(state int) cmdp.Transition { return cmdp.Transition{Next: state, Probability: 1} }

func at(state int) []cmdp.StartState { return []cmdp.StartState{{State: state, Probability: 1}} }

// ring is a ring of three states. To stay is free and brings nothing; to move on
// from state s brings (s+1)·unit and costs 1. Six steps may cost 3.
func ring(start []cmdp.StartState, unit float64) (*problem.Problem, error) {
	s := newSketch("ring", cmdp.ModelSpec{Horizon: 6, Dim: 2, Start: start}, 3)
	for state := range 3 {
		s.add(cmdp.EveryStep, state, 0, []float64{0, 0}, surely(state))
		s.add(cmdp.EveryStep, state, 1, []float64{float64(state+1) * unit, 1}, surely((state+1)%3))
	}
	return s.maximize(3)
}

// coin has a bit that is drawn anew after the first step, 0 with probability 0.1. The
// first of two actions then pays if it is 1 and costs 1 in any case, the other pays
// if it is 0 and is free. The cost may be 0.1.
func coin() (*problem.Problem, error) {
	const zero = 0.1
	start := []cmdp.StartState{{State: 0, Probability: 0.5}, {State: 1, Probability: 0.5}}
	s := newSketch("coin", cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: start}, 5)
	for state := range 2 {
		for action := range 2 {
			s.add(cmdp.EveryStep, state, action, []float64{0, 0}, cmdp.Transition{Next: 2, Probability: zero},
				cmdp.Transition{Next: 3, Probability: 1 - zero})
		}
	}
	const end = 4
	s.add(cmdp.EveryStep, 2, 0, []float64{0, 1}, surely(end))
	s.add(cmdp.EveryStep, 2, 1, []float64{1, 0}, surely(end))
	s.add(cmdp.EveryStep, 3, 0, []float64{1, 1}, surely(end))
	s.add(cmdp.EveryStep, 3, 1, []float64{0, 0}, surely(end))
	return s.maximize(0.1)
}

// A cell is a place on a grid, row and column counted from 0.
type cell struct{ row, col int }

var moves = [4]cell{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

func (c cell) plus(d cell) cell { return cell{c.row + d.row, c.col + d.col} }

// slippery returns the successors of a move that is another one, drawn from all four,
// with probability 0.1, and the expected returns; step says where a move leads, and
// what it returns.
func slippery(action int, step func(action int) (next int, returns []float64)) ([]cmdp.Transition, []float64) {
	const slip = 0.1
	var next []cmdp.Transition
	mean := make([]float64, 2)
	for other := range moves {
		p := slip / float64(len(moves))
		if other == action {
			p += 1 - slip
		}
		to, returns := step(other)
		floats.AddScaled(mean, p, returns)
		known := false
		for i := range next {
			if next[i].Next == to {
				next[i].Probability, known = next[i].Probability+p, true
			}
		}
		if !known {
			next = append(next, cmdp.Transition{Next: to, Probability: p})
		}
	}
	return next, mean
}

// rover is a grid of 8×8 cells with eight pits. Goal and pits both end the walk, and
// pay 1 and then 1/30 for every step that is left; a pit costs the same besides. The
// cost may be 0.3.
func rover() (*problem.Problem, error) {
	const size, horizon = 8, 30
	pits := map[cell]bool{{2, 3}: true, {2, 6}: true, {5, 1}: true, {5, 2}: true, {6, 1}: true, {6, 4}: true,
		{6, 6}: true, {7, 3}: true}
	goal := cell{size - 1, size - 1}
	s := newSketch("rover", cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: at(0)}, size*size)
	for state := range size * size {
		here := cell{state / size, state % size}
		charge := func(c cell, amount float64) []float64 {
			switch {
			case pits[c]:
				return []float64{amount, amount}
			case c == goal:
				return []float64{amount, 0}
			}
			return []float64{0, 0}
		}
		for action := range moves {
			next, mean := slippery(action, func(action int) (int, []float64) {
				if pits[here] || here == goal {
					return state, charge(here, 1./horizon)
				}
				to := here.plus(moves[action])
				if to.row < 0 || to.row >= size || to.col < 0 || to.col >= size {
					return state, []float64{0, 0}
				}
				return to.row*size + to.col, charge(to, 1)
			})
			s.add(cmdp.EveryStep, state, action, mean, next...)
		}
	}
	return s.maximize(0.3)
}

// warehouse is a small room with a box in the way to the goal. Who walks into the box
// pushes it, if there is room behind it; a box beside two walls or more costs 1/30 in
// every step. The goal ends the walk, and pays 1 and then 1/30 for every step
// that is left. The cost may be 0.1.
func warehouse() (*problem.Problem, error) {
	const horizon = 30
	free := map[cell]bool{}
	for _, c := range []cell{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 2}, {3, 3}, {3, 4}, {4, 3}, {4, 4}} {
		free[c] = true
	}
	goal := cell{4, 4}
	type place struct{ agent, box cell }
	charge := func(p place) float64 {
		walls := 0
		for _, d := range moves {
			if !free[p.box.plus(d)] {
				walls++
			}
		}
		if walls >= 2 {
			return 1. / horizon
		}
		return 0
	}
	step := func(p place, action int) (place, float64) {
		if p.agent == goal {
			return p, 1. / horizon
		}
		to := place{p.agent.plus(moves[action]), p.box}
		if to.agent == p.box {
			to.box = p.box.plus(moves[action])
		}
		switch {
		case !free[to.agent] || !free[to.box]:
			return p, 0
		case to.agent == goal:
			return to, 1
		}
		return to, 0
	}
	places, number := []place{{cell{1, 2}, cell{2, 2}}}, map[place]int{}
	number[places[0]] = 0
	for i := 0; i < len(places); i++ { // breadth first: what can be reached
		for action := range moves {
			to, _ := step(places[i], action)
			if _, known := number[to]; !known {
				number[to] = len(places)
				places = append(places, to)
			}
		}
	}
	s := newSketch("warehouse", cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: at(0)}, len(places))
	for state, p := range places {
		for action := range moves {
			next, mean := slippery(action, func(action int) (int, []float64) {
				to, reward := step(p, action)
				return number[to], []float64{reward, charge(to)}
			})
			s.add(cmdp.EveryStep, state, action, mean, next...)
		}
	}
	return s.maximize(0.1)
}

// dirichlet returns a distribution over n states with all parameters alpha.
func dirichlet(n int, alpha float64, rng *rand.Rand) []cmdp.Transition {
	parameters := make([]float64, n)
	for i := range parameters {
		parameters[i] = alpha
	}
	p := distmv.NewDirichlet(parameters, rng).Rand(nil)
	// What is too rare to be seen in any run would be one more entry of the model.
	const rare = 1e-12
	sum := 0.0
	for i, x := range p {
		if x < rare {
			p[i] = 0
		}
		sum += p[i]
	}
	next := make([]cmdp.Transition, n)
	for i, x := range p {
		next[i] = cmdp.Transition{Next: i, Probability: x / sum}
	}
	return next
}

// conflict draws a model of 30 states, three actions and ten steps, each step with a
// kernel of its own, in which every choice pays either reward or utility: to maximise
// reward with at least half of the best utility.
func conflict(ctx context.Context, seed uint64) (*problem.Problem, error) {
	const states, actions, horizon = 30, 3, 10
	rng := rand.New(cmdp.Stream(seed, "conflict"))
	s := newSketch("conflict", cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: at(rng.IntN(states))}, states)
	for step := range horizon {
		for state := range states {
			for action := range actions {
				reward := float64(rng.IntN(2))
				s.add(step+1, state, action, []float64{reward, 1 - reward}, dirichlet(states, 0.1, rng)...)
			}
		}
	}
	s.Returns, s.Goal = []string{"reward", "utility"}, problem.Goal{Maximize: "utility"}
	p, err := s.finish()
	if err != nil {
		return nil, err
	}
	best, err := solve(ctx, p)
	if err != nil {
		return nil, err
	}
	half := best.Returns[1] / 2
	p.Goal = problem.Goal{Maximize: "reward"}
	p.Constraints = []problem.Limit{{Return: "utility", AtLeast: &half}}
	return p, nil
}

// maze draws a grid of 18×18 cells in which a cell outside the first and the last row is
// an obstacle with probability 0.4. A step pays 100 at the goal in the first row, 19
// steps from the start, and else the more the nearer it ends to the goal; a step that
// ends on an obstacle costs 1. Of 25 steps five may.
func maze(seed uint64) (*problem.Problem, error) {
	const size, horizon = 18, 25
	rng := rand.New(cmdp.Stream(seed, "maze"))
	var obstacle [size * size]float64
	for i := size; i < size*(size-1); i++ {
		if rng.Float64() <= 0.4 {
			obstacle[i] = 1
		}
	}
	goal := cell{0, size - 3}
	distance := func(c cell) float64 { return math.Hypot(float64(c.row-goal.row), float64(c.col-goal.col)) }
	s := newSketch("maze", cmdp.ModelSpec{Horizon: horizon, Dim: 2, Start: at(size*size - 1)}, size*size)
	for state := range size * size {
		here := cell{state / size, state % size}
		for action, d := range moves {
			to := here.plus(d)
			if to.row < 0 || to.row >= size || to.col < 0 || to.col >= size {
				to = here
			}
			next, reward := to.row*size+to.col, distance(cell{size - 1, 0})-distance(to)
			if to == goal {
				reward = 100
			}
			s.add(cmdp.EveryStep, state, action, []float64{reward, obstacle[next]}, surely(next))
		}
	}
	return s.maximize(5)
}

// tastes draws a model of 20 states, five actions and ten steps with uniform rewards of
// the given number and a kernel without structure.
func tastes(rewards int, seed uint64) (*problem.Problem, error) {
	const states, actions, horizon = 20, 5, 10
	rng := rand.New(cmdp.Stream(seed, "tastes"))
	s := newSketch("tastes", cmdp.ModelSpec{Horizon: horizon, Dim: rewards, Start: at(0)}, states)
	for state := range states {
		for action := range actions {
			next, sum := make([]cmdp.Transition, states), 0.0
			for i := range next {
				next[i] = cmdp.Transition{Next: i, Probability: rng.Float64()}
				sum += next[i].Probability
			}
			for i := range next {
				next[i].Probability /= sum
			}
			returns := make([]float64, rewards)
			for i := range returns {
				returns[i] = rng.Float64()
			}
			s.add(cmdp.EveryStep, state, action, returns, next...)
		}
	}
	for i := range rewards {
		s.Returns = append(s.Returns, fmt.Sprintf("r%d", i))
	}
	s.Goal = problem.Goal{Maximize: "r0"} // preferences come from elsewhere
	return s.finish()
}

// solve returns the optimum of a problem that has one.
func solve(ctx context.Context, p *problem.Problem) (*exact.Result, error) {
	task, err := query.TaskOf(ctx, p)
	if err != nil {
		return nil, err
	}
	best, err := exact.Solve(ctx, p.Model, task, exact.Options{})
	if err == nil && best.Status != exact.Optimal {
		err = fmt.Errorf("%s: %v: want an optimum", p.Name, best.Status)
	}
	return best, err
}
