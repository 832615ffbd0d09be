package baseline

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// An lbfgs minimises a smooth convex function by the limited-memory method of Broyden,
// Fletcher, Goldfarb and Shanno (Nocedal, Wright 2006, Algorithm 7.5) with
// backtracking. It keeps its work space and its estimate of the curvature for the next
// function, which should be similar.
type lbfgs struct {
	lbfgsPairs
	alpha           []float64
	grad, next, dir []float64
	trial           []float64
	evaluations     int
}

// lbfgsPairs are the last steps, the changes of the gradient along them, and the inverses of
// their products.
type lbfgsPairs struct {
	S, Y [][]float64
	Rho  []float64
	Num  int // all that there were; pair i is at i modulo lbfgsMemory
}

const lbfgsMemory = 12

func newLBFGS(n int) *lbfgs {
	o := &lbfgs{grad: make([]float64, n), next: make([]float64, n), dir: make([]float64, n), trial: make([]float64, n),
		lbfgsPairs: lbfgsPairs{Rho: make([]float64, lbfgsMemory)}, alpha: make([]float64, lbfgsMemory)}
	for range lbfgsMemory {
		o.S, o.Y = append(o.S, make([]float64, n)), append(o.Y, make([]float64, n))
	}
	return o
}

// minimize moves x to a minimiser of f, which sets the gradient and returns the
// value, until no entry of the gradient exceeds tol. It reports whether it got
// there within most steps.
func (o *lbfgs) minimize(x []float64, f func(grad, x []float64) float64, tol float64, most int) bool {
	value := f(o.grad, x)
	o.evaluations++
	for range most {
		if floats.Norm(o.grad, math.Inf(1)) <= tol {
			return true
		}
		o.direction()
		slope := floats.Dot(o.dir, o.grad)
		if slope >= 0 { // rounding, or another function, spoilt the memory
			o.Num = 0
			o.direction()
			slope = floats.Dot(o.dir, o.grad)
		}
		step, fresh := 1.0, 0.0
		for ; step >= 1e-6; step /= 2 {
			floats.AddScaledTo(o.trial, x, step, o.dir)
			fresh = f(o.next, o.trial)
			o.evaluations++
			if fresh <= value+1e-4*step*slope+1e-14*math.Abs(value) {
				break
			}
		}
		switch {
		case step >= 1e-6:
		case o.Num == 0: // only rounding is left
			return false
		default:
			o.Num = 0
			continue
		}
		o.remember(x)
		copy(x, o.trial)
		o.grad, o.next = o.next, o.grad
		value = fresh
	}
	return floats.Norm(o.grad, math.Inf(1)) <= tol
}

// direction sets dir to minus the gradient times the estimate of the inverse
// Hessian, by two loops over the memory.
func (o *lbfgs) direction() {
	floats.ScaleTo(o.dir, -1, o.grad)
	last := min(o.Num, lbfgsMemory)
	for j := 1; j <= last; j++ {
		i := (o.Num - j) % lbfgsMemory
		o.alpha[i] = o.Rho[i] * floats.Dot(o.S[i], o.dir)
		floats.AddScaled(o.dir, -o.alpha[i], o.Y[i])
	}
	if last > 0 {
		i := (o.Num - 1) % lbfgsMemory
		floats.Scale(1/(o.Rho[i]*floats.Dot(o.Y[i], o.Y[i])), o.dir)
	}
	for j := last; j >= 1; j-- {
		i := (o.Num - j) % lbfgsMemory
		floats.AddScaled(o.dir, o.alpha[i]-o.Rho[i]*floats.Dot(o.Y[i], o.dir), o.S[i])
	}
}

// remember stores the step from x to trial, if the curvature along it is positive.
func (o *lbfgs) remember(x []float64) {
	i := o.Num % lbfgsMemory
	floats.SubTo(o.S[i], o.trial, x)
	floats.SubTo(o.Y[i], o.next, o.grad)
	sy := floats.Dot(o.S[i], o.Y[i])
	if sy > 1e-12*floats.Dot(o.Y[i], o.Y[i]) {
		o.Rho[i] = 1 / sy
		o.Num++
	}
}
