//go:build !linux

package available

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// free returns the memory of the machine: how much of it is free is not known.
func free() int64 {
	if has, err := memlimit.FromSystem(); err == nil {
		return clip(has)
	}
	return math.MaxInt64
}

// ofProcess returns what limits of the process leave to it: nothing is known.
func ofProcess() int64 { return math.MaxInt64 }
