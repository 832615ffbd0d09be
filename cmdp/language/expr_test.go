package language_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

// value computes an expression of PRISM's language as a constant of a model.
func value(typ, text string) (*language.Expr, error) {
	model := "const " + typ + " c = " + text +
		";\nconst int k = 3; const bool yes = true; formula seven = k+4; formula half = 1/2;\n" +
		"module m x : [0..1]; [] true -> true; endmodule\nrewards " + map[string]string{
		"bool": "c : 1;", "int": "true : c;", "double": "true : c;"}[typ] + " endrewards"
	p, err := prism.Read("m.prism", model, nil)
	if err != nil {
		return nil, err
	}
	if typ == "bool" {
		return p.Rewards[0].Items[0].Guard, nil
	}
	return p.Rewards[0].Items[0].Value, nil
}

// TestNumbers: a number is an integer if it has digits alone, none of which is a 0 that leads, and else a double.
func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 1))
	part := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
	for range 300 {
		whole := part("", "0", "00", "7", "10", "007", "90", "0123", "256")
		text := whole + part("", "", "", ".0", ".25", ".007")
		if text == "" {
			continue
		}
		text += part("", "", "", "e0", "E2", "e-1", "e+03")
		if text[0] == 'e' || text[0] == 'E' {
			continue
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := value("double", text); err != nil || got.Num() != want {
			t.Errorf("%s: %v, %v: want %g", text, got, err, want)
		}
		isInt := text == whole && (whole == "0" || whole[0] != '0')
		if got, err := value("int", text); (err == nil) != isInt || err == nil && got.Num() != want {
			t.Errorf("%s: %v, error %v: want an integer: %t", text, got, err, isInt)
		}
	}
}

// TestExpressions holds values worked out by hand from the rules of PRISM's manual.
func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		typ, text string
		want      float64
	}{
		// types
		{"double", "22/7", 22.0 / 7}, {"double", "6/3", 2}, {"double", "1", 1}, {"double", "true?1:2.5", 1},
		{"double", "min(1,2.5)", 1}, {"bool", "1=1.0", 1},
		{"bool", "1<1.5", 1}, {"double", ".5", 0.5}, {"double", "1e3", 1000}, {"double", "2.5E-1", 0.25},
		{"double", "1e+2", 100}, {"double", "1.5+1", 2.5},
		// functions
		{"int", "min(3,1,2)", 1}, {"int", "max(3,1,2)", 3}, {"int", "max(4)", 4}, {"double", "max(3,1.5)", 3},
		{"int", "floor(13.5)", 13}, {"int", "floor(-13.5)", -14},
		{"int", "ceil(13.5)", 14}, {"int", "ceil(-13.5)", -13}, {"int", "round(13.5)", 14}, {"int", "round(-1.5)", -1},
		{"int", "round(-1.6)", -2}, {"int", "floor(3)", 3},
		{"int", "pow(2,8)", 256}, {"double", "pow(9.0,0.5)", 3}, {"int", "pow(0,0)", 1}, {"double", "pow(2,-1.0)", 0.5},
		{"double", "2^0.5", math.Sqrt2},
		{"int", "mod(1977,100)", 77}, {"int", "mod(-1,5)", 4}, {"int", "mod(-5,5)", 0}, {"double", "log(8,2)", 3},
		{"double", "log(100,10.0)", 2},
		{"int", "func(floor,13.5)", 13}, {"int", "func(min,4,3)", 3}, {"int", "func(mod,7,4)", 3},
		{"int", "ceil(7/2)", 4},
		// constants and formulas
		{"int", "k", 3}, {"int", "seven", 7}, {"int", "seven*2", 14}, {"double", "half+k", 3.5}, {"bool", "yes&k=3", 1},
		// limits
		{"int", "9223372036854775807", math.MaxInt64}, {"int", "-9223372036854775807-1", math.MinInt64},
		{"int", "3037000499*3037000499", 9223372030926249001},
		{"int", "(-2)^63", math.MinInt64}, {"int", "4611686018427387904*(-2)", math.MinInt64},
		{"int", "floor(-9223372036854775808.0)", math.MinInt64}, {"int", "floor(9223372036854774784.0)", 9223372036854774784},
		{"int", "1^1000000000000", 1}, {"int", "(-1)^1000000000001", -1},
		// what is not asked for has no value to be wrong
		{"bool", "false&mod(1,0)=0", 0}, {"bool", "true|mod(1,0)=0", 1}, {"int", "true?1:mod(1,0)", 1},
		{"bool", "false=>mod(1,0)=0", 1},
	} {
		e, err := value(c.typ, c.text)
		if err != nil {
			t.Errorf("%s %s: %v", c.typ, c.text, err)
			continue
		}
		got := e.Num()
		if e.Type == language.Bool {
			got = float64(e.Int)
		}
		if e.Op != language.Literal || math.Abs(got-c.want) > 1e-15*math.Abs(c.want) {
			t.Errorf("%s %s: got %s, want %g", c.typ, c.text, e.Value(), c.want)
		}
	}
}

