// Package collector tells the garbage collector how much memory a process that plans for a large model may have.
package collector

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"

	"cmdpsolve/cmdp"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	large = 1 << 18 // transitions
	share = 0.9     // of what is free
)

// Limit sets a limit of memory where a model is large: what the process has already, and most of what is free on the machine
// or allowed in its container. Garbage is collected as Go has it until memory comes near the limit, and oftener then. Nothing
// changes for small models, or where the user has set GOGC or GOMEMLIMIT.
func Limit(m *cmdp.Model) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := os.LookupEnv(name); set {
			return
		}
	}
	if m.Transitions() < large {
		return
	}
	if most, ok := limit(inUse(), free); ok {
		debug.SetMemoryLimit(most)
	}
}

// limit returns the limit for a process that has so many bytes. It is at least twice as much: below, nearly all time would go into
// collecting. ok is false where nobody knows what is free.
func limit(has uint64, free func() (uint64, error)) (most int64, ok bool) {
	left, err := free()
	if err != nil {
		return 0, false
	}
	return int64(has + max(has, uint64(share*float64(left)))), true
}

// inUse returns the memory that the process has from the machine, without what was given back.
func inUse() uint64 {
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return of[0].Value.Uint64() - of[1].Value.Uint64()
}

// free returns the bytes that the machine can still give, or the limit of the container if that is less.
func free() (uint64, error) {
	left, err := available("/proc/meminfo")
	if err != nil { // another system: as much again may be in use
		left, err = memlimit.FromSystem()
		left /= 2
	}
	if most, unlimited := memlimit.FromCgroup(); unlimited == nil && (err != nil || most < left) {
		return most, nil
	}
	return left, err
}

// available reads the memory that Linux can give without swapping, which includes its caches.
func available(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, line, _ := bytes.Cut(text, []byte("MemAvailable:"))
	line, _, _ = bytes.Cut(line, []byte("kB"))
	kilobytes, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 54)
	return kilobytes << 10, err
}
