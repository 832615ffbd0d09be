package markov

// denseStates is up to how many states a full matrix is faster than a band, or than to look for an order of
// elimination.
const denseStates = 12

// denseFactors are the factors of a chain of a few states, by state elimination in the order of the numbers, see
// triangularFactors.
type denseFactors struct {
	states int
	// of each state its entries for those behind it, and its shares of those before it
	row  [denseStates][denseStates]float64
	out  [denseStates]float64 // what leaves a state when it is eliminated
	leak [denseStates]float64 // how likely a state leaves all of them
}

// factorize reports false for a chain with a part that it does not leave.
func (f *denseFactors) factorize(y *Chain) bool {
	f.start(y.States())
	for s, leak := range y.leak {
		f.leak[s] = leak
		for e := y.first[s]; e < y.first[s+1]; e++ {
			f.row[s][y.next[e]] += y.prob[e]
		}
	}
	return f.eliminate()
}

// start makes room for n states without transitions.
func (f *denseFactors) start(n int) {
	f.states = n
	clear(f.row[:n])
	clear(f.leak[:n])
}

// eliminate turns transitions into factors. It reports false where some states are never left.
func (f *denseFactors) eliminate() bool {
	n := f.states
	for s := range n {
		behind := f.row[s][s+1 : n]
		out := f.leak[s]
		for _, x := range behind {
			out += x
		}
		if !(out > 0) {
			return false
		}
		f.out[s] = out
		for t := s + 1; t < n; t++ {
			share := f.row[t][s] / out
			if share == 0 {
				continue
			}
			f.row[t][s] = share
			f.leak[t] += float64(share * f.leak[s])
			row := f.row[t][s+1 : n][:len(behind)]
			for u, x := range behind { // what leads from t to t is never read
				row[u] += float64(share * x)
			}
		}
	}
	return true
}

func (f *denseFactors) solve(x, right []float64, transposed bool) {
	x = x[:copy(x, right)]
	if transposed {
		for s, y := range x {
			y /= f.out[s]
			x[s] = y
			for t, p := range f.row[s][s+1 : len(x)] {
				x[s+1+t] += float64(p * y)
			}
		}
		for s := len(x) - 1; s >= 0; s-- {
			for t, share := range f.row[s][:s] {
				x[t] += float64(share * x[s])
			}
		}
		return
	}
	for s := range x {
		for t, share := range f.row[s][:s] {
			x[s] += float64(share * x[t])
		}
	}
	for s := len(x) - 1; s >= 0; s-- {
		for t, p := range f.row[s][s+1 : len(x)] {
			x[s] += float64(p * x[s+1+t])
		}
		x[s] /= f.out[s]
	}
}
