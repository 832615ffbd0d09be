package problem

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/geometry"
)

// A head knows where the keys of a file stand. Rows of transitions are left out.
type head struct {
	file string
	root *node
}

func newHead(file string, root *node) *head {
	keys := *root
	keys.members = slices.DeleteFunc(slices.Clone(root.members),
		func(m member) bool { return m.key.text == "transitions" })
	return &head{file, &keys}
}

// Located returns what was found to be wrong with the problem after it was read as [Errors] that name the file,
// and the lines where err is a [MemberError], with a path as in the file, or several. Of a problem that was not
// read from a file it returns err, and so it does once a context is done.
func (p *Problem) Located(err error) error {
	if err == nil || p.head == nil || contextDone(err) {
		return err
	}
	d := &decoder{file: p.head.file}
	d.misbuilt(p.head.root, nil, err)
	return located{d.errs.sorted(p.head.file), err}
}

// contextDone reports whether an error is that of a context which is done.
func contextDone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A located error is what is wrong with a file, and wraps what was found.
type located struct {
	Errors
	found error
}

func (l located) Unwrap() []error { return []error{l.Errors, l.found} }

// judgeForm finds what is wrong with goal and target whatever returns are possible, and records it where it
// stands in the file.
func (h *header) judgeForm(root *node) {
	d := len(h.p.Returns)
	if d == 0 {
		return
	}
	if h.p.Goal.Cost != nil {
		box, err := geometry.NewBox(orFill(nil, d, 0), orFill(nil, d, 1))
		if err == nil {
			_, err = h.p.Goal.Cost.Build(h.p.Returns, box)
		}
		if err != nil {
			h.misbuilt(root, nil, Inside(err, "goal", "cost"))
		}
	}
	if h.p.Target != nil {
		if _, err := h.p.Target.Build(d, h.p.Returns); err != nil {
			h.misbuilt(root, nil, Inside(err, "target"))
		}
	}
	if err := h.p.checkOpponent(); err != nil {
		h.misbuilt(root, nil, err)
	}
}

// misbuilt reports an error of what stands at n, or of the member of n that it names.
func (d *decoder) misbuilt(n *node, at *path, err error) {
	if many, ok := err.(memberErrors); ok {
		for _, err := range many {
			d.misbuilt(n, at, err)
		}
		return
	}
	e := &Error{File: d.file, Key: at.String()}
	if member, ok := errors.AsType[*MemberError](err); ok {
		var written string
		n, written = find(n, member.Path)
		if err = member.Err; e.Key != "" && written != "" && written[0] != '[' {
			e.Key += "."
		}
		e.Key += written
	}
	e.Message = trimmed(err, "problem: ")
	if unknown, ok := errors.AsType[*unknownState](err); ok {
		e.of = mistake{"states", unknown.name}
	}
	if e.Key != "" {
		e.Line, e.Column = n.line, n.col
	}
	d.report(e)
}

// trimmed is the message of an error without the name of a package.
func trimmed(err error, prefix string) string { return strings.TrimPrefix(err.Error(), prefix) }

// find follows a path from n as far as it leads. It also returns the path as the file has it: a
// list of sets of states may stand under the key or.
func find(n *node, path string) (found *node, written string) {
	for path != "" {
		var next *node
		end := 1 + strings.IndexAny(path[1:], ".[")
		if end == 0 {
			end = len(path)
		}
		step := path[:end]
		if index, isIndex := strings.CutPrefix(step, "["); isIndex {
			if or := n.get("or"); or != nil {
				n, written = or, written+".or"
			}
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil && i < len(n.items) {
				next = n.items[i]
			}
		} else {
			next = n.get(strings.TrimPrefix(step, "."))
		}
		if next == nil {
			break
		}
		n, path, written = next, path[end:], written+step
	}
	return n, strings.TrimPrefix(written+path, ".")
}
