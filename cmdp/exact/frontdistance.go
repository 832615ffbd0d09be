package exact

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A farCorner is a corner of the outer set: its distance from the mixtures of the points relative to the scale, and the
// weights, of sum 1, that show it if it is more than rounding. beside are the weights of the problems on both sides of
// it, of two objectives; nil of more.
type farCorner struct {
	distance float64
	weights  []float64
	beside   [2][]float64
}

// farthestCorners returns the corner of the outer set that is farthest from the mixtures of the points, unless there
// is none, and others that are farther than the error asked for, at most so many: those of the farthest ones whose
// weights are the nearest to its own, since directions that are near have much the same policies. More points only
// bring a corner nearer, so corners that were near enough before are not measured again.
func (f *front) farthestCorners(most int) (corners []farCorner, err error) {
	measured := most
	if most > 1 {
		measured = 4 * most
	}
	solver, err := lp.NewEmbedded(f.distanceProgram(nil))
	if err != nil {
		return nil, fmt.Errorf("exact: front: %w", err)
	}
	fresh := make(map[*generator][]float64) // weights of the corners measured
	taken := make(map[*generator]bool)
	var sol lp.Solution
	for len(corners) < measured {
		g := f.outer.farthest(taken)
		if g == nil || len(corners) > 0 && g.distance <= f.opts.Error {
			break
		}
		if w, ok := fresh[g]; ok {
			corners, taken[g] = append(corners, farCorner{g.distance, w, f.outer.beside(g)}), true
			continue
		}
		if f.nearPoint(g) {
			fresh[g] = nil // no weights are wanted
			continue
		}
		for k := range f.scale {
			if err := solver.SetRowBounds(k, math.Inf(-1), f.scaledObjective(k, g.ray)); err != nil {
				return nil, fmt.Errorf("exact: front: %w", err)
			}
		}
		solver, err = solveProgram(solver, func() *lp.Problem { return f.distanceProgram(g.ray) }, &sol)
		if err != nil {
			return nil, err
		}
		g.distance, fresh[g] = math.Max(0, sol.Objective), f.supportingWeights(sol.Duals[:len(f.scale)])
		g.behind = f.behind(sol.X[:len(f.efficient)], g.ray)
	}
	if len(corners) > most {
		from := func(c farCorner) float64 { return floats.Distance(c.weights, corners[0].weights, 1) }
		slices.SortStableFunc(corners[1:], func(a, b farCorner) int { return cmp.Compare(from(a), from(b)) })
		corners = corners[:most]
	}
	return corners, nil
}

// nextWeights returns weights of at most so many problems, at least one for each corner. The error of a smooth curve
// falls with the square of how many parts the turn from one problem to the next is divided into, as of a parabola. So
// parts are counted that bring the error just below what is asked for, and directions lie between whole parts. As soon
// as directions lead to the same points the curve has few corners, and its edges show in the weights of the corners.
func (f *front) nextWeights(corners []farCorner, most int) (weights [][]float64) {
	for _, c := range corners {
		parts := math.Ceil(math.Sqrt(c.distance / f.opts.Error))
		if c.beside[0] == nil || f.repeated > 0 || !(parts > 2) || parts > 1000 {
			weights = append(weights, c.weights)
			continue
		}
		n := min(int(parts)-1, most/len(corners))
		for j := 1; j <= n; j++ {
			share := float64(j) / float64(n+1)
			if n == 1 && parts < 8 {
				share = math.Floor(parts/2) / parts
			}
			weights = append(weights, f.turned(c, share))
		}
	}
	return weights
}

// turned returns weights that lie a share of the way between those on both sides of a corner, whose own lie half-way.
func (f *front) turned(c farCorner, share float64) []float64 {
	from, to, share := c.beside[0], c.weights, 2*share
	if share == 1 {
		return c.weights
	}
	if share > 1 {
		from, to, share = c.weights, c.beside[1], share-1
	}
	out := scaled((1-share)/floats.Dot(from, f.scale), from)
	floats.AddScaled(out, share/floats.Dot(to, f.scale), to)
	floats.Scale(1/floats.Sum(out), out)
	return out
}

