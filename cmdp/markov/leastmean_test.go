package markov

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// checkLeastMean compares with the recurrent classes of all deterministic policies, where these are few, and wants
// relative values that prove the mean. Rewards are multiplied by a scale first.
func checkLeastMean(t *testing.T, k *cmdp.Kernel, scale float64) (ends, slow int) {
	t.Helper()
	floats.Scale(scale, k.Returns)
	components := endsOf(&Graph{Kernel: k})
	want := make([]float64, components.Len())
	for i := range want {
		want[i] = math.Inf(1)
	}
	small := len(k.First) <= 7
	brute := deterministic
	if !small {
		brute = func(*cmdp.Kernel, func(*Rule)) {}
	}
	brute(k, func(st *Rule) {
		p, _ := transition(k, st)
		rec, gain := recurrent(k, p), denseGain(t, k, st)
		for s, in := range rec {
			if in {
				i := components.Of[s]
				want[i] = min(want[i], gain[s])
			}
		}
	})
	one := k.Returns
	defer func() { k.Returns = one }()
	k.Returns = nil // two, whose sum with weights is the one
	for c, r := range one {
		x := float64(c % 5)
		k.Returns = append(k.Returns, r-2*x, x)
	}
	z := NewLeastMean(k, components, new(Chain))
	known, remember := 0, func() {}
	for n, sign := range []float64{-1, 1, 3, -0.5} { // what is found for one is a guess for the next
		z.Aim, z.Workers = 0, 1+n%2
		switch n {
		case 1: // roughly
			z.Aim = 0.5 * scale
		case 2:
			known, remember = len(z.solved), z.Restart()
			if len(z.solved) > 0 {
				t.Fatalf("%d directions of %d are known after a restart", len(z.solved), known)
			}
		case 3: // of which means of policies are exact all the same
			z.Tolerance = 0.01
			known += len(z.solved)
			if remember(); len(z.solved) != known {
				t.Fatalf("%d directions are remembered: want %d", len(z.solved), known)
			}
		}
		least, err := z.Solve(t.Context(), []float64{sign, 2 * sign})
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			checkTwinOfMeans(t, z, scale)
		}
		aim := z.Aim
		if z.Rough && aim == 0 {
			t.Fatal("means are rough where none need be")
		}
		if !z.Rough {
			aim = 0
		}
		for i, x := range least {
			mean := z.Best[i].Mean
			wrong := sign > 0 && small && math.Abs(x-sign*want[i]) > 1e-9*scale+2*aim
			if wrong || math.Abs(x-sign*(mean[0]+2*mean[1])) > 1e-9*scale {
				t.Fatalf("end component %d: least mean %.15g, of its class %v: want %.15g", i, x, mean, sign*want[i])
			}
			checkClass(t, k, &z.Best[i])
			if z.Best[i].slow {
				slow++
			}
			for _, s := range components.Part(i) {
				for c := k.First[s]; c < k.First[s+1]; c++ {
					if !components.Inside[c] {
						continue
					}
					gain, size := sign*one[c]-x, scale+1e-3*math.Abs(z.Bias[s]) // the bias itself is rounded
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						y := k.Prob[e] * (z.Bias[k.Next[e]] - z.Bias[s])
						gain += y
						size += math.Abs(y)
					}
					if gain < -1e-11*size-2*aim-8*scale*z.Tolerance {
						t.Fatalf("end component %d: choice %d of state %d is better than the mean %g by %g", i, c, s, x,
							-gain)
					}
				}
			}
		}
	}
	return components.Len(), slow
}

