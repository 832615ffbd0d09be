package problem

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/numpy"

	"gonum.org/v1/gonum/floats"
)

// A drawnRow holds the least and the greatest probability of each successor of a choice, and the mean returns.
type drawnRow struct {
	next   map[int][2]float64
	reward [2]float64
	line   string // in which intervals stand, "" if there are none
}

// drawReturns draws two returns and one of the ways to write them: as a list, by name in any order without some of
// those that are 0, or not at all.
func drawReturns(rng *rand.Rand) (text string, of [2]float64) {
	for i := range of {
		of[i] = float64(rng.IntN(3))
	}
	if rng.IntN(2) == 0 {
		return fmt.Sprintf(", returns: [%g, %g]", of[0], of[1]), of
	}
	var parts []string
	for _, i := range rng.Perm(2) {
		if of[i] != 0 || rng.IntN(2) == 0 {
			parts = append(parts, fmt.Sprintf("%s: %g", []string{"r", "q"}[i], of[i]))
		}
	}
	if parts == nil && rng.IntN(2) == 0 {
		return "", of
	}
	return ", returns: {" + strings.Join(parts, ", ") + "}", of
}

// A drawnFile is a problem file with what it says: the rows of each step by state and action. States offer other
// actions at other steps, rows of single steps replace those of all steps, some probabilities are intervals, and some
// start states have probability 0.
type drawnFile struct {
	text    string
	horizon int
	starts  []float64
	each    Each
	rows    []map[int]map[string]drawnRow // one without a horizon
}

func drawFile(rng *rand.Rand) *drawnFile {
	states := 1 + rng.IntN(5)
	f := &drawnFile{horizon: rng.IntN(4), starts: make([]float64, states)}
	f.rows = make([]map[int]map[string]drawnRow, max(1, f.horizon))
	f.starts[rng.IntN(states)] += 0.5
	f.starts[rng.IntN(states)] += 0.5
	var b strings.Builder
	fmt.Fprintf(&b, "format: cmdp/1\nstates: %d\nreturns: [r, q]\nstart: {", states)
	for s, x := range f.starts {
		if x > 0 || rng.IntN(2) == 0 {
			fmt.Fprintf(&b, " %d: %g,", s, x)
		}
	}
	b.WriteString("}\n")
	if f.each = []Each{"", EachStep, EachModel}[rng.IntN(3)]; f.each != "" {
		fmt.Fprintf(&b, "uncertainty: {each: %s}\n", f.each)
	}
	if f.horizon > 0 {
		fmt.Fprintf(&b, "horizon: %d\n", f.horizon)
	} else {
		b.WriteString("discount: 0.9\n")
	}
	b.WriteString("transitions:\n")
	some := false
	row := func(step, s int, action string) {
		next, left, reward := make(map[int][2]float64), 1.0, [2]float64{}
		to := rng.Perm(states)[:1+rng.IntN(2)*rng.IntN(min(3, states))]
		uncertain, outcomes := rng.IntN(2) == 0, rng.IntN(3) == 0
		if outcomes && rng.IntN(2) == 0 { // one may come twice
			to = append(to, to[0])
		}
		at, line := "", ""
		for i, n := range to {
			p := left
			if i < len(to)-1 {
				p = math.Round(8*left*rng.Float64()) / 8
			}
			left -= p
			next[n] = [2]float64{next[n][0] + p, next[n][1] + p}
			text := fmt.Sprintf("%g", p)
			if outcomes { // of which some return nothing
				returns, x := drawReturns(rng)
				reward[0] += p * x[0]
				reward[1] += p * x[1]
				at += fmt.Sprintf("{probability: %g, next: %d%s}, ", p, n, returns)
				continue
			}
			if uncertain && p > 0 {
				next[n] = [2]float64{p / 2, min(1, 1.5*p)}
				switch rng.IntN(4) { // some lead nowhere less often than the nominal model, some nowhere more often
				case 0:
					next[n] = [2]float64{p, min(1, 1.5*p)}
				case 1:
					next[n] = [2]float64{p / 2, p}
				}
				text = fmt.Sprintf("[%g, %g]", next[n][0], next[n][1])
				line = fmt.Sprint("line ", 1+strings.Count(b.String(), "\n"))
			}
			at += fmt.Sprintf("%d: %s, ", n, text)
		}
		if step > 0 {
			action += fmt.Sprintf(", step: %d", step)
		}
		if at = strings.TrimSuffix(at, ", "); outcomes {
			at = "outcomes: [" + at + "]"
		} else {
			var returns string
			returns, reward = drawReturns(rng)
			at = fmt.Sprintf("next: {%s}%s", at, returns)
		}
		fmt.Fprintf(&b, "  - {state: %d, action: %s, %s}\n", s, action, at)
		some = true
		action, _, _ = strings.Cut(action, ",")
		for h := range f.rows {
			if f.rows[h] == nil {
				f.rows[h] = make(map[int]map[string]drawnRow)
			}
			if f.rows[h][s] == nil {
				f.rows[h][s] = make(map[string]drawnRow)
			}
			if step == 0 || step == h+1 {
				f.rows[h][s][action] = drawnRow{next, reward, line}
			}
		}
	}
	for _, every := range []bool{true, false} {
		for s := range states {
			for _, action := range []string{"u", "v", "w"} {
				if every && rng.IntN(2) == 0 {
					row(0, s, action)
				}
				if !every && f.horizon > 0 && rng.IntN(4) == 0 {
					row(1+rng.IntN(f.horizon), s, action)
				}
			}
		}
	}
	if !some {
		row(0, 0, "u")
	}
	f.text = b.String()
	return f
}

