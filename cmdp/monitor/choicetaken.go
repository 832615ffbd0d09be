package monitor

import "fmt"

// ChoiceTaken remembers whether one of some choices was taken. It returns nothing. Policies need that which go round
// a loop for a while and then stay in it at no cost: without memory, whoever stays would leave in the end.
type ChoiceTaken struct {
	Title string
	// Choices says of each choice of the model, numbered among those of all states, whether it is one of them.
	Choices []bool
	// Before and After say what is remembered before any of them was taken and from then on; "no" and "yes" if
	// both are empty.
	Before, After string
}

// Name returns the title.
func (t *ChoiceTaken) Name() string { return t.Title }

// Rewards returns 0.
func (t *ChoiceTaken) Rewards() int { return 0 }

// Range has nothing to set.
func (t *ChoiceTaken) Range(_, _ []float64) {}

// Start returns that none was taken.
func (t *ChoiceTaken) Start([]float64, Transition) int { return 0 }

// Step looks at the choice.
func (t *ChoiceTaken) Step(_ []float64, memory int, of Transition) int {
	if of.Choice >= 0 && t.Choices[of.Choice] {
		return 1
	}
	return memory
}

// Value says whether one was taken.
func (t *ChoiceTaken) Value(memory int) string {
	switch {
	case t.Before == "" && t.After == "":
		return [...]string{"no", "yes"}[memory]
	case memory == 0:
		return t.Before
	}
	return t.After
}

// With returns the product of a product without a horizon and further monitors, which watch the states and
// choices of the product p. It is a product of the base of p, which remembers what p does and what these
// monitors do.
func (p *ProductModel) With(monitors ...Monitor) (*ProductModel, error) {
	if p.Model == nil || p.Model.Horizon() > 0 {
		return nil, fmt.Errorf("monitor: a product with a horizon takes no further monitors")
	}
	q, err := New(Spec{Model: p.Model, Monitors: monitors})
	if err != nil {
		return nil, err
	}
	q.inner = p
	return q, nil
}

// Monitors returns the monitors of the product, those of the product that it was made of first.
func (p *ProductModel) Monitors() []Monitor {
	if p.inner == nil {
		return append([]Monitor(nil), p.monitors...)
	}
	return append(p.inner.Monitors(), p.monitors...)
}

// Part returns the memory value of the monitor i, of those that the product itself has, in state s.
func (p *ProductModel) Part(s, i int) int { return p.tuples[p.Tuple(s)*len(p.monitors)+i] }

// Tuple returns a number of what the product's own monitors remember in state s: the same where they remember the same.
func (p *ProductModel) Tuple(s int) int {
	if p.epochs != nil {
		epoch, _ := p.epochs.Split(s)
		return epoch
	}
	return int(p.memory[s])
}
