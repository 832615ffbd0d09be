package available

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"golang.org/x/sys/unix"
)

// free returns the memory that the system can give without swapping.
func free() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		_, rest, _ := strings.Cut(string(text), "\nMemAvailable:")
		var kilobytes int64
		_, err = fmt.Sscan(rest, &kilobytes)
		if err == nil {
			return kilobytes << 10
		}
	}
	if has, err := memlimit.FromSystem(); err == nil {
		return clip(has)
	}
	return math.MaxInt64
}

// reserved is address space that holds nothing: Go's runtime asks for 64 MiB at a time, and so do threads of
// C's library. A third of the rest is left to what was freed, since address space is never given back.
const reserved = 128 << 20

// ofProcess returns what the resource limits of the process leave to it.
func ofProcess() int64 {
	most := int64(math.MaxInt64)
	text, _ := os.ReadFile("/proc/self/statm") // in pages: all, resident, shared, text, 0, data
	var pages [6]int64
	_, _ = fmt.Sscan(string(text), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5])
	for resource, taken := range map[int]int64{unix.RLIMIT_AS: pages[0], unix.RLIMIT_DATA: pages[5]} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(resource, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
			left := clip(limit.Cur) - taken*int64(os.Getpagesize())
			if resource == unix.RLIMIT_AS {
				left = (left - reserved) / 3 * 2
			}
			most = min(most, max(0, left))
		}
	}
	return most
}
