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
		n, err = find(n, member.Path), member.Err
		if e.Key != "" && member.Path != "" && member.Path[0] != '[' {
			e.Key += "."
		}
		e.Key += member.Path
	}
	e.Message = trimmed(err, "problem: ")
	if e.Key != "" {
		e.Line, e.Column = n.line, n.col
	}
	h.report(e)
}

// trimmed is the message of an error without the name of a package.
func trimmed(err error, prefix string) string { return strings.TrimPrefix(err.Error(), prefix) }

// find follows a path from n as far as it leads.
func find(n *node, path string) *node {
	for path != "" {
		var next *node
		if rest, isIndex := strings.CutPrefix(path, "["); isIndex {
			index, after, _ := strings.Cut(rest, "]")
			path = strings.TrimPrefix(after, ".")
			if i, err := strconv.Atoi(index); err == nil && i < len(n.items) {
				next = n.items[i]
			}
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			next = n.get(path[:end])
			path = strings.TrimPrefix(path[end:], ".")
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
