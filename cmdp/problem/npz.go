package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exchange/numpy"
	"cmdpsolve/internal/nearest"
)

// npzKeys are the arrays of a file of transitions.
var npzKeys = []string{"state", "action", "opponent", "step", "next", "probability", "returns"}

// npzBlock is how many entries of an array are read at a time.
const npzBlock = 4096

// readNPZ reads transitions from the NumPy arrays state, action, next and
// probability, of one entry for each transition, returns, of one row for each,
// and perhaps step, where 0 stands for every step, and opponent. All arrays are read at
// once, a block of each at a time, so that no memory is taken for the file.
func (r *rowReader) readNPZ(f fs.File) error {
	archive, err := numpy.OpenFile(f)
	if err == nil {
		err = archive.CheckGrowth()
	}
	if err != nil {
		r.npz("", trimmed(err, "numpy: "))
		return nil
	}
	arrays := r.openArrays(archive)
	defer arrays.close()
	if arrays == nil {
		return nil
	}
	if !r.usable() {
		return nil // what is wrong has been said
	}
	before := len(r.errs)
	size := cmdp.Size{States: r.states, Horizon: r.spec.Horizon, Kernels: 1, Dim: r.spec.Dim,
		Transitions: float64(arrays.count)}
	r.large = size.Fits(r.options.Bytes)
	if r.large != nil {
		return nil
	}
	r.builder.Grow(arrays.count, arrays.count)
	for at := 0; at < arrays.count && err == nil; at += npzBlock {
		n := min(npzBlock, arrays.count-at)
		if err = arrays.each(func(a *npzArray) error { return a.read(n) }); err == nil {
			r.entries(arrays, at)
			r.done(at+n, arrays.count)
		}
	}
	if err == nil {
		err = arrays.each(func(a *npzArray) error { return a.Close() }) // they are over and whole
	}
	if err != nil {
		// What a broken array says of itself says nothing about the model.
		r.errs = append(r.errs[:before], &Error{File: r.file, Key: arrays.broken, Message: err.Error()})
	}
	return nil
}

// npzArrays are the arrays of an archive, by their places in npzKeys. Those that
// are not given are nil.
type npzArrays struct {
	all    [7]*npzArray
	count  int    // entries of each
	broken string // the array that could not be read
}

// openArrays reads the headers of the arrays and checks them against each other. It
// returns nil if they are wrong.
func (r *rowReader) openArrays(archive *numpy.Archive) *npzArrays {
	arrays, found, whole := new(npzArrays), [7]bool{}, true
	for _, key := range archive.Names() {
		i := slices.Index(npzKeys, key)
		if i < 0 {
			r.npz(key, "unknown array"+orColon(nearest.Name(key, npzKeys))+" want "+oneOf(npzKeys))
			continue
		}
		found[i] = true
		a, err := openArray(archive, key)
		if err != nil {
			r.npz(key, trimmed(err, "numpy: "+key+": "))
			whole = false
			continue
		}
		arrays.all[i] = a
	}
	if !r.checkArrays(arrays, found) || !whole {
		arrays.close()
		return nil
	}
	return arrays
}

// An npzArray is an array of numbers in rows, read block by block.
type npzArray struct {
	*numpy.Array
	width  int       // numbers in an entry
	values []float64 // of the entries read last
	whole  []int32   // the same, where they are whole numbers
}

func openArray(archive *numpy.Archive, key string) (*npzArray, error) {
	a, err := archive.Array(key)
	if err != nil {
		return nil, err
	}
	x := &npzArray{Array: a, width: 1}
	if len(a.Shape) == 2 {
		x.width = a.Shape[1]
	}
	switch {
	case len(a.Shape) < 1 || len(a.Shape) > 2:
		err = fmt.Errorf("%d dimensions: want 1 or 2", len(a.Shape))
	case a.Fortran && x.width > 1 && a.Shape[0] > 1:
		err = errors.New("stored by columns (Fortran order): want rows, as numpy.ascontiguousarray makes")
	default:
		return x, nil
	}
	a.Stop()
	return nil, err
}

// read reads the next n entries into values.
func (a *npzArray) read(n int) error {
	n *= a.width
	if cap(a.values) < n {
		a.values = make([]float64, n)
	}
	a.values = a.values[:n]
	return a.Read(a.values)
}

