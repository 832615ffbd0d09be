package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A touchingTarget is a target whose support function is known: the sum of max over
// corners of θ·corner and radius·‖θ‖, or that of a bounded polygon {A w ≤ b}.
type touchingTarget struct {
	set     geometry.Compact
	corners [][]float64
	radius  float64
	a       [][]float64
	b       []float64
}

// touchingTargets returns targets of many kinds whose extreme point in direction n, a
// unit vector up to rounding, is at.
func touchingTargets(t *testing.T, at, n []float64) map[string]touchingTarget {
	t.Helper()
	const r = 0.5
	along := func(deep, side float64) []float64 {
		return []float64{at[0] - deep*n[0] - side*n[1], at[1] - deep*n[1] + side*n[0]}
	}
	must := func(s geometry.Set, err error) geometry.Compact {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s.(geometry.Compact)
	}
	point := must(geometry.NewPoint(at))
	ball := must(geometry.NewBall(along(r, 0), r))
	wide, err := geometry.NewBox([]float64{at[0] - 9, at[1] - 9}, []float64{at[0] + 9, at[1] + 9})
	if err != nil {
		t.Fatal(err)
	}
	triangle := [][]float64{at, along(1, 0.5), along(1, -0.5)}
	center := along(r, 0)
	corners := func(s geometry.Compact, at ...[]float64) touchingTarget {
		return touchingTarget{set: s, corners: at}
	}
	round := func(s geometry.Compact) touchingTarget {
		return touchingTarget{set: s, corners: [][]float64{center}, radius: r}
	}
	out := map[string]touchingTarget{
		"point":           corners(point, at),
		"ball":            round(ball),
		"hull":            corners(must(geometry.NewHull(triangle)), triangle...),
		"ball in a box":   round(must(geometry.NewIntersection(wide, ball))),
		"ball in a half":  round(must(geometry.NewIntersection(ball, half(t, n, at, 1)))),
		"inflated point":  round(must(geometry.NewInflate(must(geometry.NewPoint(center)), r))),
		"translated ball": round(must(geometry.NewTranslate(must(geometry.NewBall([]float64{0, 0}, r)), center))),
		"ellipsoid": round(must(geometry.NewEllipsoid(center,
			[][]float64{{1 / (r * r), 0}, {0, 1 / (r * r)}}))),
		"ball and its point": round(must(geometry.NewConvexHull(ball, point))),
	}
	// Sides of several slopes through and around the point, one of them given twice.
	a := [][]float64{{n[0], n[1]}, {3 * n[0], 3 * n[1]}, {n[0] - 0.5*n[1], n[1] + 0.5*n[0]}, {-1, 0}, {0, -1}, {1, 0.1},
		{-0.1, 1}}
	b := make([]float64, len(a))
	for k, row := range a {
		b[k] = row[0]*at[0] + row[1]*at[1]
		if k > 2 {
			b[k] += 2
		}
	}
	out["polytope"] = touchingTarget{set: must(geometry.NewPolytope(a, b)), a: a, b: b}
	if n[0]*n[1] == 0 {
		lower, upper := []float64{at[0] - 2, at[1] - 2}, []float64{at[0] + 2, at[1] + 2}
		for i, x := range n {
			if x > 0 {
				upper[i] = at[i]
			} else if x < 0 {
				lower[i] = at[i]
			}
		}
		b, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		all := [][]float64{lower, upper, {lower[0], upper[1]}, {upper[0], lower[1]}}
		out["box"] = corners(must(b.Bounded()), all...)
		out["half in a box"] = corners(must(geometry.NewIntersection(half(t, n, at, 0), must(b.Bounded()))), all...)
	}
	return out
}

