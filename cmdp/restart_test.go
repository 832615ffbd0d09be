package cmdp

import (
	"math"
	"testing"
)

// A restarting dual does what erratum E-11 says where ρ is doubled: it takes φ, ϕ and the step counter back to their
// start, and keeps what was counted. TermsDual keeps all of it.
type restarting struct {
	*TermsDual
	start []float64 // φ
}

func newRestarting(u *TermsDual) *restarting {
	return &restarting{u, append([]float64(nil), u.state.Cost...)}
}

func (r *restarting) Observe(value []float64, low float64) Evidence {
	before := r.Doublings()
	ev := r.TermsDual.Observe(value, low)
	if r.Doublings() > before {
		copy(r.state.Cost, r.start)
		clear(r.state.Target)
		r.state.Episodes = 0
		r.setDirection()
	}
	return ev
}

// TestDoublingKeepsTheDuals measures both on small random tasks whose optimum is known by brute force, from a ρ that
// has to be doubled several times, and wants the mean return to violate less, and to miss the optimum by less, than
// after restarts. docs/design.md has figures of more tasks; -v prints these.
func TestDoublingKeepsTheDuals(t *testing.T) {
	const seeds = 12
	for _, episodes := range []int{1000, 5000} {
		var regret, violation, doublings [2]float64
		for seed := range uint64(seeds) {
			m, task, opt, bound := smallTask(t, seed)
			for i := range 2 {
				u := newDual(t, m.Shape(), task, &Penalty{Rule: PenaltyDoubling, Rho: 0.1})
				dual := DualUpdate(u)
				if i == 1 {
					dual = newRestarting(u)
				}
				w := run(t, m, newLearner(t, m, task, newBonus(t, m, true, false, Practice, episodes), dual, nil), seed,
					episodes).Average()
				over := max(0, w[1]-bound)
				violation[i] += over / seeds
				regret[i] += math.Abs(w[0]-opt) / seeds
				doublings[i] += float64(u.Doublings()) / seeds
			}
		}
		t.Logf("%d episodes: violation %.4f kept, %.4f restarted; |regret| %.4f, %.4f; doublings %.1f, %.1f",
			episodes, violation[0], violation[1], regret[0], regret[1], doublings[0], doublings[1])
		if doublings[0] < 1 || violation[0] >= violation[1] || regret[0] >= regret[1] {
			t.Error("a restart is better")
		}
	}
}
