package exact

import (
	"errors"
	"math"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// rightDerivatives finds the rates at which the optimum falls when the offset of one row alone grows a little. Where
// the optimal multipliers are not unique, as at a limit that no policy keeps with room to spare, the rate is the least
// multiplier that the row has in any of them (Rockafellar 1970, theorem 23.4), and the one that proves the bound may be
// far larger. Only linear costs and half-spaces have one. What takes more value iterations than the optimum did, or is
// lost to rounding, keeps the multiplier of the bound.
func (s *columnGeneration) rightDerivatives() error {
	if s.opts.unpriced || !s.complete || !s.affine || s.penalties != nil || s.bound.proof == nil {
		return nil
	}
	if s.master.solve() != nil || s.master.nondegenerate() {
		return nil
	}
	s.rates = make(map[int]float64)
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

// rightDerivative returns the rate of a row: the least multiplier for the columns found so far, which are priced until
// the bound at these multipliers is the optimum. spare is how many value iterations are left.
func (s *columnGeneration) rightDerivative(row int, spare *int) (float64, error) {
	for {
		if err := s.master.solve(); err != nil {
			return 0, err
		}
		nu, err := s.master.leastMultiplier(row)
		if err != nil {
			return 0, err
		}
		if nu[row] >= s.bound.nu[row]*(1-negligibleRate) { // more columns only make it larger
			return s.bound.nu[row], nil
		}
		if *spare == 0 {
			return 0, errNoRate
		}
		*spare--
		phi, conjugate := s.master.phi(s.master.mu)
		psi, support := s.master.psi(nu)
		floats.Add(phi, psi)
		p, added, err := s.price(phi, 0)
		switch {
		case err != nil:
			return 0, err
		case p.ray == nil && p.value-conjugate-support >= s.incumbent.cost-s.tolerance(s.opts.Gap):
			return nu[row], nil
		case !added:
			return 0, errNoRate
		}
	}
}

// negligibleRate is how much smaller, relative to it, than the multiplier of the bound a rate is that is the same.
const negligibleRate = 1e-9

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

// leastMultiplier returns those multipliers of the rows, of all that are optimal for the columns, that have the least
// of one row. They belong to the program of the changes of the last mixture: a column that it mixes may lose weight,
// and a row that binds has no room but for the one of that row.
func (m *master) leastMultiplier(row int) ([]float64, error) {
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