// half returns the half-space of the points that lie by at most so much beyond at.
func half(t *testing.T, n, at []float64, beyond float64) geometry.Set {
	t.Helper()
	h, err := geometry.NewHalfspace(n, n[0]*at[0]+n[1]*at[1]+beyond)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

const precision = 300 // bits

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// support returns h(θ) to 300 bits.
func (s touchingTarget) support(theta []float64) *big.Float {
	if s.a != nil {
		return new(big.Float).SetPrec(precision).SetRat(s.polygonSupport(theta))
	}
	var most *big.Float
	for _, c := range s.corners {
		sum := exactly(0)
		for i, x := range c {
			sum.Add(sum, new(big.Float).SetPrec(precision).Mul(exactly(x), exactly(theta[i])))
		}
		if most == nil || sum.Cmp(most) > 0 {
			most = sum
		}
	}
	square := exactly(0)
	for _, x := range theta {
		square.Add(square, new(big.Float).SetPrec(precision).Mul(exactly(x), exactly(x)))
	}
	return new(big.Float).SetPrec(precision).Add(most, square.Sqrt(square).Mul(square, exactly(s.radius)))
}

// polygonSupport tries all points where two sides meet.
func (s touchingTarget) polygonSupport(theta []float64) *big.Rat {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	// cross returns ps − qr.
	cross := func(p, q, r, s *big.Rat) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).Mul(p, s), new(big.Rat).Mul(q, r))
	}
	var most *big.Rat
	for i := range s.a {
		for j := range i {
			a, b, c, d := rat(s.a[i][0]), rat(s.a[i][1]), rat(s.a[j][0]), rat(s.a[j][1])
			det := cross(a, b, c, d)
			if det.Sign() == 0 {
				continue
			}
			x := cross(rat(s.b[i]), b, rat(s.b[j]), d)
			y := cross(a, rat(s.b[i]), c, rat(s.b[j]))
			x, y = x.Quo(x, det), y.Quo(y, det)
			value := func(p, q float64) *big.Rat {
				return new(big.Rat).Add(new(big.Rat).Mul(rat(p), x), new(big.Rat).Mul(rat(q), y))
			}
			inside := true
			for k, row := range s.a {
				inside = inside && value(row[0], row[1]).Cmp(rat(s.b[k])) <= 0
			}
			if v := value(theta[0], theta[1]); inside && (most == nil || v.Cmp(most) > 0) {
				most = v
			}
		}
	}
	return most
}

// rationalOptimum returns V*(θ) without rounding.
func rationalOptimum(t *testing.T, m *cmdp.Model, theta []float64) *big.Float {
	t.Helper()
	dir := make([]*big.Rat, len(theta))
	for i, x := range theta {
		dir[i] = new(big.Rat).SetFloat64(x)
	}
	if m.Horizon() == 0 {
		return new(big.Float).SetPrec(precision).SetRat(rationalDiscounted(m, dir))
	}
	v, err := exact.RationalValue(context.Background(), m, dir)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Float).SetPrec(precision).SetRat(v)
}

// rationalDiscounted tries all stationary policies.
func rationalDiscounted(m *cmdp.Model, dir []*big.Rat) *big.Rat {
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()
	policy := make([]int, n)
	var least *big.Rat
	for {
		if v := discountedValue(m, dir, policy); least == nil || v.Cmp(least) < 0 {
			least = v
		}
		s := 0
		for ; s < n; s++ {
			if policy[s]++; policy[s] < int(k.First[s+1]-k.First[s]) {
				break
			}
			policy[s] = 0
		}
		if s == n {
			return least
		}
	}
}

// discountedValue solves (I − γP)v = dir·r by elimination, and returns the mean of v at
// the start.
func discountedValue(m *cmdp.Model, dir []*big.Rat, policy []int) *big.Rat {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	times := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()
	rows := make([][]*big.Rat, n)
	for s := range rows {
		for range n + 1 {
			rows[s] = append(rows[s], new(big.Rat))
		}
		rows[s][s].SetInt64(1)
		c := int(k.First[s]) + policy[s]
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			x := rows[s][k.Next[e]]
			x.Sub(x, times(rat(m.Discount()), rat(k.Prob[e])))
		}
		for i, y := range dir {
			rows[s][n].Add(rows[s][n], times(y, rat(k.Returns[c*len(dir)+i])))
		}
	}
	for s := range rows { // the diagonal dominates: no pivot is 0
		pivot := new(big.Rat).Set(rows[s][s])
		for j := range rows[s] {
			rows[s][j].Quo(rows[s][j], pivot)
		}
		for i := range rows {
			if f := new(big.Rat).Set(rows[i][s]); i != s && f.Sign() != 0 {
				for j := range rows[i] {
					rows[i][j].Sub(rows[i][j], times(f, rows[s][j]))
				}
			}
		}
	}
	sum := new(big.Rat)
	for _, st := range m.StartStates() {
		sum.Add(sum, times(rat(st.Probability), rows[st.State][n]))
	}
	return sum
}

