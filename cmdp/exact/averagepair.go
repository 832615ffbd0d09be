package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
)

// An averagePair prices two directions of long-run means beside each other, each by a pricer of its own.
type averagePair struct{ p, beside *averageReward }

// simultaneous returns the pricer of two directions at once, where there are means alone and the model is large.
func (p *averageReward) simultaneous(context.Context) (*simultaneousPricer, error) {
	out := &simultaneousPricer{p: p.infiniteHorizon}
	if p.m.Average() && p.m.States() >= threshold.Simultaneous && p.m.Transitions() <= mostPaired {
		out.pair = (&averagePair{p: p}).price
	}
	return out, nil
}

// twin returns a pricer of the same problem that knows what p knows, and may be used at the same time.
func (p *averageReward) twin() *averageReward {
	q := *p
	q.infiniteHorizon = p.infiniteHorizon.twin()
	q.transients, q.least = make(map[string]*transient), p.least.Twin(q.chain)
	q.index, q.classChain = slices.Clone(p.index), markov.Chain{}
	return &q
}

// price prices two directions, at the same time where there are two workers. Each starts from the directions that were
// solved before, and from what its pricer found last, so that answers do not depend on which is done first. Those for
// which it fails are nil.
func (b *averagePair) price(ctx context.Context, dirs [][]float64, aims []float64) ([]*pricedPolicy, error) {
	if b.beside == nil {
		b.beside = b.p.twin()
	}
	p, q := b.p, b.beside
	q.tolerance, q.certifies = p.tolerance, p.certifies
	q.least.Remember(p.least)
	out, err := pricePair(ctx, p.workers, [2]pairedPricer{p, q}, dirs, aims)
	if err != nil {
		return nil, err
	}
	p.least.RememberLast(q.least)
	return out, ctx.Err()
}

// shareBy sets how many workers share large components and ends.
func (p *averageReward) shareBy(workers int) {
	p.infiniteHorizon.shareBy(workers)
	p.least.Workers = workers
	for _, w := range p.transients {
		w.SetWorkers(workers)
	}
}
