package exact

import (
	"context"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// mostDivided is the largest dimension where directions are divided into cones.
// There are 2^d cones at first.
const mostDivided = 8

// A gapSearch looks for the largest F(θ) = V*(θ) − h_W(θ) over unit vectors θ.
type gapSearch struct {
	model     *cmdp.Model
	target    geometry.Compact
	game      *cmdp.Minimax
	evaluator *cmdp.Evaluator
	ctx       context.Context
	opts      GapOptions
	diameter  float64 // of the box of returns
	lipschitz float64 // of F: the largest distance of a return from a point of the target
	rounding  float64 // below this a value is taken for 0
	point     []float64

	best       Gap // Value − Support is the largest found
	upper      float64
	evaluation int
	cells      int
}

func newGapSearch(ctx context.Context, m *cmdp.Model, target geometry.Compact) (*gapSearch, error) {
	game, err := cmdp.NewMinimax(m)
	if err != nil {
		return nil, fmt.Errorf("exact: %w", err)
	}
	d := m.Dim()
	s := &gapSearch{ctx: ctx, model: m, target: target, game: game, evaluator: cmdp.NewEvaluator(m),
		point: make([]float64, d), upper: math.Inf(1)}
	s.best.Value, s.best.Support = math.Inf(-1), 0
	lower, upper := m.Shape().Totals()
	dir := make([]float64, d)
	size := 0.0
	for i := range d {
		clear(dir)
		dir[i] = 1
		most := s.support(dir)
		dir[i] = -1
		least := -s.support(dir)
		far := max(upper[i]-least, most-lower[i])
		s.lipschitz += far * far
		s.diameter += (upper[i] - lower[i]) * (upper[i] - lower[i])
		size = max(size, math.Abs(lower[i]), math.Abs(upper[i]), math.Abs(least), math.Abs(most))
	}
	s.lipschitz, s.diameter = math.Sqrt(s.lipschitz), math.Sqrt(s.diameter)
	s.rounding = 1e-9 * size
	return s, nil
}

// support returns h_W(dir) and leaves in s.point where it is attained.
func (s *gapSearch) support(dir []float64) float64 {
	s.target.MaximizeLinear(s.point, dir)
	return floats.Dot(dir, s.point)
}

func (s *gapSearch) run() error {
	ctx, d := s.ctx, s.model.Dim()
	if d > mostDivided {
		s.searchAxes()
		s.bound()
		return ctx.Err()
	}
	var cells []*cell // the largest bound last
	for _, c := range orthants(d) {
		s.evaluate(c)
		cells = insert(cells, c)
	}
	s.alternate()
	for {
		top := cells[len(cells)-1]
		s.upper = top.bound
		if s.upper <= max(0, s.lower())+s.opts.Tolerance || s.upper <= s.rounding ||
			s.evaluation >= s.opts.Evaluations || d == 1 {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		before := s.lower()
		cells = cells[:len(cells)-1]
		one, two := top.halves()
		for _, c := range []*cell{one, two} {
			s.evaluate(c)
			c.bound = min(c.bound, top.bound)
			cells = insert(cells, c)
		}
		if s.lower() > before+s.opts.Tolerance {
			s.alternate()
		}
		if s.opts.Progress != nil && s.cells%100 == 0 {
			s.opts.Progress(s.evaluation, max(0, s.lower()), s.upper)
		}
	}
	if s.upper > s.lower()+s.opts.Tolerance {
		s.bound()
	}
	return ctx.Err()
}

// lower is the largest F found.
func (s *gapSearch) lower() float64 { return s.best.Value - s.best.Support }

// solve evaluates F at a unit vector, keeps it if it is the largest, and returns
// an upper bound of V* there.
func (s *gapSearch) solve(dir []float64) (value float64) {
	s.evaluation++
	low, up, _ := s.game.Solve(s.ctx, dir) // run looks at ctx
	support := s.support(dir)
	s.keepBound(dir, low, support, s.game.Opponent())
	return up
}

// worstReturn returns how far any opponent can take a policy of the agent in a direction.
func (s *gapSearch) worstReturn(dir []float64, agent cmdp.Policy) float64 {
	value, _, _ := s.game.OpponentResponse(s.ctx, dir, agent) // run looks at ctx
	return value
}

// keepBound keeps a direction and an opponent that prove a larger F.
func (s *gapSearch) keepBound(dir []float64, value, support float64, opponent *cmdp.Randomized) {
	if value-support <= s.lower() {
		return
	}
	s.best.Direction = append(s.best.Direction[:0], dir...)
	s.best.Value, s.best.Support = value, support
	s.best.Opponent = opponent.Clone()
}

// evaluate bounds F on a cell: for the policy μ that is optimal at its centre and the
// point w of the target that is extreme there, F(θ) ≤ max_ν ⟨θ, V^{μν}⟩ − ⟨θ, w⟩, which
// is convex and homogeneous in θ.
func (s *gapSearch) evaluate(c *cell) {
	s.cells++
	center, least := c.center()
	up := s.solve(center)
	w := append([]float64(nil), s.point...)
	f := up - floats.Dot(center, w)
	most := math.Inf(-1)
	for _, v := range c.edges {
		s.evaluation++
		most = max(most, s.worstReturn(v, s.game.Agent())-floats.Dot(v, w))
	}
	// A unit vector of the cone is Σ α_i v_i with 1 ≤ Σ α_i ≤ 1/least.
	c.bound = most
	if most > 0 {
		c.bound = most / least
	}
	c.bound = min(c.bound, f+s.lipschitz*math.Sqrt(max(0, 2-2*least)))
}

// alternate improves the largest F: for the opponent that proves it, the direction
// that best separates what the agent can reach from the target, and for that
// direction an optimal opponent.
func (s *gapSearch) alternate() {
	for range 20 {
		before := s.lower()
		if !s.separateReturns(s.best.Opponent) || s.lower() <= before+1e-3*s.opts.Tolerance {
			return
		}
	}
}

// separateReturns finds the distance of the target from the returns that the agent can
// reach against a policy, a lower bound of the gap, and evaluates F in the
// direction of that distance. It reports false if there is none.
func (s *gapSearch) separateReturns(opponent *cmdp.Randomized) bool {
	d := s.model.Dim()
	set := &returnDifference{gapSearch: s, opponent: opponent, v: make([]float64, d)}
	z, origin := make([]float64, d), make([]float64, d)
	oracle.NewMinNorm(set).Project(z, origin)
	size := floats.Norm(z, 2)
	if size <= s.rounding {
		return false
	}
	floats.Scale(1/size, z)
	s.evaluation++
	least, _, _ := s.game.AgentResponse(s.ctx, z, opponent)
	s.keepBound(z, least, s.support(z), opponent)
	s.solve(z)
	return true
}

// returnDifference is the set of all v − w, for v that the agent can reach against a
// policy of the opponent and w of the target.
type returnDifference struct {
	*gapSearch
	opponent *cmdp.Randomized
	v        []float64
}

// Dim returns the dimension of the returns.
func (x *returnDifference) Dim() int { return len(x.v) }

// MaximizeLinear asks the agent for its best response and the target for its
// support point, both against dir.
func (x *returnDifference) MaximizeLinear(dst, dir []float64) {
	x.evaluation += 2
	against := append([]float64(nil), dir...)
	floats.Scale(-1, against)
	_, policy, _ := x.game.AgentResponse(x.ctx, against, x.opponent)
	x.evaluator.ReturnsAgainst(x.v, policy, x.opponent)
	x.target.MaximizeLinear(dst, against)
	floats.SubTo(dst, x.v, dst)
}

// searchAxes evaluates F along the axes and their diagonal, with an alternating search
// from each.
func (s *gapSearch) searchAxes() {
	d := s.model.Dim()
	dir := make([]float64, d)
	for i := range 2*d + 2 {
		clear(dir)
		switch sign := float64(1 - 2*(i%2)); {
		case i < 2*d:
			dir[i/2] = sign
		default:
			for j := range dir {
				dir[j] = sign / math.Sqrt(float64(d))
			}
		}
		s.solve(dir)
		if s.separateReturns(s.game.Opponent().Clone()) {
			s.alternate()
		}
	}
}

// bound lowers the upper bound to the farthest that any opponent can take the
// agent's policy at the best direction: that lies in the box of what it can make of
// each coordinate.
func (s *gapSearch) bound() {
	d := s.model.Dim()
	if _, _, err := s.game.Solve(s.ctx, s.best.Direction); err != nil {
		return // run looks at ctx
	}
	agent := s.game.Agent()
	center, dir := make([]float64, d), make([]float64, d)
	half := 0.0
	for i := range d {
		clear(dir)
		dir[i] = 1
		most := s.worstReturn(dir, agent)
		dir[i] = -1
		least := -s.worstReturn(dir, agent)
		center[i] = (least + most) / 2
		half += (most - least) * (most - least) / 4
	}
	s.evaluation += 2*d + 1
	s.upper = min(s.upper, oracle.Distance(s.target, center)+math.Sqrt(half))
}

func (s *gapSearch) result() *Gap {
	g := s.best
	g.Lower, g.Upper = max(0, s.lower()), max(0, s.upper, s.lower())
	if g.Lower <= s.rounding {
		g.Lower = 0
	}
	if g.Upper <= s.rounding {
		g.Upper = 0
	}
	switch {
	case g.Lower > 0:
		g.Status = NotApproachable
	case g.Upper <= s.opts.Tolerance:
		g.Status = Approachable
	default:
		g.Status = GapUndecided
	}
	g.Evaluations, g.Cells = s.evaluation, s.cells
	return &g
}
