package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep a document may be nested. The parser recurses, and a
// stack that overflows cannot be recovered from.
const maxDepth = 1000

// A syntaxError is what keeps text from being a document.
type syntaxError struct {
	line, col int
	message   string
}

// parseYAML reads one YAML document that begins in line first of its file. An
// empty document gives nil.
func parseYAML(text string, first int) (root *node, bad *syntaxError) {
	// The parser is not known to be free of panics on malformed input.
	defer func() {
		if r := recover(); r != nil {
			root, bad = nil, &syntaxError{first, 1, "this is not YAML that can be read"}
		}
	}()
	if len(text) > longText {
		if n := readFlow(text, first); n != nil {
			return n, nil
		}
	}
	// The lexer counts a line that ends in a comment and "\r\n" twice.
	tokens, deep := tokenize(strings.ReplaceAll(text, "\r\n", "\n"))
	if deep != nil {
		return nil, &syntaxError{deep.Position.Line + first - 1, deep.Position.Column, "nested too deeply"}
	}
	c := converter{offset: first - 1, text: text}
	if len(tokens) > manyTokens {
		bare := slices.DeleteFunc(slices.Clone(tokens),
			func(t *token.Token) bool { return t.Type == token.CommentType })
		if b := newBlockCollection(bare); b != nil {
			c.end = bare[len(bare)-1]
			return c.inPortions(b, manyTokens)
		}
	}
	return c.parse(tokens)
}

// longText is from how many bytes on a text is given to a flowReader first, which takes a tenth of the time.
const longText = 1 << 16

// readFlow reads a document that a flowReader understands, else it returns nil.
func readFlow(text string, first int) *node {
	f := newFlowReader(text, first, false)
	f.nextLine()
	if f.at == len(text) {
		return nil
	}
	n := f.block(1)
	if n == nil || f.at < len(text) {
		return nil
	}
	return n
}

// parse reads the tokens of one document.
func (c *converter) parse(tokens token.Tokens) (root *node, bad *syntaxError) {
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		bad := yamlError(err, c.offset+1)
		bad.blameTab(c.text, c.offset+1)
		return nil, bad
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if root != nil {
			line, col := c.position(doc.Body)
			return nil, &syntaxError{line, col, "a second document begins: want one"}
		}
		root = c.convert(doc.Body)
	}
	return root, c.bad
}

