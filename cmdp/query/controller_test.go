package query_test

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// tracker says in words what the policy of docs/examples/drone.yaml remembers, from what happens.
type tracker struct {
	state   string
	battery float64
}

func (d *tracker) name() string {
	total, arrived := strconv.FormatFloat(d.battery, 'g', -1, 64), "under way"
	if d.state == "home" {
		total, arrived = "at most 14", "over"
	}
	if d.battery > 14 {
		total = "above 14"
	}
	return d.state + " (" + arrived + "; " + total + ")"
}

// TestPolicySourceRemembers plays episodes of a problem with memory and has compiled controllers follow them.
func TestPolicySourceRemembers(t *testing.T) {
	p, err := problem.Read("../../docs/examples/drone.yaml")
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	declared, number := p.Process(), make(map[string]int)
	for s := range q.Model.States() {
		number[q.StateName(s)] = s
	}
	const battery = 1 // the rows return photos and battery
	rng := rand.New(rand.NewPCG(1, 2))
	returns := make([]float64, declared.Model.Dim())
	var events, want strings.Builder
	for range 300 {
		d, at := tracker{state: "base"}, 0
		fmt.Fprintf(&events, "-1 none %d 0 0\n", at)
		fmt.Fprintln(&want, d.name())
		for h := range q.Model.Horizon() {
			s, ok := number[d.name()]
			if !ok {
				t.Fatalf("no state is called %s", d.name())
			}
			a := rng.IntN(q.Model.Shape().Actions(h, s))
			name, of := q.ActionName(h, s, a), -1
			for b := range declared.Model.Shape().Actions(h, at) {
				if declared.ActionName(h, at, b) == name {
					of = b
				}
			}
			at = declared.Model.Step(returns, rng, h, at, of)
			d.state, d.battery = declared.StateName(at), d.battery+returns[battery]
			fmt.Fprintf(&events, "%d %s %d %g %g\n", h, name, at, returns[0], returns[1])
			fmt.Fprintln(&want, d.name())
		}
	}
	for _, ending := range []string{"c", "go"} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			if err := problem.WritePolicy(filepath.Join(dir, "policy."+ending), q.Process,
				q.PolicyRows(cmdp.Uniform{Shape: q.Model.Shape()}, problem.Agent)); err != nil {
				t.Fatal(err)
			}
			build := follower(t, dir, ending)
			build.Dir = dir
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			follow := exec.Command(filepath.Join(dir, "run"))
			follow.Stdin = strings.NewReader(events.String())
			out, err := follow.Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(strings.Split(want.String(), "\n"), strings.Split(string(out), "\n")); diff != "" {
				t.Errorf("what is remembered differs (-want +got):\n%s", diff)
			}
		})
	}
}

// follower writes a program that reads events and prints the states of the controller: step (−1 at a start),
// action, state of the problem and its returns. It returns the command that compiles it.
func follower(t *testing.T, dir, ending string) *exec.Cmd {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ending == "c" {
		cc, err := exec.LookPath("gcc")
		if err != nil {
			t.Skip("no gcc")
		}
		write("main.c", `#include <stdio.h>
#include <string.h>
#include "policy.c"
int main(void) {
	int step, at, state = -1;
	char action[80];
	double returns[2];
	while (scanf("%d %79s %d %lf %lf", &step, action, &at, &returns[0], &returns[1]) == 5) {
		int a = 0;
		while (a < POLICY_ACTIONS - 1 && strcmp(action, policy_actions[a]))
			a++;
		state = step < 0 ? policy_begin(at) : policy_next(step, state, a, at, returns);
		if (state >= 0 && policy_state_of[state] != at)
			state = -1;
		puts(state < 0 ? "none" : policy_states[state]);
	}
	return policy_begin(-1) != -1 || policy_begin(3) != -1 || policy_next(0, -1, 0, 0, returns) != -1 || policy_next(99, 0, 0, 0, returns) != -1;
}`)
		return exec.Command(cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror", "-o",
			"run", "main.c")
	}
	source, err := os.ReadFile(filepath.Join(dir, "policy.go"))
	if err != nil {
		t.Fatal(err)
	}
	if tidy, err := format.Source(source); err != nil || string(tidy) != string(source) {
		t.Fatalf("gofmt changes the source, or refuses it: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "policy"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("policy/policy.go", string(source))
	os.Remove(filepath.Join(dir, "policy.go"))
	write("go.mod", "module run\n\ngo 1.26\n")
	write("main.go", `package main
import ("bufio"; "fmt"; "os"; "run/policy"; "slices")
func main() {
	var step, at int
	var action string
	var returns [2]float64
	in, state := bufio.NewReader(os.Stdin), -1
	for {
		if n, _ := fmt.Fscan(in, &step, &action, &at, &returns[0], &returns[1]); n < 5 { return }
		if step < 0 { state = policy.Begin(at) } else { state = policy.Next(step, state, slices.Index(policy.Actions[:], action), at, returns) }
		if state < 0 || policy.StateOf[state] != at { fmt.Println("none") } else { fmt.Println(policy.States[state]) }
	}
}`)
	return exec.Command("go", "build", "-o", "run", ".")
}