// nearPoint reports whether a point is as good as a corner up to rounding, and then takes the
// distance from that point. A program would only get lost in rounding there.
func (f *front) nearPoint(g *generator) bool {
	for _, z := range f.efficient {
		far := false
		for k, x := range z {
			far = far || !(x-g.ray[k] <= 0.5*f.result.Rounding[k])
		}
		if far {
			continue
		}
		g.distance, g.behind = 0, make([]float64, len(z))
		for k, x := range z {
			g.behind[k] = max(0, x-g.ray[k])
			g.distance = max(g.distance, g.behind[k]/f.scale[k])
		}
		return true
	}
	return false
}

// behind returns by how much a mixture of the points is worse than y in each objective.
func (f *front) behind(lambda, y []float64) []float64 {
	out := make([]float64, len(f.scale))
	for k := range out {
		for j, x := range lambda {
			out[k] += x * (f.efficient[j][k] - y[k])
		}
		out[k] = max(0, out[k])
	}
	return out
}

// setErrors sets the certified errors of the result, which are known as far as corners have been measured.
func (f *front) setErrors() {
	f.result.Error = f.outer.error(func(behind []float64) float64 { return floats.Norm(behind, 2) })
	f.result.Relative = f.missed
	if len(f.opts.Absolute) == 0 {
		return
	}
	size := slices.Clone(f.scale)
	for k, x := range f.opts.Absolute {
		if x > 0 {
			least, most := f.objectiveRange(k)
			size[k] = most - least
		}
	}
	f.result.Relative = f.outer.error(func(behind []float64) float64 {
		most := 0.0
		for k, x := range behind {
			switch rounding := f.result.Rounding[k]; {
			case size[k] > rounding:
				most = max(most, x/size[k])
			case !(x <= rounding):
				return math.NaN()
			}
		}
		return most
	})
}

// distanceProgram returns the program of a corner y, with right-hand sides 0 for nil:
//
//	min t  s.t.  Σ λ_j z^j ≤ y + t·scale,  Σ λ_j = 1,  λ ≥ 0
//
// Objectives count from their least value over the points, so that what they have
// in common does not hide their differences.
func (f *front) distanceProgram(y []float64) *lp.Problem {
	n := len(f.efficient)
	problem := &lp.Problem{Minimize: make([]float64, n+1)}
	problem.Minimize[n] = 1
	problem.Lower, problem.Upper = lp.Free(n + 1)
	sum := make([]float64, n+1)
	for j := range n {
		problem.Lower[j], sum[j] = 0, 1
	}
	for k, scale := range f.scale {
		coef := make([]float64, n+1)
		for j, z := range f.efficient {
			coef[j] = (z[k] - f.least[k]) / scale
		}
		coef[n] = -1
		right := 0.0
		if y != nil {
			right = f.scaledObjective(k, y)
		}
		problem.Rows = append(problem.Rows, lp.AtMost(coef, right))
	}
	problem.Rows = append(problem.Rows, lp.Equal(sum, 1))
	return problem
}

// scaledObjective returns objective k of y, counted from the least one of the points in units of the scale. What is
// less than the rounding of other points is 0: programs get lost in numbers such as 1e-85.
func (f *front) scaledObjective(k int, y []float64) float64 {
	x := (y[k] - f.least[k]) / f.scale[k]
	if math.Abs(x) < roundoff {
		return 0
	}
	return x
}

// supportingWeights turns the duals of the program, in units of the scale, into weights of the
// objectives themselves.
func (f *front) supportingWeights(duals []float64) []float64 {
	w, sum := make([]float64, len(duals)), 0.0
	for k, y := range duals {
		w[k] = math.Max(0, -y) / f.scale[k]
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}
