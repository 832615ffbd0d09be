package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// drawnDrawer returns the drawer of a drawn problem with a log, told the support or not, of returns that are learned or
// not, and of any prior weight.
func drawnDrawer(t *testing.T, seed uint64, rng *rand.Rand) (*cmdp.Model, Config, drawer) {
	t.Helper()
	m := randomModel(t, seed, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: seed%2 == 0})
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1}}, Shape: m.Shape(),
		Task: cmdp.Task{Cost: linearCost(t, []float64{1, 1}, boxOf(t, m))}, Seed: seed,
		Tuning: Tuning{PriorWeight: []float64{0, 0.25, 1, 5}[rng.IntN(4)]}}
	c.Pooled = seed%4 == 0
	if seed%3 == 1 {
		c.Returns = m.KnownReturns()
	}
	if seed%5 < 2 {
		c.Knowledge.Support = SupportOf(m)
	}
	c.Prior = logOf(t, m, c.Pooled, c.Returns == nil, 6, rng)
	return m, c, drawerOf(t, &c)
}

func drawerOf(t *testing.T, c *Config) drawer {
	t.Helper()
	e, err := newEstimate(newCoordinates(c, false), c)
	if err != nil {
		t.Fatal(err)
	}
	return newDrawer(e, c, "defined")
}

// A definedChoice is what the counts of a choice say by definition: the parameters of the Dirichlet posterior, and of
// each mean return that is learned those of its Beta posterior.
type definedChoice struct {
	visits float64
	counts []float64 // by state
	alphas []float64
	betas  [][2]float64
	lower  []float64 // of returns
	upper  []float64
}

// defined reads a choice from the counts. All states may follow, as in [randomModel].
func defined(m *cmdp.Model, c *Config, h, s, a int) *definedChoice {
	weight := c.Tuning.PriorWeight
	if weight == 0 {
		weight = OtherPriorWeight
	}
	lower, upper := m.Shape().StepReturns(h)
	x := &definedChoice{visits: float64(c.Prior.Visits(h, s, a)), counts: make([]float64, m.States()),
		lower: lower, upper: upper}
	next, times := c.Prior.AppendSuccessors(nil, nil, h, s, a)
	for i, n := range next {
		x.counts[n] += times[i]
	}
	for _, n := range x.counts {
		x.alphas = append(x.alphas, n+weight/float64(m.States()))
	}
	mean := make([]float64, m.Dim())
	c.Prior.MeanReturn(mean, h, s, a)
	for i, width := range floats.SubTo(make([]float64, m.Dim()), upper, lower) {
		good := 0.0
		if x.visits > 0 {
			good = x.visits * (mean[i] - lower[i]) / width
		}
		x.betas = append(x.betas, [2]float64{1 + good, 1 + x.visits - good})
	}
	return x
}

// means returns the means of the posterior.
func (x *definedChoice) means() (row, returns []float64) {
	sum := floats.Sum(x.alphas)
	for _, a := range x.alphas {
		row = append(row, a/sum)
	}
	for i, b := range x.betas {
		returns = append(returns, x.lower[i]+b[0]/(b[0]+b[1])*(x.upper[i]-x.lower[i]))
	}
	return row, returns
}

// rowOf has the probabilities of a choice of a model by state, and its returns.
func rowOf(m *cmdp.Model, h, s, a int) (row, returns []float64) {
	rows := m.Rows(h)
	first, _ := rows.Choices(s)
	row = make([]float64, m.States())
	next, prob := rows.Row(first + a)
	for e, to := range next {
		row[to] += prob[e]
	}
	return row, rows.Returns(first + a)
}

