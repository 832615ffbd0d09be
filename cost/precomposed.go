package cost

import (
	"fmt"
	"math"

	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// NewPrecomposed returns x ↦ cost(matrix·x + offset) over a bounded box, for a
// matrix of cost.Dim() rows. A cost that is built over a box must be built over one
// that contains the image of the domain, up to rounding. Affine costs stay
// [Affine]. The Lipschitz constant is that of the cost times the spectral norm of
// the matrix; a level method answers for the conjugate.
func NewPrecomposed(cost Cost, matrix [][]float64, offset []float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("precomposed", domain)
	if err != nil {
		return nil, err
	}
	if cost == nil {
		return nil, fmt.Errorf("cost: precomposed: no cost")
	}
	if err := checkLipschitz("precomposed: cost", cost); err != nil {
		return nil, err
	}
	m := cost.Dim()
	if len(matrix) != m {
		return nil, fmt.Errorf("cost: precomposed: matrix has %d rows: want %d", len(matrix), m)
	}
	for j, row := range matrix {
		if err := checkVector(fmt.Sprintf("precomposed: matrix row %d", j), row, x.Dim()); err != nil {
			return nil, err
		}
	}
	if err := checkVector("precomposed: offset", offset, m); err != nil {
		return nil, err
	}
	p := &precomposed{cost: cost, offset: append([]float64(nil), offset...)}
	for _, row := range matrix {
		p.matrix = append(p.matrix, append([]float64(nil), row...))
	}
	if b, ok := cost.(boxed); ok {
		if err := p.checkImage(x, b.box()); err != nil {
			return nil, err
		}
	}
	if a, ok := cost.(Affine); ok {
		gradient := make([]float64, x.Dim())
		p.transpose(gradient, a.Gradient())
		line, err := newAffine(gradient, floats.Dot(a.Gradient(), offset)+a.Offset(), x)
		if err != nil {
			return nil, err
		}
		return line, nil
	}
	x, err = x.withLipschitz("precomposed", cost.Lipschitz()*p.spectralNorm(x.Dim()))
	if err != nil {
		return nil, err
	}
	return newGeneric("precomposed", p, x)
}

// precomposed is cost(matrix·x + offset).
type precomposed struct {
	cost   Cost
	matrix [][]float64
	offset []float64
}

// checkImage fails if the image of the domain leaves the domain of the cost.
func (p *precomposed) checkImage(x, inner domain) error {
	for j, row := range p.matrix {
		least, most, size := p.offset[j], p.offset[j], math.Abs(p.offset[j])
		for i, a := range row {
			least += math.Min(a*x.lower[i], a*x.upper[i])
			most += math.Max(a*x.lower[i], a*x.upper[i])
			size += math.Abs(a) * math.Max(math.Abs(x.lower[i]), math.Abs(x.upper[i]))
		}
		rounding := 1e-12 * size
		if least < inner.lower[j]-rounding || most > inner.upper[j]+rounding {
			return fmt.Errorf("cost: precomposed: coordinate %d of the image is [%g, %g], outside the domain [%g, "+
				"%g] of the cost",
				j, least, most, inner.lower[j], inner.upper[j])
		}
	}
	return nil
}

// spectralNorm returns the largest singular value of the matrix.
func (p *precomposed) spectralNorm(columns int) float64 {
	dense := mat.NewDense(len(p.matrix), columns, nil)
	for j, row := range p.matrix {
		dense.SetRow(j, row)
	}
	var svd mat.SVD
	if !svd.Factorize(dense, mat.SVDNone) {
		return mat.Norm(dense, 2) // of Frobenius, which is not smaller
	}
	return svd.Values(nil)[0] * (1 + 1e-14*float64(columns+len(p.matrix)))
}

// image returns matrix·x + offset in a borrowed vector.
func (p *precomposed) image(x []float64) *[]float64 {
	y := scratch.Get(len(p.matrix))
	for j, row := range p.matrix {
		(*y)[j] = floats.Dot(row, x) + p.offset[j]
	}
	return y
}

// transpose sets dst to the transposed matrix times y.
func (p *precomposed) transpose(dst, y []float64) {
	clear(dst)
	for j, row := range p.matrix {
		floats.AddScaled(dst, y[j], row)
	}
}

// Value returns the cost at the image of x.
func (p *precomposed) Value(x []float64) float64 {
	y := p.image(x)
	defer scratch.Put(y)
	return p.cost.Value(*y)
}

// Subgradient sets dst to the transposed matrix times a subgradient at the image.
func (p *precomposed) Subgradient(dst, x []float64) {
	y := p.image(x)
	defer scratch.Put(y)
	p.cost.Subgradient(*y, *y)
	p.transpose(dst, *y)
}
