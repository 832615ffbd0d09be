package markov

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// TestProgressInTurn wants workers who share levels to tell what they do one after the other, in programs of one
// direction and of several.
func TestProgressInTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const layers, width = 4, 1 << 13
	k := cmdp.NewKernel()
	for s := range int32(layers * width) {
		k.Append([]int32{min(layers*width, s+width)}, []float64{1}, []float64{1})
		k.EndState()
	}
	k.EndState()
	var telling, told atomic.Int32
	tell := progress.Of(progress.With(t.Context(), func(string, float64) {
		if telling.Add(1) > 1 {
			t.Error("two tell at the same time")
		}
		time.Sleep(100 * time.Microsecond) // so that others come
		telling.Add(-1)
		told.Add(1)
	}))
	g := &Graph{Kernel: &k}
	q := g.Number(partsOf(g), nil)
	q.Fill(g, q.Origin, nil)
	z := NewLeastTotal(q, 1, 3, new(Chain))
	z.Progress = tell
	if endless, err := z.Solve(t.Context()); endless != nil || err != nil || told.Load() < layers {
		t.Errorf("%d are told, endless %v, error %v", told.Load(), endless, err)
	}
	several := z.Simultaneous(1)
	several.Progress, several.Directions[0] = tell, Lanes{1, 1, 1, 1}
	told.Store(0)
	if ok, err := several.Solve(t.Context()); !ok || err != nil || told.Load() < layers {
		t.Errorf("several directions: %d are told, solved %v, error %v", told.Load(), ok, err)
	}
}
