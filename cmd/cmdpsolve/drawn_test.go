package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A drawing that is read back from SVG.
type figureRead struct {
	title  string
	panels []*panelRead
	legend map[string]string // names by the style of their lines
	notes  string
}

type panelRead struct {
	x, y   axisRead
	curves []curveRead
	marks  [][2]float64
	bands  [][][2]float64
}

// An axisRead has the labels of its ticks with their places.
type axisRead struct {
	title  string
	labels []string
	at     []float64
	log    bool
}

// A curveRead is a piece of a line in the units of its axes.
type curveRead struct {
	style  string
	points [][2]float64
}

var (
	svgElement = regexp.MustCompile(`(?s)<text [^>]*>([^<]*)</text>|<path d="([^"]*)"(?: style="([^"]*)")?\s*/>|<g transform="rotate`)
	svgPoint   = regexp.MustCompile(`[ML]([-0-9.e]+),([-0-9.e]+)`)
	svgCircle  = regexp.MustCompile(`^M([-0-9.e]+),([-0-9.e]+)A2,2 `)
	svgStyle   = regexp.MustCompile(`stroke:(#[0-9A-F]+);stroke-width:([0-9.]+)(.*)`)
)

// readFigure reads a figure: lines, dots and bands with the numbers that the ticks of the axes give them.
func readFigure(svg string) *figureRead {
	f := &figureRead{legend: make(map[string]string)}
	var p *panelRead
	texts, turned, style := []string(nil), false, ""
	for _, m := range svgElement.FindAllStringSubmatch(svg, -1) {
		text, path, how := strings.TrimSpace(html.UnescapeString(m[1])), m[2], m[3]
		var points [][2]float64
		for _, at := range svgPoint.FindAllStringSubmatch(path, -1) {
			x, _ := strconv.ParseFloat(at[1], 64)
			y, _ := strconv.ParseFloat(at[2], 64)
			points = append(points, [2]float64{x, y})
		}
		line := svgStyle.FindStringSubmatch(how)
		switch {
		case strings.HasPrefix(m[0], "<g"):
			turned = true
		case strings.HasPrefix(m[0], "<text") && turned: // the title of a vertical axis ends a panel
			p.finish(texts)
			p.y.title, turned, texts = text, false, nil
			p = nil
		case strings.HasPrefix(m[0], "<text") && p != nil && len(p.curves) > 0: // no title, and the legend has begun
			last := len(p.curves) - 1
			f.legend[p.curves[last].style] = text
			p.curves = p.curves[:last]
			p.finish(texts)
			p, texts = nil, nil
		case strings.HasPrefix(m[0], "<text") && p != nil:
			texts = append(texts, text)
		case strings.HasPrefix(m[0], "<text") && len(f.panels) == 0:
			f.title = text
		case strings.HasPrefix(m[0], "<text") && style != "":
			f.legend[style], style = text, ""
		case strings.HasPrefix(m[0], "<text"):
			f.notes += text + " "
		case how == "fill:#FFFFFF" && strings.HasPrefix(path, "M0,0"):
		case how == "fill:#FFFFFF":
			p = &panelRead{}
			f.panels = append(f.panels, p)
		case p == nil && line != nil:
			style = line[1] + line[3]
		case svgCircle.MatchString(path) && p == nil: // the legend of points without lines
			style = "dot" + how
		case p != nil:
			p.add(path, points, line, how)
		}
	}
	return f
}

func (p *panelRead) add(path string, points [][2]float64, line []string, how string) {
	circle := svgCircle.FindStringSubmatch(path)
	switch {
	case circle != nil: // it begins right of its middle
		p.marks = append(p.marks, [2]float64{points[0][0] - 2, points[0][1]})
	case line == nil:
		p.bands = append(p.bands, points)
	case line[2] == "0.6" && len(points) == 2:
		// Ticks with labels are four points long.
		across, up := points[1][0]-points[0][0], points[1][1]-points[0][1]
		if across == 0 && math.Abs(up-4) < 0.01 {
			p.x.at = append(p.x.at, points[0][0])
		} else if up == 0 && math.Abs(across-4) < 0.01 {
			p.y.at = append(p.y.at, points[0][1])
		}
	case isCurve(line[2]):
		p.curves = append(p.curves, curveRead{line[1] + line[3], points})
	}
}

