package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// eighths draws a vector of multiples of 1/8 from −2 to 2.
func eighths(rng *rand.Rand, d int) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = float64(rng.IntN(33)-16) / 8
	}
	return v
}

// drawCoefficients draws a vector, as a list or by the names of returns without some of those that are 0.
func drawCoefficients(rng *rand.Rand, d int, names []string) (text string, v []float64) {
	v = eighths(rng, d)
	if names == nil || rng.IntN(2) == 0 {
		return vectorText(v), v
	}
	var parts []string
	for _, i := range rng.Perm(d) {
		if rng.IntN(4) == 0 {
			v[i] = 0
		}
		if v[i] != 0 || parts == nil {
			parts = append(parts, fmt.Sprintf("%s: %g", names[i], v[i]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}", v
}

// drawShares draws probabilities.
func drawShares(rng *rand.Rand, d int) []float64 {
	p := make([]float64, d)
	for range 8 {
		p[rng.IntN(d)] += 1. / 8
	}
	return p
}

// drawAffine draws an affine function without braces around it, and leaves out a constant of 0.
func drawAffine(rng *rand.Rand, d int, names []string) (text string, value func(x []float64) float64) {
	text, v := drawCoefficients(rng, d, names)
	text = "linear: " + text
	constant := float64(rng.IntN(3))
	if constant != 0 {
		text += fmt.Sprintf(", constant: %g", constant)
	}
	return text, func(x []float64) float64 { return floats.Dot(v, x) + constant }
}

// drawSeparable draws a sum of weighted functions of single coordinates: center and weights may be left out.
func drawSeparable(rng *rand.Rand, d int, h func(r float64) float64) (text string, value func(x []float64) float64) {
	center, weights := make([]float64, d), slices.Repeat([]float64{1}, d)
	if rng.IntN(2) == 0 {
		center = eighths(rng, d)
		text += "center: " + vectorText(center) + ", "
	}
	if rng.IntN(2) == 0 {
		for i := range weights {
			weights[i] = float64(1+rng.IntN(8)) / 4
		}
		text += "weights: " + vectorText(weights) + ", "
	}
	return text, func(x []float64) (sum float64) {
		for i := range x {
			sum += weights[i] * h(x[i]-center[i])
		}
		return sum
	}
}

// worst returns the mean of the largest coordinates of total probability tail.
func worst(x, probabilities []float64, tail float64) (mean float64) {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(math.Copysign(1, x[j]-x[i])) })
	left := tail
	for _, i := range order {
		share := min(left, probabilities[i])
		mean += share * x[i] / tail
		left -= share
	}
	return mean
}

// drawCost draws the text of a cost of d returns, which have names or none, with the function that the manual says.
func drawCost(rng *rand.Rand, d int, names []string, depth int) (text string, value func(x []float64) float64) {
	if depth > 0 && rng.IntN(3) > 0 {
		return drawComposed(rng, d, names, depth)
	}
	positive := float64(1+rng.IntN(8)) / 4
	switch rng.IntN(10) {
	case 0:
		text, v := drawCoefficients(rng, d, names)
		return "{linear: " + text + "}", func(x []float64) float64 { return floats.Dot(v, x) }
	case 1:
		text, value := drawAffine(rng, d, names)
		return "{affine: {" + text + "}}", value
	case 2:
		var pieces []string
		var values []func(x []float64) float64
		for range 1 + rng.IntN(3) {
			text, value := drawAffine(rng, d, names)
			pieces, values = append(pieces, "{"+text+"}"), append(values, value)
		}
		return "{max: [" + strings.Join(pieces, ", ") + "]}", greatest(values)
	case 3:
		center, text := make([]float64, d), ""
		if rng.IntN(2) == 0 {
			center = eighths(rng, d)
			text = ", center: " + vectorText(center)
		}
		p := []float64{1, 2, math.Inf(1)}[rng.IntN(3)]
		text = fmt.Sprintf("{norm: {p: %s%s}}", strings.Trim(strings.ToLower(fmt.Sprint(p)), "+"), text)
		return text, func(x []float64) float64 { return floats.Distance(x, center, p) }
	case 4:
		text, value := drawSeparable(rng, d, func(r float64) float64 { return r * r })
		return "{squared: {" + strings.TrimSuffix(text, ", ") + "}}", value
	case 5:
		text, value := drawSeparable(rng, d, func(r float64) float64 {
			if r = math.Abs(r); r <= positive {
				return r * r / 2
			}
			return positive * (r - positive/2)
		})
		return fmt.Sprintf("{huber: {%sthreshold: %g}}", text, positive), value
	case 6:
		text, v := drawCoefficients(rng, d, names)
		if floats.Norm(v, 1) == 0 {
			return drawCost(rng, d, names, 0)
		}
		offset := eighths(rng, 1)[0]
		return fmt.Sprintf("{hinge: {normal: %s, offset: %g}}", text, offset), func(x []float64) float64 {
			return max(0, floats.Dot(v, x)-offset)
		}
	case 7, 8:
		return drawExponential(rng, d, positive)
	}
	p, tail := drawShares(rng, d), positive/2
	return fmt.Sprintf("{cvar: {probabilities: %s, tail: %g}}", vectorText(p), tail), func(x []float64) float64 {
		return worst(x, p, tail)
	}
}

// drawExponential draws a mean of exponentials, or their plain sum, where every probability is 1.
func drawExponential(rng *rand.Rand, d int, temperature float64) (text string, value func(x []float64) float64) {
	p, kind, shares := slices.Repeat([]float64{1}, d), "logsumexp", ""
	if rng.IntN(2) == 0 {
		p, kind = drawShares(rng, d), "entropic"
		shares = "probabilities: " + vectorText(p) + ", "
	}
	return fmt.Sprintf("{%s: {%stemperature: %g}}", kind, shares, temperature), func(x []float64) float64 {
		sum := 0.0
		for i := range x {
			sum += p[i] * math.Exp(x[i]/temperature)
		}
		return temperature * math.Log(sum)
	}
}

// drawComposed draws a cost that is made of others.
func drawComposed(rng *rand.Rand, d int, names []string, depth int) (text string, value func(x []float64) float64) {
	positive := float64(1+rng.IntN(8)) / 4
	switch rng.IntN(4) {
	case 0:
		text, value := drawCost(rng, d, names, depth-1)
		return fmt.Sprintf("{scaled: {weight: %g, cost: %s}}", positive, text), func(x []float64) float64 {
			return positive * value(x)
		}
	case 1:
		text, value := drawCost(rng, d, names, depth-1)
		other, more := drawCost(rng, d, names, depth-1)
		text = fmt.Sprintf("{sum: [{weight: %g, cost: %s}, {weight: 0.5, cost: %s}]}", positive, text, other)
		return text, func(x []float64) float64 { return positive*value(x) + more(x)/2 }
	case 2:
		text, value := drawCost(rng, d, names, depth-1)
		other, more := drawCost(rng, d, names, depth-1)
		return "{maximum: [" + text + ", " + other + "]}", greatest([]func(x []float64) float64{value, more})
	}
	rows, b, texts := make([][]float64, 1+rng.IntN(3)), "", []string(nil)
	shift := make([]float64, len(rows))
	for j := range rows {
		rows[j] = eighths(rng, d)
		texts = append(texts, vectorText(rows[j]))
	}
	if rng.IntN(2) == 0 {
		shift = eighths(rng, len(rows))
		b = ", b: " + vectorText(shift)
	}
	text, inner := drawCost(rng, len(rows), nil, depth-1)
	text = fmt.Sprintf("{precomposed: {A: [%s]%s, cost: %s}}", strings.Join(texts, ", "), b, text)
	return text, func(x []float64) float64 {
		y := slices.Clone(shift)
		for j, row := range rows {
			y[j] += floats.Dot(row, x)
		}
		return inner(y)
	}
}

// greatest returns the greatest of some functions.
func greatest(values []func(x []float64) float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		most := math.Inf(-1)
		for _, value := range values {
			most = max(most, value(x))
		}
		return most
	}
}

