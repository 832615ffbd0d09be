package jani_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/formats"
	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
)

// TestPublishedSizes compares models of the Quantitative Verification Benchmark Set with what PRISM and Storm
// publish, and those that were PRISM's before with these, by the sets of their rows.
func TestPublishedSizes(t *testing.T) {
	for _, c := range []struct {
		file, same                   string
		constants                    map[string]string
		states, choices, transitions int // choices and transitions are 0 where nobody publishes them
	}{
		{"consensus.2.jani.gz", "coin2.nm", map[string]string{"K": "2"}, 272, 400, 492},
		{"csma.2-2.jani.gz", "csma2_2.nm", nil, 1038, 1054, 1282},
		{"beb.3-4.jani.gz", "", map[string]string{"N": "3"}, 4660, 0, 0},
	} {
		m, err := formats.Read(os.DirFS("testdata"), c.file, formats.LanguageOptions{Constants: c.constants})
		if err != nil {
			t.Fatal(err)
		}
		if m.States() != c.states || c.choices > 0 && (m.Choices() != c.choices || m.Branches() != c.transitions) {
			t.Errorf("%s: %d states, %d choices, %d transitions: want %d, %d, %d", c.file, m.States(), m.Choices(),
				m.Branches(), c.states, c.choices, c.transitions)
		}
		if c.same == "" {
			continue
		}
		other, err := formats.Read(os.DirFS("../prism/testdata"), c.same, formats.LanguageOptions{Constants: c.constants})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := set(m), set(other); !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s: has %s, and %s has %s", c.file, got[i], c.same, want[i])
					break
				}
			}
		}
	}
}

// set lists the choices of a model with the reward time, which both files of csma call so, with sorted variables.
func set(m *exchange.Model) []string {
	name := func(s int) string {
		parts := strings.Split(m.Described.StateName(s), ",")
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	var lines []string
	time := m.Reward("time")
	for s := range m.States() {
		for c := int(m.First[s]); c < int(m.First[s+1]); c++ {
			var to []string
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				to = append(to, fmt.Sprintf("%g %s", m.Probability[e], name(int(m.Target[e]))))
			}
			slices.Sort(to)
			line := name(s) + " -> " + strings.Join(to, " + ")
			if time != nil {
				line += fmt.Sprintf(" time=%g", time.Total(s, c, m.Offset[c]))
			}
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, cmp.Compare)
	return lines
}

// FuzzRead: any text is a model or an error that names its file, a small model can be explored, and its properties are
// read or refused.
func FuzzRead(f *testing.F) {
	f.Add(strings.Replace(plain, "PROPERTY",
		filter(`{"op":"≥","left":{"op":"Pmax","exp":{"op":"U","left":true,"right":"F","step-bounds":{"upper":3}}},"right":0.5}`), 1))
	f.Add(strings.Replace(plain, "PROPERTY",
		filter(`{"op":"Emin","exp":{"op":"+","left":"r","right":"x"},"accumulate":["steps","exit"],"reach":{"op":"=","left":"x","right":2}}`), 1))
	f.Add(header("pta") + `"variables":[{"name":"x","type":"clock","initial-value":0}],"automata":[{"name":"P","locations":[{"name":"l","time-progress":{"exp":{"op":"≤","left":"x","right":2}}},{"name":"k"}],"initial-locations":["l"],
		"edges":[{"location":"l","action":"a","destinations":[{"location":"k","assignments":[{"ref":"x","value":0,"index":1}]}]}]}],"system":{"elements":[{"automaton":"P","input-enable":["b"]}],"syncs":[{"synchronise":["a"],"result":"c"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		constants := map[string]string{"N": "3"}
		if !strings.Contains(text, `"N"`) {
			constants = nil
		}
		p, err := jani.Read("m.jani", []byte(text), constants)
		if err == nil {
			few := language.ExploreOptions{States: 200, Transitions: 5000}
			_, err = language.Explore(t.Context(), p, nothing{}, few)
			list, _ := jani.Properties("m.jani", []byte(text), constants)
			for _, p := range list {
				if p.Err != nil && !strings.HasPrefix(p.Err.Error(), "m.jani:") {
					t.Error(p.Err)
				}
			}
		}
		if err != nil && !strings.HasPrefix(err.Error(), "m.jani:") {
			t.Error(err)
		}
	})
}

type nothing struct{}

func (nothing) State(int, []float64) error                                 { return nil }
func (nothing) Choice(int, []int32, []float64, []float64, []float64) error { return nil }
