package problem

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// fixed returns the Markov policy of the probabilities.
func (o *OpponentSpec) fixed(p *Problem) (cmdp.Policy, error) {
	f := fixedPolicy{p: p, rows: make(map[[2]int][]int), states: p.stateIndex()}
	for i := range o.Probabilities {
		f.read(i, &o.Probabilities[i])
	}
	if len(f.wrong) > 0 {
		return nil, f.wrong
	}
	sh := p.Model.Shape()
	first := sh.OpponentOffsets()
	probs := make([][]float64, sh.Horizon())
	said := make(map[int]bool)
	for h := range probs {
		offsets := first[min(h, len(first)-1)]
		probs[h] = make([]float64, offsets[sh.States()])
		for s := range sh.States() {
			if err := f.fill(probs[h][offsets[s]:offsets[s+1]], h, s, o.Probabilities); err != nil && !said[s] {
				said[s] = true
				f.wrong = append(f.wrong, Inside(err, "probabilities"))
			}
		}
	}
	if len(f.wrong) > 0 {
		return nil, f.wrong
	}
	policy, err := cmdp.NewRandomized(first, probs)
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	return policy, nil
}

// A fixedPolicy collects the rows of a policy by step, −1 for every step, and state.
type fixedPolicy struct {
	p      *Problem
	states stateIndex
	rows   map[[2]int][]int
	steps  bool // some row is for a step alone
	wrong  memberErrors
}

func (f *fixedPolicy) read(i int, c *OpponentChoice) {
	bad := func(member, format string, args ...any) {
		f.wrong = append(f.wrong, Inside(fmt.Errorf(format, args...), "probabilities", i, member))
	}
	f.steps = f.steps || c.Step > 0
	s, ok := stateNamed(string(c.State), f.states, f.p.Model.States())
	if !ok {
		want := ": want 0 to " + strconv.Itoa(f.p.Model.States()-1)
		if f.p.States != nil {
			want = orWant(string(c.State), f.p.States)
		}
		bad("state", "unknown state %s%s", shorten(string(c.State)), want)
		return
	}
	if c.Step < 0 || c.Step > f.p.Model.Horizon() {
		bad("step", "got %d: want 1 to %d", c.Step, f.p.Model.Horizon())
		return
	}
	if !(c.Probability >= 0 && c.Probability <= 1+cmdp.ProbabilityTolerance) {
		bad("probability", "got %g: want a probability, 0 to 1", c.Probability)
		return
	}
	// A row for every step is judged by the first step that offers something.
	known := f.names(c.Step-1, s)
	if slices.Contains(known, string(c.Opponent)) {
		key := [2]int{c.Step - 1, s}
		f.rows[key] = append(f.rows[key], i)
		return
	}
	bad("opponent", "unknown action %s of the opponent in state %s%s", shorten(string(c.Opponent)), f.p.StateName(s),
		orWant(string(c.Opponent), known))
}

// names lists the opponent's actions in a state at a step, or at any step if h is
// negative.
func (f *fixedPolicy) names(h, s int) []string {
	var names labels
	from, to := 0, f.p.steps()
	if h >= 0 {
		from, to = h, h+1
	}
	for h := from; h < to; h++ {
		for b := range f.p.offered(h, s) {
			names.id(f.p.OpponentName(h, s, b))
		}
	}
	return names.names
}

// fill sets dst to the distribution at step h in state s.
func (f *fixedPolicy) fill(dst []float64, h, s int, rows []OpponentChoice) error {
	own, ok := f.rows[[2]int{h, s}]
	if !ok {
		own, ok = f.rows[[2]int{-1, s}]
	}
	if !ok {
		if len(dst) == 1 {
			dst[0] = 1
		}
		if len(dst) > 1 {
			return fmt.Errorf("%s: no probabilities: want those of the opponent's actions", f.where(h, s))
		}
		return nil
	}
	seen := make(map[int]bool)
	sum := 0.0
	for _, i := range own {
		for b := range dst {
			if f.p.OpponentName(h, s, b) != string(rows[i].Opponent) {
				continue
			}
			if seen[b] {
				return fmt.Errorf("%s: the probability of action %s is given twice", f.where(h, s), rows[i].Opponent)
			}
			seen[b] = true
			dst[b] = rows[i].Probability
		}
		sum += rows[i].Probability
	}
	offered := floats.Sum(dst)
	switch {
	case len(dst) == 0:
		return nil
	case math.Abs(sum-1) > cmdp.ProbabilityTolerance:
		return fmt.Errorf("%s: the probabilities sum to %.12g: want 1", f.where(h, s), sum)
	case math.Abs(offered-1) > cmdp.ProbabilityTolerance:
		return fmt.Errorf("%s: the probabilities of the actions that it offers sum to %.12g: want 1", f.where(h, s),
			offered)
	}
	return nil
}

// where names a state, with the step if they differ.
func (f *fixedPolicy) where(h, s int) string {
	text := "state " + f.p.StateName(s)
	if f.p.Model.Stationary() && !f.steps {
		return text
	}
	return text + ", step " + strconv.Itoa(h+1)
}
