package problem

import (
	"fmt"
	"go/format"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const namesInSource = `
format: cmdp/1
name: "tank */ ??/ \"half\" full"
horizon: 3
states: ["a ??/", "b\\n", "*/ c"]
start: 0
returns: [r]
transitions:
  - {state: 0, action: "up \"fast\"", next: {1: 1}, returns: [1]}
  - {state: 0, action: "down??/", next: {0: 1}}
  - {state: 1, action: "ünder", next: {1: 1}}
  - {state: 1, action: "up \"fast\"", next: {2: 1}}
  - {state: 1, action: "*/ on", next: {2: 1}}
`

func rowsOf(rows ...PolicyRow) iter.Seq[PolicyRow] { return slices.Values(rows) }

// policies are problems and rows of policies for them, as written.
func policies(t *testing.T) map[string]struct {
	p    *Problem
	rows []PolicyRow
} {
	up, down, under := `up "fast"`, "down??/", "ünder"
	steps := []PolicyRow{
		{Step: 1, State: "a ??/", Action: up, Probability: 0.125},
		{Step: 1, State: "a ??/", Action: down, Probability: 0.875},
		{Step: 1, State: `b\n`, Action: under, Probability: 1},
		{Step: 2, State: "a ??/", Action: up, Probability: 1}, {Step: 2, State: `b\n`, Action: under, Probability: 0.3},
		{Step: 2, State: `b\n`, Action: up, Probability: 0.45}, {Step: 2, State: `b\n`, Action: "*/ on", Probability: 0.25},
	}
	same := slices.Clone(steps[:3])
	for i := range same {
		same[i].Step = 3
	}
	same[0].Probability, same[1].Probability = 0.5, 0.5
	var parts []PolicyRow
	for i, weight := range []float64{0.25, 0.5, 0.25} {
		of := append(slices.Clone(steps), same...)
		if i == 1 { // its first row is sure
			of = append(slices.Clone(of[:1]), of[2:]...)
			of[0].Probability = 1
		}
		for _, row := range of {
			row.Component, row.Weight = i+1, weight
			parts = append(parts, row)
		}
	}
	type of = struct {
		p    *Problem
		rows []PolicyRow
	}
	endless := mustParse(t, `{format: cmdp/1, discount: 0.5, states: 2, start: 0, returns: [r], transitions: [
		{state: 0, action: 2, next: {1: 1}}, {state: 0, action: 0, next: {0: 1}}, {state: 1, action: 7, next: {1: 1}}]}`)
	return map[string]of{
		"steps":      {mustParse(t, namesInSource), append(steps, same...)},
		"components": {mustParse(t, namesInSource), parts},
		"stationary": {endless, []PolicyRow{{State: "0", Action: "0", Probability: 0.5},
			{State: "0", Action: "2", Probability: 0.5}, {State: "1", Action: "7", Probability: 1}}},
		"none": {endless, nil},
	}
}

// probes are the values of u that a compiled policy is asked for.
const probes = 400

// TestPolicySource compiles the source code of policies and compares how often each action is
// chosen with its probability.
func TestPolicySource(t *testing.T) {
	for name, c := range policies(t) {
		parts := 1
		for _, row := range c.rows {
			parts = max(parts, row.Component)
		}
		for _, ending := range []string{"c", "go"} {
			t.Run(name+"."+ending, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "policy."+ending)
				if err := WritePolicy(file, c.p.Process(), rowsOf(c.rows...)); err != nil {
					t.Fatal(err)
				}
				compare(t, c.p, c.rows, parts, runSource(t, dir, ending, c.p, parts))
			})
		}
	}
}

// arguments are what the program passes besides the state.
func arguments(p *Problem, parts int, step string) string {
	text := ""
	if parts > 1 {
		text = "c, "
	}
	if p.Model.Horizon() > 0 {
		text += step
	}
	return text
}

