// Package cmdp models, plans and learns vector-valued sequential decision
// problems: tabular, episodic Markov decision processes and Markov games whose return is a
// vector, a convex target set that says what is acceptable, and a convex cost
// that says what is best.
//
// A [Builder] makes a [Model] from rows, [NewLearner] a learner of a [Task], and [NewRunner]
// plays it; the examples do both. Package problem reads models and tasks from files, exact
// plans in them, baseline has more learners, and contest compares learners.
//
// A [Model] knows its transition kernel; an [Environment] only lets itself be
// played. The type in a signature says who may know the kernel: planners on
// known models (package exact) take a *Model, learners take a *Shape and see
// trajectories. The central learner is [MOMA], the multi-objective
// meta-algorithm of Yu, Tian, Zhang, Sra (2021) with the corrections listed in
// docs/design.md.
//
// In a game an [Opponent] acts at the same time as the agent, and a choice is a
// pair of their actions, see [Shape]; [NewGameRunner] plays one, [Minimax] solves a
// known one. An environment without an opponent is a game in which it has one action.
//
// Throughout, H is the horizon, S the number of states, d the number of
// coordinates of a return. Steps are 0-based in code (h = 0..H-1) and 1-based in
// files and reports. A choice is a pair of a state and one of the actions that
// it offers; states offer different numbers of actions, so nothing is ever
// stored as a rectangle. The agent minimises ⟨θ, return⟩; optimism is a lower
// bound.
package cmdp
