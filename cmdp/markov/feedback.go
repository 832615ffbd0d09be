package markov

import (
	"context"
	"slices"
)

// A feedback holds the factors of a chain in which a few states, the heads, are on every cycle (a feedback vertex set):
// a protocol that starts anew, say. The other states come after those that they lead to, so that one pass finds how
// often each comes to each head first, and the system of the heads is left. Nothing is subtracted, as in elimination,
// and no order of elimination has to be sought.
type feedback struct {
	chain  *Chain
	order  []int32 // of all states: each leads to heads and to states before it
	heads  []int32
	head   []int32   // of each state, its number among the heads, from 1, and 0 for others
	at     []int32   // of each state while they are put in order, see search
	path   []int32   // from the root of the search
	share  []float64 // of each state, how much of it comes to each head first, and how much to none
	among  *Chain    // of the heads
	v      []float64
	values []float64 // of the heads
}

// factorize reports false if there are more than most heads, or if the chain has a part that it does not leave. The
// factors are good as long as the chain stays as it is.
func (f *feedback) factorize(ctx context.Context, y *Chain, most int) bool {
	f.chain = y
	if !f.search(y, most) {
		return false
	}
	k := len(f.heads)
	f.share, f.v, f.values = resized(f.share, y.States()*(k+1)), grown(f.v, y.States()), grown(f.values, k)
	for _, s := range f.order {
		if !(y.diag[s] > 0) {
			return false
		}
		own := f.share[int(s)*(k+1):][:k+1]
		own[k] = y.leak[s]
		for e := y.first[s]; e < y.first[s+1]; e++ {
			to, p := y.next[e], y.prob[e]
			if h := f.head[to]; h > 0 {
				own[h-1] += p
				continue
			}
			for i, x := range f.share[int(to)*(k+1):][:k+1] {
				own[i] += float64(p * x)
			}
		}
		for i := range own {
			own[i] /= y.diag[s]
		}
	}
	if k == 0 {
		return true
	}
	if f.among == nil {
		f.among = new(Chain)
	}
	f.among.Reset()
	for i, s := range f.heads {
		own := f.share[int(s)*(k+1):][:k+1]
		for j, x := range own[:k] {
			if j != i && x > 0 {
				f.among.Add(int32(j), x)
			}
		}
		f.among.EndRow(own[k])
	}
	return f.among.eliminated(ctx)
}

// search puts the states in the order in which a depth-first search leaves them, from the last state on: models count
// forwards, and start where their numbers are the highest here. Heads are those that a transition leads back to.
func (f *feedback) search(y *Chain, most int) bool {
	n := y.States()
	f.order, f.heads, f.path = f.order[:0], f.heads[:0], f.path[:0]
	f.head, f.at = resized(f.head, n), resized(f.at, n)
	const left = -1 // at is 0 of states not yet met, then the entry that is next, from 1
	for root := int32(n) - 1; root >= 0; root-- {
		if f.at[root] != 0 {
			continue
		}
		f.at[root] = y.first[root] + 1
		f.path = append(f.path, root)
		for len(f.path) > 0 {
			s := f.path[len(f.path)-1]
			e := f.at[s] - 1
			if e == y.first[s+1] {
				f.at[s] = left
				f.order, f.path = append(f.order, s), f.path[:len(f.path)-1]
				continue
			}
			f.at[s]++
			switch to := y.next[e]; {
			case f.at[to] == 0:
				f.at[to] = y.first[to] + 1
				f.path = append(f.path, to)
			case f.at[to] != left && f.head[to] == 0:
				f.heads = append(f.heads, to)
				f.head[to] = int32(len(f.heads))
				if len(f.heads) > most {
					return false
				}
			}
		}
	}
	return len(f.heads) <= most
}

// solve goes through all states once with 0 in place of the heads, then solves the system of these, and goes through
// all states again.
func (f *feedback) solve(x, right []float64, transposed bool) {
	pass := f.backward
	if transposed {
		pass = f.forward
	}
	clear(f.values)
	pass(right)
	for i, s := range f.heads {
		f.values[i] = f.v[s]
	}
	if len(f.heads) > 0 {
		f.among.factors.solve(f.values, f.values, transposed)
		pass(right)
	}
	if transposed {
		for _, s := range f.heads {
			f.v[s] /= f.chain.diag[s]
		}
	}
	copy(x, f.v)
}

// backward finds the values of all states, given those of the heads.
func (f *feedback) backward(right []float64) {
	y := f.chain
	for _, s := range f.order {
		sum := right[s]
		for e := y.first[s]; e < y.first[s+1]; e++ {
			x := f.v[y.next[e]]
			if h := f.head[y.next[e]]; h > 0 {
				x = f.values[h-1]
			}
			sum += float64(y.prob[e] * x)
		}
		f.v[s] = sum / y.diag[s]
	}
}

// forward finds the visits of all states but the heads, and the arrivals in these, given their arrivals.
func (f *feedback) forward(right []float64) {
	copy(f.v, right)
	for i, s := range f.heads {
		f.propagate(s, f.values[i])
	}
	for _, s := range slices.Backward(f.order) {
		if f.head[s] == 0 {
			f.v[s] = f.propagate(s, f.v[s])
		}
	}
}

// propagate sends on what arrives in a state, and returns its visits.
func (f *feedback) propagate(s int32, arrivals float64) float64 {
	y := f.chain
	x := arrivals / y.diag[s]
	for e := y.first[s]; e < y.first[s+1]; e++ {
		f.v[y.next[e]] += float64(y.prob[e] * x)
	}
	return x
}
