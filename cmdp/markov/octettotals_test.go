package markov

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"
)

// drawWay draws a way to an end with two or three returns, on which each state may be left by up to four choices, which
// lead ahead as a rule, back now and then, and stay now and then. Some of them share their probabilities.
func drawWay(rng *rand.Rand, states int32, d int) *cmdp.Kernel {
	k := cmdp.NewKernel()
	for s := range states {
		for range 1 + rng.IntN(4) {
			near := func(most int32) int32 { return max(0, min(states, s-most+rng.Int32N(2*most+1))) }
			ahead, prob := min(states, s+1+rng.Int32N(3)), []float64{0.6, 0.1, 0.3}
			if rng.IntN(2) == 0 {
				prob = []float64{0.7, 0.3 * rng.Float64(), 0}
				prob[2] = 1 - prob[0] - prob[1]
			}
			returns := make([]float64, d)
			for j := range returns {
				returns[j] = rng.Float64()
			}
			if next := []int32{ahead, near(3), near(2)}; rng.IntN(4) > 0 {
				k.Append(next, prob, returns)
			} else {
				k.Append(next[:1], []float64{1}, returns)
			}
		}
		k.EndState()
	}
	k.EndState()
	return &k
}

// octetsOf is the program of a kernel, from its first state, in random directions.
func octetsOf(t *testing.T, rng *rand.Rand, k *cmdp.Kernel, d int) *OctetTotals {
	t.Helper()
	z := NewLeastTotal(layered(t, &Graph{Kernel: k}), 1, 1, new(Chain))
	z.LowerBound = 0
	out := z.Octets(d)
	if out == nil {
		t.Fatal("octets do not apply")
	}
	out.Start, out.Relative = []Start{{out.Quotient.Number[0], 0.75}, {out.Quotient.Number[1], 0.25}}, 1e-6
	for j := range out.Directions {
		for l := range out.Directions[j] {
			out.Directions[j][l] = rng.Float64()
		}
	}
	return out
}

// TestOctetTotals finds policies in eight directions at once, and then in directions between them, whose values are
// raised. Bounds are proved in rational arithmetic and compared with what the policies return by a plain method.
// Without vector instructions, and with several workers, all digits are the same.
func TestOctetTotals(t *testing.T) {
	t.Cleanup(threshold.Lower())
	defer func(v bool) { octetVectors = v }(octetVectors)
	had := octetVectors
	rng := rand.New(rand.NewPCG(26, 88))
	for trial := range 8 {
		d := 2 + trial%2
		k := drawWay(rng, 60+rng.Int32N(200), d)
		z, plain := octetsOf(t, rng, k, d), octetsOf(t, rng, k, d)
		plain.Workers = 1 + trial%3
		copy(plain.Directions, z.Directions)
		for _, proved := range []bool{false, true} {
			if proved { // half-way between the directions
				before := slices.Clone(z.Values)
				for l := range NumOctet {
					for j := range z.Directions {
						w := &z.Directions[j]
						plain.Directions[j][l] = 0.5 * (w[l] + w[(l+1)%NumOctet])
					}
					for s := range before {
						z.Values[s][l] = 0.5 * (before[s][l] + before[s][(l+1)%NumOctet]) * (1 - 0x1p-46)
					}
				}
				copy(z.Directions, plain.Directions)
				copy(plain.Values, z.Values)
			}
			octetVectors = had
			if err := z.Solve(t.Context(), proved); err != nil {
				t.Fatal(err)
			}
			octetVectors = false
			if err := plain.Solve(t.Context(), proved); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(z.Values, plain.Values) || !slices.Equal(z.Policy, plain.Policy) ||
				!slices.Equal(z.visited, plain.visited) || !slices.Equal(z.Returns, plain.Returns) ||
				z.Solved != plain.Solved {
				t.Fatal("vector instructions give other digits")
			}
			checkOctets(t, z)
		}
	}
}

