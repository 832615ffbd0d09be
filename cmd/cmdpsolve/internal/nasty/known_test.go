package nasty

// KnownFailures are failures of the command that are known and not yet mended. The list is temporary: it is
// empty when the command is right.
var KnownFailures Known

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
