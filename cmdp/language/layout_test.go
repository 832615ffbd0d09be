package language

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestStates adds random states and looks them up in a map beside, while the bits of an index grow.
func TestStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, variables := range [][]Variable{
		{{Name: "x", Type: Int, Low: -5, High: 40_000}},
		{{Name: "x", Type: Int, Low: math.MinInt64, High: math.MaxInt64}},
		{{Name: "x", Type: Int, Low: 7, High: 7}, {Name: "y", Type: Int, Low: -1, High: 1 << 62},
			{Name: "b", Type: Bool, High: 1}, {Name: "z", Type: Int, High: 31}},
	} {
		l := newLayout(variables)
		s := newStates(l)
		s.indexBits = 12 // so that it has to grow
		known := make(map[[3]int64]int)
		packed, values, again := make([]uint64, l.words), make([]int64, len(variables)), make([]int64, len(variables))
		for range 60_000 {
			var key [3]int64
			for i, v := range variables {
				values[i] = v.Low + int64(rng.Uint64N(uint64(v.High)-uint64(v.Low)|1))
				if rng.IntN(3) > 0 {
					values[i] = v.Low + (values[i]-v.Low)&127
				}
				values[i] = min(values[i], v.High)
				key[min(i, 2)] = key[min(i, 2)]*41 + values[i]
			}
			l.pack(packed, values)
			if l.unpack(again, packed); !slices.Equal(values, again) {
				t.Fatal(values, again)
			}
			want, old := known[key]
			if !old {
				want = len(known)
				known[key] = want
			}
			n, added := s.add(packed, hash(packed))
			if n != want || added == old {
				t.Fatalf("state %v is number %d, added %v: want %d", values, n, added, want)
			}
			if found, ok := s.Find(s.StateName(n)); !ok || found != n {
				t.Fatalf("%s is found as %d: want %d", s.StateName(n), found, n)
			}
		}
		if perState := float64(s.bytes())/float64(s.Len()) - 8*float64(l.words); s.Len() > 10_000 &&
			perState > 8+8*float64(l.words)*4096/float64(s.Len()) {
			t.Errorf("%d states take %.1f bytes each beside the packed ones", s.Len(), perState)
		}
		for i, v := range variables { // what is next to a range is in no state
			for _, x := range []int64{v.Low - 1, v.High + 1} {
				if x >= v.Low && x <= v.High || v.Type == Bool {
					continue // the range is that of all numbers
				}
				parts := strings.Split(s.StateName(0), ",")
				parts[i] = fmt.Sprintf("%s=%d", v.Name, x)
				if l.parse(packed, strings.Join(parts, ",")) {
					t.Errorf("%q is a state", parts)
				}
			}
		}
		for _, name := range []string{"", "x", "x=", "x=a", "x=99999999999999999999", "y=1", "x=1,x=1", "x=007"} {
			if _, ok := s.Find(name); ok {
				t.Errorf("%q is a state", name)
			}
		}
	}
}
