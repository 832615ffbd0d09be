package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp"
)

// playModel is a simulator for tests, which plays the model of a problem file. In an episode and
// step it may do something else: die, hang, write garbage, or invent a state; "silent" does not tell
// where episodes start, "settable" can be put into any state, and "ending" says besides that it may
// end. "serve" and a command line have it start that command and play for it.
func playModel() {
	p, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fault, episode, step := "", -1, -1
	in, to := bufio.NewReader(os.Stdin), io.Writer(os.Stdout)
	if len(os.Args) > 2 && os.Args[2] == "serve" {
		cmd := exec.Command(os.Args[3], os.Args[4:]...)
		cmd.Stderr = os.Stderr
		from, _ := cmd.StdoutPipe()
		to, _ = cmd.StdinPipe()
		in = bufio.NewReader(from)
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		defer func() {
			_, _ = io.Copy(os.Stdout, in) // the report
			if cmd.Wait() != nil {
				os.Exit(1)
			}
		}()
	} else if len(os.Args) > 2 {
		fault = os.Args[2]
		episode, _ = strconv.Atoi(os.Args[3])
		step, _ = strconv.Atoi(os.Args[4])
	}
	sh, scale := p.Model.Shape(), 1.0
	if sh == nil {
		endless, err := cmdp.NewEndless(p.Model)
		if err != nil {
			panic(err)
		}
		sh = endless.Shape()
		if !p.Model.Average() {
			scale = 1 - p.Model.Discount() // of the program's own returns
		}
	}
	hello := map[string]any{"hello": 1, "states": sh.States(), "start": sh.StartStates()[0].State}
	if fault == "silent" {
		delete(hello, "start")
	}
	if fault == "settable" || fault == "ending" {
		hello["set_state"], hello["terminates"] = true, fault == "ending"
	}
	actions, returns := make([]int, sh.States()), ""
	for s := range actions {
		actions[s] = sh.Actions(0, s)
	}
	lower, upper := sh.StepReturns(0)
	for i, name := range p.Returns {
		returns += fmt.Sprintf(`,%q:[%g,%g]`, name, scale*lower[i], scale*upper[i])
	}
	hello["actions"], hello["returns"] = actions, json.RawMessage("{"+returns[1:]+"}") // in this order
	out := json.NewEncoder(to)
	var rng *rand.Rand
	state, h, now, got := 0, 0, 0, make([]float64, sh.Dim())
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var ask struct {
			Hello, Start, Step *int
			Set                *int `json:"set_state"`
			Seed               uint64
			Close              bool
		}
		if err := json.Unmarshal(line, &ask); err != nil {
			panic(err)
		}
		switch {
		case ask.Hello != nil:
			_ = out.Encode(hello)
			continue
		case ask.Start != nil:
			rng, h, now = rand.New(rand.NewPCG(ask.Seed, 0)), 0, *ask.Start
			state = p.Model.Start(rng)
		case ask.Set != nil:
			state, h = *ask.Set, 0
		case ask.Step != nil:
			state = p.Model.Step(got, rng, h, state, *ask.Step)
			h++
		default:
			return
		}
		if now == episode && h == step {
			switch fault {
			case "die":
				os.Exit(7)
			case "hang":
				time.Sleep(time.Hour)
			case "garbage":
				fmt.Println("no JSON")
				continue
			case "invent":
				state = 99
			}
		}
		if h == 0 {
			_ = out.Encode(map[string]any{"state": state})
		} else {
			_ = out.Encode(map[string]any{"state": state, "returns": got})
		}
	}
}

// TestPolicyOfASimulator: a policy that was learned in a simulator has the states and steps of the simulator, all of
// them, whatever the simulator says of itself, and can be played there.
func TestPolicyOfASimulator(t *testing.T) {
	flagFolder(t)
	file := drawProblem(rand.New(rand.NewPCG(64, 5)), "horizon: 3").write(t, 1)
	text, _, _ := strings.Cut(readText(t, file), "transitions:")
	text = strings.NewReplacer("states: 3\n", "", "start: 0\n", "", "returns: [gain, cost]\n", "").Replace(text)
	text = regexp.MustCompile(`constraints.*\n`).ReplaceAllString(text, "")
	if err := os.WriteFile("task.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"", "silent", "settable"} {
		command := strings.TrimSpace("playmodel " + file + " " + kind)
		if kind != "" {
			command += " -1 -1"
		}
		printed(t, "json", "learn", "task.yaml", "--env-command", command, "--learner", "posterior", "--pool",
			"--episodes", "20", "--policy", "learned.csv", "--quiet")
		rows := map[string]bool{}
		for _, line := range strings.Split(strings.TrimSpace(readText(t, "learned.csv")), "\n")[1:] {
			cells := strings.Split(line, ",")
			rows[cells[1]+" at "+cells[0]] = true
		}
		for step := 1; step <= 3; step++ {
			for state := range 3 {
				row := fmt.Sprintf("%d at %d", state, step)
				if !rows[row] && step > 1 {
					t.Errorf("%q: no row %s", kind, row)
				}
				delete(rows, row)
			}
		}
		if len(rows) > 0 {
			t.Errorf("%q: rows of no state or step of the simulator: %v", kind, rows)
		}
		printed(t, "json", "simulate", "task.yaml", "--env-command", command, "--policy", "learned.csv", "--episodes", "4")
	}
}

