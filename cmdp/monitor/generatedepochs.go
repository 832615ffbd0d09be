package monitor

import (
	"encoding/binary"
	"math"
	"slices"

	"cmdpsolve/cmdp"
)

// A lettered monitor depends on few numbers of a transition. Where these are the same, so are the memory after it and,
// if the model returns the same, what the monitor returns.
type lettered interface {
	// letter appends the numbers. It reports false if they depend on what other monitors return.
	letter(dst []byte, t Transition) ([]byte, bool)
}

func (k *counter) letter(dst []byte, t Transition) ([]byte, bool) {
	if k.coordinate >= len(t.Returns) {
		return nil, false
	}
	return binary.AppendVarint(dst, int64(k.units(t))), true
}

func (r *Reach) letter(dst []byte, t Transition) (_ []byte, ok bool) {
	for i := range r.costs {
		dst, ok = r.costs[i].letter(dst, t)
		if !ok {
			return nil, false
		}
	}
	return append(dst, flag(r.Target != nil && r.Target[t.Next]), flag(r.While == nil || r.While[t.Next])), true
}

func (p *PartialTotal) letter(dst []byte, t Transition) ([]byte, bool) {
	dst, ok := p.Reach.letter(dst, t)
	if !ok || p.Coordinate >= len(t.Returns) {
		return nil, false
	}
	return append(dst, flag(t.Returns[p.Coordinate] != 0)), true
}

func (b *Budget) letter(dst []byte, t Transition) ([]byte, bool) {
	dst, ok := b.counter.letter(dst, t)
	lower, upper := b.remaining(t.Next)
	return binary.AppendVarint(binary.AppendVarint(dst, int64(lower)), int64(upper)), ok
}