// checkTwinOfMeans wants a twin to find what a program by itself finds in other directions, and to leave alone what the
// first one knows. That remembers the last of them once, or all that the twin knows in place of its own.
func checkTwinOfMeans(t *testing.T, z *LeastMean, scale float64) {
	t.Helper()
	directions := func(z *LeastMean) (all [][]float64) {
		for _, at := range z.solved {
			all = append(all, at.dir)
		}
		return all
	}
	held := func() []any {
		return []any{slices.Clone(z.Reward), slices.Clone(z.Bias), slices.Clone(z.Best), slices.Clone(z.greedy),
			slices.Clone(z.sizes), directions(z)}
	}
	before, twin := held(), z.Twin(new(Chain))
	twin.Aim = 0
	for _, dir := range [][]float64{{-1, 3}, {1, 1}, {-1, 3}} {
		least, err := twin.Solve(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewLeastMean(z.kernel, z.ends, new(Chain)).Solve(t.Context(), dir)
		if err != nil || !floats.EqualApprox(least, want, 1e-9*scale) {
			t.Fatalf("a twin finds the means %v, error %v: want %v", least, err, want)
		}
	}
	if after := held(); !reflect.DeepEqual(after, before) {
		t.Fatalf("a twin has changed %v to %v", before, after)
	}
	all, last := directions(z), len(twin.solved)-1
	for range 2 {
		if z.RememberLast(twin); last >= 0 {
			dir := twin.solved[last].dir
			all = append(slices.DeleteFunc(all, func(of []float64) bool { return slices.Equal(of, dir) }), dir)
		}
		if !reflect.DeepEqual(directions(z), all) {
			t.Fatalf("knows the directions %v: want %v", directions(z), all)
		}
	}
	if z.Remember(twin); !reflect.DeepEqual(directions(z), directions(twin)) {
		t.Fatalf("knows the directions %v: want %v", directions(z), directions(twin))
	}
}

// checkClass compares the means of two returns in a class with those of a dense system.
func checkClass(t *testing.T, k *cmdp.Kernel, class *Class) {
	t.Helper()
	st, states := &Rule{Actions: NewActions(len(k.First)-1, 256)}, make([]int, len(class.States))
	for j, s := range class.States {
		st.Actions.Set(int(s), int(class.Choices[j]-k.First[s]))
		states[j] = int(s)
	}
	p, _ := transition(k, st)
	mean := make([]float64, 2)
	for j, share := range denseShares(t, p, states) {
		for i, r := range k.ReturnsOf(int(class.Choices[j]), 2) {
			mean[i] += share * r
		}
	}
	if !near(mean[0], class.Mean[0], 1e-9) || !near(mean[1], class.Mean[1], 1e-9) {
		t.Fatalf("class %v has means %v: want %v", class.States, class.Mean, mean)
	}
}

// drawTangle draws a model each choice of which may lead to four states anywhere: classes are large, and fill up.
func drawTangle(rng *rand.Rand, states int) *cmdp.Kernel {
	k := cmdp.NewKernel()
	for range states {
		for range 2 {
			next, prob := make([]int32, 4), make([]float64, 4)
			for j := range next {
				next[j], prob[j] = rng.Int32N(int32(states)), 0.1+rng.Float64()
			}
			floats.Scale(1/floats.Sum(prob), prob)
			k.Append(next, prob, []float64{float64(rng.IntN(9)-4) / 2})
		}
		k.EndState()
	}
	return k.Plain(1)
}

// TestLeastMean compares with all deterministic policies of small models.
func TestLeastMean(t *testing.T) {
	for _, large := range []bool{false, true} { // by the methods for large models too
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng := rand.New(rand.NewPCG(22, 6))
		ends, slow := 0, 0
		for trial := range 500 {
			states := 6
			if trial%5 == 0 { // their proof and the chain of the class are enough
				states = 24
			}
			k := drawModel(rng, 1+rng.IntN(states))
			if trial%25 == 0 {
				k = drawTangle(rng, 10+rng.IntN(30))
			}
			e, s := checkLeastMean(t, k, []float64{1, 1e-3, 1e3}[trial%3])
			ends, slow = ends+e, slow+s
		}
		if ends < 200 || slow < 50 {
			t.Errorf("%d end components, and relative value iteration was slow %d times: want many of both", ends, slow)
		}
	}
}

// kernelOf returns a kernel in which each state has one choice, with one return, which leads to the given
// states with the given probabilities.
func kernelOf(returns []float64, next [][]int32, prob [][]float64) *cmdp.Kernel {
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}, Returns: returns}
	for s := range next {
		k.Next, k.Prob = append(k.Next, next[s]...), append(k.Prob, prob[s]...)
		k.Offset = append(k.Offset, len(k.Next))
		k.First = append(k.First, int32(s+1))
	}
	return k
}

// TestSolvedGoesBack wants a policy that was solved back as it was, with its relative values and its class, as
// often as later ones cannot be solved.
func TestSolvedGoesBack(t *testing.T) {
	k := drawModel(rand.New(rand.NewPCG(1, 1)), 6)
	p := NewLeastMean(k, endsOf(&Graph{Kernel: k}), new(Chain))
	states, best := []int32{0, 1, 2, 3, 4, 5}, Class{Mean: []float64{2}, slow: true}
	choices := make([]int32, len(states))
	for j, s := range states {
		choices[j], p.Bias[s] = 10*s, float64(s)
	}
	var last solvedPolicy
	last.keep(p, states, choices, &best)
	for range 2 {
		for j, s := range states {
			choices[j], p.Bias[s] = 10*s+1, -1
		}
		best = Class{Mean: []float64{1}}
		last.restore(p, states, choices, &best)
		for j, s := range states {
			if choices[j] != 10*s || p.Bias[s] != float64(s) {
				t.Errorf("state %d: choice %d, relative value %g: want those of before", s, choices[j], p.Bias[s])
			}
		}
		if best.Mean[0] != 2 || !best.slow {
			t.Errorf("class %+v: want the one of before", best)
		}
	}
}

