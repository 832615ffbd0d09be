package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// loopProblem is one of a loop of two states that pays 1 and costs 1 each time it is gone round, in which one
// may stay for nothing. What it limits besides needs more memory.
func loopProblem(t *testing.T, here, there, stay, limits string, opts CompileOptions) *Query {
	t.Helper()
	text := fmt.Sprintf(`{"format":"cmdp/1","discount":1,"states":[%[1]q,%[2]q],"start":%[1]q,
		"returns":{"pay":{},"cost":{},"seen":{"reach":[%[2]q]}},"transitions":[
		{"state":%[1]q,"action":"go","next":{%[2]q:1},"returns":{"pay":1,"cost":1}},
		{"state":%[1]q,"action":%[3]q,"next":{%[1]q:1}},
		{"state":%[2]q,"action":"back","next":{%[1]q:1}}],
		"goal":{"maximize":"pay"},"constraints":[%[4]s]}`, here, there, stay, limits)
	p, err := problem.ReadFrom(strings.NewReader(text), "loop", problem.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := New(t.Context(), p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestLoopsInPolicyFiles: a plan that remembers whether it is done with a loop is written, read and evaluated,
// whatever states and actions are called, and where rows are stored for it alone.
func TestLoopsInPolicyFiles(t *testing.T) {
	for _, names := range [][3]string{{"here", "there", "stay"}, {"0", "1", "2"},
		{"(1, 2)", "before x in y", `say "so"; then, in`}, {"after a in b", "; ", " "}} {
		for _, limits := range []string{`{"return":"cost","at_most":2.5}`,
			`{"return":"cost","at_most":2.5},{"return":"seen","at_most":0.25}`} {
			reader := loopProblem(t, names[0], names[1], names[2], limits, CompileOptions{})
			for _, generate := range []int{0, 1} {
				q := loopProblem(t, names[0], names[1], names[2], limits, CompileOptions{Generate: generate})
				if (q.Model.Epochs() != nil) != (generate > 0) {
					t.Fatalf("%s: rows are generated: %v", limits, generate == 0)
				}
				r, err := q.Solve(t.Context(), exact.Options{})
				if err != nil || r.Status != exact.Optimal || math.Abs(r.Objective+2.5) > 1e-9 || r.Product == nil {
					t.Fatalf("%v: %+v, %v: want 2.5 with memory", names, r, err)
				}
				of, err := q.Remembering(r.Product)
				if err != nil {
					t.Fatal(err)
				}
				for _, ending := range []string{"csv", "json", "npz"} {
					path := filepath.Join(t.TempDir(), "policy."+ending)
					if err := problem.WritePolicy(path, of.Process, of.PlanRows(r.Policy, r.Mixture)); err != nil {
						t.Fatal(err)
					}
					read, policies, err := reader.ReadPolicy(t.Context(), path)
					if err != nil {
						t.Fatalf("%v: %v", names, err)
					}
					v, _, err := NewSimulation(read, policies, 1, 100).Expected(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for i, x := range v {
						if math.Abs(x-r.Returns[i]) > 1e-9 {
							t.Errorf("%v, %s: returns %v: want %v", names, ending, v, r.Returns)
						}
					}
				}
			}
		}
	}
}

// TestDrawnLoops: a policy that remembers of several sets of choices whether it took one is read as it was written.
func TestDrawnLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 80))
	for trial := range 40 {
		q := parsed(t, "format: cmdp/1\ndiscount: 1\nreturns: [gain, cost]\n"+drawRows(rng, true))
		sets := make([][]bool, 1+rng.IntN(3))
		for i := range sets {
			sets[i] = make([]bool, q.Model.Choices())
			sets[i][rng.IntN(len(sets[i]))] = true
			sets[i][rng.IntN(len(sets[i]))] = true
		}
		of, err := q.withLoops(sets)
		if err != nil {
			t.Fatal(err)
		}
		policy := drawPolicy(rng, of)
		want, _, err := NewSimulation(of, []Drawn{{1, policy}}, 1, 1).Expected(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "policy.csv")
		if err := problem.WritePolicy(path, of.Process, of.PlanRows(policy, nil)); err != nil {
			t.Fatal(err)
		}
		read, policies, err := q.ReadPolicy(t.Context(), path)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		got, _, err := NewSimulation(read, policies, 1, 1).Expected(t.Context())
		if err != nil || math.Abs(got[0]-want[0])+math.Abs(got[1]-want[1]) > 1e-9 {
			t.Errorf("trial %d: %v, error %v: want %v", trial, got, err, want)
		}
	}
}
