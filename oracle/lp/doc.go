// Package lp solves small linear programs
//
//	minimise  c·x   subject to  Lᵢ ≤ aᵢ·x ≤ Uᵢ  for every row i,   lⱼ ≤ xⱼ ≤ uⱼ  for every column j,
//
// where any bound may be infinite. It answers with a vertex, the duals, and, where
// there is no optimum, with a ray that proves so.
//
// [Solve] solves a program once. [NewEmbedded] returns a Solver that keeps its basis: after
// SetObjective, SetRowBounds, AddColumn or AddRow the next Solve starts from the last
// vertex. A Solution says by its Status which of the three answers it holds.
//
// The programs that this toolkit solves are small: tens of rows for the masters of column
// generation, polytopes and maxima of affine functions. [NewEmbedded] is made for them. It
// is a bounded-variable primal simplex method in pure Go with a dense inverse of the basis.
// It refines its final point and duals to working precision, and its reduced costs are
// zero to 1e-12 of the terms that they are summed from.
//
// A program that is built with cgo and the tag glpk has GLPK too, as an independent second
// opinion. [NewGLPK] asks for it, and NewSolver, and with it Solve, uses it: the bounds of
// polytopes and the explicit reference programs then come from GLPK. Verdicts are the same,
// and numbers agree to 1e-6 of their size, because GLPK stops at 1e-9 of the largest cost.
// Its sparse factorisation makes it faster from some hundred rows on. Masters always use
// NewEmbedded.
//
// Both check every answer, rays included, against the signs below, and return an error
// instead of an answer that fails. The check is made in scaled numbers: it does not see
// coefficients of one row that are about 1e10 times smaller than others.
//
// # Signs
//
// With y the duals (one per row) and d = c − Aᵀy the reduced costs (one per
// column), an optimal Solution has, as for every minimisation,
//
//   - yᵢ ≥ 0 where row i rests on its lower bound Lᵢ, yᵢ ≤ 0 where it rests on its upper
//     bound Uᵢ, and yᵢ = 0 where it rests on neither: a ≤ row has a dual ≤ 0;
//   - dⱼ ≥ 0 where xⱼ = lⱼ, dⱼ ≤ 0 where xⱼ = uⱼ, and dⱼ = 0 between them;
//   - Objective = Σᵢ yᵢ·(Lᵢ if yᵢ > 0, Uᵢ if yᵢ < 0) + Σⱼ dⱼ·(lⱼ if dⱼ > 0, uⱼ if dⱼ < 0),
//     so that yᵢ is the change of the optimum per unit of the bound of row i.
//
// When Status is Infeasible, Ray is a Farkas ray y over the rows with the signs of
// duals. With g = Aᵀy every x within the column bounds has
// g·x ≤ γ = Σⱼ gⱼ·(uⱼ if gⱼ > 0, lⱼ if gⱼ < 0), every x within the row bounds has
// g·x ≥ β = Σᵢ yᵢ·(Lᵢ if yᵢ > 0, Uᵢ if yᵢ < 0), and β > γ.
//
// When Status is Unbounded, X is feasible and Ray is a direction r of recession:
// X + t·r stays feasible for every t ≥ 0 and c·r < 0.
package lp
