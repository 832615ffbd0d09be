package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A Cost describes a convex cost as a problem file does: exactly one field is
// set, and its key in the file is the name of the kind. Kinds are declared as those of a
// [Set] are, and have the method of costKind.
type Cost struct {
	Linear      *Coefficients `json:"linear,omitempty" jsonschema:"c·x; a mapping from names, or a list" example:"{reward: -1, cost: 2}"`
	Affine      *Affine       `json:"affine,omitempty" jsonschema:"c·x + constant" example:"{linear: {reward: -1}, constant: 3}"`
	Coordinate  *Name         `json:"coordinate,omitempty" jsonschema:"one return" example:"cost"`
	Max         MaxAffine     `json:"max,omitempty" jsonschema:"the greatest of affine functions; a constant left out is 0" example:"[{linear: {reward: -1}, constant: 3}, {linear: [0, 2]}]"`
	Distance    *Set          `json:"distance,omitempty" jsonschema:"the Euclidean distance to a set, bounded or not" example:"{ball: {center: [3, 0], radius: 1}}"`
	Norm        *Norm         `json:"norm,omitempty" jsonschema:"‖x − center‖_p for p = 1, 2 or inf" example:"{p: inf, center: [3, 0]}"`
	Squared     *Squared      `json:"squared,omitempty" jsonschema:"Σ weights_i (x_i − center_i)²" example:"{center: [3, 0], weights: [1, 0.5]}"`
	Huber       *Huber        `json:"huber,omitempty" jsonschema:"Σ weights_i h(x_i − center_i), where h(r) is r²/2 up to the threshold and goes on straight" example:"{threshold: 0.5, center: [3, 0]}"`
	Hinge       *Hinge        `json:"hinge,omitempty" jsonschema:"max(0, normal·x − offset)" example:"{normal: {cost: 1}, offset: 0.5}"`
	LogSumExp   *LogSumExp    `json:"logsumexp,omitempty" jsonschema:"temperature·log Σ exp(x_i / temperature)" example:"{temperature: 0.1}"`
	Entropic    *Entropic     `json:"entropic,omitempty" jsonschema:"temperature·log Σ p_i exp(x_i / temperature)" example:"{probabilities: [0.5, 0.5], temperature: 0.1}"`
	CVaR        *CVaR         `json:"cvar,omitempty" jsonschema:"the mean of the largest coordinates of total probability tail" example:"{probabilities: [0.5, 0.5], tail: 0.25}"`
	Sum         WeightedSum   `json:"sum,omitempty" jsonschema:"Σ weight·cost" example:"[{weight: 1, cost: {coordinate: cost}}, {weight: 2, cost: {hinge: {normal: [-1, 0], offset: -1}}}]"`
	Scaled      *WeightedCost `json:"scaled,omitempty" jsonschema:"weight·cost" example:"{weight: 2, cost: {coordinate: cost}}"`
	Maximum     Maximum       `json:"maximum,omitempty" jsonschema:"the greatest of several costs" example:"[{coordinate: cost}, {norm: {p: 2}}]"`
	Precomposed *Precomposed  `json:"precomposed,omitempty" jsonschema:"cost(A x + b), where returns have no names" example:"{A: [[1, -1]], b: [2], cost: {squared: {}}}"`
}

func (Cost) isUnion() {}

// A costKind is a kind of cost. It makes the cost over a box of returns, which have names or
// none.
type costKind interface {
	build(returns []string, domain *geometry.Box) (cost.Cost, error)
}

// Build returns the cost over a bounded box of returns. Returns names the
// coordinates and may be nil; dimensions are those of the domain. An error that
// concerns a member is a [MemberError]. It allocates.
func (c *Cost) Build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	if c == nil {
		return nil, errors.New("problem: no cost")
	}
	name, kind, err := kindOf(*c)
	if err != nil {
		return nil, err
	}
	built, err := kind.(costKind).build(returns, domain)
	if err != nil {
		return nil, Inside(err, name)
	}
	return built, nil
}

// checked keeps a nil pointer out of a cost.Cost.
func checked[C cost.Cost](c C, err error) (cost.Cost, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// build makes the linear cost of the coefficients.
func (c *Coefficients) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	v, err := c.vector(returns, domain.Dim())
	if err != nil {
		return nil, err
	}
	return checked(cost.NewLinear(v, domain))
}