// checkExported compares the bounds of all probabilities, as they are handed to other formats, with what the file says.
func (f *drawnFile) checkExported(t *testing.T, p *Problem, what string) {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for s := range p.Model.States() {
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			want := f.rows[0][s][p.ActionName(0, s, c-int(m.First[s]))].next
			got := make(map[int][2]float64)
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				lower, upper := m.Probability[e], m.Probability[e]
				if m.Lower != nil {
					lower, upper = m.Lower[e], m.Upper[e]
				}
				n := int(m.Target[e])
				got[n] = [2]float64{got[n][0] + lower, got[n][1] + upper}
			}
			for n, x := range want {
				if y := got[n]; math.Abs(x[0]-y[0]) > 1e-12 || math.Abs(x[1]-y[1]) > 1e-12 {
					t.Fatalf("%s: state %d leads to %d with %v for other formats: want %v\n%s", what, s, n, y, x, f.text)
				}
			}
		}
	}
}

// checkRows compares the bounds of all probabilities, and the mean returns, with what the file says.
func (f *drawnFile) checkRows(t *testing.T, p *Problem, what string) {
	t.Helper()
	if p.Uncertainty.Each != f.each {
		t.Fatalf("%s: uncertain each %q: want %q", what, p.Uncertainty.Each, f.each)
	}
	if p.Model.Stationary() {
		f.checkExported(t, p, what)
	}
	for h := range f.rows {
		rows := p.Model.Rows(h)
		for s := range p.Model.States() {
			first, end := rows.Choices(s)
			if end-first != len(f.rows[h][s]) {
				t.Fatalf("%s: state %d has %d actions at step %d: want %d\n%s", what, s, end-first, h+1, len(f.rows[h][s]),
					f.text)
			}
			for c := first; c < end; c++ {
				want := f.rows[h][s][p.ActionName(h, s, c-first)]
				next, prob := rows.Row(c)
				lower, upper := prob, prob
				if p.Intervals != nil {
					l, u := p.Intervals.Row(h%p.Model.Kernels(), c)
					if l != nil {
						lower, upper = l, u
					}
				}
				for i, r := range p.Model.Kernel(h).ReturnsOf(c, 2) {
					if math.Abs(r-want.reward[i]) > 1e-12 {
						t.Fatalf("%s: step %d, state %d, %s returns %g of %s: want %g\n%s", what, h+1, s,
							p.ActionName(h, s, c-first), r, p.Returns[i], want.reward[i], f.text)
					}
				}
				got := make(map[int][2]float64)
				for i, n := range next {
					got[int(n)] = [2]float64{got[int(n)][0] + lower[i], got[int(n)][1] + upper[i]}
				}
				for n, x := range want.next {
					y := got[n]
					if math.Abs(x[0]-y[0]) > 1e-12 || math.Abs(x[1]-y[1]) > 1e-12 {
						t.Fatalf("%s: step %d, state %d, %s leads to %d with %v: want %v\n%s", what, h+1, s,
							p.ActionName(h, s, c-first), n, y, x, f.text)
					}
				}
			}
		}
	}
}