// TestSamplesOfASimulator: a plan from samples of a simulator returns in the model that it plays what the samples say,
// with a horizon or a discount.
func TestSamplesOfASimulator(t *testing.T) {
	flagFolder(t)
	rng := rand.New(rand.NewPCG(66, 5))
	for _, when := range []string{"horizon: 3", "discount: 0.75"} {
		p := drawProblem(rng, when)
		p.limits = nil
		file := p.write(t, 1)
		if err := os.WriteFile("task.yaml", []byte("format: cmdp/1\n"+when+"\ngoal: {"+p.goal+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		text, _ := printed(t, "json", "plan", "task.yaml", "--simulator", "playmodel "+file+" settable -1 -1", "--sample",
			"3000", "--policy", "sampled.csv")
		told := answerOf(t, text)
		for name, x := range worthOf(t, file, "sampled.csv") {
			least, most := told.of("sample.at_least", name).num(""), told.of("sample.at_most", name).num("")
			if got := told.of("returns", name).num(""); !(least <= x && x <= most) || math.Abs(got-x) > 0.1*(1+math.Abs(x)) {
				t.Errorf("%s: samples say %g of %s, from %g to %g: the model %g", when, got, name, least, most, x)
			}
		}
	}
}

var fence = regexp.MustCompile("(?s)```(yaml|python|c)\n(.*?)```")

// TestSimulatorsOfTheManual lets learn play the examples of docs/simulators.md, and compares what
// it learned with the best policy of the same chain, which is worked out by its model.
func TestSimulatorsOfTheManual(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	page, err := os.ReadFile("../../docs/simulators.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, m := range fence.FindAllSubmatch(page, -1) {
		if err := os.WriteFile(filepath.Join(dir, "line."+string(m[1])), m[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	best := filepath.Join(dir, "best.yaml")
	task, err := os.ReadFile(filepath.Join(dir, "line.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	model := "states: 5\nstart: 0\nreturns: [reward, cost]\ntransitions:\n"
	for s := range 5 {
		// The simulators earn 1 where a step leads to state 4.
		on, back := min(s+1, 4), max(s-1, 0)
		earn := func(next int) string { return strconv.Itoa(next / 4) }
		model += fmt.Sprintf("  - {state: %d, action: 0, next: {%d: 1}, returns: [%s, 0]}\n", s, back, earn(back))
		model += fmt.Sprintf("  - {state: %d, action: 1, outcomes: [{probability: 0.8, next: %d, returns: [%s, "+
			"0.5]}, {probability: 0.2, next: %d, returns: [%s, 0.5]}]}\n", s, on, earn(on), s, earn(s))
	}
	if err := os.WriteFile(best, append(task, model...), 0o600); err != nil {
		t.Fatal(err)
	}
	var exactly struct{ Objective float64 }
	runJSON(t, &exactly, exitDone, "plan", best)
	optimum := exactly.Objective
	for name, prepare := range map[string]func() (string, error){
		"python": func() (string, error) { return exec.LookPath("python3") },
		"c": func() (string, error) {
			out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Werror", "-o", filepath.Join(dir, "line"),
				filepath.Join(dir, "line.c")).CombinedOutput()
			if len(out) > 0 {
				t.Errorf("gcc: %s", out)
			}
			return "", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := prepare()
			if err != nil {
				t.Skipf("the example in %s cannot be run here: %v", name, err)
			}
			command := map[string]string{"python": program + " " + filepath.Join(dir, "line.python"),
				"c": filepath.Join(dir, "line")}[name]
			args := []string{"learn", filepath.Join(dir, "line.yaml"), "--env-command", command, "--learner",
				"posterior", "--pool", "--episodes", "1500"}
			var rep, again map[string]any
			runJSON(t, &rep, exitDone, args...)
			// 1500 episodes have a standard error of some 0.05; learning costs the rest.
			if x := rep["objective"].(float64); x < optimum-0.4 || x > optimum+0.3 {
				t.Errorf("learned %g: the optimum is %g", x, optimum)
			}
			if v := rep["violation"].(float64); v > 0.1 {
				t.Errorf("violation %g: want nearly none", v)
			}
			if rep["exact"] != nil || rep["regret"] != nil {
				t.Errorf("exact %v, regret %v: nothing of them is known", rep["exact"], rep["regret"])
			}
			runJSON(t, &again, exitDone, args...)
			delete(rep, "seconds")
			delete(again, "seconds")
			if fmt.Sprint(rep) != fmt.Sprint(again) {
				t.Error("the same seed gives other numbers")
			}
		})
	}
}
