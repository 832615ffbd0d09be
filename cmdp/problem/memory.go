package problem

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"cmdpsolve/cmdp/monitor"
)

// A Memory says how a problem about the course of episodes was turned into one about expected returns.
// The model of the new problem is the product of a model and what must be remembered.
type Memory struct {
	*monitor.Product
	// Declared is the problem as it was asked, whose model has no memory.
	Declared *Problem
	// Tails holds one entry for each constraint with cvar.
	Tails []Tail
	// Always holds one entry for each bound that is to be kept in every episode.
	Always []Always
	// Notes are sentences about limits that say something else than they seem to.
	Notes []string

	options    MemoryOptions
	constraint []int        // of each constraint, its number in the declared problem
	asked      []Constraint // the constraints, before somebody changed them
	wanted     []wanted     // the limits of totals
	// pairs holds of each declared state its states in the model by what is remembered. Only policies that are read ask for it.
	pairs func() []map[string]int32
}

// A Tail is a constraint on the mean of the worst episodes. It holds if for some threshold τ the mean
// excess over τ is at most cvar·(bound − τ) (Rockafellar, Uryasev 2000); the problem asks this of
// one of the Thresholds.
type Tail struct {
	Constraint int     // its number in the declared problem
	Name       string  // such as "mean of the worst 10% of fuel ≤ 8"
	Mean       string  // what it limits, such as "mean of the worst 10% of fuel"
	Bound      float64 // of that mean
	AtLeast    bool    // Bound is the least that is allowed, else the most
	Share      float64 // of the episodes, which are the worst ones
	Thresholds []float64
	Threshold  float64
	// Excess is the return that is the mean excess over Threshold, or the shortfall below it, and Room its limit: Share times what is
	// between Threshold and Bound, below 0 if Threshold is beyond Bound and no policy can do.
	Excess string
	Room   float64

	totals func(bound float64) []float64
}

// Is reports whether a constraint of the problem is what the tail came to.
func (t *Tail) Is(c Constraint) bool {
	return c.Return == t.Excess && c.AtLeast == nil && c.AtMost != nil && *c.AtMost == t.Room
}

// bound sets the bound of the tail, whose constraint is c.
func (t *Tail) bound(c *Constraint, x float64) error {
	t.Bound, t.Room = x, t.Share*(x-t.Threshold)
	if t.AtLeast {
		t.Room, c.AtLeast = 0-t.Room, &x
	} else {
		c.AtMost = &x
	}
	t.Name = c.String()
	if t.Thresholds = t.totals(x); len(t.Thresholds) > maxThresholds {
		return fmt.Errorf("problem: the total of %s has more than %d values that the worst episodes may begin at: want a coarser resolution", c.Return, maxThresholds)
	}
	return nil
}

// Rebound returns the problem with another bound of the tail of a number, or without that limit if the bound is infinite. Model and
// Threshold are those of p.
func (p *Problem) Rebound(number int, bound float64) (*Problem, error) {
	q, memory, declared := *p, *p.Memory, *p.Memory.Declared
	q.Memory, memory.Declared = &memory, &declared
	old := memory.Tails[number]
	if math.IsInf(bound, 0) {
		q.Constraints = slices.DeleteFunc(slices.Clone(p.Constraints), old.Is)
		return &q, nil
	}
	memory.Tails, declared.Constraints = slices.Clone(memory.Tails), slices.Clone(declared.Constraints)
	tail := &memory.Tails[number]
	if err := tail.bound(&declared.Constraints[tail.Constraint], bound); err != nil {
		return nil, err
	}
	limit := Constraint{Return: tail.Excess, AtMost: &tail.Room}
	for _, list := range []*[]Constraint{&q.Constraints, &memory.asked} {
		*list = slices.Clone(*list)
		if i := slices.IndexFunc(*list, old.Is); i >= 0 {
			(*list)[i] = limit
		} else {
			*list = append(*list, limit)
		}
	}
	return &q, nil
}

// An Always is a bound that the total of a return is to keep in every episode.
type Always struct {
	Name    string // such as "fuel ≤ 40 always"
	Return  string
	Limit   float64
	AtLeast bool // the total is to be at least Limit, else at most
	// Chance is "" if the model offers no choice that may break the bound. Else it names the return that is the probability of
	// breaking the bound, which is to be 0, or that of keeping it with AtLeast, which is to be 1.
	Chance string
}

