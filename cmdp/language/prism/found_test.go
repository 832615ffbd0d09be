package prism_test

import (
	"fmt"
	"slices"

	"cmdpsolve/cmdp/language"
)

// found collects what is explored, in the form of plainProgram.rows.
type found struct {
	owners  []int
	rewards [][]float64
	choices [][]foundChoice
}

type foundChoice struct {
	action               int
	next                 []int32
	probability, rewards []float64
}

func (f *found) State(owner int, rewards []float64) error {
	f.owners = append(f.owners, owner)
	f.rewards, f.choices = append(f.rewards, slices.Clone(rewards)), append(f.choices, nil)
	return nil
}

func (f *found) Choice(action int, next []int32, probability, rewards, gained []float64) error {
	rewards = slices.Clone(rewards)
	for i, x := range gained {
		rewards[i%len(rewards)] += probability[i/len(rewards)] * x
	}
	at := &f.choices[len(f.choices)-1]
	*at = append(*at, foundChoice{action, slices.Clone(next), slices.Clone(probability), rewards})
	return nil
}

func (f *found) rows(p *language.Program, states int, name func(s int) string) map[string][]string {
	out := make(map[string][]string)
	named := func(s int) string { return fmt.Sprint(vector(name(s))) }
	for s := range states {
		lines := []string{numbers(f.rewards[s])}
		for _, c := range f.choices[s] {
			next := make(map[string]float64)
			for i, to := range c.next {
				next[named(int(to))] += c.probability[i]
			}
			lines = append(lines, p.Actions[c.action]+": "+line(next)+numbers(c.rewards))
		}
		slices.Sort(lines[1:])
		out[named(s)] = append(lines[:1], slices.Compact(lines[1:])...)
	}
	return out
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
