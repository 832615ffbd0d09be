package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
)

// A drawing is what there is to draw on one problem of a result.
type drawing struct {
	name    string // in a suite that gives it one
	problem string
	list    []series
	runs    int
}

// savedResult has the members of results of learn and compare that are drawn.
type savedResult struct {
	Name      string            `json:"name"`
	Problem   string            `json:"problem"`
	Algorithm string            `json:"algorithm"`
	History   []json.RawMessage `json:"history"`
	Runs      []savedRunHistory `json:"runs"`
	Rows      []savedRow        `json:"rows"`
	Problems  []savedResult     `json:"problems"`
}

type savedRunHistory struct {
	History []json.RawMessage `json:"history"`
}

type savedRow struct {
	Algorithm string            `json:"algorithm"`
	Runs      int               `json:"runs"`
	History   []json.RawMessage `json:"history"`
}

// title is what tells a drawing from those of other problems.
func (d *drawing) title() string {
	if d.name != "" {
		return d.name
	}
	return d.problem
}

// readDrawings reads a result. The error names the file.
func readDrawings(path string) ([]drawing, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	list, err := drawingsIn(data)
	if err == nil && len(list) == 0 {
		err = errors.New("no history in it; want what learn or compare wrote with --format json")
	}
	if err != nil {
		return nil, fmt.Errorf("plot: %s: %w", path, err)
	}
	return list, nil
}

// drawingsIn reads the JSON of a result. There are none where nothing was played.
func drawingsIn(data []byte) ([]drawing, error) {
	var saved savedResult
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, errors.New("want what learn or compare wrote with --format json")
	}
	return saved.drawings()
}

func (s *savedResult) drawings() ([]drawing, error) {
	var all []drawing
	for i := range s.Problems {
		list, err := s.Problems[i].drawings()
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	d := drawing{name: s.Name, problem: s.Problem}
	for _, row := range s.Rows {
		if row.Runs == 0 {
			continue
		}
		records, err := records(row.History)
		if err != nil {
			return nil, err
		}
		d.runs = max(d.runs, row.Runs)
		d.list = append(d.list, series{row.Algorithm, records})
	}
	if len(s.Rows) == 0 && len(s.History) > 0 {
		records, err := s.learned()
		if err != nil {
			return nil, err
		}
		d.runs, d.list = len(s.Runs), []series{{s.Algorithm, records}}
	}
	if len(d.list) > 0 {
		all = append(all, d)
	}
	return all, nil
}

// UnmarshalJSON takes a number alone too: that of a single run.
func (e *estimate) UnmarshalJSON(data []byte) error {
	type members estimate // without this method
	*e = estimate{report.NaN, report.NaN}
	if json.Unmarshal(data, &e.Mean) == nil {
		return nil
	}
	return json.Unmarshal(data, (*members)(e))
}

// records reads the drawable metrics of records.
func records(history []json.RawMessage) ([]rowRecord, error) {
	var list []rowRecord
	for i, raw := range history {
		var member map[string]json.RawMessage
		rec := rowRecord{metrics: map[string]estimate{}}
		if err := json.Unmarshal(raw, &member); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		if err := json.Unmarshal(member["episode"], &rec.Episode); err != nil || rec.Episode < 1 || i > 0 && rec.Episode <= list[i-1].Episode {
			return nil, fmt.Errorf("record %d: episode %s: want a number greater than the one before", i, member["episode"])
		}
		for _, key := range drawableMetrics() {
			if member[key] == nil {
				continue
			}
			var e estimate
			if err := json.Unmarshal(member[key], &e); err != nil {
				return nil, fmt.Errorf("record %d: %s: %w", i, key, err)
			}
			rec.metrics[key] = e
		}
		list = append(list, rec)
	}
	return list, nil
}

// learned reads a history of learn: that of one run, or the means of several.
func (s *savedResult) learned() ([]rowRecord, error) {
	if len(s.Runs) == 0 {
		return records(s.History)
	}
	var runs [][]rowRecord
	shortest := len(s.History)
	for _, r := range s.Runs {
		list, err := records(r.History)
		if err != nil {
			return nil, err
		}
		runs, shortest = append(runs, list), min(shortest, len(list))
	}
	var out []rowRecord
	for i := range shortest {
		rec := rowRecord{runs[0][i].Episode, map[string]estimate{}}
		for _, r := range runs {
			if r[i].Episode != rec.Episode {
				return out, nil // runs that were interrupted part here
			}
		}
		for key := range runs[0][i].metrics {
			rec.metrics[key] = estimateOf(len(runs), func(j int) float64 { return float64(runs[j][i].metrics[key].Mean) })
		}
		out = append(out, rec)
	}
	return out, nil
}

// distinguish adds the file's name to learners that another file has too.
func distinguish(before, list []drawing, path string) {
	for i := range list {
		for j := range list[i].list {
			name := &list[i].list[j].name
			if slices.ContainsFunc(before, func(d drawing) bool {
				return slices.ContainsFunc(d.list, func(s series) bool { return s.name == *name })
			}) {
				*name = fmt.Sprintf("%s (%s)", *name, filepath.Base(path))
			}
		}
	}
}
