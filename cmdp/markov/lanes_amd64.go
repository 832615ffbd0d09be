package markov

import "golang.org/x/sys/cpu"

// vectors says that the processor has the instructions of the functions below, which give the same digits.
var vectors = cpu.X86.HasAVX

//go:noescape
func backupVector(directions *Lanes, returns *float64, d int, values *Lanes, next *int32, prob *float64, n int,
	s, lo, hi int32, base, sum, size *Lanes) (out float64)

// relaxVector goes on from state lo to hi, and returns the first state that solveState has to treat.
//
//go:noescape
func relaxVector(z *laneRows, lo, hi int32) (at int32)
