package problem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange"
)

// numberKeys are keys whose plain values are numbers, and so may be arithmetic.
var numberKeys = []string{"horizon", "discount", "step", "probability", "at_most", "at_least", "cvar", "limit", "within",
	"radius", "offset", "constant", "weight", "temperature", "tail", "threshold", "factor", "center", "weights",
	"probabilities", "point", "by", "b", "returns"}

// A speller writes a document in other words.
type speller struct {
	rng  *rand.Rand
	json bool
	// numbers counts those that were written. That of the number wrong, counted from 1, becomes wrongWord.
	numbers, wrong int
}

// wrongWord is what nothing is called.
const wrongWord = "zzz"

func (s *speller) one(of ...string) string { return of[s.rng.IntN(len(of))] }

// space is what may stand between the brackets of a list or a mapping.
func (s *speller) space() string {
	if s.json {
		return s.one("", "", " ", "\n", "\t", "\r\n")
	}
	return s.one("", "", " ", "\n"+strings.Repeat(" ", 50))
}

// quoted writes a text, which is a name or arithmetic.
func (s *speller) quoted(text string) string {
	switch {
	case !s.json && plainName(text) && s.rng.IntN(2) == 0:
		return text
	case !s.json && s.rng.IntN(2) == 0:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case !s.json:
		return strconv.Quote(text)
	}
	b := []byte{'"'}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case s.rng.IntN(4) == 0 && c < 1<<16:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, string(c)...)
		}
	}
	return string(append(b, '"'))
}

func (s *speller) scalar(n *node, number bool) string {
	x, complaint := parseNumber(n.text)
	switch word := strings.ToLower(n.text); {
	case n.isNull() && s.json:
		return "null"
	case n.isNull():
		return s.one("null", "~", "Null", "NULL")
	case n.isBool() && s.json:
		return word
	case n.isBool():
		return s.one(word, strings.ToUpper(word), strings.ToUpper(word[:1])+word[1:])
	case n.quoted || complaint != "":
		return s.quoted(n.text)
	}
	plain := string(appendNumber(nil, x))
	if number {
		s.numbers++
	}
	if number && s.numbers == s.wrong {
		return `"` + wrongWord + `"`
	}
	if number && s.rng.IntN(3) == 0 {
		plain = strings.ReplaceAll(s.one("(#)", "#*1", "--#", "1*# / 1"), "#", plain)
		if s.json {
			plain = s.quoted(plain)
		}
	}
	return plain
}

