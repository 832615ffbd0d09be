package parallel

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
)

// No part of a stage begins before all parts of the stages before it are done, each is done once, and Run does not
// return before, nor while a part is being done if it is stopped.
func TestRelayKeepsStagesApart(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, workers := range []int{1, 2, 7} {
		const stages, parts = 50, 9
		var done [stages]atomic.Int64
		var seen [stages * parts]atomic.Int64
		r := Relay{Workers: workers, Stages: stages, Parts: parts, Do: func(stage, part int) {
			if stage > 0 && done[stage-1].Load() != parts || done[stage].Load() >= parts {
				t.Errorf("%d workers: stage %d began too early or went on too long", workers, stage)
			}
			seen[stage*parts+part].Add(1)
			done[stage].Add(1)
		}}
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			if n := seen[i].Load(); n != 1 {
				t.Errorf("%d workers: part %d done %d times", workers, i, n)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var now atomic.Int64
		stopped := Relay{Workers: workers, Stages: stages, Parts: parts, Do: func(stage, part int) {
			now.Add(1)
			if stage == 3 && part == 2 {
				cancel()
			}
			runtime.Gosched()
			if stage > 4 {
				t.Errorf("%d workers: stage %d was begun after the end", workers, stage)
			}
			now.Add(-1)
		}}
		if err := stopped.Run(ctx); err == nil || now.Load() != 0 {
			t.Errorf("%d workers, stopped: error %v, %d parts go on", workers, err, now.Load())
		}
	}
}

// Both jobs do each part once, in order, and the second stays behind the first.
func TestFollow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const parts, ahead = 1000, 3
	var done [2]atomic.Int64
	job := func(k int) func(part int) {
		return func(part int) {
			if k == 0 {
				runtime.Gosched() // the second job is to be the faster one
			}
			if k == 1 && done[0].Load() < int64(min(part+ahead, parts)) {
				t.Errorf("part %d began after %d parts of the first job", part, done[0].Load())
			}
			if n := done[k].Add(1); n != int64(part)+1 {
				t.Errorf("part %d of job %d came as number %d", part, k, n)
			}
		}
	}
	Follow(parts, ahead, job(0), job(1))
	if a, b := done[0].Load(), done[1].Load(); a != parts || b != parts {
		t.Errorf("%d and %d parts were done", a, b)
	}
}

func TestLargest(t *testing.T) {
	var l Maximum
	if x := l.Get(); x != 0 {
		t.Errorf("of none: %v", x)
	}
	for _, x := range []float64{0, 1e-300, 2.5, 1, math.Inf(1), 3} {
		l.Add(x)
	}
	if x := l.Get(); !math.IsInf(x, 1) {
		t.Errorf("largest is %v", x)
	}
}
