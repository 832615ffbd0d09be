// Package geometrytest holds the laws that every set must obey, for the sets of the
// package geometry and for those of users, in the manner of testing/fstest:
//
//	if err := geometrytest.Check(mySet, geometrytest.Facts{Inside: …, Outside: …}); err != nil {
//		t.Fatal(err)
//	}
//
// The laws are conditions of optimality, tried at random points and directions, so
// they need no stored answers; but they can only compare a set with itself. What
// the set is meant to be comes in through the facts: points that belong to it and
// points that do not.
package geometrytest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/oracletest"
)

// Facts says what is known about a set from outside. The zero value of a field
// stands for its default.
type Facts struct {
	Inside  [][]float64 // points of the set
	Outside [][]float64 // points farther from the set than Tolerance
	// Tolerance is the error allowed to a projection, relative to the sizes of the
	// set and of the point projected. The default is 1e-9.
	Tolerance float64
	// NoAllocation asks that no method allocates.
	NoAllocation bool
	// Trials is the number of random points and of random directions. The default is
	// 40.
	Trials int
	// Seed chooses the random points.
	Seed uint64
}

// Check returns nil if the set obeys all laws, and otherwise an error that joins one
// violation of each law that is broken. Beyond projection, it tests what the set
// offers: linear maximisation, faces, bounds, an interior point, rows. It
// uses the set from several goroutines at once.
func Check(set geometry.Set, facts Facts) error {
	if facts.Tolerance == 0 {
		facts.Tolerance = 1e-9
	}
	if facts.Trials == 0 {
		facts.Trials = 40
	}
	d := set.Dim()
	if d < 1 {
		return fmt.Errorf("geometrytest: dimension %d: want ≥ 1", d)
	}
	for _, x := range append(append([][]float64(nil), facts.Inside...), facts.Outside...) {
		if len(x) != d {
			return fmt.Errorf("geometrytest: stated point %v has %d coordinates, the set dimension %d", x, len(x), d)
		}
	}
	p := &probe{set: set, Facts: facts, dim: d, rng: rand.New(rand.NewPCG(facts.Seed, 0x5e7))}
	p.maximizer, _ = set.(oracle.LinearMaximizer)
	p.faces, _ = set.(oracle.FaceProjector)
	var broken []error
	for _, law := range laws {
		if law.of == maximizers && p.maximizer == nil || law.of == faces && p.faces == nil {
			continue
		}
		if err := oracletest.Guard(func() error { return law.check(p) }); err != nil {
			broken = append(broken, fmt.Errorf("geometrytest: %T breaks %q: %w", set, law.name, err))
			if len(p.members) == 0 {
				break
			}
		}
	}
	return errors.Join(broken...)
}

// What a law is about: all sets, those with a linear maximiser, those that project on faces.
const (
	sets = iota
	maximizers
	faces
)

// laws in the order in which they are tried: the first prepares the points for the
// others.
var laws = []struct {
	name  string
	of    int
	check func(*probe) error
}{
	{"questions can be asked", sets, (*probe).prepare},
	{"inputs are untouched", sets, func(p *probe) error { return oracletest.Untouched(p.calls()) }},
	{"answers are finite and repeatable", sets, func(p *probe) error { return oracletest.Repeatable(p.calls()) }},
	{"destinations are overwritten", sets, func(p *probe) error { return oracletest.Overwritten(p.calls()) }},
	{"a destination may be the point", sets, func(p *probe) error { return oracletest.Aliasing(p.calls()) }},
	{"wrong lengths panic", sets, func(p *probe) error { return oracletest.Lengths(p.first()) }},
	{"stated points belong or not", sets, (*probe).stated},
	{"projection is idempotent", sets, (*probe).idempotent},
	{"projection does not expand", sets, (*probe).nonExpansive},
	{"projection is optimal", sets, (*probe).optimal},
	{"projection of far points is optimal", sets, (*probe).far},
	{"support points belong", maximizers, (*probe).supportBelongs},
	{"support is the largest value", maximizers, (*probe).supportLargest},
	{"support is sublinear", maximizers, (*probe).sublinear},
	{"a zero direction gives a point of the set", maximizers, (*probe).zeroDirection},
	{"face points are maximisers", faces, (*probe).faceMaximal},
	{"face points are nearest", faces, (*probe).faceNearest},
	{"bounds contain the set", sets, (*probe).bounds},
	{"the interior point has its room", sets, (*probe).interior},
	{"rows describe the set", sets, (*probe).rows},
	{"concurrent use changes nothing", sets, func(p *probe) error { return oracletest.Concurrent(p.calls()) }},
	{"methods do not allocate", sets, (*probe).allocation},
}
