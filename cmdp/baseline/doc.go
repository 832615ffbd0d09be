// Package baseline holds the algorithms to compare with: constrained and
// multi-objective learners of the literature, one file each, all of them a
// [cmdp.Learner] like MOMA, which stands among them under its own names.
//
// [New] makes any of them by name, a [Recorder] around a learner keeps regret and violation,
// and [cmdp.NewRunner] plays it, as in the example. [Algorithms] lists the learners with what
// each can do and needs, [KnowledgeOf] computes what some of them have to be told. Package
// contest does all this for several learners and seeds at a time.
//
// # One convention
//
// The agent minimises. Returns may lie in any interval and point either way; most
// papers want costs or rewards in [0,1]. The linear form of a task ([Linear]: the
// gradient of an affine cost and the constraints of a polyhedral target) is
// therefore shifted and scaled inside, exactly: signal j of a choice at step h is
//
//	x_j = (f_j·r − l_{j,h})/w_j ∈ [0,1],   so that   f_j·V = w_j·V_{x_j} + Σ_h l_{j,h},
//
// with l the least and l + w the greatest value of a step. Signal 0 is the
// objective, the others are the constraints, V_{x_j} ≤ α_j. Papers that maximise a
// reward see 1 − x. Nothing scaled is ever reported.
//
// # Fairness
//
// All learners share the counts of package cmdp, one confidence (K episodes,
// failure probability p), one bonus scale ([cmdp.BonusScale]) and one knowledge
// ([Knowledge]). "Theory" means the constants printed in the paper, "practice"
// multiplies every radius and bonus by the same 0.35 for all, a number by that
// number, "published" takes what the experiments of the paper used where that is
// known. Doc comments say how sure a constant is: "from the paper" (checked
// against code or notes that transcribe it), "from memory of the paper" (right in
// form, perhaps not in the number), or "derived here".
package baseline
