package umb

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// whole reads a file of the given length.
func whole(r io.Reader, size int64) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

// offsets reads the boundaries of n intervals, which go from 0 to end.
func offsets[T int | int32](r io.Reader, size int64, n, end int) ([]T, error) {
	if size != 8*(int64(n)+1) {
		return nil, fmt.Errorf("%d bytes: want %d, %d boundaries of 8 bytes", size, 8*(int64(n)+1), n+1)
	}
	values, last := make([]T, n+1), uint64(0)
	err := pieces(r, n+1, 8, func(at int, b []byte) error {
		for i := range len(b) / 8 {
			v := order.Uint64(b[8*i:])
			if v < last || v > uint64(end) {
				return fmt.Errorf("boundary %d is %d: want %d to %d", at+i, v, last, end)
			}
			values[at+i], last = T(v), v
		}
		return nil
	})
	if err == nil && (values[0] != 0 || int(values[n]) != end) {
		err = fmt.Errorf("boundaries go from %d to %d: want 0 to %d", values[0], values[n], end)
	}
	return values, err
}

func identity[T int | int32](n int) []T {
	values := make([]T, n+1)
	for i := range values {
		values[i] = T(i)
	}
	return values
}

// indices reads n numbers of 4 or 8 bytes that fit an int32.
func indices(r io.Reader, size int64, n, width int) ([]int32, error) {
	if err := fits(size, n, width); err != nil {
		return nil, err
	}
	values := make([]int32, n)
	return values, pieces(r, n, width, func(at int, b []byte) error {
		out := values[at : at+len(b)/width]
		for i := range out {
			v := uint64(order.Uint32(b[width*i:]))
			if width == 8 {
				v = order.Uint64(b[8*i:])
			}
			if v > math.MaxInt32 {
				return fmt.Errorf("number %d is %d: more than there is", at+i, v)
			}
			out[i] = int32(v)
		}
		return nil
	})
}

// fits makes sure that n values of the given width are as long as the file, before
// memory is taken for them.
func fits(size int64, n, width int) error {
	if width == 0 || size%int64(width) != 0 || size/int64(width) != int64(n) {
		return fmt.Errorf("%d bytes: want %d values of %d bytes", size, n, width)
	}
	return nil
}

// bitset returns the members of a set of n, in ascending order.
func bitset(r io.Reader, size int64, n int) ([]int32, error) {
	words := (n + 63) / 64
	if err := fits(size, words, 8); err != nil {
		return nil, err
	}
	members := []int32{}
	return members, pieces(r, words, 8, func(at int, b []byte) error {
		for i := range len(b) / 8 {
			for w := order.Uint64(b[8*i:]); w != 0; w &= w - 1 {
				k := 64*(at+i) + bits.TrailingZeros64(w)
				if k >= n {
					return fmt.Errorf("bit %d is set: there are %d", k, n)
				}
				members = append(members, int32(k))
			}
		}
		return nil
	})
}

// numbers reads n doubles or rationals.
func numbers(r io.Reader, size int64, n int, t *numType) ([]float64, error) {
	width := int(t.bits() / 8)
	if err := fits(size, n, width); err != nil {
		return nil, err
	}
	values := make([]float64, n)
	return values, pieces(r, n, width, func(at int, b []byte) error {
		out := values[at : at+len(b)/width]
		if t.Type == "double" {
			for i := range out {
				out[i] = math.Float64frombits(order.Uint64(b[8*i:]))
			}
			return nil
		}
		for i := range out {
			x, ok := rational(b[i*width : (i+1)*width])
			if !ok {
				return fmt.Errorf("rational number %d has the denominator 0, or is too large", at+i)
			}
			out[i] = x
		}
		return nil
	})
}

// rational returns the float64 nearest to a fraction, whose halves are a signed
// numerator and an unsigned denominator.
func rational(b []byte) (float64, bool) {
	const exact = 1 << 53
	half := len(b) / 2
	if half == 8 {
		num, den := int64(order.Uint64(b)), order.Uint64(b[8:])
		if den == 0 {
			return 0, false
		}
		if num > -exact && num < exact && den < exact {
			return float64(num) / float64(den), true // rounded once
		}
	}
	n := uint64(8 * half)
	num, den := integer(b, 0, n, true), integer(b, n, n, false)
	if den.Sign() == 0 {
		return 0, false
	}
	x, _ := new(big.Rat).SetFrac(num, den).Float64()
	return x, !math.IsInf(x, 0)
}

// integer returns the whole number in n bits from a bit on, in little-endian order, in two's
// complement if signed.
func integer(b []byte, at, n uint64, signed bool) *big.Int {
	b = slices.Clone(b[at/8 : (at+n+7)/8])
	slices.Reverse(b)
	v, end := new(big.Int).SetBytes(b), new(big.Int).Lsh(big.NewInt(1), uint(n))
	v.Rsh(v, uint(at%8))
	v.And(v, new(big.Int).Sub(end, big.NewInt(1)))
	if signed && n > 0 && v.Bit(int(n-1)) == 1 {
		v.Sub(v, end)
	}
	return v
}

// cutStrings cuts text at the given boundaries.
func cutStrings(at []int, text []byte) ([]string, error) {
	all := string(text)
	values := make([]string, len(at)-1)
	for i := range values {
		values[i] = all[at[i]:at[i+1]]
		if !utf8.ValidString(values[i]) {
			return nil, fmt.Errorf("strings.bin: string %d is not text in UTF-8", i)
		}
	}
	return values, nil
}