// isCurve reports whether lines of a width are curves: thinner ones than usual where there are many, down to 0.4 of it.
// Lines at given heights have half of it.
func isCurve(width string) bool {
	w, err := strconv.ParseFloat(width, 64)
	return err == nil && w >= 0.52 && w <= 1.3 && w != 0.65
}

// finish gives the axes their labels, and everything else its numbers.
func (p *panelRead) finish(texts []string) {
	n := len(p.y.at)
	p.y.labels = texts[len(texts)-n:]
	texts = texts[:len(texts)-n]
	n = len(p.x.at)
	if len(texts) == 2*n { // names with ranges below them, and no title
		p.x.labels, p.x.title = texts[:n], strings.Join(texts, " ")
	} else {
		p.x.labels, p.x.title = texts[len(texts)-n:], strings.Join(texts[:len(texts)-n], " ")
	}
	convert := func(points [][2]float64) {
		for i := range points {
			points[i] = [2]float64{p.x.number(points[i][0]), p.y.number(points[i][1])}
		}
	}
	p.x.log, p.y.log = p.x.title == "episodes" || p.x.isLog(), p.x.title == "episodes" || p.y.isLog()
	convert(p.marks)
	for _, c := range p.curves {
		convert(c.points)
	}
	for _, b := range p.bands {
		convert(b)
	}
}

// isLog reports whether numbers are multiplied from one tick to the next.
func (a *axisRead) isLog() bool {
	if len(a.at) < 3 {
		return false
	}
	value := func(i int) float64 { x, _ := strconv.ParseFloat(a.labels[i], 64); return x }
	between := (a.at[1] - a.at[0]) / (a.at[2] - a.at[0])
	return math.Abs(between-(value(1)-value(0))/(value(2)-value(0))) > 0.02
}

