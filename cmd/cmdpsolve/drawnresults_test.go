package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// drawn is the figure of a result, nil if it has none: the end of its title, and panels.
func (v *view) drawn() (title string, panels []wantedPanel) {
	over := v.texts("over")
	switch {
	case v.has("plans") && slices.ContainsFunc(v.list("plans"), func(p answer) bool { return p.has("uncertainty") }):
		return ": " + strings.Join(over, ", ") + " swept", v.drawnSets(over)
	case v.has("plans"):
		return ": " + strings.Join(over, ", ") + " swept", v.drawnSweep(over)
	case v.has("vertices") && len(over) > 3:
		return ": trade-off surface", v.drawnParallel(over)
	case v.has("distribution"):
		return ": returns of single episodes", v.drawnDistributions()
	case v.has("use"):
		return ": use and price at each step", v.drawnUse()
	case v.has("ways"):
		return ": limits that episodes break", v.drawnBroken()
	}
	return "", nil
}

// checkHistories looks at the regret and the violation of learners over episodes.
func (v *view) checkHistories(t *testing.T, r *result) {
	t.Helper()
	page, err := partIn(r.data, "result.json")
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{"regret": "regret (units of the cost)", "violation": "violation (distance from " +
		"the target)"}
	var panels []wantedPanel
	for _, key := range []string{"regret", "violation"} {
		p := wantedPanel{x: "episodes", y: titles[key]}
		rows := v.list("rows")
		if v.has("history") {
			rows = []answer{v.answer}
		}
		for _, row := range rows {
			c := wantedCurve{name: row.text("algorithm")}
			for _, rec := range row.list("history") {
				x := rec.num(key)
				if of := rec.obj(key); of != nil {
					x = of.num("mean")
				}
				if !math.IsNaN(x) {
					c.add(rec.num("episode"), x)
				}
			}
			if c.x != nil {
				p.curves = append(p.curves, c)
			}
		}
		if p.curves != nil {
			panels = append(panels, p)
		}
	}
	if len(page.Figures) != min(1, len(panels)) {
		t.Errorf("%v: a page has %d figures: want %d", r.args, len(page.Figures), min(1, len(panels)))
		return
	}
	if panels == nil || len(panels[0].curves) > 8 { // drawn several times
		return
	}
	f := readFigure(string(page.Figures[0]))
	if f.title != v.text("problem") || len(f.panels) != len(panels) {
		t.Errorf("%v: a figure %q of %d panels: want %d", r.args, f.title, len(f.panels), len(panels))
		return
	}
	for i, p := range f.panels {
		p.checkHistory(t, r.args, f, &panels[i])
	}
}

// checkHistory: a line goes through the numbers of each learner that are above 0.
func (p *panelRead) checkHistory(t *testing.T, args []string, f *figureRead, want *wantedPanel) {
	t.Helper()
	if p.x.title != want.x || p.y.title != want.y {
		t.Errorf("%v: axes %q and %q: want %q and %q", args, p.x.title, p.y.title, want.x, want.y)
		return
	}
	for _, c := range want.curves {
		largest := slices.Max(c.y)
		for i, x := range c.x {
			at := [2]float64{x, c.y[i]}
			if c.y[i] <= largest/100 || len(c.x) < 2 { // on the lower edge
				continue
			}
			near := func(x [2]float64) bool { return p.near(x, at) }
			there := slices.ContainsFunc(p.curves, func(d curveRead) bool {
				return f.legend[d.style] == c.name && slices.ContainsFunc(d.points, near)
			})
			there = there || slices.ContainsFunc(p.marks, near) // a dot between records without a number
			if !there {
				t.Errorf("%v: %s of %s does not go through %.4g", args, want.y, c.name, at)
				return
			}
		}
	}
}

