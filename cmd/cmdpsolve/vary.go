package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"

	"github.com/spf13/pflag"
)

// A variation asks "what if": it changes goal, limits and target of a problem.
type variation query.Change

func (v *variation) addFlags(f *pflag.FlagSet) {
	f.StringVar(&v.Maximize, "maximize", "", "maximize this `RETURN` (instead of the problem's goal)")
	f.StringVar(&v.Minimize, "minimize", "", "minimize this `RETURN` (instead of the problem's goal)")
	f.Func("at-most", "upper limit of a return, in the place of the problem's; X none takes it away (may be repeated)",
		v.limit(query.AtMost))
	f.Func("at-least", "lower limit of a return, likewise (may be repeated)", v.limit(query.AtLeast))
	placeholder(f, "at-most", "RETURN=X")
	placeholder(f, "at-least", "RETURN=X")
	f.Float64Var(&v.Inflate, "inflate", 0, "let the returns miss the target set by up to this `DISTANCE`")
}

// limit returns a function that reads RETURN=X as a bound of a kind.
func (v *variation) limit(kind string) func(string) error {
	return func(text string) error {
		name, value, ok := cutLast(text, "=")
		if !ok {
			return errors.New("want RETURN=X, such as cost=3.5")
		}
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case value == "none":
			x = math.Inf(1)
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("%q: want a number, or none", value)
		}
		v.Bounds = append(v.Bounds, query.Bound{Return: name, Kind: kind, Value: x})
		return nil
	}
}

// cutLast is strings.Cut at the last separator: names may have one.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// vary returns the problem with the changes. The model is shared unless other things have to be remembered.
// Where the error is that limits contradict each other, and wraps geometry.ErrEmpty, there is a problem without
// a task all the same.
func (p *loaded) vary(ctx context.Context, v *variation) (*loaded, error) {
	change := query.Change(*v)
	if change.None() {
		return p, nil
	}
	q, err := p.With(ctx, change)
	if errors.Is(err, geometry.ErrEmpty) && q.Beyond() {
		err = nil // a plan that keeps the limits has other thresholds, see varied
	}
	if q == nil {
		return nil, p.unvaried(err)
	}
	return p.as(q), p.unvaried(err)
}

// unvaried turns an error about a change of the problem into one of the command.
func (p *loaded) unvaried(err error) error {
	var member *problem.MemberError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, query.ErrChange):
		return usage("%w", err)
	case errors.Is(err, geometry.ErrEmpty) && errors.As(err, &member) && strings.HasPrefix(member.Path, "constraints"):
		return usage("%s: %w", p.name, member.Err) // no line of the file has both limits
	}
	return unread(p.name, err)
}

// varied returns the problem with the changes, and with the thresholds of the worst episodes that are best for it.
func (p *loaded) varied(ctx context.Context, v *variation) (*loaded, error) {
	p, err := p.vary(ctx, v)
	if err != nil {
		return nil, err
	}
	q, err := p.Best(ctx)
	if err != nil {
		return nil, unread(p.name, err)
	}
	return p.as(q), nil
}

// flags writes the changes as options of the command line.
func (v *variation) flags() []string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, name, value)
		}
	}
	add("--maximize", v.Maximize)
	add("--minimize", v.Minimize)
	for _, b := range v.Bounds {
		value := "none"
		if !math.IsInf(b.Value, 0) {
			value = strconv.FormatFloat(b.Value, 'g', -1, 64)
		}
		add("--"+strings.Replace(b.Kind, "_", "-", 1), b.Return+"="+value)
	}
	if v.Inflate != 0 {
		add("--inflate", strconv.FormatFloat(v.Inflate, 'g', -1, 64))
	}
	return out
}
