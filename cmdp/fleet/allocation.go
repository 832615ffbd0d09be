package fleet

import (
	"cmp"
	"math"
	"slices"
)

// An allocation gives whole numbers of agents to the actions of one step, so that the limits about the step hold
// surely, and budgets with what is left of them: whatever happens next, for what is used at random counts with
// the most that it can be.
type allocation struct {
	rows     []*row    // the limits about the step alone, and budgets
	room     []float64 // of each, its bound less what is used
	reserved []float64 // of each, how much of that is kept for later steps; nil for nothing
	slots    []slot
}

// A slot is the agents of one group that are in one state. Actions are numbered from 0.
type slot struct {
	group, state, first int // first is the number of the first choice
	agents              int
	use                 [][]float64 // of each limit and action
	// value is what an action costs from here on with the prices of the limits, the less the better, and own
	// the part of it that is the prices of the limits about this step, and of budgets.
	value, own []float64
	rest       int   // the action that uses least
	acts       []int // how many agents take each action
}

// newAllocation returns an allocation of step h in which no agent does anything yet. soFar is what was returned before.
func (f *Fleet) newAllocation(rows []row, groups []agentGroup, h int, now [][]int, soFar []float64) *allocation {
	v := &allocation{}
	for k := range rows {
		switch {
		case rows[k].step == h:
			v.rows = append(v.rows, &rows[k])
			v.room = append(v.room, rows[k].Offset)
		case rows[k].budget:
			v.rows = append(v.rows, &rows[k])
			v.room = append(v.room, rows[k].Offset-rows[k].value(soFar))
		}
	}
	for g, p := range groups {
		t := &f.Types[p.kind]
		step := t.Model.Rows(h)
		for s, agents := range now[g] {
			first, end := step.Choices(s)
			if agents == 0 || first == end {
				continue
			}
			x := slot{group: g, state: s, first: first, agents: agents, acts: make([]int, end-first)}
			for _, r := range v.rows {
				use := make([]float64, end-first)
				for c := first; c < end; c++ {
					use[c-first] = t.use(r.weights, step.Returns(c))
					next, probabilities := step.Row(c)
					for i := range next {
						if step.Random() && probabilities[i] > 0 {
							use[c-first] = max(use[c-first], t.use(r.weights, step.Outcome(c, i)))
						}
					}
				}
				x.use = append(x.use, use)
			}
			x.value = make([]float64, end-first)
			x.own = make([]float64, end-first)
			v.slots = append(v.slots, x)
		}
	}
	return v
}

// findRests finds the action of each slot that uses least of the capacities, measured by the most that an agent uses of
// them, and of several the best one. A limit of which all use is at least 0 is a capacity.
func (v *allocation) findRests() {
	scale := make([]float64, len(v.rows))
	for k := range v.rows {
		for _, x := range v.slots {
			for _, u := range x.use[k] {
				if u < 0 {
					scale[k] = math.Inf(1)
				}
				scale[k] = max(scale[k], u)
			}
		}
	}
	for i := range v.slots {
		x := &v.slots[i]
		least := math.Inf(1)
		for a := range x.acts {
			sum := 0.0
			for k := range v.rows {
				if scale[k] > 0 {
					sum += x.use[k][a] / scale[k]
				}
			}
			if sum < least-1e-12 || sum < least+1e-12 && x.value[a] < x.value[x.rest] {
				x.rest = a
				least = sum
			}
		}
	}
}

// take makes n agents of a slot, who did nothing so far, take an action.
func (v *allocation) take(x *slot, action, n int) {
	x.acts[action] += n
	for k := range v.rows {
		v.room[k] -= float64(n) * x.use[k][action]
	}
}

// move makes n agents of a slot change their action.
func (v *allocation) move(x *slot, from, to, n int) {
	v.take(x, from, -n)
	v.take(x, to, n)
}

// slack is what counts as rounding in the room of a limit.
func (v *allocation) slack(k int) float64 { return 1e-9 * max(1, math.Abs(v.rows[k].Offset)) }

// fits returns how many agents of at most n may change their action without a limit being broken, or broken further.
func (v *allocation) fits(x *slot, from, to, n int) int {
	for k := range v.rows {
		more := x.use[k][to] - x.use[k][from]
		if more <= 0 {
			continue
		}
		n = min(n, int(max(0, math.Floor(min(float64(n), (v.room[k]+v.slack(k))/more)))))
	}
	return n
}

// A change of action is what agents of a slot gain by.
type change struct {
	slot, from, to int
	gain           float64
}

