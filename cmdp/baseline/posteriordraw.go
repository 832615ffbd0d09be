package baseline

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/stat/distuv"
)

// A drawer draws models from the posterior of the counts. Rows of the kernel are
// independent; the prior of each is the symmetric Dirichlet distribution of total
// weight alpha over the possible successors: all states, or the support that the
// learner was told.
type drawer struct {
	*estimate
	alpha  float64
	source *rand.PCG
	rng    *rand.Rand // over source
	unseen []int32
	// expect has model return the mean of the posterior in place of a draw.
	expect bool
	// stationary says that one kernel, with its returns, stands for all steps.
	stationary   bool
	lower, upper [][]float64 // bounds of the returns that each layer counts
}

func newDrawer(e *estimate, c *Config, stream string) drawer {
	source := cmdp.Stream(c.Seed, stream)
	d := drawer{estimate: e, alpha: cmp.Or(c.Tuning.PriorWeight, DefaultPriorWeight), source: source, rng: rand.New(source), expect: c.Tuning.MeanModel,
		stationary: e.pooled()}
	for h := range e.horizon {
		lower, upper := e.shape.StepReturns(h)
		if h < len(e.layers) {
			d.lower, d.upper = append(d.lower, slices.Clone(lower)), append(d.upper, slices.Clone(upper))
			continue
		}
		d.stationary = d.stationary && slices.Equal(lower, d.lower[0]) && slices.Equal(upper, d.upper[0])
		for i := range lower {
			d.lower[0][i], d.upper[0][i] = min(d.lower[0][i], lower[i]), max(d.upper[0][i], upper[i])
		}
	}
	if e.returns != nil {
		d.stationary = e.pooled() && e.returns.Stationary()
	}
	return d
}

// crumb is the share of a row that is not split any further.
const crumb = 1e-3

// model draws a model. It draws in the order of steps and choices, so that the same
// counts and the same stream give the same model.
func (d *drawer) model() (*cmdp.Model, error) {
	kernels := make([]cmdp.Kernel, d.horizon)
	if d.stationary {
		kernels = kernels[:1]
	}
	for h := range kernels {
		if h < len(d.layers) {
			kernels[h] = d.kernel(h)
		} else {
			kernels[h] = kernels[0]
		}
	}
	var means []float64
	for h := range kernels {
		switch {
		case d.returns != nil:
			kernels[h].Returns = d.known(h)
		case h < len(d.layers):
			means = d.means(h)
			fallthrough
		default:
			kernels[h].Returns = d.within(means, h)
		}
	}
	return cmdp.NewModel(cmdp.ModelSpec{Horizon: d.horizon, Dim: d.shape.Dim(), Start: d.start, Kernels: kernels})
}

// kernel draws the rows of step h.
func (d *drawer) kernel(h int) cmdp.Kernel {
	rows := d.layers[h]
	k := cmdp.Kernel{First: d.offsets(h), Offset: make([]int, 1, len(rows)+1)}
	row := d.row
	if d.expect {
		row = d.meanRow
	}
	for c := range rows {
		k.Next, k.Prob = row(k.Next, k.Prob, &rows[c])
		k.Offset = append(k.Offset, len(k.Next))
	}
	return k
}

// row draws the distribution of one choice. Each successor that was seen has a Gamma
// weight. All unseen ones together have one more.
func (d *drawer) row(next []int32, prob []float64, r *row) ([]int32, []float64) {
	possible := d.states
	if r.closed {
		possible = len(r.next)
	}
	each, first, sum := d.alpha/float64(possible), len(next), 0.0
	d.unseen = d.unseen[:0]
	for i, n := range r.next {
		if r.count[i] == 0 {
			d.unseen = append(d.unseen, n)
			continue
		}
		w := d.gamma(r.count[i] + each)
		next, prob = append(next, n), append(prob, w)
		sum += w
	}
	seen := len(next) - first
	if rest := possible - seen; rest > 0 {
		lump := 1.0
		if seen > 0 {
			lump = d.gamma(each * float64(rest))
		}
		if lump > 0 {
			sum += lump
			next, prob = d.split(next, prob, r, first, lump, crumb*sum, each, rest)
		}
	}
	for i := first; i < len(prob); i++ {
		prob[i] /= sum
	}
	return next, prob
}

