package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"
)

// TestFront checks trade-off curves of random models, within random bounds, against
// weighted problems: no weight may reach below the outer set, and the points reach
// its optimum up to the certified error. A planner that has made a curve makes it again with less work, and plans
// with less work too.
func TestFront(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	done, most, first, again := 0, 0, 0, 0
	for trial := range 40 {
		p := 1 + trial%4
		sh := shapeOf{states: 2 + rng.IntN(3), actions: 3, horizon: 1 + rng.IntN(4), dim: p + rng.IntN(2),
			successors: 3, integer: trial%5 == 0, rests: trial%3 == 0}
		m := randomModel(t, rng, sh)
		opts := exact.FrontOptions{Error: 1e-3}
		opts.Early = func(*exact.Result) { t.Error("an answer of one direction is told") }
		for k := range p {
			c := make([]float64, sh.dim)
			c[k] = 1 - 2*float64(rng.IntN(2))
			opts.Over = append(opts.Over, c)
		}
		var target geometry.Compact
		if trial%2 == 0 {
			bounds := make([]float64, sh.dim)
			for i := range bounds {
				bounds[i] = math.Inf(1)
			}
			bounds[sh.dim-1] = randomReturns(m, rng)[sh.dim-1]
			target = atMost(t, box(t, m), bounds)
		}
		planner, err := exact.NewPlanner(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		opts.Progress = func(int, float64, float64) { told++ }
		f, err := planner.Front(t.Context(), cmdp.Task{Target: target}, opts)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		opts.Progress = nil
		if target != nil && f.Iterations != told || f.Iterations < len(f.Points) {
			t.Errorf("trial %d: %d value iterations for %d points, and %d were told of", trial, f.Iterations,
				len(f.Points), told)
		}
		if f.Status == exact.Infeasible {
			continue
		}
		done++
		most = max(most, len(f.Points))
		if f.Status != exact.Optimal || f.Relative > 1e-3 {
			t.Errorf("trial %d: %v, error %g with %d points", trial, f.Status, f.Relative, len(f.Points))
		}
		checkFront(t, rng, trial, m, target, opts, f)
		task := cmdp.Task{Cost: linear(t, box(t, m), opts.Over[0]), Target: target}
		alone, err := exact.Solve(t.Context(), m, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := planner.Solve(t.Context(), task, exact.Options{})
		if err != nil || math.Abs(r.Objective-alone.Objective) > 1e-8 || r.Iterations > max(1, alone.Iterations/2) {
			t.Errorf("trial %d: %v, objective %g after %d value iterations: alone %g after %d", trial, err, r.Objective,
				r.Iterations, alone.Objective, alone.Iterations)
		}
		g, err := planner.Front(t.Context(), cmdp.Task{Target: target}, opts)
		if err != nil {
			t.Fatal(err)
		}
		checkFront(t, rng, trial, m, target, opts, g)
		first, again = first+f.Iterations, again+g.Iterations
	}
	if again >= first {
		t.Errorf("%d value iterations for curves that were there, %d at first", again, first)
	}
	if done < 25 {
		t.Errorf("only %d curves", done)
	}
	t.Logf("%d curves, at most %d points", done, most)
}

func checkFront(t *testing.T, rng *rand.Rand, trial int, m *cmdp.Model, target geometry.Compact,
	opts exact.FrontOptions, f *exact.FrontResult) {
	t.Helper()
	p := len(opts.Over)
	for range 8 {
		w, c := make([]float64, p), make([]float64, m.Dim())
		for k := range w {
			w[k] = rng.ExpFloat64()
			for i := range c {
				c[i] += w[k] * opts.Over[k][i]
			}
		}
		r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, box(t, m), c), Target: target},
			exact.Options{})
		if err != nil || r.Status != exact.Optimal {
			t.Fatalf("trial %d: %v %+v", trial, err, r)
		}
		inner, outer, length := math.Inf(1), math.Inf(1), 0.0
		for _, z := range f.Points {
			inner = min(inner, product(w, z.Objectives))
		}
		for _, z := range f.Corners {
			outer = min(outer, product(w, z))
		}
		for _, x := range w {
			length = math.Hypot(length, x)
		}
		if slack := 1e-8; outer > r.Objective+slack || inner < r.Objective-slack || inner-outer > f.Error*length+slack {
			t.Errorf("trial %d: weights %v: outer %.10g, optimum %.10g, inner %.10g, error %g", trial, w, outer,
				r.Objective, inner, f.Error)
		}
	}
	for _, z := range f.Points {
		if target != nil && !geometry.Contains(target, z.Returns, 1e-9) {
			t.Errorf("trial %d: point %v misses the target", trial, z.Returns)
		}
	}
}

