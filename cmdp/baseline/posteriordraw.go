package baseline

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// A drawer draws models from the posterior of the counts. Rows of the kernel are
// independent; the prior of each is the symmetric Dirichlet distribution of total
// weight alpha over the possible successors: all states, or the support that the
// learner was told. Where a part of the states is a known memory, rows that differ in it alone
// are drawn once.
type drawer struct {
	*estimate
	alpha  float64
	source *rand.PCG
	rng    *rand.Rand // over source
	unseen []int32
	// any holds the states that may follow where no support was told: all, or for each state without memory one that
	// stands for it. of returns the state without memory; it is nil if nothing is a known memory.
	any []int32
	of  func(state int) int
	// expect has model return the mean of the posterior in place of a draw.
	expect bool
	// frequencies has model take the frequencies of what was visited, and draw the rest.
	frequencies bool
	// stationary says that one kernel, with its returns, stands for all steps.
	stationary   bool
	lower, upper [][]float64 // bounds of the returns that each layer counts
	endless      *Endless    // of a run without episodes, else nil
	from         []cmdp.StartState
}

func newDrawer(e *estimate, c *Config, stream string) drawer {
	source := cmdp.Stream(c.Seed, stream)
	d := drawer{estimate: e, alpha: cmp.Or(c.Tuning.PriorWeight, OtherPriorWeight), source: source,
		rng: rand.New(source), expect: c.Tuning.MeanModel,
		stationary: e.pooled(), endless: c.Endless, from: e.start}
	d.any, d.of = e.shape.Representatives()
	if d.of == nil {
		for s := range int32(e.states) {
			d.any = append(d.any, s)
		}
	}
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
	return newModel(d.shape, d.endless, d.from, kernels)
}

// kernel draws the rows of step h.
func (d *drawer) kernel(h int) cmdp.Kernel {
	rows := d.layers[h]
	k := cmdp.Kernel{First: d.offsets(h), Offset: make([]int, 1, len(rows)+1)}
	row := d.row
	switch {
	case d.expect:
		row = d.meanRow
	case d.frequencies:
		row = d.frequencyRow
	}
	var twins []twinRow
	if d.of != nil {
		twins = d.twinRows(h, row)
	}
	for c := range rows {
		if twins == nil {
			k.Next, k.Prob = row(k.Next, k.Prob, &rows[c])
		} else {
			k.Next, k.Prob = append(k.Next, twins[c].next...), append(k.Prob, twins[c].prob...)
		}
		k.Offset = append(k.Offset, len(k.Next))
	}
	return k
}

// A twinRow is a drawn row, with how often its successors were seen according to the row that was drawn.
type twinRow struct {
	next  []int32
	prob  []float64
	count []float64
}

// add adds to the probability of a successor.
func (r *twinRow) add(next int32, prob, count float64) {
	i := slices.Index(r.next, next)
	if i < 0 {
		i = len(r.next)
		r.next, r.prob, r.count = append(r.next, next), append(r.prob, 0), append(r.count, 0)
	}
	r.prob[i] += prob
	r.count[i] += count
}

// tells reports whether the successors of a row, and how often it saw them, are what r, drawn for a twin of it, says.
func (r *twinRow) tells(own *row) bool {
	for i, n := range own.next {
		if at := slices.Index(r.next, n); at < 0 || r.count[at] != own.count[i] {
			return false
		}
	}
	return true
}

// twinRows returns the rows of step h. Among twins the row that tells most successors apart is drawn, and
// stands for all whose successors follow from it. A memory may tell apart what is one for that row, such as
// different amounts spent: such twins are drawn once more.
func (d *drawer) twinRows(h int, draw func([]int32, []float64, *row) ([]int32, []float64)) []twinRow {
	rows := d.layers[h]
	out, settled := make([]twinRow, len(rows)), make([]bool, len(rows))
	var next []int32
	var prob []float64
	f := d.offsets(h)
	d.eachTwins(h, func(twins []slot) {
		at := func(x slot) int { return int(f[x.s]) + x.a }
		for len(twins) > 0 {
			lead := slices.MaxFunc(twins,
				func(x, y slot) int { return cmp.Compare(len(rows[at(x)].next), len(rows[at(y)].next)) })
			from := &rows[at(lead)]
			next, prob = draw(next[:0], prob[:0], from)
			for i, n := range next {
				count := 0.0
				if seen := slices.Index(from.next, n); seen >= 0 {
					count = from.count[seen]
				}
				d.shape.EachEquivalent(h, lead.s, lead.a, int(n), nil, func(state, action, to int, _ []float64) {
					if c := int(f[state]) + action; !settled[c] {
						out[c].add(int32(to), prob[i], count)
					}
				})
			}
			twins = slices.DeleteFunc(twins, func(x slot) bool {
				c := at(x)
				settled[c] = x == lead || out[c].tells(&rows[c])
				if !settled[c] {
					out[c] = twinRow{}
				}
				return settled[c]
			})
		}
	})
	return out
}

