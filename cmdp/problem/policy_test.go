package problem

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

const policyProblem = `
format: cmdp/1
horizon: 3
states: [a, b]
start: a
returns: [r]
transitions:
  - {state: a, action: x, next: {b: 1}, returns: [1]}
  - {state: a, action: y, next: {a: 1}}
  - {state: b, action: x, next: {b: 1}}
`

// FuzzPolicyFile reads anything as a policy: it is refused with positions within
// the file, or it is a policy.
func FuzzPolicyFile(f *testing.F) {
	p, err := Parse("p.yaml", []byte(policyProblem), nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"step,state,action,probability\n,a,x,0.5\n,a,y,0.5\n,b,x,1\n",
		"\ufeffstate,action,probability\na,x,1\n1,x,1\n",
		"step,state,action,probability\n1,a,x,1\n2,b,x,1\n3,b,x,1\n",
		"step,state,action,probability\n1,a,x,NaN\n4,c,z,-1\n",
		"step,state\n\"", "",
	} {
		f.Add(text, false)
	}
	for _, text := range []string{
		`[{"state": "a", "action": "x", "probability": 1}, {"state": "b", "action": "x", "probability": 1}]`,
		`[{"step": 1, "state": 0, "action": "x", "probability": 1e400}]`,
		`[{"step": [1]}]`, `[{"":A0`, `[{"state"`, `[}`, `[] []`, `"a"`, `[1]`, "",
	} {
		f.Add(text, true)
	}
	file := map[bool]string{false: filepath.Join(f.TempDir(), "p.csv"), true: filepath.Join(f.TempDir(), "p.json")}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		if err := os.WriteFile(file[isJSON], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		policy, err := ReadPolicy(file[isJSON], p)
		if err != nil {
			if errs := (Errors)(nil); !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		probs := make([]float64, 2)
		policy.Distribution(probs, 0, 0)
		if sum := probs[0] + probs[1]; math.Abs(sum-1) > 1e-9 || probs[0] < 0 || probs[1] < 0 {
			t.Fatalf("%q: accepted, but the start state has %v", text, probs)
		}
	})
}
