package cmdp

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestSettingsRefuseWhatDoesNotFit(t *testing.T) {
	m, task, _, _ := smallTask(t, 1)
	conf := Confidence{10, 0.05}
	for name, c := range map[string]struct {
		task Task
		s    Settings
	}{
		"planner":           {task, Settings{Planner: "x", Confidence: conf}},
		"dual":              {task, Settings{Dual: "x", Confidence: conf}},
		"no episodes":       {task, Settings{Confidence: Confidence{0, 0.05}}},
		"failure":           {task, Settings{Confidence: Confidence{10, 1}}},
		"negative bonus":    {task, Settings{Bonus: BonusScale{Mode: Theory, Factor: -1}, Confidence: conf}},
		"pooled":            {task, Settings{Pooled: true, Confidence: conf}},
		"published batches": {task, Settings{Planner: "mvp", Bonus: BonusScale{Mode: Published, Factor: 1}, Confidence: conf}},
		"rho":               {task, Settings{Penalty: &Penalty{Rule: PenaltyGiven, Rho: -1}, Confidence: conf}},
		"rule":              {task, Settings{Penalty: &Penalty{Rule: PenaltyNone, Rho: 1}, Confidence: conf}},
	} {
		if _, err := NewLearner(m.Shape(), m.KnownReturns(), c.task, c.s); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if _, err := NewLearner(m.Shape(), nil, c.task, c.s); err == nil {
			t.Errorf("%s was accepted with learned returns", name)
		}
	}
	if _, err := NewLearner(m.Shape(), nil, task, Settings{Confidence: conf}); err != nil {
		t.Error(err)
	}
}

// TestWhatIsPursued: of every task, planner and dual update, with returns known and learned, either the parts do not
// fit or the run states what they pursue and nothing else: a bound of the cost, within what the box allows, where a
// dual of it moves, a gap where one of the target does, and a rule for ρ where both do.
func TestWhatIsPursued(t *testing.T) {
	m, both, _, _ := smallTask(t, 1)
	for i, task := range []Task{{}, {Cost: both.Cost}, {Target: both.Target}, both} {
		for _, dual := range append(Duals.Names(), "") {
			for k, planner := range append(Planners.Names(), "") {
				given := []*Penalty{nil, {Rule: PenaltyGiven, Rho: 3}, {Rule: PenaltySlater, Rho: 5, Radius: 0.1},
					{Rule: PenaltyModel, Rho: 7}}[k]
				of := cmp.Or(dual, []string{"free", "double"}[i%2])
				cost, target := i%2 == 1 && of == "double", i > 1
				fits := cost || target && of != "double"
				for _, returns := range []*Returns{nil, m.KnownReturns()} {
					l, err := NewLearner(m.Shape(), returns, task, Settings{Planner: planner, Dual: dual,
						Penalty: given, Confidence: Confidence{50, 0.1}})
					if fits != (err == nil) {
						t.Errorf("task %d, planner %q, dual %q: %v", i, planner, dual, err)
					}
					if err != nil {
						continue
					}
					run(t, m, l, 1, 20)
					f, rule, rho := l.Findings(), PenaltyNone, 1.
					switch {
					case cost && target && given == nil:
						rule, rho = PenaltyDoubling, task.Cost.Lipschitz()
					case cost && target:
						rule, rho = given.Rule, given.Rho
					}
					least, greatest := math.Inf(-1), math.Inf(-1)
					if cost {
						least, greatest = task.LeastCost(m.Shape()), greatestCost(m.Shape(), task.Cost)
					}
					bounded := least <= f.BestBound && f.Bound <= f.BestBound+1e-9 && f.BestBound <= greatest
					unit := math.Abs(floats.Norm(f.GapDirection, 2)-1) < 1e-9
					if f.PenaltyRule != rule || f.Rho != rho || !bounded || target != unit ||
						target == math.IsInf(f.Gap, -1) {
						t.Errorf("task %d, planner %q, dual %q: %+v", i, planner, dual, f)
					}
				}
			}
		}
	}
}

