package cmdptest

import (
	"math"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
)

// monitorEpisodes is how many episodes CheckMonitor watches, of at most monitorSteps steps.
const (
	monitorEpisodes = 100
	monitorSteps    = 200
)

// CheckMonitor lets a monitor watch episodes of uniformly random choices in a model and checks that it
// sets all of its rewards, to finite numbers; that what it returns from any moment on lies in the range it
// states; that it gives the same answers again, and when used concurrently; that it does not
// change what it is shown; and that different memory values read differently.
func CheckMonitor(m *cmdp.Model, mon monitor.Monitor) error {
	first, err := watch(m, mon)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var errs [4]error
	var again [4][]float64
	for i := range again {
		wg.Go(func() { again[i], errs[i] = watch(m, mon) })
	}
	wg.Wait()
	for i := range again {
		if errs[i] != nil {
			return errs[i]
		}
		if !equal(first, again[i]) {
			return errorf("repeatable",
				"the same episodes gave other memory or rewards when the monitor was used concurrently, or the "+
					"second time")
		}
	}
	return nil
}

// A watched is a monitor and what was seen of it.
type watched struct {
	monitor.Monitor
	dst          []float64
	lower, upper []float64
	reads        map[string]int // of which memory value
	all          []float64      // memory and rewards, one after the other
	rewards      [][]float64    // of this episode
}

func watch(m *cmdp.Model, mon monitor.Monitor) ([]float64, error) {
	n := mon.Rewards()
	w := &watched{Monitor: mon, dst: make([]float64, n), lower: make([]float64, n), upper: make([]float64, n),
		reads: make(map[string]int)}
	mon.Range(w.lower, w.upper)
	for i := range n {
		if !(w.lower[i] <= 0 && w.upper[i] >= 0) {
			return nil, errorf("range", "reward %d from %g to %g: want a range with 0", i, w.lower[i], w.upper[i])
		}
	}
	rng, steps := stream("monitor"), m.Horizon()
	if steps == 0 {
		steps = monitorSteps
	}
	r := make([]float64, m.Dim())
	for range monitorEpisodes {
		w.rewards = nil
		s := m.Start(rng)
		memory, err := w.judge(func(dst []float64) int {
			return mon.Start(dst, monitor.Transition{State: -1, Choice: -1, Next: s, Returns: r})
		}, r)
		if err != nil {
			return nil, err
		}
		for h := range steps {
			first, end := m.Rows(h).Choices(s)
			t := monitor.Transition{State: s, Choice: -1, Next: s, Returns: r}
			clear(r)
			if first < end {
				a := rng.IntN(end - first)
				t.Choice = first + a
				t.Next = m.Step(r, rng, h, s, a)
			}
			memory, err = w.judge(func(dst []float64) int { return mon.Step(dst, memory, t) }, r)
			if err != nil {
				return nil, err
			}
			s = t.Next
		}
		clear(r)
		if err := w.ranges(); err != nil {
			return nil, err
		}
	}
	return w.all, nil
}

// judge checks one answer.
func (w *watched) judge(ask func(dst []float64) int, shown []float64) (memory int, err error) {
	for i := range w.dst {
		w.dst[i] = math.NaN() // whoever does not set a reward leaves it
	}
	before := slices.Clone(shown)
	memory = ask(w.dst)
	switch {
	case !finite(w.dst):
		return 0, errorf("rewards", "%v: want %d finite numbers, all of them set", w.dst, len(w.dst))
	case !equal(before, shown):
		return 0, errorf("returns", "the monitor changed the returns that it was shown")
	}
	text := w.Value(memory)
	if other, ok := w.reads[text]; ok && other != memory {
		return 0, errorf("value", "memory values %d and %d both read %q", other, memory, text)
	}
	w.reads[text] = memory
	w.all = append(append(w.all, float64(memory)), w.dst...)
	w.rewards = append(w.rewards, slices.Clone(w.dst))
	return memory, nil
}

// ranges compares what was returned from each moment of an episode on with the range.
func (w *watched) ranges() error {
	for i := range w.dst {
		sum := 0.0
		for h := len(w.rewards) - 1; h >= 0; h-- {
			sum += w.rewards[h][i]
			if slack := 1e-9 * max(1, math.Abs(sum)); sum < w.lower[i]-slack || sum > w.upper[i]+slack {
				return errorf("range", "reward %d returned %g from step %d on: want %g to %g", i, sum, h, w.lower[i],
					w.upper[i])
			}
		}
	}
	return nil
}
