package nasty

import (
	"os"
	"path/filepath"
)

// judgeBudget asks for plans within less and less time, too little for most of them: what is said by then has to be as
// true as what is said in the end.
func (b *Bed) judgeBudget(p *Problem, q *question, file string) *Failure {
	policy := filepath.Join(b.Folder, "policy.csv")
	for _, budget := range []string{"20ms", "3ms", "1ms", "300us", "100us", "1ns"} {
		os.Remove(policy)
		a, r, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--policy", policy, "--budget", budget)
		if f != nil {
			return f
		}
		if a.Failed != nil && a.Status == "" {
			f = q.judgeRefusal(p, a.message())
		} else {
			text, _ := os.ReadFile(policy)
			f = judgeInTime(p, q, a, r.Status, string(text))
		}
		if f != nil {
			f.Kind += " in time"
			return f
		}
	}
	return nil
}

// judgeInTime judges an answer for which there may have been too little time.
func judgeInTime(p *Problem, q *question, a *planned, exit int, policy string) *Failure {
	if a.Status == "infeasible" && len(a.Conflict) == 0 { // which are in conflict may take longer
		exact := q.best(nil, q.moved(q.limits, ratOf(-moderate)))
		if exact.status != infeasible {
			return failure("infeasible", "%s", exact.status).but("infeasible")
		}
		return q.judgeCertificate(p, a)
	}
	if a.Status != "stopped" {
		return judgePlan(p, q, a, exit, policy)
	}
	exact, least := q.best(q.cost, q.limits), q.best(q.cost, q.moved(q.limits, ratOf(moderate)))
	if want := map[bool]int{true: 0, false: 1}[policy != ""]; want != exit {
		return failure("exit", "%d", want).but("stopped, exit status %d, policy\n%s", exit, policy)
	}
	if policy != "" {
		if least.status == infeasible {
			return failure("policy", "that no policy keeps the limits").but("stopped with\n%s", policy)
		}
		if f := q.judgePolicy(p, a, policy); f != nil {
			return f
		}
	}
	if p.Goal == nil {
		return nil
	}
	sign, size := 1.0, q.costSize()
	if q.maximized {
		sign = -1
	}
	switch {
	case a.Bound == nil:
	case exact.status == unbounded:
		return failure("bound", "none").but("%g", *a.Bound)
	case exact.status == optimal && !(sign**a.Bound <= float(exact.value)+1e-9*size):
		return failure("bound", "%g, and a bound beyond it", sign*float(exact.value)).but("%.15g", *a.Bound)
	}
	if policy != "" && a.Objective != nil && least.status == optimal &&
		!(sign**a.Objective >= float(least.value)-moderate*size) {
		return failure("objective", "%g at best", sign*float(least.value)).but("%.15g", *a.Objective)
	}
	return nil
}
