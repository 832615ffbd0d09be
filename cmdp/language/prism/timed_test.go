package prism_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
)

// A timedProgram has places 0 to 2 and clocks, which begin with some numbers. Its steps earn 5, and time what the place
// says.
type timedProgram struct {
	begin    []int
	commands []timedCommand
	allowed  [3][]int // how far clocks may go in a place, −1 for any number
	rate     [3]int
}

// A timedCommand leads with probability 1/4 to one place and with 3/4 to another one, and sets clocks there.
type timedCommand struct {
	from        int
	least, most []int // of clocks, −1 for no bound
	to          [2]int
	set         [2][]int // −1 for clocks that stay
}

func drawTimed(rng *rand.Rand) *timedProgram {
	clocks := rng.IntN(3)
	numbers := func(none int) (x []int) {
		for range clocks {
			x = append(x, max(-1, rng.IntN(5+none)-none))
		}
		return x
	}
	p := &timedProgram{begin: numbers(0)}
	for s := range p.allowed {
		p.allowed[s] = numbers(20)
		p.rate[s] = rng.IntN(3)
	}
	for range 1 + rng.IntN(4) {
		p.commands = append(p.commands, timedCommand{rng.IntN(3), numbers(5), numbers(15),
			[2]int{rng.IntN(3), rng.IntN(3)}, [2][]int{numbers(5), numbers(5)}})
	}
	return p
}

// each calls say for the clocks that have a number, and joins what it says.
func each(x []int, say func(clock, number int) string) (parts []string) {
	for i, k := range x {
		if k >= 0 {
			parts = append(parts, say(i, k))
		}
	}
	return parts
}

// prism writes the program, with bounds in one of their forms.
func (p *timedProgram) prism(rng *rand.Rand) string {
	bound := func(forms ...string) func(i, k int) string {
		return func(i, k int) string { return fmt.Sprintf(forms[rng.IntN(len(forms))], i, k) }
	}
	atMost := bound(" & c%d<=%d", " & !(c%d>%d)", " & %[2]d>=c%[1]d", " & c%d<=%d.0")
	var b strings.Builder
	b.WriteString("pta\nmodule m s : [0..2];\n")
	for i, x := range p.begin {
		fmt.Fprintf(&b, "c%d : clock init %d;\n", i, x)
	}
	b.WriteString("invariant true")
	for s, x := range p.allowed {
		fmt.Fprintf(&b, " & (s=%d => true%s)", s, strings.Join(each(x, atMost), ""))
	}
	b.WriteString(" endinvariant\n")
	for _, c := range p.commands {
		fmt.Fprintf(&b, "[a] s=%d%s%s ->", c.from,
			strings.Join(each(c.least, bound(" & c%d>=%d", " & !(c%d<%d)", " & %[2]d<=c%[1]d")), ""),
			strings.Join(each(c.most, atMost), ""))
		for k, share := range []string{" 0.25", " + 0.75"} {
			fmt.Fprintf(&b, "%s:(s'=%d)%s", share, c.to[k], strings.Join(each(c.set[k], bound("&(c%d'=%d)")), ""))
		}
		b.WriteString(";\n")
	}
	b.WriteString("endmodule\nrewards \"r\" [a] true : 5;")
	for s, x := range p.rate {
		fmt.Fprintf(&b, " s=%d : %d;", s, x)
	}
	return b.String() + " endrewards\n"
}

// jani writes the program.
func (p *timedProgram) jani() string {
	all := func(op string, x []int) string {
		text := "true"
		for _, part := range each(x, func(i, k int) string {
			return fmt.Sprintf(`{"op":"%s","left":"c%d","right":%d}`, op, i, k)
		}) {
			text = fmt.Sprintf(`{"op":"∧","left":%s,"right":%s}`, text, part)
		}
		return text
	}
	var variables, locations, edges []string
	variables = append(variables, `{"name":"r","type":"real","transient":true,"initial-value":0}`)
	for i, x := range p.begin {
		variables = append(variables, fmt.Sprintf(`{"name":"c%d","type":"clock","initial-value":%d}`, i, x))
	}
	for s, x := range p.allowed {
		locations = append(locations, fmt.Sprintf(`{"name":"l%d","time-progress":{"exp":%s},`+
			`"transient-values":[{"ref":"r","value":%d}]}`, s, all("≤", x), p.rate[s]))
	}
	for _, c := range p.commands {
		var to []string
		for k, share := range []string{"0.25", "0.75"} {
			set := append(each(c.set[k], func(i, k int) string { return fmt.Sprintf(`{"ref":"c%d","value":%d}`, i, k) }),
				`{"ref":"r","value":5}`)
			to = append(to, fmt.Sprintf(`{"location":"l%d","probability":{"exp":%s},"assignments":[%s]}`, c.to[k], share,
				strings.Join(set, ",")))
		}
		edges = append(edges, fmt.Sprintf(`{"location":"l%d","action":"a","guard":{"exp":{"op":"∧","left":%s,"right":%s}},`+
			`"destinations":[%s]}`, c.from, all("≥", c.least), all("≤", c.most), strings.Join(to, ",")))
	}
	return fmt.Sprintf(`{"jani-version":1,"name":"m","type":"pta","actions":[{"name":"a"}],"variables":[%s],
		"automata":[{"name":"s","locations":[%s],
		"initial-locations":["l0"],"edges":[%s]}],"system":{"elements":[{"automaton":"s"}]}}`,
		strings.Join(variables, ","), strings.Join(locations, ","), strings.Join(edges, ","))
}