// TestPosteriorMeans compares the mean model, and the one of frequencies, with the definition: shares of the prior
// are in all means of the first; the second has the frequencies of what was visited. Draws have these means, and the
// spread of the posterior, within six standard errors.
func TestPosteriorMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 64))
	for seed := range uint64(12) {
		m, c, d := drawnDrawer(t, seed, rng)
		var models []*cmdp.Model
		const draws = 300
		for i := range draws + 2 {
			d.expect, d.frequencies = i == 0, i == 1
			drawn, err := d.model()
			if err != nil {
				t.Fatal(err)
			}
			models = append(models, drawn)
		}
		for h := range m.Horizon() {
			for s := range m.States() {
				for a := range m.Shape().Actions(h, s) {
					x := defined(m, &c, h, s, a)
					what := fmt.Sprintf("seed %d, step %d, state %d, action %d of %v", seed, h+1, s, a, x.counts)
					row, returns := x.means()
					if c.Returns != nil {
						first, _ := m.Shape().Choices(h, s)
						returns = c.Returns.At(h, first+a)
					}
					if p, r := rowOf(models[0], h, s, a); !floats.EqualApprox(p, row, 1e-12) ||
						!floats.EqualApprox(r, returns, 1e-12) {
						t.Errorf("%s: means %v and %v: want %v and %v", what, p, r, row, returns)
					}
					p, r := rowOf(models[1], h, s, a)
					for n, count := range x.counts {
						if x.visits > 0 && !(math.Abs(p[n]-count/x.visits) <= 1e-12) {
							t.Errorf("%s: frequencies %v", what, p)
						}
					}
					if x.visits > 0 && !floats.EqualApprox(r, returns, 1e-12) {
						t.Errorf("%s: returns %v beside frequencies: want %v", what, r, returns)
					}
					x.wantDraws(t, what, models[2:], h, s, a, c.Returns != nil)
				}
			}
		}
	}
}

// wantDraws compares the mean and the mean square of drawn rows and returns with those of the posterior, within six
// standard errors of numbers in [0,1], and for rows a crumb.
func (x *definedChoice) wantDraws(t *testing.T, what string, models []*cmdp.Model, h, s, a int, known bool) {
	t.Helper()
	n := float64(len(models))
	var first, second []float64
	for _, m := range models {
		row, returns := rowOf(m, h, s, a)
		all := append([]float64(nil), row...)
		for i, r := range returns {
			all = append(all, (r-x.lower[i])/(x.upper[i]-x.lower[i]))
		}
		if first == nil {
			first, second = make([]float64, len(all)), make([]float64, len(all))
		}
		for i, y := range all {
			first[i], second[i] = first[i]+y/n, second[i]+y*y/n
		}
	}
	params, sum := make([][2]float64, 0, len(first)), floats.Sum(x.alphas)
	for _, alpha := range x.alphas {
		params = append(params, [2]float64{alpha, sum - alpha})
	}
	if !known {
		params = append(params, x.betas...)
	}
	for i, p := range params {
		total := p[0] + p[1]
		mean := p[0] / total
		square := mean * (p[0] + 1) / (total + 1)
		slack := 6*math.Sqrt((square-mean*mean)/n) + 2e-3
		if math.Abs(first[i]-mean) > slack || math.Abs(second[i]-square) > 2*slack {
			t.Errorf("%s: number %d is drawn with mean %.4f and square %.4f: want %.4f and %.4f, within %.4f", what, i,
				first[i], second[i], mean, square, slack)
		}
	}
}

