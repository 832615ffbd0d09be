package exchange

import (
	"errors"
	"fmt"
	"strings"

	"cmdpsolve/cmdp/internal/interval"
)

// AppendBranch appends a branch whose probability lies between bounds, which may be the same number. Readers call it
// for every branch, and [Model.SetNominal] at the end.
func (m *Model) AppendBranch(target int32, lower, upper float64) {
	if m.Lower == nil && lower != upper {
		m.Lower = append(make([]float64, 0, len(m.Probability)+1), m.Probability...)
		m.Upper = append(make([]float64, 0, len(m.Probability)+1), m.Probability...)
	}
	m.Target = append(m.Target, target)
	m.Probability = append(m.Probability, lower)
	if m.Lower != nil {
		m.Lower = append(m.Lower, lower)
		m.Upper = append(m.Upper, upper)
	}
}

// SetNominal sets the probabilities of choices with intervals to those at the same share of each interval.
func (m *Model) SetNominal() {
	for c := 0; m.Lower != nil && c < m.Choices(); c++ {
		lo, hi := m.Offset[c], m.Offset[c+1]
		interval.Nominal(m.Probability[lo:hi], m.Lower[lo:hi], m.Upper[lo:hi])
	}
}

// Bounds returns the bounds of the branches of a choice, nil if its probabilities are exact.
func (m *Model) Bounds(c int) (lower, upper []float64) {
	if m.Lower == nil {
		return nil, nil
	}
	lo, hi := m.Offset[c], m.Offset[c+1]
	for e := lo; e < hi; e++ {
		if m.Lower[e] != m.Upper[e] {
			return m.Lower[lo:hi], m.Upper[lo:hi]
		}
	}
	return nil, nil
}

// EndChoice ends a choice whose branches were appended. It returns an error if there is no distribution between their
// bounds.
func (m *Model) EndChoice() error {
	m.Offset = append(m.Offset, m.Branches())
	lower, upper := m.Bounds(m.Choices() - 1)
	if lower == nil {
		return nil
	}
	return interval.Check(lower, upper, Tolerance)
}

// Faults are what is wrong with choices of a model, each with where it is. The first 50 are kept, and all are counted.
type Faults struct {
	kept  []string
	count int
}

// Add takes down what is wrong with a choice, the number of one of a state, and the line of the file where it begins, 0
// if there is none. Without an error it does nothing.
func (f *Faults) Add(line, state, choice int, err error) {
	if err == nil {
		return
	}
	f.count++
	if len(f.kept) == keptFaults {
		return
	}
	at := ""
	if line > 0 {
		at = fmt.Sprintf("line %d: ", line)
	}
	f.kept = append(f.kept, fmt.Sprintf("%sstate %d, choice %d: %v", at, state, choice, err))
}

// keptFaults is how many faults a message spells out.
const keptFaults = 50

// Err returns an error that lists the faults that are kept, one on each line, nil if there are none.
func (f *Faults) Err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.kept, "\n")
	if more := f.count - len(f.kept); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return errors.New(text)
}

// checkIntervals reports all choices between whose bounds there is no distribution.
func (m *Model) checkIntervals() error {
	if m.Lower == nil && m.Upper == nil {
		return nil
	}
	if len(m.Lower) != m.Branches() || len(m.Upper) != m.Branches() {
		return fmt.Errorf("%d lower and %d upper bounds: want %d, as many as branches", len(m.Lower), len(m.Upper),
			m.Branches())
	}
	if m.Players > 1 {
		return errors.New("intervals of probabilities in a game: want one player")
	}
	var empty Faults
	for s := range m.States() {
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			lower, upper := m.Bounds(c)
			if lower != nil {
				empty.Add(0, s, c-int(m.First[s]), interval.Check(lower, upper, Tolerance))
			}
		}
	}
	return empty.Err()
}

// NoIntervals returns an error if probabilities are intervals, for formats that have none.
func (m *Model) NoIntervals(format string) error {
	if m.Lower != nil {
		return fmt.Errorf("probabilities are intervals, which %s cannot say", format)
	}
	return nil
}
