package language

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A Variable has the integers from Low to High, or the Booleans as 0 and 1.
type Variable struct {
	Name      string
	Type      Type // Bool or Int, of transient ones also Double
	Low, High int64
	// Initial is the value of a transient variable when a step begins.
	Initial int64
}

// A field says where a variable stands in a packed state, and its range.
type field struct {
	word      int
	shift     uint
	mask      uint64 // unshifted
	low, high int64
}

// A layout packs the values of variables into words.
type layout struct {
	variables []Variable
	fields    []field
	words     int
}

func newLayout(variables []Variable) *layout {
	l := &layout{variables: variables, fields: make([]field, len(variables)), words: 1}
	used := uint(0)
	for i, v := range variables {
		width := uint(bits.Len64(uint64(v.High) - uint64(v.Low)))
		if used+width > 64 {
			l.words++
			used = 0
		}
		l.fields[i] = field{l.words - 1, used % 64, 1<<width - 1, v.Low, v.High}
		used += width
	}
	return l
}

func (l *layout) pack(dst []uint64, values []int64) {
	clear(dst)
	for i := range l.fields {
		l.fields[i].set(dst, values[i])
	}
}

func (l *layout) unpack(values []int64, packed []uint64) {
	for i := range l.fields {
		f := &l.fields[i]
		values[i] = int64(packed[f.word]>>f.shift&f.mask) + f.low
	}
}

// set writes the value of a variable, which is within its range.
func (f *field) set(packed []uint64, value int64) {
	w := &packed[f.word]
	*w = *w&^(f.mask<<f.shift) | (uint64(value)-uint64(f.low))<<f.shift
}

// name writes a state as "x=1,b=true".
func (l *layout) name(packed []uint64) string {
	values := make([]int64, len(l.variables))
	l.unpack(values, packed)
	var b []byte
	for i, v := range l.variables {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, v.Name...), '=')
		b = append(b, v.text(values[i])...)
	}
	return string(b)
}

func (v *Variable) text(value int64) string {
	return (&Expr{Type: v.Type, Int: value}).Value()
}

// parse packs the state of a name, and reports whether it is one.
func (l *layout) parse(dst []uint64, name string) bool {
	values := make([]int64, len(l.variables))
	parts := strings.Split(name, ",")
	if len(parts) != len(values) {
		return false
	}
	for i := range l.variables {
		v := &l.variables[i]
		text, ok := strings.CutPrefix(parts[i], v.Name+"=")
		x, _ := strconv.ParseInt(text, 10, 64)
		if v.Type == Bool && text == "true" {
			x = 1
		}
		if !ok || v.text(x) != text || x < v.Low || x > v.High {
			return false
		}
		values[i] = x
	}
	l.pack(dst, values)
	return true
}

// States are the states of a model in packed form, numbered from 0, with an index. Its memory is the
// packed states and 5 to 8 bytes for each. It may be read concurrently.
type States struct {
	*layout
	count int
	pages [][]uint64
	// pageBits is the binary logarithm of the states of a page, which has about 32 KB.
	pageBits uint
	shards   [256]shard
	// indexBits is how many bits of a slot hold the number of a state; the others hold a part of its
	// hash, which tells most states apart without a look at them.
	indexBits uint
}

// A shard is a hash table with linear probing. A slot is 0, or a state's number plus 1 and a tag.
type shard struct {
	slots []uint32
	used  int
}

func newStates(l *layout) *States {
	return &States{layout: l, indexBits: 27, pageBits: uint(12 - min(12, bits.Len(uint(l.words-1))))}
}

// Len returns the number of states.
func (s *States) Len() int { return s.count }

// StateName writes a state as "x=1,b=true".
func (s *States) StateName(state int) string { return s.name(s.at(state)) }

// Values puts the values of all variables in a state into dst.
func (s *States) Values(dst []int64, state int) { s.unpack(dst, s.at(state)) }

// Find returns the state of a name, and whether there is one.
func (s *States) Find(name string) (int, bool) {
	packed := make([]uint64, s.words)
	if !s.parse(packed, name) {
		return 0, false
	}
	h := hash(packed)
	state, _ := s.lookup(packed, h)
	return state, state >= 0
}

