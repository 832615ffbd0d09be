package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// OctetTotals finds policies of least expected totals in several directions, and what these return, where nothing that
// a choice gives is negative and transitions lead back over few of the states: by value iteration in place, see
// windowReaches, in all directions at once, so that a row is read once for all of them. A sweep of all choices in eight
// directions takes less time than one of a policy in one direction and another.
//
// Values are proved: a last look at all choices shows that none is above its backup.
type OctetTotals struct {
	Quotient   *Quotient
	Directions []Octet // for each return, its weight in each direction
	Start      []Start
	// Gap is by how much the policies may be worse than the bounds. Relative is the same as a share of the bounds, of
	// which the larger one counts.
	Gap      Octet
	Relative float64
	Progress progress.Func
	Workers  int // that share sweeps by windows; 0 counts as 1

	// What Solve finds:
	Values  []Octet           // of each state, and of what rests
	Policy  [][NumOctet]uint8 // of each state, its choice, the first one being 0
	Returns []Octet           // the returns of the policies from the start
	Bound   Octet             // what no policy returns less than
	Solved  [NumOctet]bool    // the directions in which the gap was reached and the bound proved

	rows    octetRows
	first   []int32
	begin   []int32
	next    []uint32
	shareAt []int32
	shares  []float64
	own     []float64
	mean    []float64 // of each return, over all choices
	longest int
	reach   int32 // how far back a transition leads at most
	span    int32 // how far, back or on
	missing []Octet
	visited []Octet
	raised  bool              // values were raised before
	parts   [][]int32         // see findParts
	reached Octet             // what the policies return
	rest    Octet             // what visits that are missing cost, of that
	active  []uint8           // of each state, whether some policy visits it, but for a few visits
	shown   [][NumOctet]uint8 // where look leaves policies
	proof   [][NumOctet]uint8 // those of the last look, which nobody needs
	met     []uint8           // of each state, the directions in which its policy comes to rest, as bits
}

// A Start is a state of a quotient in which the process begins, and how likely that is.
type Start struct {
	State       int32
	Probability float64
}

// mostOctetMemory is the most bytes that octets and rows may take. It also keeps the bytes of octets numbered by 32
// bits.
const mostOctetMemory = 1 << 30

// octetMemory returns how many bytes octets and rows of a quotient take, without the shares of rows, of which many may
// have the same.
func (q *Quotient) octetMemory(dim int) int {
	const state, row, entry = 3*octetBytes + 2*NumOctet + 4, 8, 4
	return state*int(q.Rest) + (row+8*dim)*len(q.Choice) + entry*len(q.To)
}

// Octets returns the program of a quotient for models with dim returns, or nil where it does not apply, or takes more
// than mostOctetMemory.
func (z *LeastTotal) Octets(dim int) *OctetTotals {
	q := z.Quotient
	if z.gamma < 1 || z.LowerBound != 0 || z.near != nil || q.Origin == nil || len(q.Merged) > 0 ||
		len(q.ZeroStates) > 0 || dim == 0 || q.Rest == 0 || q.octetMemory(dim) > mostOctetMemory {
		return nil
	}
	out := &OctetTotals{Quotient: q, Directions: make([]Octet, dim), longest: z.longest, mean: make([]float64, dim),
		first: q.First}
	const sooner = 2 // windows gain where a model is half as long, since the other way takes one direction at a time
	if !out.load(dim) || !windowed(q.Rest, out.reach/sooner) ||
		q.octetMemory(dim)+8*len(out.shares) > mostOctetMemory {
		return nil
	}
	for j := range out.mean {
		out.mean[j] /= float64(len(q.Choice))
	}
	out.room()
	return out
}

// room makes room for what is found.
func (z *OctetTotals) room() {
	n := int(z.Quotient.Rest)
	z.Values, z.missing, z.visited = make([]Octet, n+1), make([]Octet, n+1), make([]Octet, n+1)
	z.Policy, z.met = make([][NumOctet]uint8, n), make([]uint8, n+1)
	z.active = make([]uint8, n)
	z.Returns = make([]Octet, len(z.Directions))
	z.rows.set(z)
	z.rows.keep = z.keep(8)
}

// keep returns what is left of a backup if it is made less by so many times what rounding takes from it. It is less in
// sweeps than where it proves values, so that combinations of proved values, which are rounded again, are proved too.
func (z *OctetTotals) keep(times float64) float64 {
	return 1 - times*float64(len(z.Directions)+2*z.longest+8)*unit
}

