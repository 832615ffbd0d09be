package nasty

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A shape is a target set in a file.
type shape struct {
	Ball *round `json:"ball,omitempty"`
	Box  *struct {
		Lower []*float64 `json:"lower,omitempty"`
		Upper []*float64 `json:"upper,omitempty"`
	} `json:"box,omitempty"`
	Polytope *struct {
		A [][]float64 `json:"A"`
		B []float64   `json:"b"`
	} `json:"polytope,omitempty"`
	Halfspace *struct {
		Normal []float64 `json:"normal"`
		Offset float64   `json:"offset"`
	} `json:"halfspace,omitempty"`
}

type round struct {
	Center []float64 `json:"center"`
	Radius float64   `json:"radius"`
}

// distance is that from the centre.
func (b *round) distance(x []float64) float64 {
	norm := 0.0
	for i := range x {
		norm = math.Hypot(norm, x[i]-b.Center[i])
	}
	return norm
}

// cut returns a half-space normal·v ≤ offset that holds a ball of another radius and leaves out x. The normal has few
// digits, since those of all cuts multiply in the reference.
func (b *round) cut(x []float64, radius float64) (normal []float64, offset float64) {
	norm, length := b.distance(x), 0.0
	normal = make([]float64, len(x))
	for i := range x {
		normal[i] = math.Round((x[i]-b.Center[i])/norm*(1<<16)) / (1 << 16)
		length = math.Hypot(length, normal[i])
		offset += normal[i] * b.Center[i]
	}
	return normal, offset + length*radius*(1+1e-13)
}

// A price is a cost in a file.
type price struct {
	Linear    []float64 `json:"linear,omitempty"`
	Squared   *centred  `json:"squared,omitempty"`
	Huber     *centred  `json:"huber,omitempty"`
	Distance  *shape    `json:"distance,omitempty"`
	LogSumExp *struct {
		Temperature float64 `json:"temperature"`
	} `json:"logsumexp,omitempty"`
}

type centred struct {
	Center    []float64 `json:"center"`
	Weights   []float64 `json:"weights,omitempty"`
	Threshold float64   `json:"threshold,omitempty"`
}

// at returns the cost and its gradient. smooth is false at a kink.
func (c *price) at(x []float64) (value float64, gradient []float64, smooth bool) {
	gradient = make([]float64, len(x))
	switch {
	case c.Linear != nil:
		for i := range x {
			value += c.Linear[i] * x[i]
			gradient[i] = c.Linear[i]
		}
	case c.Squared != nil:
		for i := range x {
			d := x[i] - c.Squared.Center[i]
			value += c.Squared.Weights[i] * d * d
			gradient[i] = 2 * c.Squared.Weights[i] * d
		}
	case c.Huber != nil:
		for i := range x {
			d, t := x[i]-c.Huber.Center[i], c.Huber.Threshold
			if math.Abs(d) <= t {
				value += d * d / 2
				gradient[i] = d
			} else {
				value += t * (math.Abs(d) - t/2)
				gradient[i] = math.Copysign(t, d)
			}
		}
	case c.Distance != nil:
		norm := c.Distance.Ball.distance(x)
		value = max(0, norm-c.Distance.Ball.Radius)
		if math.Abs(norm-c.Distance.Ball.Radius) < 1e-6*(norm+c.Distance.Ball.Radius) {
			return value, gradient, false
		}
		for i := range x {
			if value > 0 {
				gradient[i] = (x[i] - c.Distance.Ball.Center[i]) / norm
			}
		}
	case c.LogSumExp != nil:
		t := c.LogSumExp.Temperature
		top, sum := slices.Max(x), 0.0
		for i := range x {
			sum += math.Exp((x[i] - top) / t)
		}
		for i := range x {
			gradient[i] = math.Exp((x[i]-top)/t) / sum
		}
		value = top + t*math.Log(sum)
	}
	return value, gradient, true
}

