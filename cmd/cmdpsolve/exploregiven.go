package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmdp/problem"
)

// given are values that make another model: constants of the file, limits that hold in every episode, by their
// number among the constraints, and the width of intervals of probabilities. Empty maps stand for the problem
// as it was called for.
type given struct {
	Set    map[string]float64 `json:"set,omitempty"`
	Always map[int]float64    `json:"always,omitempty"`
	// Width has by how much probabilities are widened, under the name interval.
	Width map[string]float64 `json:"width,omitempty"`
}

func (g given) none() bool { return len(g.Set) == 0 && len(g.Always) == 0 && len(g.Width) == 0 }

// explorers answer the questions of the page about one problem with different values given.
type explorers struct {
	first *explorer
	// read reads the problem with other constants.
	read func(ctx context.Context, set map[string]string) (*loaded, error)
	// unfold makes a problem of one that is declared.
	unfold func(ctx context.Context, p *problem.Problem) (*loaded, error)

	mu     sync.Mutex
	others []givenExplorer // the last few
}

type givenExplorer struct {
	key string
	*explorer
}

// mostGiven bounds how many models are kept beside the first.
const mostGiven = 4

// answers are those of the explorer that a question is for.
func (x *explorers) answers() map[string]explore.Answer {
	all := make(map[string]explore.Answer)
	for name := range x.first.answers() {
		all[name] = func(ctx context.Context, text []byte, progress func(any)) (any, error) {
			e, err := x.of(ctx, text)
			if err != nil {
				return nil, err
			}
			return e.answers()[name](ctx, text, progress)
		}
	}
	return all
}

// of returns the explorer for what a question says is given.
func (x *explorers) of(ctx context.Context, text []byte) (*explorer, error) {
	var q struct {
		Given given `json:"given"`
	}
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	if q.Given.none() {
		return x.first, nil
	}
	canonical, err := json.Marshal(q.Given)
	if err != nil {
		return nil, err
	}
	key := string(canonical)
	x.mu.Lock()
	i := slices.IndexFunc(x.others, func(o givenExplorer) bool { return o.key == key })
	if i >= 0 {
		o := x.others[i]
		x.others = append(slices.Delete(x.others, i, i+1), o)
		x.mu.Unlock()
		return o.explorer, nil
	}
	x.mu.Unlock()
	e, err := x.make(ctx, q.Given)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.others) >= mostGiven {
		x.others = slices.Delete(x.others, 0, 1)
	}
	x.others = append(x.others, givenExplorer{key, e})
	return e, nil
}

// make reads the problem with other values.
func (x *explorers) make(ctx context.Context, g given) (*explorer, error) {
	p := x.first.loaded
	var called []string
	if len(g.Set) > 0 {
		set := make(map[string]string)
		for _, name := range slices.Sorted(maps.Keys(g.Set)) {
			set[name] = strconv.FormatFloat(g.Set[name], 'g', -1, 64)
			called = append(called, "--set", name+"="+set[name])
		}
		var err error
		p, err = x.read(ctx, set)
		if err != nil {
			return nil, err
		}
	}
	if len(g.Always) > 0 {
		declared := *p.Problem
		declared.Constraints = slices.Clone(declared.Constraints)
		for i, value := range g.Always {
			if i < 0 || i >= len(declared.Constraints) || !declared.Constraints[i].Always {
				return nil, fmt.Errorf("constraint %d is no limit that holds in every episode", i)
			}
			c := &declared.Constraints[i]
			if c.AtMost != nil {
				c.AtMost = &value
			} else {
				c.AtLeast = &value
			}
		}
		var err error
		p, err = x.unfold(ctx, &declared)
		if err != nil {
			return nil, err
		}
	}
	if len(g.Width) > 0 {
		wider, err := g.widened(p.Problem)
		if err != nil {
			return nil, err
		}
		p, err = x.unfold(ctx, wider)
		if err != nil {
			return nil, err
		}
		called = append(called, "--interval", strconv.FormatFloat(g.Width[widthName], 'g', -1, 64))
	}
	e, err := newExplorer(ctx, p, x.first.options)
	if err != nil {
		return nil, err
	}
	e.given = true
	e.called = append(slices.Clone(x.first.called), called...)
	e.saved = len(g.Always) > 0
	return e, nil
}

// aboutAlways is a limit that holds in every episode. Constraint is its number.
type aboutAlways struct {
	Constraint int     `json:"constraint"`
	Name       string  `json:"name"`
	Value      float64 `json:"value"`
	Least      float64 `json:"least"` // of a slider
	Most       float64 `json:"most"`
}

// alwaysLimits lists the limits on every episode that have one side.
func alwaysLimits(p *problem.Problem) []aboutAlways {
	list := []aboutAlways{}
	for i, c := range p.Constraints {
		if !c.Always || (c.AtMost == nil) == (c.AtLeast == nil) {
			continue
		}
		a := aboutAlways{Constraint: i, Name: c.Return + " " + problem.Relation(c.AtLeast != nil)}
		if c.AtMost != nil {
			a.Value = *c.AtMost
		} else {
			a.Value = *c.AtLeast
		}
		a.Least, a.Most = min(0, 2*a.Value), max(0, 2*a.Value, 1)
		list = append(list, a)
	}
	return list
}
