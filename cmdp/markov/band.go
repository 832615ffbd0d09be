package markov

import (
	"context"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A band holds the factors of a chain whose transitions lead to states with numbers nearby, by state
// elimination in the order of the numbers, see elimination. Nothing fills up outside of the band.
type band struct {
	width  int  // the largest distance of a transition
	folded bool // states are taken from both ends in turn, so that a ring is a band too
	// row has of each place the entries for the places up to width before and behind it; those before
	// are its shares of these.
	row  []float64
	out  []float64 // of each place, what leaves its state when that is eliminated
	leak []float64
	y    []float64
}

// positionOf returns the place of a state among n.
func (f *band) positionOf(s, n int) int {
	switch {
	case !f.folded:
		return s
	case 2*s < n:
		return 2 * s
	}
	return 2*(n-1-s) + 1
}

// measure sets the width of the band of a chain, and whether it is folded. It goes no further than to see that the
// width is above most.
func (f *band) measure(y *Chain, most int) {
	n := y.States()
	straight, round := 0, 0
	for s := 0; s < n && min(straight, 2*round) <= most; s++ {
		for _, next := range y.next[y.first[s]:y.first[s+1]] {
			far := max(int(next)-s, s-int(next))
			straight, round = max(straight, far), max(round, min(far, n-far))
		}
	}
	f.width, f.folded = straight, 2*round < straight
	if f.folded {
		f.width = 2 * round
	}
}

// factorize reports false for a chain that is no narrow band, or has a part that it does not leave, and where ctx ends.
func (f *band) factorize(ctx context.Context, y *Chain) bool {
	f.measure(y, threshold.Band)
	if f.width > threshold.Band {
		return false
	}
	n, w := y.States(), 2*f.width+1
	f.row, f.out, f.leak, f.y = resized(f.row, n*w), grown(f.out, n), grown(f.leak, n), grown(f.y, n)
	for s := range n {
		at := f.positionOf(s, n)
		f.leak[at] = y.leak[s]
		for e := y.first[s]; e < y.first[s+1]; e++ {
			f.row[at*w+f.width+f.positionOf(int(y.next[e]), n)-at] += y.prob[e]
		}
	}
	for s := range n {
		behind := f.behind(s)
		out := f.leak[s] + floats.Sum(behind)
		if !(out > 0) {
			return false
		}
		f.out[s] = out
		if s%reportEvery == reportEvery-1 && ctx.Err() != nil {
			return false
		}
		// Entries of a state for itself are never read.
		for t := s + 1; t <= s+len(behind); t++ {
			if share := &f.row[t*w+f.width+s-t]; *share > 0 {
				*share /= out
				f.leak[t] += float64(*share * f.leak[s])
				floats.AddScaled(f.row[t*w+f.width+s+1-t:][:len(behind)], *share, behind)
			}
		}
	}
	return true
}

// behind returns the entries of a place for those behind it.
func (f *band) behind(s int) []float64 {
	w := 2*f.width + 1
	return f.row[s*w+f.width+1:][:min(f.width, len(f.out)-1-s)]
}

// before returns what a place shares with those before it, up to the place itself.
func (f *band) before(s int) []float64 {
	w := 2*f.width + 1
	return f.row[s*w+f.width-min(f.width, s):][:min(f.width, s)]
}

func (f *band) solve(x, right []float64, transposed bool) {
	n, y := len(f.out), f.y
	for s, r := range right {
		y[f.positionOf(s, n)] = r
	}
	if transposed {
		for s, out := range f.out {
			y[s] /= out
			behind := f.behind(s)
			floats.AddScaled(y[s+1:][:len(behind)], y[s], behind)
		}
		for s := n - 1; s >= 0; s-- {
			before := f.before(s)
			floats.AddScaled(y[s-len(before):s], y[s], before)
		}
	} else {
		for s := range y {
			before := f.before(s)
			y[s] += floats.Dot(before, y[s-len(before):s])
		}
		for s := n - 1; s >= 0; s-- {
			behind := f.behind(s)
			y[s] = (y[s] + floats.Dot(behind, y[s+1:][:len(behind)])) / f.out[s]
		}
	}
	for s := range x {
		x[s] = y[f.positionOf(s, n)]
	}
}
