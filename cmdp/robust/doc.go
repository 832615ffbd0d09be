// Package robust plans for models whose probabilities are known up to intervals.
//
// A [Set] has all models whose probabilities lie between the bounds of a [cmdp.Intervals]. Nature chooses among them:
// anew at every visit of a choice, or, with Spec.Fixed, one model for good (rectangular sets: Iyengar 2005; Nilim, El
// Ghaoui 2005; for intervals Givan, Leach, Dean 2000).
//
// [Set.Evaluate] bounds the returns of a policy over the set, from below and above, rounding included. [Solve] finds a
// policy whose limits hold in every model of the set, and a bound that no policy can beat in every model: the optimum
// of one single model of the set, which [Result] has. The gap between the two is certified. It closes where one model
// is worst for goal and limits alike.
package robust
