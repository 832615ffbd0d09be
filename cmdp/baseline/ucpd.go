package baseline

import (
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "ucpd", New: newUCPD,
	Source: "Qiu, Wei, Yang, Ye, Wang (2020), UCPD", Planner: "KL projection: convex program with H·S²·A variables",
	Guarantee: "weak regret and violation Õ(H S √(H A HK)) against adversarial costs", Efficient: false,
	Adversarial: true,
	Needs:       []string{"known returns"},
	Certainty:   "from memory of the paper; solution of the projection derived here",
})

// mostUCPD bounds the number of variables H·S²·A of the projection.
const mostUCPD = 10_000_000

// A ucpdLearner is the state of UCPD.
type ucpdLearner struct {
	*core
	kl       *klProjection
	queue    []float64 // Q_i
	at       []float64 // visits of each row when the epoch began
	factor   float64
	price    float64 // V
	strength float64 // α
	mixing   float64 // λ
}

// newUCPD returns UCPD (upper confidence primal–dual) of Qiu, Wei, Yang, Ye and
// Wang, "Upper confidence primal-dual reinforcement learning for CMDP with
// adversarial loss" (2020), from memory: each episode
//
//	θ^t = argmin over Δ(ℓ) of ⟨V f + Σ Q_i g_i, θ⟩ + α·KL(θ ‖ θ̃^{t−1}),   Q_i ← max(0, Q_i + ⟨g_i, θ^t⟩ − α_i)
//
// where θ̃ is θ mixed with the uniform distribution of each layer with weight 1/K, V = H√K, α = HK, and Δ(ℓ)
// are the occupancies of kernels within ε = √(2S ln((K+1)SAH/p)/(N∨1)) of the frequencies in ℓ₁; a new epoch,
// with new frequencies, begins when the visits of a choice since the last one reach N∨1, the number before it:
// at its first visit, and then whenever they have doubled. The costs, adversarial in the paper and told in full
// after each episode, are here the known returns, or, where returns change, those of the episode before. The KL
// projection is exact, see klProjection (derived here). The Slater condition enters the analysis alone. It is
// the slowest baseline, and can be saved.
func newUCPD(c Config) (cmdp.Learner, error) {
	if c.Returns == nil {
		return nil, unsupported("ucpd", "it needs known returns: its costs are told in full")
	}
	core, err := newCore("ucpd", &c)
	if err != nil {
		return nil, err
	}
	if n := core.slots() * core.states; n > mostUCPD {
		return nil, unsupported("ucpd", "its projection has %d variables, more than %d", n, mostUCPD)
	}
	h := float64(core.horizon)
	l := &ucpdLearner{core: core, factor: c.Bonus.Multiplier(), queue: make([]float64, len(core.limit)),
		price: h * math.Sqrt(core.k), strength: h * core.k, mixing: 1 / core.k}
	l.replan = l.plan
	l.layOut()
	l.epoch()
	for i := range l.kl.nodes {
		x := &l.kl.nodes[i]
		l.Keep(&x.mass, &x.radius, &x.next, &x.center)
	}
	l.Keep(&l.queue, &l.at, &l.kl.v, &l.kl.opt.lbfgsPairs)
	l.Then(func() error {
		for i := range l.kl.nodes {
			l.kl.nodes[i].listSupport()
		}
		return nil
	})
	return l, nil
}

// layOut makes the nodes, with the uniform distribution of each layer.
func (l *ucpdLearner) layOut() {
	n := l.states
	k := &klProjection{states: n, horizon: l.horizon, start: make([]float64, n), v: make([]float64, l.horizon*n),
		opt: newLBFGS(l.horizon * n)}
	for _, st := range l.start {
		k.start[st.State] = st.Probability
	}
	for h := range l.horizon {
		k.layer = append(k.layer, len(k.nodes))
		f := l.offsets(h)
		for s := range n {
			if h == 0 && k.start[s] == 0 {
				continue
			}
			if f[s] == f[s+1] {
				k.nodes = append(k.nodes, klNode{state: s, slot: -1})
			}
			for c := int(f[s]); c < int(f[s+1]); c++ {
				x := klNode{state: s, slot: l.base[h] + c}
				if h < l.horizon-1 {
					x.next, x.prior, x.center = make([]float64, n), make([]float64, n), make([]float64, n)
					floats.AddConst(1/float64(n), x.next)
				}
				k.nodes = append(k.nodes, x)
			}
		}
		nodes := k.nodes[k.layer[h]:]
		for i := range nodes {
			nodes[i].mass = 1 / float64(len(nodes))
		}
	}
	k.layer = append(k.layer, len(k.nodes))
	l.kl = k
}

