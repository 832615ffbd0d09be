// Package available says how much memory this process may still take.
package available

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Bytes returns how much memory this process may still take: what is free, within the limits of the system, of its container
// (cgroup), of the process (ulimit -v and -d) and of GOMEMLIMIT. It is math.MaxInt64 where nothing is known.
func Bytes() int64 {
	return min(hard(), debug.SetMemoryLimit(-1), free())
}

// hard returns what limits leave to this process.
func hard() int64 {
	most := ofProcess()
	if has, err := memlimit.FromCgroup(); err == nil {
		most = min(most, clip(has))
	}
	return most
}

// Respect makes the collector keep the heap within the limits of the container and of the process, where GOMEMLIMIT does not
// ask for less.
func Respect() {
	if most := hard(); most < math.MaxInt64 {
		debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), most/10*9))
	}
}

func clip(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
