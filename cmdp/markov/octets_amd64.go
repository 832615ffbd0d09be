package markov

import "golang.org/x/sys/cpu"

// octetVectors says that the processor has the instructions of the functions below, which give the digits of the plain
// ones.
var octetVectors = cpu.X86.HasAVX2

// sweepOctets is OctetTotals.sweep.
//
//go:noescape
func sweepOctets(z *octetRows, lo, hi int32)

// lookOctets is OctetTotals.look.
//
//go:noescape
func lookOctets(z *octetRows, lo, hi int32)

// pushOctets is OctetTotals.push.
//
//go:noescape
func pushOctets(z *octetRows, lo, hi int32)