func (r *rowReader) npz(key, message string) {
	r.report(&Error{File: r.file, Key: key, Message: message})
}

// checkArrays checks the arrays against each other; what is wrong with those that were
// found but not read has been said.
func (r *rowReader) checkArrays(arrays *npzArrays, found [7]bool) bool {
	before := len(r.errs)
	arrays.count = -1
	for i, key := range npzKeys {
		a := arrays.all[i]
		switch {
		case a == nil && (found[i] || key == "step" || key == "opponent"):
		case a == nil:
			r.npz(key, "the array is missing")
		case key != "returns" && len(a.Shape) != 1:
			r.npz(key, fmt.Sprintf("%d dimensions: want 1", len(a.Shape)))
		case arrays.count >= 0 && a.Shape[0] != arrays.count:
			r.npz(key, fmt.Sprintf("%d entries: want %d as state has", a.Shape[0], arrays.count))
		case a.Shape[0] == 0:
			r.npz(key, "no entries: want one for each transition, at least one")
		case key == "returns" && r.spec.Dim > 0 && a.width != r.spec.Dim:
			r.npz(key, fmt.Sprintf("%d returns for each entry: want %d", a.width, r.spec.Dim))
		case arrays.count < 0:
			arrays.count = a.Shape[0]
		}
	}
	return len(r.errs) == before
}

// each does something with one array after the other, up to an error.
func (arrays *npzArrays) each(do func(a *npzArray) error) error {
	for i, a := range arrays.all {
		if a != nil {
			if err := do(a); err != nil {
				arrays.broken = npzKeys[i]
				return err
			}
		}
	}
	return nil
}

func (arrays *npzArrays) close() {
	if arrays != nil {
		_ = arrays.each(func(a *npzArray) error {
			a.Stop()
			return nil
		})
	}
}

// entries adds the transitions that were read last, the first of them number at.
func (r *rowReader) entries(arrays *npzArrays, at int) {
	before := len(r.errs)
	all, d := &arrays.all, r.spec.Dim
	state, action, opponent, step, next, probability, returns := all[0], all[1], all[2], all[3], all[4], all[5], all[6]
	r.whole(state, 0, at, r.states-1)
	r.whole(action, 1, at, maxStates)
	r.whole(opponent, 2, at, maxStates)
	r.whole(step, 3, at, r.spec.Horizon)
	r.whole(next, 4, at, r.states-1)
	for i, p := range probability.values {
		if !(p >= 0 && p <= 1+cmdp.ProbabilityTolerance) {
			r.npz("probability["+strconv.Itoa(at+i)+"]", fmt.Sprintf("got %g: want a probability, 0 to 1", p))
		}
	}
	for i, x := range returns.values {
		if x-x != 0 { // NaN or infinite
			r.npz(fmt.Sprintf("returns[%d][%d]", at+i/d, i%d), fmt.Sprintf("got %g: want a finite number", x))
		}
	}
	r.game = r.game || opponent != nil
	if len(r.errs) > before {
		return
	}
	c := cmdp.Transitions{State: state.whole, Action: action.whole, Next: next.whole, Probability: probability.values,
		Returns: returns.values}
	r.agent.numberAll(c.Action)
	if opponent != nil {
		c.Opponent = opponent.whole
		r.opponent.numberAll(c.Opponent)
	}
	if step != nil {
		c.Step = step.whole
	}
	if err := r.builder.AddTransitions(&c); err != nil {
		r.npz("["+strconv.Itoa(at)+"]", err.Error())
	}
}

// whole makes whole numbers of the values of array number of npzKeys, of which the first is
// value at.
func (r *rowReader) whole(a *npzArray, number, at, most int) {
	if a == nil {
		return
	}
	a.whole = a.whole[:0]
	for i, x := range a.values {
		n := int(x)
		if float64(n) != x || n < 0 || n > most {
			r.npz(npzKeys[number]+"["+strconv.Itoa(at+i)+"]",
				fmt.Sprintf("got %g: want a whole number from 0 to %d", x, most))
		}
		a.whole = append(a.whole, int32(n))
	}
}
