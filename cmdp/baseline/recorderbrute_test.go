package baseline

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A dicePolicy has the probability of action 1 by step and state.
type dicePolicy [3][2]float64

func (p dicePolicy) Choose(rng *rand.Rand, h, s int) int {
	if rng.Float64() < p[h][s] {
		return 1
	}
	return 0
}

func (p dicePolicy) Distribution(dst []float64, h, s int) { dst[0], dst[1] = 1-p[h][s], p[h][s] }

// dicePolicies are played in turn.
var dicePolicies = []dicePolicy{
	{{0.3, 0.6}, {0.5, 0.1}, {0.9, 0.2}}, {{1, 0}, {0.7, 1}, {1, 0.4}}, {{0, 1}, {0, 0.3}, {0.1, 0.8}},
	{{0.9, 0.9}, {1, 1}, {0.6, 1}}, {{0.2, 0}, {0.4, 0.4}, {0, 0}}, {{0.5, 0.5}, {0.8, 0.2}, {0.3, 0.7}},
	{{0.1, 0.1}, {1, 0.6}, {0.2, 1}},
}

// diceChance is the probability of the successor 1 of an action in a state at a step, and
// diceReturn what each of its successors returns.
func diceChance(h, s, a int) float64 { return 0.1 + float64((5*h+3*s+2*a)%8)/10 }

func diceReturn(h, s, a, n int) []float64 {
	x, y := float64((7*h+5*s+3*a+11*n)%12)/6, float64((3*h+7*s+11*a+5*n)%12)/4
	return []float64{x, y - 1}
}

// diceModel has random starts, successors, returns and, with dicePolicies, actions.
func diceModel(t *testing.T) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 0.4}, {State: 1, Probability: 0.6}}}, 2)
	for i := range 12 {
		h, s, a := i/4, i/2%2, i%2
		p := diceChance(h, s, a)
		addRow(t, b, cmdp.Row{Step: h + 1, State: s, Action: a, Next: []cmdp.Transition{
			{Next: 0, Probability: 1 - p, Returns: diceReturn(h, s, a, 0)},
			{Next: 1, Probability: p, Returns: diceReturn(h, s, a, 1)}}})
	}
	return built(t, b)
}

// diceExpected is the expected return of a policy, by all 2·4³ episodes.
func diceExpected(p dicePolicy) []float64 {
	v := make([]float64, 2)
	for path := range 128 {
		s, weight, total := path&1, []float64{0.4, 0.6}[path&1], make([]float64, 2)
		for h := range 3 {
			a, n := path>>(1+2*h)&1, path>>(2+2*h)&1
			weight *= []float64{1 - p[h][s], p[h][s]}[a] * []float64{1 - diceChance(h, s, a), diceChance(h, s, a)}[n]
			floats.Add(total, diceReturn(h, s, a, n))
			s = n
		}
		floats.AddScaled(v, weight, total)
	}
	return v
}

// A diceLearner plays policies in turn, and says that it did some work. The policy that it hands out is its own
// and changes as soon as an episode is over, as that of learners that take a step from it.
type diceLearner struct {
	policies []dicePolicy
	policy   dicePolicy
	k        int
}

func (l *diceLearner) Policy() cmdp.Policy {
	l.policy = l.policies[l.k%len(l.policies)]
	return &l.policy
}

func (l *diceLearner) Observe(*cmdp.Trajectory) {
	l.k++
	l.policy = l.policies[l.k%len(l.policies)]
}

func (l *diceLearner) Work() Work {
	return Work{Planner: 2 * l.k, Programs: 3 * l.k, Infeasible: 5 * l.k}
}

// A diceTask is a task with what it is by definition.
type diceTask struct {
	name     string
	task     cmdp.Task
	cost     func(v []float64) float64
	distance func(v []float64) float64
	rows     []cmdp.Constraint // nil if the target is no polyhedron
	optimum  float64
}

// cornerDistance is the Euclidean distance of v from the set of all x with normal·x ≤ offset
// for each row, in the plane: the nearest point lies inside, on one side, or at a corner.
func cornerDistance(rows []cmdp.Constraint, v []float64) float64 {
	least := math.Inf(1)
	try := func(x ...float64) {
		for _, r := range rows {
			if floats.Dot(r.Normal, x) > r.Offset+1e-12 {
				return
			}
		}
		least = min(least, math.Hypot(x[0]-v[0], x[1]-v[1]))
	}
	try(v...)
	for i, r := range rows {
		a := (floats.Dot(r.Normal, v) - r.Offset) / floats.Dot(r.Normal, r.Normal)
		try(v[0]-a*r.Normal[0], v[1]-a*r.Normal[1])
		for _, q := range rows[:i] {
			if det := r.Normal[0]*q.Normal[1] - r.Normal[1]*q.Normal[0]; det != 0 {
				try((r.Offset*q.Normal[1]-r.Normal[1]*q.Offset)/det, (r.Normal[0]*q.Offset-r.Offset*q.Normal[0])/det)
			}
		}
	}
	return least
}

