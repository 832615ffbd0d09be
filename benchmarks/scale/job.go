package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
)

// The models of all parts.
const (
	actions    = 4
	successors = 5
	horizon    = 20
	dim        = 3
)

// A job is one measurement. Each has a process of its own, so that peak memory is
// its own and one that takes too long can be ended.
type job struct {
	// "exact", "local", "loop", "endless", "structure", "curve", "generated", "stored", "glpk", "glpsol",
	// "highs-ds", "highs-ipm"
	Kind    string  `json:"kind"`
	States  int     `json:"states"`
	Seed    uint64  `json:"seed"`
	Threads int     `json:"threads"`
	Limit   float64 `json:"limit,omitempty"` // seconds, of linear programs and plain iterations
	// Of models without a horizon.
	Family string  `json:"family,omitempty"`
	Gamma  float64 `json:"gamma,omitempty"`
	File   string  `json:"file,omitempty"` // of a query
}

// An outcome is what a job found. Fields that do not concern its kind are zero.
type outcome struct {
	Missing   string  `json:"missing,omitempty"` // why the solver is not there
	CutOff    bool    `json:"cutOff,omitempty"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processor"` // seconds of all threads together
	Objective float64 `json:"objective"`
	Peak      float64 `json:"peak"` // bytes of the process, at most

	Rows    int `json:"rows,omitempty"` // of the linear program
	Columns int `json:"columns,omitempty"`
	Steps   int `json:"iterations,omitempty"` // of the simplex method

	exactOutcome
	loopOutcome
	endlessOutcome
	structureOutcome
	queryOutcome
}

// allParts are the parts of the report: what each measures, in rounds, and its section. Within a round one
// job comes after the other, so that what else the machine does meets all of them alike.
var allParts = []struct {
	name   string
	rounds func(o *options) ([][]job, error)
	write  func(*strings.Builder, section)
}{
	{"lp", func(o *options) ([][]job, error) {
		round := []job{{Kind: "exact", Threads: 1}}
		for _, kind := range []string{"highs-ds", "highs-ipm", "glpsol", "glpk"} {
			round = append(round, job{Kind: kind, Threads: 1, Limit: o.limit})
		}
		return o.sized(o.small, round), nil
	}, writePrograms},
	{"loop", func(o *options) ([][]job, error) { return o.sized(o.loop, []job{{Kind: "loop", Threads: 1}}), nil },
		writeLoops},
	{"large", func(o *options) ([][]job, error) {
		return o.sized(o.large, []job{{Kind: "exact", Threads: 1}, {Kind: "exact", Threads: 2},
			{Kind: "local", Threads: 1}, {Kind: "local", Threads: 2}}), nil
	}, writeLarge},
	{"endless", func(o *options) ([][]job, error) { return append(o.endlessRounds(), o.structureRounds()...), nil },
		func(b *strings.Builder, sec section) {
			writeEndless(b, sec)
			writeStructures(b, sec)
		}},
	{"queries", (*options).queryRounds, writeQueries},
	{"products", func(o *options) ([][]job, error) { return o.productRounds(), nil }, writeProducts},
}

func partNames() (names []string) {
	for _, p := range allParts {
		names = append(names, p.name)
	}
	return names
}

// sized repeats a round for models of every size, the smallest most often.
func (o *options) sized(sizes []int, round []job) (all [][]job) {
	for i, states := range sizes {
		for range max(1, o.rounds-2*i) {
			next := slices.Clone(round)
			for k := range next {
				next[k].States, next[k].Seed = states, o.seed
			}
			all = append(all, next)
		}
	}
	return all
}

// measure does the jobs of all rounds.
func measure(ctx context.Context, rounds [][]job) ([]record, error) {
	var records []record
	for i, round := range rounds {
		for _, j := range round {
			out, err := j.spawn(ctx)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "%s %s, %d states, %d threads: %.4g s\n", j.Kind, j.Family+j.File, j.States,
				j.Threads, out.Seconds)
			records = append(records, record{job: j, Round: i, outcome: *out})
		}
	}
	return records, nil
}

// spawn does a job in a process of its own.
func (j job) spawn(ctx context.Context) (*outcome, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if j.Limit > 0 { // a solver may be late to look at its own limit
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration((1.5*j.Limit+60)*float64(time.Second)))
		defer cancel()
	}
	out := new(outcome)
	err = harness.Again(ctx, out, "--job", string(text))
	switch {
	case err != nil && j.Limit > 0 && ctx.Err() == context.DeadlineExceeded:
		return &outcome{CutOff: true, Seconds: j.Limit, Processor: j.Limit}, nil
	case err != nil:
		return nil, fmt.Errorf("scale: %s: %w", text, err)
	}
	return out, nil
}

func (j job) do(ctx context.Context) (*outcome, error) {
	switch j.Kind {
	case "endless":
		return j.endless(ctx)
	case "structure":
		return j.structure(ctx)
	case "curve":
		return j.curve(ctx)
	case "query":
		return j.query(ctx)
	case "generated", "stored":
		return j.product(ctx)
	case "plain-vi":
		return j.plain(ctx, 0)
	case "plain-mpi":
		return j.plain(ctx, 20)
	}
	if j.Kind == "local" {
		p, err := j.localProblem(ctx)
		if err != nil {
			return nil, err
		}
		return j.solve(ctx, p)
	}
	p, err := j.problem()
	if err != nil {
		return nil, err
	}
	switch j.Kind {
	case "exact":
		return j.solve(ctx, p)
	case "loop":
		return j.loop(ctx, p)
	}
	program, err := occupancy(p)
	if err != nil {
		return nil, err
	}
	switch j.Kind {
	case "glpk":
		return j.glpk(program)
	case "glpsol":
		return j.glpsol(ctx, program)
	case "highs-ds", "highs-ipm":
		return j.highs(ctx, program)
	}
	return nil, fmt.Errorf("scale: unknown kind of job %q", j.Kind)
}

// problem draws the model. Its bounds lie half-way between the returns of the best
// policy and those of a cautious one, so that it is feasible; see instance.Garnet.
func (j job) problem() (*problem.Problem, error) {
	return instance.Garnet{
		States: j.States, Actions: actions, Horizon: horizon, Dim: dim, Branching: successors,
		Budget: 0.5, Stationary: true, Seed: j.Seed,
	}.Problem()
}
