package umb_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange/umb"
)

var nan, inf = math.NaN(), math.Inf(1)

// described returns the names of the states of a model whose valuations are as
// given.
func described(t *testing.T, classes, numStrings string, files ...file) []string {
	t.Helper()
	all := index(`{"unique": true, "classes": [{"variables": [
				{"name": "x", "type": {"type": "uint", "size": 2}}, {"name": "b", "type": {"type": "bool", "size": 1}}, {"padding": 5}]}]}`,
		`{"unique": false, `+numStrings+`"classes": [`+classes+`]}`)
	all = slices.DeleteFunc(all, func(f file) bool { return strings.HasPrefix(f.name, "valuations/") })
	data := pack(append(all, files...))
	if err := umb.Validate(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Error(err)
	}
	m, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	return m.StateNames()
}

// TestPackedValuations takes the bytes of both examples of the specification, and
// the types that they leave out. The first example puts the bit that says whether
// v1 is there behind its value, against the text, which says that it precedes, and
// against Storm and umbi: read as they do, v1 is 45, not 27.
func TestPackedValuations(t *testing.T) {
	const folder = "valuations/states/"
	first := "\x6d\x41\x00\x00\x00\x00\x00\x00\x00\x40\x00" // v0 = true, v1 = 45, v2 = "ab", v3 = true
	absent := "\x69\x41\x00\x00\x00\x00\x00\x00\x00\x40\x00"
	got := described(t, `{"variables": [{"name": "v0", "type": {"type": "bool", "size": 2}},
		{"name": "v1", "type": {"type": "uint", "size": 6}, "is-optional": true}, {"padding": 5},
		{"name": "v2", "type": {"type": "string", "size": 64}}, {"name": "v3", "type": {"type": "bool", "size": 3}}, {"padding": 7}]}`, `"#strings": 3, `,
		file{folder + "valuations.bin", first + absent + first + first},
		file{folder + "string-mapping.bin", u64s(0, 3, 5, 6)}, file{folder + "strings.bin", "xyzabc"})
	full := "v0=true,v1=45,v2=ab,v3=true"
	if want := []string{full, "v0=true,v2=ab,v3=true", full, full}; !slices.Equal(got, want) {
		t.Errorf("got %q: want %q", got, want)
	}
	second := "\xb8\xff\xbd" // sv0 = 56, sv1 = -16897
	got = described(t, `{"variables": [{"name": "sv0", "type": {"type": "uint", "size": 8}, "offset": -128}, {"name": "sv1", "type": {"type": "int", "size": 16}}]}`, ``,
		file{folder + "valuations.bin", second + "\x00\x01\x00" + second + second})
	if want := []string{"sv0=56,sv1=-16897", "sv0=-128,sv1=1", "sv0=56,sv1=-16897",
		"sv0=56,sv1=-16897"}; !slices.Equal(got, want) {
		t.Errorf("got %q: want %q", got, want)
	}
	got = described(t, `{"variables": [{"name": "r", "type": {"type": "rational", "size": 16}}, {"name": "u", "type": {"type": "uint"}, "offset": 1}]},
		{"variables": [{"name": "d", "type": {"type": "double"}}]}`, ``,
		file{folder + "valuations.bin", "\xff\x02" + u64s(1<<64-1) + f64s(0.1) + "\x04\x02" + u64s(0) + f64s(-3)},
		file{folder + "valuation-to-class.bin", u32s(0, 1, 0, 1)})
	if want := []string{"r=-1/2,u=18446744073709551616", "d=0.1", "r=2,u=1", "d=-3"}; !slices.Equal(got, want) {
		t.Errorf("got %q: want %q", got, want)
	}
}

// TestDrawnValuations packs random values of all types bit by bit, with padding and with values that may be absent, and
// wants their texts.
func TestDrawnValuations(t *testing.T) {
	const folder = "valuations/states/"
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(27, seed))
		states, variables, at := [4]*big.Int{}, "", uint(0)
		var want [4][]string
		for s := range states {
			states[s] = new(big.Int)
		}
		put := func(s int, x *big.Int, from, size uint) {
			x = new(big.Int).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), size), big.NewInt(1)))
			states[s].Or(states[s], new(big.Int).Lsh(x, from))
		}
		several := rng.IntN(2) == 0      // else all are there
		for i := range 2 + rng.IntN(3) { // the text of a single one would be the name
			kind := []string{"bool", "int", "uint", "double", "rational"}[rng.IntN(5)]
			size := map[string]uint{"bool": 1 + rng.UintN(3), "double": 64, "rational": 2 * (8 + rng.UintN(60))}[kind]
			if size == 0 {
				size = []uint{1 + rng.UintN(70), 64}[rng.IntN(2)]
			}
			optional, offset := several && rng.IntN(2) == 0, int64(0)
			if kind == "int" || kind == "uint" {
				offset = []int64{0, 0, -3, 1 << 62}[rng.IntN(4)]
			}
			variables += fmt.Sprintf(`{"name": "v%d", "type": {"type": %q, "size": %d}, "is-optional": %t, "offset": %d}, `, i,
				kind, size, optional, offset)
			for s := range states {
				from := at
				if optional {
					from++
					if rng.IntN(2) == 0 {
						continue
					}
					put(s, big.NewInt(1), at, 1)
				}
				bits, text := drawnValue(rng, kind, size, offset)
				put(s, bits, from, size)
				want[s] = append(want[s], fmt.Sprintf("v%d=%s", i, text))
			}
			if at += size; optional {
				at++
			}
			if pad := rng.UintN(12); pad > 0 {
				variables += fmt.Sprintf(`{"padding": %d}, `, pad)
				at += pad
			}
		}
		variables += fmt.Sprintf(`{"padding": %d}`, 16-at%8)
		at += 16 - at%8
		data, names := "", []string(nil)
		for s := range states {
			b := states[s].FillBytes(make([]byte, at/8))
			slices.Reverse(b)
			data += string(b)
			names = append(names, strings.Join(want[s], ","))
		}
		if got := described(t, `{"variables": [`+variables+`]}`, ``, file{folder + "valuations.bin", data}); !slices.Equal(got,
			names) {
			t.Fatalf("got %q: want %q of %s", got, names, variables)
		}
	}
}

// drawnValue draws the bits of a value, often the first or the last ones that there are, and what they say.
func drawnValue(rng *rand.Rand, kind string, size uint, offset int64) (bits *big.Int, text string) {
	bits = new(big.Int)
	same := rng.IntN(3)
	for i := range size {
		bits.SetBit(bits, int(i), uint([]int{rng.IntN(2), 0, 1}[same]))
	}
	signed := func(x *big.Int, size uint) *big.Int {
		if x.Bit(int(size-1)) == 1 {
			return new(big.Int).Sub(x, new(big.Int).Lsh(big.NewInt(1), size))
		}
		return x
	}
	switch kind {
	case "bool":
		return bits, fmt.Sprint(bits.Sign() != 0)
	case "int":
		return bits, new(big.Int).Add(signed(bits, size), big.NewInt(offset)).String()
	case "uint":
		return bits, new(big.Int).Add(bits, big.NewInt(offset)).String()
	case "double":
		x := float64(rng.IntN(9)-4) / 4
		return new(big.Int).SetUint64(math.Float64bits(x)), strconv.FormatFloat(x, 'g', -1, 64)
	}
	bits.SetBit(bits, int(size/2), 1) // the denominator is not 0
	num, den := new(big.Int), new(big.Int).Rsh(bits, size/2)
	num.And(bits, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), size/2), big.NewInt(1)))
	return bits, new(big.Rat).SetFrac(signed(num, size/2), den).RatString()
}