// TestDrawnCosts: costs of all kinds, within one another, have the values that the manual says, wherever something is
// left out and however coefficients are written.
func TestDrawnCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 1))
	names := []string{"r", "q", "cost"}
	kinds := make(map[string]bool)
	for range 600 {
		d := 1 + rng.IntN(3)
		text, value := drawCost(rng, d, names[:d], 2)
		if rng.IntN(20) == 0 {
			text, value = "{coordinate: "+names[d-1]+"}", func(x []float64) float64 { return x[d-1] }
		}
		root, bad := parseYAML(text, 1)
		spec, dec := new(Cost), new(decoder)
		if bad != nil || !dec.value(root, nil, reflect.ValueOf(spec).Elem()) {
			t.Fatalf("%s: %v", text, dec.errs)
		}
		kind, _, _ := kindOf(*spec)
		kinds[kind] = true
		low := eighths(rng, d)
		domain, err := geometry.NewBox(low, floats.AddTo(make([]float64, d), low, slices.Repeat([]float64{2}, d)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Build(names[:d], domain)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 4 {
			x := slices.Clone(low)
			for i := range x {
				x[i] += 2 * rng.Float64()
			}
			if got, want := c.Value(x), value(x); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%s is %g at %v: want %g", text, got, x, want)
			}
		}
	}
	if n := len(fieldsOf(reflect.TypeFor[Cost]())) - 1; len(kinds) != n { // distances have a test of their own
		t.Errorf("costs of %d kinds were drawn: want %d", len(kinds), n)
	}
}

