//go:build !unix

package harness

import (
	"os"
	"time"
)

var began = time.Now()

// ProcessorTime returns the time on the clock, because this system does not tell the
// processor time.
func ProcessorTime() time.Duration { return time.Since(began) }

// PeakMemory and PeakOf return 0, because this system does not tell peaks.
func PeakMemory() float64             { return 0 }
func PeakOf(*os.ProcessState) float64 { return 0 }
