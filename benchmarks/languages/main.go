// Command languages measures what it takes to find the states of models in PRISM's language, to build them and
// to plan for them: processor time and peak memory of a process for each.
//
//	go run ./benchmarks/languages --models prism-benchmarks/models/mdps
//
// writes benchmarks/results/languages.md. The models are those of the PRISM Benchmark Suite
// (https://github.com/prismmodelchecker/prism-benchmarks).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

// A question is a property of a model with values of its constants, or what a problem file says besides.
type question struct {
	File      string
	Constants map[string]string
	Property  string
	Problem   string
}

// discounted is a question for a model whose undiscounted ones take many sweeps: the shared coin is a random walk.
const discounted = `format: cmdp/1
discount: 0.5
returns: {heads: {visits: "coin1=1"}, written: {visits: "pc1=2"}}
goal: {maximize: heads}
constraints: [{return: written, at_least: 0.2}]
`

var questions = []question{
	ask("consensus/coin4.nm", "K=4", `Pmax=? [F "finished" & !"agree"]`),
	ask("consensus/coin6.nm", "K=2",
		`multi(Pmax=? [F "finished" & "all_coins_equal_1"], P<=0.15 [F "finished" & !"agree"])`),
	ask("csma/csma2_6.nm", "", `R{"time"}min=? [F "all_delivered"]`),
	ask("csma/csma4_2.nm", "", `R{"time"}min=? [F "all_delivered"]`),
	ask("csma/csma3_4.nm", "", `R{"time"}min=? [F "all_delivered"]`),
	ask("wlan/wlan4.nm", "COL=0", `R{"cost"}min=? [F s1=12 & s2=12]`),
	ask("wlan/wlan5.nm", "COL=0", `R{"cost"}min=? [F s1=12 & s2=12]`),
	ask("wlan/wlan5.nm", "COL=0", `multi(R{"cost"}min=? [F s1=12 & s2=12], R{"time"}<=5000 [F s1=12 & s2=12])`),
	ask("wlan/wlan6.nm", "COL=0", `multi(R{"cost"}min=? [F s1=12 & s2=12], R{"time"}<=5000 [F s1=12 & s2=12])`),
	ask("wlan_dl/wlan_dl6.nm", "deadline=80", `multi(Pmax=? [F s1=12 & s2=12], P<=0.5 [F s1=12])`),
	ask("wlan_dl/wlan_dl6.nm", "deadline=80", `multi(Pmax=? [F s1=12 & s2=12], P<=0.9 [F s1=12])`),
	{File: "consensus/coin6.nm", Constants: map[string]string{"K": "49"}, Problem: discounted},
}

// ask returns a question for a property, with the value of a constant.
func ask(file, constant, property string) question {
	q := question{File: file, Property: property}
	if name, value, ok := strings.Cut(constant, "="); ok {
		q.Constants = map[string]string{name: value}
	}
	return q
}

func (q question) String() string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(q.Constants)) {
		values = append(values, name+"="+q.Constants[name])
	}
	return strings.TrimSpace(strings.TrimSuffix(filepath.Base(q.File), ".nm") + " " + strings.Join(values, ","))
}

// A record is what a process measured; seconds are of processor time, bytes the most that it held.
type record struct {
	States, Choices, Transitions int
	Exploring                    float64 `json:",omitempty"`
	Building                     float64 `json:",omitempty"`
	Planning                     float64 `json:",omitempty"`
	Answer                       string  `json:",omitempty"`
	Model                        float64 `json:",omitempty"` // bytes of the rows
	Bytes                        float64
}

type options struct {
	models, out, job, command string
	only                      []string
	bytes                     int
}

func main() { harness.Main(run) }

func run(ctx context.Context, args []string) error {
	var o options
	f := pflag.NewFlagSet("languages", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.models, "models", "", "folder of the models, models/mdps of prism-benchmarks")
	f.StringSliceVar(&o.only, "only", nil, "models to measure, such as csma3_4; all of them if not given")
	f.IntVar(&o.bytes, "megabytes", 16_000, "memory that a model may take")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	f.StringVar(&o.job, "job", "", "explore or plan for one model, in this process")
	f.Lookup("job").Hidden = true
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.models == "" || o.job != "" && f.NArg() != 1 || o.job == "" && f.NArg() > 0 {
		return errors.New("languages: want --models FOLDER and no arguments")
	}
	o.command = harness.Command(f, "out", "models")
	if o.job != "" {
		return o.work(ctx, f.Arg(0))
	}
	text, err := o.measure(ctx)
	fmt.Print(text)
	if err != nil || o.only != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "languages.md"), []byte(text), 0o644)
}

