// Package sample has what is known of a mean, or of a probability, from a sample.
package sample

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Z95 is the quantile of the normal distribution for intervals of 95%.
const Z95 = 1.959963984540054

// Add adds number n of a sample, counted from 1, to a mean and a sum of squared deviations (Welford 1962).
func Add(mean, squares *float64, x float64, n int) {
	before := x - *mean
	*mean += before / float64(n)
	*squares += before * (x - *mean)
}

// Half returns the half-width of the 95% confidence interval of a mean, of the sum of squared deviations of a sample,
// NaN after one.
func Half(squares float64, number int) float64 {
	n := float64(number)
	if n < 2 {
		return math.NaN()
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return t * math.Sqrt(squares/(n-1)/n)
}

// Wilson returns middle and half-width of Wilson's 95% confidence interval of a probability, of its share p in n.
func Wilson(p, n float64) (middle, half float64) {
	const z = Z95
	middle = (p + z*z/(2*n)) / (1 + z*z/n)
	half = z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return middle, half
}
