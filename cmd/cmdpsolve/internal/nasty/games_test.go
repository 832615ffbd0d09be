package nasty

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// generateGame draws a game with a horizon, with a goal or with limits.
func generateGame(m *maker) *Problem {
	m.p = &Problem{Format: "cmdp/1", States: 1 + m.IntN(3), Horizon: 1 + m.IntN(3), Returns: map[string]Return{}}
	p := m.p
	m.values = pickOf(m, []string{"0", "1", "2", "-1", "0.5"}, []string{"0.1", "0.2", "0.3", "0.7", "-0.4", "0"})
	m.names = []string{"r0", "r1"}[:1+m.IntN(2)]
	for _, name := range m.names {
		p.Returns[name] = Return{}
	}
	m.start()
	rest := m.IntN(2) * m.IntN(2)
	steps := m.chance(0.7)
	for s := range p.States {
		if s > 0 && s >= p.States-rest {
			continue
		}
		for step := range p.Horizon + 1 {
			if step > 0 && !(steps && m.chance(0.3)) {
				continue
			}
			actions, others := 1+m.IntN(3), 1+m.IntN(3)
			if step > 0 { // rows of a step stand beside those of every step
				actions, others = countActions(p, s)
			}
			for a := range actions {
				for o := range others {
					r := Row{State: s, Action: strconv.Itoa(a), Opponent: strconv.Itoa(o), Step: step,
						Next: map[string]json.Number{}, Returns: m.gives()}
					to, probabilities := m.next()
					for k, t := range to {
						r.Next[strconv.Itoa(t)] = probabilities[k]
					}
					p.Transitions = append(p.Transitions, r)
				}
			}
		}
	}
	if m.chance(0.1) {
		p.Returns["r0"], p.Returns["r9"] = Return{}, Return{Reach: m.states()}
	}
	if m.chance(0.6) {
		p.Goal = (&Goal{Maximize: m.names[0]})
		if m.chance(0.5) {
			p.Goal = &Goal{Minimize: m.names[0]}
		}
		return p
	}
	for _, name := range m.names {
		l := Limit{Return: name, AtMost: m.number(name)}
		if m.chance(0.5) {
			l.AtMost, l.AtLeast = "", l.AtMost
		}
		p.Constraints = append(p.Constraints, l)
	}
	return p
}

func countActions(p *Problem, s int) (actions, others int) {
	for _, r := range p.Transitions {
		if r.State == s && r.Step == 0 {
			a, _ := strconv.Atoi(r.Action)
			o, _ := strconv.Atoi(r.Opponent)
			actions, others = max(actions, a+1), max(others, o+1)
		}
	}
	return actions, others
}

// security returns the least weight·v that the agent can force.
func security(p *Problem, weight map[string]*big.Rat) *big.Rat {
	rows := map[[2]int][]Row{}
	for _, r := range p.Transitions {
		rows[[2]int{r.State, r.Step}] = append(rows[[2]int{r.State, r.Step}], r)
	}
	value := vector(p.States)
	for h := p.Horizon; h >= 1; h-- {
		before := vector(p.States)
		for s := range p.States {
			all := rowsAt(rows, s, h)
			if len(all) == 0 {
				before[s].Set(value[s])
				continue
			}
			actions, others := 0, 0
			pay := map[[2]int]*big.Rat{}
			for _, r := range all {
				a, _ := strconv.Atoi(r.Action)
				o, _ := strconv.Atoi(r.Opponent)
				actions, others = max(actions, a+1), max(others, o+1)
				x := new(big.Rat)
				for _, out := range r.outcomes() {
					for name, w := range weight {
						addMul(x, mul(rat(out.Probability), w), rat(out.Returns[name]))
					}
					addMul(x, rat(out.Probability), value[out.Next])
				}
				pay[[2]int{a, o}] = x
			}
			// minimise t = up − down with Σ_a x_a pay(a, o) ≤ t for every o.
			lp := program{cost: vector(actions + 2)}
			lp.cost[actions].SetInt64(1)
			lp.cost[actions+1].SetInt64(-1)
			for o := range others {
				r := row{coef: vector(actions + 2), sense: -1, bound: new(big.Rat)}
				for a := range actions {
					r.coef[a].Set(pay[[2]int{a, o}])
				}
				r.coef[actions].SetInt64(-1)
				r.coef[actions+1].SetInt64(1)
				lp.rows = append(lp.rows, r)
			}
			one := row{coef: vector(actions + 2), bound: big.NewRat(1, 1)}
			for a := range actions {
				one.coef[a].SetInt64(1)
			}
			lp.rows = append(lp.rows, one)
			before[s] = lp.solve().value
		}
		value = before
	}
	sum := new(big.Rat)
	for s, w := range p.Start {
		state, _ := strconv.Atoi(s)
		addMul(sum, rat(w), value[state])
	}
	return sum
}