// Always returns the entries of Memory.Always, without those of which somebody has made another limit.
func (p *Problem) Always() []Always {
	if p.Memory == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Memory.Always), func(a Always) bool {
		return a.Chance != "" && !slices.ContainsFunc(p.Constraints, a.is)
	})
}

// is reports whether a constraint is what a bound came to.
func (a Always) is(c Constraint) bool {
	if a.AtLeast {
		return c.Return == a.Chance && c.AtMost == nil && *c.AtLeast == 1
	}
	return c.Return == a.Chance && c.AtLeast == nil && *c.AtMost == 0
}

// MemoryOptions say how the course of episodes is remembered.
type MemoryOptions struct {
	// Resolution is the grid for the total of a return. The total is rounded to it,
	// down and up, unless the values of the return are multiples of something as large.
	// 0 rounds nothing.
	Resolution float64
	// Thresholds are those of Memory.Tails; nil stands for the bounds themselves, which asks too much.
	Thresholds []float64
	// Bytes bounds the memory of the product, and Generate says from how many pairs on its rows are not stored, see
	// [monitor.Spec].
	Bytes, Generate int
}

// Episodic reports whether some return or constraint is about the course of episodes.
func (p *Problem) Episodic() bool {
	return slices.ContainsFunc(p.Kinds, func(r Return) bool { return r.Derived() }) ||
		slices.ContainsFunc(p.Constraints, func(c Constraint) bool { return !c.OnAverage() })
}

// Declared returns the problem as it was asked, without memory in its model.
func (p *Problem) Declared() *Problem {
	if p.Memory != nil {
		return p.Memory.Declared
	}
	return p
}

// refolded returns a problem without memory in its model that asks for the same as p. Where goal and constraints are those of
// Unfold it is the declared problem. Else a limit on the probability of passing a bound is one with a probability again, and one on the
// mean of the worst episodes one with cvar, for any threshold.
func (p *Problem) refolded() (*Problem, error) {
	m := p.Memory
	if m == nil {
		return p, nil
	}
	q := *m.Declared
	if p.Goal == q.Goal && p.Target == q.Target && reflect.DeepEqual(p.Constraints, m.asked) {
		return &q, nil
	}
	q.Goal, q.Target, q.Constraints = p.Goal, p.Target, nil
	for i, c := range m.Declared.Constraints {
		if !slices.Contains(m.constraint, i) { // kept by what the model offers
			q.Constraints = append(q.Constraints, c)
		}
	}
	q.Returns, q.Kinds = slices.Clone(q.Returns), slices.Clone(q.Kinds)
	if name := p.Goal.Maximize + p.Goal.Minimize; name != "" {
		if err := q.declare(p, name); err != nil {
			return nil, err
		}
	}
	for _, c := range p.Constraints {
		if err := q.refoldLimit(p, c); err != nil {
			return nil, err
		}
	}
	return &q, nil
}

// refoldLimit adds a constraint on a return of p to q, which may get another return for it.
func (q *Problem) refoldLimit(p *Problem, c Constraint) error {
	w, tails := p.limitOf(c.Return), p.Memory.Tails
	tail := slices.IndexFunc(tails, func(t Tail) bool { return t.Is(c) })
	switch {
	case w == nil:
	case tail >= 0:
		c = p.Memory.Declared.Constraints[tails[tail].Constraint]
	case w.limit.Kind == monitor.Above && c.AtLeast == nil && *c.AtMost >= 0 && *c.AtMost < 1:
		c = Constraint{Return: w.of, AtMost: &w.limit.At, Probability: complement(*c.AtMost)}
	case w.limit.Kind == monitor.AtLeast && c.AtMost == nil && *c.AtLeast > 0 && *c.AtLeast <= 1:
		c = Constraint{Return: w.of, AtLeast: &w.limit.At, Probability: c.AtLeast}
	default:
		if err := q.declare(p, c.Return); err != nil {
			return err
		}
	}
	q.Constraints = append(q.Constraints, c)
	return nil
}

