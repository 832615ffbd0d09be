package geometry

import "cmdpsolve/oracle"

// cross is a set that only answers linear maximisation, for FromMaximizer.
type cross struct{}

func (cross) Dim() int { return 2 }

func (cross) MaximizeLinear(dst, dir []float64) {
	(&L1Ball{vec{0, 0}, 1}).MaximizeLinear(dst, dir)
}

var combinators = []Entry{
	{
		Name: "restrict", Constructor: "Restrict", Doc: "a set ∩ a bounded box, compact",
		Methods:   "closed forms for boxes, balls, half-spaces and their products, ties exact; else as intersection",
		Tolerance: exact, ClosedForm: true,
		Example: func() (Set, error) {
			return asSet(Restrict(must(NewBall(vec{0, 0}, 1)), must(NewBox(vec{0.5, -2}, vec{2, 0.25}))))
		},
		Inside: [][]float64{{0.5, 0}, {1, 0}}, Outside: [][]float64{{0.4, 0}, {0.98, 0.22}},
	},
	{
		Name: "compact", Constructor: "CompactOf", Doc: "a bounded set as a Compact",
		Methods: "as restrict, to the set's own bounding box", Tolerance: exact,
		Example: func() (Set, error) {
			return asSet(CompactOf(must(NewPolyhedron([][]float64{{1, 1}, {-1, 0}, {0, -1}}, vec{1, 0, 0}))))
		},
		Inside: [][]float64{{0, 0}, {0.5, 0.5}}, Outside: [][]float64{{0.5, 0.6}},
	},
	{
		Name: "from-maximizer", Constructor: "FromMaximizer", Doc: "a set known by its linear maximiser alone",
		Methods:   "the set's; Wolfe's minimum-norm point; column generation where a box or rows cut it",
		Tolerance: exact,
		Example:   func() (Set, error) { return asSet(FromMaximizer(cross{})) },
		Inside:    [][]float64{{0, 0}, {0.5, 0.5}}, Outside: [][]float64{{0.6, 0.5}},
	},
	{
		Name: "intersection", Constructor: "NewIntersection", Doc: "the common points of sets",
		Methods: "active set if polyhedral, with a ball projections on the others, else method of multipliers; linear " +
			"maximisation by column generation, or by proximal points if several sets curve", Tolerance: 1e-7,
		Example: func() (Set, error) {
			return NewIntersection(must(NewBall(vec{0, 0}, 1)), must(NewBall(vec{1, 0}, 1)),
				must(NewHalfspace(vec{1, 2}, 1)))
		},
		Inside: [][]float64{{0.5, 0}, {0.5, 0.25}}, Outside: [][]float64{{0.5, 0.3}, {-0.1, 0}},
	},
	{
		Name: "product", Constructor: "NewProduct", Doc: "the Cartesian product of sets",
		Methods: "the factors', ties as exact", Tolerance: exact, ClosedForm: true,
		Example: func() (Set, error) { return NewProduct(must(NewBall(vec{0, 0}, 1)), must(NewSimplex(2, 1))) },
		Inside:  [][]float64{{0.6, 0.8, 0.5, 0.5}}, Outside: [][]float64{{0.6, 0.9, 0.5, 0.5}, {0, 0, 1, 1}},
	},
	{
		Name: "translate", Constructor: "NewTranslate", Doc: "{x + by : x in set}",
		Methods: "the set's, ties as exact", Tolerance: exact, ClosedForm: true,
		Example: func() (Set, error) { return NewTranslate(must(NewSimplex(2, 1)), vec{1, -1}) },
		Inside:  [][]float64{{1.5, -0.5}}, Outside: [][]float64{{0.5, 0.5}},
	},
	{
		Name: "scale", Constructor: "NewScale", Doc: "{factor·x : x in set}, factor > 0",
		Methods: "the set's, ties as exact", Tolerance: exact, ClosedForm: true,
		Example: func() (Set, error) { return NewScale(must(NewL1Ball(vec{1, 0}, 1)), 3) },
		Inside:  [][]float64{{3, 0}, {4, 2}}, Outside: [][]float64{{-0.1, 0}},
	},
	{
		Name: "inflate", Constructor: "NewInflate", Doc: "the points within a distance of a set (δ-expansion)",
		Methods: "the set's, ties as exact", Tolerance: exact, ClosedForm: true,
		Example: func() (Set, error) { return NewInflate(must(NewSimplex(2, 1)), 0.5) },
		Inside:  [][]float64{{0.5, 0.5}, {0.8, 0.8}, {0, 1.5}}, Outside: [][]float64{{0.9, 0.9}, {0, 1.51}},
	},
	{
		Name: "image", Constructor: "NewImage", Doc: "{matrix·x + shift : x in set}",
		Methods: "the set's; minimum-norm point", Tolerance: curved,
		Example: func() (Set, error) {
			return asSet(NewImage([][]float64{{1, 1, 0}, {0, 1, -1}}, vec{1, 0}, must(NewBall(vec{0, 0, 0}, 1))))
		},
		Inside: [][]float64{{1, 0}, {2, 1}}, Outside: [][]float64{{2.5, 0}, {2, -1}},
	},
	{
		Name: "preimage", Constructor: "NewPreimage", Doc: "{x : matrix·x + shift in set}",
		Methods: "active set if polyhedral, else method of multipliers", Tolerance: 1e-7,
		Example: func() (Set, error) {
			return NewPreimage([][]float64{{1, 1}, {0, 2}}, vec{0, 1}, must(NewBall(vec{0, 0}, 1)))
		},
		Inside: [][]float64{{0.5, -0.5}, {1.5, -0.5}}, Outside: [][]float64{{0, 0.1}, {1.6, -0.5}},
	},
	{
		Name: "convex-hull", Constructor: "NewConvexHull", Doc: "the convex hull of compact sets",
		Methods: "the best of the sets'; minimum-norm point", Tolerance: curved,
		Example: func() (Set, error) {
			return asSet(NewConvexHull(must(NewBall(vec{0, 0}, 1)), must(NewPoint(vec{3, 0}))))
		},
		Inside: [][]float64{{0, 1}, {2, 0.3}}, Outside: [][]float64{{2, 0.5}},
	},
	{
		Name: "minkowski-sum", Constructor: "NewMinkowskiSum",
		Doc:     "{x + y : x in one set, y in the other}, of compact sets",
		Methods: "the terms'; minimum-norm point, inflation for balls", Tolerance: exact,
		Example: func() (Set, error) {
			return asSet(NewMinkowskiSum(must(NewHull([][]float64{{0, 0}, {1, 0}})),
				must(NewHull([][]float64{{0, 0}, {1, 1}})), must(NewBall(vec{0, 0}, 0.5))))
		},
		Inside: [][]float64{{1, 0.5}, {2, 1.5}}, Outside: [][]float64{{0.5, 1.3}},
	},
}

var _ oracle.LinearMaximizer = cross{}