func product(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestFrontOfCircle counts the directions of a smooth curve, a quarter of a circle whose second return has another
// unit. Parts of equal angles δ have the error δ²/4 at the ends, so that 25 of them suffice; each halved as often as it
// takes, there are 32.
func TestFrontOfCircle(t *testing.T) {
	k := cmdp.NewKernel()
	const actions = 3000
	for a := range actions {
		sin, cos := math.Sincos(math.Pi / 2 * float64(a) / (actions - 1))
		k.Append([]int32{0}, []float64{1}, []float64{1 - sin, 100 * (1 - cos)})
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 1, Discount: 1, Dim: 2, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	opts := exact.FrontOptions{Over: [][]float64{{1, 0}, {0, 1}}, Error: 1e-3}
	f, err := exact.Front(t.Context(), m, cmdp.Task{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if f.Status != exact.Optimal || f.Relative > 1e-3 || f.Iterations > 28 {
		t.Errorf("%v, error %g after %d directions: want at most 28", f.Status, f.Relative, f.Iterations)
	}
}

// TestFrontExact finds the whole curve of the cliff, where one unit of cost buys one
// of reward.
func TestFrontExact(t *testing.T) {
	m, _ := known(t, "cliff:rows=3,cols=4,H=20", math.Inf(1))
	f, err := exact.Front(context.Background(), m, cmdp.Task{},
		exact.FrontOptions{Over: [][]float64{{-1, 0}, {0, 1}}, Error: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	ends := map[[2]float64]bool{}
	for _, p := range f.Points {
		ends[[2]float64{p.Returns[0], p.Returns[1]}] = true
		if math.Abs(p.Returns[0]-p.Returns[1]+7) > 1e-9 {
			t.Errorf("point %v is not on the line from (-7, 0) to (-5, 2)", p.Returns)
		}
	}
	if !ends[[2]float64{-5, 2}] || !ends[[2]float64{-7, 0}] || f.Error > 1e-8 {
		t.Errorf("points %v with error %g: want (-7, 0) and (-5, 2)", ends, f.Error)
	}

	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	opts := exact.FrontOptions{Over: [][]float64{{-1, 0}, {0, 1}}, Each: func(exact.FrontPoint) { told++; cancel() }}
	if _, err := exact.Front(ctx, m, cmdp.Task{}, opts); told != 1 || err == nil {
		t.Errorf("%d points and %v: want the first before the second is sought", told, err)
	}
}

// TestFrontOfFewPoints: a front solves no more weighted problems than it may, but for those of the objectives alone,
// and says of every point whether its policy draws and what that returns, be it without end. Its corners are vertices
// of its half-spaces.
func TestFrontOfFewPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 33))
	cut, drawn, sure, infinite := 0, 0, 0, 0
	for trial := range 600 {
		p := drawEndless(t, rng, trial%4 == 0)
		if trial%4 == 2 {
			p.Constraints, p.Target = nil, nil
		}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		m, d := p.Model, p.Model.Dim()
		if trial%4 == 1 {
			d = 3 + trial/4%2
			m = randomModel(t, rng, shapeOf{states: 3, actions: 4, horizon: 2, dim: d, successors: 2,
				integer: trial%3 == 0})
			task = cmdp.Task{}
		}
		task.Cost = nil
		points, called := 1+rng.IntN(5), 0
		opts := exact.FrontOptions{Points: points, Error: 1e-7, Each: func(exact.FrontPoint) { called++ }}
		skip := rng.IntN(3) // a return that may matter to nothing
		for i := range d {
			if i != skip || d == 2 {
				opts.Over = append(opts.Over, scaledAxis(d, i, float64(1-2*rng.IntN(2))))
			}
		}
		if d > 2 && rng.IntN(3) == 0 {
			opts.Over = append(opts.Over, scaledAxis(d, skip, float64(1-2*rng.IntN(2))))
			points += 20
			opts.Points = points
		}
		f, err := exact.Front(t.Context(), m, task, opts)
		if err != nil {
			continue // some total grows for ever
		}
		if fault := cornersFault(f); fault != "" {
			t.Errorf("trial %d: %s", trial, fault)
		}
		if called > max(points, len(opts.Over)) || len(f.Points) > called {
			t.Errorf("trial %d: %d points, %d problems: want at most %d", trial, len(f.Points), called, points)
		}
		if f.Status == exact.Undecided {
			cut++
		}
		for _, x := range f.Points {
			mixed := x.Mixed
			if err := x.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			draws := len(x.Mixture) > 0 || x.Policy.Randomized() > 0
			if draws && !mixed {
				t.Errorf("trial %d: a point is no mixture, and its policy draws: %d policies", trial, len(x.Mixture))
			}
			if draws {
				drawn++
			} else {
				sure++
			}
			v := pointReturns(t, m, &x)
			for i, y := range v {
				if math.IsInf(y, 0) {
					infinite++
				}
				if r := x.Returns[i]; y != r && !(math.Abs(y-r) < 1e-6*(1+math.Abs(r))) && !math.IsNaN(y) {
					t.Errorf("trial %d: a point returns %v: its policy %v", trial, x.Returns, v)
				}
			}
			for k, c := range opts.Over {
				y, want := x.Objectives[k], endlessProduct(c, x.Returns)
				if y != want && !(math.Abs(y-want) < 1e-9*(1+math.Abs(y))) {
					t.Errorf("trial %d: objectives %v of the returns %v", trial, x.Objectives, x.Returns)
				}
			}
		}
	}
	if cut < 5 || drawn < 5 || sure < 5 || infinite < 5 {
		t.Errorf("%d curves are cut, %d points drawn, %d not, %d returns infinite: want more", cut, drawn, sure, infinite)
	}
}

// endlessProduct is the product of two vectors, in which 0·∞ is 0.
func endlessProduct(c, v []float64) (sum float64) {
	for i, x := range c {
		if x != 0 {
			sum += x * v[i]
		}
	}
	return sum
}

// pointReturns evaluates the policy of a point, or those of which one is drawn.
func pointReturns(t *testing.T, m *cmdp.Model, x *exact.FrontPoint) []float64 {
	t.Helper()
	mixture := x.Mixture
	if x.Policy != nil {
		mixture = []exact.WeightedPolicy{{Weight: 1, Policy: x.Policy}}
	}
	if x.Product != nil {
		m = x.Product.Model
	}
	total := make([]float64, m.Dim())
	for _, c := range mixture {
		v := make([]float64, m.Dim())
		if m.Horizon() > 0 {
			cmdp.NewEvaluator(m).Returns(v, c.Policy)
		} else {
			e, err := exact.Evaluate(t.Context(), m, c.Policy)
			if err != nil {
				t.Fatal(err)
			}
			v = e.Returns
		}
		for i, y := range v {
			total[i] += c.Weight * y
		}
	}
	return total
}

// cornersFault returns what is wrong with the corners of a curve, "" for nothing: none is beyond a half-space, and at
// each of them the half-spaces that it lies on have as many independent normals as there are objectives.
func cornersFault(f *exact.FrontResult) string {
	extent := 0.0
	for _, r := range f.Outer {
		extent = max(extent, math.Abs(r.Offset))
	}
	for _, y := range f.Corners {
		var normals [][]float64 // orthogonal ones
		for _, r := range f.Outer {
			size := extent
			for k, x := range r.Normal {
				size += math.Abs(x * y[k])
			}
			room := r.Offset - product(r.Normal, y)
			if room < -1e-9*size {
				return fmt.Sprintf("corner %v is %g beyond a half-space", y, -room)
			}
			if room > 1e-9*size {
				continue
			}
			n := slices.Clone(r.Normal)
			for _, o := range normals {
				share := product(n, o) / product(o, o)
				for k := range n {
					n[k] -= share * o[k]
				}
			}
			if length(n) > 1e-7*length(r.Normal) {
				normals = append(normals, n)
			}
		}
		if len(normals) < len(y) {
			return fmt.Sprintf("corner %v lies on %d half-spaces, of %v", y, len(normals), f.Outer)
		}
	}
	return ""
}
