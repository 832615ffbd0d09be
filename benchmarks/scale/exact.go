package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// exactOutcome is what only package exact reports.
type exactOutcome struct {
	Bound      float64   `json:"bound,omitempty"`
	Prices     []float64 `json:"prices,omitempty"`
	Sweeps     int       `json:"sweeps,omitempty"`     // value iterations until the optimum
	Sweeping   float64   `json:"sweeping,omitempty"`   // seconds until the last of them
	Randomized int       `json:"randomized,omitempty"` // (step, state) pairs
	Policy     string    `json:"policy,omitempty"`     // checksum of the policy's probabilities
	Nonzeros   int       `json:"nonzeros,omitempty"`
	Model      float64   `json:"model,omitempty"`  // bytes of the model's arrays
	Beside     float64   `json:"beside,omitempty"` // bytes in use beside them, at most
	Pairs      int       `json:"pairs,omitempty"`  // of a state and a total, in a product
}

// solve times one solution, or where that is short the median of several.
func (j job) solve(ctx context.Context, p *problem.Problem) (*outcome, error) {
	task, err := query.TaskOf(ctx, p)
	if err != nil {
		return nil, err
	}
	var r *exact.Result
	var seconds, processor, sweeping []float64
	watch := watchMemory()
	for begin := time.Now(); len(seconds) == 0 || len(seconds) < 9 && time.Since(begin) < time.Second/2; {
		start, used := time.Now(), harness.ProcessorTime()
		last := start
		progress := func(int, float64, float64) { last = time.Now() }
		r, err = exact.Solve(ctx, p.Model, task, exact.Options{Workers: j.Threads, Progress: progress})
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		processor = append(processor, (harness.ProcessorTime() - used).Seconds())
		sweeping = append(sweeping, last.Sub(start).Seconds())
	}
	beside, peak := watch.stop(), harness.PeakMemory()
	if r.Status != exact.Optimal {
		return nil, fmt.Errorf("scale: %s: %v", p.Name, r.Status)
	}
	e := exactOutcome{
		Bound: r.Bound, Sweeps: r.Iterations, Sweeping: median(sweeping), Randomized: r.Randomized,
		Policy: checksum(p.Model, r.Policy), Nonzeros: p.Model.Transitions(), Model: float64(p.Model.Kernel(0).Bytes()),
		Beside: beside,
	}
	for i := range p.Constraints {
		e.Prices = append(e.Prices, price(r, i+1))
	}
	return &outcome{
		Seconds: median(seconds), Processor: median(processor), Objective: r.Objective, Peak: peak, exactOutcome: e,
	}, nil
}

// price returns the price of the bound from above of return i.
func price(r *exact.Result, i int) float64 {
	for _, c := range r.Prices {
		unit := c.Normal[i] > 0
		for k, x := range c.Normal {
			unit = unit && (k == i || x == 0)
		}
		if unit {
			return c.Value * c.Normal[i]
		}
	}
	return 0
}

// checksum sums up all probabilities of a policy, bit by bit.
func checksum(m *cmdp.Model, policy *exact.Policy) string {
	table := crc64.MakeTable(crc64.ECMA)
	sum := uint64(0)
	buffer := make([]byte, 0, 8*actions)
	for h := range max(1, m.Horizon()) {
		rows := m.Rows(h)
		for s := range m.States() {
			first, end := rows.Choices(s)
			if first == end {
				continue
			}
			dst := make([]float64, end-first)
			policy.Distribution(dst, h, s)
			buffer = buffer[:0]
			for _, x := range dst {
				buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(x))
			}
			sum = crc64.Update(sum, table, buffer)
		}
	}
	return fmt.Sprintf("%016x", sum)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	return (x[(n-1)/2] + x[n/2]) / 2
}

// A memoryWatch looks now and then at how much of the heap objects take.
type memoryWatch struct {
	before float64
	quit   chan struct{}
	most   chan float64
}

// watchMemory collects garbage and starts a watch.
func watchMemory() *memoryWatch {
	runtime.GC()
	w := &memoryWatch{before: objects(), quit: make(chan struct{}), most: make(chan float64)}
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		most := w.before
		for {
			select {
			case <-tick.C:
				most = max(most, objects())
			case <-w.quit:
				w.most <- max(most, objects())
				return
			}
		}
	}()
	return w
}

// stop returns the most bytes in objects, garbage not yet collected included, that
// were seen beyond those at the start.
func (w *memoryWatch) stop() float64 {
	close(w.quit)
	return <-w.most - w.before
}

// objects returns the bytes of the heap that objects take.
func objects() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}
