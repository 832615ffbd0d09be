package baseline

import (
	"fmt"
	"math"
	"strconv"

	"cmdpsolve/cmdp"
)

// A Mode says with which constants bonuses and confidence radii are used.
type Mode int

// The modes. Theory has the constants under which the paper's guarantee holds.
// Practice multiplies them by 0.35, the factor of MOMA's own practice mode, for
// every algorithm alike. Published has the constants of published experiments, which
// [Algorithm].Published states; an algorithm for which none are known refuses it. Paper is MOMA's bonus as it is printed, with c = 1; for the others, whose theory
// constants are the printed ones, it is Theory.
const (
	Theory Mode = iota
	Practice
	Published
	Paper
)

// A Scale is a mode and a factor that multiplies its constants. The zero value
// is Theory with the factor 1; any other value with Factor 0 switches bonuses off.
type Scale struct {
	Mode   Mode
	Factor float64
}

// practiceFactor is the factor of the practice mode (erratum E-19).
const practiceFactor = 0.35

// ParseScale reads "theory", "practice", "published", "paper", or a number that
// multiplies the constants of theory.
func ParseScale(text string) (Scale, error) {
	for mode, name := range modeNames {
		if text == name {
			return Scale{Mode(mode), 1}, nil
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 1) {
		return Scale{}, fmt.Errorf("bonus scale %q: want theory, practice, published, paper or a number of at least 0", text)
	}
	return Times(x), nil
}

// Times returns the scale that multiplies the constants of theory by a number.
func Times(factor float64) Scale {
	if factor == 0 {
		return Scale{Practice, 0} // the zero Scale is another
	}
	return Scale{Theory, factor}
}

var modeNames = [...]string{Theory: "theory", Practice: "practice", Published: "published", Paper: "paper"}

// String returns the text that ParseScale reads, for its results.
func (s Scale) String() string {
	switch {
	case s == Scale{}:
		return "theory"
	case s.Mode < 0 || int(s.Mode) >= len(modeNames):
		return fmt.Sprintf("Scale(%d)", s.Mode)
	case s.Factor == 1:
		return modeNames[s.Mode]
	case s.Mode == Theory || s.Factor == 0:
		return strconv.FormatFloat(s.Factor, 'g', -1, 64)
	}
	return strconv.FormatFloat(s.Factor, 'g', -1, 64) + "·" + modeNames[s.Mode]
}

func (s Scale) check() error {
	if s.Mode < 0 || int(s.Mode) >= len(modeNames) {
		return fmt.Errorf("baseline: unknown bonus mode %d", s.Mode)
	}
	if !(s.Factor >= 0) || math.IsInf(s.Factor, 1) {
		return fmt.Errorf("baseline: bonus factor %g: want a finite number, at least 0", s.Factor)
	}
	return nil
}

// normal returns s with the zero value replaced.
func (s Scale) normal() Scale {
	if s == (Scale{}) {
		s.Factor = 1
	}
	return s
}

// factor is what multiplies the constants of theory, or of published experiments.
func (s Scale) factor() float64 {
	s = s.normal()
	if s.Mode == Practice {
		return practiceFactor * s.Factor
	}
	return s.Factor
}

// published reports whether the constants are those of published experiments.
func (s Scale) published() bool { return s.normal().Mode == Published }

// guaranteed reports whether the constants are at least those of theory.
func (s Scale) guaranteed() bool {
	s = s.normal()
	return (s.Mode == Theory || s.Mode == Paper) && s.Factor >= 1
}

// moma is the scale in the terms of package cmdp, which has no published mode: MOMA
// is printed without experiments, and others that use its bonus have their own.
func (s Scale) moma() cmdp.BonusScale {
	s = s.normal()
	mode := map[Mode]cmdp.BonusMode{Theory: cmdp.Theory, Practice: cmdp.Practice, Paper: cmdp.Printed}[s.Mode]
	return cmdp.BonusScale{Mode: mode, Factor: s.Factor}
}

// Guaranteed reports whether the bounds that a run of MOMA states hold with the stated
// probability.
func (s Scale) Guaranteed() bool { return s.moma().Guaranteed() }
