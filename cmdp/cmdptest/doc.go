// Package cmdptest checks implementations of the interfaces of package cmdp
// against the laws that learners and runners rely on, for users' own
// environments, planners, dual updates and learners. Like testing/fstest, its
// functions return an error that names what was broken, so that they can be used
// in any test:
//
//	if err := cmdptest.CheckEnvironment(env); err != nil {
//		t.Fatal(err)
//	}
//
// [DrawKernel] draws models to test graph algorithms with, and [EndAfter] ends contexts at any look at them.
//
// All checks draw from fixed seeds: a failure can be repeated.
package cmdptest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

// errorf names the law that was broken.
func errorf(law, format string, args ...any) error {
	return fmt.Errorf("cmdptest: %s: %s", law, fmt.Sprintf(format, args...))
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func equal(x, y []float64) bool {
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
			return false
		}
	}
	return len(x) == len(y)
}

func stream(purpose string) *rand.Rand { return rand.New(cmdp.Stream(1, "cmdptest "+purpose)) }

// unit returns a random direction of length 1.
func unit(rng *rand.Rand, d int) []float64 {
	dir, n := make([]float64, d), 0.0
	for i := range dir {
		dir[i] = rng.NormFloat64()
		n += dir[i] * dir[i]
	}
	for i := range dir {
		dir[i] /= math.Sqrt(n)
	}
	return dir
}

// play plays one episode with uniformly random joint actions.
func play(env cmdp.Environment, tr *cmdp.Trajectory, envRNG, agentRNG *rand.Rand) error {
	sh := env.Shape()
	if sh.Game() {
		return tr.PlayAgainst(env, cmdp.Uniform{Shape: sh}, cmdp.NewUniformOpponent(sh), envRNG, agentRNG, agentRNG)
	}
	tr.Play(env, cmdp.Uniform{Shape: sh}, envRNG, agentRNG)
	return nil
}
