package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"

	"github.com/spf13/pflag"
)

// mirrored is the same problem with all returns negated: what was at most is at least.
func (p *drawnProblem) mirrored() *drawnProblem {
	turned := strings.NewReplacer("maximize", "minimize", "minimize", "maximize", "at_most", "at_least",
		"at_least", "at_most")
	m := &drawnProblem{time: p.time, goal: turned.Replace(p.goal)}
	for _, r := range p.rows {
		r.gain, r.cost = -r.gain, -r.cost
		m.rows = append(m.rows, r)
	}
	for _, l := range p.limits {
		m.limits = append(m.limits, drawnLimit{l.of, turned.Replace(l.side), -l.bound})
	}
	return m
}

// otherOrder is the same problem with its returns, limits and rows in the opposite order.
func (p *drawnProblem) otherOrder() *drawnProblem {
	o := &drawnProblem{time: p.time, goal: p.goal, rows: slices.Clone(p.rows), limits: slices.Clone(p.limits),
		costFirst: true}
	slices.Reverse(o.rows)
	slices.Reverse(o.limits)
	return o
}

// toldWords are the words and the numbers of everything that a result has and shows, sorted. For a mirror they are
// without signs, and in words that do not depend on the side.
func toldWords(r *result, mirror bool) (words []string, numbers []float64) {
	alike := strings.NewReplacer("greatest", "most", "asked for", "allowed", "gap ≤", "gap", "at most: a", "a")
	add := func(text string) {
		if mirror {
			text = alike.Replace(text)
		}
		for _, word := range strings.FieldsFunc(strings.ReplaceAll(text, " - ", " -"), func(c rune) bool {
			return strings.ContainsRune(" ,;:()_\n+", c)
		}) {
			word = strings.TrimRight(word, ".%")
			if mirror {
				word = strings.TrimPrefix(word, "-")
			}
			if x, err := strconv.ParseFloat(word, 64); err == nil {
				numbers = append(numbers, x)
			} else if !strings.HasSuffix(word, "problem.yaml") && word != "" {
				words = append(words, word)
			}
		}
	}
	for _, v := range r.values {
		switch key := v.keys[len(v.keys)-1]; {
		case slices.Contains([]string{"seconds", "iterations", "seed"}, key):
		case v.text != "":
			add(v.text)
		default:
			add(fmt.Sprint(v.value))
		}
	}
	for _, s := range r.shown {
		for _, text := range slices.Concat(s.List, s.Note) {
			add(text)
		}
		if s.Table != nil {
			for _, row := range append([][]string{s.Table.Columns}, s.Table.Rows...) {
				add(strings.Join(row, " "))
			}
		}
	}
	slices.Sort(words)
	slices.Sort(numbers)
	return words, numbers
}

// TestSameProblem: a file in another order, and one with all returns negated, is the same problem: everything that a
// command has and shows is the same, with the other side of each limit and the other sign in the mirror.
func TestSameProblem(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(62, 1))
	for trial := range 24 {
		p := drawProblem(rng, []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial%3])
		// One limit on each return makes one conflict, and gains of many digits make one optimum.
		slices.SortStableFunc(p.limits, func(a, b drawnLimit) int { return strings.Compare(a.of, b.of) })
		p.limits = slices.CompactFunc(p.limits, func(a, b drawnLimit) bool { return a.of == b.of })
		for i := range p.rows {
			p.rows[i].gain += rng.Float64()
			p.rows[i].cost += rng.Float64()
		}
		for _, command := range [][2]string{{"plan", "plan"}, {"check", "check"},
			{"plan --interval 0.1", "plan --interval 0.1"},
			{"front --over gain,-cost", "front --over -gain,cost"}, {"plan --deterministic", "plan --deterministic"},
			{"plan --at-most cost=9 --sweep cost=1:2:0.5", "plan --at-least cost=-9 --sweep cost=-1:-2:-0.5"}} {
			result := func(p *drawnProblem, command string) *result {
				args := strings.Fields(command)
				args = append([]string{args[0], p.write(t, 1)}, args[1:]...)
				var out, errs strings.Builder
				r := resultOf(t, &ask{args: args, fails: run(t.Context(), args, &out, &errs) != exitDone})
				if r != nil {
					checkView(t, r)
					checkConsistent(t, r)
				}
				return r
			}
			what := fmt.Sprintf("trial %d: %s, %s", trial, command[0], p.time)
			a := result(p, command[0])
			sameTold(t, what+", in another order", a, result(p.otherOrder(), command[0]), false)
			sameTold(t, what+", mirrored", a, result(p.mirrored(), command[1]), true)
		}
	}
}

// missing lists the words that the others do not have as often.
func missing(words, from []string) (all []string) {
	from = slices.Clone(from)
	for _, word := range words {
		if at := slices.Index(from, word); at >= 0 {
			from = slices.Delete(from, at, at+1)
		} else {
			all = append(all, word)
		}
	}
	return all
}

// sameTold compares what two results tell.
func sameTold(t *testing.T, what string, a, b *result, mirror bool) {
	t.Helper()
	if a == nil || b == nil {
		if a != b {
			t.Errorf("%s: only one of both is refused", what)
		}
		return
	}
	wordsA, numbersA := toldWords(a, mirror)
	wordsB, numbersB := toldWords(b, mirror)
	if mirror {
		turned := map[string]string{"least": "most", "most": "least", "≤": "≥", "≥": "≤", "maximize": "minimize",
			"minimize": "maximize", "min": "max", "max": "min", "at_most": "at_least", "at_least": "at_most"}
		for i, word := range wordsB {
			if other, is := turned[word]; is {
				wordsB[i] = other
			}
		}
	}
	slices.Sort(wordsB)
	if !slices.Equal(wordsA, wordsB) {
		t.Errorf("%s: %q: want %q in their place", what, missing(wordsB, wordsA),
			missing(wordsA, wordsB))
	}
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-4*(1+math.Abs(x)) }
	if !slices.EqualFunc(numbersA, numbersB, near) {
		t.Errorf("%s: other numbers:\n%v\n%v\n", what, numbersA, numbersB)
	}
}

// elsewhere says that a flag is for other questions, whatever its value.
var elsewhere = regexp.MustCompile(`give --|want --|(is|are) for `)

// TestWrongNumbers: a number that no flag can mean is refused with its name, and is named.
func TestWrongNumbers(t *testing.T) {
	example, err := filepath.Abs("../../docs/examples/two-rooms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		if !strings.Contains(cmd.Use, "PROBLEM") || cmd.Name() == "explore" {
			continue
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			kind := plainType(f.Value)
			_, err := strconv.ParseFloat(f.DefValue, 64)
			if kind != "int" && kind != "float64" && (kind != "string" || err != nil) {
				return
			}
			for _, value := range []string{"-1", "NaN", "-Inf"} {
				args := []string{cmd.Name(), example, "--" + f.Name + "=" + value}
				if cmd.Name() == "front" {
					args = append(args, "--over", "+reward,-cost")
				}
				var out, errs strings.Builder
				status := run(t.Context(), args, &out, &errs)
				said := strings.ReplaceAll(errs.String(), "-", " ")
				if status != exitUsage || !strings.Contains(said, strings.ReplaceAll(f.Name, "-", " ")) ||
					!strings.Contains(errs.String(), value) && !elsewhere.MatchString(errs.String()) {
					t.Errorf("%v: exit status %d: %s", args, status, errs.String())
				}
			}
		})
	}
}
