package oracletest

import (
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

// TestLaws: a method that keeps all laws passes, and every law refuses what breaks it and names the method.
func TestLaws(t *testing.T) {
	var asked, before atomic.Int64
	var junk []float64
	filled := func(x []float64) []float64 { // what is short, nothing else
		if len(x) > 2 {
			panic("length")
		}
		return append(append([]float64(nil), x...), 0, 0)[:2]
	}
	for name, of := range map[string]struct {
		law    string // that is broken, all in the first
		change func(dst, x, y []float64)
	}{
		"nothing":            {"", sum},
		"another every time": {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[1] += float64(asked.Load()) }},
		"no number":          {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[1] = math.NaN() }},
		"infinite":           {"repeatable", func(dst, x, y []float64) { sum(dst, x, y); dst[0] = math.Inf(-1) }},
		"added":              {"overwritten", func(dst, x, y []float64) { d := dst[0]; sum(dst, x, y); dst[0] += d }},
		"left":               {"overwritten", func(dst, x, y []float64) { d := dst[1]; sum(dst, x, y); dst[1] = d }},
		"changed input":      {"untouched", func(dst, x, y []float64) { sum(dst, x, y); y[1]++ }},
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
		var calls []Call
		for _, k := range []float64{0, 1, 2} {
			calls = append(calls, Call{Name: "Sum", Size: 2, Inputs: [][]float64{{1, k}, {40 * k, 3}},
				Do: func(dst []float64, in [][]float64) {
					asked.Add(1)
					of.change(dst, in[0], in[1])
				}})
		}
		for law, try := range laws {
			if of.law != "" && law != of.law || law == "allocation" && raceEnabled {
				continue
			}
			asked.Store(0)
			err := try(calls)
			if (err != nil) != (law == of.law) {
				t.Errorf("%s: law %q says %v", name, law, err)
			}
			if err != nil && !strings.Contains(err.Error(), "Sum of [[1 ") && name != "panic later" {
				t.Errorf("%s: error %v: want the question", name, err)
			}
		}
	}
}
