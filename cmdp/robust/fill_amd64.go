package robust

import "golang.org/x/sys/cpu"

func init() {
	if cpu.X86.HasAVX {
		compare = compareAVX
	}
}

//go:noescape
func compareAVX(values, lower, rooms *float64, n int, free float64) float64