// drawnSweep draws objective and prices over the first limit, a curve for all values of the others.
func (v *view) drawnSweep(over []string) []wantedPanel {
	plain := func(name string) string { return strings.TrimRight(name, " ≤≥") }
	panels := []wantedPanel{{x: "limit on " + plain(over[0]), y: "objective"}}
	for _, name := range over {
		panels = append(panels, wantedPanel{x: "limit on " + plain(over[0]), y: "price of " + plain(name)})
	}
	for _, p := range v.list("plans") {
		if status := p.text("status"); status != "optimal" && status != "stopped" {
			continue
		}
		limits := p.numbers("limits")
		var others []string
		for i, x := range limits[1:] {
			others = append(others, over[1+i]+" "+six(x))
		}
		name := strings.Join(others, ", ")
		for i, y := range append([]float64{p.num("objective")}, p.numbers("limit_prices")...) {
			k := slices.IndexFunc(panels[i].curves, func(c wantedCurve) bool { return c.name == name })
			if k < 0 {
				k = len(panels[i].curves)
				panels[i].curves = append(panels[i].curves, wantedCurve{name: name, marks: true})
			}
			panels[i].curves[k].add(limits[0], y)
		}
	}
	if len(panels[0].curves) == 0 {
		return nil
	}
	for _, p := range panels {
		for _, c := range p.curves {
			if n := len(c.x); n > 1 && c.x[0] > c.x[n-1] {
				slices.Reverse(c.x)
				slices.Reverse(c.y)
			}
		}
	}
	return panels
}

// drawnSets draws objective and bound over what is swept first.
func (v *view) drawnSets(over []string) []wantedPanel {
	plan, bound := wantedCurve{name: "plan", marks: true}, wantedCurve{name: "bound", marks: true}
	for _, p := range v.list("plans") {
		if status := p.text("status"); status == "optimal" || status == "feasible" {
			plan.add(p.numbers("limits")[0], p.num("objective"))
			bound.add(p.numbers("limits")[0], p.num("bound"))
		}
	}
	panel := wantedPanel{x: over[0], y: "objective in the worst model"}
	for _, c := range []wantedCurve{plan, bound} {
		if n := len(c.x); n > 0 && c.x[0] > c.x[n-1] {
			slices.Reverse(c.x)
			slices.Reverse(c.y)
		}
		if len(c.x) > 0 {
			panel.curves = append(panel.curves, c)
		}
	}
	if panel.curves == nil {
		return nil
	}
	return []wantedPanel{panel}
}

// curveOfPage draws all points of a curve between two returns.
func (v *view) curveOfPage() (string, []wantedPanel) {
	over, points := v.texts("over"), v.list("points")
	if len(over) != 2 || len(points) == 0 {
		return "", nil
	}
	a, b := strings.TrimLeft(over[0], "+-"), strings.TrimLeft(over[1], "+-")
	c := wantedCurve{marks: len(points) <= 60}
	for _, p := range points {
		c.add(p.of("returns", a).num(""), p.of("returns", b).num(""))
	}
	return ": trade-off curve", []wantedPanel{{a, b, []wantedCurve{c}}}
}

// drawnParallel draws a line for each vertex, from the worst value of a return, at 0, to its best; those of a quarter
// of the first return are one curve.
func (v *view) drawnParallel(over []string) []wantedPanel {
	vertices := v.list("vertices")
	if len(vertices) == 0 {
		return nil
	}
	worst, best := make([]float64, len(over)), make([]float64, len(over))
	value := func(p answer, k int) float64 { return p.of("returns", strings.TrimLeft(over[k], "+-")).num("") }
	var labels []string
	for k, name := range over {
		worst[k], best[k] = math.Inf(1), math.Inf(-1)
		for _, p := range vertices {
			worst[k], best[k] = min(worst[k], value(p, k)), max(best[k], value(p, k))
		}
		if name[0] == '-' {
			worst[k], best[k] = best[k], worst[k]
		}
		labels = append(labels, strings.TrimLeft(name, "+-"), three(worst[k])+" to "+three(best[k]))
	}
	curves := make([]wantedCurve, 4)
	for _, p := range vertices {
		height := func(k int) float64 {
			if worst[k] == best[k] {
				return 1
			}
			return (value(p, k) - worst[k]) / (best[k] - worst[k])
		}
		q := min(3, int(4*height(0)))
		from, to := worst[0]+float64(q)/4*(best[0]-worst[0]), worst[0]+float64(q+1)/4*(best[0]-worst[0])
		c := &curves[q]
		c.name = fmt.Sprintf("%s %s to %s", labels[0], three(min(from, to)), three(max(from, to)))
		c.marks = len(vertices) <= 60
		for k := range over {
			c.add(float64(k), height(k))
		}
	}
	curves = slices.DeleteFunc(curves, func(c wantedCurve) bool { return c.x == nil })
	return []wantedPanel{{strings.Join(labels, " "), "", curves}}
}

