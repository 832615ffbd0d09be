package markov

import "golang.org/x/sys/cpu"

// vectors says that the processor has the instructions of the functions below, which give the same digits.
var vectors = cpu.X86.HasAVX

//go:noescape
func backupVector(directions *Lanes, returns *float64, d int, values *Lanes, next *int32, prob *float64, n int,
	s, lo, hi int32, base, sum, size *Lanes) (out float64)

//go:noescape
func relaxVector(directions *Lanes, returns *float64, d int, values, all *Lanes, next *int32, prob *float64, n int,
	s, i int32, rounding float64, best, of *Lanes, at *[NumLanes]int32) (out float64)
