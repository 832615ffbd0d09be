package nasty

import (
	"math"
	"slices"
	"strings"
)

// KnownFailures are failures of the command that are known and not yet mended. The list is temporary: it is
// empty when the command is right.
var KnownFailures = Known{
	{"without a horizon, a return that nothing asks about is infinite, and objective, bound and gap are null", func(p *Problem, f *Failure) bool {
		return f.Kind == "null" && p.totals()
	}},
	{"with a discount near 1 a gap is not reached, or the verdict is undecided", func(p *Problem, f *Failure) bool {
		return slices.Contains([]string{"gap", "undecided", "range", "front", "check"}, f.Kind) && p.Discount != "" && p.Discount != "1" && float(rat(p.Discount)) > 0.9999
	}},
	{"without a horizon, a return that nothing asks about is infinite, and the distance of a certificate is null", func(p *Problem, f *Failure) bool {
		return f.Kind == "certificate" && strings.HasSuffix(f.Found, "null") && p.totals()
	}},
	{"means beside totals: undecided", func(p *Problem, f *Failure) bool {
		return f.Kind == "undecided" && p.Criterion == "average" && p.totals()
	}},
	{"totals: a policy that breaks a limit, or a ray that is none", func(p *Problem, f *Failure) bool {
		return p.totals() && slices.Contains([]string{"limit", "unbounded", "infeasible", "ray", "optimal", "objective", "policy"}, f.Kind)
	}},
	{"totals: undecided where loops gain", func(p *Problem, f *Failure) bool {
		return p.totals() && slices.Contains([]string{"undecided", "front"}, f.Kind)
	}},
	{"totals: a linear program of front and check has no bound, or NaN in it", func(p *Problem, f *Failure) bool {
		return p.totals() && f.Kind == "refused" && (strings.Contains(f.Found, "linear program") || strings.Contains(f.Found, "lp:"))
	}},
	{"a bound of a game that no possible return keeps is refused, not infeasible", func(p *Problem, f *Failure) bool {
		return p.game() && f.Kind == "refused" && strings.Contains(f.Found, "do not meet")
	}},
	{"what other limits have to give is computed for one threshold of a limit with cvar", func(p *Problem, f *Failure) bool {
		tail := slices.ContainsFunc(p.Constraints, func(l Limit) bool { return l.CVaR != "" })
		return tail && (strings.HasSuffix(f.Kind, "needed") || strings.HasSuffix(f.Kind, "conflict"))
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

// slow reports whether plan would try too many pairs of thresholds: those of two limits with cvar are all
// multiples of the unit of the values, not the totals that come up alone. Such problems are not asked, as long
// as that is so.
func (p *Problem) slow(g *graph) bool {
	pairs := 1.0
	for _, l := range p.Constraints {
		if l.CVaR == "" {
			continue
		}
		all := g.support[l.Return]
		unit, width := 0.0, 0.0
		for k := range all {
			width = max(width, math.Abs(float(all[k])))
			if k > 0 {
				if d := float(sub(all[k], all[k-1])); unit == 0 || d < unit {
					unit = d
				}
			}
		}
		if unit > 0 {
			pairs *= max(1, 2*width/unit)
		}
	}
	return pairs > 300
}
