package report

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Number is a float64 that JSON shows as null when it is not finite, and reads back as
// NaN.
type Number float64

// NaN is the Number that does not exist.
var NaN = Number(math.NaN())

// A Rough number is shown to people with three digits.
type Rough float64

// MarshalJSON writes null for what is not finite.
func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (x *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*x = NaN
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

// Numbers converts a vector; nil stays nil.
func Numbers(x []float64) []Number {
	if x == nil {
		return nil
	}
	out := make([]Number, len(x))
	for i, v := range x {
		out[i] = Number(v)
	}
	return out
}

// Short writes a number for people: at most six significant digits, "–" if there is none.
func Short[F ~float64](x F) string {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return "–"
	}
	s := strconv.FormatFloat(float64(x), 'g', 6, 64)
	if s == "-0" {
		return "0"
	}
	return s
}

// Apart writes two numbers as Short does, with as many digits more as it takes to tell them apart.
func Apart[F ~float64](x, y F) (string, string) {
	a, b := Short(x), Short(y)
	for digits := 7; a == b && math.Abs(float64(x-y)) > 0 && digits <= 17; digits++ {
		a = strconv.FormatFloat(float64(x), 'g', digits, 64)
		b = strconv.FormatFloat(float64(y), 'g', digits, 64)
	}
	return a, b
}

// Brief is Short with three digits.
func Brief[F ~float64](x F) string {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return "–"
	}
	return strconv.FormatFloat(float64(x), 'g', 3, 64)
}

// Nonzero returns a number, but 0 for one that is zero up to rounding beside others of the size scale.
func Nonzero[F ~float64](x F, scale float64) F {
	if math.Abs(float64(x)) <= 1e-12*scale {
		return 0
	}
	return x
}

// Rounded is Short of Nonzero.
func Rounded[F ~float64](x F, scale float64) string { return Short(Nonzero(x, scale)) }

// Small writes an error as a bound, since nobody needs digits that rounding makes.
func Small[F ~float64](x F) string {
	if x < 1e-9 {
		return "1e-9"
	}
	return Brief(x)
}

// Exactly writes a number so that it is read back the same; nothing if there is none.
func Exactly[F ~float64](x F) string {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'g', -1, 64)
}

// Wrap breaks text between words into lines of at most width characters, where words
// allow it.
func Wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}
