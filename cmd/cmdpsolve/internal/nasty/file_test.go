// Package nasty makes small problems that combine everything a problem file can say, asks the command
// about them, and compares the answers with those of explicit programs in rational arithmetic.
//
// It knows the problem file and the JSON that commands print, and nothing of the packages that answer:
// nothing here imports them. A failure is shrunk to a smallest file that still fails.
package nasty

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
)

// A Problem is a problem file. Numbers are decimal text, so that the file and the reference mean the same.
type Problem struct {
	Format      string                 `json:"format"`
	Horizon     int                    `json:"horizon,omitempty"`
	Discount    json.Number            `json:"discount,omitempty"`
	Criterion   string                 `json:"criterion,omitempty"`
	States      int                    `json:"states"`
	Start       map[string]json.Number `json:"start"`
	Labels      map[string][]int       `json:"labels,omitempty"`
	Returns     map[string]Return      `json:"returns"` // encoding/json sorts the names, and files keep that order
	Transitions []Row                  `json:"transitions"`
	Goal        *Goal                  `json:"goal,omitempty"`
	Constraints []Limit                `json:"constraints,omitempty"`
	Target      json.RawMessage        `json:"target,omitempty"`
}

// A Return is what rows give (all fields zero), or what happens along the way.
type Return struct {
	Reach     any    `json:"reach,omitempty"` // a label, or a list of states
	Total     string `json:"total,omitempty"`
	While     any    `json:"while,omitempty"`
	Within    Bounds `json:"within,omitempty"`
	Visits    any    `json:"visits,omitempty"`
	Exceeds   *Above `json:"exceeds,omitempty"`
	Meets     *Above `json:"meets,omitempty"`
	Excess    *Above `json:"excess,omitempty"`
	Criterion string `json:"criterion,omitempty"`
}

// Bounds are those on the way to a set, or of the part of an episode whose total counts.
type Bounds []Bound

// A Bound is the most that a return may come to on the way, or how many steps it may take if no return is named.
type Bound struct {
	Return string      `json:"return"`
	AtMost json.Number `json:"at_most"`
}

// MarshalJSON writes a number of steps as a number.
func (b Bound) MarshalJSON() ([]byte, error) {
	if b.Return == "" {
		return json.Marshal(b.AtMost)
	}
	type plain Bound
	return json.Marshal(plain(b))
}

// UnmarshalJSON reads a number of steps too.
func (b *Bound) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return json.Unmarshal(text, &b.AtMost)
	}
	type plain Bound
	return json.Unmarshal(text, (*plain)(b))
}

// MarshalJSON writes one bound alone.
func (b Bounds) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(b[0])
	}
	return json.Marshal([]Bound(b))
}

// UnmarshalJSON reads one bound or several.
func (b *Bounds) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		*b = Bounds{{}}
		return json.Unmarshal(text, &(*b)[0])
	}
	return json.Unmarshal(text, (*[]Bound)(b))
}

// spends reports whether the total of a return is bounded.
func (b Bounds) spends() bool {
	return slices.ContainsFunc(b, func(w Bound) bool { return w.Return != "" })
}

// Above is a return and a number that its total is compared with.
type Above struct {
	Return string      `json:"return"`
	Limit  json.Number `json:"limit"`
}

// A Row is what an action of a state does.
type Row struct {
	State    int                    `json:"state"`
	Action   string                 `json:"action"`
	Opponent string                 `json:"opponent,omitempty"`
	Step     int                    `json:"step,omitempty"`
	Next     map[string]json.Number `json:"next,omitempty"`
	Returns  map[string]json.Number `json:"returns,omitempty"`
	Outcomes []Outcome              `json:"outcomes,omitempty"`
}

// An Outcome is one of several things that an action may do.
type Outcome struct {
	Probability json.Number            `json:"probability"`
	Next        int                    `json:"next"`
	Returns     map[string]json.Number `json:"returns,omitempty"`
}