// rows returns what each reachable state offers, and whether an invariant is broken in one, or one offers nothing.
// States are places and clocks, which count to three above the largest number that the program has for them, where they
// are told apart to one above it.
func (p *timedProgram) rows(t *testing.T) (rows map[string][]string, broken, stuck bool) {
	largest := slices.Clone(p.begin)
	numbers := p.allowed[:]
	for _, c := range p.commands {
		numbers = slices.Concat(numbers, [][]int{c.least, c.most}, c.set[:])
	}
	for _, x := range numbers {
		for i := range x {
			largest[i] = max(largest[i], x[i])
		}
	}
	name := func(x []int) string {
		y := slices.Clone(x)
		for i := range largest {
			y[i+1] = min(y[i+1], largest[i]+1)
		}
		return fmt.Sprint(y)
	}
	within := func(x, least, most []int) bool {
		for i, k := range x[1:] {
			if least != nil && k < least[i] || most[i] >= 0 && k > most[i] {
				return false
			}
		}
		return true
	}
	queue, met := [][]int{append([]int{0}, p.begin...)}, make(map[string]bool)
	rows = make(map[string][]string)
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if met[fmt.Sprint(x)] {
			continue
		}
		met[fmt.Sprint(x)] = true
		broken = broken || !within(x, nil, p.allowed[x[0]])
		var lines []string
		for _, c := range p.commands {
			if c.from != x[0] || !within(x, c.least, c.most) {
				continue
			}
			next := make(map[string]float64)
			for k, share := range []float64{0.25, 0.75} {
				y := slices.Clone(x)
				y[0] = c.to[k]
				for i, v := range c.set[k] {
					if v >= 0 {
						y[i+1] = v
					}
				}
				next[name(y)] += share
				queue = append(queue, y)
			}
			lines = append(lines, "a: "+line(next)+"5")
		}
		later := slices.Clone(x)
		for i := range largest {
			later[i+1] = min(later[i+1]+1, largest[i]+3)
		}
		if within(later, nil, p.allowed[x[0]]) {
			lines = append(lines, "time: "+line(map[string]float64{name(later): 1})+fmt.Sprint(p.rate[x[0]]))
			queue = append(queue, later)
		}
		stuck = stuck || lines == nil
		slices.Sort(lines)
		lines = slices.Compact(lines)
		if old, ok := rows[name(x)]; ok && !slices.Equal(old, lines) {
			t.Fatalf("%v is not what %s is: %q and %q", x, name(x), lines, old)
		}
		rows[name(x)] = lines
	}
	return rows, broken, stuck
}

// TestTimedPrograms compares random timed programs, in PRISM's language and in JANI, with clocks that count farther.
func TestTimedPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 1))
	read := make(map[bool]int)
	for range 300 {
		plain := drawTimed(rng)
		want, broken, stuck := plain.rows(t)
		for _, isJANI := range []bool{false, true} {
			text := plain.prism(rng)
			p, err := prism.Read("m.prism", text, nil)
			if isJANI {
				text = plain.jani()
				p, err = jani.Read("m.jani", []byte(text), nil)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var f found
			r, err := language.Explore(context.Background(), p, &f, language.ExploreOptions{Threads: 1})
			if wrong := !isJANI && (broken || stuck); wrong || err != nil { // JANI's may stop
				if !wrong || err == nil {
					t.Fatalf("an invariant is broken: %t, a state without choices: %t, error %v\n%s", broken, stuck, err, text)
				}
				continue
			}
			read[isJANI]++
			got := make(map[string][]string)
			for name, lines := range f.rows(p, len(f.choices), func(s int) string {
				x := strings.Split(r.States.StateName(s), ",")
				// The place comes first, and clocks behind it.
				slices.SortStableFunc(x, func(a, b string) int { return -strings.Compare(a[:1], b[:1]) })
				return strings.Join(x, ",")
			}) {
				got[name] = lines[1:]
				if lines[0] != "0" {
					t.Fatalf("%s earns %s\n%s", name, lines[0], text)
				}
			}
			if !maps.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Fatalf("%d states, %q\nwant %d, %q\n%s", len(got), got, len(want), want, text)
			}
		}
	}
	if read[true] != 300 || read[false] < 60 {
		t.Errorf("%d models in JANI and %d in PRISM's language were read", read[true], read[false])
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
