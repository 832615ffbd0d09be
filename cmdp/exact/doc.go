// Package exact plans in known models: it minimises a convex cost of the
// expected return V of a policy subject to V lying in a convex target set, and
// proves what it says.
//
// The set 𝒱 of the returns of all policies is a compact convex polytope that
// answers one question, "which policy is cheapest in this direction?", by value
// iteration. [Solve] combines such answers by column generation (Dantzig and
// Wolfe 1960): a master problem in d dimensions mixes the policies found so far,
// its dual prices are the next direction, and the answer both adds a policy and
// bounds what any policy can reach,
//
//	V*(φ+ψ) − g*(φ) − h_W(ψ)  ≤  min { g(v) : v ∈ 𝒱 ∩ W }  ≤  g(v)  for v ∈ 𝒱 ∩ W,
//
// where V*(θ) = min over 𝒱 of θ·v and h_W is the support function of the target.
// Costs and targets that are not polyhedral are met by tangents where the
// mixture goes. The mixture is returned as one Markov policy, by averaging
// occupancies.
//
// Verdicts are sound. An optimum comes with a bound, recomputed by an independent
// value iteration, and the evaluated return of the policy; infeasibility comes
// with a direction θ in which every policy lies beyond the target, which [Verify]
// checks without the solver, in rational arithmetic too.
//
// [Solve] answers one task, as in the example; a [Planner] answers many tasks of one model, and
// finds which limits are in conflict. [Front] computes trade-off curves and [Planner.Ranges] what each
// return can be. [SolveDeterministic] looks for policies that never draw. For games there are
// [SolveGame] and [ApproachabilityGap]. A [Mixer] is the same column generation
// for the planning programs of learners.
//
// The loop is in columngeneration.go, as its pseudocode. What it knows of a task is a program (program.go), and of a
// model a pricing problem (pricing.go), one for each criterion: finitehorizon.go, discountedreward.go, totalreward.go,
// averagereward.go, tally.go and epochs.go for products whose rows are generated, and sum.go. A recovery (recovery.go)
// makes a policy of the mixture, and solver.go, infeasible.go and unbounded.go say what is proved.
package exact
