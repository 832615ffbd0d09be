package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A klProjection solves UCPD's problem of each episode,
//
//	min ⟨c, θ⟩ + KL(θ ‖ θ̃)  over  θ_h(s,a,s') = q_h(s,a)·p_h(s'|s,a),
//
// where every layer has mass 1, mass flows, and p_h(·|s,a) lies in the ℓ₁ ball of
// radius ε_h(s,a) around P̂_h(·|s,a). Since KL(θ‖θ̃) = KL(q‖q̃) + Σ q·KL(p‖p̃), the dual in the
// multipliers v of the flow alone is smooth and has a closed form, up to two numbers for a ball that binds:
// given v, p minimises KL(p‖p̃) + p·v over the ball, see bend, and q is q̃ times an
// exponential, normalised per layer. The dual is maximised by lbfgs, from the multipliers
// and with the curvature of the episode before.
type klProjection struct {
	states, horizon int
	start           []float64 // S: distribution of the first state
	nodes           []klNode
	layer           []int     // first node of each step, and the end
	v               []float64 // H×S multipliers, warm
	opt             *lbfgs
	bender          bender
}

// A klNode is a choice of a step, or the rest of a state without choices.
type klNode struct {
	state  int
	slot   int       // of the unit; -1 for a rest
	cost   float64   // c
	mass   float64   // q
	before float64   // q̃
	next   []float64 // S: p; nil at the last step and for a rest
	prior  []float64 // S: p̃
	center []float64 // S: P̂
	seen   []int32   // where center is not zero
	radius float64   // ε
	lead   float64   // ln q̃ − c
	value  float64   // work space: exponent
}

// listSupport lists in seen where center is not zero.
func (x *klNode) listSupport() {
	x.seen = x.seen[:0]
	for s, p := range x.center {
		if p > 0 {
			x.seen = append(x.seen, int32(s))
		}
	}
}

// solve sets mass and next of every node, and reports whether the dual converged.
func (k *klProjection) solve() bool {
	const tolerance, most = 1e-8, 200
	for i := range k.nodes {
		k.nodes[i].lead = math.Log(k.nodes[i].before) - k.nodes[i].cost
	}
	return k.opt.minimize(k.v, k.dual, tolerance, most)
}

// dual returns minus the dual function at v and its gradient, outflow less inflow,
// and leaves q and p at v in the nodes.
func (k *klProjection) dual(grad, v []float64) float64 {
	clear(grad)
	sum := 0.0
	for s, x := range k.start {
		if x > 0 {
			sum -= x * v[s]
			grad[s] -= x
		}
	}
	n := k.states
	for h := range k.horizon {
		nodes := k.nodes[k.layer[h]:k.layer[h+1]]
		most := math.Inf(-1)
		if h < k.horizon-1 {
			k.bender.prepare(v[(h+1)*n : (h+2)*n])
		}
		for i := range nodes {
			x := &nodes[i]
			later := 0.0
			switch {
			case h == k.horizon-1:
			case x.next == nil:
				later = v[(h+1)*n+x.state]
			default:
				later = k.bender.bend(x.next, x.prior, x.center, x.seen, x.radius)
			}
			x.value = x.lead - later + v[h*n+x.state]
			most = max(most, x.value)
		}
		total := 0.0
		for i := range nodes {
			nodes[i].mass = math.Exp(nodes[i].value - most)
			total += nodes[i].mass
		}
		sum += most + math.Log(total)
		for i := range nodes {
			nodes[i].mass /= total
			k.push(grad, h, &nodes[i])
		}
	}
	return sum
}

// push adds the flow of a node to the gradient.
func (k *klProjection) push(grad []float64, h int, x *klNode) {
	grad[h*k.states+x.state] += x.mass
	switch {
	case h == k.horizon-1:
	case x.next == nil:
		grad[(h+1)*k.states+x.state] -= x.mass
	default:
		floats.AddScaled(grad[(h+1)*k.states:(h+2)*k.states], -x.mass, x.next)
	}
}

