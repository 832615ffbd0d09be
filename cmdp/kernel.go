package cmdp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Kernel holds the choices of one step in compressed sparse rows: choice c belongs to the state s with First[s] ≤
// c < First[s+1] and leads to the successors Next[Offset[c]:Offset[c+1]]. A choice is an action of the agent, or in
// a game a pair of actions, see [Shape]. Its probabilities and expected returns are what Row and ReturnsOf return,
// whether choices share them or not.
type Kernel struct {
	First  []int32 // length S+1
	Offset []int   // length C+1
	Next   []int32 // length nnz
	// Distribution says where the probabilities of each choice begin in Prob, in the order of its successors:
	// choices with the same distribution share them. If it is nil, Prob has length nnz and belongs to Next.
	Distribution []uint32
	Prob         []float64
	// Vector is the number of each choice's vector of expected returns in Returns, d numbers each: choices with the
	// same returns share them. If it is nil, Returns has length C×d.
	Vector  []uint32
	Returns []float64
	// Outcomes, if not nil, holds the return vector of each entry, nnz×d: returns
	// are then random, together with the successor, and Returns holds their
	// means. The same successor may appear in several entries of a choice.
	Outcomes []float64
	// Random, if not nil, says where the outcomes of each choice begin in Outcomes, −1 for a choice whose returns are
	// not random. Choices after those that it has are not random.
	Random []int

	pools *pools // while rows are appended
}

// NewKernel returns a kernel without states, to which [Kernel.Append] and [Kernel.EndState] add rows. Equal
// distributions and returns are stored once, if that saves memory.
func NewKernel() Kernel { return Kernel{First: []int32{0}, Offset: []int{0}, pools: newPools()} }

// Append adds a choice to the state whose choices are being added, with its successors, their probabilities and its
// expected returns, which are copied.
func (k *Kernel) Append(next []int32, probabilities, returns []float64) {
	k.Next = append(k.Next, next...)
	k.Prob = append(k.Prob, probabilities...)
	k.Returns = append(k.Returns, returns...)
	k.endRow(len(k.Next), len(returns))
}

// AppendRandom is Append for random returns: outcomes has those of each successor, as many numbers each as returns, the
// expected ones. Where these are all the same, or nil, the returns of the choice are not random.
func (k *Kernel) AppendRandom(next []int32, probabilities, returns, outcomes []float64) {
	if len(outcomes) == 0 {
		k.Append(next, probabilities, returns)
		return
	}
	if d := len(returns); allSame(outcomes, d) {
		k.Append(next, probabilities, outcomes[:d]) // without rounding
		return
	}
	k.Append(next, probabilities, returns)
	for len(k.Random) < k.Choices()-1 {
		k.Random = append(k.Random, -1)
	}
	k.Random = append(k.Random, len(k.Outcomes))
	k.Outcomes = append(k.Outcomes, outcomes...)
}

// EndState ends the choices of a state. The next ones are of the state after it.
func (k *Kernel) EndState() { k.First = append(k.First, int32(k.Choices())) }

// Choices returns the number of choices of all states.
func (k *Kernel) Choices() int { return len(k.Offset) - 1 }

// Bytes returns how much memory the numbers of the kernel take.
func (k *Kernel) Bytes() int {
	return 4*(len(k.First)+len(k.Next)+len(k.Distribution)+len(k.Vector)) +
		8*(len(k.Offset)+len(k.Prob)+len(k.Returns)+len(k.Outcomes)+len(k.Random))
}

// Entries returns the places [first, end) of the successors of choice c among those of all choices.
func (k *Kernel) Entries(c int) (first, end int) { return k.Offset[c], k.Offset[c+1] }

// Row returns the successors of choice c, with their probabilities.
func (k *Kernel) Row(c int) (next []int32, probabilities []float64) {
	at := k.Offset[c]
	next = k.Next[at:k.Offset[c+1]]
	if k.Distribution != nil {
		at = int(k.Distribution[c])
	}
	return next, k.Prob[at:][:len(next)]
}

// ReturnsOf returns the expected returns of choice c, which are d numbers.
func (k *Kernel) ReturnsOf(c, d int) []float64 {
	if k.Vector != nil {
		c = int(k.Vector[c])
	}
	return k.Returns[c*d:][:d]
}