// A written is an expression with the level of its operator: one that stands below another operator's level needs
// parentheses there.
type written struct {
	text   string
	level  int
	value  float64 // 0 and 1 of conditions
	isBool bool
}

// drawWritten draws a condition or a number.
func drawWritten(rng *rand.Rand, isBool bool, depth int) written {
	truth := func(x bool) float64 {
		if x {
			return 1
		}
		return 0
	}
	part := func(isBool bool, least int) (string, float64) {
		w := drawWritten(rng, isBool, depth-1)
		if w.level < least || rng.IntN(8) == 0 {
			w.text = "(" + w.text + ")"
		}
		return w.text, w.value
	}
	space := []string{"", " "}[rng.IntN(2)]
	pair := func(sign string, ofBool bool, level, left, right int, of func(x, y float64) float64) written {
		a, x := part(ofBool, left)
		b, y := part(ofBool, right)
		if strings.HasPrefix(b, "-") {
			b = " " + b // as <- is a sign
		}
		return written{a + space + sign + space + b, level, of(x, y), isBool}
	}
	k := rng.IntN(8)
	switch {
	case depth == 0 && isBool:
		return written{fmt.Sprint(k%2 == 1), 12, truth(k%2 == 1), true}
	case depth == 0:
		return written{fmt.Sprint(k % 5), 12, float64(k % 5), false}
	case k == 0:
		c, is := part(true, 1)
		yes, x := part(isBool, 1)
		no, y := part(isBool, 0)
		return written{c + "?" + space + yes + space + ":" + no, 0, is*x + (1-is)*y, isBool}
	case isBool && k == 1: // from the right
		return pair("=>", true, 1, 2, 1, func(x, y float64) float64 { return max(1-x, y) })
	case isBool && k == 2:
		return pair("<=>", true, 2, 2, 3, func(x, y float64) float64 { return truth(x == y) })
	case isBool && k == 3:
		return pair("|", true, 3, 3, 4, func(x, y float64) float64 { return max(x, y) })
	case isBool && k == 4:
		return pair("&", true, 4, 4, 5, func(x, y float64) float64 { return x * y })
	case isBool && k == 5:
		text, x := part(true, 6)
		return written{"!" + text, 5, 1 - x, true}
	case isBool && k == 6:
		i := rng.IntN(2)
		return pair([]string{"=", "!="}[i], rng.IntN(2) == 0, 6, 6, 7, func(x, y float64) float64 {
			return []float64{truth(x == y), truth(x != y)}[i]
		})
	case isBool:
		i := rng.IntN(4)
		return pair([]string{"<", "<=", ">", ">="}[i], false, 7, 8, 8, func(x, y float64) float64 {
			return []float64{truth(x < y), truth(x <= y), truth(x > y), truth(x >= y)}[i]
		})
	case k < 3:
		return pair("+", false, 8, 8, 9, func(x, y float64) float64 { return x + y })
	case k == 3:
		return pair("-", false, 8, 8, 9, func(x, y float64) float64 { return x - y })
	case k == 4:
		return pair("*", false, 9, 9, 10, func(x, y float64) float64 { return x * y })
	case k == 5:
		text, x := part(false, 9)
		return written{text + space + "/" + space + "2", 9, x / 2, false}
	case k == 6:
		text, x := part(false, 11)
		return written{text + []string{"^2", "^1^2"}[len(space)], 10, []float64{x * x, x}[len(space)], false}
	}
	text, x := part(false, 11)
	return written{"-" + text, 11, -x, false}
}

