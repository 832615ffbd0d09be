package umb

import (
	"fmt"
	"math"
	"math/bits"
	"path"
	"strings"
	"unicode/utf8"
)

// take returns a file, and whether it is there, and marks it as known.
func (v *validator) take(name string) ([]byte, bool) {
	v.used[name] = true
	b, ok := v.files[name]
	return b, ok
}

// csr checks a mapping of n indices to intervals up to end; an absent one maps
// index i to i alone, if that is allowed.
func (v *validator) csr(name string, n, end uint64, identity bool) bool {
	b, ok := v.take(name)
	if !ok {
		if identity && n != end {
			v.bad("%s is missing: the default does not lead from %d to %d", name, n, end)
		}
		return false
	}
	if n > math.MaxInt64/8-1 || uint64(len(b)) != 8*(n+1) {
		v.bad("%s: %d bytes: want 8·(%d + 1)", name, len(b), n)
		return true
	}
	last := uint64(0)
	for i := uint64(0); i <= n; i++ {
		x := order.Uint64(b[8*i:])
		if x < last || i == 0 && x != 0 {
			v.bad("%s: entry %d is %d after %d", name, i, x, last)
			return true
		}
		last = x
	}
	if last != end {
		v.bad("%s: the last entry is %d: want %d", name, last, end)
	}
	return true
}

// to1 checks a mapping of n indices to values of the given width in bits, or to
// bool for 1 bit, and that whole numbers lie below most.
func (v *validator) to1(name string, n, bits, most uint64) bool {
	b, ok := v.take(name)
	if !ok {
		return false
	}
	if bits == 1 {
		if uint64(len(b)) != (n+63)/64*8 {
			v.bad("%s: %d bytes: want %d", name, len(b), (n+63)/64*8)
			return true
		}
		for i := n; i < uint64(len(b))*8; i++ {
			if b[i/8]>>(i%8)&1 != 0 {
				v.bad("%s: padding bit %d is 1", name, i)
				break
			}
		}
		return true
	}
	width := bits / 8
	if width == 0 || uint64(len(b))%width != 0 || uint64(len(b))/width != n {
		v.bad("%s: %d bytes: want %d values of %d", name, len(b), n, width)
		return true
	}
	for i := uint64(0); i < n && most < math.MaxUint64; i++ {
		x := uint64(order.Uint32(b[i*width:]))
		if width == 8 {
			x = order.Uint64(b[i*width:])
		}
		if x >= most {
			v.bad("%s: entry %d is %d: want less than %d", name, i, x, most)
			break
		}
	}
	return true
}

// values checks a mapping to values of a type.
func (v *validator) values(name string, n uint64, x any) bool {
	o, _ := x.(object)
	kind, _ := o["type"].(string)
	bits := defaultSize[kind]
	if size := number(o, "size"); size > 0 {
		bits = size
	}
	ok := v.to1(name, n, bits, math.MaxUint64)
	if b := v.files[name]; ok && kind == "rational" && bits%128 == 0 {
		for half := int(bits / 16); len(b) >= 2*half; b = b[2*half:] {
			if integer(b[:2*half], uint64(8*half), uint64(8*half), false).Sign() == 0 {
				v.bad("%s: a denominator is 0", name)
				break
			}
		}
	}
	return ok
}

// strings checks the strings of a folder.
func (v *validator) strings(folder string, count uint64) bool {
	text, ok := v.take(folder + "strings.bin")
	mapping, mapped := v.files[folder+"string-mapping.bin"]
	if ok != mapped {
		v.bad("%sstrings.bin and string-mapping.bin: want both or none", folder)
	}
	if !v.csr(folder+"string-mapping.bin", count, uint64(len(text)), false) || count > uint64(len(mapping)) || uint64(len(mapping)) != 8*(count+1) {
		return mapped
	}
	for i := range count {
		from, to := order.Uint64(mapping[8*i:]), order.Uint64(mapping[8*i+8:])
		if from > to || to > uint64(len(text)) || !utf8.Valid(text[from:to]) {
			v.bad("%sstring-mapping.bin: string %d is not text in UTF-8", folder, i)
			break
		}
	}
	return true
}

