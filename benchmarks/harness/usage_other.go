//go:build !unix

package harness

import (
	"os"
	"time"
)

var began = time.Now()

// ProcessorTime returns the time on the clock, where the processor time is not to be had.
func ProcessorTime() time.Duration { return time.Since(began) }

// PeakMemory and PeakOf return 0, where peaks are not to be had.
func PeakMemory() float64             { return 0 }
func PeakOf(*os.ProcessState) float64 { return 0 }
