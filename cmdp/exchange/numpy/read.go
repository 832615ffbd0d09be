// Package numpy reads and writes the transition kernels that NumPy users have: one
// dense array P[s,a,s'] in an .npz file, or a folder with a sparse matrix for each
// action as SciPy saves it. It also opens .npz files for others.
package numpy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/internal/source"
)

// Read reads a model from an .npz file of the given length with the arrays
//
//   - P of shape (S, A, S): the probability that action a leads from s to s'. A row
//     of zeros says that the state does not offer the action. Shape (S, S) is a
//     Markov chain.
//   - R of shape (S, A, d), or (S, A) for one reward, perhaps: rewards of actions,
//     (S, d) or (S,) in a Markov chain.
//   - rewards, actions and states, perhaps: names.
//   - start of shape (S,), perhaps: the distribution of the first state.
//   - label.NAME of shape (S,), perhaps: truth values.
//
// An error names the array. It takes time proportional to the arrays, memory
// proportional to the entries of P that are not 0, and may be called concurrently.
func Read(f io.ReaderAt, size int64) (*exchange.Model, error) {
	a, err := Open(f, size)
	if err != nil {
		return nil, err
	}
	x, err := a.Array("P")
	if err != nil {
		return nil, err
	}
	defer x.in.Close()
	k := &reading{m: exchange.Empty(1), archive: a}
	shape := x.Shape
	switch {
	case len(shape) == 2:
		k.m.Players = 0
		shape = []int{shape[0], 1, shape[1]}
	case len(shape) != 3:
		return nil, fmt.Errorf("numpy: P: %d dimensions: want P[s,a,s'], or P[s,s'] for a Markov chain", len(shape))
	}
	if shape[0] != shape[2] || shape[0] < 1 || shape[1] < 1 || shape[0] > math.MaxInt32 || shape[1] > math.MaxInt32 {
		return nil, fmt.Errorf("numpy: P: shape %v: want (S, A, S), the state first, then the action, then the next state", x.Shape)
	}
	if err := k.dense(x, shape); err != nil {
		return nil, fmt.Errorf("numpy: P: %w", err)
	}
	return k.finish(shape[1], nil)
}

// reading is a model that is being put together.
type reading struct {
	m       *exchange.Model
	archive *Archive
	of      []int32 // the action of each choice
}

// dense reads the kernel row by row.
func (k *reading) dense(x *Array, shape []int) error {
	states, actions := shape[0], shape[1]
	if err := k.archive.fits("a row of the array", 8*float64(states)); err != nil {
		return err
	}
	row := make([]float64, states)
	var all []float64
	if x.Fortran {
		_, values, err := k.archive.Floats("P")
		if large := (*source.LargeError)(nil); errors.As(err, &large) {
			return large
		}
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "numpy: P: "))
		}
		all = values
	}
	for range states {
		for a := range actions {
			if all != nil {
				row, all = all[:states], all[states:]
			} else if err := x.Read(row); err != nil {
				return err
			}
			k.choice(a, row)
		}
		if err := k.archive.fits("the part of the model that was read",
			bytesOf(k.m.States(), k.m.Choices(), k.m.Branches())); err != nil {
			return err
		}
		k.m.First = append(k.m.First, int32(k.m.Choices()))
	}
	if all != nil || x.Fortran {
		return nil
	}
	return x.Close()
}

// bytesOf is the memory of a model without rewards and labels.
func bytesOf(states, choices, branches int) float64 {
	return 4*float64(states) + 12*float64(choices) + 12*float64(branches)
}

// choice adds the choice that a dense row makes, if it has an entry.
func (k *reading) choice(a int, row []float64) {
	m, before := k.m, k.m.Branches()
	for t, p := range row {
		if p != 0 {
			m.Target, m.Probability = append(m.Target, int32(t)), append(m.Probability, p)
		}
	}
	if m.Branches() > before {
		m.Offset = append(m.Offset, m.Branches())
		k.of = append(k.of, int32(a))
	}
}