// A bender minimises relative entropies plus a linear function v over the part of
// a simplex in an ℓ₁ ball.
type bender struct {
	least        float64   // of v
	exp          []float64 // e^{least − v}
	weight, mass []float64 // of the successors that were seen
}

// prepare sets v for the next calls of bend.
func (b *bender) prepare(v []float64) {
	b.least = slices.Min(v)
	b.exp = b.exp[:0]
	for _, x := range v {
		b.exp = append(b.exp, max(math.Exp(b.least-x), 1e-290))
	}
}

// bend sets p to the minimiser of KL(p‖prior) + p·v over the distributions within
// ℓ₁ distance radius of center, and returns the minimum. prior has no zero, and seen lists
// where center has none. With w = prior·e^{−v} and r = center/w the minimiser without the
// ball is w/Σw, and where the ball binds it is
//
//	p_i = w_i·clamp(r_i, lo, hi),   Σ w_i (lo − r_i)₊ = radius/2 = Σ w_i (r_i − hi)₊,
//
// so that lo and hi are found one by one (derived here from the optimality
// conditions: the multiplier of the ball multiplies one side of center by e^{−η}, the
// other by e^{η}). What was not seen has r = 0 and p = w·lo, so that only its sum matters.
func (b *bender) bend(p, prior, center []float64, seen []int32, radius float64) float64 {
	total := 0.0
	for i, x := range prior {
		w := x * b.exp[i]
		p[i] = w
		total += w
	}
	if radius >= 2 || b.away(p, center, seen, total) <= radius {
		floats.Scale(1/total, p)
		return b.least - math.Log(total)
	}
	b.weight, b.mass = b.weight[:0], b.mass[:0]
	for _, i := range seen {
		b.weight, b.mass = append(b.weight, p[i]), append(b.mass, center[i])
		p[i] = 0
	}
	rest := floats.Sum(p)
	lo, hi := b.bounds(rest, total, radius/2)
	floats.Scale(lo, p)
	value, below, above := b.least, rest*lo, 0.0
	for j, i := range seen {
		c := clamp(b.mass[j]/b.weight[j], lo, hi)
		p[i] = b.weight[j] * c
		switch c {
		case lo:
			below += p[i]
		case hi:
			above += p[i]
		default:
			value += p[i] * math.Log(c)
		}
	}
	if below > 0 {
		value += below * math.Log(lo)
	}
	if above > 0 {
		value += above * math.Log(hi)
	}
	return value
}

// away returns the ℓ₁ distance of w/total from center.
func (b *bender) away(w, center []float64, seen []int32, total float64) float64 {
	away, unseen := 0.0, 1.0
	for _, i := range seen {
		x := w[i] / total
		away += math.Abs(x - center[i])
		unseen -= x
	}
	return away + max(0, unseen)
}

// bounds finds lo and hi for a mass to be moved, each as the root of a convex piecewise
// linear function, by Newton's method from the side on which all pieces count: from there
// it goes one way and ends after a few steps, without sorting. rest is the weight of what
// was not seen, total that of everything.
func (b *bender) bounds(rest, total, moved float64) (lo, hi float64) {
	sum := floats.Sum(b.mass)
	lo, hi = (moved+sum)/total, (sum-moved)/total
	for range len(b.mass) + 1 {
		weight, mass := rest, moved
		for j, w := range b.weight {
			if b.mass[j] < lo*w {
				weight += w
				mass += b.mass[j]
			}
		}
		if x := mass / weight; x < lo {
			lo = x
		} else {
			break
		}
	}
	for range b.mass {
		weight, mass := 0.0, -moved
		for j, w := range b.weight {
			if b.mass[j] > hi*w {
				weight += w
				mass += b.mass[j]
			}
		}
		if x := mass / weight; x > hi {
			hi = x
		} else {
			break
		}
	}
	return lo, max(hi, 0)
}
