package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/docs"

	"github.com/spf13/pflag"
)

// TestHelp: the help of a command fits a screen and a half, that with all options has each once, and no option
// garbles its text with the word for its value.
func TestHelp(t *testing.T) {
	const screenAndHalf = 36 // of 24 lines
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		short, all := helpText(cmd, false), helpText(cmd, true)
		if n := strings.Count(short, "\n"); n > screenAndHalf {
			t.Errorf("%s --help has %d lines: want at most %d", cmd.Name(), n, screenAndHalf)
		}
		for line := range strings.Lines(short + all) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 ||
				strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
				t.Errorf("%s: a line that is too long or ends in a space: %q", cmd.Name(), line)
			}
		}
		listed := regexp.MustCompile(`(?m)^  (    |-., )--`)
		hidden := len(listed.FindAllString(all, -1)) - len(listed.FindAllString(short, -1)) - 2 // --help and --help-all
		if words := fmt.Sprintf("has %d more options", hidden); hidden > 0 && !strings.Contains(short, words) {
			t.Errorf("%s --help hides %d options: %s", cmd.Name(), hidden, short)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if n := len(regexp.MustCompile(`(?m)^  (    |-., )--`+f.Name+` `).FindAllString(all, -1)); n != 1 {
				t.Errorf("%s --help-all lists --%s %d times", cmd.Name(), f.Name, n)
			}
			word, text := pflag.UnquoteUsage(f)
			if strings.ContainsAny(word, "=:") && strings.Contains(text, word) {
				t.Errorf("%s --%s: %q stands in %q", cmd.Name(), f.Name, word, text)
			}
		})
	}
}

// TestManualPages writes every page for a terminal: nothing but blocks of code is wider, and no mark of
// Markdown is left outside of them.
func TestManualPages(t *testing.T) {
	for _, p := range manualPages() {
		text, err := docs.Pages.ReadFile(p.name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		plain := plainPage(string(text))
		for line := range strings.Lines(plain) {
			if strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "      ") {
				continue // code
			}
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 &&
				strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: a line of %d characters: %s", p.name, utf8.RuneCountInString(line), line)
			}
			if strings.HasPrefix(line, "|") || strings.Contains(line, "](") && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: %s", p.name, line)
			}
		}
		if p.title == "" || !strings.HasPrefix(plain, p.title+"\n") {
			t.Errorf("%s begins with %.40q: want its title", p.name, plain)
		}
	}
	if got := plainPage("# A `b`\n\nSee [x](y.md) and ![p](q).\nMore **bold** text.\n\n* one\n* two [z](z)\n\n| a | " +
		"b |\n|---|---|\n| `c\\|d` | e |\n\n```go\nx := \"[1](2)\"\n```\n"); got !=
		"A b\n===\n\nSee x and (picture: p). More bold text.\n\n* one\n* two z\n\n  a    b\n  c|d  e\n\n    x := "+
			"\"[1](2)\"\n" {
		t.Errorf("got %q", got)
	}
}