// members returns the members of a mapping under a key, in another order where that says nothing, and the keys that
// their values stand under.
func (s *speller) members(n *node, key string) (of []member, keys []string) {
	of = slices.Clone(n.members)
	if slices.Contains([]string{"", "transitions", "constraints", "outcomes"}, key) {
		s.rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	for _, m := range of {
		name := m.key.text
		if slices.Contains([]string{"next", "start", "returns"}, key) && m.value.kind != mapNode {
			name = "probability" // or a return: a number
		}
		keys = append(keys, name)
	}
	return of, keys
}

// key writes the key of a member, with its colon.
func (s *speller) key(n *node) string {
	if s.json {
		return s.quoted(n.text) + s.space() + ":" + s.space()
	}
	return s.quoted(n.text) + ": "
}

// flow writes a value in brackets.
func (s *speller) flow(n *node, key string) string {
	var parts []string
	open, end := "[", "]"
	switch n.kind {
	case scalarNode:
		return s.scalar(n, slices.Contains(numberKeys, key))
	case listNode:
		for _, item := range n.items {
			parts = append(parts, s.space()+s.flow(item, key)+s.space())
		}
	case mapNode:
		open, end = "{", "}"
		of, keys := s.members(n, key)
		for i, m := range of {
			parts = append(parts, s.space()+s.key(m.key)+s.flow(m.value, keys[i])+s.space())
		}
	}
	return open + strings.Join(parts, ",") + end
}

// block writes what follows a key or a dash, one part below the other, or in brackets.
func (s *speller) block(n *node, key string, indent int) string {
	if len(n.items)+len(n.members) == 0 || s.rng.IntN(3) == 0 && indent > 0 {
		return " " + s.flow(n, key) + s.one("", " ", " # odd: [") + "\n"
	}
	var b strings.Builder
	begin := "\n" + strings.Repeat(" ", indent)
	for _, item := range n.items {
		b.WriteString(begin + "-" + strings.TrimSuffix(s.block(item, key, indent+2), "\n"))
	}
	of, keys := s.members(n, key)
	for i, m := range of {
		b.WriteString(begin + strings.TrimSuffix(s.key(m.key), " ") +
			strings.TrimSuffix(s.block(m.value, keys[i], indent+1+s.rng.IntN(2)), "\n"))
	}
	return b.String() + "\n"
}

// spell writes a whole document.
func (s *speller) spell(root *node) string {
	if s.json || s.rng.IntN(4) == 0 {
		return s.flow(root, "")
	}
	return s.block(root, "", 0)
}

// drawKind draws what a return is. Others are about r0.
func drawKind(rng *rand.Rand) (r Return) {
	bound := func() float64 { return float64(rng.IntN(9)) / 4 }
	set := func() *StateSet { return &StateSet{Name: "some"} }
	limits := []*Threshold{{"r0", bound()}, {"r0", -bound()}}
	switch rng.IntN(6) {
	case 0:
		r.Reach = &StateSet{Or: []*StateSet{set(), {Not: set()}}}
	case 1:
		r.Total = "r0"
	case 2:
		return Return{Visits: &StateSet{And: []*StateSet{set(), {Name: "0"}}}}
	case 3:
		return Return{Exceeds: limits[rng.IntN(2)]}
	case 4:
		return Return{Meets: limits[rng.IntN(2)]}
	default:
		return Return{Excess: limits[rng.IntN(2)]}
	}
	if rng.IntN(2) == 0 {
		r.While = set()
	}
	if rng.IntN(2) == 0 || r.Total != "" && r.While == nil {
		all := CostBounds{{"", float64(rng.IntN(4))}, {"r0", bound()}}
		rng.Shuffle(2, func(i, j int) { all[i], all[j] = all[j], all[i] })
		r.Within = all[:1+rng.IntN(2)]
	}
	return r
}

// drawLimit draws a constraint.
func drawLimit(rng *rand.Rand, name string) Limit {
	c, least, part := Limit{Return: name}, float64(rng.IntN(9))/4-1, float64(1+rng.IntN(4))/4
	most := least + float64(rng.IntN(3))
	sides, kind := 1+rng.IntN(3), rng.IntN(4)
	switch {
	case kind == 1:
		c.Always = true
	case kind > 1:
		sides = 1 + rng.IntN(2)
		*[]**float64{&c.Probability, &c.CVaR}[kind-2] = &part
	}
	if sides&1 > 0 {
		c.AtLeast = &least
	}
	if sides&2 > 0 {
		c.AtMost = &most
	}
	return c
}

// drawProblem draws a random model with all that a file may say about it.
func drawProblem(t *testing.T, rng *rand.Rand) *Problem {
	t.Helper()
	p, _ := randomProblem(t, rng)
	states := p.Model.States()
	p.Name = []string{"", "true", `a "b]`, "x: y"}[rng.IntN(4)]
	p.Labels = []exchange.Label{{Name: "some", States: []int32{0}}, {Name: `"[{`, States: nil}}
	p.Coordinates = map[int]Place{rng.IntN(states): {rng.IntN(3), 999}}
	given := p.Returns
	p.Returns = nil
	for i := range 2 * len(given) {
		derived := rng.IntN(2) == 0
		name := fmt.Sprint("d", i)
		switch {
		case derived:
			p.Kinds = append(p.Kinds, drawKind(rng))
		case len(given) > 0:
			name = given[0]
			given = given[1:]
			p.Kinds = append(p.Kinds, Return{})
		default:
			continue
		}
		p.Returns = append(p.Returns, name)
	}
	p.Returns = append(p.Returns, given...)
	p.Kinds = append(p.Kinds, make([]Return, len(given))...)
	if !p.Episodic() {
		p.Kinds = nil
	}
	for range rng.IntN(4) {
		p.Constraints = append(p.Constraints, drawLimit(rng, p.Returns[rng.IntN(len(p.Returns))]))
	}
	name := p.Returns[rng.IntN(len(p.Returns))]
	p.Goal = []Goal{{}, {Maximize: name}, {Minimize: name}, {Cost: &Cost{Coordinate: (*Name)(&name)}}}[rng.IntN(4)]
	return p
}

// TestDrawnProblems: all that a problem says is read as it was written, and bounds are what they say.
func TestDrawnProblems(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 300 {
		p := drawProblem(t, rng)
		roundTrip(t, p)
		for i, r := range p.Kinds {
			steps, spends := -1, false
			for _, b := range r.Within {
				if b.Return == "" {
					steps = int(b.AtMost)
				}
				spends = spends || b.Return != ""
			}
			if r.Within.Steps() != steps || r.Within.Spends() != spends {
				t.Fatalf("%s within %v: %d steps, other bounds %v", p.Returns[i], r.Within, r.Within.Steps(), r.Within.Spends())
			}
		}
	}
}

// spellings are texts to be written in other words: drawn ones and those of the examples.
func spellings(t *testing.T, rng *rand.Rand) (texts []string) {
	for range 30 {
		var b bytes.Buffer
		if err := Write(&b, drawProblem(t, rng)); err != nil {
			t.Fatal(err)
		}
		cost, _ := drawCost(rng, 2, []string{"r", "q"}, 2)
		set := drawSet(rng, 2, []string{"r", "q"})
		wanted := fmt.Sprintf("\ngoal: {cost: %s}\ntarget: %s\n", cost, set.text)
		texts = append(texts, b.String(), drawOddFile(rng).text, drawFile(rng).text+wanted)
	}
	names, _ := filepath.Glob("testdata/good/*")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, slices.Repeat([]string{string(data)}, 10)...)
	}
	return texts
}