// finish reads everything but the transitions. names are those of the actions, if
// files have them.
func (k *reading) finish(actions int, names []string) (*exchange.Model, error) {
	m := k.m
	err := k.rewards(actions)
	if err == nil {
		err = k.states()
	}
	if err == nil {
		err = k.actions(actions, names)
	}
	if err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("numpy: %s", strings.TrimPrefix(err.Error(), "exchange: "))
	}
	return m, nil
}

func (k *reading) rewards(actions int) error {
	if k.archive == nil || !k.archive.Has("R") {
		return nil
	}
	m := k.m
	shape, values, err := k.archive.Floats("R")
	if err != nil {
		return err
	}
	want := []int{m.States(), actions}
	if m.Players == 0 {
		want = want[:1]
	}
	d := 1
	if len(shape) == len(want)+1 {
		d = shape[len(want)]
	} else if len(shape) != len(want) {
		want = append(want, 1)
	}
	if !slices.Equal(shape[:min(len(shape), len(want))], want) || d < 1 {
		return fmt.Errorf("numpy: R: shape %v: want %v, and perhaps one more dimension for several rewards", shape,
			want)
	}
	var names []string
	if k.archive.Has("rewards") {
		names, err = k.archive.Strings("rewards")
		if err != nil {
			return err
		}
		if len(names) != d {
			return fmt.Errorf("numpy: rewards: %d names: want %d", len(names), d)
		}
	}
	for i := range d {
		r := exchange.Reward{Name: "reward", Choice: make([]float64, m.Choices())}
		if d > 1 {
			r.Name += strconv.Itoa(i)
		}
		if names != nil {
			r.Name = names[i]
		}
		for s := range m.States() {
			for c := m.First[s]; c < m.First[s+1]; c++ {
				r.Choice[c] = values[(s*actions+int(k.of[c]))*d+i]
			}
		}
		m.Rewards = append(m.Rewards, r)
	}
	return nil
}

// states reads what is said of states.
func (k *reading) states() error {
	if k.archive == nil {
		return nil
	}
	m := k.m
	column := func(name string) ([]float64, error) {
		shape, values, err := k.archive.Floats(name)
		if err == nil && !slices.Equal(shape, []int{m.States()}) {
			err = fmt.Errorf("numpy: %s: shape %v: want (%d,), a value for each state", name, shape, m.States())
		}
		return values, err
	}
	if k.archive.Has("start") {
		values, err := column("start")
		if err != nil {
			return err
		}
		m.Start = exchange.StartOf(values)
	}
	for _, name := range k.archive.Names() {
		label, ok := strings.CutPrefix(name, "label.")
		if !ok {
			continue
		}
		values, err := column(name)
		if err != nil {
			return err
		}
		l := exchange.Label{Name: label}
		for s, x := range values {
			if x != 0 {
				l.States = append(l.States, int32(s))
			}
		}
		m.Labels = append(m.Labels, l)
	}
	if !k.archive.Has("states") {
		return nil
	}
	names, err := k.archive.Strings("states")
	m.Variables = exchange.Named(names)
	return err
}

// actions names the choices unless those of each state are the actions 0, 1, …
func (k *reading) actions(n int, names []string) error {
	m := k.m
	if k.archive != nil && k.archive.Has("actions") {
		given, err := k.archive.Strings("actions")
		if err != nil {
			return err
		}
		if len(given) != n {
			return fmt.Errorf("numpy: actions: %d names: want %d", len(given), n)
		}
		names = given
	}
	if m.Players == 0 {
		return nil
	}
	var all exchange.ActionNames
	for _, a := range k.of {
		name := strconv.Itoa(int(a))
		if names != nil {
			name = names[a]
		}
		all.Add(name)
	}
	if names == nil {
		m.NameChoices(all.Actions())
	} else {
		m.ChoiceActions = all.Actions()
	}
	return nil
}