// halfspaces are those whose intersection the set is, nil for a ball.
func (s *shape) halfspaces() (normals [][]float64, offsets []float64) {
	unit := func(n, i int, x float64) []float64 {
		v := make([]float64, n)
		v[i] = x
		return v
	}
	switch {
	case s.Box != nil:
		for i, b := range s.Box.Lower {
			if b != nil {
				normals, offsets = append(normals, unit(len(s.Box.Lower), i, -1)), append(offsets, -*b)
			}
		}
		for i, b := range s.Box.Upper {
			if b != nil {
				normals, offsets = append(normals, unit(len(s.Box.Upper), i, 1)), append(offsets, *b)
			}
		}
	case s.Polytope != nil:
		return s.Polytope.A, s.Polytope.B
	case s.Halfspace != nil:
		return [][]float64{s.Halfspace.Normal}, []float64{s.Halfspace.Offset}
	}
	return normals, offsets
}

// curved turns a problem into one with a target set or a cost.
func (m *maker) curved(q *question) bool {
	p := m.p
	names := p.names()
	d := len(names)
	low, wide := make([]float64, d), make([]float64, d)
	for i, name := range names {
		a, b := q.extent(q.graph().index[name])
		switch {
		case a == nil && b == nil:
			return false
		case a == nil: // a total without bounds on a side, of which a part is looked at
			low[i], wide[i] = float(b)-1-math.Abs(float(b)), 1+math.Abs(float(b))
		case b == nil:
			low[i], wide[i] = float(a), 1+math.Abs(float(a))
		default:
			low[i], wide[i] = float(a), float(b)-float(a)
		}
	}
	size := slices.Max(wide)
	if size == 0 {
		size = 1
	}
	short := func(x float64) float64 { return float(rat(rounded(x))) }
	point := func() []float64 {
		x := make([]float64, d)
		for i := range x {
			x[i] = short(low[i] + (1.4*m.Float64()-0.2)*wide[i])
		}
		return x
	}
	ball := func() *shape {
		return &shape{Ball: &round{point(), short(size * (0.05 + 0.5*m.Float64()))}}
	}
	if m.chance(0.7) {
		var s *shape
		switch m.IntN(4) {
		case 0:
			s = new(shape)
			s.Box = new(struct {
				Lower []*float64 `json:"lower,omitempty"`
				Upper []*float64 `json:"upper,omitempty"`
			})
			a, b := point(), point()
			for i := range a {
				x, y := min(a[i], b[i]), max(a[i], b[i])
				lower, upper := &x, &y
				if m.chance(0.3) {
					lower = nil
				}
				if m.chance(0.3) {
					upper = nil
				}
				s.Box.Lower, s.Box.Upper = append(s.Box.Lower, lower), append(s.Box.Upper, upper)
			}
		case 1:
			s = new(shape)
			s.Polytope = new(struct {
				A [][]float64 `json:"A"`
				B []float64   `json:"b"`
			})
			x := point()
			for range 1 + m.IntN(3) {
				normal, offset := make([]float64, d), 0.0
				for i := range normal {
					normal[i] = float64(m.IntN(5) - 2)
					offset += normal[i] * x[i]
				}
				if slices.ContainsFunc(normal, func(y float64) bool { return y != 0 }) {
					s.Polytope.A, s.Polytope.B = append(s.Polytope.A, normal), append(s.Polytope.B, short(offset))
				}
			}
			if s.Polytope.A == nil {
				s = ball()
			}
		default:
			s = ball()
		}
		p.Target, _ = json.Marshal(s)
	}
	if p.Target == nil || m.chance(0.6) {
		c := new(price)
		switch m.IntN(5) {
		case 0:
			c.Squared = &centred{Center: point()}
			for range d {
				c.Squared.Weights = append(c.Squared.Weights, float64(1+m.IntN(3)))
			}
		case 1:
			c.Huber = &centred{Center: point(), Threshold: short(size * 0.3)}
		case 2:
			c.Distance = ball()
		case 3:
			c.LogSumExp = new(struct {
				Temperature float64 `json:"temperature"`
			})
			c.LogSumExp.Temperature = short(size * 0.3)
		default:
			for range d {
				c.Linear = append(c.Linear, float64(m.IntN(5)-2))
			}
		}
		raw, _ := json.Marshal(c)
		p.Goal = &Goal{Cost: raw}
	}
	return true
}

