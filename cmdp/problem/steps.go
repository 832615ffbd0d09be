package problem

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Stepwise reports whether the bounds are for what is returned at single steps.
func (c *Limit) Stepwise() bool { return c.EachStep || c.Steps != "" }

// Range returns the steps [first, end), counted from 0, at which the bounds of a stepwise constraint hold in
// episodes of so many steps. Errors are about the member steps, or about the lists of bounds.
func (c *Limit) Range(horizon int) (first, end int, err error) {
	first, end = 0, horizon
	if !c.EachStep {
		from, to, span := strings.Cut(c.Steps, "-")
		if !span {
			to = from
		}
		a, bad := strconv.Atoi(strings.TrimSpace(from))
		b, worse := strconv.Atoi(strings.TrimSpace(to))
		if bad != nil || worse != nil || a < 1 || b < a || b > horizon {
			return 0, 0, Inside(fmt.Errorf("problem: got %s: want steps from 1 to %d, such as 1-%d", shorten(c.Steps),
				horizon, horizon), "steps")
		}
		first, end = a-1, b
	}
	for _, list := range []struct {
		key string
		at  []float64
	}{{"at_most", c.MostAt}, {"at_least", c.LeastAt}} {
		if list.at != nil && len(list.at) != end-first {
			return 0, 0, Inside(fmt.Errorf("problem: %d bounds for %d steps", len(list.at), end-first), list.key)
		}
	}
	return first, end, nil
}

// At returns the bound of a stepwise constraint on one side, for a step that is counted from the first of its
// steps; nil without one.
func (c *Limit) At(atLeast bool, step int) *float64 {
	one, list := c.AtMost, c.MostAt
	if atLeast {
		one, list = c.AtLeast, c.LeastAt
	}
	if list != nil {
		return &list[step]
	}
	return one
}

// checkSteps looks at constraints on single steps, once it is known how many there are.
func (h *header) checkSteps(root *node) {
	horizon := h.spec.Horizon
	if len(h.p.Fleet) > 0 {
		horizon = h.p.Fleet[0].Agent.Model.Horizon()
	}
	for i := range h.p.Constraints {
		c := &h.p.Constraints[i]
		if h.p.Fleet != nil && !c.OnAverage() && !c.Stepwise() {
			h.misbuilt(root, nil, Inside(errors.New("problem: limits of a fleet hold in expectation: want none of "+
				"always, probability and cvar"), "constraints", i))
		}
		if !c.Stepwise() || c.Return == "" {
			continue
		}
		key := "each_step"
		if c.Steps != "" {
			key = "steps"
		}
		switch {
		case h.p.Fleet == nil:
			h.misbuilt(root, nil, Inside(fmt.Errorf("problem: limits at single steps are for fleets: a fleet may "+
				"have one agent"), "constraints", i, key))
		case horizon == 0 && len(h.p.Fleet) > 0:
			h.misbuilt(root, nil, Inside(fmt.Errorf("problem: limits at single steps need models with a horizon"),
				"constraints", i, key))
		case horizon > 0:
			if _, _, err := c.Range(horizon); err != nil {
				h.misbuilt(root, nil, Inside(err, "constraints", i))
			}
		}
	}
}

// decode reads a constraint, whose bounds may be lists.
func (c *Limit) decode(d *decoder, n *node, at *path) bool {
	plain, ok := *n, true
	for _, list := range []struct {
		key string
		at  *[]float64
	}{{"at_most", &c.MostAt}, {"at_least", &c.LeastAt}} {
		x := n.get(list.key)
		if n.kind != mapNode || x == nil || x.kind != listNode {
			continue
		}
		ok = d.value(x, at.key(list.key), reflect.ValueOf(list.at).Elem()) && ok
		plain.members = slices.DeleteFunc(slices.Clone(plain.members),
			func(m member) bool { return m.key.text == list.key })
	}
	return d.structure(&plain, at, reflect.ValueOf(c).Elem()) && ok
}

// encode writes a constraint in flow style.
func (c *Limit) encode(b []byte) []byte {
	v := reflect.ValueOf(c).Elem()
	fields, given := fieldsOf(v.Type()), []int(nil)
	lists := map[string][]float64{"at_most": c.MostAt, "at_least": c.LeastAt}
	for i, f := range fields {
		if !f.optional || !v.Field(i).IsZero() || lists[f.name] != nil {
			given = append(given, i)
		}
	}
	return appendAll(b, "{}", len(given), func(b []byte, i int) []byte {
		f := fields[given[i]]
		b = append(append(b, f.name...), ": "...)
		if list := lists[f.name]; list != nil {
			return appendValue(b, reflect.ValueOf(&list).Elem())
		}
		return appendValue(b, v.Field(given[i]))
	})
}
