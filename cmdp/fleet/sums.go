package fleet

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/dsp/fourier"
)

// ErrNoLattice is returned, wrapped, where the values of a sum are multiples of no unit in which they could be counted.
var ErrNoLattice = errors.New("values cannot be counted")

// A Summand is a number of independent random variables with the same distribution.
type Summand struct {
	Count         int
	Values        []float64
	Probabilities []float64
}

// A Sum is the distribution of a sum of independent variables. Its values are base + i·unit for whole i, and
// probabilities[i] is that of number first + i. Values whose probability is below 1e-19 in all may be left out.
type Sum struct {
	base, unit    *big.Rat
	first         int
	probabilities []float64
	sd            float64
}

const (
	// remote is the logarithm of 2e19: what is left out of a sum has at most the inverse as its probability.
	remote = 45
	// maxWindow bounds the values that a sum tells apart.
	maxWindow = 1 << 22
	// maxUnits bounds a single value in units, so that sums of them are counted without overflow.
	maxUnits = 1 << 40
)

// NewSum returns the distribution of the sum of all variables. Values are taken as the decimals that they are
// written as, and counted exactly as multiples of a unit. Probabilities are computed by the discrete Fourier
// transform, on so many values around the mean that Bernstein's inequality leaves less than 1e-19 for all
// others; they are right to about 1e-16 times the number of variables. It is an error if numbers are not
// finite, if probabilities do not sum to 1 within [cmdp.ProbabilityTolerance], if there are fewer than 0
// variables, and, wrapping ErrNoLattice, if values cannot be counted.
func NewSum(summands []Summand) (*Sum, error) {
	s := &Sum{base: new(big.Rat)}
	counted := make([]lattice, 0, len(summands))
	all := []float64{}
	for i := range summands {
		if err := summands[i].check(); err != nil {
			return nil, fmt.Errorf("fleet: summand %d: %w", i, err)
		}
		all = append(all, summands[i].Values...)
	}
	s.unit = monitor.Unit(all)
	step := 0 // the greatest common divisor of all differences
	for i := range summands {
		l, ok := summands[i].count(s.unit)
		if !ok {
			return nil, fmt.Errorf("fleet: summand %d: %w: they are multiples of no unit but %s", i, ErrNoLattice,
				s.unit.FloatString(18))
		}
		if l.count == 0 || len(l.units) == 0 {
			continue
		}
		least := new(big.Rat).SetInt64(int64(l.least))
		s.base.Add(s.base, least.Mul(least, new(big.Rat).SetInt64(int64(l.count))))
		for _, n := range l.units {
			step = gcd(step, n)
		}
		counted = append(counted, l)
	}
	s.base.Mul(s.base, s.unit)
	step = max(1, step)
	s.unit.Mul(s.unit, new(big.Rat).SetInt64(int64(step)))
	if err := s.convolve(counted, step); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Summand) check() error {
	if s.Count < 0 {
		return fmt.Errorf("%d variables: want at least 0", s.Count)
	}
	if len(s.Values) != len(s.Probabilities) || len(s.Values) == 0 {
		return fmt.Errorf("%d values and %d probabilities: want equally many, at least one", len(s.Values),
			len(s.Probabilities))
	}
	sum := 0.0
	for i, p := range s.Probabilities {
		if !(p >= 0) || math.IsInf(p, 1) {
			return fmt.Errorf("%g is not a probability", p)
		}
		if x := s.Values[i]; math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("value %g: want a finite number", x)
		}
		sum += p
	}
	if math.Abs(sum-1) > cmdp.ProbabilityTolerance {
		return fmt.Errorf("probabilities sum to %.12g: want 1", sum)
	}
	return nil
}

// A lattice is a summand whose values are least plus a number of units.
type lattice struct {
	count, least  int
	units         []int
	probabilities []float64
}

