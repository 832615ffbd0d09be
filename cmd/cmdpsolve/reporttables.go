package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
)

// A pageTable is a table of a page.
type pageTable struct {
	Title string
	Heads []string
	Rows  [][]string
	More  int // rows that are left out
}

// mostPageRows bounds the rows of a table, mostPageColumns its columns, so that it fits on paper.
const (
	mostPageRows    = 300
	mostPageColumns = 9
)

// parts cuts a table that is too wide for paper into several, each with the first column. No table has none.
func (t *pageTable) parts() []*pageTable {
	if t == nil {
		return nil
	}
	if len(t.Heads) <= mostPageColumns {
		return []*pageTable{t}
	}
	var parts []*pageTable
	for from := 1; from < len(t.Heads); from += mostPageColumns - 1 {
		end := min(len(t.Heads), from+mostPageColumns-1)
		cut := func(cells []string) []string { return append([]string{cells[0]}, cells[from:end]...) }
		part := &pageTable{Heads: cut(t.Heads)}
		for _, row := range t.Rows {
			part.Rows = append(part.Rows, cut(row))
		}
		parts = append(parts, part)
	}
	parts[0].Title, parts[len(parts)-1].More = t.Title, t.More
	return parts
}

// readOrdered reads JSON; objects keep the order of their members.
func readOrdered(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	x, err := orderedValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("want what a command wrote with --format json: %w", err)
	}
	return x, nil
}

