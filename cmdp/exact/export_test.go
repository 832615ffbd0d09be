package exact

import (
	"context"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"
)

// An Iterator gives benchmarks the value iteration alone.
type Iterator struct{ f *finiteHorizon }

func NewIterator(m *cmdp.Model, workers int) Iterator { return Iterator{newFiniteHorizon(m, workers)} }

func (p Iterator) Plan(ctx context.Context, dir []float64) {
	if _, err := p.f.price(ctx, dir, 0); err != nil {
		panic(err)
	}
}

// PlannerOf returns the planner of a model.
func PlannerOf(t *testing.T, m *cmdp.Model) *Planner {
	t.Helper()
	p, err := NewPlanner(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Separates is what Verify makes of a direction, whatever else a certificate says. The
// certificate is one whose numbers flatter the direction by as much as rounding may.
func Separates(ctx context.Context, m *cmdp.Model, target geometry.Compact, dir []float64) (bool, *Certificate, error) {
	p, err := newPricer(ctx, m, 1, allRelevant(m.Dim()), nil)
	if err != nil {
		return false, nil, err
	}
	s := separation{support: oracle.Support(target, dir), slack: supportError(target, dir)}
	s.value, s.margin, err = p.recheck(ctx, dir)
	return s.proves(), &Certificate{Direction: dir, Value: s.value + s.margin, Support: s.support - s.slack,
		Distance: 1e9, Margin: s.margin / 2}, err
}

// RecheckWithout returns V* in the direction of a proof over the policies that do not come to the states that
// it leaves out, whether or not they may be left out, and a bound of its error.
func RecheckWithout(ctx context.Context, m *cmdp.Model, task cmdp.Task, p *Proof) (value, margin float64, err error) {
	var left []int32
	for _, s := range p.Without {
		left = append(left, int32(s))
	}
	q, err := newPricer(ctx, m, 1, relevanceOf(m.Dim(), task).leavingOut(left), nil)
	if err != nil {
		return 0, 0, err
	}
	theta, _ := p.direction()
	return q.recheck(ctx, theta)
}

// SumLP is the explicit program of a sum.
func SumLP(parts []Part, dim int, each []int, cost []float64, rows []cmdp.Constraint) (*lp.Problem, error) {
	return sumLP(parts, dim, each, cost, rows)
}

// SetMostBlocks bounds the blocks of columns of sums, and returns what restores the bound.
func SetMostBlocks(n int) (restore func()) {
	old := mostBlocksOfSums
	mostBlocksOfSums = n
	return func() { mostBlocksOfSums = old }
}

// OnTicks returns options with a clock that goes on by a second whenever it is read.
func OnTicks(o Options) Options {
	o.now = ticking()
	return o
}