// A drawnSet is the text of a set in the plane, with the distance of a point from it.
type drawnSet struct {
	text    string
	far     func(x, y float64) float64
	bounded bool
}

// between returns how far a number is from an interval.
func between(x, low, up float64) float64 { return max(0, low-x, x-up) }

// segment returns the distance of a point from the line between two others.
func segment(x, y, ax, ay, bx, by float64) float64 {
	share := 0.0
	if size := (bx-ax)*(bx-ax) + (by-ay)*(by-ay); size > 0 {
		share = min(1, max(0, ((x-ax)*(bx-ax)+(y-ay)*(by-ay))/size))
	}
	return math.Hypot(x-ax-share*(bx-ax), y-ay-share*(by-ay))
}

// drawSet draws a set, which may call returns by names if there are any.
func drawSet(rng *rand.Rand, depth int, names []string) drawnSet {
	a, b, size := eighths(rng, 2), eighths(rng, 2), float64(1+rng.IntN(8))/4
	list := vectorText
	if depth > 0 && rng.IntN(2) == 0 {
		return drawMoved(rng, depth, names)
	}
	switch rng.IntN(8) {
	case 0:
		return drawnSet{fmt.Sprintf("{ball: {center: %s, radius: %g}}", list(a), size), func(x, y float64) float64 {
			return max(0, math.Hypot(x-a[0], y-a[1])-size)
		}, true}
	case 1:
		return drawnSet{fmt.Sprintf("{linf_ball: {center: %s, radius: %g}}", list(a), size), func(x, y float64) float64 {
			return math.Hypot(between(x, a[0]-size, a[0]+size), between(y, a[1]-size, a[1]+size))
		}, true}
	case 2:
		return drawBox(rng)
	case 3:
		text, n := drawCoefficients(rng, 2, names)
		if n[0] == 0 && n[1] == 0 {
			return drawBox(rng)
		}
		return drawnSet{fmt.Sprintf("{halfspace: {normal: %s, offset: %g}}", text, size), func(x, y float64) float64 {
			return max(0, n[0]*x+n[1]*y-size) / math.Hypot(n[0], n[1])
		}, false}
	case 4:
		text := fmt.Sprintf("{total: %g}", size)
		if rng.IntN(3) == 0 {
			text, size = "{}", 1
		}
		return drawnSet{"{simplex: " + text + "}", func(x, y float64) float64 { return segment(x, y, size, 0, 0, size) },
			true}
	case 5:
		return drawnSet{"{hull: [" + list(a) + ", " + list(b) + "]}", func(x, y float64) float64 {
			return segment(x, y, a[0], a[1], b[0], b[1])
		}, true}
	case 6:
		a[0] = size // or it would be no equation
		return drawnSet{fmt.Sprintf("{affine: {A: [%s], b: [%g]}}", list(a), b[0]), func(x, y float64) float64 {
			return math.Abs(a[0]*x+a[1]*y-b[0]) / math.Hypot(a[0], a[1])
		}, false}
	}
	return drawnSet{"{product: [{orthant: {dim: 1}}, {box: {upper: [" + fmt.Sprint(a[0]) + "]}}]}",
		func(x, y float64) float64 { return math.Hypot(max(0, -x), max(0, y-a[0])) }, false}
}

