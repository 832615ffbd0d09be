package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A table has a header and rows of the same length. The first column is text,
// the others are numbers.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table as text for a terminal, Markdown, LaTeX or CSV.
func (t *table) write(w io.Writer, format outputFormat) error {
	switch format {
	case "csv":
		c := csv.NewWriter(w)
		if err := c.Write(t.header); err != nil {
			return err
		}
		return c.WriteAll(t.rows)
	case "latex":
		return t.latex(w)
	case "markdown":
		return t.render(w, renderer.NewMarkdown(), escapeMarkdown)
	}
	lines := tw.Rendition{
		Borders:  tw.BorderNone,
		Symbols:  tw.NewSymbols(tw.StyleLight),
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off}, Lines: tw.Lines{ShowHeaderLine: tw.On}},
	}
	return t.render(w, renderer.NewBlueprint(lines), func(s string) string { return s })
}

func (t *table) render(w io.Writer, r tw.Renderer, escape func(string) string) error {
	align := make([]tw.Align, len(t.header))
	for i := range align {
		align[i] = tw.AlignRight
	}
	align[0] = tw.AlignLeft
	out := tablewriter.NewTable(w,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	out.Header(escapeAll(t.header, escape))
	for _, row := range t.rows {
		if err := out.Append(escapeAll(row, escape)); err != nil {
			return err
		}
	}
	return out.Render()
}

func escapeAll(cells []string, escape func(string) string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = escape(c)
	}
	return out
}

func escapeMarkdown(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`, `{`, `\{`, `}`, `\}`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, "≤", `$\le$`, "≥", `$\ge$`, "±", `$\pm$`, "–", `--`, "ρ", `$\rho$`, "−", `$-$`,
)

// withMinus escapes a cell of LaTeX, with a minus before a number that is negative.
func withMinus(s string, escape func(string) string) string {
	if len(s) > 1 && s[0] == '-' && (s[1] >= '0' && s[1] <= '9' || s[1] == '.') {
		return "$-$" + escape(s[1:])
	}
	return escape(s)
}

// latex writes a tabular with the rules of the booktabs package.
func (t *table) latex(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\toprule\n", strings.Repeat("r", len(t.header)-1))
	b.WriteString(strings.Join(escapeAll(t.header, latexEscapes.Replace), " & ") + " \\\\\n\\midrule\n")
	for _, row := range t.rows {
		cell := func(s string) string { return withMinus(s, latexEscapes.Replace) }
		b.WriteString(strings.Join(escapeAll(row, cell), " & ") + " \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
