package exact

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// A master is the restricted problem over the mixtures Σ λ_j v^j of the columns
// found so far, with a model of cost and target by half-spaces:
//
//	min τ  s.t.  s_i·v − τ ≤ s_i·x_i − g(x_i),   n_k·v − e_k·u ≤ h_k,   v = Σ λ_j v^j,   Σ λ_j = 1
//
// and for a sum the weights of each part sum to 1. There,
// where u is the elasticity of the target, kept at its least possible value, and
// minimised in the first phase. e_k measures rows in a common unit. Rows are divided
// by it, and tangents by the extent of the cost, so that the program sees numbers of a
// common size whatever the units of the returns are. Since Σ λ_j = 1, constants stand
// in the coefficients and the right-hand sides are 0. Otherwise returns of 1000.1 and
// 1000.2 would leave three digits less to their difference.
type master struct {
	solver      lp.Solver // nil until the first solution, where the program is made as a whole
	sol         lp.Solution
	columns     []column
	cuts        []cut
	rows        []targetRow
	rowOrder    []programRow // what each row of the program is, after the first two
	costs       []float64
	scale       []float64 // extent of each return
	rowScale    func(normal []float64) float64
	extent      float64 // of the cost, the unit of τ; 0 before there is a tangent
	base        float64 // cost from which τ counts in the program
	least       float64 // range of u
	most        float64
	phase1Least float64   // the least u of the first phase
	zero        []float64 // returns of relaxed rows
	blocks      [][]int   // the columns of each part, all of them in one block if there are no parts
	curved      bool      // the cost is not known to be affine
	known       int       // rows that are limits, before tangents of a target

	lambda, v, mu, nu []float64 // of the last solution
	tau, u            float64
}

// A cut is the tangent g(v) ≥ g(point) + slope·(v − point).
type cut struct {
	point, slope []float64
	value        float64
}

// offset is the right-hand side slope·point − g(point).
func (c *cut) offset() float64 { return floats.Dot(c.slope, c.point) - c.value }

type targetRow struct {
	cmdp.Constraint
	scale  float64
	number int
}

// surplus is a row of the target that may be broken, at a price for each unit.
type surplus struct {
	row     int
	penalty float64
}

// excess returns normal·v − offset in the unit of the row. A point that misses the boundary by
// rounding counts as on it. Otherwise a bound at the least possible value of a return would be
// broken by 1e-17 and get a price of 1e16.
func (t *targetRow) excess(v []float64) float64 {
	x := floats.Dot(t.Normal, v) - t.Offset
	if math.Abs(x) <= 1e-14*(t.scale+math.Abs(t.Offset)) {
		return 0
	}
	return x / t.scale
}

type programRow struct {
	cost  bool
	index int
}

// Columns of the program before those of the mixture.
const (
	columnTau = iota
	columnU
	firstLambda
)

// leastElasticity bounds the elasticity from below in the first phase: −1, so that the
// mixture moves inside the target where it can.
const leastElasticity = -1

func newMaster(scale []float64, measure func(normal []float64) float64, blocks int) (*master, error) {
	m := &master{costs: []float64{columnTau: 0, columnU: 1}, scale: scale, rowScale: measure, least: leastElasticity,
		most: math.Inf(1), phase1Least: leastElasticity,
		blocks: make([][]int, max(1, blocks))}
	var err error
	m.solver, err = lp.NewEmbedded(m.program())
	return m, err
}

// program returns the whole linear program.
func (m *master) program() *lp.Problem {
	p := &lp.Problem{Minimize: append([]float64(nil), m.costs...)}
	p.Lower, p.Upper = lp.Free(len(m.costs))
	for j, c := range m.columns {
		p.Lower[firstLambda+j] = c.leastWeight
	}
	for _, columns := range m.blocks { // Σ λ_j = 1
		row := lp.Constraint{Coef: []float64{}, Index: []int{}, Lower: 1, Upper: 1}
		for _, j := range columns {
			row.Coef = append(row.Coef, 1)
			row.Index = append(row.Index, firstLambda+j)
		}
		p.Rows = append(p.Rows, row)
	}
	p.Rows = append(p.Rows, lp.Constraint{Coef: axis(len(m.costs), columnU, 1), Lower: m.least, Upper: m.most})
	for _, at := range m.rowOrder {
		p.Rows = append(p.Rows, m.row(at))
	}
	return p
}

