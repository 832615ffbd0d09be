package fleet

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

// counted is an allocation in whole numbers: what an agent of each slot uses of each limit by each action, and what is
// left, in tenths.
type counted struct {
	use  [][][]int // of each slot, limit and action
	room []int
}

// drawAllocation draws agents who do nothing yet, with limits that have room for some of them, in tenths.
func drawAllocation(rng *rand.Rand) (*allocation, *counted) {
	v, of := &allocation{}, &counted{}
	tenths := func(n int) float64 { return float64(n) / 10 }
	for range 1 + rng.IntN(3) {
		n := rng.IntN(40)
		of.room = append(of.room, n)
		v.room = append(v.room, tenths(n))
		v.rows = append(v.rows, &row{Constraint: cmdp.Constraint{Offset: tenths(n)}})
	}
	for range 1 + rng.IntN(4) {
		x := slot{agents: 1 + rng.IntN(6), acts: make([]int, 2+rng.IntN(2))}
		var uses [][]int
		for k := range v.rows {
			use, count := make([]float64, len(x.acts)), make([]int, len(x.acts))
			for a := range use {
				count[a] = rng.IntN(6)
				if k == 1 { // a limit from which some is given back
					count[a] -= 2
				}
				use[a] = tenths(count[a])
			}
			x.use, uses = append(x.use, use), append(uses, count)
		}
		for range x.acts {
			x.value = append(x.value, rng.NormFloat64())
			x.own = append(x.own, rng.Float64())
		}
		v.slots, of.use = append(v.slots, x), append(of.use, uses)
	}
	return v, of
}

// fits reports whether an agent may change its action without a limit being broken, or broken further.
func (c *counted) fits(slot, from, to int) bool {
	for k, use := range c.use[slot] {
		if more := use[to] - use[from]; more > 0 && c.room[k] < more {
			return false
		}
	}
	return true
}

// move makes agents change their action.
func (c *counted) move(slot, from, to, n int) {
	for k, use := range c.use[slot] {
		c.room[k] -= n * (use[to] - use[from])
	}
}

// TestAllocatedOneByOne: rest is what uses least of the capacities, and of that the best. Agents that gain by an action
// without the prices of the step are served one by one, those first that gain most with them, as long as it fits.
func TestAllocatedOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for trial := range 400 {
		v, of := drawAllocation(rng)
		capacity := make([]int, len(v.rows)) // the most that an agent uses of each, 0 of what is none
		for k := range capacity {
			least := 0
			for _, uses := range of.use {
				capacity[k], least = max(capacity[k], slices.Max(uses[k])), min(least, slices.Min(uses[k]))
			}
			if least < 0 {
				capacity[k] = 0
			}
		}
		v.findRests()
		type served struct {
			slot, action int
			gain         float64
		}
		var all []served
		want := make([][]int, len(v.slots))
		for i := range v.slots {
			x := &v.slots[i]
			share := func(a int) (sum float64) {
				for k, most := range capacity {
					if most > 0 {
						sum += float64(of.use[i][k][a]) / float64(most)
					}
				}
				return sum
			}
			want[i] = make([]int, len(x.acts))
			for a := range x.acts {
				if d := share(a) - share(x.rest); d < -1e-9 || d < 1e-9 && x.value[a] < x.value[x.rest] {
					t.Fatalf("trial %d: action %d is rest of slot %d: want %d", trial, x.rest, i, a)
				}
				if x.value[x.rest]-x.own[x.rest] > x.value[a]-x.own[a] {
					all = append(all, served{i, a, x.value[x.rest] - x.value[a]})
				}
			}
			want[i][x.rest] = x.agents
			for k := range of.room {
				of.room[k] -= x.agents * of.use[i][k][x.rest]
			}
		}
		slices.SortFunc(all, func(a, b served) int { return cmp.Compare(b.gain, a.gain) })
		for _, s := range all {
			rest := v.slots[s.slot].rest
			for want[s.slot][rest] > 0 && of.fits(s.slot, rest, s.action) {
				of.move(s.slot, rest, s.action, 1)
				want[s.slot][rest]--
				want[s.slot][s.action]++
			}
		}
		v.allocate(v.advantages())
		for i := range v.slots {
			if !slices.Equal(v.slots[i].acts, want[i]) {
				t.Fatalf("trial %d: slot %d does %v: want %v", trial, i, v.slots[i].acts, want[i])
			}
		}
	}
}