// apart returns a problem with the intervals of p, and the nominal model with a kernel for each step.
func apart(t *testing.T, p *Problem) *Problem {
	t.Helper()
	m := p.Model
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	for range m.Horizon() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(0).Plain(m.Dim()))
	}
	with, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	of := p.WithModel(with)
	if of.Intervals != nil || of.intervalLines != nil {
		t.Fatal("intervals of another model are kept")
	}
	if p.Intervals == nil {
		return of
	}
	iv, err := cmdp.NewIntervals(with, func(_, c int) (lower, upper []float64) { return p.Intervals.Row(0, c) })
	if err != nil {
		t.Fatal(err)
	}
	return of.WithIntervals(iv)
}

// checkLines compares where the intervals of the first step stand with the lines of the file.
func (f *drawnFile) checkLines(t *testing.T, p *Problem) {
	t.Helper()
	for _, x := range []*Process{p.Process(), withParity(t, p)} {
		for s := range x.Model.States() {
			first, end := x.Model.Rows(0).Choices(s)
			for a := range end - first {
				want := f.rows[0][x.Declared(s)][x.ActionName(0, s, a)].line
				if got := x.IntervalsAt(s, a); got != want {
					t.Fatalf("intervals of action %d of state %s at %q: want %q\n%s", a, x.StateName(s), got, want, f.text)
				}
			}
		}
	}
}

