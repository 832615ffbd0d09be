package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

// An evaluation computes the values of a randomised policy on an estimate, all
// signals at once and each truncated by itself, from the last step to the first.
type evaluation struct {
	*estimate
	q       []float64 // slots×signals: values of taking a choice
	v, next []float64 // S×signals
	probs   []float64
	// Q is at least 0 if it is cut, and at most the number of steps to go if signals are rewards besides.
	cut, rewards bool
	// ridge is added to the visits: frequencies n(s')/(n+ridge), which sum to less than
	// 1. With 0 a choice never visited leads everywhere, or to all its possible
	// successors, with the same probability.
	ridge float64
}

func newEvaluation(e *estimate) *evaluation {
	return &evaluation{estimate: e, q: make([]float64, e.slots()*e.signals), probs: make([]float64, e.most),
		v: make([]float64, e.states*e.signals), next: make([]float64, e.states*e.signals)}
}

// run sets value to the sums of the signals of t under p, and q to those of all choices.
func (ev *evaluation) run(value []float64, p cmdp.Policy, t *signalTable) {
	m := ev.signals
	clear(ev.next)
	mean := make([]float64, m)
	for h := ev.horizon - 1; h >= 0; h-- {
		f, rows := ev.offsets(h), ev.layer(h)
		clear(mean) // of the next values over all states
		for s := range ev.states {
			for j := range mean {
				mean[j] += ev.next[s*m+j] / float64(ev.states)
			}
		}
		for s := range ev.states {
			out := ev.v[s*m : (s+1)*m]
			first, end := int(f[s]), int(f[s+1])
			if first == end {
				for j := range out {
					out[j] = t.rested[h*m+j] + ev.next[s*m+j]
				}
				continue
			}
			probs := ev.probs[:end-first]
			p.Distribution(probs, h, s)
			clear(out)
			for k := first; k < end; k++ {
				i := (ev.base[h] + k) * m
				q := ev.q[i : i+m]
				ev.backup(q, &rows[k], t.signal[i:i+m], mean)
				for j, x := range q {
					if ev.cut {
						x = math.Max(x, 0)
					}
					if ev.rewards {
						x = math.Min(x, float64(ev.horizon)-float64(h))
					}
					q[j] = x
					out[j] += probs[k-first] * x
				}
			}
		}
		ev.v, ev.next = ev.next, ev.v
	}
	clear(value)
	for _, st := range ev.start {
		for j := range value {
			value[j] += st.Probability * ev.next[st.State*m+j]
		}
	}
}

// backup sets q to the signals of a choice and the mean of what follows.
func (ev *evaluation) backup(q []float64, r *row, signal, mean []float64) {
	copy(q, signal)
	if r.unknown() && ev.ridge == 0 {
		for j := range q {
			q[j] += mean[j]
		}
		return
	}
	shrink := 1.0
	if ev.ridge > 0 {
		shrink = r.visits / (r.visits + ev.ridge)
	}
	for i, n := range r.next {
		p := shrink * r.prob[i]
		w := ev.next[int(n)*ev.signals : (int(n)+1)*ev.signals]
		for j := range q {
			q[j] += p * w[j]
		}
	}
}