// load makes the rows. It reports false where a choice returns something negative, stays in its state for ever, or is
// one of too many, or there is none.
func (z *OctetTotals) load(dim int) bool {
	q, k := z.Quotient, z.Quotient.Kernel
	z.next, z.shareAt = make([]uint32, 0, len(q.To)), make([]int32, 0, len(q.Choice))
	z.begin, z.own = make([]int32, 1, len(q.Choice)+1), make([]float64, 0, dim*len(q.Choice))
	known := make(map[uint32]int32) // where the shares of a distribution stand
	for s := range q.Rest {
		if n := q.First[s+1] - q.First[s]; n == 0 || n > math.MaxUint8+1 {
			return false
		}
		for _, c := range q.Choice[q.First[s]:q.First[s+1]] {
			if c == Stay {
				return false
			}
			to, prob := q.row(c)
			entry, out := len(z.next), 0.0
			for j, n := range to {
				if n != s && prob[j] > 0 {
					z.next = append(z.next, uint32(n)*octetBytes)
					out += prob[j]
					if n < q.Rest {
						z.reach, z.span = max(z.reach, n-s), max(z.span, n-s, s-n)
					}
				}
			}
			at, shared := int32(len(z.shares)), k.Distribution != nil && len(z.next) == entry+len(to)
			if shared {
				if before, ok := known[k.Distribution[c]]; ok {
					at = before
				} else {
					known[k.Distribution[c]] = at
				}
			}
			if int(at) == len(z.shares) {
				for j, n := range to {
					if n != s && prob[j] > 0 {
						z.shares = append(z.shares, prob[j]/out)
					}
				}
			}
			z.begin, z.shareAt = append(z.begin, int32(len(z.next))), append(z.shareAt, at)
			for j, r := range k.ReturnsOf(int(c), dim) {
				if x := r / out; x >= 0 && !math.IsInf(x, 1) {
					z.own = append(z.own, x)
					z.mean[j] += r
					continue
				}
				return false
			}
		}
	}
	return len(z.next) > 0
}

// eachPart calls do for the states, upwards, some at a time, so that the program can be interrupted between them.
func (z *OctetTotals) eachPart(ctx context.Context, do func(lo, hi int32)) {
	const most = 1 << 14
	for lo := int32(0); lo < z.Quotient.Rest && ctx.Err() == nil; lo += most {
		do(lo, min(z.Quotient.Rest, lo+most))
	}
}

// Solve finds values and policies. Where the values that it begins with are proved, it raises them, else it begins
// anew.
func (z *OctetTotals) Solve(ctx context.Context, proved bool) error {
	z.Solved = [NumOctet]bool{}
	clear(z.met)
	z.forgetReached()
	if proved {
		z.raise(ctx)
	} else {
		z.iterate(ctx)
	}
	if ctx.Err() == nil {
		z.prove(ctx)
	}
	return ctx.Err()
}

// iterate finds values from nothing, and policies.
func (z *OctetTotals) iterate(ctx context.Context) {
	const passes = 12
	z.rows.slack, z.rows.rising, z.rows.active = Octet{}, 0, nil
	clear(z.Values)
	z.eachPart(ctx, z.drift) // which tells roughly what the bound will be
	z.setBound()
	z.setSlack(1)
	for pass := 0; pass < passes && ctx.Err() == nil; pass++ {
		z.slide(ctx, iterationWindow, pass == 0)
		z.setBound()
		if pass == 0 {
			z.setSlack(1)
		}
		if !z.settles(ctx) {
			continue
		}
		if !z.policies(ctx) || z.close() {
			return
		}
		z.setSlack(0.25)
	}
}

// raise raises proved values, and finds policies. It sweeps states that policies visit, but for a few visits: what
// values of others lack is no matter. The first time it sweeps all of them, since policies of few directions are known.
func (z *OctetTotals) raise(ctx context.Context) {
	const passes = 8
	z.rows.slack, z.rows.rising, z.rows.active = Octet{}, math.MaxUint64, &z.active[0]
	if !z.raised {
		z.rows.active, z.raised = nil, true
	}
	for pass := 0; pass < passes && ctx.Err() == nil; pass++ {
		z.slide(ctx, raisingWindow, false)
		z.setBound()
		if pass > 0 && z.close() || !z.policies(ctx) || z.close() {
			return
		}
		z.rows.active = &z.active[0] // which now has what these policies visit
	}
}