// checkOctets wants all directions to be solved: no value above a backup, and returns that are those of the policies.
func checkOctets(t *testing.T, z *OctetTotals) {
	t.Helper()
	q, number := z.Quotient, func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for l, solved := range z.Solved {
		if !solved {
			t.Fatalf("direction %d is not solved: over %g, a policy at %g, bound %g", l, z.rows.over, z.reached, z.Bound)
		}
		if !(z.rest[l] <= 0.01*z.gap(l)) {
			t.Fatalf("direction %d: visits that are missing cost %g, of a gap of %g", l, z.rest[l], z.gap(l))
		}
		value := func(n int32) *big.Rat { return number(z.Values[n][l]) }
		gives := func(s, i int32) *big.Rat { // by how much what a choice gives is above the value
			x := new(big.Rat)
			for j, r := range q.Kernel.ReturnsOf(int(q.Choice[i]), len(z.Directions)) {
				x.Add(x, new(big.Rat).Mul(number(z.Directions[j][l]), number(r)))
			}
			next, prob := q.Row(i)
			for k, n := range next {
				x.Add(x, new(big.Rat).Mul(number(prob[k]), new(big.Rat).Sub(value(n), value(s))))
			}
			return x
		}
		togo := make([]float64, int(q.Rest+1)*len(z.Directions))
		for s := range q.Rest {
			for i := q.First[s]; i < q.First[s+1]; i++ {
				if gives(s, i).Sign() < 0 {
					t.Fatalf("the value of state %d in direction %d is above what choice %d gives", s, l, i)
				}
			}
		}
		for range 400 {
			for s := range q.Rest {
				c := q.First[s] + int32(z.Policy[s][l])
				next, prob := q.Row(c)
				for j, r := range q.Kernel.ReturnsOf(int(q.Choice[c]), len(z.Directions)) {
					x, out := r, 0.0
					for k, n := range next {
						if n != s {
							x += prob[k] * togo[int(n)*len(z.Directions)+j]
							out += prob[k]
						}
					}
					togo[int(s)*len(z.Directions)+j] = x / out
				}
			}
		}
		total := 0.0
		for j, w := range z.Directions {
			want := 0.0
			for _, st := range z.Start {
				want += st.Probability * togo[int(st.State)*len(z.Directions)+j]
			}
			if got := z.Returns[j][l]; math.Abs(got-want) > 1e-7*want {
				t.Fatalf("direction %d: return %d is %.12g: want %.12g", l, j, got, want)
			}
			total += w[l] * want
		}
		if gap := total - z.Bound[l]; !(gap >= -1e-12*total && gap <= 1.1e-6*total) {
			t.Fatalf("direction %d: a policy at %.12g, bound %.12g", l, total, z.Bound[l])
		}
	}
}

// TestOctetsDoNotApply: where something negative is returned or a choice stays for ever there is no such program.
func TestOctetsDoNotApply(t *testing.T) {
	t.Cleanup(threshold.Lower())
	for _, tc := range []struct {
		next []int32
		r    float64
		want bool
	}{{[]int32{2}, 1, true}, {[]int32{2}, -1, false}, {[]int32{1}, 1, false}, {[]int32{4}, 0, true}} {
		k := cmdp.NewKernel()
		for s := range int32(4) {
			k.Append([]int32{s + 1}, []float64{1}, []float64{1})
			if s == 1 {
				k.Append(tc.next, []float64{1}, []float64{tc.r})
			}
			k.EndState()
		}
		k.EndState()
		z := NewLeastTotal(layered(t, &Graph{Kernel: &k}), 1, 1, new(Chain))
		z.LowerBound = 0
		if got := z.Octets(1) != nil; got != tc.want {
			t.Errorf("%+v: octets apply: %v", tc, got)
		}
		z.LowerBound = math.Inf(-1)
		if z.Octets(1) != nil {
			t.Error("octets apply where values may be below 0")
		}
	}
}

// TestOctetsForgetPolicies: of directions in which visits do not come to their end nothing is told that was found
// before in others.
func TestOctetsForgetPolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 88))
	z := octetsOf(t, rng, drawWay(rng, 200, 2), 2)
	if err := z.Solve(t.Context(), false); err != nil || slices.Contains(z.Solved[:], false) {
		t.Fatalf("solved %v, %v", z.Solved, err)
	}
	for j := range z.Directions {
		for l := range z.Directions[j] {
			z.Directions[j][l] *= 2
		}
	}
	z.Relative = 0 // no visit may be missing
	if err := z.Solve(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for l, solved := range z.Solved {
		reached := 0.0
		for j := range z.Directions {
			reached += z.Directions[j][l] * z.Returns[j][l]
		}
		if rounding := 1e-9 * reached; solved && !(math.Abs(reached-z.Bound[l]) <= z.gap(l)+rounding) {
			t.Errorf("direction %d: solved, a policy returns %g and the bound is %g", l, reached, z.Bound[l])
		}
	}
}

// TestOctetsOfSlowVisits: of a walk that goes to and fro for so long that visits do not come to their end nothing is
// told, though its values are known: what the first visits return says nothing of one return and another.
func TestOctetsOfSlowVisits(t *testing.T) {
	const states = 200
	k, values := cmdp.NewKernel(), make([][2]float64, states+1)
	returns := func(s int32) [2]float64 { return [2]float64{1, float64(2 * s / states)} }
	for s := range int32(states) {
		r := returns(s)
		k.Append([]int32{max(0, s-1), s + 1}, []float64{0.5, 0.5}, r[:])
		k.EndState()
	}
	k.EndState()
	for j := range 2 {
		for s := int32(states) - 1; s >= 0; s-- { // from a state to the next one each of those before is visited twice
			for from := range s + 1 {
				values[s][j] += 2 * returns(from)[j]
			}
			values[s][j] += values[s+1][j]
		}
	}
	z := octetsOf(t, rand.New(rand.NewPCG(28, 88)), &k, 2)
	for s, v := range values[:states] {
		for l := range NumOctet {
			x := v[0]*z.Directions[0][l] + v[1]*z.Directions[1][l]
			z.Values[z.Quotient.Number[s]][l] = x * (1 - 1e-8)
		}
	}
	if err := z.Solve(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for l, solved := range z.Solved {
		for j := range 2 {
			want := 0.75*values[0][j] + 0.25*values[1][j]
			if got := z.Returns[j][l]; solved && math.Abs(got-want) > 1e-6*want {
				t.Errorf("direction %d: solved, return %d is %g: want %g", l, j, got, want)
			}
		}
	}
}
