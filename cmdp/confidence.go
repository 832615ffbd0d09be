package cmdp

import "math"

// ReturnConfidence learns the expected returns of choices from samples. For each
// coordinate it has the mean and a confidence radius: the smaller of the
// Hoeffding and the empirical Bernstein radius (Maurer, Pontil 2009, Theorem 4),
// times Scale.
type ReturnConfidence struct {
	// LogTerm is ln(1/p) of one interval with all union bounds in it.
	LogTerm float64
	// Scale multiplies the radius; 1 keeps the guarantee.
	Scale float64
	width []float64 // of the range of a return, over all steps
}

// NewReturnConfidence returns a confidence for the returns of the given shape.
func NewReturnConfidence(sh *Shape, logTerm, scale float64) *ReturnConfidence {
	if sh == nil {
		panic(noShape)
	}
	c := &ReturnConfidence{LogTerm: logTerm, Scale: scale}
	for i := range sh.dim {
		least, most := sh.lower[i], sh.upper[i]
		for at := i; at < len(sh.lower); at += sh.dim {
			least, most = min(least, sh.lower[at]), max(most, sh.upper[at])
		}
		c.width = append(c.width, most-least)
	}
	return c
}

// A returnStat is what has been seen of one coordinate of one choice.
type returnStat struct{ mean, sumSquares, radius float64 }

// addReturn updates the statistics of choice i, whose visit is already counted.
func (l *layer) addReturn(c *ReturnConfidence, i int, r []float64) {
	d := len(r)
	l.makeReturns(d)
	n := l.choices[i].visits
	for j, x := range r {
		st := &l.returns[i*d+j]
		delta := x - st.mean
		st.mean += delta / n
		st.sumSquares += delta * (x - st.mean)
		st.radius = c.radius(n, st.sumSquares, c.width[j])
	}
}

// makeReturns makes room for the statistics of all choices.
func (l *layer) makeReturns(dim int) {
	if need := len(l.choices) * dim; len(l.returns) < need {
		l.returns = append(l.returns, make([]returnStat, need-len(l.returns))...)
	}
}

func (c *ReturnConfidence) radius(n, sumSquares, width float64) float64 {
	r := width * math.Sqrt(c.LogTerm/(2*n))
	if n > 1 {
		r = min(r, math.Sqrt(2*sumSquares*c.LogTerm)/(n-1)+7*width*c.LogTerm/(3*(n-1)))
	}
	return min(c.Scale*r, width)
}
