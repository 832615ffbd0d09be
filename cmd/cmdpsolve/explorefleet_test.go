package main

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const depotFleet = "../../docs/examples/fleet.yaml"

// answered asks an explorer for an answer.
func answered[A any](t *testing.T, of func(context.Context, []byte, func(any)) (any, error), question any) A {
	t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	got, err := of(t.Context(), text, func(any) {})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := got.(A)
	if !ok {
		t.Fatalf("%T: %v", got, got)
	}
	return a
}

// TestExploredFleet: the page has a slider for each budget and capacity, and what it shows for others is what
// the command says.
func TestExploredFleet(t *testing.T) {
	p, err := (&memoryOptions{fleets: true}).load(t.Context(), streams{problem: new(problem.ReadOptions)}, depotFleet)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	const capacity = "chargers at each step"
	i := slices.IndexFunc(e.about.Tails, func(r aboutReturn) bool { return r.Name == capacity })
	if i < 0 || e.about.Tails[i].Min != 0 || e.about.Tails[i].Max < 150 || e.about.Tails[i].Max > 620.1 {
		t.Fatalf("what limits at single steps can be: %+v", e.about.Tails)
	}
	limits := []query.Bound{{Return: "kwh", Kind: "at_most", Value: 40000},
		{Return: capacity, Kind: "at_most", Value: 120},
		{Return: "kwh at each of the steps 8-10", Kind: "at_most", Value: 2500}}
	a := answered[*planAnswer](t, e.plan, question{Limits: limits})
	d := a.Report.(*planReport)
	want := planned(t, depotFleet, "--at-most", "kwh=40000", "--at-most", capacity+"=120", "--at-most",
		"kwh at each of the steps 8-10=2500")
	if d.Status != "optimal" || math.Abs(float64(d.Objective)-want) > 1e-5*want {
		t.Errorf("%s %v: plan says %v", d.Status, d.Objective, want)
	}
	if len(a.Used) != 2 || a.Used[0].Name != "chargers" || a.Used[0].AtMost[4] != 120 || a.Used[1].AtMost[8] != 2500 ||
		!math.IsNaN(float64(a.Used[1].AtMost[0])) {
		t.Fatalf("limits at single steps: %+v", a.Used)
	}
	for h, x := range a.Used[0].Use {
		if x > 120*(1+1e-9) || a.Used[0].Prices[h] > 1e-6 && x < 120*(1-1e-6) {
			t.Errorf("step %d: use %v at the price %v", h+1, x, a.Used[0].Prices[h])
		}
	}
	checkTailsOfSteps(t, e)

	// An agent is somewhere at each of 12 steps.
	for kind := range e.about.Fleet.Types {
		policy := answered[*policyAnswer](t, e.showPolicy, policyQuestion{ID: a.ID, Step: -1, Type: kind, Most: 100})
		sum := 0.0
		for _, s := range policy.States {
			sum += s.Visits
		}
		if math.Abs(sum-12) > 1e-9 {
			t.Errorf("type %d: %v visits, want 12", kind, sum)
		}
	}

	episodes := answered[*episodesAnswer](t, e.playEpisodes, episodesQuestion{ID: a.ID, Seed: 1, Count: 300})
	if delivered := episodes.Returns[0]; math.Abs(float64(delivered.Mean)-want) > 3*float64(delivered.Half) {
		t.Errorf("delivered in episodes: %v ± %v, by the plan %v", delivered.Mean, delivered.Half, want)
	}
	files := answered[*filesAnswer](t, e.files, question{Limits: limits, ID: a.ID, Type: 1})
	if files.File != "policy-truck.csv" || !strings.Contains(files.Policy, "empty") ||
		!strings.Contains(files.Command, "'chargers at each step=120'") {
		t.Errorf("files: %+v", files)
	}
	if _, err := problem.Parse("again.yaml", []byte(files.Problem), nil); err != nil {
		t.Error(err)
	}

	clash := answered[*planAnswer](t, e.plan,
		question{Limits: append(limits, query.Bound{Return: "delivered", Kind: "at_least", Value: 23000})})
	if len(clash.Conflict) < 2 || clash.ID != 0 {
		t.Errorf("in conflict: %+v", clash.Conflict)
	}
}

// tryFleet moves a capacity, and looks at what is used over time and at what a type does.
func tryFleet(t *testing.T, chrome context.Context) {
	url, stop := serveCommand(t, depotFleet)
	defer stop()
	b := open(t, chrome, url)
	b.drawn()
	if got := b.number(shownObjective); got != 23899.2 {
		t.Errorf("objective %v: want that of plan, 23899.2", got)
	}
	const capacity = `[data-limit="at_most chargers at each step"]`
	if price := b.text(capacity + " .facts"); !strings.Contains(price, "price 12.5") { // 2.5 at five steps
		t.Errorf("the capacity: %q", price)
	}
	b.wait(`document.querySelectorAll("#use canvas, #step-prices canvas").length === 2 && document.querySelectorAll("#types tbody tr").length === 2`)
	b.run(chromedp.SetValue(capacity+` input[type=number]`, "120"), chromedp.Focus(capacity+` input[type=number]`),
		chromedp.KeyEvent(kb.Enter),
		chromedp.Evaluate(`document.querySelector('`+capacity+
			` input[type=number]').dispatchEvent(new Event("change"))`, nil))
	b.wait(shownObjective + " < 23800")
	b.drawn()
	if got, want := b.number(shownObjective), planned(t, depotFleet, "--at-most",
		"chargers at each step=120"); got != want {
		t.Errorf("objective %v: want that of plan, %v", got, want)
	}
	b.run(chromedp.Evaluate(`(() => { const s = document.querySelector("#type"); s.value = 1; s.dispatchEvent(new Event("change")); })()`, nil))
	b.wait(`document.querySelectorAll("#table tbody tr").length === 2`) // full and empty
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// checkTailsOfSteps: what limits at single steps can be goes from the least to the greatest of these steps.
func checkTailsOfSteps(t *testing.T, e *explorer) {
	t.Helper()
	rng := rand.New(rand.NewPCG(70, 9))
	for range 20 {
		low, high, want := make([]float64, len(e.Returns)), make([]float64, len(e.Returns)), map[string][2]float64{}
		for i := range low {
			low[i], high[i] = -rng.Float64(), rng.Float64()
		}
		for _, l := range e.Limits {
			if i := l.Coordinate(); l.Step > 0 {
				ends := want[l.Return]
				want[l.Return] = [2]float64{min(ends[0], low[i]), max(ends[1], high[i])}
			}
		}
		a := new(aboutReport)
		e.describeFleet(a, low, high)
		for _, r := range a.Tails {
			if got := [2]float64{float64(r.Min), float64(r.Max)}; got != want[r.Name] {
				t.Errorf("%s goes from %v: want %v", r.Name, got, want[r.Name])
			}
		}
		if len(a.Tails) != len(want) {
			t.Errorf("%d returns at single steps: want %d", len(a.Tails), len(want))
		}
	}
}