// blameTab makes the error one of a tab that indents a line up to where it is, since the parser speaks of what
// follows from it.
func (e *syntaxError) blameTab(text string, first int) {
	line := first
	for raw := range strings.Lines(text) {
		indent := raw[:len(raw)-len(strings.TrimLeft(raw, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && strings.TrimSpace(raw) != "" {
			*e = syntaxError{line, tab + 1, "a tab indents this line: want spaces"}
			return
		}
		line++
		if line > e.line+1 {
			return
		}
	}
}

// manyTokens is from how many tokens on a block is parsed in portions of so many. The library calls itself and
// copies all that it has for each key of a mapping without braces: twice as many keys take four times as long.
const manyTokens = 2048

// A blockCollection is a mapping without braces or a list without brackets, in tokens without comments.
type blockCollection struct {
	tokens token.Tokens
	list   bool
	starts []int // where its entries begin, or the dashes of its items
}

// newBlockCollection returns the block that the tokens are. It is nil if they are something else, or if that is
// not certain.
func newBlockCollection(tokens token.Tokens) *blockCollection {
	b := &blockCollection{tokens: tokens, list: tokens[0].Type == token.SequenceEntryType}
	column, flow := tokens[0].Position.Column, 0
	for i, t := range tokens {
		inside := flow > 0
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		dash := t.Type == token.SequenceEntryType
		if i > 0 {
			before := tokens[i-1].Type // the text of a block has a place of its own
			inside = inside || t.Position.Column > column || before == token.LiteralType ||
				before == token.FoldedType ||
				!b.list && t.Position.Column == column && dash
		}
		switch {
		case inside:
		case t.Position.Column < column || b.list && !dash || !b.list && !isKey(tokens[i:]):
			return nil
		default:
			b.starts = append(b.starts, i)
		}
	}
	return b
}

// isKey reports whether the first token is a plain or quoted key, with its colon.
func isKey(tokens token.Tokens) bool {
	t := tokens[0]
	scalar := t.CharacterType == token.CharacterTypeMiscellaneous || t.Type == token.SingleQuoteType ||
		t.Type == token.DoubleQuoteType
	return scalar && len(tokens) > 1 && tokens[1].Type == token.MappingValueType &&
		tokens[1].Position.Line == t.Position.Line
}

// inner returns the block, of many tokens, that is the value of the i-th entry or the i-th item, else nil.
func (b *blockCollection) inner(i int, many int) *blockCollection {
	first := b.tokens[b.starts[i]]
	value := b.tokens[b.starts[i]+b.head() : b.end(i)]
	if len(value) <= many {
		return nil
	}
	at := value[0].Position
	below := at.Line > first.Position.Line
	dash := value[0].Type == token.SequenceEntryType
	switch {
	case b.list && at.Column > first.Position.Column:
	case !b.list && below && (at.Column > first.Position.Column || dash && at.Column == first.Position.Column):
	default:
		return nil
	}
	return newBlockCollection(value)
}

// head is how many tokens stand before a value: a key and its colon, or a dash.
func (b *blockCollection) head() int {
	if b.list {
		return 1
	}
	return 2
}

func (b *blockCollection) end(i int) int {
	if i+1 < len(b.starts) {
		return b.starts[i+1]
	}
	return len(b.tokens)
}

// inPortions reads a block in portions of about so many tokens.
func (c *converter) inPortions(b *blockCollection, many int) (*node, *syntaxError) {
	first := b.tokens[0].Position
	n := &node{kind: mapNode, line: first.Line + c.offset, col: first.Column}
	if b.list {
		n.kind = listNode
	}
	from := 0
	flush := func(to int) *syntaxError {
		if from == to {
			return nil
		}
		portion, bad := c.parse(b.tokens[from:to:to])
		if bad != nil {
			return bad
		}
		last := b.tokens[to-1]
		if last != c.end && (last.Type == token.MappingValueType || last.Type == token.SequenceEntryType) {
			// At the end of a document the library gives an empty value another place.
			portion.last().col = last.Position.Column + 1
		}
		n.members = append(n.members, portion.members...)
		n.items = append(n.items, portion.items...)
		from = to
		return nil
	}
	for i, start := range b.starts {
		end := b.end(i)
		inner := b.inner(i, many)
		if inner == nil && end-from < many && end < len(b.tokens) {
			continue
		}
		if inner == nil {
			if bad := flush(end); bad != nil {
				return nil, bad
			}
			continue
		}
		if bad := flush(start); bad != nil {
			return nil, bad
		}
		if !b.list {
			if bad := flush(start + b.head()); bad != nil { // the key alone
				return nil, bad
			}
		}
		whole, bad := c.inPortions(inner, many)
		if bad != nil {
			return nil, bad
		}
		if b.list {
			n.items = append(n.items, whole)
		} else {
			n.members[len(n.members)-1].value = whole
		}
		from = end
	}
	return n, c.bad
}

func yamlError(err error, first int) *syntaxError {
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		bad := &syntaxError{first, 1, ye.GetMessage()}
		if t := ye.GetToken(); t != nil && t.Position != nil {
			bad.line, bad.col = t.Position.Line+first-1, t.Position.Column
		}
		return bad
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return &syntaxError{first, 1, message}
}

// mostKeys is how many keys a mapping of a settings file may have.
const mostKeys = 1000

// CheckNesting returns an error if a YAML document is nested deeper than any file of this package, or has a mapping
// with more than a thousand keys: the library would take gigabytes for the one, and minutes for the other. It is for
// files of settings, in which a mapping has as many keys as there are settings.
func CheckNesting(text string) error {
	tokens, deep := tokenize(text)
	if deep != nil {
		return fmt.Errorf("line %d, column %d: nested too deeply", deep.Position.Line, deep.Position.Column)
	}
	if t := tooMany(tokens, mostKeys); t != nil {
		return fmt.Errorf("line %d, column %d: more than %d keys in one mapping", t.Position.Line, t.Position.Column,
			mostKeys)
	}
	return nil
}

// tooMany returns the colon of a key that its mapping has beyond so many, or nil.
func tooMany(tokens token.Tokens, most int) *token.Token {
	// The open mappings and lists, innermost last: those without brackets by the column of their keys or dashes.
	type level struct{ column, keys int }
	open := []level{{}}
	for i, t := range tokens {
		column := t.Position.Column
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			open = append(open, level{})
			continue
		case token.MappingEndType, token.SequenceEndType:
			for len(open) > 1 && open[len(open)-1].column > 0 {
				open = open[:len(open)-1]
			}
			open = open[:max(1, len(open)-1)]
			continue
		case token.SequenceEntryType:
		case token.MappingValueType:
			if i > 0 {
				column = tokens[i-1].Position.Column
			}
		default:
			continue
		}
		inner := slices.ContainsFunc(open[1:], func(l level) bool { return l.column == 0 })
		if !inner {
			for len(open) > 1 && open[len(open)-1].column > column {
				open = open[:len(open)-1]
			}
			if open[len(open)-1].column < column {
				open = append(open, level{column: column})
			}
		}
		if t.Type == token.MappingValueType {
			last := &open[len(open)-1]
			last.keys++
			if last.keys > most {
				return t
			}
		}
	}
	return nil
}

// tokenize returns the tokens of a text, or one that stands too deep. A token takes a hundred times its text, so the
// library does not see what follows the first place that may be too deep, until it is known not to be.
func tokenize(text string) (tokens token.Tokens, deep *token.Token) {
	if most := deepAt(text); most < len(text) {
		if deep := tooDeep(lexer.Tokenize(text[:most])); deep != nil {
			return nil, deep
		}
	}
	tokens = lexer.Tokenize(text)
	return tokens, tooDeep(tokens)
}

// deepAt returns the end of the shortest beginning of a text that may be nested too deeply. Brackets and dashes
// count, wherever they stand.
func deepAt(text string) int {
	const most = maxDepth + 1
	flow, marks := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(0, flow-1)
		case '-', '?', ':', '!', '&':
			marks++
		case '\n':
			marks = 0
		}
		if flow > most || flow == 0 && marks > most {
			return min(len(text), i+2) // the last mark is one only if a space follows
		}
	}
	return len(text)
}