// row returns a row of cuts or target, as the program has it.
func (m *master) row(at programRow) lp.Constraint {
	coef := make([]float64, firstLambda, firstLambda+len(m.columns))
	for j := range m.columns {
		coef = append(coef, m.entry(at, &m.columns[j]))
	}
	if at.cost {
		coef[columnTau] = -1
	} else {
		coef[columnU] = -1
	}
	return lp.AtMost(coef, 0)
}

// entry returns what a column has in a row.
func (m *master) entry(at programRow, c *column) float64 {
	if at.cost {
		return m.cutEntry(&m.cuts[at.index], c)
	}
	return m.targetEntry(&m.rows[at.index], c)
}

// elasticity sets the range of u.
func (m *master) elasticity(least, most float64) error {
	m.least, m.most = least, most
	if m.solver == nil {
		return nil
	}
	return m.solver.SetRowBounds(len(m.blocks), least, most)
}

// firstRow is the first row of cuts and target in the program. Those of the blocks come before, and that which
// bounds u.
func (m *master) firstRow() int { return len(m.blocks) + 1 }

// firstReturns returns the returns of the first policy, of those of all parts together; nil without one.
func (m *master) firstReturns() []float64 {
	if len(m.blocks) == 1 {
		if len(m.blocks[0]) == 0 {
			return nil
		}
		return m.columns[m.blocks[0][0]].returns
	}
	lambda := m.firstMixture()
	if lambda == nil {
		return nil
	}
	return m.mix(lambda)
}

// firstMixture returns weights of columns that are those of the first policy of each part, nil if one has none.
func (m *master) firstMixture() []float64 {
	lambda := make([]float64, len(m.columns))
	for _, columns := range m.blocks {
		if len(columns) == 0 {
			return nil
		}
		lambda[columns[0]] = 1
	}
	return lambda
}

// addColumn adds a policy, unless it has the returns of one that is there already.
func (m *master) addColumn(c column) (added bool, err error) {
	if c.ray != nil {
		c = m.normalizeRay(c)
	}
	if m.hasColumn(&c) {
		return false, nil
	}
	return true, m.append(c)
}

// addSurplus lets a row of the target be broken at a price for each unit. It is for the second phase alone.
func (m *master) addSurplus(row int, penalty float64) error {
	if m.zero == nil {
		m.zero = make([]float64, len(m.scale))
	}
	return m.append(column{returns: m.zero, ray: &ray{}, surplus: &surplus{row, penalty}})
}

// append adds a column to the program.
func (m *master) append(c column) error {
	m.columns, m.costs = append(m.columns, c), append(m.costs, 0)
	m.addToBlock(len(m.columns) - 1)
	if m.solver == nil {
		return nil
	}
	coef, index := []float64{}, []int{}
	enter := func(i int, x float64) {
		if x != 0 {
			index, coef = append(index, i), append(coef, x)
		}
	}
	if c.ray == nil {
		enter(c.block, 1)
	}
	for i, p := range m.rowOrder {
		enter(m.firstRow()+i, m.entry(p, &c))
	}
	if err := m.solver.AddColumn(lp.Column{Coef: coef, Index: index, Upper: math.Inf(1)}); err != nil {
		return fmt.Errorf("exact: %w", err)
	}
	return nil
}

// hasColumn reports whether there is a column with the same returns.
func (m *master) hasColumn(c *column) bool {
	if c.ray != nil {
		return slices.ContainsFunc(m.columns,
			func(o column) bool { return o.ray != nil && m.sameReturns(o.returns, c.returns) })
	}
	return slices.ContainsFunc(m.blocks[c.block], func(j int) bool {
		return m.sameReturns(m.columns[j].returns,
			c.returns)
	})
}

// addToBlock adds a column to those of its part, unless it is a ray.
func (m *master) addToBlock(j int) {
	c := &m.columns[j]
	if c.ray == nil {
		m.blocks[c.block] = append(m.blocks[c.block], j)
	}
}

// largest returns the largest magnitude of a return, of all policies found.
func (m *master) largest(i int) float64 {
	sum := 0.0
	for _, columns := range m.blocks {
		size := 0.0
		for _, j := range columns {
			size = math.Max(size, math.Abs(m.columns[j].returns[i]))
		}
		sum += size
	}
	return sum
}

