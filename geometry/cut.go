package geometry

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// cut is the part in a box of a set that answers by its linear maximiser, and that satisfies
// rows. It maximises by column generation (Dantzig and Wolfe, Operations Research 8, 1960):
// a small linear program mixes extreme points of the set so that the mixture satisfies the
// rows, and its prices are the direction of the next question to the set.
type cut struct {
	set   Compact
	box   *BoundedBox
	given Rows
	// given and the sides of the box, those left out that the set satisfies by itself: inequalities of length 1/scale,
	// so that slacks are about as large as the weights of a mixture, whatever the units of the set
	rows  Rows
	scale float64
	roomy []float64 // the rows' right-hand sides and a little more
	seeds []float64 // extreme points of which a mixture satisfies the rows, flat
	pool  sync.Pool
}

// The gap, relative to ‖dir‖ times the set's size, at which a maximisation stops, what a mixture may miss a row by, and
// the number of extreme points that a call asks for at most.
const (
	cutTolerance = 1e-13
	cutSlack     = 1e-12
	cutRounds    = 1000
)

// answersByMaximizing reports whether a set's projection asks its linear maximiser.
func answersByMaximizing(s Set) bool {
	switch s.(type) {
	case extreme, *Hull:
		return true
	}
	return false
}

// newCut returns the part of the set in the box that satisfies the rows.
func newCut(set Compact, rows Rows, box *BoundedBox) (Compact, error) {
	if e, ok := set.(extreme); ok {
		if c, ok := e.LinearMaximizer.(*cut); ok {
			both, err := c.box.meet(box.Box)
			if err != nil {
				return nil, err
			}
			set, rows, box = c.set, c.given.and(rows), &BoundedBox{both}
		}
	}
	c := &cut{set: set, box: box, given: rows}
	lower, upper := boundsOf(set)
	c.scale = 1e-3 + floats.Norm(lower, 2) + floats.Norm(upper, 2)
	sides, _ := box.Rows()
	point := make([]float64, set.Dim())
	for _, r := range []Rows{rows, sides} {
		for k, a := range r.A {
			for _, sign := range []float64{1, -1} {
				if sign < 0 && k >= r.Equalities {
					break
				}
				length, unit := sign*floats.Norm(a, 2)*c.scale, make([]float64, len(a))
				floats.AddScaled(unit, 1/length, a)
				set.MaximizeLinear(point, unit)
				if floats.Dot(unit, point) > r.B[k]/length {
					c.rows.A, c.rows.B = append(c.rows.A, unit), append(c.rows.B, r.B[k]/length)
				}
			}
		}
	}
	if len(c.rows.A) == 0 {
		return set, nil
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	return newExtreme(c), nil
}

// begin finds the seeds, or shows that there are none: the prices of the first phase give a
// direction in which every point that satisfies the rows is beyond every point of the set.
func (c *cut) begin() error {
	w := c.work()
	w.reset(make([]float64, c.Dim()), c.rows.B)
	c.set.MaximizeLinear(w.next, w.dir)
	for range cutRounds {
		w.add(w.next)
		excess, ok := w.program.Solve(cutSlack)
		if ok && excess <= cutSlack {
			c.settle(w.points, excess)
			c.pool.Put(w)
			return nil
		}
		c.set.MaximizeLinear(w.next, w.price())
		gain := floats.Dot(w.dir, w.next) + w.program.Prices()[0]
		if ok && gain > cutSlack {
			continue
		}
		if ok && excess < 1e-9 { // they touch
			c.settle(w.points, excess)
			return nil
		}
		if _, err := c.given.restrict(c.box); err != nil { // rows and box contradict each other, whatever the set is
			return err
		}
		floats.Scale(c.scale, w.dir)
		beyond := floats.Dot(w.program.Prices()[1:], c.rows.B) * c.scale
		return fmt.Errorf("geometry: in the direction %.6g the set reaches to %g, and every point of the box and "+
			"the rows lies beyond %g: %w", w.dir, floats.Dot(w.dir, w.next), beyond, ErrEmpty)
	}
	return fmt.Errorf("geometry: no common point of the set and the box was found with %d extreme points: %w",
		cutRounds, ErrEmpty)
}

// settle keeps the seeds, which miss the rows by the excess.
func (c *cut) settle(seeds []float64, excess float64) {
	c.seeds, c.roomy = slices.Clone(seeds), slices.Clone(c.rows.B)
	floats.AddConst(math.Max(2*excess, cutSlack), c.roomy)
}

// Dim returns the dimension of the space.
func (c *cut) Dim() int { return c.set.Dim() }

// MaximizeLinear gives a mixture of extreme points of the set. Rows that only touch a round set have no finite prices:
// with a little room they have.
func (c *cut) MaximizeLinear(dst, dir []float64) {
	check(c.Dim(), dst, dir)
	w := c.work()
	if !w.maximize(dst, dir, c.rows.B) {
		w.maximize(dst, dir, c.roomy)
	}
	c.box.Project(dst, dst)
	c.pool.Put(w)
}

// cutWork is the work space of one call.
type cutWork struct {
	*cut
	program lp.Mixture
	points  []float64 // the extreme points found so far, flat
	goal    []float64
	dir     []float64 // the goal less what the rows cost
	next    []float64
	coef    []float64
}

func (c *cut) work() *cutWork {
	if w, ok := c.pool.Get().(*cutWork); ok {
		return w
	}
	v := func(n int) []float64 { return make([]float64, n) }
	d := c.Dim()
	return &cutWork{cut: c, goal: v(d), dir: v(d), next: v(d), coef: v(len(c.rows.B))}
}

func (w *cutWork) reset(goal, limit []float64) {
	w.program.Reset(limit)
	w.points = w.points[:0]
	copy(w.goal, goal)
}

func (w *cutWork) add(point []float64) {
	w.points = append(w.points, point...)
	for i, a := range w.rows.A {
		w.coef[i] = floats.Dot(a, point)
	}
	w.program.Add(-floats.Dot(w.goal, point), w.coef)
}

// price sets dir to the direction of the next extreme point that the program
// needs.
func (w *cutWork) price() []float64 {
	copy(w.dir, w.goal)
	for i, y := range w.program.Prices()[1:] {
		floats.AddScaled(w.dir, y, w.rows.A[i])
	}
	return w.dir
}

// maximize returns whether the mixture in dst is the best within the limits, up to rounding.
func (w *cutWork) maximize(dst, dir, limit []float64) bool {
	w.reset(dir, limit)
	d := len(dst)
	for at := 0; at < len(w.seeds); at += d {
		w.add(w.seeds[at : at+d])
	}
	tolerance := cutTolerance * floats.Norm(dir, 2) * w.scale
	least, idle := math.Inf(1), 0
	for range cutRounds {
		if excess, ok := w.program.Solve(cutSlack); !ok || excess > cutSlack {
			return false
		}
		w.mix(dst)
		w.set.MaximizeLinear(w.next, w.price())
		gap := floats.Dot(w.dir, w.next) + w.program.Prices()[0]
		idle++
		if gap < 0.5*least {
			least, idle = gap, 0
		}
		if gap <= tolerance || idle > 3 && gap <= 1e3*tolerance || idle > 10+10*len(w.coef) {
			return gap <= 1e4*tolerance
		}
		w.add(w.next)
	}
	return false
}

// mix sets dst to the program's mixture.
func (w *cutWork) mix(dst []float64) {
	d := len(dst)
	clear(dst)
	for k, v := range w.program.Weights() {
		if v > 0 {
			floats.AddScaled(dst, v, w.points[k*d:(k+1)*d])
		}
	}
}
