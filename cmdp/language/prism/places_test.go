package prism_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/jani"
	"cmdpsolve/cmdp/language/prism"
)

// TestPlaces: wherever a name stands that nothing has, the error says so there. In JANI it says how to come there too.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 9))
	lose := func(text string, declared func(found string) bool) string {
		found := regexp.MustCompile(`("(\w|-)+":)?"?x\d"?( :)?`).FindAllStringIndex(text, -1)
		found = slices.DeleteFunc(found, func(at []int) bool { return declared(text[at[0]:at[1]]) })
		if len(found) == 0 {
			return ""
		}
		at := found[rng.IntN(len(found))]
		return text[:at[0]] + regexp.MustCompile(`x\d`).ReplaceAllString(text[at[0]:at[1]], "nowhere") + text[at[1]:]
	}
	var path func(of any) string // of what is called nowhere
	path = func(of any) string {
		switch of := of.(type) {
		case map[string]any:
			for key, item := range of {
				if item == "nowhere" && key == "ref" {
					return "!" // the assignment is what is wrong
				}
				if to := path(item); to != "" {
					return strings.Replace("."+key+to, "!", "", holds(key == "assignments"))
				}
			}
		case []any:
			for i, item := range of {
				if to := path(item); to != "" {
					return fmt.Sprintf("[%d]%s", i, to)
				}
			}
		case string:
			if of == "nowhere" {
				return " "
			}
		}
		return ""
	}
	for range 100 {
		plain, text := drawProgram(rng)
		if text = lose(text, func(found string) bool { return strings.HasSuffix(found, ":") }); text != "" {
			text = spaced(rng, text)
			_, err := prism.Read("m.prism", text, nil)
			want := "m.prism:" + place(text, strings.Index(text, "nowhere")) + ": "
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nowhere") {
				t.Fatalf("%v: want %s\n%s", err, want, text)
			}
		}
		plain.staged = rng.IntN(2) == 0
		text = lose(plain.jani(), func(found string) bool {
			return strings.HasPrefix(found, `"name"`) || strings.HasPrefix(found, `"automaton"`)
		})
		if text == "" {
			continue
		}
		text = shuffled(rng, text)
		var root any
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		want := "m.jani:"
		to := strings.TrimPrefix(path(root), ".")
		if strings.HasSuffix(to, " ") {
			want += place(text, strings.Index(text, `"nowhere"`)) + ": "
		}
		_, err := jani.Read("m.jani", []byte(text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nowhere") ||
			!strings.Contains(err.Error(), ": "+strings.TrimSpace(to)+": ") {
			t.Fatalf("%v: want %s%s\n%s", err, want, to, text)
		}
	}
}

// place returns the line and the column of a byte of a text.
func place(text string, at int) string {
	line := strings.LastIndexByte(text[:at], '\n')
	return fmt.Sprintf("%d:%d", 1+strings.Count(text[:at], "\n"), utf8.RuneCountInString(text[line+1:at])+1)
}

// textAt returns a text from a place on.
func textAt(text string, at language.Pos) string {
	lines := strings.SplitAfter(text, "\n")[at.Line-1:]
	line := []rune(lines[0])
	return string(line[at.Column-1:]) + strings.Join(lines[1:], "")
}
