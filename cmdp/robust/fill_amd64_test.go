package robust

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestFillAVX is TestFill on processors that have more than AVX.
func TestFillAVX(t *testing.T) {
	if !cpu.X86.HasAVX {
		t.Skip("no AVX")
	}
	vector := pivots
	pivots = pivotsAVX
	t.Cleanup(func() { pivots = vector })
	testFill(t)
}
