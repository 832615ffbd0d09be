package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/stat/combin"
)

// A Span is a limit that a sweep moves.
type Span struct {
	// Return and Kind are as of a [Bound], see [Query.Side].
	Return, Kind string
	Values       []float64
}

// A Swept is one plan of a sweep.
type Swept struct {
	// Values are those of the limits that are moved, in the order of the spans.
	Values []float64
	// Query is the varied problem, whose process remembers what the policies do, and Result its answer.
	Query  *Query
	Result *exact.Result
	// Prices are those of the limits that are moved, as they are shown, NaN where there is none.
	Prices []float64
}

// Sweep plans for each value of a limit or, of several, for each combination of their values, of which those of
// the last limit change fastest. Each plan starts from the policies of those before. With an error the sweep
// ends; what is yielded with it has no Query if the problem could not be varied.
func (q *Query) Sweep(ctx context.Context, over []Span, opts exact.Options) iter.Seq2[*Swept, error] {
	return func(yield func(*Swept, error) bool) {
		counts := make([]int, len(over))
		for i, s := range over {
			counts[i] = len(s.Values)
		}
		if len(counts) == 0 || slices.Min(counts) == 0 {
			return
		}
		for grid := combin.NewCartesianGenerator(counts); grid.Next(); {
			one, err := q.sweepOne(ctx, over, grid.Product(nil), opts)
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// sweepOne plans at one point of the grid.
func (q *Query) sweepOne(ctx context.Context, over []Span, at []int, opts exact.Options) (*Swept, error) {
	one, change := &Swept{}, Change{}
	for i, s := range over {
		one.Values = append(one.Values, s.Values[at[i]])
		change.Bounds = append(change.Bounds, Bound{Return: s.Return, Kind: s.Kind, Value: s.Values[at[i]]})
	}
	of, err := q.BestWith(ctx, change)
	if err != nil {
		return one, err
	}
	one.Query = of
	one.Result, err = of.Solve(ctx, opts)
	if err != nil {
		return one, err
	}
	one.Query, err = of.Remembering(one.Result.Product)
	if err != nil {
		return one, err
	}
	standings := one.Query.Standings(one.Result)
	for _, s := range over {
		price := math.NaN()
		for _, standing := range standings {
			l := standing.Limit
			switch {
			case l == nil || l.Return != s.Return || l.Kind() != s.Kind:
			case l.Step > 0 && !math.IsNaN(price): // the limits at single steps move together
				price += standing.Shown()
			default:
				price = standing.Shown()
			}
		}
		one.Prices = append(one.Prices, price)
	}
	return one, nil
}

// BestWith is [Query.With] with the thresholds of the worst episodes that are best for the changed problem, see
// [Query.Best].
func (q *Query) BestWith(ctx context.Context, c Change) (*Query, error) {
	of, err := q.With(ctx, c)
	if errors.Is(err, geometry.ErrEmpty) && of.Beyond() {
		err = nil // a plan that keeps the limits has other thresholds
	}
	if err != nil {
		return nil, err
	}
	return of.Best(ctx)
}

// ErrSides is returned by [Query.Side] for what is limited from both sides.
var ErrSides = errors.New("is limited from both sides")

// Side returns the kind of a [Bound] that moves what the problem limits of a return: at_least if it is limited
// from below, else at_most. It is an error, wrapping [ErrSides], if it is limited from both sides, and one
// wrapping [ErrChange] if it is nothing that a bound can name.
func (q *Query) Side(name string) (kind string, err error) {
	if names := q.Limitable(); !slices.Contains(names, name) {
		return "", unknownReturn(name, names)
	}
	_, below := q.Given(AtLeast, name)
	below = below || slices.ContainsFunc(q.Of(EveryEpisode),
		func(l *Limit) bool { return l.AtLeast && l.expected.name == name })
	_, above := q.Given(AtMost, name)
	if below && above {
		return "", fmt.Errorf("%s %w", name, ErrSides)
	}
	return side(below), nil
}