// OutcomesOf returns the returns of choice c for each of its successors, d numbers each, or nil if they are not random.
func (k *Kernel) OutcomesOf(c, d int) []float64 {
	first, end := k.Entries(c)
	at, n := first*d, (end-first)*d
	switch {
	case k.Outcomes == nil || k.Random != nil && (c >= len(k.Random) || k.Random[c] < 0):
		return nil
	case k.Random != nil:
		at = k.Random[c]
	}
	return k.Outcomes[at:][:n]
}

// Plain returns a kernel of the same rows whose choices, with d returns, share nothing: Prob belongs to Next, Returns
// has length C×d, and Outcomes, if not nil, nnz×d. It is k itself if that is so there, and else takes memory for them.
func (k *Kernel) Plain(d int) *Kernel {
	if k.Distribution == nil && k.Vector == nil && k.Random == nil {
		return k
	}
	out := *k
	out.Distribution, out.Vector, out.Random = nil, nil, nil
	if k.Random != nil {
		out.Outcomes = make([]float64, 0, len(k.Next)*d)
	}
	out.Prob, out.Returns = make([]float64, 0, len(k.Next)), k.table(d)
	for c := range k.Choices() {
		_, prob := k.Row(c)
		out.Prob = append(out.Prob, prob...)
		if k.Random != nil {
			out.Outcomes = k.appendOutcomes(out.Outcomes, c, d)
		}
	}
	return &out
}

// appendOutcomes appends the returns of choice c for each of its successors, whether they are random or not.
func (k *Kernel) appendOutcomes(dst []float64, c, d int) []float64 {
	if of := k.OutcomesOf(c, d); of != nil {
		return append(dst, of...)
	}
	first, end := k.Entries(c)
	for range end - first {
		dst = append(dst, k.ReturnsOf(c, d)...)
	}
	return dst
}

// table returns the expected returns of all choices, d each, one after the other.
func (k *Kernel) table(d int) []float64 {
	if k.Vector == nil {
		return k.Returns
	}
	out := make([]float64, 0, len(k.Vector)*d)
	for c := range k.Vector {
		out = append(out, k.ReturnsOf(c, d)...)
	}
	return out
}

// endRow ends a choice whose successors end at a place in Next. Its probabilities and its d returns stand at the
// ends of Prob and Returns; they are taken away where others are the same.
func (k *Kernel) endRow(end, d int) {
	n := end - k.Offset[len(k.Offset)-1]
	k.Offset = append(k.Offset, end)
	if k.pools == nil {
		return
	}
	if p := k.pools.distributions; p != nil {
		var at int
		at, k.Prob = p.share(k.Prob, len(k.Prob)-n)
		k.Distribution = append(k.Distribution, uint32(at))
		if tooLong(k.Prob) || p.due() && !k.sharesProbabilities() {
			k.spreadProbabilities()
			k.pools.distributions = nil
		}
	}
	if p := k.pools.returns; p != nil {
		var at int
		at, k.Returns = p.share(k.Returns, len(k.Returns)-d)
		k.Vector = append(k.Vector, uint32(at/d))
		if tooLong(k.Returns) || p.due() && !k.sharesReturns(d) {
			k.spreadReturns(d)
			k.pools.returns = nil
		}
	}
}

// tooLong reports whether a place in values may not fit into 32 bits.
func tooLong(values []float64) bool { return uint64(len(values)) > math.MaxUint32 }

// endRows ends the kernel, of which there may be copies. What choices share is stored for each of them where that
// takes less memory.
func (k *Kernel) endRows(d int) {
	if k.pools == nil {
		return
	}
	k.pools = nil
	if k.Distribution != nil {
		k.Prob = compact(k.Prob)
		if !k.sharesProbabilities() {
			k.spreadProbabilities()
		}
	}
	if k.Vector != nil {
		k.Returns = compact(k.Returns)
		if !k.sharesReturns(d) {
			k.spreadReturns(d)
		}
	}
}

// compact returns values without much room after them, and none that appending would write to.
func compact(values []float64) []float64 {
	if cap(values) > 2*len(values) {
		return slices.Clone(values)
	}
	return slices.Clip(values)
}

// sharesProbabilities and sharesReturns report whether less memory is needed as choices share them.
func (k *Kernel) sharesProbabilities() bool {
	return 8*len(k.Prob)+4*len(k.Distribution) < 8*k.Offset[len(k.Offset)-1]
}

func (k *Kernel) sharesReturns(d int) bool {
	return 8*len(k.Returns)+4*len(k.Vector) < 8*d*len(k.Vector)
}