// writeLines writes the lines of a policy in a format that it draws, and returns the name of the file. What is for
// every step has no step, null or 0.
func writeLines(t *testing.T, rng *rand.Rand, file string, lines []string) string {
	t.Helper()
	var b bytes.Buffer
	ending := []string{".csv", ".json", ".npz"}[rng.IntN(3)]
	switch out := numpy.NewWriter(&b); ending {
	case ".csv":
		b.WriteString(strings.Join(lines, "\n") + "\n")
	case ".json":
		var rows []string
		for _, line := range lines[1:] {
			cells := strings.Split(line, ",")
			step := `"step": ` + cmp.Or(cells[0], "null") + ", "
			if cells[0] == "" && rng.IntN(2) == 0 {
				step = ""
			}
			rows = append(rows, fmt.Sprintf(`{%s"state": %s, "action": "%s", "probability": %s}`, step, cells[1], cells[2],
				cells[3]))
		}
		b.WriteString("[" + strings.Join(rows, ",\n") + "]")
	default:
		var steps, states []int64
		var actions []string
		var probabilities []float64
		for _, line := range lines[1:] {
			cells := strings.Split(line, ",")
			step, _ := strconv.Atoi(cells[0])
			state, _ := strconv.Atoi(cells[1])
			x, _ := strconv.ParseFloat(cells[3], 64)
			steps, states = append(steps, int64(step)), append(states, int64(state))
			actions, probabilities = append(actions, cells[2]), append(probabilities, x)
		}
		out.Ints("step", steps)
		out.Ints("state", states)
		out.Strings("action", actions)
		out.Floats("probability", probabilities)
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file+ending, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file + ending
}

// checkPolicy reads a random policy from which rows are missing. It has to be refused where it comes to a state
// without them, and to be what the file says otherwise.
func (f *drawnFile) checkPolicy(t *testing.T, rng *rand.Rand, p *Problem, file string) {
	t.Helper()
	lines, missing := []string{"step,state,action,probability"}, make(map[[2]int]bool)
	taken := make([]map[int]map[string]float64, len(f.rows))
	// draw draws what is done in a state, and writes it for a step unless it is to be missing.
	draw := func(h, s int, step string, silent bool) map[string]float64 {
		left, of := 1.0, make(map[string]float64)
		actions := slices.Sorted(maps.Keys(f.rows[h][s]))
		for k, action := range actions {
			x := left
			if k < len(actions)-1 {
				x = math.Round(4*left*rng.Float64()) / 4
			}
			left -= x
			of[action] = x
			if !silent {
				lines = append(lines, fmt.Sprintf("%s,%d,%s,%g", step, s, action, x))
			}
		}
		return of
	}
	for s := range f.starts {
		var always map[string]float64 // what is done in steps without rows of their own
		last := len(f.rows) - 1       // it has none, so that some step needs those of all steps
		other := func(h int) bool {   // needs rows of its own beside them
			return !maps.EqualFunc(f.rows[h][s], f.rows[last][s], func(drawnRow, drawnRow) bool { return true })
		}
		rests := slices.ContainsFunc(f.rows, func(of map[int]map[string]drawnRow) bool { return len(of[s]) == 0 })
		if !rests && rng.IntN(2) == 0 {
			always = draw(last, s, "", false)
		}
		for h := range f.rows {
			if taken[h] == nil {
				taken[h] = make(map[int]map[string]float64)
			}
			at := [2]int{h, s}
			missing[at] = always == nil && rng.IntN(3) == 0 && len(f.rows[h][s]) > 0
			switch {
			case always != nil && !other(h) && (h == last || rng.IntN(2) == 0):
				taken[h][s] = always
			case f.horizon == 0:
				taken[h][s] = draw(h, s, "", missing[at])
			default:
				taken[h][s] = draw(h, s, fmt.Sprint(h+1), missing[at])
			}
		}
	}
	now, refused := make(map[int]bool), false
	for s, x := range f.starts {
		if x > 0 {
			now[s] = true
		}
	}
	for n := range 20 {
		h := min(n, len(f.rows)-1)
		next := make(map[int]bool)
		for s := range now {
			refused = refused || missing[[2]int{h, s}]
			if len(f.rows[h][s]) == 0 {
				next[s] = true
			}
			for action, x := range taken[h][s] {
				for to, q := range f.rows[h][s][action].next {
					if x > 0 && q[1] > 0 {
						next[to] = true
					}
				}
			}
		}
		if now = next; f.horizon > 0 && n == f.horizon-1 {
			break
		}
	}
	file = writeLines(t, rng, file, lines)
	f.checkBarred(t, withBarring(t, p), file, taken, missing)
	for _, of := range []*Process{p.Process(), withParity(t, p)} { // whatever is remembered
		got, err := ReadPolicy(file, of)
		if (err != nil) != refused {
			t.Fatalf("error %v: refused %v\n%s\n%s", err, refused, strings.Join(lines, "\n"), f.text)
		}
		if err != nil {
			return
		}
		for h := range f.rows {
			for at := range of.Model.States() {
				s := of.Declared(at)
				actions := f.rows[h][s]
				if missing[[2]int{h, s}] != !got.Known(h, at) && len(actions) > 0 {
					t.Fatalf("step %d, state %d: known %v\n%s", h+1, at, got.Known(h, at), strings.Join(lines, "\n"))
				}
				probs := make([]float64, len(actions))
				got.Distribution(probs, h, at)
				for a, x := range probs {
					if want := taken[h][s][p.ActionName(h, s, a)]; got.Known(h, at) && x != want {
						t.Fatalf("step %d, state %d, %s: %g, want %g\n%s", h+1, at, p.ActionName(h, s, a), x, want,
							strings.Join(lines, "\n"))
					}
				}
			}
		}
	}
}

// checkBarred reads a policy for a process that does not offer all actions everywhere. It has to be refused where it
// comes to a state without rows, or takes there what is not offered.
func (f *drawnFile) checkBarred(t *testing.T, of *Process, file string, taken []map[int]map[string]float64,
	missing map[[2]int]bool) {
	t.Helper()
	now, refused := make(map[int]bool), false
	for _, st := range of.Model.StartStates() {
		if st.Probability > 0 {
			now[st.State] = true
		}
	}
	type reached struct{ h, s int }
	var all []reached
	for n := range 20 {
		h := min(n, len(f.rows)-1)
		rows, next := of.Model.Rows(h), make(map[int]bool)
		for s := range now {
			all = append(all, reached{h, s})
			refused = refused || missing[[2]int{h, of.Declared(s)}]
			first, end := rows.Choices(s)
			if first == end {
				next[s] = true
			}
			left := floats.Sum(slices.Collect(maps.Values(taken[h][of.Declared(s)])))
			for c := first; c < end; c++ {
				x := taken[h][of.Declared(s)][of.ActionName(h, s, c-first)]
				left -= x
				to, prob := rows.Row(c)
				for i, n := range to {
					next[int(n)] = next[int(n)] || x > 0 && prob[i] > 0
				}
			}
			refused = refused || left > 1e-9
		}
		maps.DeleteFunc(next, func(_ int, in bool) bool { return !in })
		if now = next; f.horizon > 0 && n == f.horizon-1 {
			break
		}
	}
	got, err := ReadPolicy(file, of)
	if (err != nil) != refused {
		t.Fatalf("error %v: refused %v\n%s", err, refused, f.text)
	}
	for _, at := range all {
		first, end := of.span(at.h, at.s)
		if err != nil || first == end {
			continue
		}
		probs := make([]float64, end-first)
		got.Distribution(probs, at.h, at.s)
		for a, x := range probs {
			if want := taken[at.h][of.Declared(at.s)][of.ActionName(at.h, at.s, a)]; x != want {
				t.Fatalf("step %d, %s, action %d: %g, want %g\n%s", at.h+1, of.StateName(at.s), a, x, want, f.text)
			}
		}
	}
}

// TestDrawnFiles compares random files, as they are read and as they are written again, and random policies for them
// with tables.
func TestDrawnFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p")
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(23, seed))
		f := drawFile(rng)
		p, err := Parse("drawn.yaml", []byte(f.text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, f.text)
		}
		f.checkRows(t, p, "read")
		f.checkLines(t, p)
		if f.horizon > 0 && p.Model.Stationary() {
			of := apart(t, p)
			f.checkRows(t, of, "with a kernel for each step")
			var b bytes.Buffer
			if err := Write(&b, of); err != nil {
				t.Fatal(err)
			}
			f.checkRows(t, mustParse(t, b.String()), "with a kernel for each step, written")
		}
		f.checkPolicy(t, rng, p, file)
		f.checkPolicy(t, rng, padded(t, rng, p), file)
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("written.yaml", b.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		f.checkRows(t, again, "written")
		if f.horizon == 0 {
			m, err := p.Export()
			if err != nil {
				t.Fatal(err)
			}
			there, err := Import(m, Time{Discount: p.Model.Discount()})
			if err != nil {
				t.Fatal(err)
			}
			there.Uncertainty = p.Uncertainty // which models of other tools do not say
			f.checkRows(t, there, "exported and imported")
		}
	}
}

