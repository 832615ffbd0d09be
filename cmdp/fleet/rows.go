package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
)

// errHorizon says what controls need that go by what is left of an episode.
var errHorizon = errors.New("fleet: models without a horizon: want one to plan again, to dispatch, or for margins")

// A row is a limit as a half-space of the coordinates of a fleet.
type row struct {
	cmdp.Constraint
	// step is the one that all of the limit is about, or Episode.
	step int
	// weights are those of the returns of the fleet at that step, or over the episode where the limit is about episodes
	// alone. They are nil where it is about several steps, or about steps and the episode.
	weights []float64
	// budget says that the limit is about the episode and that no step takes anything off what it bounds: what
	// is left of it bounds each step.
	budget bool
}

// rowsOf returns the limits of a task as half-spaces. It is an error if the target is not known to be made of
// half-spaces.
func (f *Fleet) rowsOf(task cmdp.Task) ([]row, error) {
	if err := task.Check(f.Dim()); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	lower, upper := slices.Repeat([]float64{math.Inf(-1)}, f.Dim()), slices.Repeat([]float64{math.Inf(1)}, f.Dim())
	if task.Box != nil {
		lower, upper = task.Box.Lower(), task.Box.Upper()
	}
	list, complete := task.LinearConstraints(lower, upper)
	if !complete {
		return nil, errors.New("fleet: the target is not known to be a polyhedron: want limits on returns to play a fleet")
	}
	rows := make([]row, len(list))
	for k, c := range list {
		rows[k] = f.newRow(c)
		rows[k].budget = f.isBudget(&rows[k])
	}
	return rows, nil
}

// isBudget reports whether a limit is about the episode and every choice of every agent adds at least 0 to what
// it bounds.
func (f *Fleet) isBudget(r *row) bool {
	if r.step != Episode || r.weights == nil || f.Horizon() == 0 {
		return false
	}
	for k := range f.Types {
		t := &f.Types[k]
		for h := range t.Model.Kernels() {
			rows := t.Model.Rows(h)
			for s := range t.Model.States() {
				first, end := rows.Choices(s)
				for c := first; c < end; c++ {
					next, _ := rows.Row(c)
					for i := range next {
						if t.use(r.weights, rows.Outcome(c, i)) < 0 {
							return false
						}
						if !rows.Random() {
							break // the same for all successors
						}
					}
				}
			}
		}
	}
	return true
}

func (f *Fleet) newRow(c cmdp.Constraint) row {
	r := row{Constraint: c, step: Episode}
	weights := make([]float64, len(f.Returns))
	mixed := false
	at := -2 // nothing seen
	for i, x := range c.Normal {
		if x == 0 {
			continue
		}
		ret, step := f.At(i)
		if at != -2 && at != step {
			mixed = true
		}
		at = step
		weights[ret] += x
	}
	if !mixed {
		r.step, r.weights = at, weights
	}
	return r
}

// At returns the return and the step, or Episode, of a coordinate. It panics if there is no such coordinate.
func (f *Fleet) At(coordinate int) (ret, step int) {
	d := len(f.Returns)
	if coordinate < 0 || coordinate >= f.Dim() {
		panic("fleet: no such coordinate")
	}
	if coordinate < d {
		return coordinate, Episode
	}
	return f.EachStep[(coordinate-d)/f.Horizon()], (coordinate - d) % f.Horizon()
}

// broken reports whether what an episode returned breaks the limit by more than rounding, and by how much.
func (r *row) broken(of *returned) (excess float64, broken bool) {
	size := math.Abs(r.Offset)
	for i, x := range r.Normal {
		if x != 0 {
			size += math.Abs(x) * of.size[i]
		}
	}
	excess = r.value(of.v) - r.Offset
	return excess, excess > 1e-9*size
}

// value returns Normal·v.
func (r *row) value(v []float64) float64 {
	sum := 0.0
	for i, x := range r.Normal {
		if x != 0 {
			sum += x * v[i]
		}
	}
	return sum
}

// stepWeights sets dst, one entry for each return of a type's model, to what a unit of it at step h adds to dir·v.
func (f *Fleet) stepWeights(dst []float64, kind, h int, dir []float64) {
	d, steps := len(f.Returns), f.Horizon()
	for i, to := range f.Types[kind].Returns {
		dst[i] = 0
		if to < 0 {
			continue
		}
		dst[i] = dir[to]
		for k, ret := range f.EachStep {
			if ret == to {
				dst[i] += dir[d+k*steps+h]
			}
		}
	}
}

// collect adds amount times the returns of an agent of a type at step h to a sum.
func (f *Fleet) collect(sum *returned, kind, h int, returns []float64, amount float64) {
	d, steps := len(f.Returns), f.Horizon()
	for i, to := range f.Types[kind].Returns {
		if to < 0 || returns[i] == 0 {
			continue
		}
		x := amount * returns[i]
		sum.add(to, x)
		for k, ret := range f.EachStep {
			if ret == to {
				sum.add(d+k*steps+h, x)
			}
		}
	}
}

// add adds x to a coordinate.
func (r *returned) add(i int, x float64) {
	r.v[i] += x
	r.size[i] += math.Abs(x)
}

// use returns what returns of an agent's step amount to by the weights of a row. Where numbers are added or
// multiplied the sum is rounded to 12 digits, so that decimals stay decimals.
func (t *Type) use(weights, returns []float64) float64 {
	sum, terms, plain := 0.0, 0, true
	for i, to := range t.Returns {
		if to < 0 || weights[to] == 0 || returns[i] == 0 {
			continue
		}
		terms++
		plain = plain && math.Abs(weights[to]) == 1
		sum += weights[to] * returns[i]
	}
	if terms == 0 || terms == 1 && plain {
		return sum
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(sum, 'g', 12, 64), 64)
	if err != nil {
		return sum
	}
	return rounded
}
