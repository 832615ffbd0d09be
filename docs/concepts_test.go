package docs

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// dronePicture draws what policies of the drone can return, in the plane of crashes and
// deliveries, with the limit of crashes and its price.
func dronePicture() (*chart.Figure, error) {
	p, err := problem.ReadWith("examples/delivery.yaml", problem.ReadOptions{Set: map[string]string{"wanted": "0"}})
	if err != nil {
		return nil, err
	}
	q, err := query.New(context.Background(), p, query.CompileOptions{})
	if err != nil {
		return nil, err
	}
	task, box := q.Task, q.Task.Box
	m := q.Model
	delivered, crash := slices.Index(q.Returns, "delivered"), slices.Index(q.Returns, "crash")
	ctx := context.Background()
	all := chart.Curve{Name: "what policies can return", Free: true}
	for k := range 721 {
		angle := float64(k) / 360 * math.Pi
		dir := make([]float64, m.Dim())
		dir[delivered], dir[crash] = math.Cos(angle)/10, math.Sin(angle)
		r, err := best(ctx, m, box, dir, cmdp.Task{Box: box})
		if err != nil {
			return nil, err
		}
		all.X, all.Y = append(all.X, 100*r.Returns[crash]), append(all.Y, 100*r.Returns[delivered])
	}
	all.X, all.Y = append(all.X, all.X[0]), append(all.Y, all.Y[0])
	dir := make([]float64, m.Dim())
	dir[delivered] = -1
	r, err := best(ctx, m, box, dir, task)
	if err != nil {
		return nil, err
	}
	price := 0.0
	for k, l := range q.Rows() {
		if l.Return == "crash" {
			price = r.Prices[k].Value
		}
	}
	x, y := 100*r.Returns[crash], 100*r.Returns[delivered]
	side := chart.Curve{Name: "limit: at most 3 crashes", Free: true, X: []float64{x, x}, Y: []float64{0, 100}}
	slope := chart.Curve{Name: "price: deliveries for one more crash", Free: true, X: []float64{x - 1.5, x + 1.5},
		Y: []float64{y - 1.5*price, y + 1.5*price}}
	point := chart.Curve{Name: "best within the limit", Marks: true, X: []float64{x}, Y: []float64{y}}
	return &chart.Figure{Title: "A hundred flights", Panels: []chart.Panel{{
		X: chart.Axis{Title: "crashes"}, Y: chart.Axis{Title: "deliveries"},
		Curves: []chart.Curve{all, side, slope, point},
	}}}, nil
}

// best minimises ⟨dir, V⟩ within the target of a task.
func best(ctx context.Context, m *cmdp.Model, box *geometry.Box, dir []float64, task cmdp.Task) (*exact.Result, error) {
	g, err := cost.NewLinear(dir, box)
	if err != nil {
		return nil, err
	}
	task.Cost = g
	return exact.Solve(ctx, m, task, exact.Options{})
}

func TestPictureOfConcepts(t *testing.T) { holdPicture(t, "concepts.svg", dronePicture) }

// TestRowsOfThePolicy: the rows that the tutorial shows are those of the policy.
func TestRowsOfThePolicy(t *testing.T) {
	page, err := os.ReadFile("tutorial-1-plan.md")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile("examples/delivery-policy.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```csv\n")
	block, _, _ = strings.Cut(block, "```")
	if strings.Count(block, "\n") < 4 {
		t.Fatal("the page shows no rows")
	}
	for line := range strings.Lines(block) {
		if !strings.Contains(string(policy), line) {
			t.Errorf("%q is no row of delivery-policy.csv", line)
		}
	}
}