// ReadFolder reads a model from a folder with a file P_ACTION.npz for each action,
// a matrix of S by S that scipy.sparse.save_npz has saved in CSR, CSC or COO form,
// and perhaps model.npz with the arrays of [Read] other than P. ACTION is a number
// from 0 on, in model.npz the place of the action, or a name; then actions stand in
// alphabetical order.
func ReadFolder(files fs.FS, folder string) (*exchange.Model, error) {
	actions, err := listActions(files, folder)
	if err != nil {
		return nil, fmt.Errorf("numpy: %s: %w", folder, err)
	}
	var matrices []*matrix
	states, entries := 0, 0
	for _, action := range actions {
		name := path.Join(folder, "P_"+action+".npz")
		var x *matrix
		err := within(files, name, func(a *Archive) (err error) {
			x, err = readMatrix(a)
			if err == nil {
				entries += len(x.value)
				err = a.fits("the part of the model that was read", bytesOf(x.states, 0, entries))
			}
			return err
		})
		if large := (*source.LargeError)(nil); errors.As(err, &large) {
			return nil, fmt.Errorf("numpy: %s: %w", name, large)
		}
		if err == nil && len(matrices) > 0 && x.states != states {
			err = fmt.Errorf("%d states: want %d as P_%s.npz has", x.states, states, actions[0])
		}
		if err != nil {
			return nil, fmt.Errorf("numpy: %s: %s", name, strings.TrimPrefix(err.Error(), "numpy: "))
		}
		states = x.states
		matrices = append(matrices, x)
	}
	k := &reading{m: exchange.Empty(1)}
	k.sparse(matrices, states)
	if _, err := strconv.Atoi(actions[0]); err == nil {
		actions = nil
	}
	name := path.Join(folder, "model.npz")
	err = within(files, name, func(a *Archive) error {
		k.archive = a
		_, err := k.finish(len(matrices), actions)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		_, err = k.finish(len(matrices), actions)
	}
	if large := (*source.LargeError)(nil); errors.As(err, &large) {
		return nil, fmt.Errorf("numpy: %s: %w", name, large)
	}
	if err != nil {
		return nil, fmt.Errorf("numpy: %s: %s", name, strings.TrimPrefix(err.Error(), "numpy: "))
	}
	return k.m, nil
}

// listActions returns what stands between P_ and .npz in the names of the files.
func listActions(files fs.FS, folder string) ([]string, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var actions []string
	numbers := true
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), "P_")
		if name, ok2 := strings.CutSuffix(name, ".npz"); ok && ok2 {
			actions = append(actions, name)
			_, err := strconv.Atoi(name)
			numbers = numbers && err == nil
		}
	}
	if actions == nil {
		return nil, errors.New("there is no file P_ACTION.npz in the folder")
	}
	if numbers {
		for i := range actions {
			if !slices.Contains(actions, strconv.Itoa(i)) {
				return nil, fmt.Errorf("%d files P_ACTION.npz, but not P_%d.npz", len(actions), i)
			}
		}
		for i := range actions {
			actions[i] = strconv.Itoa(i)
		}
	}
	return actions, nil
}

// within opens an archive.
func within(files fs.FS, name string, read func(a *Archive) error) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := OpenFile(f)
	if err != nil {
		return err
	}
	return read(a)
}

// sparse joins the rows of all matrices, state by state.
func (k *reading) sparse(matrices []*matrix, states int) {
	m := k.m
	for s := range states {
		for a, x := range matrices {
			before := m.Branches()
			x.row(s, func(t int32, p float64) {
				m.Target, m.Probability = append(m.Target, t), append(m.Probability, p)
			})
			if m.Branches() > before {
				m.Offset = append(m.Offset, m.Branches())
				k.of = append(k.of, int32(a))
			}
		}
		m.First = append(m.First, int32(m.Choices()))
	}
}
