package baseline

import (
	"fmt"
	"math"
)

// A Tuning holds settings of single algorithms. Published experiments differ in
// them.
type Tuning struct {
	// KnapsackMargin is the share ε of every budget that conrl-knapsack sets aside, at
	// least 0 and less than 1; nil means DefaultKnapsackMargin.
	KnapsackMargin *float64
	// MultiplierStep is the length of the gradient steps on the multipliers of conrl-lagr,
	// in units of the scaled signals; 0 means DefaultMultiplierStep.
	MultiplierStep float64
	// ObjectiveBonus multiplies what dope takes off the objective to explore, nil means 1. Its
	// authors' code leaves it out, 0, in one experiment.
	ObjectiveBonus *float64
	// RewardUnit is what the range of the objective in one step counts in the units of the
	// notebook of triple-q, whose values start at 32 a step: for its published constants
	// alone. 0 means 32, so that they start at the greatest possible value.
	RewardUnit float64
	// PriorWeight is the total weight α of the prior of each row of the kernel in posterior, posterior-plain and
	// moma-posterior; 0 means DefaultPriorWeight, or, without episodes and in other learners that draw models,
	// OtherPriorWeight.
	PriorWeight float64
	// Correction is the share β of the episodes so far within which posterior makes the past
	// good; 0 means DefaultCorrection.
	Correction float64
	// Growth is the growth ε of the number of episodes after which posterior plans anew; 0
	// means DefaultGrowth.
	Growth float64
	// MeanModel has posterior plan on the mean of the posterior in place of a draw, as if
	// the most likely were certain. It then explores by chance alone.
	MeanModel bool
}

// Check returns an error for what the algorithm concerned could not work with.
func (t *Tuning) Check() error {
	switch {
	case t.KnapsackMargin != nil && !(*t.KnapsackMargin >= 0 && *t.KnapsackMargin < 1):
		return fmt.Errorf("knapsack margin %g: want at least 0 and less than 1", *t.KnapsackMargin)
	case !(t.MultiplierStep >= 0) || math.IsInf(t.MultiplierStep, 1):
		return fmt.Errorf("step of the multipliers %g: want a positive number, or 0 for the default",
			t.MultiplierStep)
	case t.ObjectiveBonus != nil && (!(*t.ObjectiveBonus >= 0) || math.IsInf(*t.ObjectiveBonus, 1)):
		return fmt.Errorf("objective bonus %g: want a finite number, at least 0", *t.ObjectiveBonus)
	case !(t.RewardUnit >= 0) || math.IsInf(t.RewardUnit, 1):
		return fmt.Errorf("reward unit %g: want a positive number, or 0 for the default", t.RewardUnit)
	}
	for name, x := range map[string]float64{"prior weight": t.PriorWeight, "correction": t.Correction,
		"growth": t.Growth} {
		if !(x >= 0) || math.IsInf(x, 1) {
			return fmt.Errorf("%s %g: want a positive number, or 0 for the default", name, x)
		}
	}
	return nil
}
