package problem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
)

// loggedProblem has two steps, a state that only the second step leaves with a choice of one
// action, and a state in which the process rests.
const loggedProblem = `format: cmdp/1
horizon: 3
states: [a, b, end]
start: {a: 0.5, b: 0.5}
returns: [gain, harm]
transitions:
  - {state: a, action: stay, next: {a: 0.5, b: 0.5}, returns: [1, 0]}
  - {state: a, action: go, next: {b: 1}, returns: [0, 2]}
  - {state: b, action: stay, next: {b: 0.5, end: 0.5}, returns: [0, 1]}
goal: {maximize: gain}
`

func readLogged(t *testing.T, pooled bool, name, text string, opts LogOptions) (*cmdp.Counts, LogSize, error) {
	t.Helper()
	p, err := Parse("p.yaml", []byte(loggedProblem), nil)
	if err != nil {
		t.Fatal(err)
	}
	var confidence *cmdp.ReturnConfidence
	if opts.Returns {
		confidence = cmdp.NewReturnConfidence(p.Model.Shape(), 0, 0)
	}
	counts, err := cmdp.NewCounts(p.Model.Shape(), pooled, confidence)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	size, err := ReadLog(path, p.Process(), counts, opts)
	return counts, size, err
}

// TestReadLog reads the same two episodes in all forms. The second comes to rest after its
// first step, and its log may stop there.
func TestReadLog(t *testing.T) {
	const lines = `{"episode": 1, "step": 1, "state": "a", "action": "stay", "next": "a", "returns": [1, 0]}
{"episode": 1, "step": 2, "state": "a", "action": "go", "next": "b", "returns": {"harm": 2, "gain": 0}}

{"episode": 1, "step": 3, "state": "b", "action": "stay", "next": "b", "gain": 0, "harm": 1}
{"episode": "x", "step": 1, "state": "b", "action": "stay", "next": "end", "returns": [0, 0.5]}
`
	const table = "harm,episode,step,state,action,next,gain\n0,1,1,a,stay,a,1\n2,1,2,a,go,b,0\n1,1,3,b,stay,b,0\n0.5,x,1,b,stay,end,0\n"
	const counts = "state,step,action,next,count\na,1,stay,a,1\na,2,go,b,1\nb,3,stay,b,1\nb,1,stay,end,1\nb,2,stay,b,0\n"
	const sums = "state,action,next,count\na,stay,a,1\na,go,b,1\nb,stay,b,1\nb,stay,end,1\n"
	for _, tt := range []struct {
		name, file, text string
		opts             LogOptions
		pooled           bool
		episodes         int
	}{
		{"lines", "log.jsonl", lines, LogOptions{Returns: true, Support: true}, false, 2},
		{"lines, pooled", "log.ndjson", lines, LogOptions{Returns: true}, true, 2},
		{"table", "log.csv", table, LogOptions{Returns: true}, false, 2},
		{"table, with a mark and returns that are known", "log.csv", "\ufeff" + table, LogOptions{}, true, 2},
		{"counts", "log.csv", counts, LogOptions{}, false, 0},
		{"counts without steps", "log.CSV", sums, LogOptions{}, true, 0},
	} {
		c, size, err := readLogged(t, tt.pooled, tt.file, tt.text, tt.opts)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if (size != LogSize{tt.episodes, 4}) {
			t.Errorf("%s: %+v: want %d episodes, 4 transitions", tt.name, size, tt.episodes)
		}
		for _, want := range []struct {
			h, state, action int
			next             int32
		}{{0, 0, 0, 0}, {1, 0, 1, 1}, {2, 1, 0, 1}, {0, 1, 0, 2}} {
			next, times := c.AppendSuccessors(nil, nil, want.h, want.state, want.action)
			if i := slices.Index(next, want.next); i < 0 || times[i] != 1 {
				t.Errorf("%s: step %d, state %d, action %d was followed by %v, %v times: want once by %d", tt.name,
					want.h+1, want.state, want.action, next, times, want.next)
			}
		}
		mean := make([]float64, 2)
		if !tt.opts.Returns {
			continue
		}
		want := []float64{0, 0.5}
		if tt.pooled {
			want[1] = 0.75 // with the 1 of the third step
		}
		if !c.MeanReturn(mean, 0, 1, 0) || !slices.Equal(mean, want) {
			t.Errorf("%s: the mean return of b is %v: want %v", tt.name, mean, want)
		}
	}
	for _, name := range []string{"log.csv", "log.jsonl"} {
		for _, text := range []string{"", "episode,step,state,action,next\n"} {
			if name == "log.jsonl" && text != "" {
				continue
			}
			if c, size, err := readLogged(t, false, name, text, LogOptions{}); err != nil || c.Entries() != 0 ||
				size != (LogSize{}) {
				t.Errorf("%s %q: %d entries, %v: want none", name, text, c.Entries(), err)
			}
		}
	}
}

