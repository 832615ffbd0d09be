package cmdp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// Settings choose the parts of a MOMA. The zero value of each field is a default.
type Settings struct {
	// Planner is "bernstein", the default without an opponent, "hoeffding", the default in a
	// game, or "mvp", the batches and the bonus of monotonic value propagation (Zhang, Chen, Lee,
	// Du 2023), whose proof is for one direction: what a run states with it is an estimate.
	Planner string
	// Dual is "projection", "free" or "double"; by default "double" if the task has
	// a cost, else "free". The first two pursue the target alone.
	Dual string
	// Bonus is the scale of the exploration bonus.
	Bonus BonusScale
	// Penalty is the rule for ρ of the double dual update; nil means doubling.
	Penalty *Penalty
	// Confidence says over how many episodes statements hold, and how surely. More are not
	// played.
	Confidence Confidence
	// Pooled counts are shared by all steps: right only if the kernel does not
	// depend on the step, and then worth a factor √H.
	Pooled bool
}

// An Alternative is one of several that [Settings] can choose. Title is its name in papers.
type Alternative struct{ Name, Title string }

// Planners and Duals are the planners and the dual updates of MOMA.
var (
	Planners = Alternatives{{"bernstein", "VI-Bernstein"}, {"hoeffding", "VI-Hoeffding"}, {"mvp", "MVP"}}
	Duals    = Alternatives{{"projection", "projection-based"}, {"free", "projection-free"}, {"double", "double"}}
)

// Alternatives are those of one kind.
type Alternatives []Alternative

// Check returns an error unless a name is that of an alternative, or "", which stands for the default.
func (p Alternatives) Check(kind, name string) error {
	names := p.Names()
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	last := len(names) - 1
	return fmt.Errorf("%s %q: want %s or %s", kind, name, strings.Join(names[:last], ", "), names[last])
}

// Names lists the names.
func (p Alternatives) Names() (names []string) {
	for _, part := range p {
		names = append(names, part.Name)
	}
	return names
}

// Title returns the title of a name, "" if there is none of that name.
func (p Alternatives) Title(name string) string {
	for _, part := range p {
		if part.Name == name {
			return part.Title
		}
	}
	return ""
}

// DefaultPlanner is the planner that Settings choose if they name none. Against an opponent no rate is proved
// for the others.
func DefaultPlanner(game bool) string {
	if game {
		return "hoeffding"
	}
	return "bernstein"
}

// NewLearner returns a MOMA for a task in an environment of the given shape.
// returns is the table of expected returns if they are known, else nil.
func NewLearner(shape *Shape, returns *Returns, task Task, s Settings) (*MOMA, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if err := task.Check(shape.dim); err != nil {
		return nil, fmt.Errorf("cmdp: %w", err)
	}
	for _, err := range []error{Planners.Check("planner", s.Planner), Duals.Check("dual update", s.Dual)} {
		if err != nil {
			return nil, fmt.Errorf("cmdp: %w", err)
		}
	}
	if s.Planner == "" {
		s.Planner = DefaultPlanner(shape.Game())
	}
	var confidence *ReturnConfidence
	kernel := s.Confidence
	if returns == nil {
		// Kernel and returns share the failure probability.
		kernel.Failure /= 2
		if err := s.Confidence.Check(); err != nil {
			return nil, fmt.Errorf("cmdp: %w", err)
		}
		// Each coordinate of each expected return is bounded on two sides, by two inequalities.
		log, scale := math.Log(8*float64(shape.dim)/kernel.Failure)+kernel.events(shape, s.Pooled), s.Bonus.Multiplier()
		if s.Bonus.Mode == Printed { // which knows its returns
			scale = 1
		}
		confidence = NewReturnConfidence(shape, log, scale)
	}
	counts, err := NewCounts(shape, s.Pooled, confidence)
	if err != nil {
		return nil, err
	}
	bonus, err := s.newBonus(shape, kernel)
	if err != nil {
		return nil, err
	}
	planner, err := NewOptimisticVI(shape, returns, bonus)
	if err != nil {
		return nil, err
	}
	dual, err := s.newDual(shape, task)
	if err != nil {
		return nil, err
	}
	m := NewMOMA(counts, planner, dual)
	m.most = s.Confidence.Episodes
	if s.pursuesCost(task) {
		m.least = task.LeastCost(shape)
		m.greatest = max(m.least, greatestCost(shape, task.Cost))
	}
	if s.Planner == "mvp" {
		m.batches = &batches{counts.clone(), counts.clone()}
		m.Keep(m.batches.shown, m.batches.filling)
	}
	return m, nil
}

// pursuesCost reports whether the dual update looks at the cost of a task.
func (s *Settings) pursuesCost(task Task) bool {
	return task.Cost != nil && (s.Dual == "" || s.Dual == "double")
}

// greatestCost returns an upper bound of the cost of all returns in the box of possible ones: the greatest cost
// if it is affine, and else by the Lipschitz constant from the middle.
func greatestCost(shape *Shape, c cost.Cost) float64 {
	lower, upper := shape.Totals()
	if affine, ok := c.(cost.Affine); ok {
		_, greatest := geometry.LinearRange(affine.Gradient(), lower, upper)
		return greatest + affine.Offset()
	}
	middle := make([]float64, shape.dim)
	for i := range middle {
		middle[i] = lower[i] + (upper[i]-lower[i])/2
	}
	return c.Value(middle) + c.Lipschitz()*diameter(lower, upper)/2
}

func (s *Settings) newBonus(shape *Shape, conf Confidence) (Bonus, error) {
	switch {
	case s.Planner != "mvp":
		return NewBonus(shape, s.Planner == "bernstein", s.Pooled, s.Bonus, conf)
	case shape.Game():
		return nil, fmt.Errorf("cmdp: planner mvp: with an opponent no rate is proved for its bonus: want hoeffding")
	}
	return newMonotonicBonus(shape, s.Pooled, s.Bonus, conf)
}

func (s *Settings) newDual(shape *Shape, task Task) (DualUpdate, error) {
	kind := s.Dual
	if kind == "" {
		kind = "free"
		if task.Cost != nil {
			kind = "double"
		}
	}
	switch {
	case kind != "double" && task.Target == nil:
		return nil, fmt.Errorf("cmdp: the %s dual update needs a target", kind)
	case kind == "projection":
		return NewProjectionDual(task.Target), nil
	case kind == "free":
		return NewTermsDual(shape, Task{Target: task.Target}, nil)
	case task.Cost == nil:
		return nil, fmt.Errorf("cmdp: the double dual update needs a cost")
	case task.Target != nil && shape.Game():
		return nil, fmt.Errorf("cmdp: a cost within a target cannot be pursued against an opponent: want one of them")
	}
	return NewTermsDual(shape, task, s.Penalty)
}
