package prism_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

// TestClockRanges: a clock counts to one above the largest number that it is compared with, in whatever way that
// follows from variables.
func TestClockRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 1))
	for range 120 {
		var draw func(of []int, depth int) term // each variable once
		draw = func(of []int, depth int) term {
			if depth == 0 || len(of) < 2 {
				if i := of[0]; rng.IntN(4) > 0 {
					return plainTerm(fmt.Sprintf("y%d", i), func(x []int) int { return x[i] })
				}
				c := rng.IntN(5)
				return plainTerm(fmt.Sprint(c), func([]int) int { return c })
			}
			a, b := draw(of[:len(of)/2], depth-1), draw(of[len(of)/2:], depth-1)
			switch rng.IntN(5) {
			case 0:
				return joined("(%s+%s)", "+", a, b, func(a, b int) int { return a + b })
			case 1, 2:
				return joined("(%s-%s)", "-", a, b, func(a, b int) int { return a - b })
			case 3:
				return joined("min(%s,%s)", "min", a, b, func(a, b int) int { return min(a, b) })
			}
			return joined("max(%s,%s)", "max", a, b, func(a, b int) int { return max(a, b) })
		}
		text, most, at := "pta module m x : clock; z : bool; ", 0, make([]int, 5)
		low, high := make([]int, 4), make([]int, 4)
		for i := range low {
			low[i] = rng.IntN(5) - 2
			high[i] = low[i] + 1 + rng.IntN(4)
			text += fmt.Sprintf("y%d : [%d..%d]; ", i, low[i], high[i])
		}
		bound := draw([]int{0, 1, 2, 3}, 2)
		switch rng.IntN(3) {
		case 0:
			a, b := draw([]int{0, 1}, 2), draw([]int{2, 3}, 2)
			bound = term{"(z?" + a.text + ":" + b.text + ")", "", func(x []int) int {
				return []int{b.of(x), a.of(x)}[x[4]]
			}}
		case 1:
			bound.text = "0.0+" + bound.text
		}
		for k := range 32 { // what is monotone is greatest at a corner
			for i := range low {
				at[i] = []int{low[i], high[i]}[k>>i&1]
			}
			at[4] = k >> 4
			most = max(most, bound.of(at))
		}
		form := []string{"%s", "%s", "%s", "(%s)*2", "(%s)+0.5", "max((%s)*2,1)", "(%s)+3000000000", "(%s)/1"}[rng.IntN(8)]
		text += "[] x>=" + fmt.Sprintf(form, bound.text) + " -> true; endmodule"
		p, err := prism.Read("m.prism", text, nil)
		if form != "%s" {
			if err == nil || !strings.Contains(err.Error(), "no bound of the number that a clock is compared with is known") {
				t.Fatalf("%v\n%s", err, text)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		i := slices.IndexFunc(p.Variables, func(v language.Variable) bool { return v.Name == "x" })
		if got := p.Variables[i].High; got != int64(most)+1 {
			t.Errorf("the clock counts to %d: want %d\n%s", got, most+1, text)
		}
		for _, k := range []int{most, most + 1} { // which only conditions look at
			_, err := p.Parse(fmt.Sprintf("x>=%d", k))
			if (err == nil) != (k == most) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf(
				"a clock that counts to %d, as far as the model looks at it, is compared with %d", most, k)) {
				t.Fatalf("x>=%d: %v\n%s", k, err, text)
			}
		}
	}
}

// TestClosedConditions: a condition that looks at a clock is read if it holds for a closed set of the clock's values,
// whatever else is true.
func TestClosedConditions(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 7))
	read := make(map[bool]int)
	for range 200 {
		k := rng.IntN(6)
		text := fmt.Sprintf([]string{"x%s3", "3.0%s=x"}[holds(k == 5)], []string{"=", "!=", "<", "<=", ">", ">"}[k])
		when := func(x float64, _ int) bool { return []bool{x == 3, x != 3, x < 3, x <= 3, x > 3, x <= 3}[k] }
		for i := range rng.IntN(4) {
			inner, b := when, func(others int) bool { return others>>i&1 > 0 }
			form := rng.IntN(5)
			text = strings.NewReplacer("C", text, "B", fmt.Sprint("b", i)).Replace(
				[]string{"!(C)", "(C & B)", "(B | C)", "(C => B)", "(B => C)"}[form])
			when = func(x float64, o int) bool {
				c := inner(x, o)
				return []bool{!c, c && b(o), b(o) || c, !c || b(o), !b(o) || c}[form]
			}
		}
		closed := true
		for others := range 8 {
			beside := when(2.5, others) || when(3.5, others)
			closed = closed && (when(3, others) || !beside)
		}
		_, err := prism.Read("m.prism", "pta module m x : clock; b0 : bool; b1 : bool; b2 : bool; [] "+text+
			" -> true; endmodule", nil)
		if (err == nil) != closed || err != nil && !strings.Contains(err.Error(), "excludes its bound") {
			t.Fatalf("%s is closed: %t, %v", text, closed, err)
		}
		read[closed]++
	}
	if read[true] < 50 || read[false] < 50 {
		t.Errorf("%d conditions are closed, %d are not", read[true], read[false])
	}
}
