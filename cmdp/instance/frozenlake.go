package instance

import (
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// A FrozenLake is the walk over a frozen lake of Gymnasium (Farama Foundation,
// environment FrozenLake-v1, maps "4x4" and "8x8"; Brockman et al., OpenAI Gym,
// arXiv:1606.01540, 2016). From the top left cell the agent tries to reach the
// goal at the bottom right; on slippery ice it moves in the intended direction
// or in one of the two perpendicular ones, each with probability 1/3, and stays
// at a border. The goal and the holes end the episode.
//
// Maps, slip, action order (left, down, right, up) and time limits (100 and 200
// steps) are Gymnasium's; its reward is the return goal. The return hole, 1 for
// falling into one, and its budget are ours.
type FrozenLake struct {
	// Size is the side of the lake, 4 or 8.
	Size    int
	Horizon int
	// Slippery is false for moves that succeed surely.
	Slippery bool
	// Budget bounds the probability of ending in a hole; +Inf for no bound.
	Budget float64
}

var lakes = map[int][]string{
	4: {
		"SFFF",
		"FHFH",
		"FFFH",
		"HFFG",
	},
	8: {
		"SFFFFFFF",
		"FFFFFFFF",
		"FFFHFFFF",
		"FFFFFHFF",
		"FFFHFFFF",
		"FHHFFFHF",
		"FHFFHFHF",
		"FFFHFFFG",
	},
}

// DefaultFrozenLake returns the slippery lake of side 4 or 8 with its budget.
func DefaultFrozenLake(size int) FrozenLake {
	if size == 8 {
		return FrozenLake{Size: 8, Horizon: 200, Slippery: true, Budget: 0.01}
	}
	return FrozenLake{Size: size, Horizon: 100, Slippery: true, Budget: 0.1}
}

func (f *FrozenLake) parameters() []parameter {
	return []parameter{
		horizonParameter(&f.Horizon),
		{name: "slippery", field: &f.Slippery, meaning: "whether two moves in three go aside"},
		budgetParameter(&f.Budget, "bound on the probability of a hole"),
	}
}

// Problem returns the lake as a problem: maximise goal with hole at most the
// budget. It has Size² states, named by row and column counted from 0; those of
// the goal and the holes offer no action.
func (f FrozenLake) Problem() (*problem.Problem, error) {
	lake := lakes[f.Size]
	if lake == nil {
		return nil, fmt.Errorf("instance: frozen lake of size %d: want 4 or 8", f.Size)
	}
	name := fmt.Sprintf("frozenlake%d", f.Size)
	if err := checkAll(name, f.parameters()); err != nil {
		return nil, err
	}
	p := &problem.Problem{
		Name:        specOf(name, f.parameters(), new(DefaultFrozenLake(f.Size)).parameters()),
		Returns:     []string{"goal", "hole"},
		Goal:        problem.Goal{Maximize: "goal"},
		Constraints: atMost("hole", f.Budget),
	}
	l := lattice{f.Size, f.Size}
	as := assemble(cmdp.ModelSpec{
		Horizon: f.Horizon, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		// An episode ends once, at the goal or in a hole.
		ReturnToGo: &cmdp.Interval{Lower: []float64{0, 0}, Upper: []float64{1, 1}},
	}, f.Size*f.Size)
	kind := func(cell int) byte { return lake[cell/f.Size][cell%f.Size] }
	for cell := range f.Size * f.Size {
		p.States = append(p.States, l.name(cell))
		if kind(cell) == 'G' || kind(cell) == 'H' {
			continue
		}
		for d, dir := range directions {
			next := f.moves(l, cell, d)
			as.add(cell, dir.name, lakeReturns(next, kind), next)
		}
	}
	return as.finish(p)
}

func (f *FrozenLake) moves(l lattice, cell, d int) []cmdp.Transition {
	if !f.Slippery {
		return spread(nil, l.move(cell, d), 1)
	}
	var next []cmdp.Transition
	for turn := range 3 { // aside, ahead, aside
		next = spread(next, l.move(cell, (d+turn+3)%4), 1.0/3)
	}
	return next
}

// lakeReturns attaches returns to the moves of a choice that may end the episode
// and returns nil, else the returns of the choice. Returns hang on the outcome
// and not on the choice, since only so does their sum stay in [0, 1] on every
// path: an average of 1/3 could be collected again and again.
func lakeReturns(next []cmdp.Transition, kind func(int) byte) []float64 {
	ends := false
	for _, t := range next {
		ends = ends || kind(t.Next) == 'G' || kind(t.Next) == 'H'
	}
	if !ends {
		return []float64{0, 0}
	}
	for i := range next {
		next[i].Returns = []float64{0, 0}
		switch kind(next[i].Next) {
		case 'G':
			next[i].Returns[0] = 1
		case 'H':
			next[i].Returns[1] = 1
		}
	}
	return nil
}
