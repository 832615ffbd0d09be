package baseline

import (
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
)

// A table is a Markov policy: the probability of every slot. It is a cmdp.Policy.
type table struct {
	*scaledTask
	probs []float64
}

// newTable returns the uniform policy.
func newTable(u *scaledTask) *table {
	t := &table{u, make([]float64, u.slots())}
	t.explore()
	return t
}

// explore makes t the uniform policy.
func (t *table) explore() {
	for h := range t.horizon {
		for s := range t.states {
			t.even(h, s)
		}
	}
}

// row returns the probabilities of the actions of s at step h.
func (t *table) row(h, s int) []float64 {
	f := t.offsets(h)
	return t.probs[t.base[h]+int(f[s]) : t.base[h]+int(f[s+1])]
}

// even gives every action of s the same probability.
func (t *table) even(h, s int) {
	row := t.row(h, s)
	for a := range row {
		row[a] = 1 / float64(len(row))
	}
}

// Choose draws an action, if there are several.
func (t *table) Choose(rng *rand.Rand, h, s int) int {
	row := t.row(h, s)
	if a := slices.IndexFunc(row, func(x float64) bool { return x > 0 }); a < 0 || row[a] >= 1 {
		return max(0, a)
	}
	return cmdp.Draw(rng, row)
}

// Distribution copies the probabilities of the state's actions.
func (t *table) Distribution(dst []float64, h, s int) { copy(dst, t.row(h, s)) }

// take makes t another policy.
func (t *table) take(p cmdp.Policy) {
	for h := range t.horizon {
		for s := range t.states {
			if row := t.row(h, s); len(row) > 0 {
				p.Distribution(row, h, s)
			}
		}
	}
}

// follow makes t the deterministic policy of a column.
func (t *table) follow(c *column) {
	clear(t.probs)
	for h := range t.horizon {
		for s := range t.states {
			if a := c.take[h*t.states+s]; a >= 0 {
				t.row(h, s)[a] = 1
			}
		}
	}
}