// meanRow is row for the mean of the posterior, which has all possible successors.
func (d *drawer) meanRow(next []int32, prob []float64, r *row) ([]int32, []float64) {
	possible, first := d.states, len(next)
	if r.closed {
		possible = len(r.next)
	}
	each := d.alpha / float64(possible) / (r.visits + d.alpha)
	for i, n := range r.next {
		next, prob = append(next, n), append(prob, r.count[i]/(r.visits+d.alpha)+each)
	}
	if len(r.next) == possible {
		return next, prob
	}
	seen := slices.Sorted(slices.Values(next[first:]))
	for n := range int32(possible) {
		if _, ok := slices.BinarySearch(seen, n); !ok {
			next, prob = append(next, n), append(prob, each)
		}
	}
	return next, prob
}

// split divides the mass of the unseen successors, of which there are rest, by stick
// breaking in size-biased order. In a symmetric Dirichlet vector with parameters a the next
// stick takes a share Beta(1+a, (rest−1)·a) of what is left, and it is any of the rest with
// the same probability. What is left is not split once it is at most least.
func (d *drawer) split(next []int32, prob []float64, r *row, first int, lump, least, a float64, rest int) ([]int32, []float64) {
	left := lump
	for ; rest > 0; rest-- {
		share := 1.0
		if rest > 1 && left > least {
			share = distuv.Beta{Alpha: 1 + a, Beta: a * float64(rest-1), Src: d.source}.Rand()
		}
		next, prob = append(next, d.pick(next[first:], r)), append(prob, share*left)
		if left -= share * left; left <= 0 {
			break
		}
	}
	return next, prob
}

// pick draws, uniformly, a successor that is neither seen nor taken already.
func (d *drawer) pick(taken []int32, r *row) int32 {
	if r.closed {
		i := d.rng.IntN(len(d.unseen))
		n := d.unseen[i]
		d.unseen[i] = d.unseen[len(d.unseen)-1]
		d.unseen = d.unseen[:len(d.unseen)-1]
		return n
	}
	for {
		if n := int32(d.rng.IntN(d.states)); !slices.Contains(taken, n) {
			return n
		}
	}
}

func (d *drawer) gamma(shape float64) float64 {
	return distuv.Gamma{Alpha: shape, Beta: 1, Src: d.source}.Rand()
}

// known returns the expected returns of the choices of step h.
func (d *drawer) known(h int) (out []float64) {
	for c := range d.layer(h) {
		out = append(out, d.returns.At(h, c)...)
	}
	return out
}

// means draws the expected returns of the choices of step h. On the range of the return
// rescaled to [0,1] a mean has the distribution Beta(1+Σx, 1+Σ(1−x)): that of Bernoulli
// returns with the same sum, as by Agrawal and Goyal (2012), whose coin flips are replaced
// by their mean.
func (d *drawer) means(h int) []float64 {
	dim, lower, upper := d.shape.Dim(), d.lower[h], d.upper[h]
	out := make([]float64, 0, len(d.layer(h))*dim)
	f := d.offsets(h)
	for s := range d.states {
		for c := f[s]; c < f[s+1]; c++ {
			visits := d.layer(h)[c].visits
			known := d.counts.MeanReturn(d.value, h, s, int(c-f[s]))
			for j := range dim {
				width := upper[j] - lower[j]
				if width <= 0 {
					out = append(out, lower[j])
					continue
				}
				sum := 0.0
				if known {
					sum = visits * min(1, max(0, (d.value[j]-lower[j])/width))
				}
				x := (1 + sum) / (2 + visits)
				if !d.expect {
					x = distuv.Beta{Alpha: 1 + sum, Beta: 1 + visits - sum, Src: d.source}.Rand()
				}
				out = append(out, lower[j]+x*width)
			}
		}
	}
	return out
}

// within cuts means of counts that steps of several ranges share to the range of step h.
func (d *drawer) within(means []float64, h int) []float64 {
	if d.stationary || !d.pooled() {
		return means
	}
	lower, upper := d.shape.StepReturns(h)
	out := slices.Clone(means)
	for i, x := range out {
		j := i % len(lower)
		out[i] = min(max(x, lower[j]), upper[j])
	}
	return out
}
