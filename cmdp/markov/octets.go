package markov

import "math"

// NumOctet is how many directions sweeps go on with side by side.
const NumOctet = 8

// An Octet has numbers of NumOctet directions.
type Octet [NumOctet]float64

// octetRows are the rows of a model, without what leads from a state to itself, and what is found of its states in
// several directions, for vector instructions. No number is negative.
type octetRows struct {
	dim                      int
	first, begin, shareAt    *int32  // of each state, its first row; of each row, where its entries and shares begin
	next                     *uint32 // of each entry, where the numbers of a state stand, in bytes
	shares, own              *float64
	directions               *Octet // of each return
	values, missing, visited *Octet
	policy                   *[NumOctet]uint8
	active                   *uint8 // of each state, 0 if it is not swept; nil if all are
	slack                    Octet  // what backups are made less by
	least                    Octet  // what is missing and at most that is not sent on
	worst                    Octet  // the largest change
	over                     Octet  // by how much a value is above its backup at most, at least 0
	keep                     float64
	rising                   uint64 // all bits if values never fall, else none
}

// set makes the rows those of a program.
func (r *octetRows) set(z *OctetTotals) {
	r.dim, r.first, r.begin, r.shareAt = len(z.Directions), &z.first[0], &z.begin[0], &z.shareAt[0]
	r.next, r.shares, r.own, r.directions = &z.next[0], &z.shares[0], &z.own[0], &z.Directions[0]
	r.values, r.missing, r.visited, r.policy = &z.Values[0], &z.missing[0], &z.visited[0], &z.Policy[0]
}

// backupOctet returns what row i gives, given the values.
func (z *OctetTotals) backupOctet(i int32) (x Octet) {
	d := len(z.Directions)
	for j, r := range z.own[int(i)*d:][:d] {
		for l, w := range z.Directions[j] {
			x[l] += float64(r * w)
		}
	}
	next := z.next[z.begin[i]:z.begin[i+1]]
	share := z.shares[z.shareAt[i]:][:len(next)]
	for k, n := range next {
		for l, y := range z.Values[n/octetBytes] {
			x[l] += float64(share[k] * y)
		}
	}
	return x
}

// sweep gives the states [lo, hi) their backups, see octetRows.
func (z *OctetTotals) sweep(r *octetRows, lo, hi int32) {
	if octetVectors {
		sweepOctets(r, lo, hi)
		return
	}
	for s := lo; s < hi; s++ {
		if r.active != nil && z.active[s] == 0 {
			continue
		}
		old := z.Values[s]
		for l, x := range z.leastBackup(s, nil) {
			floor := 0.0
			if r.rising != 0 {
				floor = old[l]
			}
			x = max(float64(x*r.keep)-r.slack[l], floor)
			r.worst[l] = max(r.worst[l], math.Abs(x-old[l]))
			z.Values[s][l] = x
		}
	}
}

// leastBackup returns the least of the backups of a state, and which row has it.
func (z *OctetTotals) leastBackup(s int32, policy *[NumOctet]uint8) (best Octet) {
	inf := math.Inf(1)
	best = Octet{inf, inf, inf, inf, inf, inf, inf, inf}
	for i := z.first[s]; i < z.first[s+1]; i++ {
		for l, x := range z.backupOctet(i) {
			if x < best[l] {
				best[l] = x
				if policy != nil {
					policy[l] = uint8(i - z.first[s])
				}
			}
		}
	}
	return best
}

// look sets a policy in the states [lo, hi) to what the values show, and over.
func (z *OctetTotals) look(lo, hi int32) {
	if octetVectors {
		lookOctets(&z.rows, lo, hi)
		return
	}
	for s := lo; s < hi; s++ {
		for l, x := range z.leastBackup(s, &z.shown[s]) {
			z.rows.over[l] = max(z.rows.over[l], z.Values[s][l]-float64(x*z.rows.keep))
		}
	}
}

// push sends on what is missing in the states [lo, hi), the last ones first.
func (z *OctetTotals) push(r *octetRows, lo, hi int32) {
	if octetVectors {
		pushOctets(r, lo, hi)
		return
	}
	for s := hi - 1; s >= lo; s-- {
		come, some := z.missing[s], false
		for l, x := range come {
			if !(x > r.least[l]) {
				come[l] = 0
				continue
			}
			some = true
			z.visited[s][l] += x
			z.missing[s][l] = 0
		}
		if !some {
			continue
		}
		for l, x := range come {
			i := z.first[s] + int32(z.Policy[s][l])
			for k, n := range z.next[z.begin[i]:z.begin[i+1]] {
				if int32(n/octetBytes) == z.Quotient.Rest { // where several workers would write, and nobody reads
					continue
				}
				z.missing[n/octetBytes][l] += float64(z.shares[int(z.shareAt[i])+k] * x)
			}
		}
	}
}

// octetBytes is how many bytes an Octet has.
const octetBytes = 8 * NumOctet