// judgeCurved checks an answer of a problem with a target set or a cost by the conditions of an optimum: no
// policy improves on it in the direction of the gradient without leaving the tangents of the set.
func (b *Bed) judgeCurved(p *Problem, q *question, file string) *Failure {
	policy := filepath.Join(b.Folder, "policy.csv")
	os.Remove(policy)
	a, r, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--policy", policy)
	if f != nil {
		return f
	}
	target := new(shape)
	if p.Target != nil {
		if err := json.Unmarshal(p.Target, target); err != nil {
			return nil
		}
	}
	g := q.graph()
	names := p.names()
	d := len(names)
	at := make([]int, d)
	size := 0.0
	for i, name := range names {
		at[i] = g.index[name]
		size = max(size, float(q.scale(at[i])))
	}
	if target.Ball != nil {
		size = max(size, target.Ball.Radius, math.Abs(slices.Max(target.Ball.Center)),
			math.Abs(slices.Min(target.Ball.Center)))
	}
	if size == 0 {
		size = 1
	}
	linear := func(normal []float64, offset float64) limited {
		l := limited{coef: map[int]*big.Rat{}, sense: -1, bound: ratOf(offset)}
		for i, x := range normal {
			if x != 0 {
				l.coef[at[i]] = ratOf(x)
			}
		}
		return l
	}
	// within returns the limits moved out by a distance, with those of a target that is a polyhedron.
	within := func(out float64) [][]limited {
		limits := q.moved(q.limits, ratOf(out/size))
		normals, offsets := target.halfspaces()
		for k, n := range normals {
			norm := 0.0
			for _, x := range n {
				norm = math.Hypot(norm, x)
			}
			if norm > 0 {
				limits = append(limits, []limited{linear(n, offsets[k]+out*norm)})
			}
		}
		for i := 0; target.Ball != nil && i < d; i++ { // tangents of one side alone would let a total grow for ever
			for _, sign := range []float64{-1, 1} {
				if g.coords[at[i]].total {
					side := make([]float64, d)
					side[i] = sign
					limits = append(limits, []limited{linear(side, sign*target.Ball.Center[i]+target.Ball.Radius+out)})
				}
			}
		}
		return limits
	}
	returnsOf := func(r result) []float64 {
		v := make([]float64, d)
		for i := range v {
			v[i] = float(r.point[at[i]])
		}
		return v
	}
	// meets looks for a policy in the target moved out by a distance, cutting off what the ball excludes.
	// It returns the policy's returns.
	meets := func(out float64) (v []float64, known bool) {
		limits := within(out)
		for range 60 {
			r := q.best(nil, limits)
			if r.status == infeasible {
				return nil, true
			}
			v := returnsOf(r)
			if target.Ball == nil {
				return v, true
			}
			radius := target.Ball.Radius + out
			if radius < 0 {
				return nil, true
			}
			if target.Ball.distance(v) <= radius+1e-8*size { // far less than what an answer may miss by
				return v, true
			}
			normal, offset := target.Ball.cut(v, radius)
			limits = append(limits, []limited{linear(normal, offset)})
		}
		return nil, false
	}
	possible := func(out float64) bool {
		v, known := meets(out)
		return known && v != nil
	}
	impossible := func(out float64) bool {
		v, known := meets(out)
		return known && v == nil
	}
	close := 1e-6 * size
	if strings.Contains(a.message(), "temperature") || wantsResolution(a.message()) {
		return nil // too far from the size of the returns, or too many totals, as it says
	}
	if a.Failed != nil {
		if impossible(-close) && (strings.Contains(a.message(), "no point in common") ||
			strings.Contains(a.message(), "empty") || strings.Contains(a.message(), "contradict")) {
			return nil
		}
		// Totals of which one is infinite under every policy are refused.
		if strings.Contains(a.message(), "does not end") && q.endless(at) {
			return nil
		}
		// So is one beside long-run means that can grow where the policy may also stay.
		if strings.Contains(a.message(), "the problem asks for long-run means too") && p.Criterion == "average" &&
			slices.ContainsFunc(at, func(i int) bool { return q.graph().coords[i].total && q.grows(i) }) {
			return nil
		}
		return failure("refused", "an answer").but("%s", a.message())
	}
	want := map[string]int{"optimal": 0, "unbounded": 0, "undecided": 1, "infeasible": 3}
	if code, ok := want[a.Status]; !ok || code != r.Status {
		return failure("exit", "an answer with its exit status").but("status %q, exit status %d", a.Status, r.Status)
	}
	switch a.Status {
	case "unbounded":
		if target.Ball != nil && impossible(close) || !slices.ContainsFunc(at, q.grows) {
			return failure("unbounded", "a bound of the goal").but("unbounded")
		}
		return nil
	case "undecided":
		if possible(-close) {
			return failure("undecided", "optimal").but("undecided")
		}
		if impossible(close) {
			return failure("undecided", "infeasible").but("undecided")
		}
		return nil
	case "infeasible":
		if possible(-close) {
			return failure("infeasible", "optimal").but("infeasible")
		}
		if slices.ContainsFunc(p.Constraints, Limit.whole) {
			return nil
		}
		far := within(1e9 * size)
		for i := 0; target.Ball != nil && i < d; i++ {
			for _, sign := range []float64{-1, 1} {
				side := make([]float64, d)
				side[i] = sign
				far = append(far, []limited{linear(side, sign*target.Ball.Center[i]+target.Ball.Radius+1e9*size)})
			}
		}
		return q.judgeDirection(p, a, target, names, at, size, far)
	}
	if impossible(close) {
		return failure("optimal", "infeasible").but("optimal %s", show(a.Objective))
	}
	text, _ := os.ReadFile(policy)
	if f := q.judgePolicy(p, a, string(text)); f != nil {
		return f
	}
	x := make([]float64, d)
	for i, name := range names {
		x[i] = value(a.Returns, name)
		if math.IsNaN(x[i]) && p.undiscounted() {
			x[i] = q.infinity(at[i])
		}
		if math.IsNaN(x[i]) {
			return failure("returns", "%s", name).but("null")
		}
	}
	normals, offsets := target.halfspaces()
	for k, n := range normals {
		sum := 0.0
		for i := range n {
			if n[i] != 0 {
				sum += n[i] * x[i]
			}
		}
		if !(sum <= offsets[k]+close*10) {
			return failure("target", "%v·v ≤ %v", n, offsets[k]).but("%v", sum)
		}
	}
	var tangent []float64
	if target.Ball != nil {
		norm := target.Ball.distance(x)
		tangent = make([]float64, d)
		for i := range x {
			tangent[i] = x[i] - target.Ball.Center[i]
		}
		if !(norm <= target.Ball.Radius+close) {
			return failure("target", "within %v of %v", target.Ball.Radius, target.Ball.Center).but("%v, at %v", x,
				norm)
		}
		if norm < target.Ball.Radius-close*10 {
			tangent = nil
		}
	}
	if p.Goal == nil {
		return nil
	}
	if slices.ContainsFunc(x, func(v float64) bool { return math.IsInf(v, 0) }) {
		if !finite(a.Objective) || !finite(a.Bound) {
			return failure("objective", "a number").but("%s, bound %s", show(a.Objective), show(a.Bound))
		}
		return nil
	}
	// The conditions hold at an optimum if some policy is inside of all that is allowed.
	inside, known := meets(-1e-3 * size)
	if !known || inside == nil {
		return nil
	}
	c, sense := new(price), 1.0
	if p.Goal.Cost != nil {
		if err := json.Unmarshal(p.Goal.Cost, c); err != nil {
			return nil
		}
	} else {
		if q.maximized {
			sense = -1
		}
		c.Linear = make([]float64, d)
		c.Linear[slices.Index(names, p.Goal.Maximize+p.Goal.Minimize)] = sense
	}
	objective, gradient, smooth := c.at(x)
	steep := 0.0
	for _, y := range gradient {
		steep = math.Hypot(steep, y)
	}
	if a.Objective == nil || !near(*a.Objective, sense*objective, (steep+1e-9)*1e-7*size+1e-12*size*size) {
		return failure("objective", "%.12g at the returns %v", sense*objective, x).but("%s", show(a.Objective))
	}
	if a.Bound == nil || a.Gap == nil || !(math.Abs(*a.Objective-*a.Bound) <= *a.Gap+1e-12*math.Abs(*a.Objective)) {
		return failure("gap", "the distance of objective %s and bound %s", show(a.Objective), show(a.Bound)).but("%s",
			show(a.Gap))
	}
	if !smooth {
		return nil
	}
	limits := within(0)
	if slices.ContainsFunc(limits, func(l []limited) bool { return len(l) > 1 }) {
		return nil // what is allowed is not convex
	}
	if tangent != nil {
		offset := 0.0
		for i := range x {
			offset += tangent[i] * x[i]
		}
		limits = append(limits, []limited{linear(tangent, offset)})
	}
	cost := map[int]*big.Rat{}
	for i, y := range gradient {
		if y != 0 {
			cost[at[i]] = ratOf(y)
		}
	}
	least := q.best(cost, limits)
	if least.status != optimal {
		return nil
	}
	// Mixtures of the policy with one that is better along the gradient, and with one well inside of the ball,
	// cost no less than the bound. The price of what the policy may miss the limits by is at most what the
	// depth of the last one allows.
	bound, missed := sense**a.Bound, 1e-6*steep*size
	better := returnsOf(least)
	spread := math.Abs(objective)
	for step := 1.0; step > 1e-8; step /= 2 {
		for deeper := 0.0; deeper <= 1; deeper = max(1e-9, 4*deeper) {
			mixed := make([]float64, d)
			for i := range mixed {
				mixed[i] = (1-deeper)*(x[i]+step*(better[i]-x[i])) + deeper*inside[i]
			}
			if target.Ball != nil && target.Ball.distance(mixed) > target.Ball.Radius {
				continue
			}
			costs, _, _ := c.at(mixed)
			if costs < bound-missed-1e-13*(math.Abs(bound)+math.Abs(objective)) {
				return failure("bound", "no policy below %.15g",
					bound).but("%.15g at %v, on the way from %v along the gradient %v", costs, mixed, x, gradient)
			}
			spread = max(spread, math.Abs(costs-objective))
			break
		}
	}
	// What costs differ by is at most twice what they do along the gradient, or between here and the inside.
	costs, _, _ := c.at(inside)
	spread = max(spread, math.Abs(costs-objective), steep*size)
	if !(*a.Gap <= 1e-7*spread+1e-12*size*(steep+size)+a.joiningLoss(max(spread, math.Abs(objective)))) {
		return failure("gap", "a small part of %g", spread).but("%g", *a.Gap)
	}
	return nil
}

