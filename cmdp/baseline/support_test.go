package baseline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// sparse draws a model in which every choice has two of six successors.
func sparse(t *testing.T, seed int) *problem.Problem {
	t.Helper()
	p, err := instance.New(fmt.Sprintf("garnet:S=6,A=2,H=4,d=2,b=2,seed=%d", seed))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sparseConfig is what a learner of a sparse model is told, with or without support.
func sparseConfig(t *testing.T, p *problem.Problem, told bool) Config {
	t.Helper()
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	know, err := KnowledgeOf(t.Context(), p.Model, task)
	if err != nil {
		t.Fatal(err)
	}
	if told {
		know.Support = SupportOf(p.Model)
	}
	ex := &example{model: p.Model, task: task, know: know}
	return ex.config(400)
}

// TestSupportPrograms wants column generation to agree with the explicit program where
// learners know which successors are possible, and the value to be no lower than
// without that knowledge, and not above the true optimum where it is optimistic.
func TestSupportPrograms(t *testing.T) {
	for _, name := range lpNames {
		higher := false
		for seed := 1; seed <= 4; seed++ {
			p := sparse(t, seed)
			if seed == 3 {
				p = byStep(t, p)
			}
			values := [2]float64{}
			for i, told := range []bool{false, true} {
				c := sparseConfig(t, p, told)
				c.Bonus = cmdp.TheoryTimes([]float64{1, 0.3, 0.1, 0.03}[seed-1])
				c.Pooled = seed%2 == 0
				l := newLearner(t, name, c)
				for round := range 3 {
					// The same episodes whether told or not.
					play(t, p.Model, listener{c.Knowledge.Safe, l}, uint64(seed), 5*round)
					values[i] = programValue(t, l, fmt.Sprintf("%s seed %d told %v", name, seed, told))
				}
			}
			if name == "optcmdp" && values[1] < values[0]-1e-9 {
				t.Errorf("seed %d: program %g with the support, %g without: want a smaller box", seed, values[1],
					values[0])
			}
			higher = higher || values[1] > values[0]+1e-9
		}
		if name == "optcmdp" && !higher {
			t.Error("no program is changed by the support")
		}
	}
}

// byStep returns the problem with a model whose choices lead elsewhere at every step.
func byStep(t *testing.T, p *problem.Problem) *problem.Problem {
	t.Helper()
	m := p.Model
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}, m.States())
	k := m.Kernel(0).Plain(m.Dim())
	for h := range m.Horizon() {
		for s := range m.States() {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				row := cmdp.Row{Step: h + 1, State: s, Action: int(c - k.First[s]),
					Returns: k.Returns[int(c)*m.Dim() : int(c+1)*m.Dim()]}
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					row.Next = append(row.Next, cmdp.Transition{Next: (int(k.Next[e]) + h) % m.States(),
						Probability: k.Prob[e]})
				}
				addRow(t, b, row)
			}
		}
	}
	q := *p
	var err error
	if q.Model, err = b.Build(); err != nil {
		t.Fatal(err)
	}
	if n := len(SupportOf(q.Model)); n != m.Horizon() {
		t.Fatalf("support of %d steps: want %d", n, m.Horizon())
	}
	return &q
}

// TestSupportOptimism: with the support known, and the constants of theory, the program of
// optcmdp stays at or below the optimum.
func TestSupportOptimism(t *testing.T) {
	for seed := 1; seed <= 4; seed++ {
		p := sparse(t, seed)
		c := sparseConfig(t, p, true)
		l := newLearner(t, "optcmdp", c).(*lpLearner)
		ex := &example{model: p.Model, task: c.Task, optimum: solve(t, p.Model, c.Task).Objective}
		for k := range 60 {
			value, feasible, err := l.ProgramValue()
			if err != nil {
				t.Fatal(err)
			}
			if !feasible || value > ex.unitOptimum(l.scaledTask)+1e-7 {
				t.Fatalf("seed %d episode %d: program %g (feasible %v), optimum %g", seed, k, value, feasible,
					ex.unitOptimum(l.scaledTask))
			}
			play(t, p.Model, l, uint64(k), 1)
		}
	}
}

// TestSupportIsUsed wants the learners that say they have a use for the support to play
// otherwise with it, and the others to play the same.
func TestSupportIsUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for _, a := range Algorithms() {
		if a.NoEpisodes || slices.Contains(a.Needs, "S=H=1") {
			continue
		}
		differs := false
		for seed := 1; seed <= 6 && !differs; seed++ {
			p := sparse(t, seed)
			var each [2][][]float64
			for i, told := range []bool{false, true} {
				c := sparseConfig(t, p, told)
				c.Bonus = cmdp.TheoryTimes(0.02)
				if a.Name == "optpess-lp" {
					c.Bonus = cmdp.TheoryTimes(1e-4) // leaves the safe policy
				}
				if a.Name == "conrl-knapsack" {
					c.Knowledge.Null, c.Knowledge.NullReturns = c.Knowledge.Safe, c.Knowledge.SafeReturns
				}
				if pursuesTarget(a.Name) {
					c.Task.Cost = nil
				}
				_, each[i] = play(t, p.Model, newLearner(t, a.Name, c), uint64(seed), 120)
			}
			for k := range each[0] {
				differs = differs || !slices.Equal(each[0][k], each[1][k])
			}
		}
		if differs != a.UsesSupport {
			t.Errorf("%s: played otherwise with the support: %v, says that it uses it: %v", a.Name, differs,
				a.UsesSupport)
		}
	}
}

// A listener sees the episodes of a policy that is not its own.
type listener struct {
	policy cmdp.Policy
	cmdp.Learner
}

func (l listener) Policy() cmdp.Policy { return l.policy }

func TestBadSupport(t *testing.T) {
	p := sparse(t, 1)
	good := SupportOf(p.Model)
	if err := good.check(p.Model.Shape(), true); err != nil {
		t.Fatal(err)
	}
	with := func(edit func(sp Support)) Support {
		sp := Support{slices.Clone(good[0])}
		edit(sp)
		return sp
	}
	for want, sp := range map[string]Support{
		"support of 0 steps":   {},
		"with pooled counts":   {good[0], good[0], good[0], good[0]},
		"support of 3 choices": with(func(sp Support) { sp[0] = sp[0][:3] }),
		"is empty":             with(func(sp Support) { sp[0][2] = nil }),
		"increasing":           with(func(sp Support) { sp[0][2] = []int32{3, 3} }),
		"states below 6":       with(func(sp Support) { sp[0][2] = []int32{3, 6} }),
	} {
		c := sparseConfig(t, p, false)
		c.Knowledge.Support, c.Pooled = sp, len(sp) == 4
		if _, err := New("optcmdp", c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}
