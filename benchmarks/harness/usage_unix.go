//go:build unix

package harness

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// usage returns what the system has counted, zeros if it will not say.
func usage() (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return syscall.Rusage{}
	}
	return u
}

// ProcessorTime returns the processor time that the process has used, which
// depends less than the time on the clock on what else the machine does.
func ProcessorTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakMemory returns the most memory, in bytes, that the process has held.
func PeakMemory() float64 {
	u := usage()
	return residentBytes(&u)
}

// PeakOf returns the most memory, in bytes, that a process that has ended held.
func PeakOf(p *os.ProcessState) float64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return residentBytes(u)
	}
	return 0
}

func residentBytes(u *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" {
		return float64(u.Maxrss)
	}
	return 1024 * float64(u.Maxrss)
}