// drawnDistributions draws the outlines of bars.
func (v *view) drawnDistributions() (panels []wantedPanel) {
	for _, name := range v.returns {
		bins := v.obj("distribution").obj(name).list("histogram")
		if bins == nil {
			continue
		}
		single := bins[0].num("from") == bins[0].num("to")
		width := 1.0
		if !single {
			width = bins[1].num("to") - bins[1].num("from")
		} else if len(bins) > 1 {
			width = math.Inf(1)
			for i := range bins[1:] {
				width = min(width, (bins[i+1].num("from")-bins[i].num("from"))/2)
			}
		}
		c := wantedCurve{}
		for i, b := range bins {
			from, to, p := b.num("from"), b.num("to"), b.num("probability")
			switch {
			case single:
				from, to = from-width/2, to+width/2
			case i == 0:
				from = to - width
			case i == len(bins)-1:
				to = from + width
			}
			c.x, c.y = append(c.x, from, from, to, to), append(c.y, 0, p, p, 0)
		}
		c.low, c.high = make([]float64, len(c.x)), c.y
		panels = append(panels, wantedPanel{name, "probability", []wantedCurve{c}})
	}
	return panels
}

// drawnUse draws what a fleet uses at each step, with its limits, and prices.
func (v *view) drawnUse() (panels []wantedPanel) {
	for _, name := range v.returns {
		if _, is := v.obj("use")[name]; !is {
			continue
		}
		use, prices := wantedCurve{name: "use", marks: true}, wantedCurve{name: "price", marks: true}
		sides := []wantedCurve{{name: "at most"}, {name: "at least"}}
		for h, x := range v.obj("use").numbersOf(name) {
			at := float64(h + 1)
			use.add(at, x)
			prices.add(at, v.obj("use_prices").numbersOf(name)[h])
			for limit := range strings.SplitSeq(v.limitAt(name, h+1), ", ") {
				bound := 0.0
				if _, err := fmt.Sscan(strings.TrimLeft(limit, "≤≥ "), &bound); err == nil {
					sides[indicator(strings.HasPrefix(limit, "≥"))].add(at, bound)
				}
			}
		}
		curves := []wantedCurve{use}
		for _, s := range sides {
			if s.x != nil {
				curves = append(curves, s)
			}
		}
		panels = append(panels, wantedPanel{"step", name, curves},
			wantedPanel{"step", "price of " + name, []wantedCurve{prices}})
	}
	return panels
}

// drawnBroken draws how often and by how much each way to play a fleet breaks limits at each step: of several limits at
// a step the one that is broken most often.
func (v *view) drawnBroken() (panels []wantedPanel) {
	ways := v.list("ways")
	for _, name := range v.returns {
		steps := len(ways[0].obj("use").numbersOf(name))
		if steps == 0 {
			continue
		}
		often := wantedPanel{x: "step", y: "episodes that break " + name}
		much := wantedPanel{x: "step", y: "excess of " + name}
		for _, w := range ways {
			worst := make(map[float64]answer)
			for _, l := range w.list("limits") {
				at := l.num("step")
				if old, is := worst[at]; l.has("step") && l.text("return") == name &&
					(!is || l.num("broken.share") > old.num("broken.share")) {
					worst[at] = l
				}
			}
			share := wantedCurve{name: w.text("way"), marks: true}
			excess := share
			for _, at := range slices.Sorted(maps.Keys(worst)) {
				l := worst[at]
				share.add(at, l.num("broken.share"))
				share.low, share.high = append(share.low, l.num("broken.low")), append(share.high, l.num("broken.high"))
				excess.add(at, l.num("excess"))
			}
			often.curves, much.curves = append(often.curves, share), append(much.curves, excess)
		}
		panels = append(panels, often, much)
	}
	return panels
}