// TestOtherSpellings: a file says the same in JSON, in brackets, and with one key below the other, in whatever quotes
// and case, with arithmetic for numbers, and with its keys in another order.
func TestOtherSpellings(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 2))
	for _, text := range spellings(t, rng) {
		p := mustParse(t, text)
		root, bad := parseYAML(text, 1)
		if bad != nil {
			t.Fatal(bad)
		}
		s := &speller{rng: rng, json: rng.IntN(2) == 0}
		other, ending := s.spell(root), map[bool]string{true: "json", false: "yaml"}[s.json]
		q, err := Parse("test."+ending, []byte(other), nil)
		if err != nil {
			t.Fatalf("%v\n%s\nis\n%s", err, other, text)
		}
		if d := difference(p, q); d != "" {
			t.Fatalf("the %s is another in\n%s\nthan in\n%s", d, other, text)
		}
	}
}

// TestWrongNumbersHaveTheirPlace: a number that is none is told with its line and column, in all spellings.
func TestWrongNumbersHaveTheirPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 3))
	for _, text := range spellings(t, rng) {
		root, bad := parseYAML(text, 1)
		if bad != nil {
			t.Fatal(bad)
		}
		s := &speller{rng: rng, json: rng.IntN(2) == 0}
		s.spell(root)
		s.wrong, s.numbers = 1+rng.IntN(s.numbers), 0
		other, ending := s.spell(root), map[bool]string{true: "json", false: "yaml"}[s.json]
		before, _, _ := strings.Cut(other, wrongWord)
		line := before[strings.LastIndex(before, "\n")+1:]
		column := utf8.RuneCountInString(line) // where its quotes begin
		_, err := Parse("test."+ending, []byte(other), nil)
		want := fmt.Sprintf("test.%s:%d:%d: ", ending, 1+strings.Count(before, "\n"), column)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "got") {
			t.Fatalf("%v: want %s\n%s", err, want, other)
		}
	}
}

// TestEveryMemberIsLocated: what is found to be wrong with a member once a file is read is told where it stands, and so
// is what is missing there.
func TestEveryMemberIsLocated(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 4))
	found := 0
	for _, text := range spellings(t, rng) {
		p := mustParse(t, text)
		for _, stopped := range []error{nil, context.Canceled, fmt.Errorf("%w", context.DeadlineExceeded)} {
			if err := p.Located(stopped); err != stopped {
				t.Fatalf("%v is told as %v", stopped, err)
			}
		}
		root, _ := new(decoder).root(text)
		var walk func(n *node, at string)
		walk = func(n *node, at string) {
			for _, more := range []string{"", ".none"} {
				var told Errors
				err := p.Located(&MemberError{at + more, errors.New("problem: odd")})
				if !errors.As(err, &told) || len(told) != 1 || !reflect.DeepEqual(*told[0], Error{File: "test.yaml",
					Line: n.line, Column: n.col, Key: at + more, Message: "odd"}) {
					t.Fatalf("%v: want %s in line %d, column %d\n%s", err, at+more, n.line, n.col, text)
				}
			}
			found++
			for i, item := range n.items {
				walk(item, at+"["+strconv.Itoa(i)+"]")
			}
			for _, m := range n.members {
				if !strings.ContainsAny(m.key.text, ".[") && m.key.text != "or" {
					walk(m.value, at+"."+m.key.text)
				}
			}
		}
		for _, m := range root.members {
			if m.key.text != "transitions" && p.Fleet == nil {
				walk(m.value, m.key.text)
			}
		}
	}
	if found < 3000 {
		t.Errorf("%d members: want more", found)
	}
}
