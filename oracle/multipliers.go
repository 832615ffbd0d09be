package oracle

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// multipliers is the work space of one call of an IntersectionProjector: it minimises
//
//	½‖x − target‖² + ½·penalty·Σ weight_i·‖r_i‖²,   r_i = w_i − Π_i(w_i),   w_i = M_i x + t_i + u_i
//
// over x, and then renews u_i = r_i. At a fixed point M_i x + t_i = Π_i(w_i) is in
// the set, and penalty·weight_i·u_i is a normal there.
type multipliers struct {
	*IntersectionProjector
	target, best []float64
	before       []float64 // the best point from farther away
	pulled       []float64 // the target on its normal
	x, grad      []float64
	nextX, nextG []float64
	step, change []float64
	product      []float64 // inverse·change
	inverse      []float64 // the inverse Hessian, d×d
	penalty      float64
	fresh        bool      // inverse holds nothing yet
	u, r, next   []float64 // all members' vectors, one after the other
	proj, image  []float64
}

func newMultipliers(s *IntersectionProjector) *multipliers {
	v := func(n int) []float64 { return make([]float64, n) }
	d := s.dim
	return &multipliers{
		IntersectionProjector: s, target: v(d), best: v(d), before: v(d), pulled: v(d),
		x: v(d), grad: v(d), nextX: v(d), nextG: v(d),
		step: v(d), change: v(d), product: v(d), inverse: v(d * d), u: v(s.total), r: v(s.total), next: v(s.total),
		proj: v(s.total), image: v(s.total),
	}
}

// nearest projects x. From a far point rounding and steep penalties blur the answer: it is projected again from
// nearer points on the same normal, until these go to where they begin. A point is the projection of all points on its
// normals.
func (w *multipliers) nearest(x []float64) (outside, slack float64) {
	outside, slack = w.project(x)
	far := floats.Distance(x, w.best, 2)
	size := math.Max(floats.Norm(w.best, 2), 1e-9*far)
	for near := math.Min(far/1e3, 1e9*size); near > 10*size; near /= 1e3 {
		for range 20 {
			copy(w.before, w.best)
			share := near / floats.Distance(x, w.before, 2)
			for i, v := range w.before {
				w.pulled[i] = v + (x[i]-v)*share
			}
			outside, slack = w.project(w.pulled)
			moved := floats.Distance(w.before, w.best, 2)
			slack = (slack + moved) / share
			if moved <= 1e-13*size {
				break
			}
		}
	}
	return outside, slack
}

func (w *multipliers) project(target []float64) (outside, slack float64) {
	copy(w.target, target)
	copy(w.x, target)
	clear(w.u)
	w.fresh = true
	outside, slack = math.Inf(1), math.Inf(1)
	w.penalty = firstPenalty
	w.minimize()
	// Where sets curve, the penalty has to outweigh the normals, which are as long as
	// the target is far.
	boost := 1.0
	if far := floats.Distance(w.target, w.x, 2); far > 0 {
		boost = math.Max(far/math.Max(floats.Norm(w.x, 2), 1e-9*far), 1)
	}
	w.penalty *= boost
	w.fresh = true
	quiet, least, best := 0, math.Inf(1), math.Inf(1)
	for range penaltyRounds {
		w.minimize()
		missed, gap, excess := w.certify()
		rest := floats.Norm(w.grad, 2)
		if merit := w.merit(gap, excess, rest); merit < best {
			outside, slack, best = missed, excess+rest, merit
			copy(w.best, w.x)
		}
		if gap <= 2e-16*w.imageSize() {
			break
		}
		copy(w.u, w.r)
		if gap > 0.2*least && w.penalty < boost*lastPenalty {
			w.penalty *= 10
			w.fresh = true
			for i := range w.u {
				w.u[i] /= 10
			}
		}
		quiet++
		if gap < 0.7*least {
			quiet, least = 0, gap
		}
		if quiet > 4 {
			break
		}
	}
	return outside, slack
}

// merit is of the order of the square of the error; rest is what is left of the gradient.
func (w *multipliers) merit(outside, slack, rest float64) float64 {
	return slack + rest*rest + outside*(outside+floats.Distance(w.target, w.x, 2))
}

// certify compares the images of x with the points where the r_i are normals. gap is outside in the units of x.
func (w *multipliers) certify() (outside, gap, slack float64) {
	at := 0
	for k := range w.members {
		n := w.members[k].Set.Dim()
		square, weight := 0.0, w.weights[k]
		for i := at; i < at+n; i++ {
			miss := w.r[i] - w.u[i] // image − projection
			square += miss * miss
			slack -= w.penalty * weight * w.r[i] * miss
		}
		outside = math.Max(outside, math.Sqrt(square))
		gap = math.Max(gap, math.Sqrt(weight*square))
		at += n
	}
	return outside, gap, math.Max(slack, 0)
}

