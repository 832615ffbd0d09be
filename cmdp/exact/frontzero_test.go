package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
)

// torus returns a model of totals on a grid whose sides meet: four ways from each state, some of them sure and
// many of them free of one return or of both, until the last state is reached. From many states the least total
// is 0 or far smaller than rounding: it takes several free steps, of which others cost something.
func torus(t *testing.T, rng *rand.Rand, side int32) *cmdp.Model {
	t.Helper()
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	at := func(x, y int32) int32 { return (y+side)%side*side + (x+side)%side }
	for s := range side * side {
		x, y := s%side, s/side
		for a := 0; a < 4 && s < side*side-1; a++ {
			next, prob := []int32{at(x+[]int32{1, -1, 0, 0}[a], y+[]int32{0, 0, 1, -1}[a])}, []float64{1}
			if rng.IntN(4) > 0 {
				prob = []float64{0.6, 0.1, 0.1, 0.1, 0.1}
			}
			for len(next) < len(prob) {
				n := at(x+rng.Int32N(5)-2, y+rng.Int32N(5)-2)
				if !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
			k.Append(next, prob, []float64{rng.Float64(), rng.Float64()})
		}
		k.EndState()
	}
	for i := range k.Returns {
		if rng.Float64() < 0.6 {
			k.Returns[i] = 0
		}
	}
	m := totalsOf(t, k, 2)
	return m
}

// Values that fall to nothing by the same factor from one state to the next do not cost the bound of a curve.
func TestFrontOfFreeSteps(t *testing.T) {
	m := torus(t, rand.New(rand.NewPCG(7, 9)), 16)
	r, err := Front(t.Context(), m, cmdp.Task{Box: boxOf(t, 2)},
		FrontOptions{Over: [][]float64{{1, 0}, {0, 1}}, Error: 1e-3})
	if err != nil || r.Status != Optimal || len(r.Points) < 5 {
		t.Fatalf("%+v, %v: want a curve of several points", r, err)
	}
	for _, p := range r.Points {
		for _, row := range r.Outer {
			if x := row.Normal[0]*p.Objectives[0] + row.Normal[1]*p.Objectives[1] - row.Offset; x > 1e-9*(1e-3+
				math.Abs(row.Offset)) {
				t.Errorf("point %v is better than possible by %g", p.Objectives, x)
			}
		}
	}
}

// boxOf holds all returns, which are at least 0.
func boxOf(t *testing.T, dim int) *geometry.Box {
	t.Helper()
	box, err := geometry.NewBox(make([]float64, dim), slices.Repeat([]float64{1e9}, dim))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// ideal draws a model in which the first action is best in both returns, whose totals are 0 then: what a state gives,
// the next one takes. The other action costs something of the first return, and of the second now and then.
func ideal(t *testing.T, rng *rand.Rand, horizon int, discount float64) *cmdp.Model {
	t.Helper()
	const states = 4
	kernels := make([]cmdp.Kernel, max(horizon, 1))
	level := make([][2]float64, (len(kernels)+1)*states) // of each step and state
	for i := range level {
		if s := i % states; s > 0 && (horizon == 0 || i < horizon*states) {
			level[i] = [2]float64{rng.Float64(), rng.Float64()}
		}
	}
	for h := range kernels {
		k := &kernels[h]
		k.First, k.Offset = []int32{0}, []int{0}
		now, then := level[h*states:], level[h*states:]
		if horizon > 0 {
			then = then[states:]
		}
		for s := range states {
			for a := range 2 {
				p, n := rng.Float64(), rng.Int32N(states-1)
				cost := [2]float64{float64(a), float64(a * rng.IntN(2))}
				for i := range cost {
					cost[i] += now[s][i] - discount*(p*then[n][i]+(1-p)*then[n+1][i])
				}
				k.Append([]int32{n, n + 1}, []float64{p, 1 - p}, cost[:])
			}
			k.EndState()
		}
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: horizon, Discount: discount, Dim: 2, Kernels: kernels,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Where one policy is best in every objective, the curve is its point, although nothing but rounding is left of some
// objectives at all points.
func TestFrontOfOnePoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 11))
	sides, err := geometry.NewBox([]float64{-1000, -1000}, []float64{1000, 1000})
	if err != nil {
		t.Fatal(err)
	}
	loose, err := sides.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 200 {
		horizon, discount := 1+rng.IntN(30), 1.0
		if trial%2 > 0 {
			horizon, discount = 0, 0.5+0.49*rng.Float64()
		}
		t.Run(fmt.Sprintf("horizon %d, discount %g", horizon, discount), func(t *testing.T) {
			var task cmdp.Task
			if trial%4 > 1 { // a limit that does not bind
				task.Target = loose
			}
			r, err := Front(t.Context(), ideal(t, rng, horizon, discount), task, FrontOptions{
				Over: [][]float64{{1, 0}, {0, 1}}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != Optimal || len(r.Points) != 1 || r.Error > 1e-9 {
				t.Errorf("%v with %d points and the error %g: want one point", r.Status, len(r.Points), r.Error)
			}
		})
	}
}