// slide sweeps all states by windows once. Fresh values are those of drift.
func (z *OctetTotals) slide(ctx context.Context, w octetWindow, fresh bool) {
	z.Progress.At(findingValues, math.NaN(), int(z.Quotient.Rest))
	z.windows(ctx, w, func(from, to int32) {
		if fresh {
			z.drift(from, to)
		}
	}, z.sweep)
}

// settles sweeps all states, and again parts of them that lead to one which has changed by more than a little, until
// none has. It reports false where many have, or that seems to take more sweeps than windows do.
func (z *OctetTotals) settles(ctx context.Context) bool {
	const few, most = 8, 12 // a share of the parts, and sweeps of all of them
	parts := z.findParts()
	changed, all := make([]bool, len(parts)), true
	for swept := 0; swept <= most*len(parts) && ctx.Err() == nil; {
		now := 0
		for p, to := range parts {
			if !all && !slices.ContainsFunc(to, func(q int32) bool { return changed[q] }) {
				changed[p] = false
				continue
			}
			swept++
			changed[p] = z.sweepPart(int32(p))
			if changed[p] {
				now++
			}
		}
		if all && now == 0 {
			z.setBound()
			return true
		}
		if all && now > len(parts)/few {
			return false
		}
		all = now == 0
	}
	return false
}

// octetPart is how many states a part has.
const octetPart = 64

// sweepPart sweeps the states of a part, and reports whether some value has changed by more than a little.
func (z *OctetTotals) sweepPart(p int32) bool {
	z.rows.worst = Octet{}
	z.sweep(&z.rows, p*octetPart, min(z.Quotient.Rest, (p+1)*octetPart))
	for l, x := range z.rows.worst {
		if !(x <= 0.5*z.rows.slack[l]) {
			return true
		}
	}
	return false
}

// findParts returns, for each part of the states, the parts that choices lead to, itself among them.
func (z *OctetTotals) findParts() [][]int32 {
	if z.parts != nil {
		return z.parts
	}
	rest := z.Quotient.Rest
	z.parts = make([][]int32, (rest+octetPart-1)/octetPart)
	met, to := make([]int32, len(z.parts)), []int32(nil) // the last part that leads to each, from 1
	for p := range int32(len(z.parts)) {
		to, met[p] = append(to[:0], p), p+1
		first, end := z.first[p*octetPart], z.first[min(rest, (p+1)*octetPart)]
		for _, n := range z.next[z.begin[first]:z.begin[end]] {
			if n := int32(n / octetBytes); n < rest && met[n/octetPart] != p+1 {
				to, met[n/octetPart] = append(to, n/octetPart), p+1
			}
		}
		z.parts[p] = slices.Clone(to)
	}
	return z.parts
}

// close reports whether no policy is worse than its bound by more than the gap.
func (z *OctetTotals) close() bool {
	for l, x := range z.reached {
		if !(x-z.Bound[l] <= z.gap(l)) {
			return false
		}
	}
	return true
}

// gap returns by how much a policy may be worse than its bound.
func (z *OctetTotals) gap(l int) float64 { return max(z.Gap[l], z.Relative*z.Bound[l]) }

// setSlack makes choices cheaper by what takes a part of the gap, for a path whose steps cost about half as much as all
// choices do on the average, or by a share of that.
func (z *OctetTotals) setSlack(share float64) {
	const part = 0.5
	for l := range z.rows.slack {
		step := 0.0
		for j, x := range z.mean {
			step += 0.5 * x * z.Directions[j][l]
		}
		switch {
		case share < 1:
			z.rows.slack[l] *= share
		case z.Bound[l] > 0:
			z.rows.slack[l] = part * z.gap(l) / z.Bound[l] * step
		}
	}
}

// setBound sets the bound to the mean of the values at the start.
func (z *OctetTotals) setBound() {
	z.Bound = Octet{}
	for _, st := range z.Start {
		for l, x := range z.Values[st.State] {
			z.Bound[l] += float64(st.Probability * x)
		}
	}
}

