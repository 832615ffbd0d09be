package problem

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cmdpsolve/internal/nearest"
)

// Coefficients are the numbers of a linear function of the returns: a list of d
// of them, or a mapping from names of returns, where a missing one is 0. One of
// the two is set.
type Coefficients struct {
	List  []float64
	Named map[string]float64
}

func (c *Coefficients) decode(d *decoder, n *node, at *path) bool {
	ok := true
	switch n.kind {
	case listNode:
		ok = d.value(n, at, reflect.ValueOf(&c.List).Elem())
	case mapNode:
		ok = d.pairs(n, at)
		c.Named = make(map[string]float64, len(n.members))
		for _, m := range n.members {
			name, good := d.name(m.key, at)
			if !good {
				ok = false
				continue
			}
			x, good := d.number(m.value, at.key(name))
			c.Named[name], ok = x, ok && good
		}
	default:
		return d.bad(n, at, "got %s: want a list of numbers, or a mapping from names of returns to numbers",
			n.describe())
	}
	return ok
}

func (c *Coefficients) encode(b []byte) []byte {
	if c.Named == nil {
		return appendAll(b, "[]", len(c.List), func(b []byte, i int) []byte { return appendNumber(b, c.List[i]) })
	}
	names := slices.Sorted(maps.Keys(c.Named))
	return appendAll(b, "{}", len(names), func(b []byte, i int) []byte {
		return appendNumber(append(appendName(b, names[i]), ": "...), c.Named[names[i]])
	})
}

// Vector returns the coefficients in the order of the returns, which have names.
func (c *Coefficients) Vector(returns []string) ([]float64, error) {
	return c.vector(returns, len(returns))
}

// vector returns the coefficients in the order of the returns.
func (c *Coefficients) vector(returns []string, dim int) ([]float64, error) {
	if c.Named == nil {
		if len(c.List) != dim {
			return nil, fmt.Errorf("%d coefficients: want %d", len(c.List), dim)
		}
		return c.List, nil
	}
	v, place := make([]float64, dim), finder(returns)
	for _, name := range slices.Sorted(maps.Keys(c.Named)) {
		i := place(name)
		if i < 0 {
			return nil, fmt.Errorf("unknown return %q%s", name, orWant(name, returns))
		}
		v[i] = c.Named[name]
	}
	return v, nil
}

// orWant completes a message about an unknown name.
func orWant(name string, known []string) string { return meantOrWant(nearest.Name(name, known), known) }

// meantOrWant returns what was meant if that is known, else what is wanted.
func meantOrWant(meant string, known []string) string {
	if meant != "" {
		return meant
	}
	const few = 8
	switch {
	case len(known) == 0:
		return ": there are no names here, give numbers"
	case len(known) > few:
		return fmt.Sprintf(": want one of %s, …", oneOf(known[:few]))
	}
	return ": want " + oneOf(known)
}