// number is what stands at a place of the axis.
func (a *axisRead) number(at float64) float64 {
	last := len(a.at) - 1
	if last < 1 {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(a.labels[0], 64)
	y, errs := strconv.ParseFloat(a.labels[last], 64)
	if err != nil || errs != nil { // words, at 0, 1, 2, …
		x, y = 0, float64(last)
	}
	share := (at - a.at[0]) / (a.at[last] - a.at[0])
	if a.log {
		return x * math.Pow(y/x, share)
	}
	return x + share*(y-x)
}

// A wantedPanel is what a panel has to show. Curves without a name are in no legend.
type wantedPanel struct {
	x, y   string
	curves []wantedCurve
}

type wantedCurve struct {
	name      string
	x, y      []float64
	low, high []float64
	marks     bool
}

func (c *wantedCurve) add(x, y float64) { c.x, c.y = append(c.x, x), append(c.y, y) }

// points are those that are drawn.
func (c *wantedCurve) points() (points [][2]float64) {
	for i, x := range c.x {
		if !math.IsNaN(c.y[i]) {
			points = append(points, [2]float64{x, c.y[i]})
		}
	}
	return points
}

// checkDrawn compares a figure with what it has to show.
func checkDrawn(t *testing.T, what, svg, title string, want []wantedPanel) {
	t.Helper()
	f := readFigure(svg)
	if f.title != title || len(f.panels) != len(want) {
		t.Errorf("%s: a figure %q with %d panels: want %q with %d", what, f.title, len(f.panels), title, len(want))
		return
	}
	names := make(map[string]bool)
	for i, p := range f.panels {
		w := want[i]
		if p.x.title != w.x || p.y.title != w.y {
			t.Errorf("%s: axes %q and %q: want %q and %q", what, p.x.title, p.y.title, w.x, w.y)
			continue
		}
		var marks [][2]float64
		var pieces []curveRead
		bands := 0
		for _, c := range w.curves {
			names[c.name] = c.name != ""
			if c.marks || len(c.points()) == 1 {
				marks = append(marks, c.points()...)
			}
			if c.low != nil {
				bands++
			}
			if len(c.points()) > 1 {
				pieces = append(pieces, curveRead{c.name, c.points()})
			}
		}
		p.same(t, what+": dots of "+w.y, p.marks, marks)
		var drawn []curveRead // joined where they have gaps
		for _, c := range p.curves {
			name := f.legend[c.style]
			if n := len(drawn); n > 0 && drawn[n-1].style == name && name != "" {
				drawn[n-1].points = append(drawn[n-1].points, c.points...)
				continue
			}
			drawn = append(drawn, curveRead{name, c.points})
		}
		if len(drawn) != len(pieces) || (len(p.bands) < bands) || bands == 0 && len(p.bands) > 0 {
			t.Errorf("%s: %d curves and %d bands of %s: want %d and %d", what, len(drawn), len(p.bands), w.y,
				len(pieces),
				bands)
			continue
		}
		for k, c := range drawn {
			if c.style != pieces[k].style {
				t.Errorf("%s: a curve of %s is called %q: want %q", what, w.y, c.style, pieces[k].style)
			}
			p.same(t, what+": "+w.y+" "+c.style, c.points, pieces[k].points)
		}
		p.sameBands(t, what+": "+w.y, w.curves)
	}
	for style, name := range f.legend {
		if !names[name] {
			t.Errorf("%s: the legend has %q in %s", what, name, style)
		}
	}
}

// near compares points up to what a drawing can show.
func (p *panelRead) near(a, b [2]float64) bool {
	for k, axis := range []*axisRead{&p.x, &p.y} {
		x, y := a[k], b[k]
		if math.IsNaN(x) { // an axis of one number
			continue
		}
		span := math.Abs(axis.number(axis.at[len(axis.at)-1]) - axis.number(axis.at[0]))
		if axis.log {
			x, y, span = math.Log(x), math.Log(y), 1
		}
		if !(math.Abs(x-y) <= 4e-3*span) {
			return false
		}
	}
	return true
}

func (p *panelRead) same(t *testing.T, what string, drawn, want [][2]float64) {
	t.Helper()
	if len(drawn) == 0 && len(want) == 0 {
		return
	}
	if p.y.log { // what is 0 lies on the edge
		want = slices.DeleteFunc(slices.Clone(want), func(x [2]float64) bool { return x[1] <= 0 })
		drawn = slices.DeleteFunc(slices.Clone(drawn), func(x [2]float64) bool {
			return !slices.ContainsFunc(want, func(y [2]float64) bool { return p.near(x, y) })
		})
	}
	if !slices.EqualFunc(drawn, want, p.near) {
		t.Errorf("%s: %.4g are drawn: want %.4g", what, drawn, want)
	}
}

// sameBands: every corner of a band is on its edges.
func (p *panelRead) sameBands(t *testing.T, what string, curves []wantedCurve) {
	t.Helper()
	var corners [][2]float64
	for _, c := range curves {
		for i := range c.low {
			corners = append(corners, [2]float64{c.x[i], c.low[i]}, [2]float64{c.x[i], c.high[i]})
		}
	}
	for _, band := range p.bands {
		for _, at := range band {
			if !p.y.log && !slices.ContainsFunc(corners, func(x [2]float64) bool { return p.near(at, x) }) {
				t.Errorf("%s: a band has a corner at %.4g: want it at one of %.4g", what, at, corners)
				return
			}
		}
	}
}

// checkPlot compares the file that a command drew with its numbers, and the figures of its page.
func checkPlot(t *testing.T, r *result) {
	t.Helper()
	v := viewOf(r)
	if v == nil || v.has("sample") { // of which no page is made
		return
	}
	at := slices.Index(r.args, "--plot")
	if at >= 0 && filepath.Ext(r.args[at+1]) == ".svg" {
		svg, err := os.ReadFile(r.args[at+1])
		if title, want := v.drawn(); err == nil && want != nil {
			checkDrawn(t, fmt.Sprint(r.args), string(svg), v.text("problem")+title, want)
		}
	}
	checkFrontPlot(t, r)
	if v.has("history") || v.has("rows") || v.has("problems") {
		v.checkHistories(t, r)
		return
	}
	page, err := partIn(r.data, "result.json")
	if err != nil {
		t.Fatal(err)
	}
	title, want := v.drawn()
	if viewKind(r) == "front" && len(v.texts("over")) < 4 {
		title, want = v.curveOfPage()
	}
	if v.has("use") || v.has("ways") && !v.has("distribution") { // not drawn on pages
		want = nil
	}
	if v.has("distribution") { // whose names JSON sorts
		slices.SortFunc(want, func(a, b wantedPanel) int { return strings.Compare(a.x, b.x) })
	}
	switch {
	case want == nil && len(page.Figures) > 0 || want != nil && len(page.Figures) != 1:
		t.Errorf("%v: a page has %d figures: want %v", r.args, len(page.Figures), want)
	case want != nil:
		checkDrawn(t, fmt.Sprint("page of ", r.args), string(page.Figures[0]), v.text("problem")+title, want)
	}
}

// checkFrontPlot looks at the picture of a trade-off curve: dots at its vertices, lines between them, bands on their
// better side, axes that say which side that is. Of three returns it has a curve for each of four bounds on the third.
func checkFrontPlot(t *testing.T, r *result) {
	t.Helper()
	v, at := viewOf(r), slices.Index(r.args, "--plot")
	over := v.texts("over")
	if viewKind(r) != "front" || at < 0 || len(over) > 3 || len(v.list("vertices")) == 0 {
		return
	}
	svg, err := os.ReadFile(r.args[at+1])
	if err != nil || filepath.Ext(r.args[at+1]) != ".svg" {
		return
	}
	f := readFigure(string(svg))
	union, better := v.has("union"), [2]float64{}
	what := func(k int) string {
		better[k] = 1
		if strings.HasPrefix(over[k], "-") {
			better[k] = -1
			return over[k][1:] + " (less is better)"
		}
		return strings.TrimPrefix(over[k], "+") + " (more is better)"
	}
	title := v.text("problem") + ": trade-off curve" + map[bool]string{true: "s"}[union]
	note := "The certified error is at most " + small(v.num("error"))
	switch {
	case len(v.list("vertices")) == 1:
		note += "."
	case v.num("error_relative") <= 2e-3: // as thin as a line
		note += ", which is less than the line is wide."
	default:
		note += "; the true curve lies in the band."
	}
	if union {
		note = "One curve for each threshold at which the worst episodes begin."
	}
	if p := f.panels[0]; f.title != title || strings.TrimSpace(f.notes) != note || p.x.title != what(0) ||
		p.y.title != what(1) {
		t.Errorf("%v: a figure %q with axes %q and %q, %q: want %q with %q and %q, %q", r.args, f.title, p.x.title,
			p.y.title, f.notes, title, what(0), what(1), note)
		return
	}
	p := f.panels[0]
	vertices := make(map[string][][2]float64) // by the name of their curve
	for _, q := range v.list("vertices") {
		name := ""
		if union {
			var at []string
			for _, x := range q.numbers("thresholds") {
				at = append(at, six(x))
			}
			name = "threshold " + strings.Join(at, ", ")
		}
		vertices[name] = append(vertices[name], [2]float64{q.of("returns", strings.TrimLeft(over[0], "+-")).num(""),
			q.of("returns", strings.TrimLeft(over[1], "+-")).num("")})
	}
	if len(over) == 3 {
		v.checkContours(t, r.args, f, better)
		return
	}
	for _, c := range p.curves {
		for _, at := range c.points {
			if height := heightAt(vertices[f.legend[c.style]], at[0]); !union && !p.near(at, [2]float64{at[0],
				height}) {
				t.Errorf("%v: a curve goes through %.4g: want %.4g there", r.args, at, height)
			}
		}
	}
	if !union && len(p.bands) == 0 && len(vertices[""]) > 1 && !v.is("rounded") {
		t.Errorf("%v: a curve without a band", r.args)
	}
	p.checkVertices(t, r.args, vertices, better[1])
}

// checkVertices: every vertex has a dot, and bands lie on the better side of a curve.
func (p *panelRead) checkVertices(t *testing.T, args []string, vertices map[string][][2]float64, better float64) {
	t.Helper()
	for name, list := range vertices {
		for _, at := range list {
			marked := func(x [2]float64) bool { return p.near(x, at) }
			if !slices.ContainsFunc(p.marks, marked) && len(list) <= 60 {
				t.Errorf("%v: no dot at the vertex %.4g of %q", args, at, name)
			}
		}
	}
	curve, single := vertices[""]
	for _, band := range p.bands {
		for _, at := range band {
			if !single {
				continue
			}
			height := heightAt(curve, at[0])
			if better*(at[1]-height) < 0 && !p.near(at, [2]float64{at[0], height}) {
				t.Errorf("%v: a band reaches to %.4g, worse than the curve", args, at)
			}
		}
	}
}

// heightAt is the height of a line through points, from left to right, at x.
func heightAt(points [][2]float64, x float64) float64 {
	for i := range points[1:] {
		a, b := points[i], points[i+1]
		if x <= b[0]+1e-9*math.Abs(b[0]) || i == len(points)-2 {
			return a[1] + (x-a[0])/(b[0]-a[0])*(b[1]-a[1])
		}
	}
	return points[0][1]
}

// checkContours: each curve is for a bound on the third return, the first for its worst value. The narrower the bound
// the lower the curve, but no vertex that keeps the bound is better.
func (v *view) checkContours(t *testing.T, args []string, f *figureRead, better [2]float64) {
	t.Helper()
	over, p := v.texts("over"), f.panels[0]
	third, less := strings.TrimLeft(over[2], "+-"), strings.HasPrefix(over[2], "-")
	least, most := math.Inf(1), math.Inf(-1)
	for _, q := range v.list("points") {
		least, most = min(least, q.of("returns", third).num("")), max(most, q.of("returns", third).num(""))
	}
	worst, best, side := least, most, " ≥ "
	if less {
		worst, best, side = most, least, " ≤ "
	}
	names := make(map[string]float64)
	for k := range 4 {
		level := worst + float64(k)/4*(best-worst)
		names[third+side+three(level)] = level
	}
	for _, c := range p.curves {
		name := f.legend[c.style]
		level, known := names[name]
		if !known {
			t.Errorf("%v: a curve is called %q: want one of %v", args, name, names)
			continue
		}
		for _, q := range v.list("vertices") {
			x, y, z := q.of("returns", strings.TrimLeft(over[0], "+-")).num(""),
				q.of("returns", strings.TrimLeft(over[1], "+-")).num(""), q.of("returns", third).num("")
			if kept := z <= level+1e-9; kept != less && z != level {
				continue
			}
			if x < c.points[0][0] || x > c.points[len(c.points)-1][0] {
				continue
			}
			if height := heightAt(c.points, x); better[1]*(y-height) > 0.02*math.Abs(height) { // between its 65 points
				t.Errorf("%v: %q is at %.4g where %.4g is reached", args, name, height, y)
			}
		}
	}
	for i := range p.curves[1:] {
		for _, at := range p.curves[i+1].points {
			if wider := heightAt(p.curves[i].points, at[0]); better[1]*(at[1]-wider) > 0 &&
				!p.near(at, [2]float64{at[0], wider}) && at[0] >= p.curves[i].points[0][0] {
				t.Errorf("%v: a narrower bound has %.4g where a wider one has %.4g", args, at, wider)
			}
		}
	}
	if len(p.bands) != len(p.curves) || len(p.curves) < 2 {
		t.Errorf("%v: %d bands of %d curves", args, len(p.bands), len(p.curves))
	}
}