// diceTasks are a linear task with three rows, one of them oblique, and a curved one.
func diceTasks(t *testing.T, m *cmdp.Model) []diceTask {
	t.Helper()
	return []diceTask{
		linearDice(t, m, []cmdp.Constraint{{Normal: []float64{0, 1}, Offset: 1.4},
			{Normal: []float64{-1, 0}, Offset: -2.8}, {Normal: []float64{0.6, 0.8}, Offset: 3.2}}, -2.4),
		curvedDice(t, m, 0.15, 2.8, 1.6, 2),
	}
}

func linearDice(t *testing.T, m *cmdp.Model, rows []cmdp.Constraint, optimum float64) diceTask {
	t.Helper()
	box := boxOf(t, m)
	sets := []geometry.Set{box}
	for _, r := range rows {
		half, err := geometry.NewHalfspace(r.Normal, r.Offset)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, half)
	}
	set, err := geometry.NewIntersection(sets...)
	if err != nil {
		t.Fatal(err)
	}
	target, err := geometry.CompactOf(set)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := box.Lower(), box.Upper()
	whole := append([]cmdp.Constraint{{Normal: []float64{1, 0}, Offset: upper[0]},
		{Normal: []float64{-1, 0}, Offset: -lower[0]}, {Normal: []float64{0, 1}, Offset: upper[1]},
		{Normal: []float64{0, -1}, Offset: -lower[1]}}, rows...)
	return diceTask{"linear", cmdp.Task{Cost: linearCost(t, []float64{-1, 0.5}, box), Target: target},
		func(v []float64) float64 { return -v[0] + 0.5*v[1] },
		func(v []float64) float64 { return cornerDistance(whole, v) }, rows, optimum}
}

