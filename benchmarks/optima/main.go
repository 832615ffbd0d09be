// Command optima solves every built-in problem for one player at its defaults and writes what proves the optimum:
//
//	go run ./benchmarks/optima
//
// writes a certificate and the policy of each to docs/certificates, and the table of docs/instances.md. With --check it
// verifies the files that are there, without solving anything.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/pflag"
)

// A certificate says what the optimum of a problem is and proves it. Objective is what the policy of the file
// Policy reaches, whose returns are Returns. Bound is what no policy that keeps the limits is beyond, which
// Proof shows. Proof is about a cost to be minimised: the objective, or its negative if that is to be
// maximised.
type certificate struct {
	Problem   string             `json:"problem"`
	Wanted    string             `json:"wanted"`
	Objective float64            `json:"objective"`
	Bound     float64            `json:"bound"`
	Returns   map[string]float64 `json:"returns"`
	Limits    []limit            `json:"limits"`
	Policy    string             `json:"policy"`
	Proof     *exact.Proof       `json:"proof"`
}

// A limit is kept by the policy. Its price is the rate at which the objective improves when the limit gives.
type limit struct {
	Return string  `json:"return"`
	Kind   string  `json:"kind"` // at_most or at_least
	Bound  float64 `json:"bound"`
	Price  float64 `json:"price"`
}

// String writes the limit with nine digits.
func (l limit) String() string {
	return fmt.Sprintf("%s %s %.9g", l.Return, map[string]string{"at_most": "≤", "at_least": "≥"}[l.Kind], l.Bound)
}

// options are the flags.
type options struct {
	folder, page string
	check        bool
}

func main() { harness.Main(run) }

