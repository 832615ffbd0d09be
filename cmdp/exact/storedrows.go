package exact

import (
	"context"
	"errors"
	"sync"

	"cmdpsolve/cmdp"
)

// errWantsRows says that epochs do not answer: a policy has to remember which loops it is done with, or states are left
// out, and both is done with stored rows.
var errWantsRows = errors.New("exact: epochs do not answer this: want stored rows")

// orWithRows asks a planner and, where that goes by epochs, which do not answer, the planner of the same model with
// stored rows, which is asked from then on. States and choices have the same numbers there. An early answer
// is told by one of them alone.
func orWithRows[T any](ctx context.Context, p *Planner, opts Options,
	ask func(p *Planner, opts Options) (T, error)) (out T, err error) {
	if p.m == nil || p.m.Epochs() == nil {
		return ask(p, opts)
	}
	if tell := opts.Early; tell != nil {
		var once sync.Once
		opts.Early = func(r *Result) { once.Do(func() { tell(r) }) }
	}
	opts = opts.begun()
	rows := p.rows.Load()
	if rows == nil {
		out, err = ask(p, opts)
		if !errors.Is(err, errWantsRows) {
			return out, err
		}
		within, done := opts.whilePreparing(ctx)
		defer done()
		rows, err = p.storeRows(within)
		if err != nil {
			return out, orBudget(ctx, within, err)
		}
	}
	return ask(rows, opts)
}

// storeRows returns the planner of the model with stored rows, which is made once. It is errWantsRows where choices are
// not offered, since actions would have other numbers.
func (p *Planner) storeRows(ctx context.Context) (*Planner, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.m.Epochs().Restricted() {
		return nil, errWantsRows
	}
	if p.rows.Load() == nil {
		m, err := p.m.Epochs().Stored(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := NewPlanner(m, p.workers)
		if err != nil {
			return nil, err
		}
		p.rows.Store(rows)
	}
	return p.rows.Load(), nil
}

// decidesByRows reports whether what epochs leave undecided can be asked of stored rows: where returns cancel out along
// loops a bound is found more often there, in rational arithmetic. The answer is Stopped where there is no time for it.
func (p *Planner) decidesByRows(ctx context.Context, r *Result, opts Options) bool {
	if p.m == nil || p.m.Epochs() == nil || opts.Iterations > 0 && r.Iterations >= opts.Iterations {
		return false
	}
	within, done := opts.whilePreparing(ctx)
	defer done()
	_, err := p.storeRows(within)
	if errors.Is(orBudget(ctx, within, err), errBudget) {
		r.Status = Stopped
	}
	return err == nil
}

// inTime returns the answer of stored rows, or the one that epochs left undecided before where the time was over sooner
// than there was a policy as near to its bound.
func inTime(undecided, r *Result) *Result {
	if r.Status != Stopped || r.Policy != nil && r.Gap <= undecided.Gap {
		return r
	}
	undecided.Status = Stopped
	return undecided
}

// rowsOf returns the model, with its rows stored if it is one of epochs.
func rowsOf(ctx context.Context, m *cmdp.Model) (*cmdp.Model, error) {
	if m.Epochs() == nil {
		return m, nil
	}
	return m.Epochs().Stored(ctx)
}

// provedByEpochsOrRows has something proved of a model and, where that goes by epochs, which do not prove it, of its
// stored rows: these may have given sharper bounds, or left out states.
func provedByEpochsOrRows[T any](ctx context.Context, m *cmdp.Model, prove func(m *cmdp.Model) (T, error)) (T, error) {
	out, err := prove(m)
	if !errors.Is(err, ErrNotProved) && !errors.Is(err, errWantsRows) || m.Epochs() == nil {
		return out, err
	}
	rows, large := rowsOf(ctx, m)
	if large != nil {
		return out, err
	}
	return prove(rows)
}
