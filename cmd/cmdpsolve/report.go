package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/cobra"
)

//go:embed report.html
var reportPage string

// reportCommand is one call of report.
type reportCommand struct {
	streams
	output string
	title  string
}

func newReport(s streams) *cobra.Command {
	c := &reportCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "report RESULT… --output FILE.html",
		Short: "Make one page of saved results, to read, print or send",
		Long: `Writes one HTML page with everything in it: of each RESULT, which a command
wrote with --format json, the tables and sentences that a terminal shows,
figures, and how to get it again. All other numbers stand in an appendix. The
page needs nothing else and prints well. A click on a figure enlarges it.

Results of plan, plan --sweep, front, check, learn, compare (of suites too) and
simulate are taken.`,
		Example: `  cmdpsolve plan inventory --format json > plan.json
  cmdpsolve front inventory --over -shortage,-cost --format json > front.json
  cmdpsolve report plan.json front.json --output inventory.html`,
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "the `FILE` to write, .html")
	f.StringVar(&c.title, "title", "", "title of the page (default: the problem's name)")
	return cmd
}

// A reportPart is one result of the page.
type reportPart struct {
	Title   string
	Kind    string
	Wanted  string
	Verdict string
	Good    bool
	Shown   []report.Shown // what a terminal shows; an older version kept nothing of it
	Facts   *pageTable
	Tables  []*pageTable
	Figures []template.HTML
	Parts   []*reportPart // of a suite
	Command string
	File    string
	Sum     string
}

func (c *reportCommand) run(args []string) error {
	switch {
	case len(args) == 0:
		return usage("report takes one or more RESULTs; see cmdpsolve report --help")
	case c.output == "":
		return usage("report needs the file to write: give --output, such as --output result.html")
	case !slices.Contains([]string{".html", ".htm"}, strings.ToLower(filepath.Ext(c.output))):
		return usage("--output %s: want a file that ends with .html", c.output)
	}
	if err := writable("--output", c.output); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	page := struct {
		Title, Made string
		Style       template.CSS
		Parts       []*reportPart
		Appendix    bool
	}{c.title, strings.Join(thisBuild(info).report().Sections[0].(report.Heading), ", "), template.CSS(explore.Style()),
		nil, false}
	var titles []string
	for _, path := range args {
		var part *reportPart
		data, err := os.ReadFile(path)
		if err == nil {
			part, err = partIn(data, filepath.Base(path))
		}
		if err != nil {
			return usage("report: %s: %w", path, err)
		}
		page.Parts = append(page.Parts, part)
		page.Appendix = page.Appendix || part.Shown != nil
		if !slices.Contains(titles, part.Title) {
			titles = append(titles, part.Title)
		}
	}
	page.Title = cmp.Or(page.Title, strings.Join(titles, ", "))
	t, err := template.New("report").Funcs(template.FuncMap{"left": func(t *report.ShownTable,
		j int) bool {
		return j == 0 || slices.Contains(t.Left, j)
	}}).Parse(reportPage)
	if err != nil {
		panic("report: the template is wrong: " + err.Error())
	}
	var text bytes.Buffer
	if err := t.Execute(&text, page); err != nil {
		return failed(fmt.Errorf("report: %w", err))
	}
	if err := atomicfile.WriteFile(c.output, text.Bytes()); err != nil {
		return failed(fmt.Errorf("report: %w", err))
	}
	fmt.Fprintln(c.out, report.Clean(c.output))
	return nil
}

// partIn reads the JSON of a result that a file had.
func partIn(data []byte, file string) (*reportPart, error) {
	value, err := readOrdered(data)
	if err != nil {
		return nil, err
	}
	object, ok := value.(report.Object)
	if !ok {
		return nil, fmt.Errorf("want what a command wrote with --format json")
	}
	part, err := partOf(object, data)
	if err != nil {
		return nil, err
	}
	part.File, part.Sum = file, fmt.Sprintf("%x", sha256.Sum256(data))
	if command, ok := member(object, "command"); ok {
		words, _ := command.([]any)
		for _, word := range words {
			part.Command += quote(fmt.Sprint(word)) + " "
		}
		part.Command += "> " + quote(file)
	}
	return part, nil
}

// shownIn returns the sections that a result keeps, without the first line of its heading, which the page says itself,
// and histograms made of characters, which it draws.
func shownIn(data []byte) []report.Shown {
	var saved struct{ Shown []report.Shown }
	if data == nil || json.Unmarshal(data, &saved) != nil {
		return nil
	}
	if len(saved.Shown) > 0 && len(saved.Shown[0].Heading) > 0 {
		saved.Shown[0].Heading = saved.Shown[0].Heading[1:]
	}
	return slices.DeleteFunc(saved.Shown, func(s report.Shown) bool { return s.Table != nil && s.Table.Bars() })
}

// kindOf tells what wrote a result, by a member that no other has.
func kindOf(o report.Object) string {
	for _, k := range []struct{ key, kind string }{{"problems", "suite"}, {"plans", "sweep"}, {"vertices", "front"},
		{"rows", "compare"}, {"history", "learn"},
		{"choices", "check"}, {"prices", "plan"}, {"credible", "plan"}, {"ways", "simulate"}, {"policy", "simulate"}} {
		if _, ok := member(o, k.key); ok {
			return k.kind
		}
	}
	return ""
}

// partOf makes the part of a result.
func partOf(o report.Object, data []byte) (*reportPart, error) {
	p := &reportPart{Kind: kindOf(o)}
	if p.Kind == "" {
		return nil, fmt.Errorf("no result of plan, front, check, learn, compare or simulate: want what one of them " +
			"wrote with --format json")
	}
	for _, key := range []string{"name", "problem"} {
		if x, ok := member(o, key); ok && p.Title == "" {
			p.Title = fmt.Sprint(x)
		}
	}
	if x, ok := member(o, "wanted"); ok {
		p.Wanted = fmt.Sprint(x)
	}
	for _, key := range []string{"verdict", "status"} {
		if x, ok := member(o, key); ok && p.Verdict == "" {
			p.Verdict = fmt.Sprint(x)
		}
	}
	p.Good = slices.Contains([]string{"optimal", "approachable", "minimax"}, p.Verdict)
	if list, ok := member(o, "problems"); ok {
		items, _ := list.([]any)
		for _, item := range items {
			inner, ok := item.(report.Object)
			if !ok {
				continue
			}
			one, err := partOf(inner, nil)
			if err != nil {
				return nil, err
			}
			p.Parts = append(p.Parts, one)
		}
		p.Title = cmp.Or(p.Title, "suite")
	}
	p.Shown = shownIn(data)
	p.Facts, p.Tables = tablesFrom(o)
	figures, err := figuresOf(p.Kind, data)
	if err != nil {
		return nil, err
	}
	for _, f := range figures {
		svg, err := f.Bytes("svg")
		if err != nil {
			return nil, err
		}
		if at := bytes.Index(svg, []byte("<svg")); at >= 0 { // a page has no XML declaration inside
			p.Figures = append(p.Figures, template.HTML(svg[at:])) //nolint:gosec // drawn by us, its texts are escaped
		}
	}
	return p, nil
}