// normalizeRay measures a ray in steps that change the returns by what they vary about.
func (m *master) normalizeRay(c column) column {
	size := 0.0
	for i, x := range c.returns {
		if m.scale[i] > 0 {
			size = math.Max(size, math.Abs(x)/m.scale[i])
		}
	}
	if size > 0 {
		r := *c.ray
		r.share, c.returns, c.ray = scaled(1/size, r.share), scaled(1/size, c.returns), &r
	}
	return c
}

// sameReturn is the share of its range up to which two values of a return are equal.
const sameReturn = 1e-14

// sameReturns reports whether two points are equal up to rounding in each coordinate.
func (m *master) sameReturns(a, b []float64) bool {
	share := sameReturn / float64(len(m.blocks))
	for i := range a {
		if math.Abs(a[i]-b[i]) > share*m.scale[i]+4*roundoff*math.Max(math.Abs(a[i]), math.Abs(b[i])) {
			return false
		}
	}
	return true
}

func (m *master) addCut(c cut) error {
	if m.extent == 0 {
		m.extent = width(c.slope, m.scale)
		if m.extent == 0 {
			m.extent = 1
		}
		m.base = c.value
	}
	m.rowOrder = append(m.rowOrder, programRow{true, len(m.cuts)})
	m.cuts = append(m.cuts, c)
	return m.addRow()
}

// flatSlope is up to which share of what a curved cost varies by a tangent counts as level along a ray: where the cost
// is least there, its slope is nothing but rounding, along which a program would have no bound.
const flatSlope = 1e-13

// cutEntry returns the value of a tangent at a column, as τ counts, or what a ray adds.
func (m *master) cutEntry(c *cut, o *column) float64 {
	if o.ray != nil {
		x := floats.Dot(c.slope, o.returns)
		if m.curved && math.Abs(x) <= flatSlope*math.Max(m.extent, width(c.slope, m.scale)) {
			return 0
		}
		return x / m.extent
	}
	if n := len(m.blocks); n > 1 {
		return (floats.Dot(c.slope, o.returns) + (c.value-m.base-floats.Dot(c.slope, c.point))/float64(n)) / m.extent
	}
	x := c.value - m.base
	for i, y := range o.returns {
		x += c.slope[i] * (y - c.point[i])
	}
	return x / m.extent
}

func (m *master) addTarget(r cmdp.Constraint) error {
	t := targetRow{r, m.rowScale(r.Normal), len(m.rows)}
	m.rowOrder = append(m.rowOrder, programRow{false, len(m.rows)})
	m.rows = append(m.rows, t)
	return m.addRow()
}

// targetEntry returns the excess of a row, cut to a size that the program can hold. An offset
// far beyond what returns can vary is out of reach, or no limit, and its exact size does
// not matter.
func (m *master) targetEntry(t *targetRow, c *column) float64 {
	if c.surplus != nil {
		if c.surplus.row == t.number {
			return -1
		}
		return 0
	}
	most := math.Min(1e10*math.Max(1, width(t.Normal, m.scale)/t.scale), Boundless)
	x := floats.Dot(t.Normal, c.returns) / t.scale // what a ray adds
	switch {
	case c.ray != nil && t.number >= m.known && math.Abs(x) <= flatSlope*width(t.Normal, m.scale)/t.scale:
		x = 0
	case c.ray == nil && len(m.blocks) > 1:
		x -= t.Offset / (t.scale * float64(len(m.blocks)))
	case c.ray == nil:
		x = t.excess(c.returns)
	}
	return math.Max(-most, math.Min(most, x))
}

// excess returns by how much the last solution breaks a row of the target.
func (m *master) excess(r cmdp.Constraint) float64 {
	return floats.Dot(r.Normal, m.v) - m.rowScale(r.Normal)*m.u - r.Offset
}

// addRow adds the last of the rows in place to the program.
func (m *master) addRow() error {
	if m.solver == nil {
		return nil
	}
	if err := m.solver.AddRow(m.row(m.rowOrder[len(m.rowOrder)-1])); err != nil {
		return fmt.Errorf("exact: %w", err)
	}
	return nil
}

// startPhase1 starts the first phase again: minimise the elasticity.
func (m *master) startPhase1() error {
	m.costs[columnTau], m.costs[columnU] = 0, 1
	return m.elasticity(m.phase1Least, math.Inf(1))
}

