//go:build !amd64

package markov

// octetVectors says that there are instructions for the functions below.
var octetVectors = false

func sweepOctets(z *octetRows, lo, hi int32) { panic(noVectors) }
func lookOctets(z *octetRows, lo, hi int32)  { panic(noVectors) }
func pushOctets(z *octetRows, lo, hi int32)  { panic(noVectors) }
