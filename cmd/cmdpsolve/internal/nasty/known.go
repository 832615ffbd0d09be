package nasty

import (
	"slices"
	"strings"
)

// KnownFailures are failures of the command that are known and not yet mended. The list is temporary: it is
// empty when the command is right.
var KnownFailures = Known{
	{"without a horizon, a return that nothing asks about is infinite, and objective, bound and gap are null", func(p *Problem, f *Failure) bool {
		return f.Kind == "null" && p.undiscounted()
	}},
	{"with a discount near 1 a gap is not reached, or the verdict is undecided", func(p *Problem, f *Failure) bool {
		return (f.Kind == "gap" || f.Kind == "undecided") && p.Discount != "" && float(rat(p.Discount)) > 0.9999
	}},
	{"without a horizon, a return that nothing asks about is infinite, and the distance of a certificate is null", func(p *Problem, f *Failure) bool {
		return f.Kind == "certificate" && strings.HasSuffix(f.Found, "null") && p.undiscounted()
	}},
	{"means beside totals: undecided", func(p *Problem, f *Failure) bool {
		return f.Kind == "undecided" && p.Criterion == "average"
	}},
	{"limits with always are left out of conflicts", func(p *Problem, f *Failure) bool {
		return (f.Kind == "conflict" || f.Kind == "needed") && slices.ContainsFunc(p.Constraints, Limit.sure)
	}},
}

// undiscounted reports whether the problem is about totals or long-run means without a horizon.
func (p *Problem) undiscounted() bool { return p.Criterion != "" || p.Discount == "1" }