// TestTouchingTargets moves targets of all kinds across the place where they touch the
// set of all returns, by 0 and by 1e-16 to 1e-6 of its size to either side. A verdict
// that rounding could turn must not be claimed: every "infeasible" is confirmed in
// rational arithmetic, with the support function to 300 bits; every "optimal" meets the
// target within the tolerance that it states; and where the gap is
// out of the reach of that tolerance, the verdict is the true one.
func TestTouchingTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(12, 4))
	models := map[string]*cmdp.Model{
		"segment": bandit(t, []float64{0.1, 0.7}, []float64{0.7, 0.1}),
		"far":     bandit(t, []float64{1000.1, -0.3}, []float64{1000.4, 0.2}, []float64{1000.2, 0.9}),
		"steps":   randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 3}),
		"long":    randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 30, dim: 2, successors: 2}),
		"ties": randomModel(t, rng, shapeOf{states: 4, actions: 3, horizon: 3, dim: 2, successors: 3,
			integer: true}),
		"endless": randomModel(t, rng, shapeOf{states: 3, actions: 3, discount: 0.9, dim: 2, successors: 3}),
	}
	tally := map[string]map[exact.Verdict]int{}
	for name, m := range models {
		x := box(t, m)
		size := math.Hypot(x.Upper()[0]-x.Lower()[0], x.Upper()[1]-x.Lower()[1])
		for _, n := range [][]float64{{1, 0}, {0, -1}, {math.Sqrt2 / 2, math.Sqrt2 / 2}, {-0.6, 0.8}} {
			// The target lies on the side of smaller n·w.
			free, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, x, n)}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			curved, err := cost.NewSquared([]float64{1, 2}, []float64{1, 0.3}, x)
			if err != nil {
				t.Fatal(err)
			}
			costs := []cost.Cost{linear(t, x, []float64{-n[1], n[0]}), curved}
			for i, gap := range []float64{0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6} {
				for _, sign := range []float64{1, -1} {
					at := []float64{free.Returns[0] - sign*gap*size*n[0], free.Returns[1] - sign*gap*size*n[1]}
					for kind, target := range touchingTargets(t, at, n) {
						name := fmt.Sprintf("%s towards %.2v, %s, gap %g", name, n, kind, sign*gap)
						if tally[kind] == nil {
							tally[kind] = map[exact.Verdict]int{}
						}
						task := cmdp.Task{Cost: costs[i%2], Target: target.set}
						tally[kind][checkTouching(t, name, m, task, n, target)]++
					}
				}
			}
		}
	}
	t.Log(tally)
}

func checkTouching(t *testing.T, name string, m *cmdp.Model, task cmdp.Task, n []float64,
	target touchingTarget) exact.Verdict {
	t.Helper()
	r, err := exact.Solve(context.Background(), m, task, exact.Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	gap, _ := new(big.Float).Sub(rationalOptimum(t, m, n), target.support(n)).Float64()
	if proved, _, err := exact.Separates(context.Background(), m, task.Target, n); err != nil || proved && gap <= 0 {
		t.Errorf("%s: the direction %v counts as a proof, but separates by %g", name, n, gap)
	}
	x := box(t, m)
	lower, upper := x.Lower(), x.Upper()
	size := math.Hypot(upper[0]-lower[0], upper[1]-lower[1])
	if r.Tolerance > 3e-10*size {
		t.Errorf("%s: tolerance %g: want at most %g", name, r.Tolerance, 3e-10*size)
	}
	switch r.Status {
	case exact.Infeasible:
		c := r.Certificate
		if rationalOptimum(t, m, c.Direction).Cmp(target.support(c.Direction)) <= 0 {
			t.Errorf("%s: infeasible, but the certificate does not hold without rounding: %+v", name, c)
		}
	case exact.Optimal:
		if r.Violation > r.Tolerance {
			t.Errorf("%s: optimal with a violation of %g: want at most %g", name, r.Violation, r.Tolerance)
		}
		if gap > 1.01*r.Tolerance {
			t.Errorf("%s: optimal, but all policies are at least %g away: want at most %g", name, gap, r.Tolerance)
		}
		if r.Violation < gap-1e-13*(1+math.Abs(r.Returns[0])) {
			t.Errorf("%s: a violation of %g is claimed, but all policies are at least %g away", name, r.Violation, gap)
		}
	case exact.Undecided:
		t.Logf("%s: undecided, gap %g, violation %g, tolerance %g, bound %g, objective %g", name, gap, r.Violation,
			r.Tolerance, r.Bound, r.Objective)
		if gap > 10*r.Tolerance {
			t.Errorf("%s: undecided, but all policies are at least %g away, and errors are below %g", name, gap,
				r.Tolerance)
		}
	}
	return r.Status
}