func curvedDice(t *testing.T, m *cmdp.Model, radius, x, y, optimum float64) diceTask {
	t.Helper()
	squared, err := cost.NewSquared([]float64{2.5, 2}, []float64{1, 3}, boxOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return diceTask{"curved", cmdp.Task{Cost: squared, Target: ballOf(t, radius, x, y)},
		func(v []float64) float64 { return (v[0]-2.5)*(v[0]-2.5) + 3*(v[1]-2)*(v[1]-2) },
		func(v []float64) float64 { return max(0, math.Hypot(v[0]-x, v[1]-y)-radius) }, nil, optimum}
}

// summed has the metrics that sum over episodes, by their definitions in docs/metrics.md.
func (d *diceTask) summed(each [][]float64) (weak, strong, weakViolation, strongViolation, share float64) {
	signed, positive := make([]float64, len(d.rows)), make([]float64, len(d.rows))
	distances := 0.0
	for _, v := range each {
		regret := d.cost(v) - d.optimum
		weak, strong = weak+regret, strong+max(0, regret)
		for i, r := range d.rows {
			x := floats.Dot(r.Normal, v) - r.Offset
			signed[i], positive[i] = signed[i]+x, positive[i]+max(0, x)
		}
		x := d.distance(v)
		distances += x
		if x > 1e-8 {
			share += 1 / float64(len(each))
		}
	}
	for i := range d.rows {
		weakViolation, strongViolation = max(weakViolation, signed[i]), max(strongViolation, positive[i])
	}
	if d.rows == nil {
		weakViolation, strongViolation = float64(len(each))*d.distance(meanOf(each)), distances
	}
	return weak, strong, weakViolation, strongViolation, share
}

// largest is the largest excess over a row, or the distance without rows.
func (d *diceTask) largest(v []float64) float64 {
	if d.rows == nil {
		return d.distance(v)
	}
	most := 0.0
	for _, r := range d.rows {
		most = max(most, floats.Dot(r.Normal, v)-r.Offset)
	}
	return most
}

func meanOf(each [][]float64) []float64 {
	mean := make([]float64, len(each[0]))
	for _, v := range each {
		floats.AddScaled(mean, 1/float64(len(each)), v)
	}
	return mean
}

// metrics computes all metrics of a run from the realised and expected returns of its
// episodes.
func (d *diceTask) metrics(realized, expected [][]float64) *Metrics {
	k := len(realized)
	m := &Metrics{Episodes: k, Average: meanOf(realized), Expected: meanOf(expected), Last: expected[k-1],
		Work: Work{Planner: 2 * k, Programs: 3 * k, Infeasible: 5 * k}}
	m.Regret, m.ExpectedRegret, m.LastRegret = d.cost(m.Average)-d.optimum, d.cost(m.Expected)-d.optimum,
		d.cost(m.Last)-d.optimum
	m.Violation, m.ExpectedViolation, m.LastViolation = d.distance(m.Average), d.distance(m.Expected),
		d.distance(m.Last)
	m.MaxViolation, m.ExpectedMaxViolation = d.largest(m.Average), d.largest(m.Expected)
	m.WeakRegret, m.StrongRegret, m.WeakViolation, m.StrongViolation, m.ViolatingShare = d.summed(expected)
	m.RealizedWeakRegret, m.RealizedStrongRegret, m.RealizedWeakViolation, m.RealizedStrongViolation,
		m.RealizedViolatingShare = d.summed(realized)
	return m
}

// TestMetricsByBruteForce compares every metric with its definition, on a model in which
// everything is random, with episodes replayed by hand and expected returns by enumeration. All
// metrics have different values, so that none can stand for another.
func TestMetricsByBruteForce(t *testing.T) {
	m := diceModel(t)
	for _, d := range diceTasks(t, m) {
		d.compare(t, m, dicePolicies, 17, 5, true)
	}
}

// TestMetricsOfDrawnRuns is TestMetricsByBruteForce for drawn runs of any length, and limits that are kept by far,
// broken by far, or now and then: sums of signed excesses are below 0 in some. Where limits were stated, excesses are
// in the units in which they were.
func TestMetricsOfDrawnRuns(t *testing.T) {
	m, rng := diceModel(t), rand.New(rand.NewPCG(30, 65))
	for trial := range 60 {
		policies := make([]dicePolicy, 1+rng.IntN(8))
		for i := range policies {
			for j := range 6 {
				policies[i][j/2][j%2] = rng.Float64()
			}
		}
		// Normals of limits point out of the middle of the returns, at about (2.7, 1.1).
		var rows []cmdp.Constraint
		for range 1 + rng.IntN(3) {
			n := []float64{rng.NormFloat64(), rng.NormFloat64()}
			floats.Scale(1/floats.Norm(n, 2), n)
			rows = append(rows, cmdp.Constraint{Normal: n, Offset: n[0]*2.7 + n[1]*1.1 + 1.6*rng.Float64()})
		}
		if trial%2 == 0 { // as they were stated, in units of their own
			for i, r := range rows {
				size := math.Exp(rng.NormFloat64())
				floats.Scale(size, r.Normal)
				rows[i].Offset *= size
			}
		}
		d := linearDice(t, m, rows, -3*rng.Float64())
		if trial%2 == 0 {
			d.task.Constraints = rows
		}
		if trial%3 == 0 {
			x, y := 2.7+0.5*rng.NormFloat64(), 1.1+0.5*rng.NormFloat64()
			curved := curvedDice(t, m, 0.05+rng.Float64(), x, y, 2*rng.Float64())
			switch trial / 3 % 3 { // goal and target, or one of them, are curved
			case 0:
				d = curved
			case 1:
				d.task.Cost, d.cost = curved.task.Cost, curved.cost
			case 2:
				d.task.Target, d.distance, d.rows = curved.task.Target, curved.distance, nil
			}
		}
		d.compare(t, m, policies, 1+rng.IntN(20), rng.Uint64(), false)
	}
}

// compare lets a recorder measure a run, and compares with the definitions.
func (d *diceTask) compare(t *testing.T, m *cmdp.Model, policies []dicePolicy, episodes int, seed uint64,
	distinct bool) {
	t.Helper()
	r, err := NewRecorder(&diceLearner{policies: policies}, m, d.task, d.optimum)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmdp.NewRunner(m, r, seed, nil).Run(t.Context(), episodes); err != nil {
		t.Fatal(err)
	}
	env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
	var realized, expected [][]float64
	for k := range episodes {
		tr := cmdp.NewTrajectory(m.Shape())
		p := policies[k%len(policies)]
		tr.Play(m, p, env, agent)
		total := make([]float64, 2)
		for h := range 3 {
			floats.Add(total, diceReturn(h, tr.States[h], tr.Actions[h], tr.States[h+1]))
		}
		realized, expected = append(realized, total), append(expected, diceExpected(p))
	}
	compareMetrics(t, d.name, r.Metrics(), *d.metrics(realized, expected), distinct && d.rows != nil)
}

// compareMetrics compares field by field, and wants the numbers of those wanted to differ if
// they have reason to.
func compareMetrics(t *testing.T, name string, got, want Metrics, distinct bool) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	seen := map[float64]string{}
	for i := range w.NumField() {
		field := w.Type().Field(i).Name
		switch x := w.Field(i).Interface().(type) {
		case float64:
			if y := g.Field(i).Float(); field == "SecondsPerEpisode" {
				if !(y > 0) {
					t.Errorf("%s: %s is %v", name, field, y)
				}
				continue
			} else if !(math.Abs(x-y) <= 1e-9) {
				t.Errorf("%s: %s is %v, want %v", name, field, y, x)
			}
			x = math.Round(1e9*x) / 1e9
			if other, twice := seen[x]; distinct && (twice || x == 0) {
				t.Errorf("%s: %s and %s are both %v: the test could not tell them apart", name, field, other, x)
			}
			seen[x] = field
		case []float64:
			if y := g.Field(i).Interface().([]float64); !floats.EqualApprox(x, y, 1e-9) {
				t.Errorf("%s: %s is %v, want %v", name, field, y, x)
			}
		default:
			if y := g.Field(i).Interface(); x != y {
				t.Errorf("%s: %s is %v, want %v", name, field, y, x)
			}
		}
	}
}
