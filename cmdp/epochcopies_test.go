package cmdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTwoCopies compares the rows of two copies with those of the epochs: what leads to one of some pairs goes over to
// the second copy, where everything stays, and the last return is the chance of that. Epochs of a class stay in
// themselves by the same letters.
func TestTwoCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 44))
	goes, missing := 0, 0
	for trial := range 2000 {
		e := drawEpochs(t, rng)
		if trial%3 == 0 {
			broken := make([]bool, e.Len())
			broken[rng.IntN(e.Len())] = true
			if losing, err := e.Enforce(broken); err != nil || losing >= 0 {
				continue
			}
		}
		m, err := e.Model()
		if err != nil {
			t.Fatal(err)
		}
		target, in := rng.IntN(e.Len()), make([]bool, e.Base.States())
		for s := range in {
			in[s] = rng.IntN(2) == 0
		}
		two := e.TwoCopies(target, in)
		copies, err := two.Model()
		if err != nil {
			t.Fatal(err)
		}
		staying := make(map[int32][]bool)
		for epoch, class := range two.Class {
			var stay []bool
			for letter := range int32(two.Letters) {
				stay = append(stay, two.After(epoch, letter) == epoch)
			}
			if staying[class] == nil {
				staying[class] = stay
			}
			if !slices.Equal(stay, staying[class]) {
				t.Errorf("trial %d: epochs of class %d stay by letters %v and %v", trial, class, staying[class], stay)
			}
		}
		rows, own := copies.Rows(0), m.Rows(0)
		for pair := range copies.States() {
			if !two.ComesUp(pair) {
				continue
			}
			copy, of := pair/m.States(), pair%m.States()
			first, end := rows.Choices(pair)
			from, to := own.Choices(of)
			if end-first != to-from {
				t.Fatalf("trial %d: pair %d has %d choices: want %d", trial, pair, end-first, to-from)
			}
			for a := range end - first {
				next, prob := own.Row(from + a)
				if len(next) == 0 {
					missing++
				}
				want, comes := slices.Clone(next), 0.0
				for j, after := range want {
					epoch, s := e.Split(int(after))
					if copy == 0 && epoch == target && in[s] {
						comes += prob[j]
						goes++
					}
					if copy == 1 || epoch == target && in[s] {
						want[j] += int32(m.States())
					}
				}
				returns := append(slices.Clone(own.Returns(from+a)), comes)
				got, share := rows.Row(first + a)
				same := slices.Equal(got, want) && slices.Equal(share, prob)
				if last := rows.Returns(first + a); len(next) > 0 && (!same || !slices.EqualFunc(last, returns,
					func(x, y float64) bool { return math.Abs(x-y) <= 1e-15 })) {
					t.Fatalf("trial %d: pair %d, action %d leads to %v by %v and returns %v: want %v by %v and %v", trial,
						pair, a, got, share, last, want, prob, returns)
				}
			}
		}
	}
	if goes < 1000 || missing < 50 {
		t.Errorf("%d transitions lead to the second copy, and %d choices are not offered: want more", goes, missing)
	}
}