// tooDeep returns a token that stands deeper than maxDepth, or nil.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, marks := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, marks = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType, token.MappingValueType:
			// On one line, these nest; inside braces they come in any number.
			if flow == 0 {
				marks++
			}
		}
		if flow > maxDepth || marks > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return t
		}
	}
	return nil
}

// A converter turns the parser's nodes into nodes.
type converter struct {
	offset int // lines before the text
	text   string
	end    *token.Token // the last of a document that is read in portions
	bad    *syntaxError
}

func (c *converter) position(n ast.Node) (line, col int) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return c.position(m.Values[0].Key) // the token of a block mapping is its first colon
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return c.position(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line + c.offset, t.Position.Column
	}
	return c.offset + 1, 1
}

// refuse records the first construct that problem files do not use.
func (c *converter) refuse(n *node, message string) *node {
	if c.bad == nil {
		c.bad = &syntaxError{n.line, n.col, message}
	}
	return n
}

func (c *converter) convert(n ast.Node) *node {
	if n == nil {
		return &node{line: c.offset + 1, col: 1}
	}
	line, col := c.position(n)
	out := &node{line: line, col: col}
	switch x := n.(type) {
	case *ast.MappingNode:
		out.kind = mapNode
		out.members = make([]member, len(x.Values))
		for i, v := range x.Values {
			out.members[i] = member{c.convert(v.Key), c.convert(v.Value)}
		}
	case *ast.MappingValueNode:
		out.kind = mapNode
		out.members = []member{{c.convert(x.Key), c.convert(x.Value)}}
	case *ast.SequenceNode:
		out.kind = listNode
		out.items = make([]*node, len(x.Values))
		for i, v := range x.Values {
			out.items[i] = c.convert(v)
		}
	case *ast.LiteralNode:
		out.quoted = true
		if x.Value != nil {
			out.text = x.Value.Value
		}
	case *ast.AnchorNode, *ast.AliasNode:
		return c.refuse(out, "anchors and aliases are not part of the format: write the value out")
	case *ast.TagNode:
		return c.refuse(out, "tags are not part of the format: write the value without one")
	case *ast.MappingKeyNode:
		return c.refuse(out, "'?' keys are not part of the format: write key: value")
	case ast.ScalarNode:
		c.scalar(out, n.GetToken())
	default:
		return c.refuse(out, "want a value, a list or a mapping")
	}
	return out
}

func (c *converter) scalar(out *node, t *token.Token) {
	if t == nil || t.Type == token.ImplicitNullType {
		return
	}
	out.text = t.Value
	out.quoted = t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType
}