// declare makes a return that tells about a limit one that a file can define.
func (q *Problem) declare(p *Problem, name string) error {
	w := p.limitOf(name)
	switch {
	case w == nil:
		return nil
	case w.limit.Kind == monitor.Above:
		return q.define(name, Return{Exceeds: &Threshold{w.of, w.limit.At}})
	case w.limit.Kind == monitor.Excess:
		return q.define(name, Return{Excess: &Threshold{w.of, w.limit.At}})
	}
	return fmt.Errorf("no return of a file is the same as %s", name)
}

// define adds a return.
func (q *Problem) define(name string, r Return) error {
	if slices.Contains(q.Returns, name) {
		return nil
	}
	if q.Target != nil || q.Goal.Cost != nil {
		return fmt.Errorf("%s would be one more return, and target set or cost are for those that are there", name)
	}
	if q.Kinds == nil {
		q.Kinds = make([]Return, len(q.Returns))
	}
	q.Returns, q.Kinds = append(q.Returns, name), append(q.Kinds, r)
	return nil
}

// limitOf returns the limit that a return tells about, nil if the file has the return.
func (p *Problem) limitOf(name string) *wanted {
	if slices.Contains(p.Declared().Returns, name) {
		return nil
	}
	i := slices.IndexFunc(p.Memory.wanted, func(w wanted) bool { return w.name == name })
	if i < 0 {
		return nil // of a total that was rounded
	}
	return &p.Memory.wanted[i]
}

// given lists the returns that rows give: all that are not derived.
func (p *Problem) given() []string {
	if p.Kinds == nil {
		return p.Returns
	}
	var names []string
	for i, name := range p.Returns {
		if !p.Kinds[i].Derived() {
			names = append(names, name)
		}
	}
	return names
}

// Unfold returns the problem with what must be remembered written into the states of its model, so that all of
// its returns are expected returns and its constraints bounds on them. A problem that needs no memory
// is returned as it is; one that has been unfolded is unfolded anew. Errors that concern a member are
// [MemberError]s.
func (p *Problem) Unfold(opts MemoryOptions) (*Problem, error) {
	if p = p.Declared(); !p.Episodic() {
		return p, nil
	}
	if sh := p.Model.Shape(); sh != nil && sh.Game() {
		return nil, errors.New("problem: returns and constraints about the course of an episode are for problems with one player")
	}
	q := *p
	q.Memory = &Memory{Declared: p, options: opts}
	q.Kinds, q.Constraints, q.Returns, q.States, q.Actions, q.Labels, q.Coordinates = nil, nil, nil, nil, nil, nil, nil
	q.totals = new(totals)
	u := &unfolding{p: p, q: &q, coordinate: make(map[string]int)}
	if err := u.run(); err != nil {
		return nil, err
	}
	if worst := q.Memory.Worst; worst != nil {
		// No policy keeps in every episode what it should. The least probability of failing, which is to be 0,
		// proves it.
		soft := q
		soft.Memory = &Memory{Declared: p, options: opts, Notes: []string{"Starting in " + p.StateName(worst.State) + ", every policy may come to break " + q.Memory.enforced() + "."}}
		soft.Constraints, soft.Returns, soft.totals = nil, nil, new(totals)
		u := &unfolding{p: p, q: &soft, coordinate: make(map[string]int), soft: true}
		return &soft, u.run()
	}
	return &q, nil
}

// enforced names the bounds that decide which choices the model offers.
func (m *Memory) enforced() string {
	var names []string
	for _, a := range m.Always {
		if a.Chance == "" {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or ")
}

// index lists which states of the model are about which of the declared problem.
func (m *Memory) index() []map[string]int32 {
	pairs := make([]map[string]int32, m.Base().States())
	for s := range m.Model.States() {
		of := m.State(s)
		if pairs[of] == nil {
			pairs[of] = make(map[string]int32, 1)
		}
		pairs[of][m.Product.Memory(s)] = int32(s)
	}
	return pairs
}

// remembers reports whether a memory value comes up in any state.
func (m *Memory) remembers(text string) bool {
	return slices.ContainsFunc(m.pairs(), func(in map[string]int32) bool { _, ok := in[text]; return ok })
}