// imageSize returns the norm of all images in the units of x.
func (w *multipliers) imageSize() float64 {
	size, at := 0.0, 0
	for k := range w.members {
		n := w.members[k].Set.Dim()
		length := floats.Norm(w.image[at:at+n], 2)
		size = math.Hypot(size, math.Sqrt(w.weights[k])*length)
		at += n
	}
	return size
}

// evaluate returns the objective at x and sets grad and r.
func (w *multipliers) evaluate(x, grad, r []float64) float64 {
	value := 0.0
	for i, v := range x {
		grad[i] = v - w.target[i]
		value += grad[i] * grad[i]
	}
	at := 0
	for k := range w.members {
		m := &w.members[k]
		n := m.Set.Dim()
		image, proj, penalty := w.image[at:at+n], w.proj[at:at+n], w.penalty*w.weights[k]
		m.apply(image, x)
		floats.Add(image, w.u[at:at+n])
		m.Set.Project(proj, image)
		for i, v := range image {
			r[at+i] = v - proj[i]
			value += penalty * r[at+i] * r[at+i]
		}
		m.addTransposed(grad, r[at:at+n], penalty)
		at += n
	}
	return value / 2
}

// minimize is a BFGS method. Strong convexity makes every step's curvature positive.
func (w *multipliers) minimize() {
	value := w.evaluate(w.x, w.grad, w.r)
	least, idle := math.Inf(1), 0
	for range newtonSteps {
		size := floats.Norm(w.grad, 2)
		rounding := 2e-16 * (floats.Norm(w.target, 2) + w.penalty*w.imageSize())
		idle++
		if size < 0.5*least {
			least, idle = size, 0
		}
		if size <= rounding || size <= 1e3*rounding && idle > 3 || idle > 12+4*w.dim {
			return
		}
		slope := w.direction()
		t, taken := 1.0, false
		for range 25 {
			floats.AddScaledTo(w.nextX, w.x, t, w.step)
			v := w.evaluate(w.nextX, w.nextG, w.next)
			if v <= value+1e-4*t*slope || v <= value+1e-12*math.Abs(value) && floats.Norm(w.nextG, 2) < 0.9*size {
				value, taken = v, true
				break
			}
			t /= 2
		}
		if !taken {
			return
		}
		w.learn()
		w.x, w.nextX = w.nextX, w.x
		w.grad, w.nextG = w.nextG, w.grad
		w.r, w.next = w.next, w.r
	}
}

// direction sets step to −inverse·grad and returns its slope, which is negative. Where a curvature was next to nothing
// the inverse overflows, and the gradient alone leads on.
func (w *multipliers) direction() float64 {
	d := w.dim
	if !w.fresh {
		for i := range d {
			w.step[i] = -floats.Dot(w.inverse[i*d:(i+1)*d], w.grad)
		}
		if slope := floats.Dot(w.step, w.grad); slope < 0 && !math.IsInf(slope, -1) {
			return slope
		}
	}
	w.fresh = true
	for i, g := range w.grad {
		w.step[i] = -g / (1 + w.penalty)
	}
	return floats.Dot(w.step, w.grad)
}

// learn updates the inverse Hessian from the step taken.
func (w *multipliers) learn() {
	d := w.dim
	curvature, square := 0.0, 0.0
	for i := range d {
		w.step[i] = w.nextX[i] - w.x[i]
		w.change[i] = w.nextG[i] - w.grad[i]
		curvature += w.step[i] * w.change[i]
		square += w.change[i] * w.change[i]
	}
	if !(curvature > 1e-14*square/(1+w.penalty)) {
		return
	}
	if w.fresh {
		clear(w.inverse)
		for i := range d {
			w.inverse[i*d+i] = curvature / square
		}
		w.fresh = false
	}
	hy := w.product
	for i := range hy {
		hy[i] = floats.Dot(w.inverse[i*d:(i+1)*d], w.change)
	}
	scale := (1 + floats.Dot(w.change, hy)/curvature) / curvature
	for i := range d {
		for j := range d {
			w.inverse[i*d+j] += scale*w.step[i]*w.step[j] - (hy[i]*w.step[j]+w.step[i]*hy[j])/curvature
		}
	}
}