// runSource compiles a policy with a program that prints what it does, and runs it.
func runSource(t *testing.T, dir, ending string, p *Problem, parts int) string {
	t.Helper()
	steps := max(1, p.Model.Horizon())
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var build *exec.Cmd
	if ending == "c" {
		cc, err := exec.LookPath("gcc")
		if err != nil {
			t.Skip("no gcc")
		}
		draw := ""
		if parts > 1 {
			draw = fmt.Sprintf("for (int k = 0; k < %d; k++) printf(\"draw %%d\\n\", policy_draw((k + 0.5) / %d));",
				probes, probes)
		}
		write("main.c", fmt.Sprintf(`#include <stdio.h>
#include "policy.c"
int main(void) {
	printf("problem %%s\n", policy_problem);
	%s
	for (int c = 0; c < %d; c++) for (int h = -1; h <= %d; h++) for (int s = -1; s <= POLICY_STATES; s++) for (int k = 0; k < %d; k++) {
		int a = policy_act(%s s, (k + 0.5) / %d);
		(void)h;
		if (a >= 0) printf("%%d %%d %%s|%%s\n", c + 1, h + 1, policy_states[s], policy_actions[a]);
	}
	return 0;
}`, draw, parts, steps, probes, arguments(p, parts, "h, "), probes))
		build = exec.Command(cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror", "-o",
			"run", "main.c")
	} else {
		source, err := os.ReadFile(filepath.Join(dir, "policy.go"))
		if err != nil {
			t.Fatal(err)
		}
		if tidy, err := format.Source(source); err != nil || string(tidy) != string(source) {
			t.Fatalf("gofmt changes the source, or refuses it: %v", err)
		}
		draw := ""
		if parts > 1 {
			draw = fmt.Sprintf("for k := range %d { fmt.Println(\"draw\", policy.Draw((float64(k)+0.5)/%d)) }", probes,
				probes)
		}
		if err := os.Mkdir(filepath.Join(dir, "policy"), 0o700); err != nil {
			t.Fatal(err)
		}
		write("policy/policy.go", string(source))
		os.Remove(filepath.Join(dir, "policy.go"))
		write("go.mod", "module run\n\ngo 1.26\n")
		write("main.go", fmt.Sprintf(`package main
import ("fmt"; "run/policy")
func main() {
	fmt.Println("problem", policy.Problem)
	%s
	for c := range %d { for h := -1; h <= %d; h++ { for s := -1; s <= len(policy.States); s++ { for k := range %d {
		a := policy.Act(%s s, (float64(k)+0.5)/%d)
		if a >= 0 { fmt.Printf("%%d %%d %%s|%%s\n", c + 1, h + 1, policy.States[s], policy.Actions[a]) }
	} } } }
}`, draw, parts, steps, probes, arguments(p, parts, "h, "), probes))
		build = exec.Command("go", "build", "-o", "run", ".")
	}
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "run")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// compare counts the lines of a program's output.
func compare(t *testing.T, p *Problem, rows []PolicyRow, parts int, out string) {
	t.Helper()
	count := make(map[string]int)
	for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		count[line]++
	}
	if count["problem "+p.Name] != 1 {
		t.Errorf("the problem is not called %s:\n%.200s", p.Name, out)
	}
	expect := func(line string, probability float64) {
		if got := float64(count[line]) / probes; math.Abs(got-probability) > 1.5/probes {
			t.Errorf("%s: %g of the time, want %g", line, got, probability)
		}
		delete(count, line)
	}
	delete(count, "problem "+p.Name)
	for i := range parts {
		if parts > 1 {
			expect("draw "+strconv.Itoa(i), []float64{0.25, 0.5, 0.25}[i])
		}
	}
	for _, row := range rows {
		for h := range max(1, p.Model.Horizon()) + 2 {
			if row.Step == 0 || row.Step == h {
				expect(fmt.Sprintf("%d %d %s|%s", max(1, row.Component), h, row.State, row.Action), row.Probability)
			}
		}
	}
	for line := range count {
		t.Errorf("%s is not what the policy does", line)
	}
}

// TestPolicyFiles reads back what was written.
func TestPolicyFiles(t *testing.T) {
	for name, c := range policies(t) {
		for _, ending := range []string{"csv", "json", "npz"} {
			file := filepath.Join(t.TempDir(), "policy."+ending)
			if err := WritePolicy(file, c.p.Process(), rowsOf(c.rows...)); err != nil {
				t.Fatal(err)
			}
			parts, err := ReadMixture(file, c.p.Process())
			if name == "none" {
				if err == nil || !strings.Contains(err.Error(), "no row for state 0") {
					t.Errorf("%s.%s: %v", name, ending, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s.%s: %v", name, ending, err)
				continue
			}
			for _, row := range c.rows {
				part, s := parts[max(1, row.Component)-1], slices.Index(c.p.States, row.State)
				if s < 0 {
					s, _ = strconv.Atoi(row.State)
				}
				h := max(1, row.Step) - 1
				for a, x := range part.Policy.Probabilities(h, s) {
					if c.p.ActionName(h, s, a) == row.Action && x != row.Probability ||
						row.Component > 0 && part.Weight != row.Weight {
						t.Errorf("%s.%s: %+v is read as %g", name, ending, row, x)
					}
				}
			}
		}
	}
	if _, err := ReadPolicy("policy.go", policies(t)["none"].p.Process()); err == nil ||
		!strings.Contains(err.Error(), "want a name that ends in .csv, .json or .npz") {
		t.Error(err)
	}
	if err := WritePolicy("policy.txt", nil, nil); err == nil || !strings.Contains(err.Error(), ".npz, .c or .go") {
		t.Error(err)
	}
}
