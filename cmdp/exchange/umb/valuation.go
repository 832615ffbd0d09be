package umb

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"cmdpsolve/cmdp/exchange"
)

// valuations decodes the variables of states.
func (r *reader) valuations() error {
	const folder = "valuations/states/"
	data := r.raw[folder+"valuations.bin"]
	if r.x.Values == nil || r.x.Values.States == nil {
		if data != nil {
			return fmt.Errorf("%svaluations.bin: index.json does not describe it", folder)
		}
		return nil
	}
	d := r.x.Values.States
	if data == nil {
		return fmt.Errorf("%svaluations.bin is missing", folder)
	}
	v := &valuer{data: data, classes: d.Classes, states: int(r.x.System.States), most: int(max(1<<26, 4*r.size))}
	var err error
	v.strings, err = r.strings(folder, d.Strings)
	if err == nil {
		err = v.locate(r.raw[folder+"valuation-to-class.bin"])
	}
	if err == nil {
		r.m.Variables, err = v.variables()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", folder[:len(folder)-1], err)
	}
	return nil
}

// A valuer decodes valuations.
type valuer struct {
	data    []byte
	classes []class
	strings []string
	states  int
	most    int     // values that the model may have
	of      []int32 // the class of each state; nil if it is the first
	at      []int   // the first byte of each state; nil if all are of the same size
}

// locate finds out where the valuation of each state stands.
func (v *valuer) locate(classes []byte) error {
	if len(v.classes) == 0 {
		return fmt.Errorf("index.json describes no class of valuations")
	}
	for i := range v.classes {
		for j := range v.classes[i].Variables {
			if err := v.classes[i].Variables[j].check(); err != nil {
				return fmt.Errorf("class %d, variable %d: %w", i, j, err)
			}
		}
		if n := v.classes[i].bits(); n == 0 || n%8 != 0 {
			return fmt.Errorf("class %d has %d bits: want a multiple of 8", i, n)
		}
	}
	if classes == nil {
		return fits(int64(len(v.data)), v.states, int(v.classes[0].bits()/8))
	}
	if err := fits(int64(len(classes)), v.states, 4); err != nil {
		return fmt.Errorf("valuation-to-class.bin: %w", err)
	}
	v.of, v.at = make([]int32, v.states), make([]int, v.states+1)
	for s := range v.states {
		c := order.Uint32(classes[4*s:])
		if int(c) >= len(v.classes) {
			return fmt.Errorf("valuation-to-class.bin: state %d has class %d: want 0 to %d", s, c, len(v.classes)-1)
		}
		v.of[s] = int32(c)
		v.at[s+1] = v.at[s] + int(v.classes[c].bits()/8)
		if v.at[s+1] > len(v.data) {
			return fmt.Errorf("valuations.bin ends in state %d", s)
		}
	}
	if v.at[v.states] != len(v.data) {
		return fmt.Errorf("valuations.bin has %d bytes: want %d", len(v.data), v.at[v.states])
	}
	return nil
}

func (v *variable) check() error {
	if v.Type == nil {
		if v.Padding == 0 {
			return fmt.Errorf("want a name and a type, or padding")
		}
		return nil
	}
	if v.Name == nil || v.Padding != 0 {
		return fmt.Errorf("want a name and a type, or padding")
	}
	n := v.Type.bits()
	switch t := v.Type.Type; {
	case n == 0:
	case t == "bool" || t == "int" || t == "uint",
		(t == "double" || t == "string") && n == 64, t == "rational" && n%2 == 0:
		return nil
	}
	return fmt.Errorf("%s: type %s with %d bits cannot be read", *v.Name, v.Type.Type, n)
}

func (v *valuer) class(s int) *class {
	if v.of == nil {
		return &v.classes[0]
	}
	return &v.classes[v.of[s]]
}

func (v *valuer) bytes(s int) []byte {
	if v.at != nil {
		return v.data[v.at[s]:v.at[s+1]]
	}
	n := int(v.classes[0].bits() / 8)
	return v.data[s*n : (s+1)*n]
}