func flag(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// The most letters of transitions, and epochs after letters, that are told apart.
const (
	mostLetters = 1 << 12
	mostAfter   = 1 << 24
)

// A product of a large base with few epochs, such as whether a set has been reached, or with few of each class, is
// stored: it takes little more memory than what is kept of classes, and one policy is found in the place of several of
// which one is drawn.
const (
	largeBase   = 1 << 14
	fewEpochs   = 16
	fewOfAClass = 4
	classBytes  = 3 // memory of a class, rows and small model, beside that of the base
)

// An epochSearch finds the epochs of a product: the tuples of what monitors remember.
type epochSearch struct {
	exploration
	kernel *cmdp.Kernel // of the base
	comes  []bool       // of each state of the base: an episode may come there
	out    cmdp.Epochs
	first  []Transition // of each letter, the first transition, with the returns of the model
	of     []int32      // of each class, the first tuple
}

// generateEpochs returns the product of a model of totals without its rows, or nil where it is small or they have to be
// stored: where monitors depend on others, pay where the process rests at once or go back to what they remembered
// before.
func generateEpochs(spec Spec) (*ProductModel, error) {
	m := spec.Model
	if spec.Generate == 0 || m.Horizon() > 0 || m.Discount() < 1 || m.Means() || m.Epochs() != nil ||
		slices.Contains(spec.Means, true) {
		return nil, nil
	}
	w := &epochSearch{exploration: newExploration(spec), kernel: m.Kernel(0),
		comes: visitable(m)}
	w.out = cmdp.Epochs{Base: m, Dim: len(w.columns), Bytes: spec.Bytes}
	if !w.letters() || !w.begin() {
		return nil, nil
	}
	if few, err := w.search(spec.Bytes); err != nil || !few {
		return nil, err
	}
	if !w.sort() || w.out.Len()*m.States() <= spec.Generate {
		return nil, nil
	}
	classes := len(w.of)
	if m.States() > largeBase && w.out.Len() < max(fewEpochs, fewOfAClass*classes) ||
		classes*classBytes > spec.Bytes/max(1, w.kernel.Bytes()) {
		return nil, nil
	}
	w.classes()
	p := &ProductModel{exploration: w.exploration}
	p.epochs = &w.out
	var err error
	p.Model, err = w.out.Model()
	if err != nil {
		return nil, nil // more pairs than can be numbered
	}
	for i := range spec.Monitors { // as the stored product, which remembers what comes up before choices are taken away
		p.recalls = append(p.recalls, len(p.values(i)) > 1)
	}
	losing, err := p.enforceEpochs(spec.Enforced)
	if err != nil {
		return nil, err
	}
	if p.epochs.Restricted() {
		p.Model, err = w.out.Model()
		if err != nil {
			return nil, err
		}
	}
	if losing >= 0 {
		s := p.Model.StartStates()[losing].State
		p.Losing = &LosingState{p.State(s), p.Memory(s)}
	}
	p.pairs, p.tupleNumbers = nil, nil
	return p, nil
}

// each calls visit for each transition of the base that can happen.
func (w *epochSearch) each(visit func(t Transition)) {
	d := w.base.Dim()
	for s := range w.base.States() {
		for c := w.kernel.First[s]; c < w.kernel.First[s+1]; c++ {
			next, prob := w.kernel.Row(int(c))
			returns, outcomes := w.kernel.ReturnsOf(int(c), d), w.kernel.OutcomesOf(int(c), d)
			for e, to := range next {
				if outcomes != nil {
					returns = outcomes[e*d:][:d]
				}
				if prob[e] > 0 {
					visit(Transition{State: s, Choice: int(c), Next: int(to), Returns: returns})
				}
			}
		}
	}
}

// letters finds the letter of each transition. Where no episode comes, any will do, and there are no returns.
func (w *epochSearch) letters() bool {
	known, ok := make(map[string]int32), true
	var text []byte
	w.each(func(t Transition) {
		if !w.comes[t.State] {
			w.out.Letter = append(w.out.Letter, 0)
			return
		}
		text = text[:0]
		for _, m := range w.monitors {
			if v, is := m.(*VisitCount); is {
				text = append(text, flag(v.States[t.State]))
				continue
			}
			l, is := m.(lettered)
			if !is || !ok {
				ok = false
				return
			}
			text, ok = l.letter(text, t)
		}
		id, found := known[string(text)]
		if !found {
			id = int32(len(known))
			known[string(text)], w.first = id, append(w.first, t)
			ok = ok && id < mostLetters
		}
		w.out.Letter = append(w.out.Letter, id)
	})
	w.out.Letters = len(w.first)
	return ok && w.out.Letters > 0
}

// begin finds the epochs of the start states. Nothing may be paid where the process rests.
func (w *epochSearch) begin() bool {
	rests := func(s int) bool { return w.kernel.First[s] == w.kernel.First[s+1] }
	for _, st := range w.base.StartStates() {
		unpaid := w.startMemories(st.State)
		if unpaid && rests(st.State) {
			return false
		}
		w.out.Start = append(w.out.Start, w.number(unpaid))
	}
	for s := range w.base.States() {
		for _, m := range w.monitors {
			v, is := m.(*VisitCount)
			if is && v.States[s] && rests(s) {
				return false
			}
		}
	}
	return true
}

// search finds the epoch after each letter in each epoch, and classes. It reports false where there are too many.
func (w *epochSearch) search(bytes int) (few bool, err error) {
	const epochBytes = 800 // what an epoch of three states was measured to take, numbers of a solver included
	known, d, n := make(map[string]int32), w.base.Dim(), len(w.monitors)
	var key []byte
	for tuple := 0; tuple*n < len(w.tuples); tuple++ {
		if tuple*w.out.Letters > mostAfter || tuple >= bytes/epochBytes {
			return false, nil
		}
		if tuple%often == 0 {
			if err := w.goesOn(len(w.startRewardDue), bytes); err != nil {
				return false, err
			}
		}
		key = append(key[:0], flag(w.startRewardDue[tuple]))
		for _, t := range w.first {
			after := w.after(tuple, t)
			w.out.Next = append(w.out.Next, after)
			key = append(key, flag(int(after) == tuple))
			for _, x := range w.returns[d:] {
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(x))
			}
		}
		id, found := known[string(key)]
		if !found {
			id = int32(len(known))
			known[string(key)], w.of = id, append(w.of, int32(tuple))
		}
		w.out.Class = append(w.out.Class, id)
	}
	return true, nil
}