// startPhase2 starts the second phase: minimise the cost with the elasticity fixed at
// u, which is 0 up to rounding.
func (m *master) startPhase2(u float64) error {
	m.costs[columnTau], m.costs[columnU] = 1, 0
	for j, c := range m.columns {
		if c.surplus != nil {
			m.costs[firstLambda+j] = c.surplus.penalty * m.rows[c.surplus.row].scale / m.extent
		}
	}
	return m.elasticity(u, u)
}

// inPhase2 reports whether the second phase has begun.
func (m *master) inPhase2() bool { return m.costs[columnTau] > 0 }

// penalty is the price at which a mixture breaks rows.
func (m *master) penalty(lambda []float64) float64 {
	sum := 0.0
	for j, x := range lambda {
		if r := m.columns[j].surplus; x != 0 && r != nil {
			sum += x * m.rows[r.row].scale * r.penalty
		}
	}
	return sum
}

// solve solves the program and keeps its mixture and multipliers.
func (m *master) solve() error {
	var err error
	if m.solver == nil {
		m.solver, err = lp.NewEmbedded(m.program())
	} else {
		err = m.solver.SetObjective(m.costs)
	}
	if err != nil {
		return fmt.Errorf("exact: master: %w", err)
	}
	m.solver, err = solveProgram(m.solver, m.program, &m.sol)
	if err != nil {
		return err
	}
	m.tau, m.u = m.base+m.sol.X[columnTau]*m.extent, m.sol.X[columnU]
	m.lambda = append(m.lambda[:0], m.sol.X[firstLambda:]...)
	m.v = m.mix(m.lambda)
	m.mu, m.nu = append(m.mu[:0], make([]float64, len(m.cuts))...), append(m.nu[:0], make([]float64, len(m.rows))...)
	for i, p := range m.rowOrder {
		// Duals of ≤ rows of a minimisation are ≤ 0.
		if y := math.Max(0, -m.sol.Duals[m.firstRow()+i]); y == 0 {
			continue // units may be so far apart that their ratio is infinite
		} else if p.cost {
			m.mu[p.index] = y
		} else if m.costs[columnTau] != 0 {
			m.nu[p.index] = y * (m.extent / m.rows[p.index].scale)
		} else {
			m.nu[p.index] = y / m.rows[p.index].scale
		}
	}
	return nil
}

// mix returns Σ λ_j v^j. Columns that are newer than λ have no weight.
func (m *master) mix(lambda []float64) []float64 {
	v := make([]float64, len(m.scale))
	for j, x := range lambda {
		if x != 0 {
			floats.AddScaled(v, x, m.columns[j].returns)
		}
	}
	return v
}

// psi returns ψ = Σ ν_k n_k and Σ ν_k h_k ≥ h_W(ψ).
func (m *master) psi(nu []float64) (psi []float64, support float64) {
	psi = make([]float64, len(m.scale))
	for k, y := range nu {
		floats.AddScaled(psi, y, m.rows[k].Normal)
		support += y * m.rows[k].Offset
	}
	return psi, support
}

// phi returns φ = Σ μ_i s_i and Σ μ_i (s_i·x_i − g(x_i)) ≥ g*(φ).
func (m *master) phi(mu []float64) (phi []float64, conjugate float64) {
	phi = make([]float64, len(m.scale))
	for i, y := range mu {
		floats.AddScaled(phi, y, m.cuts[i].slope)
		conjugate += y * m.cuts[i].offset()
	}
	return phi, conjugate
}

// supportMargin bounds the rounding error of Σ ν_k h_k, and by how much φ + Σ ν_k n_k·v, rounded to (φ+ψ)·v, can
// change at returns v; φ is nil where there is none. An entry that comes from one row, times 1 or −1, is not rounded.
func (m *master) supportMargin(nu, phi, lower, upper []float64) float64 {
	sum := 0.0
	for k, y := range nu {
		sum += y * math.Abs(m.rows[k].Offset)
	}
	for i := range lower {
		size, exact := 0.0, phi == nil || phi[i] == 0
		for k, y := range nu {
			x := m.rows[k].Normal[i]
			if y == 0 || x == 0 {
				continue
			}
			exact = exact && size == 0 && math.Abs(x) == 1
			size += y * math.Abs(x)
		}
		if size > 0 && !exact {
			sum += size * math.Max(math.Abs(lower[i]), math.Abs(upper[i]))
		}
	}
	return float64(len(nu)+4) * roundoff * sum
}