// orderedValue reads the next value. Nothing that we write is nested deeply.
func orderedValue(d *json.Decoder, depth int) (any, error) {
	if depth > 100 {
		return nil, errors.New("nested too deeply")
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := report.Object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			x, err := orderedValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o = append(o, report.Member{Key: fmt.Sprint(key), Value: x})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			x, err := orderedValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

func member(o report.Object, key string) (any, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// toldElsewhere are members that are parts of their own, or stand in other places too.
var toldElsewhere = []string{"problems", "prices", "runs", "points", "wanted", "command", "shown"}

// tablesFrom returns the members of a result that are single values as one table, and one for
// each of the others.
func tablesFrom(o report.Object) (facts *pageTable, tables []*pageTable) {
	facts = &pageTable{}
	for _, m := range o {
		if slices.Contains(toldElsewhere, m.Key) {
			continue
		}
		title := strings.ReplaceAll(m.Key, "_", " ")
		switch x := m.Value.(type) {
		case report.Object:
			tables = append(tables, objectTable(title, x).parts()...)
		case []any:
			if !slices.ContainsFunc(x, nested) {
				facts.Rows = append(facts.Rows, []string{title, plainCell(x)})
				continue
			}
			tables = append(tables, listTable(title, x).parts()...)
		case nil:
		default:
			facts.Rows = append(facts.Rows, []string{title, plainCell(x)})
		}
	}
	return facts, tables
}

// plainCell writes a single value for people.
func plainCell(x any) string {
	switch x := x.(type) {
	case nil:
		return "–"
	case bool:
		return map[bool]string{true: "yes", false: "no"}[x]
	case json.Number:
		v, err := x.Float64()
		if _, whole := strconv.ParseInt(x.String(), 10, 64); whole == nil || err != nil {
			return x.String()
		}
		return report.Short(v)
	case []any:
		var parts []string
		for _, item := range x {
			parts = append(parts, plainCell(item))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(x)
}

// flat returns the members of an object that are single values or short lists of them, those of
// objects within with both names.
func flat(o report.Object, prefix string) (keys []string, cells map[string]string) {
	cells = map[string]string{}
	for _, m := range o {
		if slices.Contains(toldElsewhere, m.Key) {
			continue
		}
		key := strings.TrimSpace(prefix + " " + strings.ReplaceAll(m.Key, "_", " "))
		switch x := m.Value.(type) {
		case report.Object:
			inner, of := flat(x, key)
			keys = append(keys, inner...)
			maps.Copy(cells, of)
		case []any:
			if len(x) > 0 && len(x) <= 8 && !slices.ContainsFunc(x, nested) {
				keys, cells[key] = append(keys, key), plainCell(x)
			}
		default:
			keys, cells[key] = append(keys, key), plainCell(x)
		}
	}
	return keys, cells
}

func nested(x any) bool {
	switch x.(type) {
	case report.Object, []any:
		return true
	}
	return false
}

// objectTable lists the members of an object, those of objects within as columns.
func objectTable(title string, o report.Object) *pageTable {
	if len(o) > 0 && !slices.ContainsFunc(o,
		func(m report.Member) bool { _, ok := m.Value.(report.Object); return !ok }) {
		list := make([]any, len(o))
		for i, m := range o {
			list[i] = append(report.Object{{Key: title, Value: m.Key}}, m.Value.(report.Object)...)
		}
		return listTable(title, list)
	}
	t := &pageTable{Title: title}
	keys, cells := flat(o, "")
	for _, k := range keys {
		t.Rows = append(t.Rows, []string{k, cells[k]})
	}
	return t
}

// listTable lists objects with a column for each name that one of them has.
func listTable(title string, list []any) *pageTable {
	t := &pageTable{Title: title, More: max(0, len(list)-mostPageRows)}
	var rows []map[string]string
	for _, item := range list[:len(list)-t.More] {
		o, ok := item.(report.Object)
		if !ok {
			o = report.Object{{Key: title, Value: item}}
		}
		keys, cells := flat(o, "")
		rows = append(rows, cells)
		for _, k := range keys {
			if !slices.Contains(t.Heads, k) {
				t.Heads = append(t.Heads, k)
			}
		}
	}
	t.Heads = slices.DeleteFunc(t.Heads, func(k string) bool { // what none of them has says nothing
		return !slices.ContainsFunc(rows, func(r map[string]string) bool { return r[k] != "" && r[k] != "–" })
	})
	if len(t.Heads) == 0 {
		return nil
	}
	for _, r := range rows {
		row := make([]string, len(t.Heads))
		for j, k := range t.Heads {
			row[j] = r[k]
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// figuresOf draws what there is to draw of a result.
func figuresOf(kind string, data []byte) ([]*chart.Figure, error) {
	switch kind {
	case "front":
		return savedFront(data)
	case "sweep":
		return savedSweep(data)
	case "plan", "simulate":
		return savedDistribution(data)
	case "learn", "compare", "suite":
		if data == nil {
			return nil, nil // of a suite the whole has them
		}
		all, err := drawingsIn(data)
		if err != nil {
			return nil, err
		}
		var figures []*chart.Figure
		for i := range all {
			if f, err := drawingFigure(all[i:i+1], "", shownMetrics, false); err == nil {
				figures = append(figures, f)
			}
		}
		return figures, nil
	}
	return nil, nil
}

// savedFront draws a curve between two returns.
func savedFront(data []byte) ([]*chart.Figure, error) {
	var saved frontReport
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	if len(saved.Over) > 3 && len(saved.Vertices) > 0 {
		return saved.parallel(), nil
	}
	if len(saved.Over) != 2 || len(saved.Points) == 0 {
		return nil, nil
	}
	a, b := strings.TrimLeft(saved.Over[0], "+-"), strings.TrimLeft(saved.Over[1], "+-")
	curve := chart.Curve{Marks: len(saved.Points) <= 60}
	for _, p := range saved.Points {
		x, _ := p.Returns.Of(a)
		y, _ := p.Returns.Of(b)
		curve.X, curve.Y = append(curve.X, float64(x)), append(curve.Y, float64(y))
	}
	return []*chart.Figure{{Title: saved.Problem + ": trade-off curve",
		Panels: []chart.Panel{{X: chart.Axis{Title: a}, Y: chart.Axis{Title: b}, Curves: []chart.Curve{curve}}}}}, nil
}

// parallel draws a saved trade-off of many returns.
func (rep *frontReport) parallel() []*chart.Figure {
	var over []objective
	for _, name := range rep.Over {
		sign := 1.0
		if strings.HasPrefix(name, "-") {
			sign = -1
		}
		over = append(over, objective{name: strings.TrimLeft(name, "+-"), sign: sign})
	}
	var vertices [][]float64
	for _, v := range rep.Vertices {
		var x []float64
		for _, o := range over {
			value, _ := v.Returns.Of(o.name)
			x = append(x, float64(value))
		}
		vertices = append(vertices, x)
	}
	return []*chart.Figure{parallelFigure(rep.Problem, over, vertices, rep.Error)}
}

// savedSweep draws a sweep.
func savedSweep(data []byte) ([]*chart.Figure, error) {
	var sets struct {
		Plans []struct{ Uncertainty json.RawMessage }
	}
	if err := json.Unmarshal(data, &sets); err == nil && len(sets.Plans) > 0 && sets.Plans[0].Uncertainty != nil {
		return savedRobustSweep(data)
	}
	var saved sweepReport
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	if len(saved.Over) == 0 || slices.ContainsFunc(saved.Plans, func(one *sweptReport) bool {
		return one == nil || one.Status == exact.Optimal.String() &&
			(len(one.Limits) != len(saved.Over) || len(one.Prices) != len(saved.Over))
	}) {
		return nil, nil
	}
	return drawnSweep(saved.figure(saved.Problem)), nil
}

// drawnSweep is a figure of a sweep, or nothing if no plan was found.
func drawnSweep(f *chart.Figure) []*chart.Figure {
	if len(f.Panels[0].Curves) == 0 {
		return nil
	}
	return []*chart.Figure{f}
}

// savedRobustSweep draws a sweep over sets of models.
func savedRobustSweep(data []byte) ([]*chart.Figure, error) {
	var saved robustSweep
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	if len(saved.Over) == 0 || slices.ContainsFunc(saved.Plans, func(one *robustSwept) bool {
		return one == nil || len(one.Limits) != len(saved.Over)
	}) {
		return nil, nil
	}
	return drawnSweep(saved.figure(saved.Problem)), nil
}

// savedDistribution draws how returns vary from one episode to the next.
func savedDistribution(data []byte) ([]*chart.Figure, error) {
	var saved struct {
		Problem      string
		Distribution map[string]distributionReport
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	var d distributions
	for _, name := range slices.Sorted(maps.Keys(saved.Distribution)) {
		if len(saved.Distribution[name].Histogram) > 0 {
			d.Names, d.Values = append(d.Names, name), append(d.Values, saved.Distribution[name])
		}
	}
	if d.Names == nil {
		return nil, nil
	}
	return []*chart.Figure{distributionFigure(saved.Problem, d)}, nil
}
