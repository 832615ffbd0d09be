package markov

// A meanProgress tells when rounds of policy iteration for a long-run mean no longer lead on. A round that does lowers
// the mean by more than its error or, while the class is the same, relative values. Others may be needed where means
// are equal to rounding, but in the end they repeat one another.
type meanProgress struct {
	rounding  float64 // by how much a mean has to be lower
	mean      float64 // the last one that was
	total     float64 // of the relative values
	sameClass bool    // since the last round
	idle      int     // rounds since then that prove nothing
}

// ends looks at the mean and the relative values of one more round, and reports whether too many were idle.
func (w *meanProgress) ends(mean, total float64) bool {
	const most = 4
	switch {
	case mean < w.mean-w.rounding:
		w.mean, w.idle = mean, 0
	case !w.sameClass || !(total < w.total):
		w.idle++
	}
	w.total, w.sameClass = total, false
	return w.idle > most
}

// totalBias returns the sum of the relative values of some states.
func (p *LeastMean) totalBias(states []int32) (total float64) {
	for _, s := range states {
		total += p.Bias[s]
	}
	return total
}

// rounding bounds the error of the mean of a class in the end of a state.
func (p *LeastMean) rounding(s int32) float64 { return 8 * unit * p.sizes[p.ends.Of[s]] }
