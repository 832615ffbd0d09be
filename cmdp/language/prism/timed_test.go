package prism_test

import (
	"cmp"
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

// A timedProgram has modules that move together under the action a, which earns 5, if they have it. Time earns what the
// place of the first one says.
type timedProgram []*timedModule

// A timedModule has places 0 to 2 and clocks, which begin with some numbers.
type timedModule struct {
	number    int
	begin     []int
	commands  []timedCommand
	allowed   [3][]int // how far clocks may go in a place, −1 for any number
	rate      [3]int
	takesPart bool // has commands with the action a
}

// A timedCommand leads with probability 1/4 to one place and with 3/4 to another one, and sets clocks there.
type timedCommand struct {
	action      string
	from        int
	least, most []int // of clocks, −1 for no bound
	to          [2]int
	set         [2][]int // −1 for clocks that stay
}

func drawTimed(rng *rand.Rand) (p timedProgram) {
	for k := range 1 + rng.IntN(4)/2 {
		clocks := rng.IntN(3 - k)
		numbers := func(none int) (x []int) {
			for range clocks {
				x = append(x, max(-1, rng.IntN(5+none)-none))
			}
			return x
		}
		m := &timedModule{number: k, begin: numbers(0)}
		for s := range m.allowed {
			m.allowed[s] = numbers(20)
			m.rate[s] = rng.IntN(3) * (1 - k)
		}
		for range 1 + rng.IntN(4) {
			m.commands = append(m.commands, timedCommand{[]string{"a", "a", ""}[rng.IntN(3)], rng.IntN(3), numbers(5),
				numbers(15), [2]int{rng.IntN(3), rng.IntN(3)}, [2][]int{numbers(5), numbers(5)}})
			m.takesPart = m.takesPart || m.commands[len(m.commands)-1].action == "a"
		}
		p = append(p, m)
	}
	return p
}

// each calls say for the clocks that have a number, and joins what it says.
func (m *timedModule) each(x []int, say func(clock string, number int) string) (parts []string) {
	for i, k := range x {
		if k >= 0 {
			parts = append(parts, say(fmt.Sprintf("c%d%d", m.number, i), k))
		}
	}
	return parts
}

// prism writes the program, with bounds in one of their forms.
func (p timedProgram) prism(rng *rand.Rand) string {
	bound := func(forms ...string) func(clock string, k int) string {
		return func(clock string, k int) string { return fmt.Sprintf(forms[rng.IntN(len(forms))], clock, k) }
	}
	atMost := bound(" & %s<=%d", " & !(%s>%d)", " & %[2]d>=%[1]s", " & %s<=%d.0")
	var b strings.Builder
	b.WriteString("pta\n")
	for _, m := range p {
		fmt.Fprintf(&b, "module m%d s%[1]d : [0..2];\n", m.number)
		for i, x := range m.begin {
			fmt.Fprintf(&b, "c%d%d : clock init %d;\n", m.number, i, x)
		}
		b.WriteString("invariant true")
		for s, x := range m.allowed {
			fmt.Fprintf(&b, " & (s%d=%d => true%s)", m.number, s, strings.Join(m.each(x, atMost), ""))
		}
		b.WriteString(" endinvariant\n")
		for _, c := range m.commands {
			fmt.Fprintf(&b, "[%s] s%d=%d%s%s ->", c.action, m.number, c.from,
				strings.Join(m.each(c.least, bound(" & %s>=%d", " & !(%s<%d)", " & %[2]d<=%[1]s")), ""),
				strings.Join(m.each(c.most, atMost), ""))
			for k, share := range []string{" 0.25", " + 0.75"} {
				fmt.Fprintf(&b, "%s:(s%d'=%d)%s", share, m.number, c.to[k],
					strings.Join(m.each(c.set[k], bound("&(%s'=%d)")), ""))
			}
			b.WriteString(";\n")
		}
		b.WriteString("endmodule\n")
	}
	b.WriteString("rewards \"r\"")
	if slices.ContainsFunc(p, func(m *timedModule) bool { return m.takesPart }) {
		b.WriteString(" [a] true : 5;")
	}
	for s, x := range p[0].rate {
		fmt.Fprintf(&b, " s0=%d : %d;", s, x)
	}
	return b.String() + " endrewards\n"
}

// jani writes the program.
func (p timedProgram) jani() string {
	variables := []string{`{"name":"r","type":"real","transient":true,"initial-value":0}`}
	var automata, elements, vector []string
	earns := slices.IndexFunc(p, func(m *timedModule) bool { return m.takesPart }) // once in a step
	for k, m := range p {
		all := func(op string, x []int) string {
			text := "true"
			for _, part := range m.each(x, func(clock string, k int) string {
				return fmt.Sprintf(`{"op":"%s","left":"%s","right":%d}`, op, clock, k)
			}) {
				text = fmt.Sprintf(`{"op":"∧","left":%s,"right":%s}`, text, part)
			}
			return text
		}
		var locations, edges []string
		for i, x := range m.begin {
			variables = append(variables, fmt.Sprintf(`{"name":"c%d%d","type":"clock","initial-value":%d}`, k, i, x))
		}
		for s, x := range m.allowed {
			values := ""
			if k == 0 {
				values = fmt.Sprintf(`,"transient-values":[{"ref":"r","value":%d}]`, m.rate[s])
			}
			locations = append(locations, fmt.Sprintf(`{"name":"l%d","time-progress":{"exp":%s}%s}`, s, all("≤", x), values))
		}
		for _, c := range m.commands {
			var to []string
			for i, share := range []string{"0.25", "0.75"} {
				set := m.each(c.set[i], func(clock string, k int) string {
					return fmt.Sprintf(`{"ref":"%s","value":%d}`, clock, k)
				})
				if k == earns && c.action == "a" {
					set = append(set, `{"ref":"r","value":5}`)
				}
				to = append(to, fmt.Sprintf(`{"location":"l%d","probability":{"exp":%s},"assignments":[%s]}`, c.to[i], share,
					strings.Join(set, ",")))
			}
			action := map[string]string{"a": `"action":"a",`}[c.action]
			edges = append(edges, fmt.Sprintf(`{"location":"l%d",%s"guard":{"exp":{"op":"∧","left":%s,"right":%s}},`+
				`"destinations":[%s]}`, c.from, action, all("≥", c.least), all("≤", c.most), strings.Join(to, ",")))
		}
		automata = append(automata, fmt.Sprintf(`{"name":"s%d","locations":[%s],"initial-locations":["l0"],"edges":[%s]}`, k,
			strings.Join(locations, ","), strings.Join(edges, ",")))
		elements = append(elements, fmt.Sprintf(`{"automaton":"s%d"}`, k))
		vector = append(vector, map[bool]string{true: `"a"`, false: "null"}[m.takesPart])
	}
	syncs := ""
	if earns >= 0 {
		syncs = `{"synchronise":[` + strings.Join(vector, ",") + `],"result":"a"}`
	}
	return fmt.Sprintf(`{"jani-version":1,"name":"m","type":"pta","actions":[{"name":"a"}],"variables":[%s],
		"automata":[%s],"system":{"elements":[%s],"syncs":[%s]}}`, strings.Join(variables, ","),
		strings.Join(automata, ","), strings.Join(elements, ","), syncs)
}

// enabled returns the commands of an action that are enabled where the place and the clocks of a module are x.
func (m *timedModule) enabled(x []int, action string) (all []*timedCommand) {
	for i := range m.commands {
		if c := &m.commands[i]; c.action == action && c.from == x[0] && within(x, c.least, c.most) {
			all = append(all, c)
		}
	}
	return all
}

// within reports whether clocks, which follow a place, keep bounds; the lower ones may be nil.
func within(x, least, most []int) bool {
	for i, k := range x[1:] {
		if least != nil && k < least[i] || most[i] >= 0 && k > most[i] {
			return false
		}
	}
	return true
}

// play returns where commands lead from x, those of modules that are nil to what x is, and with which probability.
func (p timedProgram) play(x [][]int, commands []*timedCommand) (to [][][]int, probability []float64) {
	to, probability = [][][]int{nil}, []float64{1}
	for i, c := range commands {
		var more [][][]int
		var shares []float64
		for n, y := range to {
			if c == nil {
				more, shares = append(more, append(slices.Clone(y), x[i])), append(shares, probability[n])
				continue
			}
			for k, share := range []float64{0.25, 0.75} {
				z := slices.Clone(x[i])
				z[0] = c.to[k]
				for i, v := range c.set[k] {
					if v >= 0 {
						z[i+1] = v
					}
				}
				more, shares = append(more, append(slices.Clone(y), z)), append(shares, probability[n]*share)
			}
		}
		to, probability = more, shares
	}
	return to, probability
}

// rows returns what each reachable state offers, and whether an invariant is broken in one, or one offers nothing.
// States are places and clocks, which count to three above the largest number that the program has for them, where they
// are told apart to one above it.
func (p timedProgram) rows(t *testing.T) (rows map[string][]string, broken, stuck bool) {
	largest, start := make([][]int, len(p)), make([][]int, len(p))
	for k, m := range p {
		largest[k], start[k] = slices.Clone(m.begin), append([]int{0}, m.begin...)
		numbers := m.allowed[:]
		for _, c := range m.commands {
			numbers = slices.Concat(numbers, [][]int{c.least, c.most}, c.set[:])
		}
		for _, x := range numbers {
			for i := range x {
				largest[k][i] = max(largest[k][i], x[i])
			}
		}
	}
	name := func(x [][]int) string {
		var y []int
		for k := range x {
			y = append(y, x[k][0])
			for i := range largest[k] {
				y = append(y, min(x[k][i+1], largest[k][i]+1))
			}
		}
		return fmt.Sprint(y)
	}
	queue, met := [][][]int{start}, make(map[string]bool)
	rows = make(map[string][]string)
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if met[fmt.Sprint(x)] {
			continue
		}
		met[fmt.Sprint(x)] = true
		var lines []string
		offer := func(action string, earned int, commands []*timedCommand) {
			next := make(map[string]float64)
			to, probability := p.play(x, commands)
			for i, y := range to {
				next[name(y)] += probability[i]
			}
			queue = append(queue, to...)
			lines = append(lines, action+": "+line(next)+fmt.Sprint(earned))
		}
		together, some := [][]*timedCommand{nil}, false
		later, passes := make([][]int, len(p)), true
		for k, m := range p {
			broken = broken || !within(x[k], nil, m.allowed[x[k][0]])
			for _, c := range m.enabled(x[k], "") {
				alone := make([]*timedCommand, len(p))
				alone[k] = c
				offer("", 0, alone)
			}
			choose := []*timedCommand{nil}
			if m.takesPart {
				choose, some = m.enabled(x[k], "a"), true
			}
			var more [][]*timedCommand
			for _, before := range together {
				for _, c := range choose {
					more = append(more, append(slices.Clone(before), c))
				}
			}
			together = more
			later[k] = slices.Clone(x[k])
			for i := range largest[k] {
				later[k][i+1] = min(later[k][i+1]+1, largest[k][i]+3)
			}
			passes = passes && within(later[k], nil, m.allowed[x[k][0]])
		}
		for _, commands := range together {
			if some {
				offer("a", 5, commands)
			}
		}
		if passes {
			lines = append(lines, "time: "+line(map[string]float64{name(later): 1})+fmt.Sprint(p[0].rate[x[0][0]]))
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
			f := &found{p: p}
			r, err := language.Explore(context.Background(), p, f, language.ExploreOptions{Threads: 1})
			if wrong := !isJANI && (broken || stuck); wrong || err != nil { // JANI's may stop
				if !wrong || err == nil {
					t.Fatalf("an invariant is broken: %t, a state without choices: %t, error %v\n%s", broken, stuck, err,
						text)
				}
				continue
			}
			read[isJANI]++
			got := make(map[string][]string)
			for name, lines := range f.rows(func(s int) string {
				x := strings.Split(r.States.StateName(s), ",")
				// Of each module the place comes first, and clocks behind it.
				slices.SortFunc(x, func(a, b string) int {
					return cmp.Or(strings.Compare(a[1:2], b[1:2]), -strings.Compare(a[:1], b[:1]),
						strings.Compare(a, b))
				})
				for i := range x {
					_, x[i], _ = strings.Cut(x[i], "=")
				}
				return fmt.Sprint(x)
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
