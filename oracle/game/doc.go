// Package game finds the value and optimal mixed strategies of zero-sum matrix games.
//
// [Nash] solves one game. A [Solver] solves many, and keeps its memory between them.
//
// Throughout, rows belong to the agent, who pays the payoff and therefore
// minimises, and columns to the opponent, who maximises (erratum E-07):
//
//	value = min_μ max_ω μᵀQω = max_ω min_μ μᵀQω
//
// over probability vectors μ on the rows and ω on the columns. Matrices are dense
// and stored by rows: the payoff of row a and column b is Q[a·B+b].
//
// Games with one row, one column or a saddle point and games of two by two are
// solved in closed form, all others by [cmdpsolve/oracle/lp.Dense]. Every answer
// comes with its certificate: low = min_a (Qω)_a ≤ value ≤ up = max_b (μᵀQ)_b,
// whatever rounding did to μ and ω. What the two strategies can lose together,
// up − low, is their exploitability.
package game
