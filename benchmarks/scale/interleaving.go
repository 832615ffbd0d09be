package main

import (
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

// An interleaving is a ring of equal processes of which a scheduler moves one at a time.
type interleaving struct {
	// move adds the moves of process i, whose neighbours it may look at, with equal probabilities: it calls to
	// with the new local state. A process that has to wait moves to the state that it is in.
	move func(local []uint8, i int, to func(uint8))
	// returns gives the returns of the move that process i makes in a local state.
	returns func(local uint8, i int) []float64
}

// draw draws the interleaving of as many processes as have at most the given number of states.
func (v interleaving) draw(_ *rand.Rand, k *cmdp.Kernel, states int32) {
	for n := 2; ; n++ {
		next := v.explore(n, int(states))
		if next == nil {
			return
		}
		*k = *next
	}
}

// explore returns the kernel of n processes, or nil if it has more states. Three bits hold a local state.
func (v interleaving) explore(n, states int) *cmdp.Kernel {
	const bits = 3
	k := cmdp.NewKernel()
	number, queue := map[uint64]int32{0: 0}, []uint64{0}
	local := make([]uint8, n)
	var next []int32
	var prob []float64
	for s := 0; s < len(queue); s++ {
		for i := range local {
			local[i] = uint8(queue[s] >> (bits * i) & (1<<bits - 1))
		}
		for i := range local {
			next, prob = next[:0], prob[:0]
			v.move(local, i, func(to uint8) {
				key := queue[s] ^ uint64(local[i]^to)<<(bits*i)
				at, known := number[key]
				if !known {
					at = int32(len(queue))
					number[key] = at
					queue = append(queue, key)
				}
				next = append(next, at)
			})
			for range next {
				prob = append(prob, 1/float64(len(next)))
			}
			k.Append(next, prob, v.returns(local[i], i))
		}
		k.EndState()
		if len(queue) > states && n > 2 {
			return nil
		}
	}
	return &k
}

// philosophers eat with two forks, of which each draws which to take first (Lehmann and Rabin 1981). The
// returns are the meals of the first, those of the second, and those of all others.
func philosophers() interleaving {
	const thinks, draws, left, right, hasLeft, hasRight, eats, full = 0, 1, 2, 3, 4, 5, 6, 7
	takesRight := func(x uint8) bool { return x == hasRight || x == eats || x == full }
	takesLeft := func(x uint8) bool { return x == hasLeft || x == eats }
	return interleaving{
		move: func(local []uint8, i int, to func(uint8)) {
			n := len(local)
			leftFree, rightFree := !takesRight(local[(i+n-1)%n]), !takesLeft(local[(i+1)%n])
			waits := func(free bool, then, else_ uint8) {
				if free {
					to(then)
				} else {
					to(else_)
				}
			}
			switch local[i] {
			case thinks:
				to(draws)
			case draws:
				to(left)
				to(right)
			case left:
				waits(leftFree, hasLeft, left)
			case right:
				waits(rightFree, hasRight, right)
			case hasLeft:
				waits(rightFree, eats, draws)
			case hasRight:
				waits(leftFree, eats, draws)
			case eats:
				to(full)
			case full:
				to(thinks)
			}
		},
		returns: func(local uint8, i int) []float64 {
			r := make([]float64, 3)
			if local == eats {
				r[min(i, 2)] = 1
			}
			return r
		},
	}
}

// exclusion is a protocol by which one process at a time uses a resource: those that want it draw whether to
// insist, and whoever insists alone has it. The returns are as those of philosophers.
func exclusion() interleaving {
	const idle, wants, insists, yields, uses, leaves = 0, 1, 2, 3, 4, 5
	return interleaving{
		move: func(local []uint8, i int, to func(uint8)) {
			taken, rivals := false, false
			for j, x := range local {
				taken = taken || j != i && x == uses
				rivals = rivals || j != i && x == insists
			}
			switch {
			case local[i] == idle:
				to(wants)
			case local[i] == wants:
				to(insists)
				to(yields)
			case local[i] == insists && !taken && !rivals:
				to(uses)
			case local[i] == insists:
				to(wants)
			case local[i] == yields && !rivals:
				to(wants)
			case local[i] == yields:
				to(yields)
			case local[i] == uses:
				to(leaves)
			default:
				to(idle)
			}
		},
		returns: func(local uint8, i int) []float64 {
			r := make([]float64, 3)
			if local == uses {
				r[min(i, 2)] = 1
			}
			return r
		},
	}
}