// work measures one question in this process and writes the record.
func (o *options) work(ctx context.Context, text string) error {
	var q question
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return err
	}
	path := filepath.Join(o.models, q.File)
	var r record
	var err error
	if o.job == explore {
		err = r.explore(ctx, path, &q)
	} else {
		err = r.plan(ctx, path, &q, o.bytes<<20)
	}
	if err != nil {
		return err
	}
	r.Bytes = harness.PeakMemory()
	return json.NewEncoder(os.Stdout).Encode(&r)
}

const explore, plan = "explore", "plan"

// counted counts choices and forgets them.
type counted struct{ choices int }

func (c *counted) State(int, []float64) error { return nil }

func (c *counted) Choice(int, []int32, []float64, []float64, []float64) error {
	c.choices++
	return nil
}

func (r *record) explore(ctx context.Context, path string, q *question) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p, err := formats.Program(path, text, q.Constants)
	if err != nil {
		return err
	}
	before := harness.ProcessorTime()
	var c counted
	found, err := language.Explore(ctx, p, &c, language.ExploreOptions{})
	if err != nil {
		return err
	}
	r.Exploring = (harness.ProcessorTime() - before).Seconds()
	r.States, r.Choices, r.Transitions = found.States.Len(), c.choices, found.Transitions
	return nil
}

// read reads the problem of a question for the model at a path.
func (q *question) read(path string, bytes int) (*problem.Problem, error) {
	o := problem.ReadOptions{Constants: q.Constants, Bytes: bytes}
	if q.Problem != "" {
		text := q.Problem + "transitions: {file: " + filepath.Base(path) + "}\n"
		return problem.ReadFrom(strings.NewReader(text), filepath.Join(filepath.Dir(path), "question.yaml"), o)
	}
	o.Property = &problem.Property{File: "--property", Text: q.Property}
	return problem.ReadWith(path, o)
}

func (r *record) plan(ctx context.Context, path string, q *question, bytes int) error {
	before := harness.ProcessorTime()
	p, err := q.read(path, bytes)
	if err != nil {
		return err
	}
	built := harness.ProcessorTime()
	r.Model = float64(p.Model.Kernel(0).Bytes())
	r.States, r.Choices, r.Transitions = p.Model.States(), p.Model.Choices(), p.Model.Transitions()
	asked, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return err
	}
	answer, err := exact.Solve(ctx, asked.Model, asked.Task, exact.Options{})
	if err != nil {
		return err
	}
	r.Building = (built - before).Seconds()
	r.Planning = (harness.ProcessorTime() - built).Seconds()
	r.Answer = fmt.Sprintf("%s %.7g", answer.Status, math.Abs(answer.Objective))
	return nil
}

// measure measures all questions, each in two processes: one that explores, and one that builds the model and plans.
func (o *options) measure(ctx context.Context) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `# Models in languages

`+"```sh\n%s --models prism-benchmarks/models/mdps\n```"+`

What it takes to find the states of models of the PRISM Benchmark Suite, to build the model, and to plan for it, with a proof. Seconds are
processor time of all threads, memory is the most that a process held: one that explores and forgets what it finds, and one that
builds and plans; the rows of the model are part of it. States a second are those of the exploration alone.

Machine: %s. It was shared with other work.

| model | states | choices | transitions | exploring, s | states/s | MB | rows, MB | building, s | planning, s | MB | property | answer |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, o.command, harness.Machine())
	for _, q := range questions {
		name, _, _ := strings.Cut(q.String(), " ")
		if o.only != nil && !slices.Contains(o.only, name) {
			continue
		}
		explored, err := o.start(ctx, explore, q)
		if err != nil {
			return b.String(), fmt.Errorf("languages: %s: %w", q, err)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.2f | %.3g | %.0f |", q, explored.States, explored.Choices,
			explored.Transitions,
			explored.Exploring, float64(explored.States)/explored.Exploring, explored.Bytes/1e6)
		planned, err := o.start(ctx, plan, q)
		property := strings.ReplaceAll(q.Property+strings.Join(strings.Split(q.Problem, "\n"), " "), "|", `\|`)
		if err != nil {
			fmt.Fprintf(&b, " | | | | `%s` | %s |\n", property, err)
			continue
		}
		fmt.Fprintf(&b, " %.1f | %.2f | %.2f | %.0f | `%s` | %s |\n", planned.Model/1e6, planned.Building,
			planned.Planning,
			planned.Bytes/1e6, property, planned.Answer)
	}
	return b.String(), nil
}

// start measures a question in a process of its own.
func (o *options) start(ctx context.Context, job string, q question) (*record, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	var r record
	err = harness.Again(ctx, &r, "--models", o.models, "--megabytes", fmt.Sprint(o.bytes), "--job", job, string(text))
	fmt.Fprintf(os.Stderr, "%s, %s: %+v\n", q, job, r)
	return &r, err
}
