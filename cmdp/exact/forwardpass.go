package exact

import (
	"context"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A forwardPass computes the returns of a deterministic policy as the sum of occupancies times
// returns, from the first step to the last. One number moves along each successor, in
// place of the d that a recursion from the last step would have to fetch from places
// all over memory, and none where the policy does not come, as in the first steps from
// a single state.
//
// The states are cut into blocks, whose number depends on the model alone. Each adds to
// the occupancies of the next step in an array of its own, so that the order of all
// sums, and with it every bit, is the same for any number of workers.
type forwardPass struct {
	m               *cmdp.Model
	workers         int
	blocks          parallel.Division
	work            int         // transitions of a policy and step, about
	occupancy, next [][]float64 // of each block, S: share of the occupancy; 0 between calls
	sums            [][]float64 // of each block: its part of the returns
	stepwise        stepwise
}

// mostStateBlocks bounds the number of blocks, and so of workers that are of use.
const mostStateBlocks = 4

func newForwardPass(m *cmdp.Model, workers int, each stepwise) *forwardPass {
	states := m.States()
	n := min(mostStateBlocks, max(1, states/threshold.Block))
	size := (states + n - 1) / n
	f := &forwardPass{m: m, workers: workers, stepwise: each,
		blocks: parallel.Division{N: states, Size: size, Parts: (states + size - 1) / size}}
	if choices := m.Kernel(0).Choices(); choices > 0 {
		f.work = int(float64(len(m.Kernel(0).Next)) / float64(choices) * float64(states))
	}
	for range f.blocks.Parts {
		f.occupancy, f.next = append(f.occupancy, make([]float64, states)), append(f.next, make([]float64, states))
		f.sums = append(f.sums, make([]float64, each.dim()))
	}
	return f
}

// returns computes the returns of a policy from a step and a start on, and leaves room, an entry for each choice,
// in disorder. After an error the flow must not be used any more.
func (f *forwardPass) returns(ctx context.Context, first int, start []cmdp.StartState, policy []markov.Actions,
	room []float64) ([]float64, error) {
	for _, st := range start {
		f.occupancy[0][st.State] = st.Probability
	}
	for _, sum := range f.sums {
		clear(sum)
	}
	clear(room)
	r := parallel.Relay{Workers: f.workers, Stages: f.m.Horizon() - first, Parts: f.blocks.Parts}
	if f.work < threshold.Shared {
		r.Workers = 1
	}
	r.Do = func(stage, block int) {
		h := first + stage
		from, to := f.occupancy, f.next
		if stage%2 == 1 {
			from, to = to, from
		}
		f.step(h, block, from, to[block], &policy[h], room)
		if last := h == f.m.Horizon()-1; last || !f.m.Stationary() || len(f.stepwise.each) > 0 {
			f.collectReturns(h, block, room)
		}
	}
	if err := r.Run(ctx); err != nil {
		return nil, err
	}
	total := make([]float64, f.stepwise.dim())
	for _, sum := range f.sums {
		floats.AddScaled(total, 1, sum)
	}
	return total, nil
}

// step moves the occupancy of a block of states at step h: it leaves mass, is added to
// the choices taken, and goes on to next. A state has mass from every block.
func (f *forwardPass) step(h, block int, mass [][]float64, next []float64, policy *markov.Actions, choices []float64) {
	k, last := f.m.Kernel(h), h == f.m.Horizon()-1
	lo, hi := f.blocks.Part(block)
	var room [256]float64
	for ; lo < hi; lo += len(room) {
		end := min(hi, lo+len(room))
		x := room[:end-lo]
		copy(x, mass[0][lo:end])
		clear(mass[0][lo:end])
		for _, m := range mass[1:] {
			m = m[lo:end][:len(x)]
			for i, y := range m {
				x[i] += y
			}
			clear(m)
		}
		for i, x := range x {
			if x == 0 {
				continue
			}
			s := lo + i
			c := int(k.First[s])
			if c == int(k.First[s+1]) { // the process rests
				if !last {
					next[s] += x
				}
				continue
			}
			c += policy.At(s)
			choices[c] += x
			if !last {
				propagateMass(k, c, x, next)
			}
		}
	}
}

// collectReturns adds the returns of the occupancies of the choices of a block to its sum, and
// takes them away. The sums of few terms are added up, which keeps their rounding small.
func (f *forwardPass) collectReturns(h, block int, choices []float64) {
	k := f.m.Kernel(h)
	lo, hi := f.blocks.Part(block)
	d := f.m.Dim()
	part := make([]float64, d)
	for ; lo < hi; lo += threshold.Chunk {
		clear(part)
		for c := int(k.First[lo]); c < int(k.First[min(hi, lo+threshold.Chunk)]); c++ {
			if x := choices[c]; x != 0 {
				for i, r := range k.ReturnsOf(c, d) {
					part[i] += float64(x * r)
				}
				choices[c] = 0
			}
		}
		f.stepwise.add(f.sums[block], 1, part, h)
	}
}