// Affine is the function Linear·x + Constant.
type Affine struct {
	Linear   Coefficients `json:"linear" jsonschema:"a mapping from returns to coefficients, or a list"`
	Constant float64      `json:"constant,omitempty" jsonschema:"0 if absent"`
}

func (a *Affine) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	v, err := a.Linear.vector(returns, domain.Dim())
	if err != nil {
		return nil, Inside(err, "linear")
	}
	return checked(cost.NewAffine(v, a.Constant, domain))
}

// MaxAffine is the greatest of affine functions.
type MaxAffine []Affine

func (m MaxAffine) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	gradients, offsets := make([][]float64, len(m)), make([]float64, len(m))
	for j, a := range m {
		v, err := a.Linear.vector(returns, domain.Dim())
		if err != nil {
			return nil, Inside(err, j, "linear")
		}
		gradients[j], offsets[j] = v, a.Constant
	}
	return cost.NewMaxAffine(gradients, offsets, domain)
}

// build makes the cost that is the distance to the set. An unbounded set is cut where it
// is too far away to be nearest to any point of the domain.
func (s *Set) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	set, err := s.Build(domain.Dim(), returns)
	if err != nil {
		return nil, err
	}
	if compact, ok := set.(geometry.Compact); ok {
		return checked(cost.NewDistance(compact))
	}
	lower, upper := domain.Lower(), domain.Upper()
	nearest := make([]float64, len(lower))
	set.Project(nearest, lower)
	far, diameter := 0.0, 0.0
	for i := range nearest {
		far = math.Hypot(far, nearest[i]-lower[i])
		diameter = math.Hypot(diameter, upper[i]-lower[i])
	}
	// No point of the domain is further than this from the set, so its projection
	// is no further than this from the domain.
	reach := 1 + 1.01*(far+diameter)
	for i := range lower {
		lower[i], upper[i] = lower[i]-reach, upper[i]+reach
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	compact, err := geometry.Restrict(set, box)
	if err != nil {
		return nil, err
	}
	return checked(cost.NewDistance(compact))
}

// Norm is ‖x − Center‖_p. A nil centre is the origin.
type Norm struct {
	P      Order     `json:"p" jsonschema:"1, 2 or inf"`
	Center []float64 `json:"center,omitempty" jsonschema:"the origin if absent"`
}

func (n *Norm) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	return cost.NewNorm(float64(n.P), orFill(n.Center, domain.Dim(), 0), domain)
}

// Squared is Σ Weights_i (x_i − Center_i)². A nil centre is the origin, nil
// weights are ones.
type Squared struct {
	Center  []float64 `json:"center,omitempty" jsonschema:"the origin if absent"`
	Weights []float64 `json:"weights,omitempty" jsonschema:"ones if absent"`
}

func (s *Squared) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	d := domain.Dim()
	return cost.NewSquared(orFill(s.Center, d, 0), orFill(s.Weights, d, 1), domain)
}

// Huber is Σ Weights_i h(x_i − Center_i), where h(r) is r²/2 up to |r| =
// Threshold and goes on straight. A nil centre is the origin, nil weights are
// ones.
type Huber struct {
	Center    []float64 `json:"center,omitempty" jsonschema:"the origin if absent"`
	Weights   []float64 `json:"weights,omitempty" jsonschema:"ones if absent"`
	Threshold float64   `json:"threshold" jsonschema:"positive"`
}

func (h *Huber) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	d := domain.Dim()
	return cost.NewHuber(orFill(h.Center, d, 0), orFill(h.Weights, d, 1), h.Threshold, domain)
}

// Hinge is max(0, Normal·x − Offset).
type Hinge struct {
	Normal Coefficients `json:"normal" jsonschema:"a mapping from returns to coefficients, or a list"`
	Offset float64      `json:"offset"`
}

func (h *Hinge) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	v, err := h.Normal.vector(returns, domain.Dim())
	if err != nil {
		return nil, Inside(err, "normal")
	}
	return cost.NewHinge(v, h.Offset, domain)
}

// LogSumExp is the smooth maximum Temperature·log Σ exp(x_i/Temperature).
type LogSumExp struct {
	Temperature float64 `json:"temperature" jsonschema:"positive"`
}

func (l *LogSumExp) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	return cost.NewLogSumExp(l.Temperature, domain)
}

// Entropic is the risk Temperature·log Σ p_i exp(x_i/Temperature).
type Entropic struct {
	Probabilities []float64 `json:"probabilities" jsonschema:"one for each return, sum 1"`
	Temperature   float64   `json:"temperature" jsonschema:"positive"`
}

