package markov

import "golang.org/x/sys/cpu"

// vectors says that the processor has the instructions of the functions below, which give the digits of the plain ones.
var vectors = cpu.X86.HasAVX

// relaxVector goes on from state lo to hi, and returns the first state that solveState has to treat.
//
//go:noescape
func relaxVector(z *laneRows, lo, hi int32) (at int32)

// loadVector is laneFeedback.load.
//
//go:noescape
func loadVector(z *laneRows, f *laneFeedback, lo, hi int32) (ok bool)

// proveVector returns the first state of [lo, hi) in which improve has something to do.
//
//go:noescape
func proveVector(z *laneRows, lo, hi int32) (at int32)
