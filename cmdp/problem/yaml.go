package problem

import (
	"errors"
	"fmt"
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
	// The lexer counts a line that ends in a comment and "\r\n" twice.
	tokens := lexer.Tokenize(strings.ReplaceAll(text, "\r\n", "\n"))
	if t := tooDeep(tokens); t != nil {
		return nil, &syntaxError{t.Position.Line + first - 1, t.Position.Column, "nested too deeply"}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		bad := yamlError(err, first)
		bad.blameTab(text, first)
		return nil, bad
	}
	c := converter{offset: first - 1}
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

// blameTab makes the error one of a tab that indents a line up to where it is, since the parser speaks of what follows from it.
func (e *syntaxError) blameTab(text string, first int) {
	line := first
	for raw := range strings.Lines(text) {
		indent := raw[:len(raw)-len(strings.TrimLeft(raw, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && strings.TrimSpace(raw) != "" {
			*e = syntaxError{line, tab + 1, "a tab indents this line: want spaces"}
			return
		}
		if line++; line > e.line+1 {
			return
		}
	}
}

func yamlError(err error, first int) *syntaxError {
	var ye yaml.Error
	if errors.As(err, &ye) {
		bad := &syntaxError{first, 1, ye.GetMessage()}
		if t := ye.GetToken(); t != nil && t.Position != nil {
			bad.line, bad.col = t.Position.Line+first-1, t.Position.Column
		}
		return bad
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return &syntaxError{first, 1, message}
}

// CheckNesting returns an error if a YAML document is nested deeper than any file of this package, for which its
// parser would take gigabytes.
func CheckNesting(text string) error {
	if t := tooDeep(lexer.Tokenize(text)); t != nil {
		return fmt.Errorf("line %d, column %d: nested too deeply", t.Position.Line, t.Position.Column)
	}
	return nil
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