// withoutCancelling returns multipliers at which the entries of φ + ψ that cancel out up to rounding are 0, where a row
// of one return can make them so. A loop that returns it on either side would pay otherwise.
func (m *master) withoutCancelling(phi, nu []float64) []float64 {
	out, changed := nu, false
	for i := range phi {
		for range 3 {
			sum, size, at := phi[i], math.Abs(phi[i]), -1
			for k, y := range out {
				if n := m.rows[k].Normal; y != 0 && n[i] != 0 {
					sum += y * n[i]
					size += math.Abs(y * n[i])
					if _, x := singleEntry(n); x != 0 && (at < 0 || y > out[at]) {
						at = k
					}
				}
			}
			if sum == 0 || at < 0 || !(math.Abs(sum) <= 1e-13*size) {
				break
			}
			if !changed {
				out, changed = slices.Clone(nu), true
			}
			out[at] = math.Max(0, out[at]-sum/m.rows[at].Normal[i])
		}
	}
	return out
}

// perturbed returns multipliers that are a little larger for rows that loops of the given gains break, and for
// rays of the master that do the same, and a little smaller for those that they help to keep. Where no multiplier has
// a part in it, so that what a loop gives cancels out in the direction φ of the goal, a row gets one.
func (m *master) perturbed(phi, nu []float64, gains [][]float64, raise float64) []float64 {
	out := slices.Clone(nu)
	for k, y := range nu {
		up, down := false, false
		for _, g := range gains {
			x := floats.Dot(m.rows[k].Normal, g)
			up, down = up || x > 0, down || x < 0
		}
		if up && !down {
			out[k] = y * (1 + raise)
		}
		if down && !up {
			out[k] = y * (1 - raise)
		}
	}
	for _, g := range gains {
		m.charge(phi, nu, out, g, raise)
	}
	return out
}

// charge raises a multiplier of out so that a loop of the given gain costs the share of what it gives in the direction
// φ, unless it costs about as much more at out than at nu already. The row is the one that costs the least to ease.
func (m *master) charge(phi, nu, out, gain []float64, share float64) {
	size, more, at, least := 0.0, 0.0, -1, math.Inf(1)
	for i, x := range phi {
		size += math.Abs(x * gain[i])
	}
	for k := range nu {
		row := m.rows[k]
		x := floats.Dot(row.Normal, gain)
		more += (out[k] - nu[k]) * x
		if x > 0 && math.Abs(row.Offset)/x < least {
			at, least = k, math.Abs(row.Offset)/x
		}
	}
	if at >= 0 && more < 1e-3*share*size {
		out[at] = math.Max(out[at], nu[at]+share*size/floats.Dot(m.rows[at].Normal, gain))
	}
}

// withLoops returns the master with loops of the given gains among its rays, itself if it has them all. The policies of
// these are not known, so that only multipliers may be taken from it.
func (m *master) withLoops(gains [][]float64) *master {
	out := m
	for _, g := range gains {
		c := out.normalizeRay(column{returns: g, ray: &ray{}})
		if out.hasColumn(&c) {
			continue
		}
		if out == m {
			out = &master{columns: slices.Clone(m.columns), cuts: m.cuts, rows: m.rows, rowOrder: m.rowOrder,
				costs: slices.Clone(m.costs), scale: m.scale, rowScale: m.rowScale, extent: m.extent, base: m.base,
				least: m.least, most: m.most, zero: m.zero, blocks: m.blocks, curved: m.curved,
				known: m.known}
		}
		out.columns, out.costs = append(out.columns, c), append(out.costs, 0)
	}
	return out
}

// raised returns the multipliers of the program in which each ray has to cost something: a share of what a tangent
// changes by along it. ok is false where no multipliers do that.
func (m *master) raised(share float64) (mu, nu []float64, ok bool) {
	costs := slices.Clone(m.costs)
	defer func() { m.costs = costs }()
	m.costs = slices.Clone(costs)
	for j, c := range m.columns {
		if c.ray == nil {
			continue
		}
		size := 0.0
		for _, cut := range m.cuts {
			size = math.Max(size, math.Abs(floats.Dot(cut.slope, c.returns)))
		}
		m.costs[firstLambda+j] -= share * size / m.extent
	}
	if err := m.solve(); err != nil {
		return nil, nil, false
	}
	return slices.Clone(m.mu), slices.Clone(m.nu), true
}
