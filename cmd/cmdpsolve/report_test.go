package main

import "testing"

// FuzzResult: a saved result may hold anything; it is drawn and put on a page, or refused.
func FuzzResult(f *testing.F) {
	for _, text := range []string{
		`{"problem": "p", "over": ["cost ≤"], "plans": [{"limits": [1], "limit_prices": [0], "status": "optimal", "objective": -4, "returns": {"cost": 0}},
			{"limits": [2], "limit_prices": [null], "status": "infeasible", "objective": null, "returns": {}}]}`,
		`{"problem": "p", "status": "optimal", "over": ["+a", "-b"], "points": [{"returns": {"a": 1, "b": 2}, "vertex": true}], "vertices": [], "error": 1e-9}`,
		`{"problem": "p", "algorithm": "moma", "seeds": 1, "history": [{"episode": 1, "regret": 2}, {"episode": 2, "regret": null, "violation": 1e300}]}`,
		`{"problem": "p", "algorithm": "moma", "history": [{}], "runs": [{"history": [{"episode": 1, "regret": 2}]}, {"history": [{"episode": 1, "regret": 3}]}]}`,
		`{"problem": "p", "rows": [{"algorithm": "a", "runs": 2, "regret": {"mean": 1, "ci95": 0}, "history": [{"episode": 1, "regret": {"mean": 1, "ci95": null}}]}]}`,
		`{"problems": [{"name": "n", "problem": "p", "rows": [{"algorithm": "a", "runs": 1, "history": []}]}, 3]}`,
		`{"plans": []}`, `{"over": ["a ≤"], "plans": [null]}`,
		`{"over": ["a ≤"], "plans": [{"limits": [], "status": "optimal"}]}`,
		`{"over": ["a ≤"], "plans": [{"limits": [1], "status": "optimal"}]}`,
		`{"problem": "p", "choices": 3, "feasible": true}`, `{"problem": "p", "prices": [0], "returns": {"a": 1}}`,
		`{"over": ["interval"], "plans": [{"limits": [0.1], "uncertainty": {}, "status": "optimal", "objective": 1}]}`,
		`{"over": ["interval"], "plans": [{"uncertainty": {}}, null]}`,
		`{"policy": "x", "returns": {"a": {"mean": 1}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = partIn(data, "result.json")
		list, err := drawingsIn(data)
		if err != nil {
			return
		}
		if figure, err := drawingFigure(list, "", drawableMetrics(), true); err == nil {
			_, _ = figure.Bytes("svg")
		}
	})
}