// TestDrawnLogs compares logs of drawn episodes of random models with counts that have seen the episodes themselves. A
// return may be called like a column of counts, and without a horizon a log has returns in the units of the problem.
func TestDrawnLogs(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 8))
	for trial := range 100 {
		p, _ := randomProblem(t, rng)
		if trial%2 == 0 {
			p = drawnRun(t, rng)
		}
		p.Returns[0] = []string{"count", "r0"}[rng.IntN(2)]
		shape, scale := p.Model.Shape(), 1.0
		if shape == nil {
			endless, err := cmdp.NewEndless(p.Model)
			if err != nil {
				t.Fatal(err)
			}
			if shape = endless.Shape(); !p.Model.Average() {
				scale = 1 / (1 - p.Model.Discount())
			}
		}
		if p.Model.Choices() == 0 {
			continue
		}
		var counts [2]*cmdp.Counts
		for i := range counts {
			var err error
			if counts[i], err = cmdp.NewCounts(shape, false, cmdp.NewReturnConfidence(shape, 0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		text := "episode,step,state,action,next," + strings.Join(p.Returns, ",") + "\n"
		got, tr := make([]float64, p.Model.Dim()), cmdp.NewTrajectory(shape)
		for episode := range 3 {
			s := p.Model.Start(rng)
			tr.Steps = 0
			for h := range cmp.Or(p.Model.Horizon(), 1+rng.IntN(4)) {
				actions, at := shape.Actions(min(h, shape.Horizon()-1), s), tr.Steps
				tr.States[at], tr.Actions[at], tr.States[at+1] = s, -1, s
				if actions > 0 {
					tr.Actions[at] = rng.IntN(actions)
					tr.States[at+1] = p.Model.Step(got, rng, h, s, tr.Actions[at])
					text += fmt.Sprintf("%d,%d,%d,%s,%d,%s\n", episode, h+1, s, p.ActionName(h, s, tr.Actions[at]),
						tr.States[at+1], strings.Trim(strings.ReplaceAll(fmt.Sprint(got), " ", ","), "[]"))
					for i, x := range got {
						tr.Return(at)[i] = scale * x
					}
				}
				if tr.Steps, s = at+1, tr.States[at+1]; tr.Steps == shape.Horizon() {
					counts[0].Observe(tr)
					tr.Steps = 0
				}
			}
		}
		file := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		size, err := ReadLog(file, p.Process(), counts[1], LogOptions{Returns: true, Support: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		rows := strings.Split(strings.TrimSpace(text), "\n")[1:]
		episodes := make(map[string]bool)
		for _, row := range rows {
			episodes[row[:1]] = true
		}
		if want := (LogSize{len(episodes), len(rows)}); size != want {
			t.Fatalf("%+v: want %+v\n%s", size, want, text)
		}
		sameCounts(t, shape, counts, text)
		for range min(3, len(rows)) {
			checkSpoilt(t, rng, p, shape, text, file)
		}
	}
}

// checkSpoilt changes one cell of a log, so that no log of the problem can be so. The error names the line, and why.
func checkSpoilt(t *testing.T, rng *rand.Rand, p *Problem, shape *cmdp.Shape, text, file string) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(text), "\n")
	at := 1 + rng.IntN(len(rows)-1)
	cells, before := strings.Split(rows[at], ","), strings.Split(rows[at-1], ",")
	step, _ := strconv.Atoi(cells[1])
	s, _ := strconv.Atoi(cells[2])
	goesOn := before[0] == cells[0]
	column, want := 2+rng.IntN(4), `unknown state "99"`
	cells[column] = "99"
	switch {
	case column == 3:
		want = fmt.Sprintf(`state %d offers no action "99" at step %d`, s, step)
	case column == 5:
		lower, upper := shape.StepReturns((step - 1) % shape.Horizon())
		least, most := lower[0], upper[0]
		if p.Model.Horizon() == 0 && !p.Model.Average() {
			least, most = least*(1-p.Model.Discount()), most*(1-p.Model.Discount())
		}
		want = fmt.Sprintf("%s 99: the problem's returns of a step go from %g to %g", p.Returns[0], least, most)
	case column == 2 && goesOn && p.Model.States() > 1 && rng.IntN(2) == 0:
		other := (s + 1) % p.Model.States()
		cells[2] = strconv.Itoa(other)
		if want = fmt.Sprintf("state %d, but the step before led to %d", other, s); p.Model.Horizon() > 0 {
			want = "state " + cells[2] // which may offer another action, or other returns
		}
	case column == 4 && goesOn:
		cells[1], cells[4] = strconv.Itoa(step+1), strings.Split(rows[at], ",")[4]
		want = fmt.Sprintf("step %d follows step ", step+1)
		switch {
		case step == p.Model.Horizon():
			want = fmt.Sprintf(`step "%d": want 1 to %d`, step+1, step)
		case !p.Model.Stationary():
			want = "" // the other step may have other actions or returns
		}
	}
	rows[at] = strings.Join(cells, ",")
	spoilt := strings.Join(rows, "\n")
	if err := os.WriteFile(file, []byte(spoilt), 0o600); err != nil {
		t.Fatal(err)
	}
	counts, err := cmdp.NewCounts(shape, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadLog(file, p.Process(), counts, LogOptions{})
	if want = fmt.Sprintf("log.csv:%d: %s", at+1, want); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v: want %s\n%s", err, want, spoilt)
	}
}

// TestLogsThatBreakOff cuts logs of an episode short. What is left is said to break off after its last row, unless the
// process only rests from then on.
func TestLogsThatBreakOff(t *testing.T) {
	rng, file := rand.New(rand.NewPCG(27, 2)), filepath.Join(t.TempDir(), "log.csv")
	broken := 0
	for range 100 { // states offer something at some steps and rest at others
		text := "format: cmdp/1\nhorizon: 5\nstates: 3\nstart: 0\nreturns: [r]\ntransitions:\n"
		for h := range 5 {
			for s := range 3 {
				if h+s == 0 || rng.IntN(2) == 0 {
					text += fmt.Sprintf("  - {state: %d, action: go, step: %d, next: {%d: 1}}\n", s, h+1, rng.IntN(3))
				}
			}
		}
		p := mustParse(t, text)
		shape, horizon := p.Model.Shape(), p.Model.Horizon()
		rows, steps, at := []string{"episode,step,state,action,next"}, []int{0}, make([]int, horizon+1)
		at[0] = p.Model.Start(rng)
		for h := range horizon {
			at[h+1] = at[h]
			if actions := shape.Actions(h, at[h]); actions > 0 {
				a := rng.IntN(actions)
				at[h+1] = p.Model.Step(make([]float64, p.Model.Dim()), rng, h, at[h], a)
				rows = append(rows, fmt.Sprintf("1,%d,%d,%s,%d", h+1, at[h], p.ActionName(h, at[h], a), at[h+1]))
				steps = append(steps, h+1)
			}
		}
		for n := 2; n <= len(rows); n++ {
			if err := os.WriteFile(file, []byte(strings.Join(rows[:n], "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			counts, err := cmdp.NewCounts(shape, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			size, err := ReadLog(file, p.Process(), counts, LogOptions{})
			want := fmt.Sprintf("log.csv:%d: episode 1 breaks off after step %d of %d", n, steps[n-1], horizon)
			if n < len(rows) {
				broken++
			}
			if n == len(rows) && (err != nil || size != LogSize{1, n - 1}) ||
				n < len(rows) && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Fatalf("%+v, %v: want %s\n%s", size, err, want, strings.Join(rows[:n], "\n"))
			}
		}
	}
	if broken < 100 {
		t.Errorf("%d logs break off: want many", broken)
	}
}

// drawnRun is a random model without a horizon. All of its states have actions.
func drawnRun(t *testing.T, rng *rand.Rand) *Problem {
	t.Helper()
	text := []string{"discount: 0.75", "criterion: average"}[rng.IntN(2)]
	text += "\nformat: cmdp/1\nstates: 3\nstart: 0\nreturns: [r0, r1]\ntransitions:\n"
	for s := range 3 {
		for a := range 2 {
			text += fmt.Sprintf("  - {state: %d, action: %d, next: {%d: 0.5, %d: 0.5}, returns: [%d, %d]}\n", s, a, s,
				(s+1)%3, rng.IntN(9)-4, rng.IntN(9))
		}
	}
	return mustParse(t, text)
}

// sameCounts compares numbers and mean returns of all choices.
func sameCounts(t *testing.T, shape *cmdp.Shape, counts [2]*cmdp.Counts, text string) {
	t.Helper()
	for h := range shape.Horizon() {
		for s := range shape.States() {
			for a := range shape.Actions(h, s) {
				var said [2]string
				for i, c := range counts {
					mean := make([]float64, shape.Dim())
					next, times := c.AppendSuccessors(nil, nil, h, s, a)
					seen := make(map[int32]float64)
					for k, n := range next {
						seen[n] = times[k]
					}
					known := c.MeanReturn(mean, h, s, a)
					for k, x := range mean {
						mean[k] = math.Round(1e9*x) / 1e9
					}
					said[i] = fmt.Sprint(seen, mean, known)
				}
				if said[0] != said[1] {
					t.Fatalf("step %d, state %d, action %d: %s, want %s\n%s", h+1, s, a, said[1], said[0], text)
				}
			}
		}
	}
}

// TestLogErrors wants all errors at once, each with its line, and no others that only follow
// from these.
func TestLogErrors(t *testing.T) {
	head := "episode,step,state,action,next,gain,harm\n"
	for _, tt := range []struct {
		name, file, text string
		opts             LogOptions
		want             []string
	}{
		{"everything", "log.csv", head +
			"1,1,a,stay,c,1,0\n" + "1,2,a,fly,b,1,0\n" + "1,9,b,stay,b,2,NaN\n" +
			"2,1,a,go,b,0,2\n" + "2,2,b,stay,b,0,1\n" +
			"3,1,a,go,b,0,2\n" + "3,3,b,stay,end,0,1\n" +
			"1,1,a,go,b,0,2\n" +
			"4,1,a,go,b,0,2\n" + "4,2,a,stay,a,1,0\n" +
			"5,2,a,go,b,0,2\n" + "6,1,end,go,b,0,2\n", LogOptions{},
			[]string{
				`2: unknown state "c"`, `3: state a offers no action "fly" at step 2`, `4: step "9": want 1 to 3`,
				`4: gain 2: the problem's returns of a step go from 0 to 1`, `4: harm "NaN": NaN is not a number`,
				"6: episode 2 breaks off after step 2 of 3", "8: step 3 follows step 1: want step 2",
				"9: episode 1 has ended before: want its rows together", "11: state a, but the step before led to b",
				"12: episode 5 begins at step 2: want step 1", `13: state end offers no action "go" at step 1`,
			}},
		{"last episode", "log.csv", head + "1,1,a,go,b,0,2\n", LogOptions{},
			[]string{"2: episode 1 breaks off after step 1 of 3"}},
		{"columns", "log.csv", "episode,step,state,action,nxt,state\n", LogOptions{Returns: true}, []string{
			`1: unknown column "nxt", did you mean "next"?`, "1: the column state is given twice",
			"1: the column next is missing: want episode, step",
			"1: the column gain is missing", "1: the column harm is missing"}},
		{"fields", "log.csv", head + "1,1,a\n", LogOptions{}, []string{"2: 3 fields: want 7 as the first line has"}},
		{"quote", "log.csv", head + "1,1,\"a\n", LogOptions{}, []string{"2: extraneous or missing \" in quoted-field"}},
		{"counts", "log.csv", "state,step,action,next,count\na,1,go,b,-1\na,1,go,b,3000000000\nb,1,go,b,1\n",
			LogOptions{}, []string{
				`2: count "-1": want a whole number`, `3: count "3000000000": want`,
				`4: state b offers no action "go" at step 1`}},
		{"counts without steps", "log.csv", "state,action,next,count\na,go,b,1\n", LogOptions{},
			[]string{"1: the column step is missing"}},
		{"counts and returns", "log.csv", "state,action,next,count\na,go,b,1\n", LogOptions{Returns: true},
			[]string{"1: counts tell nothing of returns"}},
		{"support", "log.csv", head + "1,1,a,go,a,0,2\n", LogOptions{Support: true},
			[]string{"2: action go of state a leads to a, which the problem says is not possible"}},
		{"lines", "log.jsonl", "[1]\n{\"episode\": 1}\n", LogOptions{},
			[]string{"1: got a list: want an object", "2: the column step is missing",
				"2: the column state is missing", "2: the column action is missing", "2: the column next is missing"}},
		{"values", "log.jsonl", `{"episode": 1, "step": 1, "state": "a", "action": "go", "next": ["b"], "returns": [1]}` + "\n{\n", LogOptions{}, []string{
			"1: next is a list: want a number or a name", "1: 1 returns: want 2", "1: the column next is missing"}},
		{"kinds", "log.jsonl", `{"state": "a", "action": "go", "next": "b", "count": 3, "step": 1}` + "\n" +
			`{"episode": 1, "step": 1, "state": "a", "action": "go", "next": "b"}` + "\n", LogOptions{},
			[]string{"2: episodes and counts in one file"}},
	} {
		_, _, err := readLogged(t, false, tt.file, tt.text, tt.opts)
		var errs Errors
		if !errors.As(err, &errs) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for i, e := range errs {
			if i >= len(tt.want) || !strings.Contains(e.Error(), ":"+tt.want[i]) {
				t.Errorf("%s: error %d is %v", tt.name, i, e)
			}
		}
		if len(errs) < len(tt.want) {
			t.Errorf("%s: %d errors: want %d", tt.name, len(errs), len(tt.want))
		}
	}
	if _, _, err := readLogged(t, false, "log.txt", "", LogOptions{}); err == nil ||
		!strings.Contains(err.Error(), "want a name that ends in .csv, .jsonl or .ndjson") {
		t.Errorf("another ending: %v", err)
	}
}

// FuzzReadLog wants every log to be read or to be refused with a line.
func FuzzReadLog(f *testing.F) {
	f.Add("episode,step,state,action,next,gain,harm\n1,1,a,stay,a,1,0\n1,2,a,go,b,0,2\n1,3,b,stay,b,0,1\n", true)
	f.Add(`{"episode": 1, "step": 1, "state": "b", "action": "stay", "next": "end", "returns": [0, 0.5]}`, false)
	f.Add("state,step,action,next,count\na,1,stay,a,1\n", true)
	f.Fuzz(func(t *testing.T, text string, table bool) {
		name := "log.jsonl"
		if table {
			name = "log.csv"
		}
		_, size, err := readLogged(t, false, name, text, LogOptions{Support: true})
		var errs Errors
		if err == nil {
			return
		}
		if !errors.As(err, &errs) || len(errs) == 0 || size != (LogSize{}) {
			t.Fatalf("%v of type %T: want Errors", err, err)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Message == "" {
				t.Fatalf("error without line or message: %+v", *e)
			}
		}
	})
}

// TestLogsOfWhatIsPossible: a log that is held to the problem has the successors of positive probability and no others.
func TestLogsOfWhatIsPossible(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 12))
	p := mustParse(t, "{format: cmdp/1, horizon: 1, states: 3, start: 0, returns: [r], transitions: []}")
	for range 50 {
		log, want, k := "state,action,next,count\n", []int(nil), cmdp.NewKernel()
		for s := range 3 {
			probs := []float64{0, 0, 0}
			for range 2 {
				probs[rng.IntN(3)] += 0.5
			}
			var next []int32
			var of []float64
			for to, q := range probs {
				if q > 0 || rng.IntN(2) == 0 { // a model may have successors of probability 0
					next, of = append(next, int32(to)), append(of, q)
				}
				log += fmt.Sprintf("%d,0,%d,2\n", s, to)
				if q == 0 {
					want = append(want, 2+3*s+to)
				}
			}
			k.Append(next, of, []float64{1})
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 1, Dim: 1, Start: p.Model.StartStates(),
			Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		counts, err := cmdp.NewCounts(m.Shape(), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadLog(file, p.WithModel(m).Process(), counts, LogOptions{Support: true})
		var errs Errors
		errors.As(err, &errs)
		var got []int
		for _, e := range errs {
			got = append(got, e.Line)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("lines %v are impossible: want %v of %+v\n%s", got, want, k, log)
		}
	}
}