// TestBonusScales wants names to be read as they are written, the multiplier of each, and the
// zero value of the factor to be 1, where the number 0 switches bonuses off.
func TestBonusScales(t *testing.T) {
	for text, want := range map[string]struct {
		guaranteed bool
		times      float64
	}{"theory": {true, 1}, "practice": {false, 0.35}, "paper": {false, 1}, "published": {false, 1}, "0.1": {false, 0.1},
		"2": {true, 2}, "0": {false, 0}} {
		b, err := ParseBonusScale(text)
		if err != nil || b.String() != text || b.Guaranteed() != want.guaranteed || b.Multiplier() != want.times {
			t.Errorf("%q: %v, %g, %v", text, b, b.Multiplier(), err)
		}
	}
	rng := generator(35)
	for range 50 { // the guarantee holds from the widths of the theory on
		mode, factor := BonusMode(rng.IntN(len(modeNames))), rng.Float64()*2
		if b := (BonusScale{Mode: mode, Factor: factor}); b.Guaranteed() != (mode == Theory && factor >= 1) {
			t.Errorf("%v: guaranteed %v", b, b.Guaranteed())
		}
	}
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "theorie"} {
		if _, err := ParseBonusScale(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if zero := (BonusScale{}); zero.Multiplier() != 1 || zero.String() != "theory" || !zero.Guaranteed() {
		t.Errorf("zero value: %v, %g", zero, zero.Multiplier())
	}
	if b := (BonusScale{Mode: Practice}); b.Multiplier() != 0.35 || b.String() != "practice" {
		t.Errorf("practice without a factor: %v, %g", b, b.Multiplier())
	}
	for _, bad := range []BonusScale{{Mode: BonusMode(len(modeNames))}, {Mode: -1}, {Factor: -1}, {Factor: math.NaN()},
		{Factor: math.Inf(1)}} {
		if bad.Check() == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	sh := randomModel(t, 1, 3, 2, 2, true).Shape()
	if _, err := NewBonus(sh, true, false, BonusScale{Mode: Published, Factor: 1}, Confidence{100, 0.05}); err == nil ||
		!strings.Contains(err.Error(), "no experiments with MOMA") {
		t.Errorf("MOMA took published constants: %v", err)
	}
}

// TestTextsOfSettings: penalties and scales are written as they were read, and without what they were read from as a
// text that says the same.
func TestTextsOfSettings(t *testing.T) {
	for text, want := range map[string]Penalty{"auto": {Rule: PenaltyDoubling}, "model": {Rule: PenaltyModel},
		"slater:0.25": {Rule: PenaltySlater, Radius: 0.25}, "slater:1e-1": {Rule: PenaltySlater, Radius: 0.1},
		"3": {Rule: PenaltyGiven, Rho: 3}, "1e2": {Rule: PenaltyGiven, Rho: 100}} {
		var p, again Penalty
		err := p.UnmarshalText([]byte(text))
		written, _ := p.MarshalText()
		if p.text = ""; err != nil || string(written) != text || p != want {
			t.Errorf("%s is read as %+v and written as %s: %v", text, p, written, err)
		}
		err = again.UnmarshalText([]byte(p.String()))
		if again.text = ""; err != nil || again != want {
			t.Errorf("%+v is written as %s, which is %+v: %v", want, p, again, err)
		}
		var scale, same BonusScale
		if text != "auto" && want.Rule != PenaltyGiven {
			continue
		}
		text = strings.Replace(text, "auto", "practice", 1)
		err = scale.UnmarshalText([]byte(text))
		written, _ = scale.MarshalText()
		scale.text = ""
		if err == nil {
			err = same.UnmarshalText([]byte(scale.String()))
		}
		if same.text = ""; err != nil || string(written) != text || same != scale {
			t.Errorf("the scale %s is written as %s, and read as %+v: %v", text, written, same, err)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "NaN", "Inf", "slater:", "slater:0", "slater:-1", "slater:Inf"} {
		if err := new(Penalty).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "rho "+text) {
			t.Errorf("the penalty %q: %v", text, err)
		}
	}
}

// TestLearnedReturnsLearn: with returns unknown and random, the optimum is still
// reached.
func TestLearnedReturnsLearn(t *testing.T) {
	m, task, opt, bound := smallTask(t, 2)
	l, err := NewLearner(m.Shape(), nil, task, Settings{Bonus: BonusScale{Mode: Practice, Factor: 1},
		Confidence: Confidence{60000, 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	w := run(t, m, l, 1, 60000).Average()
	if w[0] > opt+0.05 || w[0] < opt-0.1 || w[1] > bound+0.04 {
		t.Errorf("W = %v: optimum %v with bound %v", w, opt, bound)
	}
}
