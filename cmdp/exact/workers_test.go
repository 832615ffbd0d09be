package exact_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/internal/threshold"
)

// drawBand draws a model of two returns without a horizon in which transitions lead to states nearby, most of them
// forwards, and a few times back to the beginning of a component. The last state rests, or leads to the first one.
func drawBand(t *testing.T, rng *rand.Rand, spec cmdp.ModelSpec) *cmdp.Model {
	t.Helper()
	states, size, reach := 30+rng.IntN(60), []int{1, 4, 9, 1000}[rng.IntN(4)], 1+rng.IntN(3)
	spec.Dim, spec.Start = 2, []cmdp.StartState{{State: rng.IntN(3), Probability: 1}}
	k := cmdp.NewKernel()
	for s := range states - 1 {
		first := s - s%size
		for range 1 + rng.IntN(3) {
			ahead, back := min(states-1, s+1+rng.IntN(reach)), max(first, s-rng.IntN(reach+1))
			p := 0.3 + 0.6*rng.Float64()
			returns := []float64{float64(rng.IntN(5)), float64(rng.IntN(5))}
			if rng.IntN(3) == 0 {
				k.Append([]int32{int32(ahead), int32(back), int32(min(states-1, ahead+1))}, []float64{p, 0.9 - p, 0.1},
					returns)
			} else {
				k.Append([]int32{int32(ahead), int32(back)}, []float64{p, 1 - p}, returns)
			}
		}
		k.EndState()
	}
	if spec.Average || spec.Discount < 1 {
		k.Append([]int32{0}, []float64{1}, []float64{1, 2})
	}
	k.EndState()
	spec.Kernels = []cmdp.Kernel{k}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawWide draws a model of totals in layers, each of many states that lead to one or two layers behind, or to states
// of their own small component.
func drawWide(t *testing.T, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	width, size, actions := 3+rng.IntN(9), []int{1, 1, 3}[rng.IntN(3)], 2+rng.IntN(2)
	layers := 3 + rng.IntN(6)
	last := layers * width * size
	k := cmdp.NewKernel()
	for s := range last {
		behind := (s/(width*size) + 1) * width * size
		for range 1 + rng.IntN(actions) {
			next := []int32{int32(min(last, behind+rng.IntN(2*width*size))), int32(s - s%size + rng.IntN(size))}
			k.Append(next, []float64{0.6, 0.4}, []float64{float64(rng.IntN(5)), float64(rng.IntN(5))})
		}
		k.EndState()
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Dim: 2, Discount: 1, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 0.5}, {State: 1 + rng.IntN(width-1), Probability: 0.5}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWorkersWithoutHorizon wants plans and curves without a horizon to be the same for any number of workers, bit by
// bit: as numbers are printed with all their digits, so are the answers.
func TestWorkersWithoutHorizon(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rng := rand.New(rand.NewPCG(26, 4))
	models := 48
	if testing.Short() { // the race detector takes long over them
		models = 12
	}
	for n := range models {
		restore := threshold.Lower()
		threshold.Stretch = []int{1, 16}[n%2] // components are swept block by block, or as a whole
		switch n % 3 {
		case 0:
			threshold.Eliminated = 200
		case 1:
			threshold.Swept = 200 // no component is swept
		}
		discounted := cmdp.ModelSpec{Discount: 0.9 + 0.09*rng.Float64()}
		spec := []cmdp.ModelSpec{{Discount: 1}, {Discount: 1}, discounted, {Average: true}}[n%4]
		m := drawBand(t, rng, spec)
		if n%4 == 1 {
			m = drawWide(t, rng)
		}
		var want string
		for _, workers := range []int{1, 2, 3} {
			got := printAnswers(t, m, workers)
			if workers == 1 {
				want = got
			} else if got != want {
				t.Fatalf("model %d, %d workers:\n%s\nwith one:\n%s", n, workers, got, want)
			}
		}
		restore()
	}
}

// printAnswers prints a plan for the second return with a limit on the first, and the curve between both.
func printAnswers(t *testing.T, m *cmdp.Model, workers int) (out string) {
	t.Helper()
	curve, err := exact.Front(t.Context(), m, cmdp.Task{}, exact.FrontOptions{Options: exact.Options{Workers: workers},
		Over: [][]float64{{1, 0}, {0, 1}}, Error: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	limit := 0.0
	for _, p := range curve.Points {
		out += fmt.Sprintln(p.Returns, p.Weights)
		limit += p.Returns[0] / float64(len(curve.Points))
	}
	out += fmt.Sprintln(curve.Status, curve.Outer, curve.Error, curve.Iterations)
	x := box(t, m)
	for _, gap := range []float64{0, 1e-3} {
		task := cmdp.Task{Cost: linear(t, x, []float64{0, 1}), Target: atMost(t, x, []float64{limit, 1e3}), Box: x}
		r, err := exact.Solve(t.Context(), m, task, exact.Options{Workers: workers, Gap: gap})
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintln(r.Status, r.Objective, r.Bound, r.Returns, r.Iterations, r.Randomized)
		if r.Policy != nil {
			row, k := make([]float64, 3), m.Kernel(0)
			for s, first := range k.First[1:] {
				if n := first - k.First[s]; n > 0 {
					r.Policy.Distribution(row[:n], 0, s)
					out += fmt.Sprint(row[:n])
				}
			}
		}
	}
	return out + "\n"
}
