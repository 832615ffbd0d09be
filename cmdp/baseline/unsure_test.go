package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// slopes has how fast the returns of a policy change as numbers of a mean model do, by differences: change is told the
// kernels of the model to change by a step.
func slopes(t *testing.T, d *drawer, mean *cmdp.Model, policy cmdp.Policy,
	change func(kernels []cmdp.Kernel, step float64)) []float64 {
	t.Helper()
	at := func(step float64) []float64 {
		kernels := make([]cmdp.Kernel, mean.Kernels())
		for h := range kernels {
			k := mean.Kernel(h).Plain(mean.Dim())
			kernels[h] = cmdp.Kernel{First: k.First, Offset: k.Offset, Next: k.Next, Prob: slices.Clone(k.Prob),
				Returns: slices.Clone(k.Returns)}
		}
		change(kernels, step)
		m, err := newModel(d.shape, nil, d.from, kernels)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, mean.Dim())
		cmdp.NewEvaluator(m).Returns(v, policy)
		return v
	}
	const step = 1e-3
	none, half, whole := at(0), at(step/2), at(step)
	for i := range none { // the error is of the second order
		none[i] = (4*half[i] - whole[i] - 3*none[i]) / step
	}
	return none
}

// TestUnsureByDifferences compares the shares of all choices in the uncertainty of a policy's returns with the
// definition: of each row, whose posterior is Dirichlet of mean p and weight n+α, Σ p_j g_j²/(n+α+1), g_j being how
// fast the return changes as the row moves from p to successor j, and of each learned mean return the variance of its
// Beta posterior times the square of how fast the return changes with it. Returns that do not vary have no part.
func TestUnsureByDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 69))
	for seed := range uint64(12) {
		m, c, d := drawnDrawer(t, seed, rng)
		d.expect = true
		mean, err := d.model()
		if err != nil {
			t.Fatal(err)
		}
		policy := cmdp.Uniform{Shape: m.Shape()}
		variance := []float64{1, float64(seed % 2)}
		want, total := map[slot][]float64{}, make([]float64, 2)
		for h := range d.layers {
			for s := range m.States() {
				for a := range m.Shape().Actions(h, s) {
					x := defined(m, &c, h, s, a)
					part, weight := make([]float64, 2), floats.Sum(x.alphas)
					first, _ := m.Shape().Choices(h, s)
					at := first + a
					each := func(kernels []cmdp.Kernel, visit func(k *cmdp.Kernel)) {
						for step := range kernels {
							if step == h || d.pooled() {
								visit(&kernels[step])
							}
						}
					}
					for n, alpha := range x.alphas {
						slope := slopes(t, &d, mean, policy, func(kernels []cmdp.Kernel, e float64) {
							each(kernels, func(k *cmdp.Kernel) {
								for i := k.Offset[at]; i < k.Offset[at+1]; i++ {
									k.Prob[i] *= 1 - e
									if int(k.Next[i]) == n {
										k.Prob[i] += e
									}
								}
							})
						})
						for i, g := range slope {
							part[i] += alpha / weight * g * g / (weight + 1)
						}
					}
					for i, b := range x.betas {
						if c.Returns != nil {
							continue
						}
						slope := slopes(t, &d, mean, policy, func(kernels []cmdp.Kernel, e float64) {
							each(kernels, func(k *cmdp.Kernel) { k.Returns[2*at+i] += e * (x.upper[i] - x.lower[i]) })
						})
						sum := b[0] + b[1]
						part[i] += slope[i] * slope[i] * b[0] * b[1] / (sum * sum * (sum + 1))
					}
					floats.Add(total, part)
					want[slot{h, s, a}] = part
				}
			}
		}
		list := d.unsure(mean, policy, variance)
		if len(list) < 3 {
			t.Errorf("seed %d: %d choices are listed: want more", seed, len(list))
		}
		for k, u := range list {
			x := slot{max(0, u.Step), u.State, u.Action}
			share := want[x][0] / total[0]
			if seed%2 == 1 {
				share = (share + want[x][1]/total[1]) / 2
			}
			if math.Abs(u.Share-share) > 1e-4 || u.Visits != float64(c.Prior.Visits(x.h, x.s, x.a)) ||
				(u.Step < 0) != d.pooled() {
				t.Errorf("seed %d: %+v: want the share %.5f", seed, u, share)
			}
			if k > 0 && u.Share > list[k-1].Share {
				t.Errorf("seed %d: a share of %v comes after one of %v", seed, u.Share, list[k-1].Share)
			}
		}
	}
}
