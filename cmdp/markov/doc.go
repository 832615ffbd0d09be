// Package markov has the graph algorithms and the linear algebra of finite Markov chains and Markov decision
// processes whose kernel is the same at every step. It knows states, choices, transitions and rewards, and
// nothing of tasks, costs of returns, targets or verdicts.
//
// A [Graph] is the support of a kernel: it finds strongly connected components, maximal end components, the
// states from which a goal can be reached with probability one, and the [Quotient] in which end components are
// single states. A [Chain] is the linear system (I − P)x = b of a policy in a part of the states, of which it
// also finds recurrent classes and stationary shares. [Visits] are the expected visits of a policy to all
// states. [LeastTotal] and [LeastMean] are the dynamic programs: the least discounted or total reward, by
// modified policy iteration, Gauss-Seidel sweeps and policy iteration, and the least long-run mean, by relative
// value iteration and policy iteration.
//
// States and choices are int32 numbers of a cmdp.Kernel. Nothing is safe for concurrent use unless it says so,
// and arguments are not checked: kernels are those of a cmdp.Model.
//
// The sources are Puterman, Markov Decision Processes (1994), Baier and Katoen, Principles of Model Checking
// (2008), and Bertsekas, Dynamic Programming and Optimal Control.
package markov
