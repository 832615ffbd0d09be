package nasty

import (
	"encoding/json"
	"slices"
	"strings"
)

// KnownFailures are failures of the command that are known and not yet mended. The list is temporary: it is
// empty when the command is right.
var KnownFailures = Known{
	// docs/exact.md, "Staying and leaving".
	{"totals: an optimum that has to remember whether it went round a loop is undecided", func(p *Problem, f *Failure) bool {
		return f.Kind == "undecided" && p.remembers()
	}},
	{"totals: whether limits can be kept is not known where a policy has to remember whether it went round a loop", func(p *Problem, f *Failure) bool {
		return f.Kind == "check" && strings.HasPrefix(f.Found, "not, gap from 0 to") && p.remembers()
	}},
	{"a conflict is only looked for at one threshold of a limit with cvar; none is named if other thresholds keep those limits", func(p *Problem, f *Failure) bool {
		tail := slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" })
		return tail && strings.HasSuffix(f.Kind, "conflict") && f.Found == "none"
	}},
}

// undiscounted reports whether the problem is about totals or long-run means without a horizon.
func (p *Problem) undiscounted() bool { return p.Criterion != "" || p.Discount == "1" }

// totals reports whether some return of a problem without a horizon is a total.
func (p *Problem) totals() bool {
	if p.Discount == "1" {
		return true
	}
	for _, r := range p.Returns {
		if p.Criterion != "" && r.Criterion == "total" {
			return true
		}
	}
	return false
}

// remembers reports whether the process may come back, through a choice that returns something which is asked about, to a state where it
// may also stay for nothing. An optimum may then be to go round once, and stay after that, which only a policy that remembers can do.
func (p *Problem) remembers() bool {
	if !p.totals() {
		return false
	}
	leads := make([][]bool, p.States) // from each state to each, in no step or more
	for s := range leads {
		leads[s] = make([]bool, p.States)
		leads[s][s] = true
	}
	for range p.States {
		for _, r := range p.Transitions {
			for _, o := range r.outcomes() {
				for t, yes := range leads[o.Next] {
					leads[r.State][t] = leads[r.State][t] || yes && sign(o.Probability) > 0
				}
			}
		}
	}
	free := p.free()
	return slices.ContainsFunc(p.Transitions, func(r Row) bool {
		return p.pays(r) && slices.ContainsFunc(r.outcomes(), func(o Outcome) bool {
			for s, stays := range free {
				if stays && leads[s][r.State] && leads[o.Next][s] && sign(o.Probability) > 0 {
					return true
				}
			}
			return false
		})
	})
}

// free reports in which states the process may stay for ever, by choices that return nothing that is asked about.
func (p *Problem) free() []bool {
	free := slices.Repeat([]bool{true}, p.States)
	for range p.States {
		stays := make([]bool, p.States)
		for _, r := range p.Transitions {
			inside := !p.pays(r) && !slices.ContainsFunc(r.outcomes(), func(o Outcome) bool { return sign(o.Probability) > 0 && !free[o.Next] })
			stays[r.State] = stays[r.State] || inside
		}
		for s := range free {
			free[s] = free[s] && stays[s]
		}
	}
	return free
}

// pays reports whether a row returns something that is asked about.
func (p *Problem) pays(r Row) bool {
	asked := func(name string) bool {
		return p.Goal != nil && (p.Goal.Maximize == name || p.Goal.Minimize == name) ||
			slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.Return == name })
	}
	for _, o := range r.outcomes() {
		for name, x := range o.Returns {
			if asked(name) && sign(x) != 0 {
				return true
			}
		}
	}
	return false
}

func sign(x json.Number) int { return rat(x).Sign() }