// drift is LeastTotal.driftValues.
func (z *OctetTotals) drift(from, to int32) {
	const dear, least = 2, 0.125 // a way back, and the least drift
	d, inf := len(z.Directions), math.Inf(1)
	for s := from; s < to; s++ {
		best := Octet{inf, inf, inf, inf, inf, inf, inf, inf}
		for i := z.first[s]; i < z.first[s+1]; i++ {
			x, out := Octet{}, 0.0
			for k, n := range z.next[z.begin[i]:z.begin[i+1]] {
				if n := int32(n / octetBytes); n < s || n == z.Quotient.Rest {
					share := z.shares[int(z.shareAt[i])+k]
					out += share
					for l, y := range &z.Values[n] {
						x[l] += float64(share * y)
					}
				}
			}
			if out == 0 {
				continue
			}
			steps := max(1/out, 1/max(out-dear*(1-out), least))
			for l := range x {
				own := 0.0
				for j, r := range z.own[int(i)*d:][:d] {
					own += float64(r * z.Directions[j][l])
				}
				best[l] = min(best[l], x[l]/out+own*steps)
			}
		}
		if !math.IsInf(best[0], 1) {
			z.Values[s] = best
		}
	}
}

// policies finds the policies that values show and what they return. What is missing of visits is counted by values,
// which are below what policies return there, so nothing is known where it is more than a small part of the gap. It
// reports false where that is slow.
func (z *OctetTotals) policies(ctx context.Context) bool {
	const (
		seldom = 1e-5 // visits of a state that is not swept
		little = 1e-2 // part of the gap
	)
	z.forgetReached()
	z.shown, z.rows.policy = z.Policy, &z.Policy[0]
	z.eachPart(ctx, z.look)
	z.mend()
	if !z.visits(ctx) {
		z.forgetReached() // which was known of the first visits alone
		return false
	}
	z.setReturns()
	z.addMissing()
	for l, x := range z.rest {
		if !(x <= little*z.gap(l)) {
			z.reached[l] = math.Inf(1)
		}
	}
	for s := range z.active {
		for _, x := range &z.visited[s] {
			if x > seldom {
				z.active[s] = 1
			}
		}
	}
	return true
}

// forgetReached says that nothing is known of the policies, which are about to change.
func (z *OctetTotals) forgetReached() {
	for l := range z.reached {
		z.reached[l] = math.Inf(1)
	}
}

// prove looks at all choices once, and sets Solved.
func (z *OctetTotals) prove(ctx context.Context) {
	if z.proof == nil {
		z.proof = make([][NumOctet]uint8, len(z.Policy))
	}
	defer func(sweeps float64) { z.rows.keep = sweeps }(z.rows.keep)
	z.rows.keep = z.keep(4)
	z.shown, z.rows.policy, z.rows.over = z.proof, &z.proof[0], Octet{}
	z.eachPart(ctx, z.look)
	z.setBound()
	sum := Octet{}
	for s := range z.Values {
		for l, x := range &z.Values[s] {
			sum[l] += x
		}
	}
	for l := range z.Solved {
		z.Solved[l] = z.rows.over[l] <= 0 && sum[l] <= math.MaxFloat64 && z.met[z.Quotient.Rest]>>l&1 == 1 &&
			z.reached[l]-z.Bound[l] <= z.gap(l)
	}
}

// mend makes policies come to rest, see Mend: states that do not lead to one that does take the last choice that may.
// What rests has the directions in which all states come to rest, in the end.
func (z *OctetTotals) mend() {
	const passes = 32
	clear(z.met)
	z.met[z.Quotient.Rest] = math.MaxUint8
	for _, mends := range []bool{false, true} {
		for n := 0; n < passes && z.meet(mends); n++ {
			continue
		}
	}
	all := uint8(math.MaxUint8)
	for _, m := range z.met {
		all &= m
	}
	z.met[z.Quotient.Rest] = all
}

// meet passes over the states once and notes those that lead to one that comes to rest, by the choice that they have
// or, if it mends, by any. It reports whether there was another one.
func (z *OctetTotals) meet(mends bool) (some bool) {
	for s := range z.Quotient.Rest {
		before := z.met[s]
		if before == math.MaxUint8 {
			continue
		}
		for i := z.first[s]; i < z.first[s+1]; i++ {
			row, taken, leads := uint8(i-z.first[s]), uint8(0), uint8(0)
			for l, k := range z.Policy[s] {
				if k == row || mends {
					taken |= 1 << l
				}
			}
			taken &^= before
			if taken == 0 {
				continue
			}
			for _, n := range z.next[z.begin[i]:z.begin[i+1]] {
				leads |= z.met[n/octetBytes]
			}
			leads &= taken
			for l := range z.Policy[s] {
				if leads>>l&1 == 1 {
					z.Policy[s][l] = row
				}
			}
			z.met[s] |= leads
			some = some || leads != 0
		}
	}
	return some
}

