// Package report writes what a command found. A command declares a Report once: the
// data for programs, and sections for people. Write turns it into text for a terminal,
// Markdown, LaTeX, CSV, JSON or JSON lines.
//
//	report.Report{
//		Data: found,
//		Sections: []report.Section{
//			report.Heading{"two-rooms: maximize reward", "optimal, 0.01 s"},
//			report.Pairs("", "optimum", report.Pair{"reward", 2.1439}),
//			report.Note{"The policy is deterministic."},
//		},
//	}
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Format is one of Formats. It is a flag value, as pflag wants it.
type Format string

// The formats of a report.
const (
	Terminal Format = "table"
	Markdown Format = "markdown"
	LaTeX    Format = "latex"
	CSV      Format = "csv"
	JSON     Format = "json"
	// JSONL is the rows of CSV, each as a JSON object on a line.
	JSONL Format = "jsonl"
)

// Formats lists all formats.
var Formats = []Format{Terminal, Markdown, LaTeX, CSV, JSON, JSONL}

func (f *Format) String() string { return string(*f) }

// Type is the word for a value of the flag.
func (f *Format) Type() string { return "FORMAT" }

// Set is an error for anything that is not one of Formats.
func (f *Format) Set(text string) error {
	if !slices.Contains(Formats, Format(text)) {
		return fmt.Errorf("want %s", FormatNames())
	}
	*f = Format(text)
	return nil
}

// FormatNames lists the formats, with commas between.
func FormatNames() string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

// A Report is what a command found.
type Report struct {
	// Data is written as one JSON object. As CSV its fields with a csv tag are written, one
	// number in each row (see quantities), unless tables of the sections are made for CSV.
	Data any
	// Sections are written for people in this order, with an empty line between them.
	Sections []Section
	// Result says that pages are made of the data: as JSON it has what a terminal shows, under "shown".
	Result bool
}

// A Section is a part of a report: a Title, Heading, *Table, List, Listing or Note. Only
// restricts one to some formats; others are written in all formats for people.
type Section interface{ section() }

// A Title stands before one of several parts of a report. A terminal does not show it,
// because the heading that follows says the same.
type Title string

// A Heading says line by line what the report is about and how the answer was found.
type Heading []string

// A List has an item for each of several things that are to be known.
type List []string

// A Listing is a thing in words, with an item for each of its parts. It is for terminals:
// other formats have tables.
type Listing struct {
	Name, Text string
	Items      []Pair
}

// A Note has sentences that say what the tables mean. They are written as one paragraph.
type Note []string

type only struct {
	Section
	formats []Format
}

func (Title) section()   {}
func (Heading) section() {}
func (List) section()    {}
func (Listing) section() {}
func (Note) section()    {}
func (*Table) section()  {}

// Only returns the section for the given formats alone.
func Only(s Section, formats ...Format) Section { return only{s, formats} }

// Width is the most characters on a line of text for a terminal.
const Width = 79

// Write writes the report. What is for people is clean of control characters.
func (r *Report) Write(w io.Writer, f Format) error {
	switch f {
	case JSON:
		if r.Result {
			return r.writeResult(w)
		}
		return writeJSON(w, r.Data)
	case CSV, JSONL:
		tables := tablesOf(r.shown(CSV))
		if len(tables) == 0 {
			tables = []*Table{quantities(r.Data)}
		}
		if f == JSONL {
			return writeJSONL(w, tables)
		}
		return writeCSV(w, tables)
	}
	var text strings.Builder
	err := r.forPeople(&text, f)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, Clean(text.String()))
	return err
}

func (r *Report) forPeople(w io.Writer, f Format) error {
	switch f {
	case LaTeX:
		_, err := io.WriteString(w, latex(r.shown(f)))
		return err
	case Markdown:
		return r.text(w, f, markdown)
	default:
		return r.text(w, f, terminal)
	}
}

// shown returns the sections that are written in a format and have something in them.
func (r *Report) shown(f Format) []Section {
	var list []Section
	for _, s := range r.Sections {
		if o, ok := s.(only); ok {
			if !slices.Contains(o.formats, f) {
				continue
			}
			s = o.Section
		} else if f == CSV {
			continue
		}
		if t, ok := s.(*Table); ok {
			s = t.in(f)
		}
		if _, listing := s.(Listing); listing && f != Terminal {
			continue
		}
		if f == CSV || !empty(s) {
			list = append(list, s)
		}
	}
	return list
}

func empty(s Section) bool {
	switch s := s.(type) {
	case Title:
		return s == ""
	case Heading:
		return len(s) == 0
	case List:
		return len(s) == 0
	case Note:
		return len(s) == 0
	case *Table:
		return len(s.Rows) == 0
	default:
		return false
	}
}

func tablesOf(sections []Section) (tables []*Table) {
	for _, s := range sections {
		if t, ok := s.(*Table); ok {
			tables = append(tables, t)
		}
	}
	return tables
}

// text writes sections one by one with an empty line between.
func (r *Report) text(w io.Writer, f Format, write func(io.Writer, Section) error) error {
	first := true
	for _, s := range r.shown(f) {
		if _, ok := s.(Title); ok && f == Terminal {
			continue
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		if err := write(w, s); err != nil {
			return err
		}
	}
	return nil
}

func terminal(w io.Writer, s Section) error {
	switch s := s.(type) {
	case Heading:
		for _, text := range s {
			writeLines(w, Wrap(text, Width))
		}
	case List:
		for _, text := range s {
			for i, line := range Wrap(text, Width-3) {
				fmt.Fprintln(w, strings.Repeat(" ", min(1+2*i, 3))+line)
			}
		}
	case Note:
		writeLines(w, Wrap(strings.Join(s, " "), Width))
	case Listing:
		fmt.Fprintln(w, s.Name)
		for _, line := range Wrap(s.Text, Width-3) {
			fmt.Fprintln(w, "    "+line)
		}
		for _, item := range s.Items {
			name := item.Name
			for _, line := range Wrap(text(item.Value), Width-31) {
				fmt.Fprintf(w, "      %-24s %s\n", name, line)
				name = ""
			}
		}
	case *Table:
		return s.terminal(w)
	}
	return nil
}

func markdown(w io.Writer, s Section) error {
	switch s := s.(type) {
	case Title:
		fmt.Fprintf(w, "## %s\n", s)
	case Heading:
		for _, text := range s {
			fmt.Fprintln(w, "- "+text)
		}
	case List:
		for _, text := range s {
			fmt.Fprintln(w, "- "+text)
		}
	case Note:
		writeLines(w, Wrap(strings.Join(s, " "), Width))
	case *Table:
		return s.markdown(w)
	}
	return nil
}

func writeLines(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
