package problem

// A Gap is a state that can be reached in the steps First to Last, counted from 1, and has no row in any of them although it has
// rows for other steps.
type Gap struct {
	State       int
	First, Last int
}

// Gaps lists where rows seem to be missing, by step and state. A state without any row rests on purpose; one with rows for some
// steps alone rests in the others too, mostly because rows were forgotten. Steps in which no policy comes to the state do not count.
// It takes one pass over the rows of every step, and is empty where rows hold at every step.
func (p *Problem) Gaps() []Gap {
	m := p.Model
	if m == nil || m.Tally() != nil || m.Horizon() == 0 || m.Stationary() {
		return nil
	}
	acts := make([]bool, m.States())
	for h := range m.Horizon() {
		k := m.Kernel(h)
		for s := range acts {
			acts[s] = acts[s] || k.First[s] < k.First[s+1]
		}
	}
	reached, next := make([]bool, m.States()), make([]bool, m.States())
	for _, s := range m.StartStates() {
		reached[s.State] = s.Probability > 0
	}
	var gaps []Gap
	last := make(map[int]int) // of a state, the place of its latest gap
	for h := range m.Horizon() {
		k := m.Kernel(h)
		clear(next)
		for s, here := range reached {
			if !here {
				continue
			}
			first, end := k.First[s], k.First[s+1]
			if first < end {
				for i := k.Offset[first]; i < k.Offset[end]; i++ {
					next[k.Next[i]] = next[k.Next[i]] || k.Prob[i] > 0
				}
				continue
			}
			next[s] = true
			if !acts[s] {
				continue
			}
			if i, before := last[s]; before && gaps[i].Last == h {
				gaps[i].Last++
				continue
			}
			last[s] = len(gaps)
			gaps = append(gaps, Gap{s, h + 1, h + 1})
		}
		reached, next = next, reached
	}
	return gaps
}