// spreadProbabilities gives each choice probabilities of its own, in place: those of a choice never move towards
// the front.
func (k *Kernel) spreadProbabilities() {
	k.Prob = longer(k.Prob, k.Offset[len(k.Distribution)]-len(k.Prob))
	for c := len(k.Distribution) - 1; c >= 0; c-- {
		first, end := k.Entries(c)
		copy(k.Prob[first:end], k.Prob[k.Distribution[c]:])
	}
	k.Distribution = nil
}

// spreadReturns gives each choice returns of its own, in place.
func (k *Kernel) spreadReturns(d int) {
	k.Returns = longer(k.Returns, len(k.Vector)*d-len(k.Returns))
	for c := len(k.Vector) - 1; c >= 0; c-- {
		copy(k.Returns[c*d:(c+1)*d], k.Returns[int(k.Vector[c])*d:])
	}
	k.Vector = nil
}

// pools find what choices share, while rows are appended. They are nil where it is not looked for any more.
type pools struct{ distributions, returns *pool }

func newPools() *pools {
	seed := rand.Uint64() // so that nobody can write a model whose rows all have the same hash
	return &pools{&pool{seed: seed}, &pool{seed: seed}}
}

// A pool finds runs of numbers that are stored already: a hash table with open addressing.
type pool struct {
	seed  uint64
	slots []slot // a power of two, at most three quarters of them used
	used  int
	next  int // how many are used when it is next asked whether all this is worth while
}

// A slot of a pool: bits of the hash of a run, 0 of none, and where the run begins.
type slot struct{ hash, at uint32 }

// share looks for the numbers from a place on among those before. If they are there it takes them away, and returns
// where they are.
func (p *pool) share(values []float64, from int) (at int, kept []float64) {
	if 4*p.used >= 3*len(p.slots) {
		p.grow()
	}
	run := values[from:]
	hash := p.seed
	for _, x := range run {
		hash = (hash ^ math.Float64bits(x)) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	tag, mask := uint32(hash>>32)|1, uint32(len(p.slots)-1)
	for i := tag >> 1 & mask; ; i = (i + 1) & mask {
		switch s := p.slots[i]; {
		case s.hash == 0:
			p.slots[i] = slot{tag, uint32(from)}
			p.used++
			return from, values
		case s.hash == tag && int(s.at)+len(run) <= from && sameBits(run, values[s.at:]):
			return int(s.at), values[:from]
		}
	}
}

// grow doubles the slots.
func (p *pool) grow() {
	const least = 64
	old := p.slots
	p.slots = make([]slot, max(least, 2*len(old)))
	mask := uint32(len(p.slots) - 1)
	for _, s := range old {
		i := s.hash >> 1 & mask
		for s.hash != 0 && p.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		if s.hash != 0 {
			p.slots[i] = s
		}
	}
}

// due reports from time to time that it is to be asked whether sharing is worth while. A random model is not to pay
// for a large table.
func (p *pool) due() bool {
	const enough = 1 << 15
	if p.used < max(p.next, enough) {
		return false
	}
	p.next = 2 * p.used
	return true
}

// same reports whether two kernels have the same slices.
func (k *Kernel) same(o *Kernel) bool {
	return sameSlice(k.First, o.First) && sameSlice(k.Offset, o.Offset) && sameSlice(k.Next, o.Next) &&
		sameSlice(k.Distribution, o.Distribution) && sameSlice(k.Prob, o.Prob) &&
		sameSlice(k.Vector, o.Vector) && sameSlice(k.Returns, o.Returns) && sameSlice(k.Outcomes, o.Outcomes) &&
		sameSlice(k.Random, o.Random)
}

func sameSlice[T any](x, y []T) bool {
	return len(x) == len(y) && (x == nil) == (y == nil) && (len(x) == 0 || &x[0] == &y[0])
}

func (k *Kernel) check(states, dim int, opponents []int32) error {
	if err := checkOffsets(k.First, states); err != nil {
		return err
	}
	if err := checkOpponents(opponents, k.First); err != nil {
		return err
	}
	choices := int(k.First[states])
	switch {
	case len(k.Offset) != choices+1 || k.Offset[0] != 0:
		return fmt.Errorf("%d row offsets for %d choices: want one more than choices, from 0", len(k.Offset), choices)
	case len(k.Next) != k.Offset[choices] || k.Distribution == nil && len(k.Prob) != k.Offset[choices]:
		return fmt.Errorf("%d successors and %d probabilities: want %d", len(k.Next), len(k.Prob), k.Offset[choices])
	case k.Distribution != nil && len(k.Distribution) != choices:
		return fmt.Errorf("distributions of %d choices: want %d", len(k.Distribution), choices)
	case k.Vector == nil && len(k.Returns) != choices*dim:
		return fmt.Errorf("%d return entries for %d choices: want %d each", len(k.Returns), choices, dim)
	case k.Vector != nil && len(k.Vector) != choices:
		return fmt.Errorf("vectors of returns of %d choices: want %d", len(k.Vector), choices)
	case len(k.Random) > choices:
		return fmt.Errorf("outcomes of %d choices: want at most %d", len(k.Random), choices)
	case k.Random == nil && k.Outcomes != nil && len(k.Outcomes) != len(k.Next)*dim:
		return fmt.Errorf("%d outcome return entries for %d transitions: want %d each", len(k.Outcomes), len(k.Next),
			dim)
	}
	for s := range states {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			if err := k.checkRow(c, states, dim); err != nil {
				return fmt.Errorf("state %d, %s: %w", s, nameChoice(opponents, s, c-int(k.First[s])), err)
			}
		}
	}
	return nil
}

