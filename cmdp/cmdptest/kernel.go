package cmdptest

import (
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

// DrawKernel draws a kernel without returns in which end components of every size are common: few successors, some
// entries of probability 0, some states without choices. It allocates the kernel.
func DrawKernel(rng *rand.Rand, states int) *cmdp.Kernel {
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range states {
		n := rng.IntN(4)
		for range n {
			to := 1 + rng.IntN(2)
			for j := range to {
				next := rng.IntN(states)
				if rng.IntN(3) == 0 {
					next = s
				}
				k.Next, k.Prob = append(k.Next, int32(next)), append(k.Prob, 1/float64(to))
				if j == 0 && rng.IntN(6) == 0 {
					k.Next, k.Prob = append(k.Next, int32(rng.IntN(states))), append(k.Prob, 0)
				}
			}
			k.Offset = append(k.Offset, len(k.Next))
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	return k
}