func run(ctx context.Context, args []string) error {
	var o options
	f := pflag.NewFlagSet("optima", pflag.ContinueOnError)
	f.StringVar(&o.folder, "folder", "docs/certificates", "folder of the certificates")
	f.StringVar(&o.page, "page", "docs/instances.md", "page with the table")
	f.BoolVar(&o.check, "check", false, "verify the certificates that are there")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.check {
		all, err := read(ctx, o.folder)
		for _, c := range all {
			fmt.Printf("%s: %.9g is reached, and nothing beyond %.9g can be\n", c.Problem, c.Objective, c.Bound)
		}
		return err
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return err
	}
	for _, name := range names() {
		if err := o.prove(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	all, err := read(ctx, o.folder)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	text, err := withTable(string(page), table(all))
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(o.page, []byte(text))
}

// names lists the built-in problems for one player.
func names() []string {
	var list []string
	for _, name := range instance.Names() {
		p, err := instance.New(name)
		if err == nil && p.Fleet == nil && !p.Model.Shape().Game() {
			list = append(list, name)
		}
	}
	return list
}

// prove solves a problem and writes its certificate and its policy.
func (o *options) prove(ctx context.Context, name string) error {
	p, err := instance.New(name)
	if err != nil {
		return err
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return err
	}
	r, err := q.Solve(ctx, exact.Options{})
	if err != nil {
		return err
	}
	if r.Status != exact.Optimal || r.Policy == nil {
		return fmt.Errorf("no optimal policy: %v", r.Status)
	}
	c := certificate{Problem: name, Wanted: p.Goal.String(), Returns: make(map[string]float64), Policy: name + ".npz",
		Proof: r.Proof}
	c.Objective, c.Bound = q.Sense()*r.Objective, q.Sense()*r.Bound
	for i, x := range r.Returns {
		c.Returns[p.Returns[i]] = x
	}
	for _, s := range q.Standings(r) { // no built-in problem has a curved target
		c.Limits = append(c.Limits, limit{s.Limit.Return, s.Limit.Kind(), s.Limit.Bound, s.Price})
	}
	if err := problem.WritePolicy(filepath.Join(o.folder, c.Policy), q.Process,
		q.PolicyRows(r.Policy, problem.Agent)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(o.folder, name+".json"), append(text, '\n'))
}

// read reads the certificates of all problems and verifies them.
func read(ctx context.Context, folder string) ([]*certificate, error) {
	var all []*certificate
	for _, name := range names() {
		text, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			return nil, err
		}
		c := new(certificate)
		if err := json.Unmarshal(text, c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if c.Problem != name {
			return nil, fmt.Errorf("%s: the certificate is of %s", name, c.Problem)
		}
		if err := c.verify(ctx, folder); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// closeness is how near to each other Objective and Bound are, relative to the objective.
const closeness = 1e-6

// verify returns an error unless the policy keeps the limits and reaches the objective, and the proof shows the bound.
func (c *certificate) verify(ctx context.Context, folder string) error {
	p, err := instance.New(c.Problem)
	if err != nil {
		return err
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return err
	}

	bound, err := exact.VerifyBound(ctx, p.Model, q.Task, c.Proof)
	if err != nil {
		return err
	}
	tolerance := closeness * (1 + math.Abs(c.Objective))
	if proved := q.Sense() * bound; !(math.Abs(proved-c.Bound) <= 1e-9*(1+math.Abs(c.Bound))) {
		return fmt.Errorf("the proof shows %g, not %g", proved, c.Bound)
	}
	if !(math.Abs(c.Objective-c.Bound) <= tolerance) {
		return fmt.Errorf("the objective %g is not near the bound %g", c.Objective, c.Bound)
	}
	if err := c.verifyPolicy(q, folder); err != nil {
		return fmt.Errorf("%s: %w", c.Policy, err)
	}
	return c.verifyLimits(q.Rows())
}

// verifyPolicy plays the policy in the model.
func (c *certificate) verifyPolicy(q *query.Query, folder string) error {
	policy, err := problem.ReadPolicy(filepath.Join(folder, c.Policy), q.Process)
	if err != nil {
		return err
	}
	returns := make([]float64, q.Model.Dim())
	cmdp.NewEvaluator(q.Model).Returns(returns, policy)
	for i, x := range returns {
		if name := q.Returns[i]; !(math.Abs(x-c.Returns[name]) <= 1e-9*(1+math.Abs(x))) {
			return fmt.Errorf("%s is %g, not %g", name, x, c.Returns[name])
		}
	}
	if missed := q.Task.Violation(returns); !(missed <= 1e-8) {
		return fmt.Errorf("the limits are missed by %g", missed)
	}
	if reached := q.Objective(returns); !(math.Abs(reached-c.Objective) <= 1e-9*(1+
		math.Abs(reached))) {
		return fmt.Errorf("it reaches %g, not %g", reached, c.Objective)
	}
	return nil
}

// verifyLimits compares limits and prices with those of the problem and the proof.
func (c *certificate) verifyLimits(rows []*query.Limit) error {
	if len(c.Limits) != len(rows) {
		return fmt.Errorf("%d limits: want %d", len(c.Limits), len(rows))
	}
	for i, l := range c.Limits {
		of := rows[i]
		if l.Return != of.Return || l.Kind != of.Kind() || l.Bound != of.Bound {
			return fmt.Errorf("limit %v: want %s", l, of.Name)
		}
		price := 0.0
		for k, row := range c.Proof.Rows {
			if row.Name == of.Name {
				price += c.Proof.Prices[k]
			}
		}
		if !(math.Abs(price-l.Price) <= 1e-9*(1+price)) {
			return fmt.Errorf("the price of %v is %g in the proof, not %g", l, price, l.Price)
		}
	}
	return nil
}

// table writes the table of the page.
func table(all []*certificate) string {
	var b strings.Builder
	b.WriteString("| instance | goal | reached | certified bound | limits | prices | proof " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		var limits, prices []string
		for _, l := range c.Limits {
			limits, prices = append(limits, l.String()), append(prices, fmt.Sprintf("%.9g", l.Price))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %.9g | %.9g | %s | %s | [certificate](certificates/%[1]s.json), "+
			"[policy](certificates/%[7]s) |\n",
			c.Problem, c.Wanted, c.Objective, c.Bound, strings.Join(limits, ", "), strings.Join(prices, ", "), c.Policy)
	}
	return b.String()
}

// The table of the page stands between two lines.
const (
	begin = "<!-- written by go run ./benchmarks/optima -->\n"
	end   = "<!-- end -->\n"
)

// withTable returns a page with another table.
func withTable(page, table string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("the page has no place for the table")
	}
	return before + begin + table + end + after, nil
}
