package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cmdpsolve/geometry"
)

// TestSetsMeanWhatTheManualSays compares the sets of the manual's table with what
// stands beside them, written out here for the numbers of the examples: excess is
// above 0 outside and below 0 inside.
func TestSetsMeanWhatTheManualSays(t *testing.T) {
	_, page := fences(t)
	norm := math.Hypot
	for text, excess := range map[string]func(x, y float64) float64{
		"{ball: {center: [1, 0], radius: 2}}": func(x,
			y float64) float64 {
			return norm(x-1, y) - 2
		},
		"{box: {lower: [0, null], upper: [null, 3]}}":             func(x, y float64) float64 { return max(-x, y-3) },
		"{halfspace: {normal: {reward: -1, cost: 2}, offset: 3}}": func(x, y float64) float64 { return -x + 2*y - 3 },
		"{polytope: {A: [[1, 1], [-1, 0], [0, -1]], b: [4, 0, 0]}}": func(x,
			y float64) float64 {
			return max(x+y-4, -x, -y)
		},
		"{hull: [[0, 0], [1, 2], [3, 1]]}": func(x, y float64) float64 {
			return max(x/3-y, y-2*x, x/2+y-2.5)
		},
		"{ellipsoid: {center: [1, 1], shape: [[4, 0], [0, 1]]}}": func(x,
			y float64) float64 {
			return 4*(x-1)*(x-1) + (y-1)*(y-1) - 1
		},
		"{l1_ball: {center: [0, 0], radius: 1}}": func(x,
			y float64) float64 {
			return math.Abs(x) + math.Abs(y) - 1
		},
		"{linf_ball: {center: [0, 0], radius: 1}}": func(x,
			y float64) float64 {
			return max(math.Abs(x), math.Abs(y)) - 1
		},
		"{orthant: {}}":           func(x, y float64) float64 { return max(-x, -y) },
		"{second_order_cone: {}}": func(x, y float64) float64 { return math.Abs(x) - y },
		"{intersection: [{orthant: {}}, {ball: {center: [0, 0], radius: 1}}]}": func(x, y float64) float64 {
			return max(-x, -y, norm(x, y)-1)
		},
		"{convex_hull: [{point: [3, 3]}, {ball: {center: [0, 0], radius: 1}}]}": func(x, y float64) float64 {
			// Along the way from the ball to the point the radius falls to 0.
			least := norm(x, y) - 1
			for s := 0.0; s < 1; s += 1e-3 {
				least = min(least, norm(x-3*s, y-3*s)-(1-s))
			}
			return least
		},
		"{minkowski_sum: [{hull: [[0, 0], [1, 1]]}, {ball: {center: [0, 0], radius: 1}}]}": func(x, y float64) float64 {
			s := min(1, max(0, (x+y)/2))
			return norm(x-s, y-s) - 1
		},
		"{translate: {set: {ball: {center: [0, 0], radius: 1}}, by: [1, 2]}}": func(x,
			y float64) float64 {
			return norm(x-1, y-2) - 1
		},
		"{inflate: {set: {point: [1, 1]}, radius: 0.5}}": func(x,
			y float64) float64 {
			return norm(x-1, y-1) - 0.5
		},
		"{preimage: {A: [[1, 1]], b: [0], set: {box: {upper: [3]}}}}": func(x,
			y float64) float64 {
			return x + y - 3
		},
	} {
		if !strings.Contains(page, "`"+text+"`") {
			t.Errorf("the manual has no %s any more", text)
		}
		set := buildSet(t, text)
		Inside, outside := 0, 0
		for x := -2.03; x < 4; x += 0.17 {
			for y := -2.03; y < 4; y += 0.17 {
				e := excess(x, y)
				if math.Abs(e) < 1e-3 {
					continue
				}
				if got := geometry.Contains(set, []float64{x, y}, 1e-6); got != (e < 0) {
					t.Fatalf("%s: (%g, %g) inside: %v, but the formula has the excess %g", text, x, y, got, e)
				}
				if e < 0 {
					Inside++
				} else {
					outside++
				}
			}
		}
		if Inside < 5 || outside < 5 {
			t.Errorf("%s: %d points inside, %d outside", text, Inside, outside)
		}
	}
}

func buildSet(t *testing.T, text string) geometry.Set {
	t.Helper()
	root, bad := parseYAML(text, 1)
	if bad != nil {
		t.Fatalf("%s: %s", text, bad.message)
	}
	spec, d := new(Set), new(decoder)
	if !d.value(root, nil, reflect.ValueOf(spec).Elem()) {
		t.Fatalf("%s: %v", text, d.errs)
	}
	set, err := spec.Build(2, []string{"reward", "cost"})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return set
}

// TestFactorsHaveTheirNames: factors of a product are about the returns in their turn, whether they name them or not.
func TestFactorsHaveTheirNames(t *testing.T) {
	first := buildSet(t, "{product: [{halfspace: {normal: {reward: 2}, offset: 3}}, {halfspace: {normal: [-1], offset: 1}}]}")
	last := buildSet(t, "{product: [{halfspace: {normal: [2], offset: 3}}, {halfspace: {normal: {cost: -1}, offset: 1}}]}")
	for x := -3.03; x < 3; x += 0.4 {
		for y := -3.03; y < 3; y += 0.4 {
			want := 2*x <= 3 && -y <= 1
			for _, set := range []geometry.Set{first, last} {
				if got := geometry.Contains(set, []float64{x, y}, 1e-9); got != want {
					t.Errorf("(%g, %g) inside: %v", x, y, got)
				}
			}
		}
	}
}

