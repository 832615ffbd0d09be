package problem

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
)

// padded returns a problem whose model has besides transitions that never happen, as models that are built in Go may.
func padded(t *testing.T, rng *rand.Rand, p *Problem) *Problem {
	t.Helper()
	m, d := p.Model, p.Model.Dim()
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: d, Start: m.StartStates()}
	if m.Horizon() == 0 {
		spec.Discount = m.Discount()
	}
	for h := range m.Kernels() {
		k := m.Kernel(h).Plain(d)
		more := cmdp.Kernel{First: k.First, Offset: []int{0}, Returns: k.Returns}
		for c := range len(k.Offset) - 1 {
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				if rng.IntN(2) == 0 {
					more.Next, more.Prob = append(more.Next, int32(rng.IntN(m.States()))), append(more.Prob, 0)
					more.Outcomes = append(more.Outcomes, slices.Repeat([]float64{-99}, d)...)
				}
				more.Next, more.Prob = append(more.Next, k.Next[e]), append(more.Prob, k.Prob[e])
				if k.Outcomes != nil {
					more.Outcomes = append(more.Outcomes, k.Outcomes[e*d:(e+1)*d]...)
				}
			}
			more.Offset = append(more.Offset, len(more.Next))
		}
		if k.Outcomes == nil {
			more.Outcomes = nil
		}
		spec.Kernels = append(spec.Kernels, more)
	}
	with := *p
	with.Intervals = nil
	var err error
	if with.Model, err = cmdp.NewModel(spec); err != nil {
		t.Fatal(err)
	}
	return &with
}

// withoutHappening returns the intervals of a problem for a padded one, whose other transitions never happen.
func withoutHappening(t *testing.T, p, more *Problem) *cmdp.Intervals {
	t.Helper()
	iv, err := cmdp.NewIntervals(more.Model, func(h, c int) (lower, upper []float64) {
		least, most := p.Intervals.Row(h, c)
		if least == nil {
			return nil, nil
		}
		next, prob := p.Model.Rows(h).Row(c)
		to, shares := more.Model.Rows(h).Row(c)
		e := 0
		for i, n := range to {
			if own := e < len(next) && n == next[e] && shares[i] == prob[e]; own {
				lower, upper = append(lower, least[e]), append(upper, most[e])
				e++
				continue
			}
			lower, upper = append(lower, 0), append(upper, 0)
		}
		return lower, upper
	})
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

// parity remembers whether the states that were entered, and the places of the transitions to them, sum up to an odd
// number.
type parity struct{ states int }

func (m parity) State(s int) int      { return s % m.states }
func (m parity) Memory(s int) string  { return []string{"even", "odd"}[s/m.states] }
func (parity) Action(_, _, a int) int { return a }
func (parity) Restricted() bool       { return false }
func (parity) Parts() []MemoryPart    { return []MemoryPart{{"parity", []string{"even", "odd"}}} }

// barring is a parity that takes away the last of several actions where it is odd.
type barring struct{ parity }

func (barring) Restricted() bool { return true }

// bars reports whether a state of the model does not offer an action of the problem, which has so many.
func (m barring) bars(s, action, actions int) bool {
	return s >= m.states && actions > 1 && action == actions-1
}

// withParity returns the process of a problem that remembers a parity. Its model leaves out what never happens.
func withParity(t *testing.T, p *Problem) *Process {
	t.Helper()
	return rememberingParity(t, p, parity{p.Model.States()}, func(int, int, int) bool { return false })
}

// withBarring is withParity with choices taken away.
func withBarring(t *testing.T, p *Problem) *Process {
	t.Helper()
	memory := barring{parity{p.Model.States()}}
	return rememberingParity(t, p, memory, memory.bars)
}

func rememberingParity(t *testing.T, p *Problem, memory Memory, bars func(s, action, actions int) bool) *Process {
	t.Helper()
	m := p.Model
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates()}
	if m.Horizon() == 0 {
		spec.Discount = m.Discount()
	}
	b := cmdp.NewBuilder(spec, 2*m.States())
	for h := range m.Kernels() {
		rows := m.Rows(h)
		for s := range 2 * m.States() {
			first, end := rows.Choices(memory.State(s))
			for c := first; c < end; c++ {
				if bars(s, c-first, end-first) {
					continue
				}
				row := cmdp.Row{State: s, Action: c - first}
				if m.Kernels() > 1 {
					row.Step = h + 1
				}
				copyRow(&row, rows, c, h, nil)
				row.Next = slices.DeleteFunc(row.Next, func(x cmdp.Transition) bool { return x.Probability == 0 })
				for i := range row.Next {
					next := row.Next[i].Next
					row.Next[i].Next = next + (s/m.States()+next+i)%2*m.States()
				}
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	model, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return p.Remembering(model, memory, p.Returns)
}

// TestRemembering: a process that remembers has for each choice the intervals of the choice that it stands for, and
// their line, and its tables for generated code are the same if the model has transitions that never happen.
func TestRemembering(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(64, seed))
		f := drawFile(rng)
		p := mustParse(t, f.text)
		x := withParity(t, p)
		number := func(string) int { return 0 }
		got, want := memoryOf(withParity(t, padded(t, rng, p)), number), memoryOf(x, number)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("with transitions that never happen %+v: want %+v\n%s", got, want, f.text)
		}
		if p.Intervals == nil {
			continue
		}
		lifted, same, err := x.Lift(p.Intervals)
		if err != nil {
			t.Fatal(err)
		}
		more := padded(t, rng, p)
		longer, _, err := withParity(t, more).Lift(withoutHappening(t, p, more))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(f.text, "\n")
		stands := make(map[int][2]int) // the choices of the problem by their numbers
		for h := range x.Model.Kernels() {
			for s := range x.Model.States() {
				first, end := x.Model.Rows(h).Choices(s)
				from, _ := p.Model.Rows(h).Choices(x.Declared(s))
				for c := first; c < end; c++ {
					low, high := lifted.Row(h, c)
					least, most := p.Intervals.Row(h, from+c-first)
					also, too := longer.Row(h, c)
					want := fmt.Sprint(least, most)
					if fmt.Sprint(low, high) != want || fmt.Sprint(also, too) != want {
						t.Fatalf("step %d, %s: %v to %v, want %v to %v\n%s", h+1, x.StateName(s), low, high, least, most, f.text)
					}
					of := [2]int{h, from + c - first}
					if known, ok := stands[same(h, c)]; ok && known != of {
						t.Fatalf("choices %v and %v have one number\n%s", known, of, f.text)
					}
					stands[same(h, c)] = of
					row := fmt.Sprintf("{state: %d, action: %s, ", x.Declared(s), x.ActionName(h, s, c-first))
					var line int
					if _, err := fmt.Sscanf(x.IntervalsAt(s, c-first), "line %d", &line); h == 0 && least != nil &&
						(err != nil || !strings.Contains(lines[line-1], row)) {
						t.Fatalf("%s stands at %s\n%s", row, x.IntervalsAt(s, c-first), f.text)
					}
				}
			}
		}
	}
}
