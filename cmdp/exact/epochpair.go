package exact

import (
	"context"

	"cmdpsolve/internal/threshold"
)

// An epochPair prices two directions of a model of epochs beside each other, each by a pricer of its own: a direction
// has the same answer whatever was asked before.
type epochPair struct{ p, beside *epochTotals }

// simultaneous returns the pricer of two directions at once, where there are many pairs.
func (p *epochTotals) simultaneous(context.Context) (*simultaneousPricer, error) {
	out := new(simultaneousPricer)
	if p.m.States() >= threshold.Simultaneous {
		out.pair = (&epochPair{p: p}).price
	}
	return out, nil
}

// price prices two directions, at the same time where there are two workers. Those for which it fails are nil.
func (b *epochPair) price(ctx context.Context, dirs [][]float64, aims []float64) ([]*pricedPolicy, error) {
	if b.beside == nil {
		b.beside = b.p.epochModels.newTotals(b.p.relevance)
		b.beside.allowed = b.p.allowed
	}
	out, err := pricePair(ctx, b.p.workers, [2]pairedPricer{b.p, b.beside}, dirs, aims)
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// shareBy does nothing: what one pricer does is not shared.
func (p *epochTotals) shareBy(int) {}