// A drawnFactor is the text of a set, and how many coordinates it has; at least so many where its numbers leave it
// open. A product two of whose factors are open is wrong.
type drawnFactor struct {
	text        string
	least       int
	open, wrong bool
}

func drawFactor(rng *rand.Rand, depth int) drawnFactor {
	kind := rng.IntN(9)
	if depth == 0 {
		kind %= 6
	}
	if kind < 6 {
		return []drawnFactor{{"{orthant: {}}", 1, true, false}, {"{simplex: {total: 2}}", 1, true, false},
			{"{orthant: {dim: 2}}", 2, false, false}, {"{box: {lower: [0, 1]}}", 2, false, false},
			{"{box: {upper: [3, null, 2]}}", 3, false, false}, {"{ball: {center: [1], radius: 1}}", 1, false, false}}[kind]
	}
	if kind < 8 {
		f := drawFactor(rng, depth-1)
		f.text = fmt.Sprintf([]string{"{scale: {set: %s, factor: 2}}", "{inflate: {set: %s, radius: 2}}"}[kind-6], f.text)
		return f
	}
	var f drawnFactor
	var parts []string
	for range 1 + rng.IntN(3) {
		part := drawFactor(rng, depth-1)
		parts = append(parts, part.text)
		f.wrong = f.wrong || part.wrong || f.open && part.open
		f.open = f.open || part.open
		f.least += part.least
	}
	f.text = "{product: [" + strings.Join(parts, ", ") + "]}"
	return f
}

// TestSizesOfFactors: one factor of a product at most may leave open how many coordinates it takes; it takes those that
// the others leave.
func TestSizesOfFactors(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 93))
	built := make(map[bool]int)
	for range 300 {
		f := drawFactor(rng, 3)
		root, bad := parseYAML(f.text, 1)
		set := new(Set)
		if bad != nil || !new(decoder).value(root, nil, reflect.ValueOf(set).Elem()) {
			t.Fatal(f.text, bad)
		}
		for dim := f.least - 1; dim < f.least+3; dim++ {
			_, err := set.Build(dim, nil)
			good := !f.wrong && (dim == f.least || f.open && dim > f.least)
			if built[good]++; dim > 0 && (err == nil) != good {
				t.Fatalf("%s with %d coordinates: %v", f.text, dim, err)
			}
		}
	}
	if built[true] < 100 || built[false] < 100 {
		t.Errorf("%v: want more of both", built)
	}
}

// TestDistancesByDefinition: the distance to a set without bounds, however far it is, is that to the nearest point.
func TestDistancesByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 92))
	for range 200 {
		text := []string{"{halfspace: {normal: [%[1]g, %[2]g], offset: %[3]g}}",
			"{translate: {set: {orthant: {}}, by: [%[1]g, %[3]g]}}", "{affine: {A: [[%[1]g, %[2]g]], b: [%[3]g]}}",
			"{translate: {set: {second_order_cone: {}}, by: [%[3]g, %[2]g]}}",
			"{intersection: [{halfspace: {normal: [%[1]g, %[2]g], offset: %[3]g}}, {orthant: {}}]}"}[rng.IntN(5)]
		offset := math.Pow(10, 4*rng.Float64()-1) * (rng.Float64() - 0.3)
		if strings.Contains(text, "intersection") {
			offset = math.Abs(offset) // or nothing is in it
		}
		text = fmt.Sprintf(text+"%.0[1]f%.0[2]f%.0[3]f", 0.2+rng.Float64(), 0.2+rng.Float64(), offset)
		text = text[:strings.LastIndex(text, "}")+1]
		root, bad := parseYAML(text, 1)
		spec := new(Set)
		if bad != nil || !new(decoder).value(root, nil, reflect.ValueOf(spec).Elem()) {
			t.Fatal(text)
		}
		low := []float64{10 * rng.NormFloat64(), 10 * rng.NormFloat64()}
		size := math.Pow(10, 3*rng.Float64()-1) // also domains that are wide beside how far the set is
		domain, err := geometry.NewBox(low, []float64{low[0] + size*rng.Float64(), low[1] + 5*size*rng.Float64()})
		if err != nil {
			t.Fatal(err)
		}
		of := Cost{Distance: spec}
		c, err := of.Build(nil, domain)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		set := buildSet(t, text)
		for range 5 {
			v, nearest := make([]float64, 2), make([]float64, 2)
			for i := range v {
				v[i] = low[i] + rng.Float64()*(domain.Upper()[i]-low[i])
			}
			set.Project(nearest, v)
			want := math.Hypot(v[0]-nearest[0], v[1]-nearest[1])
			if got := c.Value(v); math.Abs(got-want) > 1e-6*max(1, want) {
				t.Errorf("%s is %g from %v: want %g", text, got, v, want)
			}
		}
	}
}
