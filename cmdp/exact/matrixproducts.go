package exact

// A lazyProduct is a sequence of square matrices that row vectors are multiplied by later, each by those that
// came since. Products of blocks of matrices, of blocks of blocks and so on are kept, so that a vector is
// multiplied by few of them however many came.
type lazyProduct struct {
	n      int // rows of a matrix
	levels []productLevel
	room   []float64
}

// A productLevel holds the matrices of a level, each the product of a block of those below.
type productLevel struct {
	each []float64 // matrices or, in blocks that are full, the products of each with those after it in its block
	len  int
	open []float64 // the product of the block that is not yet full
}

// productBlock is the number of matrices in a block.
const productBlock = 16

func newLazyProduct(n int) *lazyProduct { return &lazyProduct{n: n, room: make([]float64, n)} }

// len returns the number of matrices so far.
func (p *lazyProduct) len() int {
	if len(p.levels) == 0 {
		return 0
	}
	return p.levels[0].len
}

// add appends a matrix, given row by row.
func (p *lazyProduct) add(matrix []float64) { p.addAt(0, matrix) }

func (p *lazyProduct) addAt(level int, matrix []float64) {
	if level == len(p.levels) {
		p.levels = append(p.levels, productLevel{})
	}
	l, size := &p.levels[level], p.n*p.n
	l.each = append(l.each, matrix...)
	l.len++
	if l.open == nil {
		l.open = append(l.open, matrix...)
	} else {
		for row := range p.n {
			p.times(l.open[row*p.n:][:p.n], matrix)
		}
	}
	if l.len%productBlock != 0 {
		return
	}
	for i := l.len - 2; i >= l.len-productBlock; i-- {
		after := l.each[(i+1)*size:][:size]
		for row := range p.n {
			p.times(l.each[i*size+row*p.n:][:p.n], after)
		}
	}
	full := l.open
	l.open = nil
	p.addAt(level+1, full)
}

// times multiplies a row vector by a matrix.
func (p *lazyProduct) times(v, matrix []float64) {
	sum := p.room
	clear(sum)
	for i, x := range v {
		if x == 0 {
			continue
		}
		for j, y := range matrix[i*p.n:][:p.n] {
			sum[j] += float64(x * y)
		}
	}
	copy(v, sum)
}

// apply multiplies a row vector by all matrices but the first ones.
func (p *lazyProduct) apply(v []float64, first int) { p.applyAt(0, v, first) }

func (p *lazyProduct) applyAt(level int, v []float64, first int) {
	if level == len(p.levels) || first >= p.levels[level].len {
		return
	}
	l, size := &p.levels[level], p.n*p.n
	if first/productBlock == l.len/productBlock { // in the block that is open
		for ; first < l.len; first++ {
			p.times(v, l.each[first*size:][:size])
		}
		return
	}
	p.times(v, l.each[first*size:][:size])
	p.applyAt(level+1, v, first/productBlock+1)
	if l.open != nil {
		p.times(v, l.open)
	}
}