// TestRepairedAsFarAsCanBe: after a repair no change of one agent's action relieves the last limit, if it is broken,
// and breaks no other. Where a limit is broken nothing of a budget is kept for later steps.
func TestRepairedAsFarAsCanBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	broken, released := 0, 0
	for trial := range 400 {
		v, of := drawAllocation(rng)
		for i := range v.slots {
			x := &v.slots[i]
			for range x.agents {
				a := rng.IntN(len(x.acts))
				v.take(x, a, 1)
				for k := range of.room {
					of.room[k] -= of.use[i][k][a]
				}
			}
		}
		before := make([][]int, len(v.slots))
		for i := range before {
			before[i] = slices.Clone(v.slots[i].acts)
		}
		if trial%2 == 0 {
			v.reserved = make([]float64, len(v.rows))
			n := rng.IntN(20)
			v.reserved[0] = float64(n) / 10
			v.room[0] -= v.reserved[0]
			of.room[0] -= n
			v.repairWithBudgets()
			if v.reserved == nil {
				of.room[0] += n
				released++
			}
		} else {
			v.repair()
		}
		for i, acts := range before {
			for a, n := range v.slots[i].acts {
				for k := range of.room {
					of.room[k] -= (n - acts[a]) * of.use[i][k][a]
				}
			}
		}
		last := len(of.room) - 1
		if slices.Min(of.room) < 0 && v.reserved != nil {
			t.Errorf("trial %d: %v is left, and %v is kept", trial, of.room, v.reserved)
		}
		if of.room[last] >= 0 {
			continue
		}
		broken++
		for i := range v.slots {
			for a, n := range v.slots[i].acts {
				for b := range v.slots[i].acts {
					if n > 0 && of.use[i][last][b] < of.use[i][last][a] && of.fits(i, a, b) {
						t.Errorf("trial %d: %v is left: an agent of slot %d may do %d instead of %d", trial, of.room, i, b, a)
					}
				}
			}
		}
	}
	if broken < 20 || released < 20 {
		t.Errorf("%d limits stay broken, %d times what was kept is used: want more", broken, released)
	}
}

// TestRoundedNearWhatIsWanted: actions are taken as often as is wanted, rounded down or up, and what all of them add to
// a limit stays within one agent of what is wanted.
func TestRoundedNearWhatIsWanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for trial := range 100 {
		v := &allocation{}
		var wanted, adds [][]float64
		off := 0.0
		for range 30 {
			x := slot{agents: 1 + rng.IntN(5), acts: make([]int, 2+rng.IntN(2))}
			shares, add := make([]float64, len(x.acts)), make([]float64, len(x.acts))
			sum := 0.0
			for a := range shares {
				shares[a] = rng.Float64()
				sum += shares[a]
				add[a] = rng.Float64() * float64(a)
			}
			for a := range shares {
				shares[a] *= float64(x.agents) / sum
				off -= shares[a] * add[a] / 2
			}
			v.slots, wanted, adds = append(v.slots, x), append(wanted, shares), append(adds, add)
		}
		matters := func(slot int) [][]float64 {
			add := slices.Clone(adds[slot])
			for a := range add {
				add[a] /= 2 // in the unit of the largest
			}
			return [][]float64{add}
		}
		v.round(rng.Perm(len(v.slots)), wanted, matters, 1)
		for i, x := range v.slots {
			agents := 0
			for a, n := range x.acts {
				agents += n
				off += float64(n) * adds[i][a] / 2
				if math.Abs(float64(n)-wanted[i][a]) >= 1 {
					t.Errorf("trial %d: %d agents take an action: want %g", trial, n, wanted[i][a])
				}
			}
			if agents != x.agents {
				t.Errorf("trial %d: %d agents of %d", trial, agents, x.agents)
			}
		}
		if math.Abs(off) > 1 {
			t.Errorf("trial %d: what is used is off by %g agents", trial, off)
		}
	}
}

// TestAssignedSharesAreRounded: so many agents play each policy of a plan as its share says, rounded down or up,
// whatever the policies return.
func TestAssignedSharesAreRounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 1))
	for trial := range 200 {
		f, plan := &Fleet{Returns: []string{"a", "b", "c"}}, &Plan{}
		for range 1 + rng.IntN(4) {
			f.Types = append(f.Types, Type{Count: 1 + rng.IntN(20), Model: noSteps(t)})
			kind := TypePlan{Returns: make([]float64, 3)}
			sum := 0.0
			for range 1 + rng.IntN(5) {
				a := Assignment{Share: rng.Float64()}
				sum += a.Share
				for range 3 {
					a.Returns = append(a.Returns, rng.NormFloat64())
				}
				kind.Policies = append(kind.Policies, a)
			}
			for j := range kind.Policies {
				kind.Policies[j].Share /= sum
			}
			plan.Types = append(plan.Types, kind)
		}
		f.assign(plan)
		for k, kind := range plan.Types {
			agents := 0
			for _, a := range kind.Policies {
				agents += a.Agents
				if math.Abs(float64(a.Agents)-a.Share*float64(f.Types[k].Count)) > 1+wholeShare {
					t.Errorf("trial %d: %d agents for %g", trial, a.Agents, a.Share*float64(f.Types[k].Count))
				}
			}
			if agents != f.Types[k].Count {
				t.Errorf("trial %d: %d agents of %d", trial, agents, f.Types[k].Count)
			}
		}
	}
}

// noSteps returns a model without a horizon.
func noSteps(t *testing.T) *cmdp.Model {
	t.Helper()
	k := cmdp.NewKernel()
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 0.5, Dim: 3, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
