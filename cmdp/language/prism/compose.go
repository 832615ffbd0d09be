package prism

import (
	"cmp"
	"slices"

	"cmdpsolve/cmdp/language"
)

// maxVectors bounds the ways in which modules can move together.
const maxVectors = 1 << 20

// A part is what modules do together: for each action that is visible from outside the sets of groups that can move
// under it. The empty name, which is the first, stands for those that move by themselves.
type part struct {
	vectors map[string][][]int32
	order   []string // of actions
}

func newPart() *part { return &part{make(map[string][][]int32), []string{""}} }

func (p *part) add(action string, vectors ...[]int32) {
	if _, ok := p.vectors[action]; !ok && action != "" {
		p.order = append(p.order, action)
	}
	p.vectors[action] = append(p.vectors[action], vectors...)
}

// compose finds the vectors: those without an action in the order of modules, then the others in the
// order in which actions first appear.
func (b *builder) compose() {
	all := b.composed()
	for _, action := range all.order {
		n := b.Action(action)
		for _, groups := range all.vectors[action] {
			b.Program.Vectors = append(b.Program.Vectors, language.Vector{Action: n, Groups: groups})
		}
	}
}

// composed composes the modules as the file says, or all of them with synchronisation over the actions
// that they share.
func (b *builder) composed() *part {
	c := &composer{builder: b, systems: make(map[string]system), used: make(map[string]bool)}
	for _, s := range b.systems {
		b.Once(s.at, "system", cmp.Or(s.name.text, "without a name"))
		c.systems[s.name.text] = s
	}
	if len(b.systems) == 0 {
		all := newPart()
		for _, in := range b.modules {
			all.join(in.part(), true, nil)
		}
		return all
	}
	root, ok := c.systems[""]
	if !ok {
		root = b.systems[0]
	}
	if !ok && len(b.systems) > 1 {
		fail(b.systems[1].name.at,
			"several systems with names and none without: want one without a name, which is the model")
	}
	all := root.of(c)
	for _, in := range b.modules {
		if !c.used[in.name.text] {
			fail(root.at, "the system leaves out module %s: want every module once", in.name)
		}
	}
	return all
}

func (in *module) part() *part {
	p := newPart()
	for _, action := range in.order {
		p.add(action, []int32{in.groups[action]})
	}
	return p
}

// join puts a second part beside p. They move together under the actions of both if shared is true, or under those
// of over, and else each by itself.
func (p *part) join(q *part, shared bool, over []string) {
	count := 0
	for _, action := range q.order {
		mine, both := p.vectors[action]
		theirs := q.vectors[action]
		if together := shared && both || slices.Contains(over, action); !together || action == "" {
			p.add(action, theirs...)
			continue
		}
		count += len(mine) * len(theirs)
		if count > maxVectors {
			fail(language.Pos{}, "more than %d ways in which modules can move together", maxVectors)
		}
		joined := make([][]int32, 0, len(mine)*len(theirs))
		for _, groups := range mine {
			for i, others := range theirs {
				if i < len(theirs)-1 {
					others = slices.Concat(groups, others)
				} else {
					others = append(groups, others...)
				}
				joined = append(joined, others)
			}
		}
		p.add(action)
		p.vectors[action] = joined
	}
	for _, action := range over {
		_, mine := p.vectors[action]
		_, theirs := q.vectors[action]
		if mine && !theirs { // it cannot be taken, and what stands beside p later waits for it
			p.vectors[action] = nil
		}
	}
}

// A composition makes a part of modules.
type composition func(c *composer) *part

// A composer composes what stands between system and endsystem.
type composer struct {
	*builder
	systems map[string]system // by name
	used    map[string]bool   // modules
	open    []string          // names of systems on the way
}

func (c *composer) module(name token) *part {
	in := c.instances[name.text]
	switch {
	case in == nil:
		fail(name.at, "no module %s is defined", name)
	case c.used[in.name.text]:
		fail(name.at, "module %s stands in the system twice", name)
	}
	c.used[in.name.text] = true
	return in.part()
}

func (c *composer) system(name token) *part {
	s, ok := c.systems[name.text]
	switch {
	case !ok:
		fail(name.at, "no system %s is defined", name)
	case slices.Contains(c.open, name.text):
		fail(name.at, "system %s is part of itself", name)
	}
	c.open = append(c.open, name.text)
	all := s.of(c)
	c.open = c.open[:len(c.open)-1]
	return all
}

// hiding returns the part with moves under some actions by themselves.
func (p *part) hiding(actions []string) *part {
	for _, action := range actions {
		p.add("", p.vectors[action]...)
		delete(p.vectors, action)
	}
	p.order = slices.DeleteFunc(p.order, func(action string) bool { return slices.Contains(actions, action) })
	return p
}

// renamed returns the part with other names of actions, all of which change at once.
func (p *part) renamed(rename map[string]string) *part {
	r := newPart()
	for _, action := range p.order {
		r.add(language.Renamed(rename, action), p.vectors[action]...)
	}
	return r
}
