package oracletest

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
)

var laws = map[string]func([]Call) error{
	"repeatable": Repeatable, "overwritten": Overwritten, "untouched": Untouched,
	"aliasing": Aliasing, "lengths": Lengths, "concurrent": Concurrent,
	"allocation": AllocationFree,
}

// sum is a method that keeps all laws: dst = x + 2y.
func sum(dst, x, y []float64) {
	if len(dst) != 2 || len(x) != 2 || len(y) != 2 {
		panic("length")
	}
	for i := range dst {
		dst[i] = x[i] + 2*y[i]
	}
}

// TestLaws: a method that keeps all laws passes, and every law refuses what breaks it in one of the calls and names
// that one.
func TestLaws(t *testing.T) {
	var asked, before atomic.Int64
	var junk []float64
	filled := func(x []float64) []float64 { // what is short, nothing else
		if len(x) > 2 {
			panic("length")
		}
		return append(append([]float64(nil), x...), 0, 0)[:2]
	}
	kept := func(where func(held float64) bool) func(dst, x, y []float64) {
		return func(dst, x, y []float64) {
			held := dst[1]
			if sum(dst, x, y); where(held) {
				dst[1] = held
			}
		}
	}
	for name, of := range map[string]struct {
		law    string // that is broken
		change func(dst, x, y []float64)
	}{
		"nothing":            {"", sum},
		"another every time": {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[1] += float64(asked.Load()) }},
		"no number":          {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[1] = math.NaN() }},
		"infinite":           {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[0] = math.Inf(-1) }},
		"added":              {"overwritten", func(dst, x, y []float64) { d := dst[0]; sum(dst, x, y); dst[0] += d }},
		"NaN is kept":        {"overwritten", kept(math.IsNaN)},
		"infinity is kept":   {"overwritten", kept(func(v float64) bool { return math.IsInf(v, 0) })},
		"a number is kept":   {"overwritten", kept(func(v float64) bool { return v != 0 && v-v == 0 })},
		"changed input":      {"untouched", func(dst, x, y []float64) { sum(dst, x, y); y[1]++ }},
		"changed other":      {"untouched", func(dst, x, y []float64) { sum(dst, x, y); x[0]++ }},
		"read after written": {"aliasing", func(dst, x, y []float64) { sum(dst, x, y); dst[0] = x[0] + 2*y[0] }},
		"long destination":   {"lengths", func(dst, x, y []float64) { sum(dst[:2], x, y) }},
		"long input":         {"lengths", func(dst, x, y []float64) { sum(dst, x, y[:2]) }},
		"short destination":  {"lengths", func(dst, x, y []float64) { d := filled(dst); sum(d, x, y); copy(dst, d) }},
		"short input":        {"lengths", func(dst, x, y []float64) { sum(dst, filled(x), y) }},
		"the question before": {"concurrent", func(dst, x, y []float64) {
			sum(dst, x, y)
			dst[0] += float64(before.Swap(int64(y[0])))
		}},
		"panic later": {"concurrent", func(dst, x, y []float64) {
			if sum(dst, x, y); asked.Load() > 4 {
				panic("later")
			}
		}},
		"memory": {"allocation", func(dst, x, y []float64) {
			junk = append([]float64(nil), x...)
			sum(dst, junk, y)
		}},
	} {
		for at := range 3 { // the call that breaks it; what is asked at the same time does so in all
			var calls []Call
			for k := range 3 {
				change := of.change
				if k != at && of.law != "concurrent" {
					change = sum
				}
				calls = append(calls, Call{Name: "Sum", Size: 2,
					Inputs: [][]float64{{1, float64(k)}, {40*float64(k) + 1, 4}},
					Do: func(dst []float64, in [][]float64) {
						asked.Add(1)
						change(dst, in[0], in[1])
					}})
			}
			for law, try := range laws {
				if of.law != "" && law != of.law || law == "allocation" && raceEnabled {
					continue
				}
				asked.Store(0)
				err, want := try(calls), fmt.Sprintf("Sum of [[1 %d] [", at)
				if of.law == "concurrent" {
					want = "Sum of [[1 "
				}
				if (err != nil) != (law == of.law) {
					t.Errorf("%s in call %d: law %q says %v", name, at, law, err)
				}
				if err != nil && !strings.Contains(err.Error(), want) && name != "panic later" {
					t.Errorf("%s in call %d: error %v: want the question", name, at, err)
				}
			}
		}
	}
}

// TestConcurrentOnce: an answer that is wrong once, whoever gets it, is told. All six ask each question twice.
func TestConcurrentOnce(t *testing.T) {
	const asked = 3 + 6*2*3
	for wrong := range int64(asked + 5) {
		var count atomic.Int64
		var calls []Call
		for k := range 3 {
			calls = append(calls, Call{Name: "Sum", Size: 2, Inputs: [][]float64{{1, float64(k)}, {2, 3}}, Alias: -1,
				Do: func(dst []float64, in [][]float64) {
					sum(dst, in[0], in[1])
					if count.Add(1) == wrong {
						dst[0]++
					}
				}})
		}
		if err := Concurrent(calls); (err != nil) != (wrong >= 1 && wrong <= asked) {
			t.Errorf("answer %d of %d is wrong: %v", wrong, asked, err)
		}
	}
}

// TestNumbers: a method that answers with a number has no destination to be of the wrong length, and what counts as the
// same answer is up to the call.
func TestNumbers(t *testing.T) {
	var asked float64
	nearly := func(a, b []float64) bool { return math.Abs(a[0]-b[0]) < 1e-3 }
	for _, same := range []func(a, b []float64) bool{nil, nearly} {
		call := Call{Name: "Dot", Size: 1, Number: true, Alias: -1, Inputs: [][]float64{{1, 2}, {3, 4}}, Same: same,
			Do: func(dst []float64, in [][]float64) {
				if asked += 1e-9; len(in[0]) != 2 || len(in[1]) != 2 {
					panic("length")
				}
				dst[0] = in[0][0]*in[1][0] + in[0][1]*in[1][1] + asked
			}}
		for name, wrong := range map[string]bool{"lengths": false, "untouched": false, "aliasing": false,
			"repeatable": same == nil, "overwritten": same == nil} {
			if err := laws[name]([]Call{call}); (err != nil) != wrong {
				t.Errorf("law %q says %v", name, err)
			}
		}
	}
}