func (e *Entropic) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	return cost.NewEntropic(e.Probabilities, e.Temperature, domain)
}

// CVaR is the mean of the largest coordinates of total probability Tail.
type CVaR struct {
	Probabilities []float64 `json:"probabilities" jsonschema:"one for each return, sum 1"`
	Tail          float64   `json:"tail" jsonschema:"above 0, at most 1"`
}

func (c *CVaR) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	return cost.NewCVaR(c.Probabilities, c.Tail, domain)
}

// WeightedCost is Weight·Cost.
type WeightedCost struct {
	Weight float64 `json:"weight" jsonschema:"at least 0"`
	Cost   *Cost   `json:"cost"`
}

func (w *WeightedCost) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	inner, err := w.Cost.Build(returns, domain)
	if err != nil {
		return nil, Inside(err, "cost")
	}
	return cost.NewScaled(w.Weight, inner, domain)
}

// WeightedSum is Σ Weight·Cost.
type WeightedSum []WeightedCost

func (s WeightedSum) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	weights := make([]float64, len(s))
	for k, t := range s {
		weights[k] = t.Weight
	}
	return joined(s, func(t WeightedCost) (cost.Cost, error) {
		c, err := t.Cost.Build(returns, domain)
		return c, Inside(err, "cost")
	}, func(terms ...cost.Cost) (cost.Cost, error) { return cost.NewSum(weights, terms, domain) })
}

// Maximum is the greatest of several costs.
type Maximum []*Cost

func (m Maximum) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	return joined(m, func(c *Cost) (cost.Cost, error) { return c.Build(returns, domain) },
		func(terms ...cost.Cost) (cost.Cost, error) { return cost.NewMaximum(terms, domain) })
}

// Precomposed is Cost(A x + B), a cost of as many coordinates as A has rows.
// Inside it returns have no names. A nil B is zero.
type Precomposed struct {
	A    [][]float64 `json:"A" jsonschema:"one row for each coordinate of the cost"`
	B    []float64   `json:"b,omitempty" jsonschema:"zeros if absent"`
	Cost *Cost       `json:"cost"`
}

func (p *Precomposed) build(_ []string, domain *geometry.Box) (cost.Cost, error) {
	b := orFill(p.B, len(p.A), 0)
	if len(p.A) == 0 || len(b) != len(p.A) {
		return nil, fmt.Errorf("problem: A has %d rows and b %d entries: want the same number, at least 1", len(p.A),
			len(b))
	}
	lower, upper := slices.Clone(b), slices.Clone(b)
	l, u := domain.Lower(), domain.Upper()
	for j, row := range p.A {
		if len(row) != len(l) {
			return nil, Inside(fmt.Errorf("problem: %d entries: want %d", len(row), len(l)), "A", j)
		}
		for i, a := range row {
			lower[j] += min(a*l[i], a*u[i])
			upper[j] += max(a*l[i], a*u[i])
		}
	}
	image, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	inner, err := p.Cost.Build(nil, image)
	if err != nil {
		return nil, Inside(err, "cost")
	}
	return cost.NewPrecomposed(inner, p.A, b, domain)
}

// Order is the order p of a norm: 1, 2 or +Inf, which files write as inf.
type Order float64

func (p *Order) decode(d *decoder, n *node, at *path) bool {
	switch n.text {
	case "1", "1.0":
		*p = 1
	case "2", "2.0":
		*p = 2
	case "inf", ".inf":
		*p = Order(math.Inf(1))
	default:
		return d.bad(n, at, "got %s: want 1, 2 or inf", n.describe())
	}
	return true
}

// MarshalJSON writes the order as a text, which may be infinite.
func (p Order) MarshalJSON() ([]byte, error) { return json.Marshal(string(p.encode(nil))) }

func (p *Order) encode(b []byte) []byte {
	if math.IsInf(float64(*p), 1) {
		return append(b, "inf"...)
	}
	return appendNumber(b, float64(*p))
}

// Name is the name of a return. As a cost it is that return.
type Name string

func (s *Name) build(returns []string, domain *geometry.Box) (cost.Cost, error) {
	i := slices.Index(returns, string(*s))
	if i < 0 {
		return nil, fmt.Errorf("unknown return %q%s", *s, orWant(string(*s), returns))
	}
	return checked(cost.NewCoordinate(i, domain))
}
