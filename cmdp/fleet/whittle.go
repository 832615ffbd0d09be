package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// ErrNotIndexable is returned, wrapped, where a fleet has no Whittle index.
var ErrNotIndexable = errors.New("there is no Whittle index")

// maxPieces bounds the pieces of a value as a function of the price.
const maxPieces = 1 << 16

// Indices are the Whittle indices of the types of a restless bandit with a horizon (Whittle 1988): of each
// type, step and state the least price of what acting uses at which an agent there may as well rest, where this
// price holds at that step and all later ones. They are NaN where an agent has no choice, −Inf where rest is
// best at any price, and +Inf where acting is.
type Indices [][][]float64

// WhittleIndices returns the indices for a task of a restless bandit: all limits bound the same return from
// above at single steps, agents have at most two actions in a state, one of which uses less of it, and the cost
// is affine in the returns of the episode. Values are found as functions of the price, without a grid. It is an
// error, wrapping ErrNotIndexable, if the task is another one, or if an agent that rests at a price acts at a
// higher one.
func WhittleIndices(f *Fleet, task cmdp.Task) (Indices, error) {
	rows, err := f.playable(task)
	if err != nil {
		return nil, err
	}
	use, err := f.bandit(rows)
	if err != nil {
		return nil, err
	}
	gradient := make([]float64, f.Dim())
	if task.Cost != nil {
		a, ok := task.Cost.(cost.Affine)
		if !ok {
			return nil, fmt.Errorf("fleet: %w: the goal is curved", ErrNotIndexable)
		}
		gradient = a.Gradient()
	}
	out := make(Indices, len(f.Types))
	for k := range f.Types {
		out[k], err = f.whittle(k, gradient, use)
		if err != nil {
			return nil, fmt.Errorf("fleet: type %s: %w", f.Types[k].Name, err)
		}
	}
	return out, nil
}

// bandit returns the weights of what all limits bound, or an error if they are not those of a restless bandit.
func (f *Fleet) bandit(rows []row) ([]float64, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("fleet: %w: there is no limit", ErrNotIndexable)
	}
	var use []float64
	for k := range rows {
		r := &rows[k]
		if r.step == Episode {
			return nil, fmt.Errorf("fleet: %w: %s is no limit about a single step", ErrNotIndexable, r.title(k))
		}
		if use == nil {
			use = r.weights
		}
		if !floats.Equal(use, r.weights) {
			return nil, fmt.Errorf("fleet: %w: %s is about something else than %s", ErrNotIndexable, r.title(k),
				rows[0].title(0))
		}
	}
	return use, nil
}

// title says which limit it is.
func (r *row) title(number int) string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("limit %d", number+1)
}

// whittle returns the indices of a type.
func (f *Fleet) whittle(kind int, gradient, use []float64) ([][]float64, error) {
	t := &f.Types[kind]
	m := t.Model
	steps := m.Horizon()
	out := make([][]float64, steps)
	values := make([]piecewise, m.States())
	for s := range values {
		values[s] = affine(0, 0)
	}
	weights := make([]float64, m.Dim())
	for h := steps - 1; h >= 0; h-- {
		f.stepWeights(weights, kind, h, gradient)
		rows := m.Rows(h)
		out[h] = make([]float64, m.States())
		before := make([]piecewise, m.States())
		for s := range before {
			first, end := rows.Choices(s)
			out[h][s] = math.NaN()
			q := make([]piecewise, end-first)
			amount := make([]float64, end-first)
			for c := first; c < end; c++ {
				amount[c-first] = t.use(use, rows.Returns(c))
				next, prob := rows.Row(c)
				of := make([]*piecewise, len(next))
				for i, n := range next {
					of[i] = &values[n]
				}
				q[c-first] = combination(floats.Dot(weights, rows.Returns(c)), amount[c-first], prob, of)
			}
			switch len(q) {
			case 0:
				before[s] = values[s]
			case 1:
				before[s] = q[0]
			case 2:
				rest, act := 0, 1
				if amount[0] > amount[1] {
					rest, act = 1, 0
				}
				if amount[0] == amount[1] {
					return nil, fmt.Errorf("%w: both actions of state %d at step %d use %g", ErrNotIndexable, s, h+1,
						amount[0])
				}
				low, breaks, signs := smaller(&q[rest], &q[act])
				before[s] = low
				index, ok := indexOf(breaks, signs)
				if !ok {
					return nil, fmt.Errorf("%w: at step %d in state %d it acts at a higher price than at one at "+
						"which it rests", ErrNotIndexable, h+1, s)
				}
				out[h][s] = index
			default:
				return nil, fmt.Errorf("%w: state %d has %d actions: want at most 2", ErrNotIndexable, s, len(q))
			}
			if len(before[s].breaks) > maxPieces {
				return nil, fmt.Errorf("%w that can be found: the value at step %d has more than %d pieces",
					ErrNotIndexable, h+1, maxPieces)
			}
		}
		values = before
	}
	return out, nil
}

// indexOf returns the least price from which on rest is best, where signs are positive as far as rest is better
// than acting, and false if acting is better again at a higher price.
func indexOf(breaks []float64, signs []int) (index float64, ok bool) {
	index = math.Inf(-1)
	rested := false
	for i, s := range signs {
		switch {
		case s > 0:
			rested = true
		case s < 0 && rested:
			return 0, false
		case s < 0 && i == len(breaks):
			index = math.Inf(1)
		case s < 0:
			index = breaks[i]
		}
	}
	return index, true
}

// A Whittle player serves the agents of a restless bandit in the order of their Whittle indices, as long as
// these are positive and capacity lasts.
type Whittle struct {
	f       *Fleet
	rows    []row
	groups  []agentGroup
	indices Indices
}

// NewWhittle returns the player for a task, or the error of [WhittleIndices].
func NewWhittle(f *Fleet, task cmdp.Task) (*Whittle, error) {
	indices, err := WhittleIndices(f, task)
	if err != nil {
		return nil, err
	}
	rows, err := f.playable(task)
	if err != nil {
		return nil, err
	}
	return &Whittle{f: f, rows: rows, groups: f.byType(), indices: indices}, nil
}

func (p *Whittle) agentGroups() []agentGroup { return p.groups }

func (p *Whittle) begin(*rand.Rand) controller { return p }

func (p *Whittle) act(_ context.Context, dst [][]int, h int, now [][]int, _ []float64) error {
	v := p.f.newAllocation(p.rows, p.groups, h, now, nil)
	v.findRests()
	v.restAll()
	var changes []change
	for i := range v.slots {
		x := &v.slots[i]
		index := p.indices[p.groups[x.group].kind][h][x.state]
		if len(x.acts) == 2 && index > 0 {
			changes = append(changes, change{slot: i, from: x.rest, to: 1 - x.rest, gain: index})
		}
	}
	v.serve(changes)
	v.write(dst)
	return nil
}
