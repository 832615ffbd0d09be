package source

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// longest is the most digits a fraction may have.
const longest = 4096

// Number reads a decimal number or a fraction of whole numbers, such as 1/3, to
// the nearest float64.
func Number(s string) (float64, error) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && strings.IndexByte("+-.eE/", c) < 0 {
			return 0, fmt.Errorf("%s is not a number", Quote(s))
		}
	}
	if strings.Contains(s, "/") {
		if len(s) > longest || strings.ContainsAny(s, ".eE") {
			return 0, fmt.Errorf("%s is not a fraction of whole numbers", Quote(s))
		}
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			return 0, fmt.Errorf("%s is not a fraction of whole numbers", Quote(s))
		}
		x, _ := r.Float64()
		if math.IsInf(x, 0) {
			return 0, fmt.Errorf("%s is too large", Quote(s))
		}
		return x, nil
	}
	x, err := ParseFloat(s)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number, or too large", Quote(s))
	}
	return x, nil
}

// Index reads a whole number below n.
func Index(s string, n int) (int32, error) {
	i, err := strconv.ParseUint(s, 10, 31)
	if err != nil || int(i) >= n {
		return 0, fmt.Errorf("got %s: want a whole number from 0 to %d", Quote(s), n-1)
	}
	return int32(i), nil
}

// Quote quotes a piece of a file for a message, the beginning of it if it is long.
func Quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
