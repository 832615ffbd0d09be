package exact

import (
	"errors"
	"math"
	"slices"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// rightDerivatives finds the rates at which the optimum falls when the offset of one row alone grows a little. Where
// the optimal multipliers are not unique, as at a limit that no policy keeps with room to spare, the rate is the least
// multiplier that the row has in any of them (Rockafellar 1970, theorem 23.4), and the one that proves the bound may be
// far larger. Only half-spaces have one. What takes more value iterations than the optimum did, or is lost to rounding,
// keeps the multiplier of the bound.
func (s *columnGeneration) rightDerivatives() error {
	if s.opts.unpriced || !s.complete || s.penalties != nil || s.bound.proof == nil {
		return nil
	}
	if s.master.solve() != nil || s.affine && s.master.nondegenerate() {
		return nil
	}
	s.rates, s.nearOptimal = make(map[int]float64), nil
	spare := max(fewPrices, s.iterations)
	for k := range s.rows {
		if k >= len(s.bound.nu) || s.bound.nu[k] == 0 {
			continue
		}
		rate, err := s.rightDerivative(k, &spare)
		switch {
		case err == nil:
			s.rates[k] = rate
		case errors.Is(err, errBudget) || s.ctx.Err() != nil:
			return err
		}
	}
	return nil
}

// fewPrices is how many value iterations the rates of an optimum may take that itself took fewer.
const fewPrices = 30

// errNoRate says that the rate of a row was not found.
var errNoRate = errors.New("exact: no rate")

// rightDerivative returns the rate of a row: the least multiplier for the columns and tangents found so far, which are
// priced and refined until the bound at these multipliers is the optimum. spare is how many value iterations are left.
func (s *columnGeneration) rightDerivative(row int, spare *int) (float64, error) {
	allowance, missed, same := s.tolerance(s.opts.Gap), s.tolerance(s.opts.Gap), negligibleRate
	if !s.affine {
		allowance, missed, same = 4*missed, 8*missed, curvedRate
	}
	for range mostPrograms {
		if err := s.master.solve(); err != nil {
			return 0, err
		}
		least, err := s.leastMultiplier(row, allowance)
		if err != nil {
			return 0, err
		}
		refined, err := s.refineAt(least, max(0.1*allowance, 1e-5*s.bound.nu[row]*least.room))
		if err != nil {
			return 0, err
		}
		if refined {
			continue
		}
		if least.rate >= s.bound.nu[row]*(1-same) { // more columns only make it larger
			return s.bound.nu[row], nil
		}
		if *spare == 0 {
			return 0, errNoRate
		}
		*spare--
		phi, conjugate := s.master.phi(least.mu)
		psi, support := s.master.psi(least.nu)
		floats.Add(phi, psi)
		p, added, err := s.price(phi, 0)
		switch {
		case err != nil:
			return 0, err
		case p.ray == nil && p.value-conjugate-support >= s.incumbent.cost-missed:
			return least.rate, nil
		case !added:
			return 0, errNoRate
		}
	}
	return 0, errNoRate
}

// mostPrograms bounds the programs for a rate.
const mostPrograms = 300

// A leastMultiplier has the multipliers of tangents and rows with the least one of a row.
type leastMultiplier struct {
	mu, nu  []float64
	rate    float64   // that least one
	relaxed []float64 // the returns that a row with room leads to, nil if the room is none
	room    float64   // of the row
}

// leastMultiplier returns the multipliers for the columns and tangents found so far.
func (s *columnGeneration) leastMultiplier(row int, allowance float64) (*leastMultiplier, error) {
	if !s.affine {
		if s.nearOptimal == nil {
			s.nearOptimal = &nearOptimal{master: s.master, optimum: s.incumbent.cost, allowance: allowance, relaxed: -1}
		}
		return s.nearOptimal.least(row)
	}
	nu, err := s.master.leastOptimal(row)
	if err != nil {
		return nil, err
	}
	return &leastMultiplier{mu: s.master.mu, nu: nu, rate: nu[row]}, nil
}

// refineAt adds the tangent of the cost at the returns with room, unless the tangents miss the cost there by no more
// than an allowance.
func (s *columnGeneration) refineAt(least *leastMultiplier, allowance float64) (bool, error) {
	v, known := least.relaxed, math.Inf(-1)
	if v == nil {
		return false, nil
	}
	for _, c := range s.master.cuts {
		known = max(known, floats.Dot(c.slope, v)-c.offset())
	}
	if s.task.Cost.Value(v)-known <= allowance {
		return false, nil
	}
	return true, s.master.addCut(s.tangent(v))
}

// negligibleRate is how much smaller, relative to it, than the multiplier of the bound a rate is that is the same.
const negligibleRate = 1e-9

// curvedRate is the same with a curved cost, whose multipliers are as exact as the square root of the gap.
const curvedRate = 1e-3

// negligibleWeight is the weight of a column, and the room of a row in its unit, that are only rounding.
const negligibleWeight = 1e-12

// nondegenerate reports whether the last solution has as many columns as rows bind: its multipliers are unique.
func (m *master) nondegenerate() bool {
	free := 0
	for j := range m.lambda {
		if m.mixes(j) {
			free++
		}
	}
	for k := range m.rows {
		if m.binds(k) {
			free--
		}
	}
	return free == len(m.blocks)
}

// mixes reports whether the last solution has more of a column than it has to.
func (m *master) mixes(j int) bool { return m.lambda[j] > m.columns[j].leastWeight+negligibleWeight }

// binds reports whether the last solution has no room in a row.
func (m *master) binds(k int) bool {
	return m.excess(m.rows[k].Constraint) >= -negligibleWeight*m.rows[k].scale
}

// leastOptimal returns those multipliers of the rows, of all that are optimal for the columns, that have the least
// of one row. They belong to the program of the changes of the last mixture: a column that it mixes may lose weight,
// and a row that binds has no room but for the one of that row.
func (m *master) leastOptimal(row int) ([]float64, error) {
	p := &lp.Problem{Lower: make([]float64, len(m.columns))}
	for j := range m.columns {
		p.Minimize = append(p.Minimize, m.cutEntry(&m.cuts[0], &m.columns[j]))
		if m.mixes(j) {
			p.Lower[j] = math.Inf(-1)
		}
	}
	for _, columns := range m.blocks {
		sum := lp.Equal([]float64{}, 0)
		sum.Index = []int{}
		for _, j := range columns {
			sum.Coef, sum.Index = append(sum.Coef, 1), append(sum.Index, j)
		}
		p.Rows = append(p.Rows, sum)
	}
	var bind []int
	for k := range m.rows {
		if !m.binds(k) {
			continue
		}
		bind = append(bind, k)
		change := lp.AtMost(make([]float64, len(m.columns)), 0)
		for j := range m.columns {
			change.Coef[j] = m.targetEntry(&m.rows[k], &m.columns[j])
		}
		if k == row {
			change.Upper = 1
		}
		p.Rows = append(p.Rows, change)
	}
	solver, err := lp.NewEmbedded(p)
	if err != nil {
		return nil, err
	}
	var sol lp.Solution
	if _, err := solveProgram(solver, func() *lp.Problem { return p }, &sol); err != nil {
		return nil, err
	}
	nu := make([]float64, len(m.rows))
	for i, k := range bind {
		nu[k] = max(0, -sol.Duals[len(m.blocks)+i]) * (m.extent / m.rows[k].scale)
	}
	return nu, nil
}

// A nearOptimal finds multipliers for an optimum with a curved cost, of which the columns that it mixes, and the rows
// that bind, are not known exactly: of all multipliers whose bound is within an allowance ε of the optimum those with
// the least of one row. By duality that is the most of (v(0) − ε − v(x))/x over all x > 0, where v(x) is the optimum if
// the row has x of room; the program finds the mixture for it, with all weights divided by x. If v is quadratic, the
// rate at x = 0 is larger by 2ε/x. From row to row the program grows by what the master has got since.
type nearOptimal struct {
	*master
	optimum, allowance float64
	solver             lp.Solver
	columns, rows      int // that the program has, of the master
	relaxed            int // the row that has room, −1 for none
}

// Columns of the program before those of the mixture.
const (
	columnFall  = iota // of the cost, as τ counts, from the optimum
	columnTimes        // 1/x
	firstOfMixture
)

// program returns the whole program.
func (q *nearOptimal) program() *lp.Problem {
	q.columns, q.rows = len(q.master.columns), len(q.rowOrder)
	n := firstOfMixture + q.columns
	p := &lp.Problem{Minimize: make([]float64, n), Lower: make([]float64, n)}
	p.Minimize[columnFall], p.Minimize[columnTimes] = 1, q.allowance/q.extent
	p.Lower[columnFall] = math.Inf(-1)
	for _, columns := range q.blocks {
		sum := lp.Equal(make([]float64, n), 0)
		sum.Coef[columnTimes] = -1
		for _, j := range columns {
			sum.Coef[firstOfMixture+j] = 1
		}
		p.Rows = append(p.Rows, sum)
	}
	for _, at := range q.rowOrder {
		p.Rows = append(p.Rows, q.change(at))
	}
	if q.relaxed >= 0 {
		p.Rows[q.targetRowIndex(q.relaxed)].Upper = 1
	}
	return p
}

// targetRowIndex is where the program has a row of the target.
func (q *nearOptimal) targetRowIndex(row int) int {
	return len(q.blocks) + slices.Index(q.rowOrder, programRow{false, row})
}

// change returns a tangent or a row of the target.
func (q *nearOptimal) change(at programRow) lp.Constraint {
	out := lp.AtMost(make([]float64, firstOfMixture+q.columns), 0)
	for j := range q.columns {
		out.Coef[firstOfMixture+j] = q.entry(at, &q.master.columns[j])
	}
	if at.cost {
		out.Coef[columnFall] = -1
	}
	return out
}

// entry is that of the master, with costs from the optimum on.
func (q *nearOptimal) entry(at programRow, c *column) float64 {
	x := q.master.entry(at, c)
	if at.cost && c.ray == nil {
		x -= (q.optimum - q.base) / (q.extent * float64(len(q.blocks)))
	}
	return x
}

// grow adds what the master has got.
func (q *nearOptimal) grow() (err error) {
	for ; q.columns < len(q.master.columns) && err == nil; q.columns++ {
		c := &q.master.columns[q.columns]
		column := lp.Column{Coef: []float64{}, Index: []int{}, Upper: math.Inf(1)}
		if c.ray == nil {
			column.Coef, column.Index = append(column.Coef, 1), append(column.Index, c.block)
		}
		for i, at := range q.rowOrder[:q.rows] {
			column.Coef = append(column.Coef, q.entry(at, c))
			column.Index = append(column.Index, len(q.blocks)+i)
		}
		err = q.solver.AddColumn(column)
	}
	for ; q.rows < len(q.rowOrder) && err == nil; q.rows++ {
		err = q.solver.AddRow(q.change(q.rowOrder[q.rows]))
	}
	return err
}

// relax gives room to one row alone.
func (q *nearOptimal) relax(row int) error {
	before := q.relaxed
	q.relaxed = row
	switch {
	case q.solver == nil:
		var err error
		q.solver, err = lp.NewEmbedded(q.program())
		return err
	case before == row:
		return q.grow()
	}
	if err := q.solver.SetRowBounds(q.targetRowIndex(before), math.Inf(-1), 0); err != nil {
		return err
	}
	if err := q.solver.SetRowBounds(q.targetRowIndex(row), math.Inf(-1), 1); err != nil {
		return err
	}
	return q.grow()
}

// least returns the multipliers with the least one of a row.
func (q *nearOptimal) least(row int) (*leastMultiplier, error) {
	if err := q.relax(row); err != nil {
		return nil, err
	}
	var sol lp.Solution
	var err error
	q.solver, err = solveProgram(q.solver, q.program, &sol)
	if err != nil {
		return nil, err
	}
	least := &leastMultiplier{mu: make([]float64, len(q.cuts)), nu: make([]float64, len(q.master.rows))}
	for i, at := range q.rowOrder {
		if y := max(0, -sol.Duals[len(q.blocks)+i]); at.cost {
			least.mu[at.index] = y
		} else {
			least.nu[at.index] = y * (q.extent / q.master.rows[at.index].scale)
		}
	}
	scale, times := q.master.rows[row].scale, sol.X[columnTimes]
	least.rate = least.nu[row] + 2*q.allowance*times/scale
	if times > 0 {
		least.relaxed, least.room = q.mix(scaled(1/times, sol.X[firstOfMixture:])), scale/times
	}
	return least, nil
}
