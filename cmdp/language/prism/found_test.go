package prism_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

// found is what was found in a program, the rewards and choices of each state.
type found struct {
	p       *language.Program
	result  *language.Explored
	owners  []int
	rewards [][]float64
	choices [][]foundChoice
}

// A foundChoice earns rewards in any case and gained ones on its branches.
type foundChoice struct {
	action                       int
	next                         []int32
	probability, rewards, gained []float64
}

func (f *found) State(owner int, rewards []float64) error {
	f.owners = append(f.owners, owner)
	f.rewards, f.choices = append(f.rewards, slices.Clone(rewards)), append(f.choices, nil)
	return nil
}

func (f *found) Choice(action int, next []int32, probability, rewards, gained []float64) error {
	at := &f.choices[len(f.choices)-1]
	*at = append(*at, foundChoice{action, slices.Clone(next), slices.Clone(probability), slices.Clone(rewards),
		slices.Clone(gained)})
	return nil
}

// nothing forgets what is found.
type nothing struct{}

func (nothing) State(int, []float64) error                                 { return nil }
func (nothing) Choice(int, []int32, []float64, []float64, []float64) error { return nil }

// explore reads and explores a text.
func explore(text string, constants map[string]string, threads int) (*found, error) {
	p, err := prism.Read("m.prism", text, constants)
	if err != nil {
		return nil, err
	}
	f := &found{p: p}
	f.result, err = language.Explore(context.Background(), p, f, language.ExploreOptions{Threads: threads})
	return f, err
}

// explored explores a program that was read from a text.
func explored(t *testing.T, p *language.Program, err error, text string) *found {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	f := &found{p: p}
	f.result, err = language.Explore(context.Background(), p, f, language.ExploreOptions{Threads: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// name is what a state is called.
func (f *found) name(s int32) string { return f.result.States.StateName(int(s)) }

// mean returns what a choice earns in the mean.
func (c *foundChoice) mean() []float64 {
	sum := slices.Clone(c.rewards)
	for i, x := range c.gained {
		sum[i%len(sum)] += c.probability[i/len(sum)] * x
	}
	return sum
}

// rows writes states in the form of plainProgram.rows, by names.
func (f *found) rows(name func(s int) string) map[string][]string {
	out := make(map[string][]string)
	named := func(s int) string { return fmt.Sprint(vector(name(s))) }
	for s, choices := range f.choices {
		lines := []string{numbers(f.rewards[s])}
		for _, c := range choices {
			next := make(map[string]float64)
			for i, to := range c.next {
				next[named(int(to))] += c.probability[i]
			}
			lines = append(lines, f.p.Actions[c.action]+": "+line(next)+numbers(c.mean()))
		}
		slices.Sort(lines[1:])
		out[named(s)] = append(lines[:1], slices.Compact(lines[1:])...)
	}
	return out
}

// String lists the states in order, with their rewards and choices.
func (f *found) String() string {
	var b strings.Builder
	earns := func(rewards []float64) {
		for i, x := range rewards {
			if x != 0 {
				fmt.Fprintf(&b, " %s=%g", f.p.Rewards[i].Name, x)
			}
		}
	}
	for s, choices := range f.choices {
		b.WriteString(f.name(int32(s)))
		if f.p.Kind == language.Game {
			fmt.Fprintf(&b, " player %d", f.owners[s])
		}
		earns(f.rewards[s])
		for _, c := range choices {
			fmt.Fprintf(&b, "\n  [%s]", f.p.Actions[c.action])
			for i, to := range c.next {
				if i > 0 {
					b.WriteString(" +")
				}
				fmt.Fprintf(&b, " %.6g %s", c.probability[i], f.name(to))
				if n := len(c.rewards); len(c.gained) > 0 {
					earns(c.gained[i*n : (i+1)*n])
				}
			}
			earns(c.rewards)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// without returns the states without choices but for some.
func (f *found) without(but func(s int) bool) (states []int32) {
	for s, choices := range f.choices {
		if len(choices) == 0 && !but(s) {
			states = append(states, int32(s))
		}
	}
	return states
}
