package instance

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// checksum covers all numbers of a model and the bounds.
func checksum(p *problem.Problem) uint64 {
	m := p.Model
	hash := fnv.New64a()
	write := func(x uint64) {
		var buf [8]byte
		binary.LittleEndian.PutUint64(buf[:], x)
		hash.Write(buf[:])
	}
	for h := range m.Horizon() {
		if h > 0 && m.Stationary() {
			break
		}
		k := m.Kernel(h).Plain(m.Dim())
		for _, x := range k.First {
			write(uint64(x))
		}
		for i, x := range k.Next {
			write(uint64(x))
			write(math.Float64bits(k.Prob[i]))
		}
		for _, x := range k.Returns {
			write(math.Float64bits(x))
		}
	}
	for _, c := range p.Constraints {
		write(math.Float64bits(*c.AtMost))
	}
	return hash.Sum64()
}

// TestGarnetGolden pins the models of some seeds: published results name them.
func TestGarnetGolden(t *testing.T) {
	for spec, want := range map[string]uint64{
		"garnet": 0x5ca5082a63b83423,
		"garnet:S=10,A=2,H=3,d=2,b=3,stationary=false,seed=42": 0x190ef5294bd1c6e,
		"garnet:S=7,A=2,H=3,d=1,b=1,seed=18446744073709551615": 0xec382c1ff95ac87c,
	} {
		if got := checksum(mustNew(t, spec)); got != want {
			t.Errorf("%s has checksum %#x, want %#x", spec, got, want)
		}
	}
}

func TestGarnetSeeds(t *testing.T) {
	seen := make(map[uint64]string)
	for seed := range 50 {
		for _, kind := range []string{"true", "false"} {
			spec := fmt.Sprintf("garnet:S=6,A=2,H=3,b=2,stationary=%s,seed=%d", kind, seed)
			sum := checksum(mustNew(t, spec))
			if sum != checksum(mustNew(t, spec)) {
				t.Errorf("%s differs from itself", spec)
			}
			if other, ok := seen[sum]; ok {
				t.Errorf("%s equals %s", spec, other)
			}
			seen[sum] = spec
		}
	}
}

func TestGarnetShape(t *testing.T) {
	p := mustNew(t, "garnet:S=12,A=3,H=4,d=2,b=5,stationary=false")
	m := p.Model
	if m.States() != 12 || m.Choices() != 4*36 || m.Transitions() != 4*36*5 || m.Dim() != 2 || m.Stationary() {
		t.Errorf("%d states, %d choices, %d transitions", m.States(), m.Choices(), m.Transitions())
	}
	if checksumOf(m.Kernel(0).Plain(m.Dim())) == checksumOf(m.Kernel(1).Plain(m.Dim())) {
		t.Error("two steps have one kernel")
	}
	for h := range 4 {
		k := m.Kernel(h).Plain(m.Dim())
		for c := range 36 {
			row := k.Next[k.Offset[c]:k.Offset[c+1]]
			for i := 1; i < len(row); i++ {
				if row[i] <= row[i-1] {
					t.Fatalf("successors %v are not different and sorted", row)
				}
			}
		}
	}
}

func checksumOf(k *cmdp.Kernel) float64 {
	sum := 0.0
	for i, x := range k.Next {
		sum += float64(x) * k.Prob[i] * float64(i+1)
	}
	return sum
}

// TestGarnetIsUniform checks the laws of the draws by their averages.
func TestGarnetIsUniform(t *testing.T) {
	const S, A, b = 20, 50, 4
	m := mustNew(t, "garnet:S=20,A=50,b=4,H=1,d=2").Model
	k := m.Kernel(0).Plain(m.Dim())
	const choices = S * A
	chosen := make([]float64, S)
	first, square := 0.0, 0.0
	for e, s := range k.Next {
		chosen[s]++
		square += k.Prob[e] * k.Prob[e]
	}
	for s, n := range chosen {
		mean, dev := choices*b/float64(S), math.Sqrt(choices*b/float64(S)*(1-b/float64(S)))
		if math.Abs(n-mean) > 5*dev {
			t.Errorf("state %d is a successor %g times, expected %g ± %g", s, n, mean, dev)
		}
	}
	// The gaps are uniform on the simplex: E p² = 2/(b(b+1)).
	if got, want := square/(choices*b), 2.0/(b*(b+1)); math.Abs(got-want) > 0.01 {
		t.Errorf("mean square of probabilities %g, want %g", got, want)
	}
	for _, r := range k.Returns {
		first += r
		if r < 0 || r >= 1 {
			t.Fatalf("return %g", r)
		}
	}
	if mean := first / float64(len(k.Returns)); math.Abs(mean-0.5) > 0.04 {
		t.Errorf("returns average %g", mean)
	}
}

