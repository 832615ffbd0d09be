package umb

import (
	"bufio"
	"math/bits"
	"slices"

	"cmdpsolve/cmdp/exchange"
)

// A packing stores the variables of states one after the other in as few bits as
// their values need, each state in whole bytes.
type packing struct {
	m       *exchange.Model
	widths  []uint
	padding uint
	bytes   int // of a state
	strings []string
	ids     map[string]uint64
	unique  bool
}

func pack(m *exchange.Model) *packing {
	p := &packing{m: m, ids: make(map[string]uint64)}
	sum := uint(0)
	for i := range m.Variables {
		v := &m.Variables[i]
		w := uint(64)
		switch {
		case v.Text != nil:
			for _, s := range v.Text {
				if _, ok := p.ids[s]; !ok {
					p.ids[s] = uint64(len(p.strings))
					p.strings = append(p.strings, s)
				}
			}
		case v.Bool:
			w = 1
		case slices.Min(v.Ints) < 0:
			w = 1 + uint(max(bits.Len64(uint64(slices.Max(v.Ints))), bits.Len64(^uint64(slices.Min(v.Ints)))))
			if slices.Max(v.Ints) < 0 {
				w = 1 + uint(bits.Len64(^uint64(slices.Min(v.Ints))))
			}
		default:
			w = max(1, uint(bits.Len64(uint64(slices.Max(v.Ints)))))
		}
		p.widths = append(p.widths, w)
		sum += w
	}
	p.padding = (8 - sum%8) % 8
	p.bytes = int(sum+p.padding) / 8
	b := make([]byte, p.bytes)
	seen := make(map[string]struct{})
	for s := range m.States() {
		p.fill(b, s)
		seen[string(b)] = struct{}{}
	}
	p.unique = len(seen) == m.States()
	return p
}

// fill writes the valuation of a state.
func (p *packing) fill(b []byte, s int) {
	clear(b)
	at := uint(0)
	for i := range p.m.Variables {
		v := &p.m.Variables[i]
		var u uint64
		if v.Text != nil {
			u = p.ids[v.Text[s]]
		} else {
			u = uint64(v.Ints[s])
		}
		for done := uint(0); done < p.widths[i]; {
			take := min(8-at%8, p.widths[i]-done)
			b[at/8] |= byte(u>>done) & (1<<take - 1) << (at % 8)
			done, at = done+take, at+take
		}
	}
}

func (p *packing) describe() *valuation {
	var c class
	for i := range p.m.Variables {
		v := &p.m.Variables[i]
		t := numType{"uint", uint64(p.widths[i])}
		switch {
		case v.Text != nil:
			t.Type = "string"
		case v.Bool:
			t.Type = "bool"
		case slices.Min(v.Ints) < 0:
			t.Type = "int"
		}
		c.Variables = append(c.Variables, variable{Name: &v.Name, Type: &t})
	}
	if p.padding > 0 {
		c.Variables = append(c.Variables, variable{Padding: uint64(p.padding)})
	}
	return &valuation{Unique: p.unique, Strings: uint64(len(p.strings)), Classes: []class{c}}
}

func (p *packing) write(f *writer) {
	const folder = "valuations/states/"
	b := make([]byte, p.bytes)
	f.file(folder+"valuations.bin", int64(p.m.States())*int64(len(b)), func(w *bufio.Writer) {
		for s := range p.m.States() {
			p.fill(b, s)
			w.Write(b)
		}
	})
	if len(p.strings) > 0 {
		f.strings(folder, p.strings)
	}
}