// eachTwins calls visit with the choices of step h that are twins of each other, or one alone where nothing is
// a known memory. It may change the slice.
func (d *drawer) eachTwins(h int, visit func(twins []slot)) {
	met := make([]bool, len(d.layer(h)))
	var twins []slot
	f := d.offsets(h)
	for s := range d.states {
		for a := range int(f[s+1] - f[s]) {
			if met[int(f[s])+a] {
				continue
			}
			twins = twins[:0]
			d.shape.EachEquivalent(h, s, a, int(d.any[0]), nil, func(state, action, _ int, _ []float64) {
				met[int(f[state])+action] = true
				twins = append(twins, slot{h, state, action})
			})
			visit(twins)
		}
	}
}

// row draws the distribution of one choice. Each successor that was seen has a Gamma
// weight. All unseen ones together have one more.
func (d *drawer) row(next []int32, prob []float64, r *row) ([]int32, []float64) {
	each, first, sum := d.alpha/float64(d.possible(r)), len(next), 0.0
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
	if rest := d.possible(r) - d.different(next[first:], r); rest > 0 {
		lump := 1.0
		if len(next) > first {
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
	first := len(next)
	each := d.alpha / float64(d.possible(r)) / (r.visits + d.alpha)
	for i, n := range r.next {
		next, prob = append(next, n), append(prob, r.count[i]/(r.visits+d.alpha)+each)
	}
	if r.closed {
		return next, prob
	}
	met := make(map[int]bool, len(r.next))
	for _, n := range next[first:] {
		met[d.about(n)] = true
	}
	for _, n := range d.any {
		if !met[d.about(n)] {
			next, prob = append(next, n), append(prob, each)
		}
	}
	if d.of != nil { // several of the seen ones may be about one state
		floats.Scale(1/floats.Sum(prob[first:]), prob[first:])
	}
	return next, prob
}

// frequencyRow is row for a choice that was never visited, else it has the frequencies of the successors.
func (d *drawer) frequencyRow(next []int32, prob []float64, r *row) ([]int32, []float64) {
	if r.visits == 0 {
		return d.row(next, prob, r)
	}
	for i, n := range r.next {
		if r.count[i] > 0 {
			next, prob = append(next, n), append(prob, r.count[i]/r.visits)
		}
	}
	return next, prob
}

// split divides the mass of the unseen successors, of which there are rest, by stick
// breaking in size-biased order. In a symmetric Dirichlet vector with parameters a the next
// stick takes a share Beta(1+a, (rest−1)·a) of what is left, and it is any of the rest with
// the same probability. What is left is not split once it is at most least.
func (d *drawer) split(next []int32, prob []float64, r *row, first int, lump, least, a float64,
	rest int) ([]int32, []float64) {
	left := lump
	for ; rest > 0; rest-- {
		share := 1.0
		if rest > 1 && left > least {
			share = distuv.Beta{Alpha: 1 + a, Beta: a * float64(rest-1), Src: d.source}.Rand()
		}
		next, prob = append(next, d.pick(next[first:], r)), append(prob, share*left)
		left -= share * left
		if left <= 0 {
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
		n := d.any[d.rng.IntN(len(d.any))]
		if of := d.about(n); !slices.ContainsFunc(taken, func(x int32) bool { return d.about(x) == of }) {
			return n
		}
	}
}

// possible returns how many successors a choice may have.
func (d *drawer) possible(r *row) int {
	if r.closed {
		return len(r.next)
	}
	return len(d.any)
}

// about returns the number of a state without its memory.
func (d *drawer) about(state int32) int {
	if d.of == nil {
		return int(state)
	}
	return d.of(int(state))
}

// different returns how many of the possible successors of a choice are among states that differ.
func (d *drawer) different(states []int32, r *row) int {
	if d.of == nil || r.closed {
		return len(states)
	}
	met := make(map[int]bool, len(states))
	for _, n := range states {
		met[d.about(n)] = true
	}
	return len(met)
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
	f := d.offsets(h)
	out, sums := make([]float64, len(d.layer(h))*dim), make([]float64, len(d.layer(h))*dim)
	d.eachTwins(h, func(twins []slot) {
		for i, x := range twins {
			c := int(f[x.s]) + x.a
			visits := d.layer(h)[c].visits
			known := d.counts.MeanReturn(d.value, h, x.s, x.a)
			for j := range dim {
				width, at := upper[j]-lower[j], c*dim+j
				if known && width > 0 {
					sums[at] = visits * min(1, max(0, (d.value[j]-lower[j])/width))
				}
				same := slices.IndexFunc(twins[:i],
					func(y slot) bool { return sums[(int(f[y.s])+y.a)*dim+j] == sums[at] })
				switch {
				case width <= 0:
					out[at] = lower[j]
				case same >= 0: // what was received does not depend on the memory
					out[at] = out[(int(f[twins[same].s])+twins[same].a)*dim+j]
				case d.expect, d.frequencies && visits > 0:
					out[at] = lower[j] + (1+sums[at])/(2+visits)*width
				default:
					out[at] = lower[j] + distuv.Beta{Alpha: 1 + sums[at], Beta: 1 + visits - sums[at],
						Src: d.source}.Rand()*width
				}
			}
		}
	})
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