// TestGrouping: operators bind and group as PRISM's manual says, with as few parentheses as that takes.
func TestGrouping(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 2))
	for i := range 2000 {
		w := drawWritten(rng, i%2 == 0, 1+rng.IntN(4))
		typ := "double"
		if w.isBool {
			typ = "bool"
		}
		e, err := value(typ, w.text)
		if err != nil {
			t.Fatalf("%s: %v", w.text, err)
		}
		got := e.Num()
		if w.isBool {
			got = float64(e.Int)
		}
		if got != w.value {
			t.Fatalf("%s is %g: want %g", w.text, got, w.value)
		}
	}
}

// TestShorten: a text of up to 60 bytes is whole, and of another one its beginning stays.
func TestShorten(t *testing.T) {
	for n := range 80 {
		text := strings.Repeat("a", n%2) + strings.Repeat("ä", n)
		got := language.Shorten(text)
		begin, isCut := strings.CutSuffix(got, "…")
		if isCut != (len(text) > 60) || !strings.HasPrefix(text, begin) || !utf8.ValidString(got) ||
			isCut && len(begin) < 59 {
			t.Errorf("%q is shortened to %q", text, got)
		}
	}
}

// TestWrongExpressions holds what has no value, with the place and a part of what is said.
func TestWrongExpressions(t *testing.T) {
	for _, c := range []struct {
		typ, text string
		column    int32 // from the beginning of the text, 0 if it is not here
		want      string
	}{
		{"int", "9223372036854775807+1", 20, "overflow"}, {"int", "-9223372036854775807-2", 21, "overflow"},
		{"int", "3037000500*3037000500", 11, "overflow"},
		{"int", "2^63", 2, "overflow"}, {"int", "-(-9223372036854775807-1)", 1, "overflow"},
		{"int", "4611686018427387904*2", 20, "overflow"},
		{"int", "9223372036854775808", 1, "too large"}, {"double", "1e999", 1, "too large"},
		{"int", "floor(9223372036854775808.0)", 1, "no integer"}, {"int", "ceil(-9223372036854777856.0)", 1, "no integer"},
		{"int", "floor(1e30)", 1, "no integer"}, {"int", "round(0/0)", 1, "no integer"},
		{"int", "2^(-1)", 2, "negative exponent"}, {"int", "mod(3,0)", 1, "positive divisor"},
		{"int", "mod(3,-2)", 1, "positive divisor"},
		{"int", "1.5", 1, "type double: want int"}, {"int", "4/2", 2, "type double: want int"},
		{"int", "true", 1, "want int"}, {"bool", "1", 1, "want bool"},
		{"int", "1+true", 3, "type bool: want a number"}, {"bool", "!1", 2, "want bool"},
		{"bool", "1&true", 1, "want bool"}, {"bool", "1=true", 3, "want a number"},
		{"bool", "true<false", 1, "want a number"}, {"int", "mod(1.5,2)", 5, "want int"},
		{"int", "true?1:false", 8, "want a number"}, {"bool", "true?true:1", 11, "want bool"},
		{"int", "mod(1)", 1, "want 2"}, {"int", "floor(1.5,2)", 1, "want 1"}, {"int", "log(2,2)", 1, "want int"},
		{"int", "-true", 2, "want a number"},
		{"int", "nothing", 1, "unknown name nothing"}, {"int", "sevn", 1, "did you mean \"seven\"?"},
		{"int", "sqrt(4)", 1, "unknown function sqrt"}, {"int", "x", 1, "unknown name x"},
		{"int", "(1", 3, "want )"}, {"int", "1+", 3, "got ;"}, {"int", "1 2", 3, "got 2"}, {"int", "\"a\"", 1, "label"},
		{"int", "@", 1, "unexpected character '@'"},
		{"int", "module", 1, "keyword module"}, {"int", "c", 0, "defined by itself"}, {"int", "\"a", 1, "not closed"},
		{"int", "1=1?2", 6, "want :"},
	} {
		e, err := value(c.typ, c.text)
		if err == nil {
			t.Errorf("%s %s: got %s, want an error", c.typ, c.text, e.Value())
			continue
		}
		var at *language.Error
		begin := int32(len("const " + c.typ + " c = "))
		if !errors.As(err, &at) || at.At.Line != 1 || c.column > 0 && at.At.Column != begin+c.column ||
			!strings.Contains(at.Message, c.want) {
			t.Errorf("%s %s: %v: want column %d and %q", c.typ, c.text, err, begin+c.column, c.want)
		}
	}
}