// visits finds how often the policies visit each state, but for a share of what arrives, or for more where these are
// seen to be far from the best. It reports false where that is slow.
func (z *OctetTotals) visits(ctx context.Context) bool {
	const (
		most, part = 1e-6, 5e-3 // of what arrives, and of the gap
		passes     = 20
		each, many = 4, 40 // sweeps of all states between two looks, and where windows are faster
	)
	clear(z.missing)
	clear(z.visited)
	for _, st := range z.Start {
		for l := range z.missing[st.State] {
			z.missing[st.State][l] += st.Probability
		}
	}
	share := most
	for l, x := range z.Bound {
		share = min(share, part*z.gap(l)/x)
	}
	rest := z.Quotient.Rest
	for pass := range passes {
		z.Progress.At(findingVisits, math.NaN(), int(rest))
		z.setLeast(max(share, math.Pow(1e-3, float64(pass+1))))
		z.windows(ctx, visitsWindow, func(_, _ int32) {}, func(r *octetRows, from, to int32) {
			z.push(r, rest-to, rest-from)
		})
		if pass == 0 && z.far() {
			return ctx.Err() == nil
		}
		for n, last := each, z.onTheWay(); ; n += each {
			if ctx.Err() != nil || last <= share {
				return ctx.Err() == nil
			}
			z.setLeast(share)
			for range each {
				for hi := rest; hi > 0; hi -= min(hi, 1<<14) {
					z.push(&z.rows, max(0, hi-1<<14), hi)
				}
			}
			left := z.onTheWay()
			if more := each * math.Log(left/share) / math.Log(last/left); !(more+float64(n) <= many) {
				break
			}
			last = left
		}
	}
	return false
}

// far reports whether the policies that are being visited are surely worse than their bounds by several times the gap.
// The next values show better ones then, so that it is not worth while to find all visits.
func (z *OctetTotals) far() bool {
	const several = 3
	z.setReturns()
	z.addMissing()
	for l, x := range z.reached {
		if x-z.Bound[l] > several*z.gap(l) && !math.IsInf(x, 1) {
			return true
		}
	}
	return false
}

// setLeast sets what is not sent on so that it is a part of what arrives in all states together.
func (z *OctetTotals) setLeast(share float64) {
	for l := range z.rows.least {
		z.rows.least[l] = 0.5 * share / float64(z.Quotient.Rest)
	}
}

// onTheWay returns what is still missing, of the direction in which that is the most.
func (z *OctetTotals) onTheWay() float64 {
	left := Octet{}
	for s := range z.missing[:z.Quotient.Rest] {
		for l, x := range &z.missing[s] {
			left[l] += x
		}
	}
	return floats.Max(left[:])
}

// setReturns adds up what the visits return.
func (z *OctetTotals) setReturns() {
	const chunk = 4096 // sums of few terms are added up, which keeps rounding small
	d := len(z.Directions)
	clear(z.Returns)
	part := make([]Octet, d)
	for s := range z.Quotient.Rest {
		y := &z.visited[s]
		for l, k := range z.Policy[s] {
			if y[l] > 0 {
				for j, r := range z.own[int(z.first[s]+int32(k))*d:][:d] {
					part[j][l] += float64(y[l] * r)
				}
			}
		}
		if s%chunk == chunk-1 || s == z.Quotient.Rest-1 {
			for j := range part {
				for l, x := range part[j] {
					z.Returns[j][l] += x
				}
			}
			clear(part)
		}
	}
}

// addMissing adds to the returns what visits that are missing cost at least, to each return the same share, and sets
// what the policies return in their directions.
func (z *OctetTotals) addMissing() {
	z.rest = Octet{}
	for s := range z.missing[:z.Quotient.Rest] {
		v := &z.Values[s]
		for l, x := range &z.missing[s] {
			z.rest[l] += x * v[l]
		}
	}
	z.reached = Octet{}
	for j, r := range z.Returns {
		for l, x := range r {
			z.reached[l] += x * z.Directions[j][l]
		}
	}
	for l, x := range z.rest {
		switch {
		case x > 0 && z.reached[l] == 0: // nothing that was visited tells which returns these are
			z.reached[l] = math.Inf(1)
		case x > 0:
			for j := range z.Returns {
				z.Returns[j][l] *= 1 + x/z.reached[l]
			}
			z.reached[l] += x
		}
	}
}