// serve lets agents change their actions while it fits: the greatest gain first.
func (v *allocation) serve(changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(b.gain, a.gain) })
	for _, c := range changes {
		x := &v.slots[c.slot]
		if n := v.fits(x, c.from, c.to, x.acts[c.from]); n > 0 {
			v.move(x, c.from, c.to, n)
		}
	}
}

// restAll lets all agents, who did nothing so far, rest.
func (v *allocation) restAll() {
	for i := range v.slots {
		x := &v.slots[i]
		v.take(x, x.rest, x.agents)
	}
}

// round gives the agents of each slot to its actions as they are wanted, in real numbers that sum to the agents
// of the slot: rounded down or up so that the totals of all limits stay near what is wanted. Slots are taken in
// the given order. matters has, of each slot, what an agent adds to each limit by each action, in a common
// unit.
func (v *allocation) round(order []int, wanted [][]float64, matters func(slot int) [][]float64, limits int) {
	debt := make([]float64, limits) // what is used beyond what is wanted
	for _, i := range order {
		x := &v.slots[i]
		adds := matters(i)
		left := x.agents
		part := make([]float64, len(x.acts))
		for a, y := range wanted[i] {
			n := min(left, int(math.Floor(y+1e-9)))
			v.take(x, a, n)
			left -= n
			part[a] = max(0, y-float64(n))
			for k := range debt {
				debt[k] -= part[a] * adds[k][a]
			}
		}
		for ; left > 0; left-- {
			best := -1
			least := math.Inf(1)
			for a := range x.acts {
				if part[a] <= 1e-9 {
					continue
				}
				size := 0.0
				for k, d := range debt {
					d += adds[k][a]
					size += d * d
				}
				if size < least-1e-12 || best >= 0 && size < least+1e-12 && part[a] > part[best] {
					best = a
					least = size
				}
			}
			if best < 0 { // wanted numbers that sum to less by rounding
				best = x.rest
			}
			part[best] = 0
			v.take(x, best, 1)
			for k := range debt {
				debt[k] += adds[k][best]
			}
		}
	}
}

// repair changes actions where a limit is broken, those first that cost least for what they relieve, until it
// is kept or nothing helps that breaks no other limit.
func (v *allocation) repair() {
	for k := range v.rows {
		for v.room[k] < -v.slack(k) {
			if !v.reduceExcess(k) {
				break
			}
		}
	}
}

// repairWithBudgets is repair, and where a limit about the step cannot be kept otherwise it takes what of budgets is
// kept for later steps: rounding may have used a part of an agent too much before.
func (v *allocation) repairWithBudgets() {
	v.repair()
	broken := false
	for k, room := range v.room {
		broken = broken || room < -v.slack(k)
	}
	if !broken || v.reserved == nil {
		return
	}
	for k, kept := range v.reserved {
		v.room[k] += kept
	}
	v.reserved = nil
	v.repair()
}

// reduceExcess makes the cheapest change of actions that relieves a limit, and reports false if there is none.
func (v *allocation) reduceExcess(k int) bool {
	slot, from, to, many := -1, 0, 0, 0
	least := math.Inf(1)
	for i := range v.slots {
		x := &v.slots[i]
		for a, agents := range x.acts {
			if agents == 0 {
				continue
			}
			for b := range x.acts {
				less := x.use[k][a] - x.use[k][b]
				if less <= 0 {
					continue
				}
				cost := (x.value[b] - x.own[b] - x.value[a] + x.own[a]) / less
				if cost >= least {
					continue
				}
				need := max(1, math.Ceil((-v.room[k]-v.slack(k))/less))
				n := v.fits(x, a, b, int(min(float64(agents), need)))
				if n > 0 {
					slot, from, to, many = i, a, b, n
					least = cost
				}
			}
		}
	}
	if slot < 0 {
		return false
	}
	v.move(&v.slots[slot], from, to, many)
	return true
}

// fill lets agents change to actions by which they gain while there is room in the limits about the step. They are
// served by their gains at the prices of the limits. Where room is left for agents whose gain does not pay the prices
// of this step, these prices are too high for what happened, and it is enough that they gain without them.
func (v *allocation) fill() {
	var changes []change
	for i := range v.slots {
		x := &v.slots[i]
		free := func(a int) float64 { return x.value[a] - x.own[a] }
		for a, agents := range x.acts {
			for b := range x.acts {
				size := math.Abs(x.value[a]) + math.Abs(x.value[b])
				if agents > 0 && free(a)-free(b) > 1e-7*size {
					changes = append(changes, change{i, a, b, x.value[a] - x.value[b]})
				}
			}
		}
	}
	v.serve(changes)
}

// write sets how many agents of each group take each choice.
func (v *allocation) write(dst [][]int) {
	for _, x := range v.slots {
		copy(dst[x.group][x.first:], x.acts)
	}
}