// TestGarnetBounds checks on many models that the documented mixture keeps all
// bounds, that a more cautious one leaves room in all, and that the best policy
// without bounds breaks some.
func TestGarnetBounds(t *testing.T) {
	for seed := range uint64(40) {
		for _, q := range []float64{0.05, 0.5, 0.95} {
			g := Garnet{States: 8, Actions: 3, Horizon: 4, Dim: 2 + int(seed%4), Branching: 3, Budget: q,
				Stationary: seed%2 == 0, Seed: seed}
			p, err := g.Problem()
			if err != nil {
				t.Fatal(err)
			}
			free, cautious := extreme(p.Model, goalDirection(t, p)), cautiousVector(t, p)
			_, _, limits := asked(t, p)
			broken := false
			for _, l := range limits {
				v, c := free[l.coordinate], cautious[l.coordinate]
				if mix := q*v + (1-q)*c; mix > l.bound+1e-12 {
					t.Errorf("%s: mixture has %g on %s, bound %g", p.Name, mix, p.Returns[l.coordinate], l.bound)
				}
				if mix := q/2*v + (1-q/2)*c; mix >= l.bound {
					t.Errorf("%s: no room on %s: %g, bound %g", p.Name, p.Returns[l.coordinate], mix, l.bound)
				}
				broken = broken || v > l.bound
			}
			if !broken {
				t.Errorf("%s: the policy without bounds keeps them", p.Name)
			}
		}
	}
}

// TestBestReturns compares the value that sets the bounds with an evaluation of the
// policy by forward occupancies.
func TestBestReturns(t *testing.T) {
	m := mustNew(t, "garnet:S=9,A=4,H=6,d=4,stationary=false,seed=5").Model
	for _, dir := range [][]float64{{1, 0, 0, 0}, {0, 1, 1, 1}, {1, -2, 0.5, 0}} {
		got, err := cmdp.BestReturns(t.Context(), m, dir)
		if err != nil {
			t.Fatal(err)
		}
		want := extreme(m, dir)
		for i := range got {
			if !near(got[i], want[i], 1e-12) {
				t.Errorf("direction %v: %v, evaluated %v", dir, got, want)
			}
		}
	}
}

// TestGarnetOfOnePolicy: with seed 7 of this small model one policy is best in
// every way, and the bound must leave room all the same.
func TestGarnetOfOnePolicy(t *testing.T) {
	p := mustNew(t, "garnet:S=10,A=2,H=5,d=2,b=1,seed=7")
	free := extreme(p.Model, []float64{1, 0})
	if cautious := extreme(p.Model, []float64{0, 1}); free[1] != cautious[1] {
		t.Fatalf("two policies: %v and %v", free, cautious)
	}
	if bound := *p.Constraints[0].AtMost; bound < free[1]+0.1 || bound >= 5 {
		t.Errorf("bound %g beside a value of %g", bound, free[1])
	}
}

func TestGarnetWithoutBounds(t *testing.T) {
	if p := mustNew(t, "garnet:d=1,S=5,b=2"); len(p.Constraints) != 0 || p.Goal.Minimize != "r0" {
		t.Errorf("constraints %v, goal %v", p.Constraints, p.Goal)
	}
	if p := mustNew(t, "garnet:S=1,b=1,H=2"); p.Model.States() != 1 {
		t.Error("a single state is not possible")
	}
}