func (v *validator) modelFiles() {
	states, choices, branches := v.count("#states"), v.count("#choices"), v.count("#branches")
	players, time := v.count("#players"), v.system["time"]
	v.csr("state-to-choices.bin", states, choices, true)
	if v.to1("state-to-player.bin", states, 32, players) && players == 0 {
		v.bad("state-to-player.bin: there are no players")
	}
	v.to1("state-is-initial.bin", states, 1, 0)
	initial := 0
	for _, b := range v.files["state-is-initial.bin"] {
		initial += bits.OnesCount8(b)
	}
	if uint64(initial) != v.count("#initial-states") {
		v.bad("state-is-initial.bin: %d states: want %d", initial, v.count("#initial-states"))
	}
	if v.to1("state-is-markovian.bin", states, 1, 0) && time != "urgent-stochastic" {
		v.bad("state-is-markovian.bin: time is %v", time)
	}
	if v.values("state-to-exit-rate.bin", states, v.system["exit-rate-type"]) && time == "discrete" {
		v.bad("state-to-exit-rate.bin: time is discrete")
	}
	v.csr("choice-to-branches.bin", choices, branches, true)
	v.to1("branch-to-target.bin", branches, 64, states)
	if v.values("branch-to-probability.bin", branches, v.system["branch-probability-type"]) && v.system["branch-probability-type"] == nil {
		v.bad("branch-to-probability.bin: there is no branch-probability-type")
	}
	for _, of := range []struct {
		folder   string
		n, count uint64
	}{{"actions/choices/", choices, v.count("#choice-actions")}, {"actions/branches/", branches, v.count("#branch-actions")}} {
		values := v.to1(of.folder+"values.bin", of.n, 32, max(1, of.count))
		if strings := v.strings(of.folder, of.count); of.count == 0 && (values || strings) {
			v.bad("%s: there are no actions", of.folder)
		}
	}
}

// otherFiles checks observations, annotations and valuations, and that there are
// no other files.
func (v *validator) otherFiles() {
	if of, ok := v.system["observations-apply-to"].(string); ok {
		v.annotated("observations/"+of+"/", v.count("#"+of), object{"type": object{"type": "uint"}, "probability-type": v.system["observation-probability-type"]})
	}
	groups, _ := v.root["annotations"].(object)
	for group, members := range groups {
		of, _ := members.(object)
		for id, x := range of {
			a, _ := x.(object)
			list, _ := a["applies-to"].([]any)
			for _, entity := range list {
				kind, _ := entity.(string)
				v.annotated("annotations/"+group+"/"+id+"/"+kind+"/", v.count("#"+kind), a)
			}
		}
	}
	all, _ := v.root["valuations"].(object)
	for entity, x := range all {
		d, _ := x.(object)
		v.valuationFiles("valuations/"+entity+"/", v.count("#"+entity), d)
	}
	for name := range v.files {
		switch {
		case v.used[name]:
		case !plainName(name):
			v.bad("%s: want names of small letters, digits, - and _ with one dot", name)
		default:
			v.bad("%s: a file that the index does not announce", name)
		}
	}
}

// plainName reports whether all parts of a path have the letters that the
// specification allows.
func plainName(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.Count(part, ".") > 1 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || path.Clean(part) != part {
			return false
		}
	}
	return true
}

func (v *validator) annotated(folder string, n uint64, a object) {
	if a["probability-type"] != nil {
		if sum := number(a, "#probabilities"); v.csr(folder+"distribution-mapping.bin", n, sum, false) {
			n = sum
		}
		v.values(folder+"probabilities.bin", n, a["probability-type"])
	}
	v.values(folder+"values.bin", n, a["type"])
	if a["#strings"] != nil && !v.strings(folder, number(a, "#strings")) {
		v.bad("%sstring-mapping.bin is missing", folder)
	}
}

func (v *validator) valuationFiles(folder string, n uint64, d object) {
	classes, _ := d["classes"].([]any)
	before := len(v.errs)
	var sizes []uint64
	for _, c := range classes {
		bits, _ := v.classBits(folder, c)
		sizes = append(sizes, bits/8)
	}
	v.errs = v.errs[:before] // they have been reported
	data, ok := v.take(folder + "valuations.bin")
	if !ok {
		v.bad("%svaluations.bin is missing", folder)
	}
	want := uint64(0)
	if v.to1(folder+"valuation-to-class.bin", n, 32, uint64(len(classes))) {
		b := v.files[folder+"valuation-to-class.bin"]
		for i := uint64(0); i < n && uint64(len(b)) == 4*n; i++ {
			if c := order.Uint32(b[4*i:]); int(c) < len(sizes) {
				want += sizes[c]
			}
		}
	} else if len(sizes) > 0 {
		want = n * sizes[0]
	}
	if uint64(len(data)) != want {
		v.bad("%svaluations.bin: %d bytes: want %d", folder, len(data), want)
	}
	if unique, _ := d["unique"].(bool); unique && len(sizes) == 1 {
		v.distinct(folder, data, sizes[0])
	}
	if v.strings(folder, number(d, "#strings")) != (d["#strings"] != nil) {
		v.bad("%sstring-mapping.bin must be given exactly if there are strings", folder)
	}
}

// distinct checks that no two valuations are the same.
func (v *validator) distinct(folder string, data []byte, size uint64) {
	seen := make(map[string]bool)
	for ; size > 0 && uint64(len(data)) >= size; data = data[size:] {
		if seen[string(data[:size])] {
			v.bad("%svaluations.bin: %s is there twice, but unique is true", folder, fmt.Sprintf("%x", data[:size]))
			return
		}
		seen[string(data[:size])] = true
	}
}
