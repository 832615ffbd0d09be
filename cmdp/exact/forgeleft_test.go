package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// TestForgedStatesLeftOut: proofs about totals that leave out states are confirmed, and what leaves out a state
// to which policies within the limits come proves no bound above the optimum, however well its numbers agree.
func TestForgedStatesLeftOut(t *testing.T) {
	proofs, leaving, forged, refused := 0, 0, 0, 0
	trials := fewer(1500)
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 23))
		p := drawEndless(t, rng, false)
		if trial%10 == 9 {
			p = drawForbidden(t, rng)
		}
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
		if err != nil {
			continue
		}
		exact.Fits(t, p.Model, task, r)
		if r.Status == exact.Infeasible {
			if r.Certificate.Without != nil {
				leaving++
			}
			if p.Target == nil && task.Cost == nil {
				if fault := conflictFault(t, p); fault != "" {
					t.Errorf("trial %d: %s\n%s", trial, fault, describeEndless(p))
				}
			}
			if err := exact.Verify(t.Context(), p.Model, task, r.Certificate); err != nil {
				t.Errorf("trial %d: %v\n%s", trial, err, describeEndless(p))
			}
			continue
		}
		if r.Status != exact.Optimal || r.Proof == nil {
			continue
		}
		proofs++
		if r.Proof.Without != nil {
			leaving++
		}
		if _, err := exact.VerifyBound(t.Context(), p.Model, task, r.Proof); err != nil {
			t.Errorf("trial %d: %v\n%s", trial, err, describeEndless(p))
		}
		for s := range p.Model.States() {
			f := *r.Proof
			f.Without = append([]int{s}, f.Without...)
			value, margin, err := exact.RecheckWithout(t.Context(), p.Model, task, &f)
			if err != nil || !(value-margin > f.Value+1e-3*(1+math.Abs(f.Value))) || math.IsInf(value, 0) {
				continue // it proves no more
			}
			forged++
			f.Bound += value - margin - f.Value + f.Margin
			f.Value, f.Margin = value, margin+1e-12*(1+math.Abs(value))
			f.Bound -= f.Margin
			bound, err := exact.VerifyBound(t.Context(), p.Model, task, &f)
			switch {
			case errors.Is(err, exact.ErrNotProved):
				refused++
			case err != nil:
				t.Errorf("trial %d: %v", trial, err)
			case bound > r.Objective+1e-6*(1+math.Abs(r.Objective)):
				t.Errorf("trial %d: bound %g without state %d: the optimum is %g\n%s", trial, bound, s, r.Objective,
					describeEndless(p))
			}
		}
	}
	if few := trials / 25; proofs < few || leaving < few || forged < few/3 || refused == 0 {
		t.Errorf("%d proofs, %d that leave out states, %d forged, %d refused: want more", proofs, leaving, forged,
			refused)
	}
}

// drawForbidden draws a problem in which a reward is gained for ever in places that cost something to come to, one
// behind the other. At a cost of 0, which is the limit, the reward is that of a single task. A third return is gained
// in a place that takes more reward to come to than there is, unless that of the other places is counted.
func drawForbidden(t *testing.T, rng *rand.Rand) *problem.Problem {
	t.Helper()
	const start, work, done, place = 0, 1, 2, 3
	places := 1 + rng.IntN(2)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 3, Start: []cmdp.StartState{{State: start, Probability: 1}}},
		place+places+1)
	last, bonus := place+places, 0.0
	add := func(s, a int, reward, cost, p float64, to int) {
		next := []cmdp.Transition{{Next: to, Probability: p}, {Next: done, Probability: 1 - p}}
		if p == 1 {
			next = next[:1]
		}
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{reward, cost, bonus},
			Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	reward := float64(1 + rng.IntN(3))
	add(start, 0, 0, 0, 1, done)
	add(start, 1, 0, 0, 1, work)
	add(work, 0, reward, 0, 1, done)
	add(start, 2, 0, 1, []float64{0.5, 1}[rng.IntN(2)], place)
	for s := place; s < place+places; s++ {
		add(s, 0, float64(1+rng.IntN(2)), 0, 1, s)
		add(s, 1, 0, 0, 1, done)
		add(s, 2, 0, 0, 1, min(s+1, place+places-1))
	}
	add(start, 3, -9, 0, 1, last)
	bonus = 1
	add(last, 0, 0, 0, 1, last)
	bonus = 0
	add(last, 1, 0, 0, 1, done)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	none, wanted := 0.0, reward+float64(rng.IntN(3)-1)
	p := &problem.Problem{Model: m, Returns: []string{"reward", "cost", "bonus"},
		Constraints: []problem.Limit{{Return: "cost", AtMost: &none}, {Return: "reward", AtLeast: &wanted}}}
	switch rng.IntN(4) {
	case 0:
		p.Goal.Maximize = "bonus"
	case 1, 2:
		p.Goal.Maximize = "reward"
		p.Constraints = p.Constraints[:1+rng.IntN(2)]
	}
	return p
}