// A drawnPolicy holds the probabilities of the actions by step and state.
type drawnPolicy map[[2]int][]float64

func (d drawnPolicy) Distribution(dst []float64, h, s int) { copy(dst, d[[2]int{h, s}]) }
func (d drawnPolicy) Choose(rng *rand.Rand, h, s int) (action int) {
	return cmdp.Draw(rng, d[[2]int{h, s}])
}

// drawnProcess is the process of a problem: its own, one that remembers something, or that of a simulator.
func drawnProcess(t *testing.T, rng *rand.Rand, p *Problem) *Process {
	t.Helper()
	switch kind := rng.IntN(3); {
	case kind == 0:
		return withParity(t, p)
	case kind == 1 && p.Model.Horizon() > 0:
		return (&Problem{Simulated: p.Model.Shape(), Returns: p.Returns}).Process()
	}
	return p.Process()
}

// drawPolicy draws what is done in every state that offers something.
func drawPolicy(rng *rand.Rand, x *Process) drawnPolicy {
	policy := make(drawnPolicy)
	for h := range max(1, x.horizon()) {
		for s := range x.played().states() {
			first, end := x.span(h, s)
			probs := make([]float64, end-first)
			for a := range probs {
				probs[a] = rng.Float64() * float64(rng.IntN(3))
			}
			if len(probs) == 0 {
				continue
			}
			probs[rng.IntN(len(probs))] += 0.1
			floats.Scale(1/floats.Sum(probs), probs)
			policy[[2]int{h, s}] = probs
		}
	}
	return policy
}

