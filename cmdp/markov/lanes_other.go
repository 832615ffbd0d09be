//go:build !amd64

package markov

// vectors says that there are instructions for the functions below.
var vectors = false

const noVectors = "markov: no vector instructions"

func relaxVector(z *laneRows, lo, hi int32) (at int32)                { panic(noVectors) }
func loadVector(z *laneRows, f *laneFeedback, lo, hi int32) (ok bool) { panic(noVectors) }
func proveVector(z *laneRows, lo, hi int32) (at int32)                { panic(noVectors) }