// drawMoved draws a set that is another one moved, enlarged or turned.
func drawMoved(rng *rand.Rand, depth int, names []string) drawnSet {
	a, b, size := eighths(rng, 2), eighths(rng, 2), float64(1+rng.IntN(8))/4
	kind := rng.IntN(6)
	if kind > 3 { // what is turned has no names
		names = nil
	}
	in := drawSet(rng, depth-1, names)
	switch kind {
	case 0:
		return drawnSet{"{translate: {set: " + in.text + ", by: " + vectorText(a) + "}}", func(x, y float64) float64 {
			return in.far(x-a[0], y-a[1])
		}, in.bounded}
	case 1:
		return drawnSet{fmt.Sprintf("{scale: {set: %s, factor: %g}}", in.text, size), func(x, y float64) float64 {
			return size * in.far(x/size, y/size)
		}, in.bounded}
	case 2, 3:
		text := fmt.Sprintf("{inflate: {set: %s, radius: %g}}", in.text, size)
		if in.bounded && kind == 2 { // the same in other words
			text = fmt.Sprintf("{minkowski_sum: [%s, {ball: {center: [0, 0], radius: %g}}]}", in.text, size)
		}
		return drawnSet{text, func(x, y float64) float64 { return max(0, in.far(x, y)-size) }, in.bounded}
	}
	// A rotation, whose inverse is its transpose; b may be left out.
	by := ", b: " + vectorText(b)
	if rng.IntN(2) == 0 {
		b, by = make([]float64, 2), ""
	}
	if in.bounded {
		return drawnSet{"{image: {A: [[0.6, -0.8], [0.8, 0.6]]" + by + ", set: " + in.text + "}}",
			func(x, y float64) float64 {
				x, y = x-b[0], y-b[1]
				return in.far(0.6*x+0.8*y, 0.6*y-0.8*x)
			}, true}
	}
	return drawnSet{"{preimage: {A: [[0.6, -0.8], [0.8, 0.6]]" + by + ", set: " + in.text + "}}",
		func(x, y float64) float64 { return in.far(0.6*x-0.8*y+b[0], 0.8*x+0.6*y+b[1]) }, false}
}

// drawBox draws a box, without some of its sides.
func drawBox(rng *rand.Rand) drawnSet {
	low, up := eighths(rng, 2), eighths(rng, 2)
	texts := [2][]string{{"null", "null"}, {"null", "null"}}
	bounded := true
	for i := range low {
		low[i], up[i] = min(low[i], up[i]), max(low[i], up[i])
		for side, bounds := range [][]float64{low, up} {
			if rng.IntN(4) == 0 {
				bounds[i], bounded = math.Inf(2*side-1), false
			} else {
				texts[side][i] = fmt.Sprint(bounds[i])
			}
		}
	}
	var parts []string
	for side, name := range []string{"lower", "upper"} {
		if parts == nil && side == 1 || texts[side] != nil && slices.ContainsFunc(texts[side], func(x string) bool {
			return x != "null"
		}) {
			parts = append(parts, name+": ["+strings.Join(texts[side], ", ")+"]")
		}
	}
	return drawnSet{"{box: {" + strings.Join(parts, ", ") + "}}", func(x, y float64) float64 {
		return math.Hypot(between(x, low[0], up[0]), between(y, low[1], up[1]))
	}, bounded}
}

// TestDrawnSets: points are as far from sets, within one another, as the manual's definitions say.
func TestDrawnSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 2))
	for range 400 {
		of := drawSet(rng, 2, []string{"reward", "cost"})
		set := buildSet(t, of.text)
		for range 4 {
			v, nearest := eighths(rng, 2), make([]float64, 2)
			floats.Scale(2, v)
			set.Project(nearest, v)
			want := of.far(v[0], v[1])
			if got := floats.Distance(v, nearest, 2); math.Abs(got-want) > 1e-5*(1+want) {
				t.Fatalf("%s: %v is %g away: want %g", of.text, v, got, want)
			}
		}
	}
}
