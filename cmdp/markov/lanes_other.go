//go:build !amd64

package markov

// vectors says that there are instructions for the functions below.
var vectors = false

func backupVector(directions *Lanes, returns *float64, d int, values *Lanes, next *int32, prob *float64, n int,
	s, lo, hi int32, base, sum, size *Lanes) (out float64) {
	panic("markov: no vector instructions")
}

func relaxVector(directions *Lanes, returns *float64, d int, values, all *Lanes, next *int32, prob *float64, n int,
	s, i int32, rounding float64, best, of *Lanes, at *[NumLanes]int32) (out float64) {
	panic("markov: no vector instructions")
}
