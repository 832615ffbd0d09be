package problem

import (
	"errors"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
)

// judge builds goal and target, and records what is wrong with them where it
// stands in the file.
func (h *header) judge(root *node) {
	box, err := h.p.Box()
	if err != nil {
		key := "returns"
		if h.spec.Horizon == 0 {
			key = "discount"
			if h.spec.Average {
				key = "criterion"
			}
		}
		h.bad(root.get(key), (*path)(nil).key(key), "%s", trimmed(err, "problem: "))
		return
	}
	if _, err := h.p.goalCost(box); err != nil {
		h.misbuilt(root, nil, err)
	}
	task := cmdp.Task{Box: box}
	if err := h.p.setTarget(&task); err != nil {
		h.misbuilt(root, nil, err)
		return
	}
	if h.p.Opponent != nil {
		if _, err := h.p.Opponent.Build(h.p, task.Target); err != nil {
			h.misbuilt(root, nil, inside(err, "opponent"))
		}
	}
}

// judgeForm is judge without a model: it finds what is wrong with goal and
// target whatever returns are possible.
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
			h.misbuilt(root, nil, inside(err, "goal", "cost"))
		}
	}
	if h.p.Target != nil {
		if _, err := h.p.Target.Build(d, h.p.Returns); err != nil {
			h.misbuilt(root, nil, inside(err, "target"))
		}
	}
}

// misbuilt reports an error of what stands at n, or of the member of n that it names.
func (h *header) misbuilt(n *node, at *path, err error) {
	if many, ok := err.(memberErrors); ok {
		for _, err := range many {
			h.misbuilt(n, at, err)
		}
		return
	}
	e := &Error{File: h.file, Key: at.String()}
	var member *MemberError
	if errors.As(err, &member) {
		var written string
		n, written = find(n, member.Path)
		if err = member.Err; e.Key != "" && written != "" && written[0] != '[' {
			e.Key += "."
		}
		e.Key += written
	}
	e.Message = trimmed(err, "problem: ")
	if e.Key != "" {
		e.Line, e.Column = n.line, n.col
	}
	h.report(e)
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
