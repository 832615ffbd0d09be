package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// checkReport is the JSON form of what is known of a problem. Horizon is null
// without one; Feasible is null where it could not be decided.
type checkReport struct {
	Problem     string                  `json:"problem"`
	States      int                     `json:"states"`
	Choices     int                     `json:"choices"`
	Transitions int                     `json:"transitions"`
	Horizon     *int                    `json:"horizon"`
	Discount    number                  `json:"discount"`
	Stationary  bool                    `json:"same_every_step"`
	Random      bool                    `json:"random_returns"`
	Returns     map[string]*rangeReport `json:"returns"`
	Feasible    *bool                   `json:"feasible"`
	GapLower    number                  `json:"gap_lower"`
	GapUpper    number                  `json:"gap_upper"`
	// Tolerance is the distance up to which the target counts as met.
	Tolerance   number            `json:"tolerance"`
	Nearest     map[string]number `json:"nearest,omitempty"`
	Certificate *planCertificate  `json:"certificate"`
	Slater      *slaterReport     `json:"slater"`
	Rho         number            `json:"rho"`
	Seconds     number            `json:"seconds"`
}

// rangeReport holds the least and the greatest expected return over all policies.
type rangeReport struct {
	Min number `json:"min"`
	Max number `json:"max"`
}

// slaterReport is the largest ball around returns of a policy that lies in the
// target, apart from sides that hold for all possible returns; Bound is what its
// radius cannot exceed. A radius of null is one that nothing bounds.
type slaterReport struct {
	Radius  number            `json:"radius"`
	Bound   number            `json:"bound"`
	Returns map[string]number `json:"returns"`
	Rho     number            `json:"rho"`
	returns []float64
}

func newCheckReport(p *loaded, lower, upper []float64) *checkReport {
	m := p.Model
	rep := &checkReport{
		Problem: p.Name, States: m.States(), Choices: m.Choices(), Transitions: m.Transitions(),
		Discount: number(nan), Stationary: m.Stationary(), Random: m.RandomReturns(),
		Returns: make(map[string]*rangeReport), Rho: number(nan), Tolerance: number(nan),
	}
	if h := m.Horizon(); h > 0 {
		rep.Horizon = &h
	} else {
		rep.Discount = number(m.Discount())
	}
	for i, name := range p.Returns {
		rep.Returns[name] = &rangeReport{number(lower[i]), number(upper[i])}
	}
	return rep
}

// write writes what is known of the problem.
func (rep *checkReport) write(w io.Writer, p *loaded, format outputFormat) error {
	switch format {
	case "json":
		return writeJSON(w, rep)
	case "csv":
		return rep.quantities(p).write(w, format)
	case "table":
		p.heading(w)
		kernel := "the same at every step"
		if !rep.Stationary {
			kernel = "different at each step"
		}
		if rep.Random {
			kernel += ", random returns"
		}
		fmt.Fprintf(w, "%s, %.3g s\n\n", kernel, float64(rep.Seconds))
	}
	ranges := &table{header: []string{"return", "least", "greatest"}}
	for _, name := range p.Returns {
		r := rep.Returns[name]
		ranges.add(name, short(float64(r.Min)), short(float64(r.Max)))
	}
	if err := ranges.write(w, format); err != nil {
		return err
	}
	if limits := rep.limits(p); len(limits.rows) > 0 {
		fmt.Fprintln(w)
		if err := limits.write(w, format); err != nil {
			return err
		}
	}
	if format != "table" {
		return nil
	}
	fmt.Fprintln(w)
	for _, line := range wrap(strings.Join(rep.notes(p), " "), 79) {
		fmt.Fprintln(w, line)
	}
	return nil
}

// limits compares each bound on a single return with what policies can do.
func (rep *checkReport) limits(p *loaded) *table {
	t := &table{header: []string{"constraint", "alone"}}
	for _, l := range p.limits() {
		if l.of == "" {
			continue
		}
		r := rep.Returns[l.of]
		least, most := l.bound-float64(r.Max), l.bound-float64(r.Min) // slack of an upper bound
		if l.below() {
			least, most = float64(r.Min)-l.bound, float64(r.Max)-l.bound
		}
		says := "can be kept"
		switch {
		case most < 0:
			says = "cannot be kept"
		case least >= 0:
			says = "always kept"
		}
		t.add(l.name, says, short(most))
	}
	t.header = append(t.header, "largest slack")
	return t
}