func (s *States) at(state int) []uint64 {
	page := s.pages[state>>s.pageBits]
	at := (state & (1<<s.pageBits - 1)) * s.words
	return page[at : at+s.words]
}

// hash mixes the words of a state (Steele, Lea and Flood's splitmix64 as a finisher).
func hash(packed []uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range packed {
		h ^= w
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// lookup returns the number of a state, or −1 and the slot of its shard where it belongs.
func (s *States) lookup(packed []uint64, h uint64) (state, slot int) {
	t := &s.shards[h>>56]
	if len(t.slots) == 0 {
		return -1, 0
	}
	tag, index := uint32(h)<<s.indexBits, uint32(1)<<s.indexBits-1
	for i := start(h, len(t.slots)); ; {
		x := t.slots[i]
		if x == 0 {
			return -1, i
		}
		if x&^index == tag {
			state := int(x&index) - 1
			if s.words == 1 {
				if s.pages[state>>s.pageBits][state&(1<<s.pageBits-1)] == packed[0] {
					return state, i
				}
			} else if slices.Equal(s.at(state), packed) {
				return state, i
			}
		}
		i++
		if i == len(t.slots) {
			i = 0
		}
	}
}

// start is where the search for a hash begins in a table of n slots.
func start(h uint64, n int) int { return int((h >> 24 & (1<<32 - 1)) * uint64(n) >> 32) }

// add returns the number of a state, which is the next one if the state is new.
func (s *States) add(packed []uint64, h uint64) (state int, added bool) {
	state, slot := s.lookup(packed, h)
	if state >= 0 {
		return state, false
	}
	t := &s.shards[h>>56]
	if 4*(t.used+1) > 3*len(t.slots) {
		s.rehash(t, max(16, len(t.slots)*4/3), s.indexBits)
		_, slot = s.lookup(packed, h)
	}
	state = s.count
	if state+1 >= 1<<s.indexBits {
		before := s.indexBits
		s.indexBits = 31
		for i := range s.shards {
			s.rehash(&s.shards[i], len(s.shards[i].slots), before)
		}
		_, slot = s.lookup(packed, h)
	}
	if state>>s.pageBits == len(s.pages) {
		s.pages = append(s.pages, make([]uint64, s.words<<s.pageBits))
	}
	s.count++
	copy(s.at(state), packed)
	t.slots[slot] = uint32(h)<<s.indexBits | uint32(state+1)
	t.used++
	return state, true
}

// rehash gives a shard so many slots. The old ones hold numbers of states in so many bits.
func (s *States) rehash(t *shard, slots int, indexBits uint) {
	old := t.slots
	t.slots = make([]uint32, slots)
	for _, x := range old {
		if x == 0 {
			continue
		}
		state := int(x&(1<<indexBits-1)) - 1
		h := hash(s.at(state))
		i := start(h, slots)
		for t.slots[i] != 0 {
			i++
			if i == slots {
				i = 0
			}
		}
		t.slots[i] = uint32(h)<<s.indexBits | uint32(state+1)
	}
}

// bytes is the memory that the states and their index take.
func (s *States) bytes() int {
	n := len(s.pages) * s.words << (s.pageBits + 3)
	for i := range s.shards {
		n += 4 * len(s.shards[i].slots)
	}
	return n
}

// String describes the variables for messages.
func (v Variable) String() string {
	if v.Type == Bool {
		return v.Name + ", which is true or false,"
	}
	from := ""
	if v.Low != math.MinInt64 && v.High != math.MaxInt64 {
		from = "from "
	}
	return fmt.Sprintf("%s, which is %s%s,", v.Name, from, v.Range())
}

// Range says which integers a variable may be. Of a transient one a bound may be missing.
func (v Variable) Range() string {
	switch {
	case v.Low == math.MinInt64:
		return fmt.Sprintf("at most %d", v.High)
	case v.High == math.MaxInt64:
		return fmt.Sprintf("at least %d", v.Low)
	}
	return fmt.Sprintf("%d to %d", v.Low, v.High)
}