// TestEndlessProofs: the verifiers confirm what is proved of totals, and of totals beside means, whichever directions
// were priced before that of the proof, and whatever totals can grow for ever. Limits on several returns are drawn too
// where rounding, times offsets of 1e9 or corners as far as 1e99, was taken for more than what is missing.
func TestEndlessProofs(t *testing.T) {
	verdicts, drawn := make(map[exact.Verdict]int), *endless/5
	trials := []int{2 * 4207, 2 * 9293, 2 * 14686, 2 * 18579, 2*21464 + 1, 10812}
	for trial := range drawn {
		trials = append(trials, trial)
	}
	for k, trial := range trials {
		p := drawEndless(t, rand.New(rand.NewPCG(uint64(trial/2), 23)), trial%2 == 1)
		if k >= len(trials)-drawn {
			p.Target = nil
		}
		verdict, err := proofFault(t, p)
		verdicts[verdict]++
		if err != nil {
			t.Errorf("trial %d: %v: %v\n%s", trial, verdict, err, describeEndless(p))
		}
	}
	if few := drawn / 10; verdicts[exact.Infeasible] < few || verdicts[exact.Optimal] < few {
		t.Errorf("%v: want %d of each that is proved", verdicts, few)
	}
}

// proofFault returns what verifiers say of the proof of an answer, nil without one.
func proofFault(t *testing.T, p *problem.Problem) (verdict exact.Verdict, fault error) {
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		return exact.Undecided, nil
	}
	r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
	if err != nil {
		return exact.Undecided, nil
	}
	exact.Fits(t, p.Model, task, r)
	var rational error
	switch {
	case r.Status == exact.Infeasible:
		err = exact.Verify(t.Context(), p.Model, task, r.Certificate)
		rational = exact.VerifyRational(t.Context(), p.Model, task, r.Certificate)
	case r.Status == exact.Optimal && r.Proof != nil:
		_, err = exact.VerifyBound(t.Context(), p.Model, task, r.Proof)
		_, rational = exact.VerifyBoundRational(t.Context(), p.Model, task, r.Proof)
	}
	return r.Status, errors.Join(err, rational)
}

// TestLeftOutWhereTotalsEnd: with a horizon or a discount nothing may be left out.
func TestLeftOutWhereTotalsEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	m := randomModel(t, rng, shapeOf{states: 3, actions: 2, discount: 0.9, dim: 1, successors: 2})
	task := cmdp.Task{Target: farTarget(t, rng, m)}
	r, err := exact.Solve(t.Context(), m, task, exact.Options{})
	if err != nil || r.Status != exact.Infeasible {
		t.Fatalf("%+v, %v", r, err)
	}
	r.Certificate.Without = []int{0}
	if err := exact.Verify(t.Context(), m, task, r.Certificate); !errors.Is(err, exact.ErrNotProved) {
		t.Errorf("%v", err)
	}
}

// TestLeftOutStatesExist: a proof that leaves out states that the model does not have is none.
func TestLeftOutStatesExist(t *testing.T) {
	tried := 0
	for trial := range 60 {
		p := drawEndless(t, rand.New(rand.NewPCG(uint64(trial), 23)), false)
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			continue
		}
		r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
		if err != nil || r.Certificate == nil && r.Proof == nil {
			continue
		}
		tried++
		for _, s := range []int{-1, p.Model.States()} {
			if r.Certificate != nil {
				c := *r.Certificate
				c.Without = append([]int{s}, c.Without...)
				err = exact.Verify(t.Context(), p.Model, task, &c)
			} else {
				proof := *r.Proof
				proof.Without = append([]int{s}, proof.Without...)
				_, err = exact.VerifyBound(t.Context(), p.Model, task, &proof)
			}
			if !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("trial %d: state %d is left out: %v", trial, s, err)
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d proofs were tried: want more", tried)
	}
}