// checkTables compares the tables of a controller with the policies that it draws from.
func checkTables(t *testing.T, x *Process, tables *policyTables, mixture []drawnPolicy) {
	t.Helper()
	steps, states := max(1, x.horizon()), x.played().states()
	if !slices.IsSorted(tables.Upto) || tables.Upto[len(tables.Upto)-1] != 1 || len(tables.Upto) != len(mixture) {
		t.Fatalf("sums of weights %v", tables.Upto)
	}
	named := func(name string) bool { _, number := labelNumber(name); return !number }
	for i, name := range tables.Actions { // numbers stay what they are
		if tables.Memory == nil && !slices.ContainsFunc(tables.Actions, named) && name != fmt.Sprint(i) {
			t.Fatalf("action %s has the number %d", name, i)
		}
	}
	for i, policy := range mixture {
		for h := range steps {
			table := tables.Table[i*steps+h]
			for s := range states {
				got, before := make(map[string]float64), 0.0
				first, end := tables.First[table*states+s], tables.First[table*states+s+1]
				for e := first; e < end; e++ {
					got[tables.Actions[tables.Action[e]]] += tables.Sum[e] - before
					before = tables.Sum[e]
				}
				if first < end && before != 1 {
					t.Fatalf("policy %d, step %d, state %d: sums end with %v", i, h+1, s, before)
				}
				for a, want := range policy[[2]int{h, s}] {
					if name := x.ActionName(h, s, a); math.Abs(got[name]-want) > 1e-12 {
						t.Fatalf("policy %d, step %d, state %d: %s has %v: want %v", i, h+1, s, name, got[name], want)
					}
				}
			}
		}
	}
}

// TestDrawnPoliciesReadBack writes random mixtures of random policies in every format, and reads them again: every
// probability and weight is the same, bit for bit.
func TestDrawnPoliciesReadBack(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(90) {
		rng := rand.New(rand.NewPCG(24, seed))
		text := drawFile(rng).text
		if rng.IntN(2) == 0 {
			text = drawOddFile(rng).text
		}
		x := drawnProcess(t, rng, mustParse(t, text))
		mixture := make([]drawnPolicy, 1+rng.IntN(3))
		weights := make([]float64, len(mixture))
		for i := range weights {
			weights[i] = 0.1 + rng.Float64()
			mixture[i] = drawPolicy(rng, x)
		}
		floats.Scale(1/floats.Sum(weights), weights)
		memory := ""
		rows := func(yield func(PolicyRow) bool) {
			for i, policy := range mixture {
				for row := range x.PolicyRows(policy, Agent) {
					memory = cmp.Or(memory, row.Memory)
					if len(mixture) > 1 {
						row.Component, row.Weight = i+1, weights[i]
					}
					if !yield(row) {
						return
					}
				}
			}
		}
		if x.Model != nil {
			checkTables(t, x, tablesOf(x, rows), mixture)
		}
		file := filepath.Join(dir, "p."+[]string{"csv", "json", "npz"}[seed%3])
		if err := WritePolicy(file, x, rows); err != nil {
			t.Fatal(err)
		}
		got, err := ReadMixture(file, x)
		if err != nil || len(got) != len(mixture) || PolicyMemory(file) != memory {
			t.Fatalf("%s: %d policies, memory %q, %v: want %d, %q\n%s", file, len(got), PolicyMemory(file), err,
				len(mixture), memory, text)
		}
		for i, policy := range mixture {
			for at, probs := range policy {
				read := make([]float64, len(probs))
				got[i].Policy.Distribution(read, at[0], at[1])
				if !slices.Equal(read, probs) || len(mixture) > 1 && got[i].Weight != weights[i] {
					t.Fatalf("%s: policy %d, step %d, state %d: %v with weight %g: want %v, %g", file, i, at[0]+1, at[1],
						read, got[i].Weight, probs, weights[i])
				}
			}
		}
	}
}
