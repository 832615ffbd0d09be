package costtest

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// convexity tries f on segments: at the middle and at a random point.
func convexity(t *trial) error {
	for range t.Rounds {
		x := t.point()
		y := t.beside(x)
		for _, share := range []float64{0.5, t.rng.Float64()} {
			between := make([]float64, t.dim)
			for i := range between {
				between[i] = (1-share)*x[i] + share*y[i]
			}
			fx, fy, fz := t.Cost.Value(x), t.Cost.Value(y), t.Cost.Value(between)
			if chord := (1-share)*fx + share*fy; !t.within(fz, chord, math.Abs(fx)+math.Abs(fy)) {
				return fmt.Errorf("f(%v) = %g exceeds %g, the chord from %v to %v", between, fz, chord, x, y)
			}
		}
	}
	return nil
}

func lipschitzBound(t *trial) error {
	l := t.Cost.Lipschitz()
	for range 2 * t.Rounds {
		x := t.point()
		y := t.beside(x)
		fx, fy, gap := t.Cost.Value(x), t.Cost.Value(y), floats.Distance(x, y, 2)
		if !t.within(math.Abs(fx-fy), l*gap, math.Abs(fx)+math.Abs(fy)) {
			return fmt.Errorf("|f(%v) − f(%v)| = %g exceeds %g times the distance %g", x, y, math.Abs(fx-fy), l, gap)
		}
	}
	return nil
}

func subgradientInequality(t *trial) error {
	for range 2 * t.Rounds {
		x := t.point()
		y := t.beside(x)
		g := t.subgradient(x)
		fx, fy := t.Cost.Value(x), t.Cost.Value(y)
		line := fx - floats.Dot(g, x) + floats.Dot(g, y)
		if !t.within(line, fy, math.Abs(fx)+math.Abs(floats.Dot(g, x))) {
			return fmt.Errorf("f(%v) = %g lies below %g, the line at %v with slope %v", y, fy, line, x, g)
		}
	}
	return nil
}

// subgradientNorm holds in the interior only: at a side of the domain a
// subgradient may point out of it and be longer than the Lipschitz constant.
func subgradientNorm(t *trial) error {
	for i := range t.lower {
		if t.lower[i] == t.upper[i] {
			return nil
		}
	}
	l := t.Cost.Lipschitz()
	for range t.Rounds {
		x := t.inside()
		if g := t.subgradient(x); !t.within(floats.Norm(g, 2), l, l) {
			return fmt.Errorf("subgradient %v at %v has norm %g, Lipschitz() is %g", g, x, floats.Norm(g, 2), l)
		}
	}
	return nil
}
