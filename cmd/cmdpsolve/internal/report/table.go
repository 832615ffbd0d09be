package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A Table has as many cells in each row as columns. A cell is a string, an int, a
// float64, which people see with six digits and CSV has exactly, or a Rough number, which
// people see with three.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// A Column is the head of a column.
type Column struct {
	Title string
	Align Align
	In    []Format // that show it; none: all
}

// Align says on which side the cells of a column stand.
type Align byte

// The first column of a table stands to the left by default, others to the right.
const (
	Default Align = iota
	Left
	Center
)

// NewTable returns a table without rows whose columns have the given titles.
func NewTable(titles ...string) *Table {
	t := &Table{}
	t.Head(titles...)
	return t
}

// Head appends columns with the given titles.
func (t *Table) Head(titles ...string) {
	for _, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title})
	}
}

// Cells returns values as cells of a row.
func Cells[T any](values []T) []any {
	cells := make([]any, len(values))
	for i, x := range values {
		cells[i] = x
	}
	return cells
}

// Add appends a row.
func (t *Table) Add(cells ...any) { t.Rows = append(t.Rows, cells) }

// A Pair is a named value.
type Pair struct {
	Name  string
	Value any
}

// Pairs returns a table with a row for each pair.
func Pairs(name, value string, pairs ...Pair) *Table {
	t := NewTable(name, value)
	for _, p := range pairs {
		t.Add(p.Name, p.Value)
	}
	return t
}

// A Field is a column with its cell for a T.
type Field[T any] struct {
	Column
	Cell func(T) any
}

// NewField returns a column with its cell, for some formats or for all.
func NewField[T any](title string, align Align, cell func(T) any, in ...Format) Field[T] {
	return Field[T]{Column{Title: title, Align: align, In: in}, cell}
}

// TableOf returns a table with a row for each of the items.
func TableOf[T any](items []T, fields []Field[T]) *Table {
	t := &Table{Rows: make([][]any, len(items))}
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Column)
		for i, item := range items {
			t.Rows[i] = append(t.Rows[i], f.Cell(item))
		}
	}
	return t
}

// in returns the table with the columns that a format shows.
func (t *Table) in(f Format) *Table {
	out := &Table{Rows: make([][]any, len(t.Rows))}
	for j, c := range t.Columns {
		if len(c.In) > 0 && !slices.Contains(c.In, f) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[j])
		}
	}
	return out
}

// text returns a cell for people.
func text(cell any) string {
	switch x := cell.(type) {
	case float64:
		return Short(x)
	case Number:
		return Short(float64(x))
	case Rough:
		return Brief(float64(x))
	}
	return fmt.Sprint(cell)
}

// exact returns a cell so that it is read back the same.
func exact(cell any) string {
	switch x := cell.(type) {
	case float64:
		return Exactly(x)
	case Number:
		return Exactly(float64(x))
	case Rough:
		return Exactly(float64(x))
	}
	return fmt.Sprint(cell)
}

func (t *Table) titles() []string {
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	return titles
}

// cells returns a row as text.
func cells(row []any, write func(any) string) []string {
	out := make([]string, len(row))
	for i, c := range row {
		out[i] = write(c)
	}
	return out
}

// writeCSV writes tables one below the other; the titles stand once where they are the same.
func writeCSV(w io.Writer, tables []*Table) error {
	out := csv.NewWriter(w)
	var head []string
	for _, t := range tables {
		if titles := t.titles(); !slices.Equal(head, titles) {
			head = titles
			if err := out.Write(head); err != nil {
				return err
			}
		}
		for _, row := range t.Rows {
			if err := out.Write(cells(row, exact)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// writeJSONL writes each row of the tables as an object, with null where a cell of CSV is empty.
func writeJSONL(w io.Writer, tables []*Table) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, t := range tables {
		for _, row := range t.Rows {
			object := make(Object, len(row))
			for i, cell := range row {
				switch x := cell.(type) {
				case float64:
					cell = Number(x)
				case Rough:
					cell = Number(x)
				case string:
					if x == "" {
						cell = nil
					}
				}
				object[i] = Member{t.Columns[i].Title, cell}
			}
			if err := out.Encode(object); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) terminal(w io.Writer) error {
	lines := tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleLight),
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			Lines: tw.Lines{ShowHeaderLine: tw.On}},
	}
	return t.render(w, renderer.NewBlueprint(lines), func(s string) string { return s })
}

func (t *Table) markdown(w io.Writer) error {
	return t.render(w, renderer.NewMarkdown(), func(s string) string {
		return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
	})
}

func (t *Table) render(w io.Writer, r tw.Renderer, escape func(string) string) error {
	align := make([]tw.Align, len(t.Columns))
	for i, c := range t.Columns {
		align[i] = [...]tw.Align{Default: tw.AlignRight, Left: tw.AlignLeft, Center: tw.AlignCenter}[c.Align]
	}
	align[0] = tw.AlignLeft
	out := tablewriter.NewTable(w,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	head := t.titles()
	for i := range head {
		head[i] = escape(head[i])
	}
	out.Header(head)
	for _, row := range t.Rows {
		if err := out.Append(cells(row, func(c any) string { return escape(text(c)) })); err != nil {
			return err
		}
	}
	return out.Render()
}