// A Goal has one of its fields.
type Goal struct {
	Maximize string          `json:"maximize,omitempty"`
	Minimize string          `json:"minimize,omitempty"`
	Cost     json.RawMessage `json:"cost,omitempty"`
}

// A Limit is a constraint with one bound, on average unless one of the last three is set.
type Limit struct {
	Return      string      `json:"return"`
	AtMost      json.Number `json:"at_most,omitempty"`
	AtLeast     json.Number `json:"at_least,omitempty"`
	Always      bool        `json:"always,omitempty"`
	Probability json.Number `json:"probability,omitempty"`
	CVaR        json.Number `json:"cvar,omitempty"`
}

// sure reports whether the limit is on every episode without exception.
func (l Limit) sure() bool {
	return l.Always || l.Probability != "" && rat(l.Probability).Cmp(big.NewRat(1, 1)) == 0
}

// whole reports whether the limit is on whole episodes.
func (l Limit) whole() bool { return l.Always || l.Probability != "" || l.CVaR != "" }

// text is the limit in the words of reports.
func (l Limit) text() string {
	sign, bound := " ≤ ", l.AtMost
	if bound == "" {
		sign, bound = " ≥ ", l.AtLeast
	}
	return l.Return + sign + string(bound)
}

// JSON returns the problem file.
func (p *Problem) JSON() []byte {
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		panic(err)
	}
	return b
}

// clone returns a copy that shares nothing.
func (p *Problem) clone() *Problem {
	c := new(Problem)
	if err := json.Unmarshal(p.JSON(), c); err != nil {
		panic(err)
	}
	return c
}

// names are those of the returns, in the order of the file.
func (p *Problem) names() []string { return slices.Sorted(maps.Keys(p.Returns)) }

// endless reports whether the problem has no horizon.
func (p *Problem) endless() bool { return p.Horizon == 0 }

// game reports whether some row has an opponent.
func (p *Problem) game() bool {
	return slices.ContainsFunc(p.Transitions, func(r Row) bool { return r.Opponent != "" })
}

// rat reads decimal text; nothing is 0.
func rat(n json.Number) *big.Rat {
	if n == "" {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic("nasty: no number: " + string(n))
	}
	return r
}

func ratOf(x float64) *big.Rat {
	r := new(big.Rat)
	if r.SetFloat64(x) == nil {
		panic("nasty: not finite")
	}
	return r
}

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func add(x, y *big.Rat) *big.Rat { return new(big.Rat).Add(x, y) }
func sub(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
func mul(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
func neg(x *big.Rat) *big.Rat    { return new(big.Rat).Neg(x) }

// addMul adds x·y to dst in place.
func addMul(dst, x, y *big.Rat) {
	if x.Sign() != 0 && y.Sign() != 0 {
		dst.Add(dst, new(big.Rat).Mul(x, y))
	}
}

func vector(n int) []*big.Rat {
	v := make([]*big.Rat, n)
	for i := range v {
		v[i] = new(big.Rat)
	}
	return v
}

// given reports whether rows give the return.
func (r Return) given() bool {
	return r.Reach == nil && r.Total == "" && r.Visits == nil && r.outOf() == nil
}

// ofTotals reports whether the return follows from totals of others.
func (r Return) ofTotals() bool { return r.Total != "" || r.outOf() != nil || r.Within.spends() }

// outOf is the return whose total r looks at, nil if it looks at none.
func (r Return) outOf() *Above {
	switch {
	case r.Exceeds != nil:
		return r.Exceeds
	case r.Meets != nil:
		return r.Meets
	}
	return r.Excess
}

func sign(x json.Number) int { return rat(x).Sign() }

// set returns the states that a set of states names: a label, or a list of states.
func (p *Problem) set(of any) map[int]bool {
	in := map[int]bool{}
	switch of := of.(type) {
	case string:
		for _, s := range p.Labels[of] {
			in[s] = true
		}
	case []any:
		for _, s := range of {
			in[int(s.(float64))] = true
		}
	case []int:
		for _, s := range of {
			in[s] = true
		}
	}
	return in
}