// after returns the tuple after a transition, and sets w.returns to its returns.
func (w *epochSearch) after(tuple int, t Transition) int32 {
	copy(w.returns, t.Returns)
	return w.step(int32(tuple), t, false)
}

// sort numbers epochs so that none leads to an earlier one. It reports false if that cannot be.
func (w *epochSearch) sort() bool {
	n, epochs := w.out.Letters, w.out.Len()
	into := make([]int32, epochs) // how many letters lead there from others
	others := func(epoch int32, visit func(to int32)) {
		for _, to := range w.out.Next[int(epoch)*n:][:n] {
			if to != epoch {
				visit(to)
			}
		}
	}
	for epoch := range int32(epochs) {
		others(epoch, func(to int32) { into[to]++ })
	}
	order := make([]int32, 0, epochs)
	for epoch, k := range into {
		if k == 0 {
			order = append(order, int32(epoch))
		}
	}
	for i := 0; i < len(order); i++ {
		others(order[i], func(to int32) {
			into[to]--
			if into[to] == 0 {
				order = append(order, to)
			}
		})
	}
	if len(order) < epochs {
		return false
	}
	w.renumberTuples(order)
	return true
}

// renumberTuples gives the tuples of an order the numbers that they have in it.
func (w *epochSearch) renumberTuples(order []int32) {
	number := make([]int32, len(order))
	for i, epoch := range order {
		number[epoch] = int32(i)
	}
	n, k := w.out.Letters, len(w.monitors)
	next, class := make([]int32, 0, len(w.out.Next)), make([]int32, 0, len(order))
	tuples, due := make([]int, 0, len(w.tuples)), make([]bool, 0, len(order))
	for _, epoch := range order {
		class = append(class, w.out.Class[epoch])
		tuples = append(tuples, w.tuples[int(epoch)*k:][:k]...)
		due = append(due, w.startRewardDue[epoch])
		for _, to := range w.out.Next[int(epoch)*n:][:n] {
			next = append(next, number[to])
		}
	}
	w.out.Next, w.out.Class = next, class
	w.tuples, w.startRewardDue = tuples, due
	for i, epoch := range w.of {
		w.of[i] = number[epoch]
	}
	for i, epoch := range w.out.Start {
		w.out.Start[i] = number[epoch]
	}
}

// classes makes the rows of each class.
func (w *epochSearch) classes() {
	d := w.base.Dim()
	for _, tuple := range w.of {
		k := cmdp.NewKernel()
		for s := range w.base.States() {
			if w.comes[s] && w.startRewardDue[tuple] {
				w.startMemories(s)
			}
			for c := int(w.kernel.First[s]); c < int(w.kernel.First[s+1]); c++ {
				next, prob := w.kernel.Row(c)
				returns, outcomes := w.kernel.ReturnsOf(c, d), w.kernel.OutcomesOf(c, d)
				for e, to := range next {
					if prob[e] == 0 {
						continue
					}
					if outcomes != nil {
						returns = outcomes[e*d:][:d]
					}
					clear(w.returns)
					if w.comes[s] {
						copy(w.returns, returns)
						w.pay(tuple, Transition{State: s, Choice: c, Next: int(to)}, w.startRewardDue[tuple])
					}
					w.addOutcome(to, prob[e])
				}
				w.endRow(&k)
			}
			k.EndState()
		}
		w.out.Classes = append(w.out.Classes, k)
	}
}
