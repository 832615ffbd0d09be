package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
)

// Independent agents play the policies that a plan gives them, and none knows of another.
type Independent struct {
	f        *Fleet
	groups   []agentGroup
	policies []cmdp.Policy // of each group
}

// NewIndependent returns the player that gives each agent the policy of a plan: so many agents of a type play a
// policy as its assignment says. Where agents begin in known states, those of each state are shared between the
// policies in proportion, as near as whole agents allow. It is an error if there is no plan, or if it is one of
// another fleet.
func NewIndependent(f *Fleet, plan *Plan) (*Independent, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if plan == nil || len(plan.Types) != len(f.Types) {
		return nil, errors.New("fleet: no plan for the types of the fleet")
	}
	p := &Independent{f: f}
	for k, t := range plan.Types {
		counts := make([]int, len(t.Policies))
		policies := make([]cmdp.Policy, len(t.Policies))
		for j, a := range t.Policies {
			if a.Policy == nil {
				return nil, fmt.Errorf("fleet: type %s: policy %d of the plan is missing", f.Types[k].Name, j+1)
			}
			counts[j] = a.Agents
			policies[j] = a.Policy
		}
		if err := p.add(k, counts, policies); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// A Drawn policy is for a share of the agents of a type.
type Drawn struct {
	Share  float64
	Policy cmdp.Policy
}

// NewSharing returns the player that shares the agents of each type out to policies, rounded to the largest
// remainders. Shares of a type sum to 1 within [cmdp.ProbabilityTolerance].
func NewSharing(f *Fleet, policies [][]Drawn) (*Independent, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if len(policies) != len(f.Types) {
		return nil, fmt.Errorf("fleet: policies of %d types: the fleet has %d", len(policies), len(f.Types))
	}
	p := &Independent{f: f}
	for k, of := range policies {
		shares := make([]float64, len(of))
		list := make([]cmdp.Policy, len(of))
		sum := 0.0
		for j, x := range of {
			if !(x.Share >= 0) || x.Policy == nil {
				return nil, fmt.Errorf("fleet: type %s: policy %d has share %g, or is missing", f.Types[k].Name, j+1,
					x.Share)
			}
			shares[j] = x.Share
			list[j] = x.Policy
			sum += x.Share
		}
		if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
			return nil, fmt.Errorf("fleet: type %s: shares of its policies sum to %g: want 1", f.Types[k].Name, sum)
		}
		if err := p.add(k, largestRemainders(f.Types[k].Count, shares), list); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// largestRemainders shares n out by shares that sum to 1.
func largestRemainders(n int, shares []float64) []int {
	counts := make([]int, len(shares))
	order := make([]int, len(shares))
	rest := make([]float64, len(shares))
	left := n
	for j, x := range shares {
		counts[j] = min(left, int(float64(n)*x+1e-6))
		rest[j] = float64(n)*x - float64(counts[j])
		left -= counts[j]
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for i := 0; left > 0; i++ {
		counts[order[i%len(order)]]++
		left--
	}
	return counts
}

// add adds the agents of a type, so many of whom play each policy.
func (p *Independent) add(kind int, counts []int, policies []cmdp.Policy) error {
	t := &p.f.Types[kind]
	sum := 0
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("fleet: type %s: %d agents play a policy", t.Name, n)
		}
		sum += n
	}
	if sum != t.Count {
		return fmt.Errorf("fleet: type %s has %d agents, the plan %d", t.Name, t.Count, sum)
	}
	starts := shareOut(t.Starts, counts)
	for j, n := range counts {
		if n == 0 {
			continue
		}
		g := agentGroup{kind: kind, count: n}
		if starts != nil {
			g.start = starts[j]
		}
		p.groups = append(p.groups, g)
		p.policies = append(p.policies, policies[j])
	}
	return nil
}

// shareOut shares agents that begin in states out to groups of the given sizes: those of one state after the
// other, in proportion to what groups still lack, rounded to the largest remainders. It returns how many of
// each group begin in each state, nil where starts is.
func shareOut(starts, counts []int) [][]int {
	if starts == nil {
		return nil
	}
	lack := slices.Clone(counts)
	out := make([][]int, len(counts))
	total := 0
	for j, n := range counts {
		out[j] = make([]int, len(starts))
		total += n
	}
	order := make([]int, len(counts))
	part := make([]float64, len(counts))
	for s, n := range starts {
		if n == 0 {
			continue
		}
		given := 0
		for j := range counts {
			order[j] = j
			exact := float64(n) * float64(lack[j]) / float64(total)
			out[j][s] = int(exact)
			part[j] = exact - math.Floor(exact)
			given += out[j][s]
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(part[b], part[a]) })
		for _, j := range order {
			if given < n && out[j][s] < lack[j] {
				out[j][s]++
				given++
			}
		}
		for j := range counts {
			lack[j] -= out[j][s]
		}
		total -= n
	}
	return out
}

// Drift bounds by how much the expected means of the first so many steps differ from long-run means, for each
// return of a fleet that is about them; see [exact.Evaluation].
func (p *Independent) Drift(ctx context.Context, steps int) ([]float64, error) {
	if steps < 1 || !p.f.Types[0].Model.Means() {
		return nil, fmt.Errorf("fleet: means of %d steps: want at least 1, and a fleet that is about long-run means",
			steps)
	}
	out := make([]float64, p.f.Dim())
	for g, of := range p.groups {
		t := &p.f.Types[of.kind]
		e, err := exact.Evaluate(ctx, t.Model, p.policies[g])
		if err != nil {
			return nil, fmt.Errorf("fleet: type %s: %w", t.Name, err)
		}
		for i, to := range t.Returns {
			if to >= 0 {
				out[to] += float64(of.count) * e.Drift[i] / float64(steps)
			}
		}
	}
	return out, nil
}

func (p *Independent) agentGroups() []agentGroup { return p.groups }

func (p *Independent) begin(rng *rand.Rand) controller { return &independentControl{p, rng, nil} }

type independentControl struct {
	*Independent
	rng           *rand.Rand
	probabilities []float64
}

func (c *independentControl) act(_ context.Context, dst [][]int, h int, now [][]int, _ []float64) error {
	for g, p := range c.groups {
		rows := c.f.Types[p.kind].Model.Rows(h)
		for s, agents := range now[g] {
			first, end := rows.Choices(s)
			if agents == 0 || first == end {
				continue
			}
			c.probabilities = slices.Grow(c.probabilities[:0], end-first)[:end-first]
			c.policies[g].Distribution(c.probabilities, h, s)
			multinomial(c.rng, agents, c.probabilities, func(a, n int) { dst[g][first+a] = n })
		}
	}
	return nil
}

// Sums returns the distribution of Normal·v for each limit of a task, in the order of [Played].Limits, where v
// are the returns of an episode. An entry is nil where values cannot be counted, or where a limit is about
// several steps, or over the episode about more than one return of a model, and without a horizon all are. What
// agents do is independent, so that these are distributions of sums.
func (p *Independent) Sums(ctx context.Context, task cmdp.Task) ([]*Sum, error) {
	rows, err := p.f.rowsOf(task)
	if err != nil {
		return nil, err
	}
	if p.f.Horizon() == 0 {
		return make([]*Sum, len(rows)), nil
	}
	summands := make([][]Summand, len(rows))
	unknown := make([]bool, len(rows))
	for g, of := range p.groups {
		for s, n := range of.start {
			if n > 0 {
				start := []cmdp.StartState{{State: s, Probability: 1}}
				if err := p.summands(ctx, rows, summands, unknown, g, n, start); err != nil {
					return nil, err
				}
			}
		}
		if of.start == nil {
			start := p.f.Types[of.kind].Model.StartStates()
			if err := p.summands(ctx, rows, summands, unknown, g, of.count, start); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*Sum, len(rows))
	for k := range rows {
		if unknown[k] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[k], err = NewSum(summands[k])
		if err != nil && !errors.Is(err, ErrNoLattice) {
			return nil, err
		}
	}
	return out, nil
}

// summands appends what agents of a group that begin in the given states add to each limit.
func (p *Independent) summands(ctx context.Context, rows []row, summands [][]Summand, unknown []bool, g, count int,
	start []cmdp.StartState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kind := p.groups[g].kind
	uses := p.f.stepUses(rows, kind, p.policies[g], start)
	var from *cmdp.Model
	for k := range rows {
		r := &rows[k]
		switch {
		case unknown[k]:
		case r.step != Episode:
			summands[k] = append(summands[k], uses[k].summand(count))
		case r.weights == nil:
			unknown[k] = true
		default:
			i, weight, single := p.f.Types[kind].single(r.weights)
			if !single {
				unknown[k] = true
				continue
			}
			if i < 0 {
				continue // nothing is added
			}
			if from == nil {
				var err error
				from, err = restarted(p.f.Types[kind].Model, start)
				if err != nil {
					return err
				}
			}
			values, probabilities, ok := monitor.Distribution(ctx, from, p.policies[g], i)
			if !ok {
				unknown[k] = true
				continue
			}
			u := make(distribution, len(values))
			for j, x := range values {
				u[p.f.Types[kind].scaled(weight, x)] += probabilities[j]
			}
			summands[k] = append(summands[k], u.summand(count))
		}
	}
	return ctx.Err()
}

// single returns the only return of a type's model that weights tell, with its weight, -1 if there is none, and
// false if there are several.
func (t *Type) single(weights []float64) (i int, weight float64, ok bool) {
	i = -1
	for j, to := range t.Returns {
		if to < 0 || weights[to] == 0 {
			continue
		}
		if i >= 0 {
			return 0, 0, false
		}
		i, weight = j, weights[to]
	}
	return i, weight, true
}

// scaled is a product as [Type.use] has it.
func (t *Type) scaled(weight, x float64) float64 {
	one := Type{Returns: []int{0}}
	return one.use([]float64{weight}, []float64{x})
}

// A distribution has the probability of each value.
type distribution map[float64]float64

// summand returns the distribution of so many variables. Values are in order, so that results are the same in
// every run.
func (d distribution) summand(count int) Summand {
	s := Summand{Count: count}
	for x := range d {
		s.Values = append(s.Values, x)
	}
	slices.Sort(s.Values)
	sum := 0.0
	for _, x := range s.Values {
		sum += d[x]
	}
	for _, x := range s.Values {
		s.Probabilities = append(s.Probabilities, d[x]/sum)
	}
	return s
}

// stepUses returns, for each row about a single step, the distribution of what one agent of a type adds to it,
// nil for others.
func (f *Fleet) stepUses(rows []row, kind int, policy cmdp.Policy, start []cmdp.StartState) []distribution {
	uses := make([]distribution, len(rows))
	at := make([][]int, f.Horizon()) // the rows of each step
	for k := range rows {
		if h := rows[k].step; h != Episode {
			at[h] = append(at[h], k)
			uses[k] = make(distribution)
		}
	}
	t := &f.Types[kind]
	propagate(t.Model, policy, 0, start, func(h int, mass float64, returns []float64) {
		for _, k := range at[h] {
			x := 0.0
			if returns != nil {
				x = t.use(rows[k].weights, returns)
			}
			uses[k][x] += mass
		}
	})
	return uses
}

// propagate goes through what an agent may do from a step on: visit is called with the probability of each
// outcome of each step and its returns, nil where the agent rests. The masses of the start need not sum to 1.
func propagate(m *cmdp.Model, policy cmdp.Policy, from int, start []cmdp.StartState,
	visit func(h int, mass float64, returns []float64)) {
	now := make([]float64, m.States())
	next := make([]float64, m.States())
	for _, st := range start {
		now[st.State] += st.Probability
	}
	probabilities := make([]float64, m.Shape().MaxActions())
	for h := from; h < m.Horizon(); h++ {
		advance(m, policy, h, next, now, probabilities, visit)
		now, next = next, now
	}
}

// advance sets next to the masses of the states after step h, of those before it. visit, which may be nil, is
// called as by propagate.
func advance(m *cmdp.Model, policy cmdp.Policy, h int, next, now, probabilities []float64,
	visit func(h int, mass float64, returns []float64)) {
	clear(next)
	rows := m.Rows(h)
	for s, mass := range now {
		if mass == 0 {
			continue
		}
		first, end := rows.Choices(s)
		if first == end {
			next[s] += mass
			if visit != nil {
				visit(h, mass, nil)
			}
			continue
		}
		chosen := probabilities[:end-first]
		policy.Distribution(chosen, h, s)
		for a, x := range chosen {
			if x == 0 {
				continue
			}
			to, prob := rows.Row(first + a)
			if visit != nil && !rows.Random() {
				visit(h, mass*x, rows.Returns(first+a))
			}
			for i, n := range to {
				y := mass * x * prob[i]
				next[n] += y
				if visit != nil && rows.Random() && y > 0 {
					visit(h, y, rows.Outcome(first+a, i))
				}
			}
		}
	}
}

// restarted returns a model with another start.
func restarted(m *cmdp.Model, start []cmdp.StartState) (*cmdp.Model, error) {
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: start}
	for h := range m.Kernels() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(h))
	}
	return cmdp.NewModel(spec)
}