// quantities lists everything, one number in each row.
func (rep *checkReport) quantities(p *loaded) *table {
	t := &table{header: []string{"quantity", "name", "value"}}
	add := func(quantity, name string, x number) { t.add(quantity, name, exactly(float64(x))) }
	t.add("states", "", fmt.Sprint(rep.States))
	t.add("choices", "", fmt.Sprint(rep.Choices))
	t.add("transitions", "", fmt.Sprint(rep.Transitions))
	if rep.Horizon != nil {
		t.add("horizon", "", fmt.Sprint(*rep.Horizon))
	} else {
		add("discount", "", rep.Discount)
	}
	for _, name := range p.Returns {
		add("min", name, rep.Returns[name].Min)
		add("max", name, rep.Returns[name].Max)
	}
	feasible := ""
	if rep.Feasible != nil {
		feasible = fmt.Sprint(*rep.Feasible)
	}
	t.add("feasible", "", feasible)
	add("gap_lower", "", rep.GapLower)
	add("gap_upper", "", rep.GapUpper)
	add("tolerance", "", rep.Tolerance)
	for _, name := range sortedNames(rep.Nearest) {
		add("nearest", name, rep.Nearest[name])
	}
	if s := rep.Slater; s != nil {
		add("slater_radius", "", s.Radius)
		add("slater_bound", "", s.Bound)
		for _, name := range sortedNames(s.Returns) {
			add("slater_return", name, s.Returns[name])
		}
		add("slater_rho", "", s.Rho)
	}
	add("rho", "", rep.Rho)
	return t
}

// notes says in sentences what was found.
func (rep *checkReport) notes(p *loaded) []string {
	switch {
	case p.task.Target == nil:
		return []string{"There are no limits to keep."}
	case rep.Feasible == nil:
		return []string{fmt.Sprintf("Whether some policy keeps every limit is not known: the nearest returns found are %s away, and nothing was proved.", short(float64(rep.GapUpper)))}
	case !*rep.Feasible:
		between := short(float64(rep.GapLower))
		if most := short(float64(rep.GapUpper)); most != between {
			between = "between " + between + " and " + most
		}
		return []string{"No policy keeps every limit.", p.explain(rep.Certificate),
			"The approachability gap, the distance of the best policy from what is allowed" + rep.Certificate.andPossible() + ", is " + between + ";",
			"the nearest returns are " + p.vector(rep.Nearest) + "."}
	}
	notes := []string{"Some policy keeps every limit: the approachability gap is 0."}
	s, none := rep.Slater, 1e-9*slices.Min(p.sides())
	switch r := float64(s.Radius); {
	case math.IsInf(r, 1):
		return append(notes, "All policies do.")
	case r <= none && float64(s.Bound) > 2*none:
		notes = append(notes, fmt.Sprintf("Whether some policy keeps them with room to spare is not known: no Slater ball was found, and none is larger than %s (see --iterations).",
			short(float64(s.Bound))))
	case r <= none:
		notes = []string{fmt.Sprintf("Some policy keeps every limit within %s, which counts as kept: the approachability gap is 0.", short(float64(rep.Tolerance))),
			"None keeps them with room to spare: there is no Slater ball, and whether one keeps them exactly is left to rounding."}
	default:
		notes = append(notes, fmt.Sprintf("The largest slack in all of them at once is %s: a ball of that radius (Slater) around the returns %s is allowed.", short(r), p.vector(s.Returns)))
		if b := float64(s.Bound); b > r*(1+1e-9) {
			notes = append(notes, fmt.Sprintf("No ball is larger than %s.", short(b)))
		}
	}
	switch rho := float64(rep.Rho); {
	case math.IsNaN(rho):
	case rho == 0:
		notes = append(notes, "The limits do not bind at the optimum.")
	default:
		text := fmt.Sprintf("For learn, --rho %s is enough, twice the multiplier of the limits", short(rho))
		if by := float64(s.Rho); !math.IsNaN(by) {
			text += fmt.Sprintf("; the Slater ball alone tells %s", short(by))
		}
		notes = append(notes, text+".")
	}
	return notes
}

// vector writes returns by name.
func (p *loaded) vector(v map[string]number) string {
	var parts []string
	sides := p.sides()
	for i, name := range p.Returns {
		parts = append(parts, name+" "+rounded(float64(v[name]), sides[i]))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
