package cmdp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A BonusMode chooses the constants of bonuses and confidence radii.
type BonusMode int

// The modes. Theory has explicit constants under which optimism holds with the stated
// probability, or under which a paper's guarantee holds. Practice multiplies the range form
// by 0.35, a factor calibrated on random models (erratum E-19), and leaves the cover of
// directions out; other algorithms than MOMA have 0.35 of their constants of theory.
// Printed is MOMA's bonus as it is printed, with c = 1; for algorithms whose constants of
// theory are the printed ones it is Theory. Published has the constants of published
// experiments; MOMA, for which there are none, refuses it. Off has no bonuses and no radii.
const (
	Theory BonusMode = iota
	Practice
	Printed
	Published
	Off
)

var modeNames = [...]string{Theory: "theory", Practice: "practice", Printed: "paper", Published: "published", Off: "0"}

// A BonusScale is a mode and a factor that multiplies its constants, where 0 stands for 1.
// The zero value is Theory.
type BonusScale struct {
	Mode   BonusMode
	Factor float64
	text   string // that it was read from
}

// practiceFactor is the smallest constant without a violation of optimism in
// the calibration of erratum E-19, rounded up.
const practiceFactor = 0.35

// TheoryTimes returns the scale that multiplies the constants of theory by a number.
func TheoryTimes(factor float64) BonusScale {
	if factor == 0 {
		return BonusScale{Mode: Off}
	}
	return BonusScale{Mode: Theory, Factor: factor}
}

// ParseBonusScale reads "theory", "practice", "published", "paper" (the printed form), or a
// number that multiplies the constants of theory.
func ParseBonusScale(text string) (BonusScale, error) {
	if mode := slices.Index(modeNames[:], text); mode >= 0 {
		return BonusScale{Mode: BonusMode(mode), Factor: 1}, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 1) {
		return BonusScale{}, fmt.Errorf("bonus scale %q: want theory, practice, published, paper or a number of at least 0", text)
	}
	return TheoryTimes(x), nil
}

// UnmarshalText is [ParseBonusScale]. The text is kept for String.
func (b *BonusScale) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBonusScale(string(text))
	b.text = string(text)
	return err
}

// MarshalText returns what UnmarshalText reads.
func (b BonusScale) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the text that the scale was read from, or one that ParseBonusScale reads, for its results.
func (b BonusScale) String() string {
	if b.text != "" {
		return b.text
	}
	b = b.normal()
	if b.Mode < 0 || int(b.Mode) >= len(modeNames) {
		return fmt.Sprintf("BonusScale(%d)", b.Mode)
	}
	number := strconv.FormatFloat(b.Factor, 'g', -1, 64)
	switch {
	case b.Factor == 1:
		return modeNames[b.Mode]
	case b.Mode == Theory:
		return number
	}
	return number + "·" + modeNames[b.Mode]
}

// Check returns an error for an unknown mode, and for a factor that is negative or not
// finite.
func (b BonusScale) Check() error {
	switch {
	case b.Mode < 0 || int(b.Mode) >= len(modeNames):
		return fmt.Errorf("unknown bonus mode %d", b.Mode)
	case !(b.Factor >= 0) || math.IsInf(b.Factor, 1):
		return fmt.Errorf("bonus factor %g: want a finite number, at least 0", b.Factor)
	}
	return nil
}

// normal returns b with a factor.
func (b BonusScale) normal() BonusScale {
	b.Factor = cmp.Or(b.Factor, 1)
	return b
}

// Multiplier is what multiplies the constants of theory, or those of published experiments:
// 0.35 times the factor in Practice, 0 for Off, else the factor.
func (b BonusScale) Multiplier() float64 {
	b = b.normal()
	switch b.Mode {
	case Practice:
		return practiceFactor * b.Factor
	case Off:
		return 0
	}
	return b.Factor
}

// Guaranteed reports whether MOMA's optimism, and with it every bound that a run states,
// holds with the stated probability.
func (b BonusScale) Guaranteed() bool { return b.Mode == Theory && b.Multiplier() >= 1 }
