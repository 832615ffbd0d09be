package fleet_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/fleet"
)

// BenchmarkReplanning plays episodes in which all is planned again at each step. An operation is a solution, as
// soon as there are as many as an episode has steps.
func BenchmarkReplanning(b *testing.B) {
	draw := func(types int) *fleet.Fleet {
		return random(b, rand.New(rand.NewPCG(7, 8)), shape{types: types, agents: 5, states: 5, actions: 3,
			successors: 3, horizon: 20, resources: 1})
	}
	for _, c := range []struct {
		name  string
		fleet *fleet.Fleet
		share float64
	}{
		{"machines", machines(b, 100, 20), 0.2},
		{"servers", servers(b, 600, 12), 0.4},
		{"random2", draw(2), 0.3},
		{"random20", draw(20), 0.3},
		{"random100", draw(100), 0.3},
		{"random1000", draw(1000), 0.3},
	} {
		_, task := capped(b, c.fleet, c.share)
		b.Run(c.name, func(b *testing.B) {
			player, err := fleet.NewReplanner(b.Context(), c.fleet, task, nil, 1)
			if err != nil {
				b.Fatal(err)
			}
			steps := c.fleet.Horizon()
			b.ResetTimer()
			played, err := fleet.Play(b.Context(), c.fleet, task, player,
				fleet.PlayOptions{Episodes: (b.N + steps - 1) / steps, Seed: 1, Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(-played.Each.Mean, "earned")
			b.ReportMetric(played.Kept.Share, "kept")
		})
	}
}
