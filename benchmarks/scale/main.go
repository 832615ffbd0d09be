// Command scale measures how exact planning grows with the model, on random sparse
// models with 4 actions, 5 successors of each choice, 20 steps, 3 returns and two
// bounds that bind.
//
//	go run -tags glpk ./benchmarks/scale
//
// has six parts. "lp" solves small models by package exact and, as the occupancy-measure linear program, by
// GLPK and by HiGHS, which needs Debian's python3-scipy. "loop" compares the inner loop of value iteration with
// the bare loop over the same numbers. "large" solves models of up to a million states on one thread and on
// two, with successors anywhere and with successors nearby. "endless" solves models without a horizon,
// discounted and of total returns. "queries" plans the problem files of a folder. "products" plans with a
// budget in every episode, with and without storing the rows of the product. Each part keeps its records in
// scale.json; scale.md is made anew from all of them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/benchmarks/harness"

	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	parts    []string
	small    []int
	loop     []int
	large    []int
	endless  int
	products []int
	queries  string
	rounds   int
	limit    float64
	seed     uint64
	out      string
	report   bool
	job      string
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("scale", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringSliceVar(&o.parts, "part", partNames(), "parts to measure")
	f.IntSliceVar(&o.small, "lp-states", []int{50, 200, 1000}, "states of the models beside linear programs")
	f.IntSliceVar(&o.loop, "loop-states", []int{1000, 10_000, 100_000, 1_000_000},
		"states of the models for the inner loop")
	f.IntSliceVar(&o.large, "large-states", []int{10_000, 100_000, 1_000_000}, "states of the large models")
	f.IntVar(&o.endless, "endless-states", 1_000_000, "most states of a model without a horizon")
	f.IntSliceVar(&o.products, "product-states", []int{100, 1000, 10_000}, "states of the models with a budget")
	f.StringVar(&o.queries, "queries", filepath.Join("cmdp", "problem", "testdata", "qcomp"),
		"folder with the problem files of the queries")
	f.IntVar(&o.rounds, "rounds", 5,
		"repetitions of the smallest model of a part; every further one has two less, at least one")
	f.Float64Var(&o.limit, "limit", 150,
		"seconds after which a linear program, a plain iteration or a model without a horizon is cut off")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the models")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	f.BoolVar(&o.report, "report", false, "measure nothing, write the report of the stored records")
	f.StringVar(&o.job, "job", "", "measure one thing, described in JSON, in this process")
	f.Lookup("job").Hidden = true
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("scale: unexpected argument %q", f.Arg(0))
	}
	return &o, o.check()
}

func (o *options) check() error {
	for _, p := range o.parts {
		if !slices.Contains(partNames(), p) {
			return fmt.Errorf("scale: unknown part %q: want some of %s", p, strings.Join(partNames(), ", "))
		}
	}
	for _, list := range [][]int{o.small, o.loop, o.large, o.products} {
		for _, s := range list {
			if s < successors {
				return fmt.Errorf("scale: %d states: want at least %d", s, successors)
			}
		}
	}
	switch {
	case o.rounds < 1:
		return fmt.Errorf("scale: --rounds %d: want at least 1", o.rounds)
	case !(o.limit > 0):
		return fmt.Errorf("scale: --limit %g: want above 0", o.limit)
	}
	return nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.job != "" {
		return serve(ctx, o.job)
	}
	store, err := readStore(o.out)
	if err != nil {
		return err
	}
	if !o.report {
		for _, part := range allParts {
			if !slices.Contains(o.parts, part.name) {
				continue
			}
			rounds, err := part.rounds(o)
			if err != nil {
				return err
			}
			records, err := measure(ctx, rounds)
			if err != nil {
				return err
			}
			store[part.name] = section{Command: strings.Join(append([]string{"go run -tags glpk ./benchmarks/scale"},
				args...), " "), Machine: harness.Machine(), Records: records}
		}
		if err := store.write(o.out); err != nil {
			return err
		}
	}
	return harness.WritePage(o.out, "scale.md", store.markdown())
}

// serve does one job and prints its outcome.
func serve(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return fmt.Errorf("scale: --job: %w", err)
	}
	out, err := j.do(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