// TestClassBeginsWhereItIsMost wants the first state of a class to be one that is visited often: one state is
// visited once in about a million steps, the two others in turn.
func TestClassBeginsWhereItIsMost(t *testing.T) {
	for rare := range int32(3) {
		one, other := (rare+1)%3, (rare+2)%3
		next, prob := make([][]int32, 3), make([][]float64, 3)
		next[rare], prob[rare] = []int32{one}, []float64{1}
		next[one], prob[one] = []int32{rare, other}, []float64{1e-6, 1 - 1e-6}
		next[other], prob[other] = []int32{one}, []float64{1}
		k := kernelOf([]float64{0, 1, 2}, next, prob)
		p := NewLeastMean(k, endsOf(&Graph{Kernel: k}), new(Chain))
		found, err := p.recurrentClass(t.Context(), []int32{0, 1, 2}, []int32{0, 1, 2}, []float64{0})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.States) != 3 || found.States[0] == rare || found.Choices[0] != found.States[0] {
			t.Errorf("class %v with choices %v: want all three states, and not %d first", found.States, found.Choices,
				rare)
		}
	}
}

// drawSnake draws a path through all states in any order, on which each leads to the next one or back, or, so that no
// step is sure, nowhere.
func drawSnake(rng *rand.Rand, states int) *cmdp.Kernel {
	order, at, k := rng.Perm(states), make([]int, states), cmdp.NewKernel()
	for i, s := range order {
		at[s] = i
	}
	for s := range states {
		for _, to := range []int{max(0, at[s]-1), min(states-1, at[s]+1)} {
			k.Append([]int32{int32(order[to]), int32(s)}, []float64{0.5, 0.5}, []float64{float64(rng.IntN(5))})
		}
		k.EndState()
	}
	return k.Plain(1)
}

// TestLeadTo wants the choices of an end component to lead to targets from everywhere and to stay, and those to be kept
// by which a state leads there before.
func TestLeadTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 12))
	changed, kept := 0, 0
	for trial := range 2000 {
		k := drawModel(rng, 2+rng.IntN(8))
		if trial%50 == 0 {
			k = drawSnake(rng, 30)
		}
		ends := endsOf(&Graph{Kernel: k})
		if ends.Len() == 0 {
			continue
		}
		p, states := NewLeastMean(k, ends, new(Chain)), ends.Part(trial%ends.Len())
		choices, at := make([]int32, len(states)), make(map[int32]int)
		for j, s := range states {
			at[s], choices[j] = j, -1
			for c := k.First[s]; c < k.First[s+1]; c++ {
				if ends.Inside[c] && (choices[j] < 0 || rng.IntN(2) == 0) {
					choices[j] = c
				}
			}
		}
		var targets []int32
		for len(targets) == 0 || rng.IntN(3) == 0 {
			targets = append(targets, states[rng.IntN(len(states))])
		}
		leading := func() (leads []bool) {
			r := (&Graph{Kernel: k}).reach(func(s, c int32) bool { j, ok := at[s]; return ok && choices[j] == c })
			for _, s := range states {
				leads = append(leads, slices.ContainsFunc(targets, func(to int32) bool { return r[s][to] }))
			}
			return leads
		}
		before, led := slices.Clone(choices), leading()
		p.LeadTo(targets, states, choices)
		leads := leading()
		for j, s := range states {
			c := choices[j]
			if c < k.First[s] || c >= k.First[s+1] || !ends.Inside[c] || !leads[j] || led[j] && c != before[j] {
				t.Fatalf("choices %v, before %v, of states %v: want all to lead to %v, and state %d: %t", choices, before,
					states, targets, s, led[j])
			}
			if c != before[j] {
				changed++
			} else {
				kept++
			}
		}
	}
	if changed < 100 || kept < 100 {
		t.Errorf("%d choices changed and %d were kept: want many of both", changed, kept)
	}
}

// TestStatesBefore wants each state to be listed once before every other one that it may lead to inside an end.
func TestStatesBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 11))
	for range 200 {
		k := drawModel(rng, 2+rng.IntN(8))
		p := NewLeastMean(k, endsOf(&Graph{Kernel: k}), new(Chain))
		want := make([][]int32, len(p.Bias))
		for s := range int32(len(p.Bias)) {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				next, prob := k.Row(int(c))
				for j, n := range next {
					if p.ends.Inside[c] && prob[j] > 0 && n != s && !slices.Contains(want[n], s) {
						want[n] = append(want[n], s)
					}
				}
			}
		}
		for s, before := range want {
			if got := p.statesBefore().of(int32(s)); !slices.Equal(got, before) {
				t.Fatalf("before state %d: %v, want %v", s, got, before)
			}
		}
	}
}

