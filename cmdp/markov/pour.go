package markov

import (
	"context"
	"math"

	"cmdpsolve/cmdp/internal/threshold"
)

// loadRows makes a window hold the rows of a policy in the states [from, to) of the component [lo, hi), whose states are numbered from 0
// there, what is outside being the number after the last. A row's own number is how often the state is left.
func (p *Visits) loadRows(w *window, st *Rule, lo, hi, from, to int32) {
	w.start(from)
	room, state := make([]Taken, 0, p.most), p.quotient.Number
	for s := lo + from; s < lo+to; s++ {
		next, share, out := w.next, w.share, 0.0
		for _, t := range p.choose(room[:0], st, s) {
			o, e := p.kernel.Offset[t.Choice], p.kernel.Offset[t.Choice+1]
			prob := p.kernel.Prob[o:e]
			for j, n := range p.kernel.Next[o:e] {
				n, x := state[n], t.Prob*prob[j]
				if n == s || x == 0 {
					continue
				}
				if n < lo || n >= hi {
					n = hi
				}
				out += x
				next, share = append(next, n-lo), append(share, x)
			}
		}
		w.next, w.share = next, share
		w.end(out, out)
		w.first = append(w.first, int32(len(w.own)))
	}
}

// propagate corrects a guess x of the visits of the states [lo, hi) of the quotient, without a discount, until what is still on
// its way is at most rest in all, or rounding. It reports false where that is slow, or where the policy may not leave
// the component from everywhere.
func (p *Visits) propagate(ctx context.Context, st *Rule, lo, hi int32, arrivals, x []float64, rest float64) bool {
	states, reach, w := hi-lo, int32(0), &p.chain.window
	w.start(0)
	row := func(s int32) ([]int32, []float64) {
		if !w.holds(s, s+1) {
			p.loadRows(w, st, lo, hi, s, min(states, s+int32(threshold.Chunk)))
		}
		return w.row(s - w.at)
	}
	missing := grown(p.chain.room[0], int(states)+1) // what is still on its way, or too much of it; what has left stands last
	p.chain.room[0] = missing
	missing[copy(missing, arrivals)] = 0
	leads := make([]bool, states) // out, as far as one pass shows
	for s := range states {
		next, share := row(s)
		y := x[s] * w.own[s-w.at]
		missing[s] -= y
		for j, n := range next {
			missing[n] += float64(y * share[j])
			if n == states || leads[n] {
				leads[s] = true
			} else {
				reach = max(reach, n-s)
			}
		}
	}
	if !reachesExit(leads, func(s int32, visit func(n int32) bool) {
		next, _ := row(s)
		for _, n := range next {
			if visit(n) {
				return
			}
		}
	}) {
		return false
	}
	least := rest / float64(states)
	nothing := func(s int32) bool {
		y := math.Abs(missing[s])
		return y <= least || y <= unit/4*math.Abs(x[s])
	}
	step, held := stretchOf(states, reach), int32(threshold.Window)
	from, front := states-1, states-step
	for left := mostSweeps * int(states); left > 0 && ctx.Err() == nil; left -= int(from-front) + 1 {
		for b := from + 1; b > front; b -= held {
			a := max(front, b-held)
			if !w.holds(a, b) {
				p.loadRows(w, st, lo, hi, a, min(states, max(b, min(a+held, b+step/2))))
			}
			begin, next, share, own := w.begin[a-w.at:], w.next, w.share, w.own[a-w.at:]
			for s := b - 1; s >= a; s-- {
				if y := missing[s]; !nothing(s) {
					x[s], missing[s] = x[s]+y/own[s-a], 0
					next := next[begin[s-a]:begin[s-a+1]]
					share := share[begin[s-a]:][:len(next)]
					for j, n := range next {
						missing[n] += float64(y * share[j])
					}
				}
			}
		}
		again := min(states-1, from+reach) // the last state that something came back to
		for again >= front && nothing(again) {
			again--
		}
		switch {
		case again >= front:
			from = again
		case front > 0:
			p.Progress.At(findingVisits, float64(states-front)/float64(states), int(states))
			from, front = front-1, max(0, front-step)
		default:
			return true
		}
	}
	return false
}