func (k *Kernel) checkRow(c, states, dim int) error {
	first, end := k.Entries(c)
	switch {
	case end <= first:
		return fmt.Errorf("no successor")
	case end > len(k.Next):
		return fmt.Errorf("successors up to number %d: want at most %d", end, len(k.Next))
	case k.Distribution != nil && uint64(k.Distribution[c])+uint64(end-first) > uint64(len(k.Prob)):
		return fmt.Errorf("probabilities from number %d on: want %d of %d", k.Distribution[c], end-first, len(k.Prob))
	case k.Vector != nil && (uint64(k.Vector[c])+1)*uint64(dim) > uint64(len(k.Returns)):
		return fmt.Errorf("returns number %d: want %d of %d entries", k.Vector[c], dim, len(k.Returns))
	case c < len(k.Random) && k.Random[c] >= 0 && k.Random[c] > len(k.Outcomes)-(end-first)*dim:
		return fmt.Errorf("outcomes from number %d on: want %d of %d", k.Random[c], (end-first)*dim, len(k.Outcomes))
	}
	next, prob := k.Row(c)
	sum := 0.0
	for j, n := range next {
		if n < 0 || int(n) >= states {
			return fmt.Errorf("successor %d: want 0 to %d", n, states-1)
		}
		if !(prob[j] >= 0) || math.IsInf(prob[j], 1) {
			return fmt.Errorf("successor %d: %g is not a probability", n, prob[j])
		}
		sum += prob[j]
	}
	if math.Abs(sum-1) > ProbabilityTolerance {
		return fmt.Errorf("probabilities sum to %.12g: want 1", sum)
	}
	outcomes := k.OutcomesOf(c, dim)
	for i, mean := range k.ReturnsOf(c, dim) {
		if !finite(mean) {
			return fmt.Errorf("return coordinate %d is %g: want a finite number", i, mean)
		}
		if outcomes == nil {
			continue
		}
		// Returns and Outcomes say the same thing twice; they must agree.
		avg, scale := 0.0, 1.0
		for j, p := range prob {
			r := outcomes[j*dim+i]
			if !finite(r) {
				return fmt.Errorf("outcome return coordinate %d is %g: want a finite number", i, r)
			}
			avg += p * r
			scale = max(scale, math.Abs(r))
		}
		if math.Abs(avg-mean) > 1e-8*scale {
			return fmt.Errorf("return coordinate %d is %g: its outcomes average %g", i, mean, avg)
		}
	}
	return nil
}

// returnRange bounds the returns of a step, which are 0 if there are no choices.
func (k *Kernel) returnRange(dim int) Interval {
	iv := Interval{make([]float64, dim), make([]float64, dim)}
	if k.Choices() == 0 {
		return iv
	}
	for i := range dim {
		iv.Lower[i], iv.Upper[i] = math.Inf(1), math.Inf(-1)
	}
	add := func(values []float64) {
		for j, x := range values {
			i := j % dim
			iv.Lower[i], iv.Upper[i] = min(iv.Lower[i], x), max(iv.Upper[i], x)
		}
	}
	if k.Outcomes == nil {
		add(k.Returns)
		return iv
	}
	add(k.Outcomes)
	for c := range k.Choices() {
		if k.OutcomesOf(c, dim) == nil {
			add(k.ReturnsOf(c, dim))
		}
	}
	return iv
}

// longer returns a column with n more entries, whatever these hold.
func longer[T any](column []T, n int) []T { return slices.Grow(column, n)[:len(column)+n] }
