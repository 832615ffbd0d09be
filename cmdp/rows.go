package cmdp

// Rows reads the rows of a model at one step: the choices of each state, and for each choice its successors
// with their probabilities and its returns. Whoever sweeps over a model or walks through it asks [Model.Rows],
// whether rows are stored or generated:
//
//	rows := m.Rows(h)
//	for s := range m.States() {
//		first, end := rows.Choices(s)
//		for c := first; c < end; c++ {
//			next, probabilities := rows.Row(c)
//			…
//
// Stored rows may be read in any order and by several goroutines at a time. Generated ones are made when
// Choices is asked for a state, and stand until it is asked again: each goroutine asks for Rows of its own.
// Nothing that Rows return may be changed. A choice out of range panics.
type Rows struct {
	// that of the kernel, or the first choice of the state that was asked for last and the end of its choices
	first  []int32
	kernel Kernel // of all states, or what was generated for one
	from   int    // the first choice in the kernel
	dim    int
	// what generates rows; nil if they are stored
	tally  *tallyRows
	epochs *Epochs
}

// Rows returns the rows of step h, from 0 on. It allocates if they are generated.
func (m *Model) Rows(h int) *Rows {
	if m.tally != nil {
		return m.tally.rows(m, h)
	}
	if m.epochs != nil {
		return m.epochs.rows(m)
	}
	return m.rows[min(h, len(m.rows)-1)]
}

// Choices returns the numbers [first, end) of the choices of state s among those of all states. There are none
// where the process rests: it stays, with zero return.
func (r *Rows) Choices(s int) (first, end int) {
	if r.tally != nil {
		r.generate(s)
		s = 0
	}
	if r.epochs != nil {
		r.generateEpoch(s)
		s = 0
	}
	return int(r.first[s]), int(r.first[s+1])
}

// Row returns the successors of choice c, with their probabilities. A generated choice without successors is
// not offered.
func (r *Rows) Row(c int) (next []int32, probabilities []float64) {
	return r.kernel.Row(c - r.from)
}

// Returns returns the expected returns of choice c, d of them.
func (r *Rows) Returns(c int) []float64 {
	return r.kernel.ReturnsOf(c-r.from, r.dim)
}

// Random reports whether some returns of the step are random.
func (r *Rows) Random() bool { return r.kernel.Outcomes != nil }

// Outcome returns the returns of choice c together with successor number i of its row. If they are not random,
// these are the expected ones.
func (r *Rows) Outcome(c, i int) []float64 {
	of := r.kernel.OutcomesOf(c-r.from, r.dim)
	if of == nil {
		return r.Returns(c)
	}
	return of[i*r.dim:][:r.dim]
}

// Entry returns the number of the first successor of a stored choice among those of all choices of the step.
func (r *Rows) Entry(c int) int {
	first, _ := r.kernel.Entries(c)
	return first
}

// Kernels returns how many different Rows the steps have: 1 if they are the same at every step, else the horizon.
func (m *Model) Kernels() int {
	if m.Stationary() {
		return 1
	}
	return m.horizon
}

// Kernel returns the rows of step h as a table, to make another model from or to compare with. It must not be
// changed. It is the table that is stored, or holds all rows of the step, generated, and takes memory for them.
func (m *Model) Kernel(h int) *Kernel {
	if m.tally == nil && m.epochs == nil {
		return &m.rows[min(h, len(m.rows)-1)].kernel
	}
	return m.Rows(h).table(m.states)
}

func (r *Rows) table(states int) *Kernel {
	k := NewKernel()
	for s := range states {
		first, end := r.Choices(s)
		for c := first; c < end; c++ {
			next, probabilities := r.Row(c)
			k.AppendRandom(next, probabilities, r.Returns(c), r.kernel.OutcomesOf(c-r.from, r.dim))
		}
		k.EndState()
	}
	return &k
}

func (r *Rows) choices() int { return r.kernel.Choices() }

func (r *Rows) transitions() int { return len(r.kernel.Next) }
