package baseline

import (
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"
)

// randomPreferences draws a preference w from the simplex, uniformly, for each
// episode; the direction is −w, because the paper maximises w·V.
type randomPreferences struct {
	saved.State
	rng *rand.Rand
	dir []float64
}

// newRandomPreferences returns the stream of preferences of a seed.
func newRandomPreferences(dim int, seed uint64) *randomPreferences {
	source := cmdp.Stream(seed, "preferences")
	p := &randomPreferences{rng: rand.New(source), dir: make([]float64, dim)}
	p.Keep(source, &p.dir)
	p.draw()
	return p
}

// draw sets the next direction.
func (p *randomPreferences) draw() {
	sum := 0.0
	for i := range p.dir {
		p.dir[i] = p.rng.ExpFloat64()
		sum += p.dir[i]
	}
	for i := range p.dir {
		p.dir[i] /= -sum
	}
}

// Direction returns −w.
func (p *randomPreferences) Direction() []float64 { return p.dir }

// Observe draws the next preference. A random direction proves nothing.
func (p *randomPreferences) Observe([]float64, float64) cmdp.Evidence {
	p.draw()
	return noEvidence
}

// noEvidence proves nothing.
var noEvidence = cmdp.Evidence{Optimum: math.Inf(-1), Gap: math.Inf(-1)}