// contested is what plan prints of a game.
type contested struct {
	planned
	Lower *float64 `json:"gap_lower"`
	Upper *float64 `json:"gap_upper"`
}

// judgeGame compares the value of a game, or bounds on how far the opponent can keep the agent from the limits.
func (b *Bed) judgeGame(p *Problem, _ *question, file string) *Failure {
	a, r, f := ran[contested](b, "plan", file, "--format", "json", "--quiet")
	if f != nil {
		return f
	}
	_, remembers := p.Returns["r9"]
	one := !slices.ContainsFunc(p.Transitions, func(r Row) bool { return r.Opponent != "0" })
	refused := strings.Contains(a.message(), "are for problems with one player")
	switch {
	case one && remembers: // and answered, as a decision process
		return nil
	case refused != (remembers && !one) || !refused && a.Failed != nil:
		return failure("refused", "a refusal of what is remembered, else an answer").but("%s", a.message())
	case refused:
		return nil
	}
	if p.Goal != nil {
		name, sign := p.Goal.Minimize, int64(1)
		if name == "" {
			name, sign = p.Goal.Maximize, -1
		}
		want := float(security(p, map[string]*big.Rat{name: big.NewRat(sign, 1)})) * float64(sign)
		if a.Status != "optimal" || r.Status != 0 || !finite(a.Objective) || !near(*a.Objective, want, 1e-7) ||
			!finite(a.Bound) || !near(*a.Bound, want, 1e-7) {
			return failure("value", "%.12g", want).but("%s %s, bound %s", a.Status, show(a.Objective), show(a.Bound))
		}
		return nil
	}
	names := p.names()
	signs := make([]float64, len(names))
	bounds := make([]float64, len(names))
	for k, name := range names {
		for _, l := range p.Constraints {
			if l.Return == name {
				signs[k], bounds[k] = 1, float(rat(l.AtMost))
				if l.AtMost == "" {
					signs[k], bounds[k] = -1, float(rat(l.AtLeast))
				}
			}
		}
		if signs[k] == 0 {
			return nil
		}
	}
	most, lipschitz := 0.0, 0.0
	for k, name := range names {
		least := float(security(p, map[string]*big.Rat{name: big.NewRat(1, 1)}))
		greatest := float(security(p, map[string]*big.Rat{name: big.NewRat(-1, 1)}))
		lipschitz += math.Abs(bounds[k]) + math.Abs(least) + math.Abs(greatest) + 3*float64(p.Horizon)
	}
	steps := 24
	for k := range steps + 1 {
		angle := math.Pi / 2 * float64(k) / float64(steps)
		direction := []float64{math.Cos(angle), math.Sin(angle)}
		weight := map[string]*big.Rat{}
		support := 0.0
		for k, name := range names {
			x := direction[k] * signs[k]
			if len(names) == 1 {
				x = signs[k]
			}
			weight[name] = ratOf(x)
			support += x * bounds[k]
		}
		most = max(most, float(security(p, weight))-support)
	}
	others := 0
	for _, r := range p.Transitions {
		o, _ := strconv.Atoi(r.Opponent)
		others = max(others, o)
	}
	if others == 0 { // a decision process, which has no bounds on a gap
		if a.Status == "infeasible" != (r.Status == 3) || (a.Status == "infeasible") != (most > 1e-9) {
			return failure("game", "a verdict on a gap of at least %.9g", most).but("%s, exit status %d", a.Status,
				r.Status)
		}
		return nil
	}
	far := lipschitz * math.Pi / 4 / float64(steps)
	if !finite(a.Lower) || !finite(a.Upper) || !(*a.Upper >= most-1e-7) || !(*a.Lower <= most+far) ||
		!(*a.Lower <= *a.Upper+1e-9) {
		return failure("gap", "from %.9g to %.9g", most, most+far).but("%s to %s", show(a.Lower), show(a.Upper))
	}
	if a.Status == "infeasible" != (r.Status == 3) || most > 1e-3 && a.Status != "infeasible" ||
		*a.Lower > 0 != (a.Status == "infeasible") {
		return failure("game", "a verdict on a gap of at least %.9g", most).but("%s, exit status %d, gap from %s",
			a.Status, r.Status, show(a.Lower))
	}
	return nil
}
