package problem

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange"
)

func TestRoundTripOfFiles(t *testing.T) {
	names, _ := filepath.Glob("testdata/good/*")
	if len(names) < 4 {
		t.Fatal("the examples are missing")
	}
	for _, name := range names {
		p, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, p)
	}
}

func TestRoundTripOfSidecars(t *testing.T) {
	for _, name := range []string{"good.csv", "good.jsonl", "good.npz", "game.csv", "game.jsonl", "game.npz"} {
		data, err := os.ReadFile("testdata/rows/" + name)
		if err != nil {
			t.Fatal(err)
		}
		ending := name[len("good."):]
		p, err := Parse("test.yaml", []byte(sidecarHead+ending+"}\n"), fstest.MapFS{"rows." + ending: {Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, p)
		if got := p.Model.Shape().Game(); got != (name[:4] == "game") {
			t.Errorf("%s: read as a game: %v", name, got)
		}
	}
}

// oddNames are names that YAML, CSV or a program could take for something else. The first, numbers, are for actions.
var oddNames = []string{"007", "00", "17", "120", "-1", "1e3", "1.5", "0x1f", "true", "null", "~", "no", "a: b", "it's",
	`say "x"`, `5" ]`, "#x", "- x", "ü", "a, b", "{", "*a", "&b", "%", "?", "|", "plain"}

// An oddFile is a problem file with odd names, and which they are.
type oddFile struct {
	rng     *rand.Rand
	text    string
	states  []string
	actions [][]string // of each state, in their order
	labels  map[string][]int32
}

// some returns odd names without the first ones, in letters of some case.
func (f *oddFile) some(n, without int) (names []string) {
	for _, i := range f.rng.Perm(len(oddNames) - without)[:n] {
		name := oddNames[without+i]
		switch f.rng.IntN(4) {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			if name[0] < utf8.RuneSelf {
				name = strings.ToUpper(name[:1]) + name[1:]
			}
		}
		names = append(names, name)
	}
	return names
}

func (f *oddFile) quoted(name string) string {
	if f.rng.IntN(2) == 0 {
		return "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	return strconv.Quote(name)
}

func drawOddFile(rng *rand.Rand) *oddFile {
	f := &oddFile{rng: rng, labels: make(map[string][]int32)}
	f.states = f.some(1+rng.IntN(4), 8)
	f.text = "format: cmdp/1\nhorizon: 2\nreturns: [r]\nstart: 0\nstates: ["
	for _, name := range f.states {
		f.text += f.quoted(name) + ", "
	}
	f.text += "]\ntransitions:\n"
	for s, name := range f.states {
		actions, unit, first := f.some(1+rng.IntN(3), 0), []int{0, 1, 7}[rng.IntN(3)], rng.IntN(2)
		for a, n := range rng.Perm(len(actions)) {
			if unit > 0 {
				actions[a] = strconv.Itoa(first + unit*n)
			}
			f.text += fmt.Sprintf("  - {state: %s, action: %s, next: {%d: 1}}\n", f.quoted(name), f.quoted(actions[a]), s)
		}
		if unit == 1 && first == 0 {
			slices.Sort(actions)
		}
		f.actions = append(f.actions, actions)
	}
	f.text += "labels:\n"
	for _, name := range f.some(1+rng.IntN(4), 8) {
		f.text += "  " + f.quoted(name) + ": ["
		for s := range f.states {
			if rng.IntN(2) == 0 {
				f.text += strconv.Itoa(s) + ", "
				f.labels[name] = append(f.labels[name], int32(s))
			}
		}
		f.text += "]\n"
	}
	return f
}

// TestOddNames: states, actions and labels have the names that a file gives them, in whatever quotes; actions stand in
// the order of numbers if they are 0, 1, … up to their number, else as they come. A label may be called like a state.
func TestOddNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 7))
	for range 200 {
		f := drawOddFile(rng)
		p := mustParse(t, f.text)
		for s, name := range f.states {
			if got := p.StateName(s); got != name {
				t.Fatalf("state %d is %q: want %q\n%s", s, got, name, f.text)
			}
			for a, want := range f.actions[s] {
				if got := p.ActionName(0, s, a); got != want {
					t.Fatalf("action %d of state %d is %q: want %q\n%s", a, s, got, want, f.text)
				}
			}
		}
		for _, l := range p.Labels {
			if !slices.Equal(l.States, f.labels[l.Name]) {
				t.Fatalf("label %q has states %v: want %v\n%s", l.Name, l.States, f.labels[l.Name], f.text)
			}
		}
		roundTrip(t, p)
	}
}

// TestExportedReturns: the rewards of a model for other tools are the returns that rows give, under their names.
func TestExportedReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 10))
	for range 30 {
		text := drawnAgent(rng, "horizon: 3, ")
		m, err := mustParse(t, text).Export()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Rewards) != 2 {
			t.Fatalf("%d rewards\n%s", len(m.Rewards), text)
		}
		for _, goes := range drawnGoes[:2] {
			i := slices.IndexFunc(m.Rewards, func(r exchange.Reward) bool { return r.Name == goes.text })
			for c := range m.Choices() {
				if i < 0 || m.Rewards[i].Choice[c] != goes.given(c/2, c%2) {
					t.Fatalf("%s of choice %d: %+v\n%s", goes.text, c, m.Rewards, text)
				}
			}
		}
	}
}
