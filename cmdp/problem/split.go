package problem

import "strings"

// rowsAtOnce is how many rows of a block of transitions the YAML library parses together: a
// tree of the whole of a large file would take a hundred times its size.
const rowsAtOnce = 256

// pieces is a YAML document cut so that its rows of transitions, written one
// below the other as a block list at the top level, can be parsed in portions.
// The cut relies on a rule of YAML: every line of a member of such a list is
// indented further than its dash, quoted and flow text included.
type pieces struct {
	head string // up to the key transitions, or everything
	rows block
	tail string
	line int // in which the tail begins
}

// A block is the text of a block list with its first line and the indent of its dashes,
// which is -1 without one.
type block struct {
	text         string
	line, indent int
}

func split(text string) pieces {
	whole := pieces{head: text, rows: block{indent: -1}}
	rest, line := text, 1
	for begun := false; ; {
		raw, after, more := strings.Cut(rest, "\n")
		_, mark := lineMark(raw)
		if !begun && (mark == '{' || mark == '[') {
			return whole // flow style throughout
		}
		begun = begun || mark != 0
		rest, line = after, line+1
		if isTransitions(raw) {
			break
		}
		if !more {
			return whole
		}
	}
	p := pieces{head: text[:len(text)-len(rest)], rows: block{line: line, indent: -1}}
	at := 0
	for at < len(rest) {
		raw, after, _ := strings.Cut(rest[at:], "\n")
		col, mark := lineMark(raw)
		if mark != 0 && p.rows.indent < 0 {
			if !isRow(raw, col) {
				return whole
			}
			p.rows.indent = col
		}
		if mark != 0 && (col < p.rows.indent || col == p.rows.indent && !isRow(raw, col)) {
			break
		}
		at, line = len(rest)-len(after), line+1
	}
	if p.rows.indent < 0 {
		return whole
	}
	p.rows.text, p.tail, p.line = rest[:at], rest[at:], line
	return p
}

// lineMark returns the first character of a line that is not a space, and its
// place. It is 0 for a line that is blank or a comment.
func lineMark(line string) (col int, mark byte) {
	for col < len(line) && line[col] == ' ' {
		col++
	}
	if trimmed := strings.TrimLeft(line[col:], " \t\r"); trimmed == "" || trimmed[0] == '#' {
		return col, 0
	}
	return col, line[col]
}

// isRow reports whether a line has the dash of a list in the given column.
func isRow(line string, col int) bool {
	return line[col] == '-' && (len(line) == col+1 || strings.IndexByte(" \t\r", line[col+1]) >= 0)
}

// isTransitions reports whether a line is the key transitions at the top level,
// with its value below.
func isTransitions(line string) bool {
	rest, ok := strings.CutPrefix(line, "transitions:")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, " \t\r")
	return rest == "" || rest[0] == '#' && len(rest) < len(line)-len("transitions:")
}

// yamlRows hands the rows of a block list to row, one after the other: those that a
// flowReader gives up on are read by the YAML library.
func (r *rowReader) yamlRows(rows block, row func(n *node, index int)) {
	text, line := rows.text, rows.line
	f, index := newFlowReader("", 0, false), 0
	portion, portionLine, portionRows := text, line, 0
	flush := func() {
		if portionRows == 0 {
			portion, portionLine = text, line
			return
		}
		root, bad := parseYAML(portion[:len(portion)-len(text)], portionLine)
		switch {
		case bad != nil:
			r.syntax(bad)
			index += portionRows
		case root == nil || !r.list(root, (*path)(nil).key("transitions")):
		default:
			for _, item := range root.items {
				row(item, index)
				index++
			}
		}
		portion, portionLine, portionRows = text, line, 0
	}
	for text != "" {
		// One row, and the blank lines and comments before it.
		rest, lines := text, 0
		for begun := false; rest != ""; {
			raw, after, _ := strings.Cut(rest, "\n")
			if col, mark := lineMark(raw); mark != 0 && col == rows.indent {
				if begun {
					break
				}
				begun = true
			}
			rest, lines = after, lines+1
		}
		own := text[:len(text)-len(rest)]
		f.reset(own, line)
		n := f.row()
		if n != nil {
			flush()
			row(n, index)
			index++
		} else {
			portionRows++
		}
		text, line = rest, line+lines
		r.done(len(rows.text)-len(text), len(rows.text))
		if r.large != nil {
			return
		}
		if n != nil {
			portion, portionLine = text, line
		} else if portionRows == rowsAtOnce {
			flush()
		}
	}
	flush()
}

// row reads the one row of a block list that the text is, with comments around. It returns
// nil if it gives up.
func (f *flowReader) row() *node {
	f.nextLine()
	if !f.isDash() {
		return nil
	}
	indent := f.at - f.begin
	f.at++
	if n := f.below(indent, 0); f.at == len(f.text) {
		return n
	}
	return nil
}

func (f *flowReader) isDash() bool { return strings.HasPrefix(f.text[f.at:], "- ") }

// nextLine passes over the rest of a line, if only white space and a comment are left of it,
// and over the lines that hold nothing else. It reports whether a line ended.
func (f *flowReader) nextLine() bool {
	line := f.line
	for f.space() == '#' && (f.at == 0 || strings.IndexByte(" \n", f.text[f.at-1]) >= 0) {
		end := strings.IndexAny(f.text[f.at:], "\r\n") // a return alone ends the line too, and row gives up there
		if end < 0 {
			end = len(f.text) - f.at
		}
		f.at += end
	}
	return f.line > line || f.at == len(f.text)
}

// below reads the value that follows a dash or a key, which stands in the column indent: on the
// same line, or on those below.
func (f *flowReader) below(indent, depth int) *node {
	afterDash := f.text[f.at-1] == '-'
	if f.nextLine() {
		if f.at < len(f.text) && (f.at-f.begin > indent || !afterDash && f.at-f.begin == indent && f.isDash()) {
			return f.block(depth + 1)
		}
		return nil
	}
	if afterDash && f.isDash() {
		return f.block(depth + 1)
	}
	at, begin, used := f.at, f.begin, f.used
	n := f.value(depth + 1)
	if n != nil && n.kind == scalarNode && afterDash && f.isColon() {
		f.at, f.begin, f.used = at, begin, used
		return f.block(depth + 1)
	}
	if !f.nextLine() {
		return nil
	}
	return n
}

// isColon reports whether the colon after a key follows.
func (f *flowReader) isColon() bool {
	rest, ok := strings.CutPrefix(f.text[f.at:], ":")
	return ok && (rest == "" || strings.IndexByte(" \r\n", rest[0]) >= 0)
}

// block reads a list with dashes, or a mapping without braces, each of whose lines begins in
// the column of the first.
func (f *flowReader) block(depth int) *node {
	if depth > maxDepth {
		return nil
	}
	indent := f.at - f.begin
	n := f.node(mapNode)
	if f.isDash() {
		n.kind = listNode
	}
	for f.at < len(f.text) && f.at-f.begin == indent {
		var key *node
		switch {
		case n.kind == listNode:
			if !f.isDash() {
				return n
			}
		case f.text[f.at] == '"':
			key = f.quoted()
		default:
			key = f.plain()
		}
		if n.kind == mapNode && (key == nil || !f.isColon()) {
			return nil
		}
		f.at++
		value := f.below(indent, depth)
		if value == nil {
			return nil
		}
		if key == nil {
			n.items = append(n.items, value)
		} else {
			n.members = append(n.members, member{key, value})
		}
	}
	return n
}