// judgeDirection checks a proof that no policy meets limits and target: both sides of it.
// Where it is of policies with finite totals, far are limits that these keep.
func (q *question) judgeDirection(p *Problem, a *planned, target *shape, names []string, at []int,
	size float64, far [][]limited) *Failure {
	c := a.Certificate
	if c == nil || c.Value == nil || c.Support == nil || c.Distance == nil {
		return failure("certificate", "a certificate").but("%+v", c)
	}
	cost := map[int]*big.Rat{}
	for i, name := range names {
		if x := c.Direction[name]; x != 0 {
			cost[at[i]] = ratOf(x)
		}
	}
	least := q.minimize(cost, nil)
	if c.Finite {
		least = q.best(cost, far)
	}
	if least.status != optimal {
		return nil
	}
	if !(*c.Value <= float(least.value)+1e-9*size) {
		return failure("certificate", "value at most %.15g", float(least.value)).but("%.15g", *c.Value)
	}
	if !(*c.Value > *c.Support) {
		return failure("certificate", "value above support").but("%.15g and %.15g", *c.Value, *c.Support)
	}
	if target.Ball != nil && len(p.Constraints) == 0 {
		support, norm := 0.0, 0.0
		for i, name := range names {
			support += c.Direction[name] * target.Ball.Center[i]
			norm = math.Hypot(norm, c.Direction[name])
		}
		support += norm * target.Ball.Radius
		// Of a ball that the box of possible returns cuts, the support may be less.
		if *c.Support > support+1e-6*size {
			return failure("certificate", "support %.15g of the ball", support).but("%.15g", *c.Support)
		}
	}
	return nil
}
