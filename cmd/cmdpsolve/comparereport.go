package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A compareReport is the JSON form of a comparison on one problem.
type compareReport struct {
	Name    string `json:"name,omitempty"` // in a suite that gives it one
	Problem string `json:"problem"`
	compareSettings
	Exact       *exactReport  `json:"exact"`
	Interrupted bool          `json:"interrupted"`
	Rows        []*compareRow `json:"rows"`
}

// A compareRow is one learner: its capabilities, and the means over its runs of
// all metrics, which stand beside the other members in JSON.
type compareRow struct {
	Algorithm            string   `json:"algorithm"`
	Status               string   `json:"status"` // done, partial, or refused
	Reason               string   `json:"reason,omitempty"`
	Runs                 int      `json:"runs"`
	NonlinearCost        bool     `json:"nonlinear_cost"`
	NonlinearConstraints bool     `json:"nonlinear_constraints"`
	Efficient            bool     `json:"efficient"`
	Guarantee            string   `json:"guarantee"`
	Source               string   `json:"source"`
	Planner              string   `json:"planner"`
	Needs                []string `json:"needs"`
	Told                 []string `json:"told"`
	Homogeneous          bool     `json:"homogeneous"`
	Published            string   `json:"published,omitempty"`
	Certainty            string   `json:"certainty"`

	metrics map[string]estimate
	more    rowResults
}

// rowResults are the last members of a row.
type rowResults struct {
	Average map[string]estimate `json:"average,omitempty"`
	Seeds   []seedResult        `json:"seeds"`
	History []rowRecord         `json:"history"`
}

// A seedResult has the metrics of one run.
type seedResult struct {
	Seed    uint64            `json:"seed"`
	Metrics map[string]number `json:"metrics"`
}

// A rowRecord has the means of those metrics that are drawn, after an episode.
type rowRecord struct {
	Episode int `json:"episode"`
	metrics map[string]estimate
}

// An estimate is a mean over runs with the half-width of its 95% interval.
type estimate struct {
	Mean number `json:"mean"`
	CI95 number `json:"ci95"`
}

func estimateOf(n int, of func(i int) number) estimate {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(of(i))
	}
	if n == 0 {
		return estimate{number(nan), number(nan)}
	}
	mean, half := meanCI(x)
	return estimate{number(mean), number(half)}
}

// report summarises the runs that are done.
func (c *contest) report(times bool) *compareReport {
	rep := &compareReport{Name: c.name, Problem: c.p.title(), compareSettings: c.compareSettings, Exact: c.exactReport()}
	for _, e := range c.entrants {
		row := c.row(e, times)
		rep.Interrupted = rep.Interrupted || row.Status == "partial"
		rep.Rows = append(rep.Rows, row)
	}
	return rep
}

// title is what tells the comparison from others.
func (rep *compareReport) title() string {
	if rep.Name == "" || rep.Name == rep.Problem {
		return rep.Problem
	}
	return rep.Name + ": " + rep.Problem
}

func (c *contest) exactReport() *exactReport {
	s := session{p: c.p, best: c.best}
	return s.exactReport()
}

func (c *contest) row(e *entrant, times bool) *compareRow {
	row := &compareRow{
		Algorithm: e.Name, Status: "done", NonlinearCost: e.NonlinearCost, NonlinearConstraints: e.NonlinearConstraints,
		Efficient: e.Efficient, Guarantee: e.Guarantee, Source: e.Source, Planner: e.Algorithm.Planner, Needs: e.Needs, Told: e.told,
		Homogeneous: e.Homogeneous, Published: e.Published, Certainty: e.Certainty, metrics: map[string]estimate{},
	}
	if row.Needs == nil {
		row.Needs = []string{}
	}
	row.more.Seeds, row.more.History = []seedResult{}, []rowRecord{}
	if e.refused != "" {
		row.Status, row.Reason = "refused", e.refused
		return row
	}
	var done []*trialResult
	for _, r := range e.results {
		if r != nil {
			done = append(done, r)
		}
	}
	row.Runs = len(done)
	if len(done) < c.Seeds {
		row.Status, row.Reason = "partial", fmt.Sprintf("%d of %d runs", len(done), c.Seeds)
	}
	for _, m := range metrics {
		if m.key != secondsKey || times {
			row.metrics[m.key] = estimateOf(len(done), func(i int) number { return done[i].Metrics[m.key] })
		}
	}
	if len(done) == 0 {
		return row
	}
	row.more.Average = map[string]estimate{}
	for i, name := range c.p.Returns {
		row.more.Average[name] = estimateOf(len(done), func(j int) number { return done[j].Average[i] })
	}
	for _, r := range done {
		values := map[string]number{}
		for key, x := range r.Metrics {
			if key != secondsKey || times {
				values[key] = x
			}
		}
		row.more.Seeds = append(row.more.Seeds, seedResult{r.Seed, values})
	}
	for i, rec := range done[0].History {
		means := rowRecord{rec.Episode, map[string]estimate{}}
		for _, m := range metrics[:drawn] {
			means.metrics[m.key] = estimateOf(len(done), func(j int) number { return done[j].History[i].Metrics[m.key] })
		}
		row.more.History = append(row.more.History, means)
	}
	return row
}

// members writes metrics as members of a JSON object, in their order.
func members(values map[string]estimate) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range metrics {
		x, ok := values[m.key]
		if !ok {
			continue
		}
		text, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%q:%s", m.key, text)
	}
	return b.Bytes(), nil
}

// splice joins JSON objects and members.
func splice(first, middle, last []byte) []byte {
	out := append(bytes.TrimSuffix(first, []byte("}")), middle...)
	if len(last) > 2 {
		out = append(append(out, ','), bytes.TrimPrefix(last, []byte("{"))...)
		return out
	}
	return append(out, '}')
}

// MarshalJSON puts the metrics between the capabilities and the history.
func (r *compareRow) MarshalJSON() ([]byte, error) {
	type plain compareRow
	first, err := marshalPlain((*plain)(r))
	if err != nil {
		return nil, err
	}
	middle, err := members(r.metrics)
	if err != nil {
		return nil, err
	}
	last, err := marshalPlain(r.more)
	return splice(first, middle, last), err
}

// MarshalJSON puts the metrics beside the episode.
func (r rowRecord) MarshalJSON() ([]byte, error) {
	middle, err := members(r.metrics)
	return splice(fmt.Appendf(nil, `{"episode":%d}`, r.Episode), middle, nil), err
}

// marshalPlain leaves signs such as < as they are.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// note says what is particular about a row.
func (r *compareRow) note() string {
	switch {
	case r.Status == "refused":
		return "not run: " + r.Reason
	case r.Status == "partial":
		return r.Reason
	case len(r.Told) > 0:
		return "was told: " + strings.Join(r.Told, ", ")
	}
	return ""
}
