package costtest

import "cmdpsolve/oracle/oracletest"

// calls returns questions at the given number of random points. Answers must agree to the
// last bit, or runs would depend on what else has been asked.
func (t *trial) calls(rounds int) (calls []oracletest.Call) {
	for range rounds {
		x, dual, near := t.point(), t.dual(), t.near()
		calls = append(calls,
			oracletest.Call{Name: "Value", Inputs: [][]float64{x}, Size: 1, Number: true, Alias: -1,
				Do: func(dst []float64, in [][]float64) { dst[0] = t.Cost.Value(in[0]) }},
			oracletest.Call{Name: "Subgradient", Inputs: [][]float64{x}, Size: t.dim, Alias: 0,
				Do: func(dst []float64, in [][]float64) { t.Cost.Subgradient(dst, in[0]) }},
			oracletest.Call{Name: "ConjugateSubgradient", Inputs: [][]float64{near, dual}, Size: t.dim, Alias: 0,
				Do: func(dst []float64, in [][]float64) { t.Cost.ConjugateSubgradient(dst, in[1], in[0]) }})
	}
	return calls
}

func allocations(t *trial) error {
	if !t.AllocationFree {
		return nil
	}
	return oracletest.AllocationFree(t.calls(1))
}