// variables returns the values. Valuations of several classes, or with values that
// may be absent, become one text for each state.
func (v *valuer) variables() ([]exchange.Variable, error) {
	plain := len(v.classes) == 1
	for i := range v.classes[0].Variables {
		plain = plain && !v.classes[0].Variables[i].Optional
	}
	if !plain {
		names := make([]string, v.states)
		for s := range names {
			name, err := v.describe(s)
			if err != nil {
				return nil, fmt.Errorf("state %d: %w", s, err)
			}
			names[s] = name
		}
		return exchange.Named(names), nil
	}
	if n := len(v.classes[0].Variables); n > v.most/v.states {
		return nil, fmt.Errorf("%d variables in %d states: more than a file of this length may have", n, v.states)
	}
	var all []exchange.Variable
	at := uint64(0)
	for i := range v.classes[0].Variables {
		x := &v.classes[0].Variables[i]
		if x.Type == nil {
			at += x.Padding
			continue
		}
		own, err := v.column(x, at)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", *x.Name, err)
		}
		all = append(all, own)
		at += x.Type.bits()
	}
	return all, nil
}

// column returns the values of a variable that stands at the given bit in every
// state: whole numbers if all fit an int64, else text.
func (v *valuer) column(x *variable, at uint64) (exchange.Variable, error) {
	out := exchange.Variable{Name: *x.Name, Bool: x.Type.Type == "bool"}
	t, n := x.Type.Type, x.Type.bits()
	if t == "bool" || (t == "int" || t == "uint") && n <= 64 {
		out.Ints = make([]int64, v.states)
		whole := true
		for s := 0; s < v.states && whole; s++ {
			out.Ints[s], whole = x.whole(v.bytes(s), at)
		}
		if whole {
			return out, nil
		}
		out.Ints = nil
	}
	out.Text = make([]string, v.states)
	for s := range out.Text {
		text, err := v.value(x, v.bytes(s), at)
		if err != nil {
			return out, fmt.Errorf("state %d: %w", s, err)
		}
		out.Text[s] = text
	}
	return out, nil
}

// whole returns a value of type bool, or int or uint of at most 64 bits, if it fits
// an int64 together with the offset.
func (x *variable) whole(b []byte, at uint64) (int64, bool) {
	n := x.Type.bits()
	if x.Type.Type == "bool" {
		if integer(b, at, n, false).Sign() != 0 {
			return 1, true
		}
		return 0, true
	}
	u := word(b, at, uint(n))
	i := int64(u)
	if x.Type.Type == "int" && n < 64 {
		i = int64(u<<(64-n)) >> (64 - n)
	}
	sum := i + x.Offset
	overflow := (i < 0) == (x.Offset < 0) && (sum < 0) != (i < 0)
	return sum, !overflow && (x.Type.Type == "int" || u>>63 == 0)
}

// word returns n ≤ 64 bits from a bit on.
func word(b []byte, at uint64, n uint) uint64 {
	v := uint64(0)
	for got := uint(0); got < n; {
		in := b[at/8] >> (at % 8)
		take := min(8-uint(at%8), n-got)
		v |= uint64(in&(1<<take-1)) << got
		got, at = got+take, at+uint64(take)
	}
	return v
}

// value returns the text of a value of any type.
func (v *valuer) value(x *variable, b []byte, at uint64) (string, error) {
	n := x.Type.bits()
	switch x.Type.Type {
	case "bool":
		return strconv.FormatBool(integer(b, at, n, false).Sign() != 0), nil
	case "string":
		i := word(b, at, 64)
		if i >= uint64(len(v.strings)) {
			return "", fmt.Errorf("string %d: there are %d", i, len(v.strings))
		}
		return v.strings[i], nil
	case "double":
		return strconv.FormatFloat(math.Float64frombits(word(b, at, 64)), 'g', -1, 64), nil
	case "rational":
		den := integer(b, at+n/2, n/2, false)
		if den.Sign() == 0 {
			return "", fmt.Errorf("a rational number has the denominator 0")
		}
		return new(big.Rat).SetFrac(integer(b, at, n/2, true), den).RatString(), nil
	}
	return new(big.Int).Add(integer(b, at, n, x.Type.Type == "int"), big.NewInt(x.Offset)).String(), nil
}

// describe returns the valuation of a state as "x=1,b=true", without values that
// are absent.
func (v *valuer) describe(s int) (string, error) {
	text, at, b := "", uint64(0), v.bytes(s)
	for i := range v.class(s).Variables {
		x := &v.class(s).Variables[i]
		if x.Type == nil {
			at += x.Padding
			continue
		}
		present := true
		if x.Optional {
			present = word(b, at, 1) == 1
			at++
		}
		if present {
			value, err := v.value(x, b, at)
			if err != nil {
				return "", fmt.Errorf("variable %s: %w", *x.Name, err)
			}
			if text != "" {
				text += ","
			}
			text += *x.Name + "=" + value
		}
		at += x.Type.bits()
	}
	return text, nil
}
