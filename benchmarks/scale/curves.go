package main

import (
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

// drawGrid draws a grid whose sides meet: four ways from each state, a quarter of which lead surely to the next
// one, until the last state.
func drawGrid(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	side := gridSide(states)
	at := func(x, y int32) int32 { return (y+side)%side*side + (x+side)%side }
	for s := range side * side {
		x, y := s%side, s/side
		for way := 0; way < 4 && s < side*side-1; way++ {
			next, prob := []int32{at(x+[]int32{1, -1, 0, 0}[way], y+[]int32{0, 0, 1, -1}[way])}, []float64{1}
			if rng.IntN(4) > 0 {
				prob = []float64{0.6, 0.1, 0.1, 0.1, 0.1}
				for len(next) < len(prob) {
					next = append(next, at(x+rng.Int32N(5)-2, y+rng.Int32N(5)-2))
				}
			}
			k.Append(next, prob, []float64{rng.Float64(), rng.Float64()})
		}
		k.EndState()
	}
}

// gridSide is the side of a grid of at most so many states.
func gridSide(states int32) int32 {
	side := int32(2)
	for (side+1)*(side+1) <= states {
		side++
	}
	return side
}

// gridMiddle is the state of a grid that is as far from its end as any.
func gridMiddle(states int) int {
	side := int(gridSide(int32(states)))
	return side/2*side + side/2
}

// drawClock draws a protocol with a clock, which begins again where two parties draw the same: a component for
// each of the steps of the protocol, in which a clock goes through its times and each party may wait. The
// returns are time, and messages.
func drawClock(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	const times, draws = 60, 4 // of each step: what the parties have drawn, and the time
	last := (states - 1) / (times * draws)
	at := func(step, drawn, time int32) int32 { return (step*draws+drawn)*times + time }
	rest := at(last, 0, 0)
	for step := range last {
		for drawn := range int32(draws) {
			for time := range int32(times) {
				wait, send := 0.5+rng.Float64(), 0.2+rng.Float64()
				switch {
				case time == times-1 && drawn == 0: // the same
					k.Append([]int32{at(step, 0, 0)}, []float64{1}, []float64{1, 0})
				case time == times-1:
					k.Append([]int32{at(step+1, 0, 0)}, []float64{1}, []float64{1, 0})
				default:
					k.Append([]int32{at(step, drawn, time+1)}, []float64{1}, []float64{wait, 0})
					if time%3 == 0 {
						k.Append([]int32{at(step, drawn, min(times-1, time+5)), at(step, rng.Int32N(draws), time+1)},
							[]float64{0.7, 0.3}, []float64{1, send})
					}
				}
				k.EndState()
			}
		}
	}
	for range states - rest {
		k.EndState()
	}
}

// drawBudget draws a model in layers, what is left of a budget, with a place in each: to go on takes one or two
// of it, or a random amount. The returns are what is spent in vain and the time.
func drawBudget(rng *rand.Rand, k *cmdp.Kernel, states int32) {
	const places = 1000
	last := states/places - 1
	at := func(layer, place int32) int32 { return min(layer, last)*places + place%places }
	for s := range states / places * places {
		layer, place := s/places, s%places
		if layer < last {
			k.Append([]int32{at(layer+1, place+rng.Int32N(3))}, []float64{1}, []float64{rng.Float64(), 1})
			if s%4 == 0 {
				k.Append([]int32{at(layer+1, place+7), at(layer+5, place+1)}, []float64{0.5, 0.5},
					[]float64{2 * rng.Float64(), 0.5})
			}
			if s%2 == 0 {
				k.Append([]int32{at(layer+2, place), at(layer+3, place+rng.Int32N(9))}, []float64{0.5, 0.5},
					[]float64{1.5 * rng.Float64(), 0.8})
			}
		}
		k.EndState()
	}
	for range states % places {
		k.EndState()
	}
}

// drawCounters draws a model of 4,000 states with a counter of cost beside each state, up to which it goes on.
// A step costs nothing, one or two. The returns are two rewards, which are to be large.
func drawCounters(_ *rand.Rand, k *cmdp.Kernel, states int32) {
	const base = counted
	last := states/base - 1
	for s := range states / base * base {
		level, place := s/base, s%base
		if level < last {
			eachCounted(base, place, func(cost int32, next []int32, rewards []float64) {
				to := min(last, level+cost) * base
				k.Append([]int32{to + next[0], to + next[1]}, []float64{0.6, 0.4}, rewards)
			})
		}
		k.EndState()
	}
	for range states % base {
		k.EndState()
	}
}

// counted is how many states the model has that is unfolded.
const counted = 4000

// eachCounted calls visit for the choices of a state of so many, which are the same at all values of the counter.
func eachCounted(states, place int32, visit func(cost int32, next []int32, rewards []float64)) {
	const seed = 17
	draw := rand.New(rand.NewPCG(seed, uint64(place)))
	for range 1 + place%2 {
		cost := draw.Int32N(3)
		if place%10 == 0 {
			cost = 1 // no end component without a cost
		}
		next := []int32{(place + 1) % states, draw.Int32N(states)}
		visit(cost, next, []float64{draw.Float64(), draw.Float64()})
	}
}