// TestPlotDrawsWhatWasPlotted: a saved result is drawn as the command drew it that wrote it, and a file that is none is
// named, whatever it is read as.
func TestPlotDrawsWhatWasPlotted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"learn", "riverswim", "--episodes", "40", "--seeds", "2"},
		{"compare", "inventory", "--algorithms", "moma,appropo", "--episodes", "40", "--seeds", "2", "--no-times"}} {
		text, _ := printed(t, "json", append(args, "--plot", "drawn.svg")...)
		if err := os.WriteFile("result.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, said := called("plot result.json --output again.svg"); status != exitDone || said != "" {
			t.Fatalf("%v: status %d, %s", args, status, said)
		}
		want, err := os.ReadFile("drawn.svg")
		got, errs := os.ReadFile("again.svg")
		if err != nil || errs != nil || string(got) != string(want) {
			t.Errorf("%v: plot draws another figure than --plot, %v, %v", args, err, errs)
		}
	}
	for _, ending := range []string{".umb", ".drn", ".tra", ".pexp", ".npz", ".json", ".yaml", ".prism", ".jani"} {
		file := "broken" + ending
		if err := os.WriteFile(file, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"convert " + file + " out.yaml", "plan " + file, "check " + file, "plot " + file,
			"report " + file + " --output page.html", "simulate inventory --policy " + file} {
			if status, said := called(command); status != exitUsage || !strings.Contains(said, file) {
				t.Errorf("%s: status %d, %s", command, status, said)
			}
		}
	}
}

// TestChosenDrawings: of results those of the problem and of the learners that are asked for are drawn, in their order,
// and what none of them has is refused.
func TestChosenDrawings(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 5))
	refused, names := 0, []string{"p", "q", "r", "a", "b", "c"}
	for range 200 {
		var all []drawing
		var want [][]string
		c := &plotCommand{}
		if rng.IntN(2) == 0 {
			c.problem = names[rng.IntN(3)]
		}
		for _, k := range rng.Perm(3)[:rng.IntN(3)] {
			c.only = append(c.only, names[3+k])
		}
		asked, there := c.problem == "", map[string]bool{}
		for k := range 1 + rng.IntN(3) {
			d, left := drawing{problem: names[rng.IntN(2)]}, []string(nil)
			if rng.IntN(2) == 0 {
				d.name = []string{"r", "s"}[rng.IntN(2)]
			}
			of := c.problem == "" || d.name == c.problem || d.problem == c.problem
			asked = asked || of
			for _, at := range rng.Perm(3)[:1+rng.IntN(3)] {
				name := names[3+at]
				d.list = append(d.list, series{name: name, records: []rowRecord{{Episode: k + 1}}})
				there[name] = there[name] || of
				if of && (c.only == nil || slices.Contains(c.only, name)) {
					left = append(left, name)
				}
			}
			all, want = append(all, d), append(want, left)
		}
		fits := asked && !slices.ContainsFunc(c.only, func(name string) bool { return !there[name] })
		err := c.choose(all)
		refused += indicator(!fits)
		if fits != (err == nil) {
			t.Errorf("--problem %q --algorithms %q: error %v, want one: %v", c.problem, c.only, err, !fits)
			continue
		}
		for k, d := range all {
			var got []string
			for _, s := range d.list {
				got = append(got, s.name)
			}
			if fits && !slices.Equal(got, want[k]) {
				t.Errorf("--problem %q --algorithms %q: %q of result %d, want %q", c.problem, c.only, got, k, want[k])
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d are refused: want more", refused)
	}
}
