//go:build !amd64

package markov

// vectors says that there are instructions for the functions below.
var vectors = false

func backupVector(directions *Lanes, returns *float64, d int, values *Lanes, next *int32, prob *float64, n int,
	s, lo, hi int32, base, sum, size *Lanes) (out float64) {
	panic("markov: no vector instructions")
}

func relaxVector(z *laneRows, lo, hi int32) (at int32) { panic("markov: no vector instructions") }