// epoch takes the present frequencies as the centre of the confidence set.
func (l *ucpdLearner) epoch() {
	l.at = l.visits()
	log := math.Log((l.k + 1) * float64(max(1, l.slots())) / l.p)
	for h := range l.horizon - 1 {
		for i := l.kl.layer[h]; i < l.kl.layer[h+1]; i++ {
			x := &l.kl.nodes[i]
			if x.slot < 0 {
				continue
			}
			r := &l.layer(h)[x.slot-l.base[h]]
			clear(x.center)
			for j, s := range r.next {
				x.center[s] = r.prob[j]
			}
			x.listSupport()
			x.radius = l.factor * math.Sqrt(2*float64(l.states)*log/max(1, r.visits))
			if r.visits == 0 {
				x.radius = 2 // nothing is known, whatever the factor
			}
		}
	}
}

// plan solves the projection.
func (l *ucpdLearner) plan() {
	l.mix()
	evaluations := l.kl.opt.evaluations
	l.state.Work.Programs++
	l.kl.solve() // where rounding stops it early, the occupancy is as near as can be
	l.state.Work.Planner += l.kl.opt.evaluations - evaluations
	used := make([]float64, len(l.queue))
	clear(l.policy.probs)
	for h := range l.horizon {
		for i := l.kl.layer[h]; i < l.kl.layer[h+1]; i++ {
			x := &l.kl.nodes[i]
			if x.slot >= 0 {
				l.policy.probs[x.slot] = x.mass
			}
			for j := range used {
				used[j] += x.mass * l.nodeSignal(x, h, j+1)
			}
		}
		for s := range l.states {
			l.policy.normalize(h, s)
		}
	}
	for i, b := range l.limit {
		l.queue[i] = max(0, l.queue[i]+used[i]-b)
	}
}

// nodeSignal returns signal j of a node of step h.
func (l *ucpdLearner) nodeSignal(x *klNode, h, j int) float64 {
	if x.slot < 0 {
		return l.rest(h, j)
	}
	return l.mean[x.slot*l.signals+j]
}

// mix sets the costs and the mixed occupancy that the step starts from.
func (l *ucpdLearner) mix() {
	n := float64(l.states)
	for h := range l.horizon {
		nodes := l.kl.nodes[l.kl.layer[h]:l.kl.layer[h+1]]
		share := l.mixing / float64(len(nodes))
		for i := range nodes {
			x := &nodes[i]
			x.cost = l.price * l.nodeSignal(x, h, 0)
			for j, q := range l.queue {
				x.cost += q * l.nodeSignal(x, h, j+1)
			}
			x.cost /= l.strength
			x.before = (1-l.mixing)*x.mass + share
			for s, p := range x.next {
				x.prior[s] = ((1-l.mixing)*x.mass*p + share/n) / x.before
			}
		}
	}
}

// ObserveReturns takes the expected returns of the last episode.
func (l *ucpdLearner) ObserveReturns(r *cmdp.Returns) {
	l.returns = r
	for h := range l.horizon {
		f := l.offsets(h)
		for s := range l.states {
			for a := range int(f[s+1] - f[s]) {
				l.refreshMean(h, s, a)
			}
		}
	}
}

// Observe takes an episode.
func (l *ucpdLearner) Observe(tr *cmdp.Trajectory) {
	l.observe(tr)
	for i, visits := range l.visits() {
		if visits >= max(1, 2*l.at[i]) {
			l.epoch()
			return
		}
	}
}