// TestEvaluateClass compares the class and the relative values of a policy with the class that is found by itself.
// Where some state does not lead to the one that is to be 0, the bias is left alone, and the blocks of the policy tell
// what leads to the class.
func TestEvaluateClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	valued, refused := 0, 0
	for trial := range 2000 {
		k := drawModel(rng, 2+rng.IntN(6))
		ends := endsOf(&Graph{Kernel: k})
		if ends.Len() == 0 {
			continue
		}
		p := NewLeastMean(k, ends, new(Chain))
		p.scalarize([]float64{1})
		states := ends.Part(0)
		choices := make([]int32, len(states))
		for j, s := range states {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				if ends.Inside[c] && (choices[j] == 0 || rng.IntN(2) == 0) {
					choices[j] = c
				}
			}
		}
		p.numberStates(states)
		zero := states[rng.IntN(len(states))]
		restore := func() {}
		if trial%2 == 1 {
			restore = threshold.Lower()
		}
		closed, err := p.closedSets(t.Context(), states, choices)
		if err != nil {
			t.Fatal(err)
		}
		// One whose choice is not the policy's, or a class of that, maybe not the best.
		from := &Class{States: []int32{zero}, Choices: []int32{-1}, approximate: true}
		if rng.IntN(2) == 0 {
			from, _ = p.leastClass(t.Context(), closed[rng.IntN(len(closed)):], []float64{1})
			zero = from.States[0]
		}
		bias := slices.Clone(p.Bias)
		found, evaluated, err := p.evaluateClass(t.Context(), states, choices, from, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		if !evaluated {
			checkLeadOn(t, p, states, choices, found)
		}
		restore()
		want, err := p.recurrentClass(t.Context(), states, choices, []float64{1})
		if err != nil || len(found.States) != len(want.States) || math.Abs(found.Mean[0]-want.Mean[0]) > 1e-10 {
			t.Fatalf("class %v of mean %g: want %v and %g", found.States, found.Mean[0], want.States, want.Mean[0])
		}
		if one := len(closed) == 1 && slices.Contains(want.States, zero); one != evaluated {
			t.Fatalf("zero %d in the only class %v: %t, evaluated %t", zero, want.States, one, evaluated)
		}
		checkValues := func(zero int32) {
			for j, s := range states {
				next, prob := k.Row(int(choices[j]))
				left, size := p.Reward[choices[j]]-found.Mean[0], 1.0
				for i, n := range next {
					left += prob[i] * (p.Bias[n] - p.Bias[s])
					size += math.Abs(p.Bias[n]) + math.Abs(p.Bias[s])
				}
				// In the equation of zero the rounding of the mean is divided by its share of the time.
				if s != zero && math.Abs(left) > 1e-10*size || p.Bias[zero] != 0 {
					t.Errorf("state %d: its equation misses 0 by %g, bias at %d is %g", s, left, zero, p.Bias[zero])
				}
			}
		}
		if !evaluated {
			refused++
			if !slices.Equal(p.Bias, bias) {
				t.Fatalf("bias %v of a policy that was not evaluated: want %v", p.Bias, bias)
			}
			p.leadTo(found, states, choices, false) // a policy that is led is evaluated in another order
			zero := found.States[0]
			if err := p.evaluate(t.Context(), states, choices, zero, found.Mean[0]); err != nil {
				t.Fatal(err)
			}
			checkValues(zero)
			continue
		}
		valued++
		checkValues(zero)
		if again, _, err := p.evaluateClass(t.Context(), states, choices, found, []float64{1}); again != found {
			t.Fatalf("the class %v, which is known, is found as %v, %v", found.States, again, err)
		}
		checkValues(found.States[0])
	}
	if valued < 300 || refused < 100 {
		t.Errorf("%d evaluated and %d refused: want many of each", valued, refused)
	}
}

// checkLeadOn wants leadOn to do as LeadTo for a policy whose blocks are known.
func checkLeadOn(t *testing.T, p *LeastMean, states, choices []int32, class *Class) {
	t.Helper()
	led, want := slices.Clone(choices), slices.Clone(choices)
	p.leadOn(class.States, states, led)
	p.LeadTo(class.States, states, want)
	if !slices.Equal(led, want) {
		t.Errorf("choices %v lead to %v by %v: want %v", choices, class.States, led, want)
	}
}
