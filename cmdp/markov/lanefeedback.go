package markov

import "slices"

// A laneFeedback finds values and returns of a policy in each direction in a component, as a feedback does: of each
// state, in order, how likely it comes to each head first and how likely it leaves the component first, and what it
// gives until then. The system of the heads is left.
type laneFeedback struct {
	states, heads int
	width         int    // columns of a state: of the heads, of leaving, of the value and of the returns
	columns       *Lanes // the first of room
	room          []Lanes
	at            [mostHeads]int32 // the states that are heads

	row       [mostHeads][mostHeads]Lanes // of the heads: transitions, then factors as of denseFactors
	out, leak [mostHeads]Lanes
	right     []Lanes // of the heads, those of the value and of the returns side by side
}

// mostHeads is how many states of a component may be heads.
const mostHeads = 12

// largestSystem returns how many columns the states of a component have at most together, given the heads.
func (q *Quotient) largestSystem(head []uint8, dim int) (columns int) {
	for i := range q.Component[1:] {
		lo, hi := q.Component[i], q.Component[i+1]
		if hi == lo+1 {
			continue
		}
		columns = max(columns, int(hi-lo)*(int(slices.Max(head[lo:hi]))+2+dim))
	}
	return columns
}

// start makes room for the component [lo, hi) of a program.
func (f *laneFeedback) start(z *laneSolver, lo, hi int32) {
	f.states, f.heads = int(hi-lo), 0
	for s := lo; s < hi; s++ {
		if z.head[s] > 0 {
			f.at[f.heads] = s - lo
			f.heads++
		}
	}
	f.width = f.heads + 2 + len(z.Directions)
	f.room = grown(f.room, f.states*f.width)
	f.columns = &f.room[0]
	f.right = grown(f.right, f.heads*(1+len(z.Directions)))
}

// of returns the columns of a state.
func (f *laneFeedback) of(s int32) []Lanes { return f.room[int(s)*f.width:][:f.width] }

// load sets the columns. It reports false where a policy stays in a state for ever.
func (f *laneFeedback) load(z *laneSolver, lo, hi int32) bool {
	if vectors {
		return loadVector(&z.rows, f, lo, hi)
	}
	q, k := z.Quotient, f.heads
	for s := lo; s < hi; s++ {
		own, left := f.of(s-lo), Lanes{}
		clear(own)
		for i := q.First[s]; i < q.First[s+1]; i++ {
			in := Lanes{}
			in.set(z.taken(s, i), allLanes)
			if in == noLanes {
				continue
			}
			for j, r := range q.Kernel.ReturnsOf(int(q.Choice[i]), len(z.Directions)) {
				own[k+2+j] = own[k+2+j].AddScaled(r, in)
			}
			to, prob := q.row(q.Choice[i])
			for j, n := range to {
				if n == s {
					continue
				}
				p := Lanes{}.AddScaled(prob[j], in)
				switch {
				case n < lo || n >= hi:
					own[k] = own[k].AddScaled(1, p)
					for j := range z.Directions {
						own[k+2+j].addProduct(&p, &z.Returns[int(z.Slot(n))*len(z.Directions)+j])
					}
				case z.head[n] > 0:
					own[z.head[n]-1] = own[z.head[n]-1].AddScaled(1, p)
				default:
					for j, x := range f.of(n - lo) {
						own[j].addProduct(&p, &x)
					}
				}
			}
			x, size, out := z.backup(s, i, lo, hi, noLanes)
			x, given := x.AddScaled(-z.rounding, size.AddScaled(out, z.Values[z.Slot(s)].Magnitudes())), Lanes{}
			given.set(z.taken(s, i), x)
			own[k+1] = own[k+1].AddScaled(1, given)
			left = left.AddScaled(out, in)
		}
		if !(left.A > 0 && left.B > 0 && left.C > 0 && left.D > 0) {
			return false
		}
		for j := range own {
			own[j] = own[j].Divided(left)
		}
	}
	return true
}

// solve finds values and returns of the heads, and calls set with the values of each state, beside which its returns
// stand. It reports false where a policy does not leave the component.
func (f *laneFeedback) solve(set func(s int32, x []Lanes)) bool {
	k := f.heads
	count := f.width - k - 1
	for i, s := range f.at[:k] {
		own := f.of(s)
		copy(f.row[i][:k], own)
		f.leak[i] = own[k]
		copy(f.right[i*count:], own[k+1:])
	}
	if !f.eliminate() {
		return false
	}
	f.substitute(count)
	for s := range int32(f.states) {
		own := f.of(s)
		x := own[k+1:]
		for i := range k {
			if own[i] != noLanes {
				for j := range x {
					x[j].addProduct(&own[i], &f.right[i*count+j])
				}
			}
		}
		set(s, x)
	}
	return true
}

// eliminate turns transitions between heads into factors. It reports false where some are never left.
func (f *laneFeedback) eliminate() bool {
	n := f.heads
	for s := range n {
		behind := f.row[s][s+1 : n]
		out := f.leak[s]
		for _, x := range behind {
			out = out.AddScaled(1, x)
		}
		if !(out.A > 0 && out.B > 0 && out.C > 0 && out.D > 0) {
			return false
		}
		f.out[s] = out
		for t := s + 1; t < n; t++ {
			if f.row[t][s] == noLanes {
				continue
			}
			share := f.row[t][s].Divided(out)
			f.row[t][s] = share
			f.leak[t].addProduct(&share, &f.leak[s])
			row := f.row[t][s+1 : n][:len(behind)]
			for u := range behind { // what leads from t to t is never read
				row[u].addProduct(&share, &behind[u])
			}
		}
	}
	return true
}

// substitute replaces the right-hand sides of the heads, so many each, by the solutions.
func (f *laneFeedback) substitute(count int) {
	add := func(to, from int) {
		if share := f.row[to][from]; share != noLanes {
			for k := range count {
				f.right[to*count+k].addProduct(&share, &f.right[from*count+k])
			}
		}
	}
	for s := range f.heads {
		for t := range s {
			add(s, t)
		}
	}
	for s := f.heads - 1; s >= 0; s-- {
		for t := s + 1; t < f.heads; t++ {
			add(s, t)
		}
		for k := range count {
			f.right[s*count+k] = f.right[s*count+k].Divided(f.out[s])
		}
	}
}