// TestPosteriorOfKnownMemory wants a memory that is known to add nothing to what has to be learned: for one and the
// same episodes the mean model of a product leads to the states, whatever is remembered, with the means of the
// posterior of the model alone, and draws spread as that posterior does.
func TestPosteriorOfKnownMemory(t *testing.T) {
	parity := func(memory int, t monitor.Transition) int { return (memory + t.Next) % 2 }
	for seed := range uint64(4) {
		m := randomModel(t, seed, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: seed%2 == 0})
		for _, weight := range []float64{0.5, 3} {
			p, l := remembering(t, m, parity, 4, Tuning{PriorWeight: weight})
			c := Config{Shape: m.Shape(), Prior: newCounts(t, m.Shape(), false), Tuning: Tuning{PriorWeight: weight}}
			replay(t, p, m, l, c.Prior)
			const draws = 300
			var models []*cmdp.Model
			for i := range draws + 1 {
				l.drawer.expect = i == 0
				drawn, err := l.drawer.model()
				if err != nil {
					t.Fatal(err)
				}
				models = append(models, drawn)
			}
			for h := range m.Horizon() {
				for pair := range p.Model.States() {
					s := p.State(pair)
					for a := range p.Model.Shape().Actions(h, pair) {
						x := defined(m, &c, h, s, a)
						want, _ := x.means()
						second, n := make([]float64, m.States()), float64(draws)
						for i, drawn := range models {
							row, _ := rowOf(drawn, h, pair, a)
							states := make([]float64, m.States())
							for to, q := range row {
								states[p.State(to)] += q
							}
							if i == 0 && !floats.EqualApprox(states, want, 1e-12) {
								t.Errorf("seed %d, step %d, state %d with memory %s, action %d of %v: means %v, want %v",
									seed, h+1, s, p.Memory(pair), a, x.counts, states, want)
							}
							for k, q := range states {
								second[k] += q * q / n * math.Min(1, float64(i))
							}
						}
						for k, alpha := range x.alphas {
							square := want[k] * (alpha + 1) / (floats.Sum(x.alphas) + 1)
							if slack := 6*math.Sqrt(square/n) + 4e-3; math.Abs(second[k]-square) > slack {
								t.Errorf("seed %d: state %d of %v has the mean square %.4f: want %.4f", seed, k, x.counts,
									second[k], square)
							}
						}
					}
				}
			}
		}
	}
}

// replay counts the transitions of the model that a learner of its product has counted: those of the pairs of each
// state that no other pair stands for.
func replay(t *testing.T, p *monitor.ProductModel, m *cmdp.Model, l *posterior, counts *cmdp.Counts) {
	t.Helper()
	for h := range m.Horizon() {
		for s := range m.States() {
			for a := range m.Shape().Actions(h, s) {
				for pair := range p.Model.States() {
					if p.State(pair) != s {
						continue
					}
					next, times := l.counts.AppendSuccessors(nil, nil, h, pair, a)
					for i, to := range next {
						if err := counts.Add(h, s, a, p.State(int(to)), uint32(times[i])); err != nil {
							t.Fatal(err)
						}
					}
					break // pairs that differ in their memory share their counts
				}
			}
		}
	}
}

// TestPlansOfConstants wants plans for drawn models to come within their gap of the best, relative to the range of the
// goal, whatever constant the goal has.
func TestPlansOfConstants(t *testing.T) {
	for seed := range uint64(20) {
		ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 4, dim: 2, stationary: seed%2 == 0})
		lower, upper := ex.model.Shape().Totals()
		for _, constant := range []float64{0, 30, -1e3, 1e6} {
			c := ex.config(1000)
			goal, err := cost.NewAffine([]float64{-1, 0}, constant, boxOf(t, ex.model))
			if err != nil {
				t.Fatal(err)
			}
			c.Task.Cost = goal
			l := newLearner(t, "posterior", c).(*posterior)
			for l.state.Episodes = range 4 {
				m, err := l.drawer.model()
				if err != nil {
					t.Fatal(err)
				}
				r, err := l.solve(m, c.Task)
				if err != nil {
					t.Fatal(err)
				}
				gap := posteriorGap / math.Sqrt(float64(l.state.Episodes+1)) * (upper[0] - lower[0])
				best := solve(t, m, ex.task)
				if away := r.Objective - constant - best.Objective; best.Status == exact.Optimal &&
					!(away <= gap+1e-9*(1+math.Abs(constant))) {
					t.Errorf("seed %d, constant %g: a plan costs %g more than the best: want %g at most", seed, constant,
						away, gap)
				}
			}
		}
	}
}