// count counts the values that have a probability above 0, and reports false if they are too many units.
func (s *Summand) count(unit *big.Rat) (l lattice, ok bool) {
	l.count = s.Count
	for i, p := range s.Probabilities {
		if p == 0 {
			continue
		}
		q := new(big.Rat).Quo(monitor.Decimal(s.Values[i]), unit)
		if !q.IsInt() || !q.Num().IsInt64() || q.Num().Int64() > maxUnits || q.Num().Int64() < -maxUnits {
			return l, false
		}
		l.units = append(l.units, int(q.Num().Int64()))
		l.probabilities = append(l.probabilities, p)
	}
	l.least = l.units[0]
	for _, n := range l.units {
		l.least = min(l.least, n)
	}
	for i := range l.units {
		l.units[i] -= l.least
	}
	return l, true
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// convolve sets the probabilities. The transform of a sum of independent variables is the product of their
// transforms. On so many values as the window has, a transform tells numbers apart up to multiples of its
// length, and no two numbers in the window are that far apart.
func (s *Sum) convolve(of []lattice, step int) error {
	mean, variance, widest, most := 0.0, 0.0, 0.0, 0.0
	for _, l := range of {
		m, v, w := 0.0, 0.0, 0
		for i, n := range l.units {
			l.units[i] = n / step
			m += l.probabilities[i] * float64(l.units[i])
			w = max(w, l.units[i])
		}
		for i, n := range l.units {
			v += l.probabilities[i] * (float64(n) - m) * (float64(n) - m)
		}
		mean += float64(l.count) * m
		variance += float64(l.count) * v
		most += float64(l.count) * float64(w)
		widest = max(widest, float64(w))
	}
	unit, _ := s.unit.Float64()
	s.sd = unit * math.Sqrt(variance)
	reach := remote*widest/3 + math.Sqrt(remote*widest/3*(remote*widest/3)+2*remote*variance)
	window := min(most+1, 2*math.Ceil(reach)+2)
	if window > maxWindow || most > maxUnits {
		return fmt.Errorf("fleet: sums may be %.6g units apart: %w", window, ErrNoLattice)
	}
	length := max(2, 1<<bits.Len(uint(window)-1))
	s.first = max(0, min(int(math.Round(mean))-length/2, int(most)+1-length))
	s.probabilities = make([]float64, min(length, int(most)+1))
	t := newTransform(length)
	for _, l := range of {
		t.multiply(l)
	}
	t.read(s.probabilities, s.first)
	return nil
}

// A transform is the discrete Fourier transform of the distribution of a sum, as real numbers have it: of the
// first half of the frequencies.
type transform struct {
	fft         *fourier.FFT
	sequence    []float64
	product, of []complex128
}

func newTransform(length int) *transform {
	t := &transform{fft: fourier.NewFFT(length), sequence: make([]float64, length)}
	t.product = make([]complex128, length/2+1)
	t.of = make([]complex128, length/2+1)
	for j := range t.product {
		t.product[j] = 1
	}
	return t
}

// fewValues is up to how many values the transform of a variable is summed directly, and only at frequencies
// that matter.
const fewValues = 16

// multiply adds independent variables to the sum. The power is by repeated squaring. Of many variables most
// frequencies are as good as 0 and stay so.
func (t *transform) multiply(l lattice) {
	direct := len(l.units) <= fewValues
	if !direct {
		clear(t.sequence)
		for i, n := range l.units {
			t.sequence[n%len(t.sequence)] += l.probabilities[i]
		}
		t.fft.Coefficients(t.of, t.sequence)
	}
	for j, product := range t.product {
		if product == 0 {
			continue
		}
		x := t.of[j]
		if direct {
			x = l.frequency(j, len(t.sequence))
		}
		for n := l.count; n > 0; n >>= 1 {
			if n&1 != 0 {
				product *= x
			}
			x *= x
		}
		const nothing = 1e-30
		if math.Abs(real(product))+math.Abs(imag(product)) < nothing {
			product = 0
		}
		t.product[j] = product
	}
}

// frequency returns the transform of one variable at a frequency, over so many values.
func (l *lattice) frequency(j, length int) (x complex128) {
	for i, n := range l.units {
		sin, cos := math.Sincos(-2 * math.Pi * float64(n%length*j%length) / float64(length))
		x += complex(l.probabilities[i]*cos, l.probabilities[i]*sin)
	}
	return x
}

// read sets the probabilities of the numbers from first on. What rounding makes negative is 0, and the rest sums to 1.
func (t *transform) read(probabilities []float64, first int) {
	t.fft.Sequence(t.sequence, t.product)
	sum := 0.0
	for i := range probabilities {
		probabilities[i] = max(0, t.sequence[(first+i)%len(t.sequence)])
		sum += probabilities[i]
	}
	for i := range probabilities {
		probabilities[i] /= sum
	}
}

// SD returns its standard deviation.
func (s *Sum) SD() float64 { return s.sd }

// cut returns how many of the probabilities belong to values of at most x, as an exact comparison of decimals.
func (s *Sum) cut(x float64) int {
	switch {
	case math.IsNaN(x):
		panic("fleet: a sum is compared with NaN")
	case math.IsInf(x, 1):
		return len(s.probabilities)
	case math.IsInf(x, -1):
		return 0
	}
	q := monitor.Decimal(x)
	q.Sub(q, s.base)
	q.Quo(q, s.unit)
	floor := new(big.Int).Div(q.Num(), q.Denom()) // Euclid's, and the denominator is positive
	floor.Add(floor, big.NewInt(int64(1-s.first)))
	if floor.Sign() <= 0 {
		return 0
	}
	if !floor.IsInt64() || floor.Int64() > int64(len(s.probabilities)) {
		return len(s.probabilities)
	}
	return int(floor.Int64())
}

// value returns the value of probability number i.
func (s *Sum) value(i int) float64 {
	r := new(big.Rat).SetInt64(int64(s.first + i))
	r.Mul(r, s.unit)
	x, _ := r.Add(r, s.base).Float64()
	return x
}

// AtMost returns the probability that the sum is at most x. It panics if x is NaN.
func (s *Sum) AtMost(x float64) float64 { return total(s.probabilities[:s.cut(x)]) }

// Above returns the probability that the sum is greater than x. It panics if x is NaN.
func (s *Sum) Above(x float64) float64 { return total(s.probabilities[s.cut(x):]) }

// Excess returns the expectation of (sum − x)⁺. It panics if x is NaN.
func (s *Sum) Excess(x float64) float64 {
	sum := 0.0
	for i := s.cut(x); i < len(s.probabilities); i++ {
		sum += s.probabilities[i] * (s.value(i) - x)
	}
	return sum
}

// Least returns the least value x for which the sum is at most x with probability p or more, the greatest value
// if there is none by rounding. It panics unless 0 ≤ p ≤ 1.
func (s *Sum) Least(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		panic("fleet: quantile of a probability outside of 0 to 1")
	}
	// From above: what is left out must be at most 1 − p, and small probabilities are added up first.
	left := 0.0
	for i := len(s.probabilities) - 1; i > 0; i-- {
		left += s.probabilities[i]
		if left > 1-p {
			return s.value(i)
		}
	}
	return s.value(0)
}

// Distribution returns the values of the sum in ascending order, and their probabilities.
func (s *Sum) Distribution() (values, probabilities []float64) {
	values = make([]float64, len(s.probabilities))
	probabilities = make([]float64, len(s.probabilities))
	for i, p := range s.probabilities {
		values[i] = s.value(i)
		probabilities[i] = p
	}
	return values, probabilities
}

func total(probabilities []float64) float64 {
	sum := 0.0
	for _, p := range probabilities {
		sum += p
	}
	return min(1, sum)
}
