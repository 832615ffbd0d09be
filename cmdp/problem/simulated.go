package problem

import (
	"fmt"
	"os"
	"reflect"
	"slices"

	"cmdpsolve/cmdp"
)

// A Simulation is what a simulator tells of itself; it takes the place of the model.
type Simulation struct {
	// Returns names the coordinates of the return.
	Returns []string
	// Horizon is the number of steps of an episode if the problem file does not say it; 0 if it
	// has to.
	Horizon int
	// Shape returns what is known in advance of episodes of so many steps.
	Shape func(horizon int) (*cmdp.Shape, error)
}

// Shape returns what is known of the problem without its kernel: the shape of the model, which
// is nil without a horizon, or that of the simulator.
func (p *Problem) Shape() *cmdp.Shape { return p.played().shape() }

// modelKeys are the keys of a problem file that only a model has.
var modelKeys = []string{"states", "labels", "coordinates", "start", "return_to_go", "uncertainty", "opponent",
	"transitions", "fleet"}

// ReadSimulated reads a problem file that says what is wanted of a simulator: its name, the
// horizon, or a discount or long-run means, goal, constraints and target. What is wrong is returned
// as [Errors], everything at once. The problem has no model.
func ReadSimulated(path string, sim *Simulation, opts ReadOptions) (*Problem, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	opts.opened(path)
	h := &header{decoder: decoder{file: path}, limits: limits{maxStates, maxHorizon, maxStored},
		p: &Problem{Returns: sim.Returns}, options: opts}
	if root, _ := h.root(string(text)); root != nil {
		h.simulated(root, sim)
	}
	if len(h.errs) > 0 {
		return nil, h.errs.sorted(path)
	}
	return h.p, nil
}

// simulated reads the document. Over which time returns count is all that it may say of the simulator.
func (h *header) simulated(root *node, sim *Simulation) {
	at := (*path)(nil)
	h.mapping(root, nil, documentKeys)
	h.readConstants(root.get("let"), at.key("let"))
	for _, m := range root.members {
		if slices.Contains(modelKeys, m.key.text) {
			h.bad(m.key, at.key(m.key.text), "this describes a model in a file, not a simulator: leave it out")
		}
	}
	if root.get("format") == nil {
		h.bad(nil, at.key("format"), "missing: want %s", Format)
	}
	h.member(root, "format", h.readFormat)
	h.member(root, "name", func(n *node, at *path) { h.p.Name, _ = h.name(n, at) })
	h.spec.Dim, h.spec.Horizon = len(sim.Returns), sim.Horizon
	h.member(root, "returns", func(n *node, at *path) {
		if n.kind == mapNode {
			h.bad(n, at, "what happens along the way, such as reach, needs a model: want the simulator's %q, or "+
				"leave them out", sim.Returns)
			return
		}
		if names, ok := h.uniqueNames(n, at); ok && !slices.Equal(names, sim.Returns) {
			h.bad(n, at, "the simulator has %q: want these, or leave them out", sim.Returns)
		}
	})
	h.readSimulatedTime(root)
	h.member(root, "goal", h.readGoal)
	h.member(root, "constraints", h.readConstraints)
	for i := range h.p.Constraints {
		if !h.p.Constraints[i].OnAverage() {
			h.bad(root.get("constraints").items[i], at.key("constraints").at(i),
				"always, probability and cvar need a model, whose states are joined with what has happened in the "+
					"episode; of a simulator only mean returns can be bounded")
		}
	}
	h.member(root, "target", h.readTarget)
	h.checkSteps(root)
	if len(h.errs) > 0 {
		h.judgeForm(root)
		return
	}
	shape, err := sim.Shape(max(1, h.spec.Horizon))
	if err == nil && h.p.SimulatedDiscount > 0 && h.p.SimulatedDiscount < 1 {
		shape, err = discountedStep(shape, h.p.SimulatedDiscount)
	}
	if err != nil {
		h.bad(root.get("horizon"), at.key("horizon"), "%s", trimmed(err, "simulator: "))
		return
	}
	h.p.Simulated = shape
	h.judgeForm(root)
	h.p.head = newHead(h.file, root)
}

// readSimulatedTime reads over which time returns count. What the simulator tells of that serves where the document
// says nothing.
func (h *header) readSimulatedTime(root *node) {
	at := (*path)(nil)
	switch {
	case slices.ContainsFunc(timeKeys, func(key string) bool { return root.get(key) != nil }):
		h.spec.Horizon = 0
		h.readTime(root)
	case h.spec.Horizon == 0:
		h.bad(nil, at.key("horizon"), "missing: want a number of steps, since the simulator tells none; or, for "+
			"plans from samples, a discount or criterion: average")
	}
	switch {
	case h.spec.Average:
		h.p.SimulatedDiscount = 1
	case h.spec.Discount == 1:
		h.bad(root.get("discount"), at.key("discount"), "totals need a model: want a discount below 1, a horizon, or "+
			"criterion: average")
	default:
		h.p.SimulatedDiscount = h.spec.Discount
	}
}

// discountedStep is the shape of a step whose returns are divided by 1 − γ.
func discountedStep(step *cmdp.Shape, discount float64) (*cmdp.Shape, error) {
	lower, upper := step.StepReturns(0)
	box := cmdp.Interval{Lower: slices.Clone(lower), Upper: slices.Clone(upper)}
	for i := range lower {
		box.Lower[i] /= 1 - discount
		box.Upper[i] /= 1 - discount
	}
	return cmdp.NewShape(cmdp.ShapeSpec{Horizon: 1, Dim: step.Dim(), Start: step.StartStates(),
		First: step.AgentOffsets(), Returns: []cmdp.Interval{box}})
}

// Wanted returns goal, constraints and target as they stand in a problem file. It allocates.
func (p *Problem) Wanted() []byte {
	b := appendValue([]byte("goal: "), reflect.ValueOf(&p.Goal).Elem())
	b = append(b, "\nconstraints:\n"...)
	for i := range p.Constraints {
		b = append(appendValue(append(b, "  - "...), reflect.ValueOf(&p.Constraints[i]).Elem()), '\n')
	}
	if p.Target != nil {
		b = append(appendValue(append(b, "target: "...), reflect.ValueOf(p.Target).Elem()), '\n')
	}
	return b
}
