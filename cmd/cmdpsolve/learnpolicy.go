package main

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"

	"github.com/spf13/pflag"
)

// learnFiles are the files that learn writes beside its report.
type learnFiles struct{ policy, mixture, plot string }

func (o *learnFiles) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.policy, "policy", "",
		"write the best policy by what was seen to `FILE`, as plan does (the shares seen are taken for "+
			"probabilities, and actions never taken are left out)")
	f.StringVar(&o.mixture, "mixture", "",
		"write to `FILE` the policy that does in each state and step what the run did there, in the same shares: "+
			"its returns are those of the run, on average")
	f.StringVar(&o.plot, "plot", "", "draw regret and violation against episodes to `FILE`, .svg, .png or .pdf")
}

// check refuses files that cannot be written, before anything is played.
func (o *learnFiles) check(p *loaded, seeds int) error {
	for _, file := range []struct{ option, path string }{{"--policy", o.policy}, {"--mixture", o.mixture}} {
		if file.path == "" {
			continue
		}
		source := slices.Contains([]string{".c", ".go"}, strings.ToLower(filepath.Ext(file.path)))
		switch {
		case p.isGame():
			return usage("%s %s: in a game a learner adapts to the opponent, and no one policy does what it does",
				file.option, file.path)
		case seeds > 1:
			return usage("%s %s: %d runs learn a policy each: want --seeds 1", file.option, file.path, seeds)
		case p.hello != nil && source:
			return usage("%s %s: a controller in source code is written from a model, and a simulator has none: "+
				"want .csv, .json or .npz", file.option, file.path)
		}
		if err := policyFile(file.option, file.path); err != nil {
			return err
		}
	}
	return drawable(o.plot)
}

// learnedPolicy is a policy that was written, with its exact expected returns if there is a model.
type learnedPolicy struct {
	Policy    string        `json:"policy"` // "best estimate" or "mixture"
	File      string        `json:"file"`
	Returns   named         `json:"returns,omitzero"`
	Objective report.Number `json:"objective"`
	Violation report.Number `json:"violation"`
	// Feasible says whether the best estimate keeps the limits by what was seen.
	Feasible *bool `json:"feasible,omitempty"`
}

// writePolicies writes the policies that were asked for. The best estimate says what to do in
// states to which the run never came.
func (c *learnCommand) writePolicies(ctx context.Context, s *session) (list []learnedPolicy, err error) {
	if c.files.policy == "" && c.files.mixture == "" {
		return nil, nil
	}
	run := s.trials[0].Run
	if run.Runner.Episodes() == 0 {
		return nil, errors.New("no policy is written: nothing was played")
	}
	ctx, cancel := lasting(ctx, patience) // what an interrupted run knows is wanted too
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = errors.New("no policy is written: after an interruption there was too little time to find it")
		}
	}()
	best, feasible, err := run.BestEstimate(ctx)
	if err != nil {
		return nil, err
	}
	if c.files.policy != "" {
		learned, err := s.learned(ctx, "best estimate", c.files.policy, best)
		if err != nil {
			return nil, err
		}
		learned.Feasible = &feasible
		list = append(list, learned)
		if err := c.writeRows(c.files.policy, s.p.Process, learnedRows(s.p, best)); err != nil {
			return list, err
		}
	}
	if c.files.mixture == "" {
		return list, nil
	}
	mixture, err := run.Mixture(best)
	if err != nil {
		return nil, err
	}
	learned, err := s.learned(ctx, "mixture", c.files.mixture, mixture)
	if err != nil {
		return nil, err
	}
	return append(list, learned), c.writeRows(c.files.mixture, s.p.Process, learnedRows(s.p, mixture))
}

// learned says what a policy is worth in the model.
func (s *session) learned(ctx context.Context, what, file string, policy cmdp.Policy) (learnedPolicy, error) {
	out := learnedPolicy{Objective: report.NaN, Violation: report.NaN}
	if s.p.Model != nil {
		var err error
		out, err = worth(ctx, s.p, policy)
		if err != nil {
			return out, err
		}
	}
	out.Policy, out.File = what, file
	return out, nil
}

// worth evaluates a policy in the model.
func worth(ctx context.Context, p *loaded, policy cmdp.Policy) (learnedPolicy, error) {
	v := make([]float64, p.Model.Dim())
	if p.endless() > 0 {
		e, err := exact.Evaluate(ctx, p.Model, policy)
		if err != nil {
			return learnedPolicy{}, err
		}
		v = e.Returns
	} else {
		cmdp.NewEvaluator(p.Model).Returns(v, policy)
	}
	return learnedPolicy{Returns: p.named(v), Objective: report.Number(p.Objective(v)),
		Violation: report.Number(p.Task.Violation(v))}, nil
}

// learnedRows are the rows of a policy. Those of a simulator have its own states and steps,
// without what its shape adds.
func learnedRows(p *loaded, policy cmdp.Policy) iter.Seq[problem.PolicyRow] {
	rows := p.PolicyRows(policy, problem.Agent)
	if p.hello == nil || p.hello.Start != nil {
		return rows
	}
	first := p.StateName(p.Shape().States() - 1)
	return func(yield func(problem.PolicyRow) bool) {
		for row := range rows {
			row.Step--
			if row.Step > 0 && row.State != first && !yield(row) {
				return
			}
		}
	}
}
