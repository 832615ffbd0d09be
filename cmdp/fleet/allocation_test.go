package fleet

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
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
			of.moveAll(want, s.slot, v.slots[s.slot].rest, s.action, func() bool { return true })
		}
		v.restAll()
		v.fill()
		for i := range v.slots {
			if !slices.Equal(v.slots[i].acts, want[i]) {
				t.Fatalf("trial %d: slot %d does %v: want %v", trial, i, v.slots[i].acts, want[i])
			}
		}
	}
}

// moveAll makes agents change their action one by one, while there are any and it fits, and as long as is wanted.
func (c *counted) moveAll(acts [][]int, slot, from, to int, wanted func() bool) {
	for acts[slot][from] > 0 && wanted() && c.fits(slot, from, to) {
		c.move(slot, from, to, 1)
		acts[slot][from]--
		acts[slot][to]++
	}
}

// A trade is a change of action, with what it costs without the prices of the step and with them.
type trade struct {
	slot, from, to int
	free, priced   float64
}

// trades lists all changes of action.
func trades(v *allocation) (all []trade) {
	for i, x := range v.slots {
		for a := range x.acts {
			for b := range x.acts {
				cost := x.value[b] - x.value[a]
				all = append(all, trade{i, a, b, cost - (x.own[b] - x.own[a]), cost})
			}
		}
	}
	return all
}

// repair changes actions limit by limit while one is broken: always by the trade that costs least for each unit that
// it relieves, of those that fit.
func (c *counted) repair(v *allocation, acts [][]int) {
	for k := range c.room {
		for c.room[k] < 0 {
			least := math.Inf(1)
			var best trade
			for _, x := range trades(v) {
				less := c.use[x.slot][k][x.from] - c.use[x.slot][k][x.to]
				if less <= 0 || acts[x.slot][x.from] == 0 || !c.fits(x.slot, x.from, x.to) {
					continue
				}
				if cost := x.free / float64(less); cost < least {
					least, best = cost, x
				}
			}
			if math.IsInf(least, 1) {
				break
			}
			c.moveAll(acts, best.slot, best.from, best.to, func() bool { return c.room[k] < 0 })
		}
	}
}

// TestRepairedOneByOne: what is broken is repaired by the trades that cost least for what they relieve, and where it
// stays broken nothing of a budget is kept for later steps. Agents who gain by it then change their actions as it fits,
// the greatest gain by the prices first.
func TestRepairedOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	broken, released, filled := 0, 0, 0
	for trial := range 400 {
		v, of := drawAllocation(rng)
		want := make([][]int, len(v.slots))
		for i := range v.slots {
			x := &v.slots[i]
			for range x.agents {
				a := rng.IntN(len(x.acts))
				v.take(x, a, 1)
				for k := range of.room {
					of.room[k] -= of.use[i][k][a]
				}
			}
			want[i] = slices.Clone(x.acts)
		}
		kept := rng.IntN(20)
		v.reserved = make([]float64, len(v.rows))
		v.reserved[0] = float64(kept) / 10
		v.room[0] -= v.reserved[0]
		of.room[0] -= kept
		of.repair(v, want)
		if slices.Min(of.room) < 0 {
			released++
			of.room[0] += kept
			of.repair(v, want)
		}
		v.repairWithBudgets()
		if slices.Min(of.room) < 0 {
			broken++
		}
		gains := slices.DeleteFunc(trades(v), func(x trade) bool { return !(x.free < 0) || want[x.slot][x.from] == 0 })
		slices.SortStableFunc(gains, func(a, b trade) int { return cmp.Compare(a.priced, b.priced) })
		for _, x := range gains {
			of.moveAll(want, x.slot, x.from, x.to, func() bool { filled++; return true })
		}
		v.fill()
		for i, x := range v.slots {
			if !slices.Equal(x.acts, want[i]) {
				t.Fatalf("trial %d: slot %d does %v: want %v", trial, i, x.acts, want[i])
			}
		}
	}
	if broken < 20 || released < 20 || filled < 100 {
		t.Errorf("%d limits stay broken, %d times what was kept is used, %d agents gain: want more", broken, released, filled)
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

// TestQuantilesOfEpisodes: a margin grows by as much as the least value that enough of the episodes do not pass is
// beyond the bound. No two episodes return the same.
func TestQuantilesOfEpisodes(t *testing.T) {
	spec := cmdp.ModelSpec{Horizon: 30, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	for h := range spec.Horizon {
		k, x := cmdp.NewKernel(), math.Ldexp(1, -h)
		for range 2 {
			k.AppendRandom([]int32{0, 1}, []float64{0.5, 0.5}, []float64{x / 2}, []float64{0, x})
			k.EndState()
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{Returns: []string{"x"}, Types: []Type{{Count: 1, Model: m, Returns: []int{0}}}}
	p, err := NewPlanner(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	limits := []Limit{{Step: Episode, Bound: 1.25}, {Step: Episode, Bound: 0.5, AtLeast: true}}
	task, err := p.Task(t.Context(), nil, limits)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Solve(t.Context(), task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	player, err := NewIndependent(f, plan)
	if err != nil {
		t.Fatal(err)
	}
	var beyond [2][]float64
	_, err = Play(t.Context(), f, task, player, PlayOptions{Episodes: marginEpisodes, Seed: 7, Each: func(v []float64) {
		for k, c := range task.Constraints {
			beyond[k] = append(beyond[k], c.Normal[0]*v[0]-c.Offset)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, probability := range []float64{0.8123, 0.99999} {
		s := &safety{planner: p, limits: limits, probability: probability, seed: 7}
		over := steps{make([]float64, 2), make([]float64, 2), make([]float64, 2)}
		if err := s.play(t.Context(), player, task, make([]*Sum, 2), make([]Holding, 2), over); err != nil {
			t.Fatal(err)
		}
		for k, least := range over.quantile {
			below, upTo := 0.0, 0.0
			for _, x := range beyond[k] {
				if x < least {
					below++
				}
				if x <= least {
					upTo++
				}
			}
			if enough := probability * marginEpisodes; upTo < enough || below >= enough {
				t.Errorf("limit %d: %g episodes are below %g, and %g are up to it: want %g", k, below, least, upTo, enough)
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
