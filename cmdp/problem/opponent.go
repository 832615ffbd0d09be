package problem

import (
	"reflect"
	"slices"
	"strconv"
)

// An OpponentSpec describes the opponent of a game, as a problem file does. Policy
// says which of the other fields are needed or allowed; all others must be absent.
type OpponentSpec struct {
	// Policy is uniform, fixed, best-response, adversarial, switching,
	// random-start, scripted or replay.
	Policy string `json:"policy" jsonschema:"uniform, fixed, best-response, adversarial, switching, random-start, scripted or replay"`
	// Probabilities is the Markov policy of fixed.
	Probabilities []OpponentChoice `json:"probabilities,omitempty" jsonschema:"fixed: the probabilities of its actions"`
	// Direction is where best-response and adversarial push the return.
	Direction Direction `json:"direction,omitempty" jsonschema:"best-response, adversarial: target, the default if there is one, or learner; best-response also a vector"`
	// Opponents are those between whom switching changes, after every Period
	// episodes.
	Opponents []*OpponentSpec `json:"opponents,omitempty" jsonschema:"switching: who plays in turn"`
	Period    int             `json:"period,omitempty" jsonschema:"switching: the episodes that each of them plays"`
	// Then is who plays after the first Episodes episodes of random-start.
	Then     *OpponentSpec `json:"then,omitempty" jsonschema:"random-start: who plays after the random episodes"`
	Episodes int           `json:"episodes,omitempty" jsonschema:"random-start: the number of random episodes"`
	// Actions is the script of scripted, one action for each step, over and over.
	Actions []Label `json:"actions,omitempty" jsonschema:"scripted: the actions of one step after the other, from the start again after the last"`
	// Log is what replay plays: the numbers of the actions of each episode, -1
	// where there was no choice.
	Log OpponentLog `json:"log,omitempty" jsonschema:"replay: the numbers of the actions, a list for each episode, -1 where there is no choice"`
}

// An OpponentChoice is the probability of one action of the opponent in one state
// at the 1-based step Step. Without a step it is for every step that has no
// probabilities of its own. Actions that are left out have probability 0.
type OpponentChoice struct {
	State       Label   `json:"state" jsonschema:"number or name"`
	Opponent    Label   `json:"opponent" jsonschema:"the opponent's action, number or name"`
	Step        int     `json:"step,omitempty" jsonschema:"the one step, counted from 1; every step if absent"`
	Probability float64 `json:"probability"`
}

// A Label is the name or the number of a state or of an action.
type Label string

func (l *Label) decode(d *decoder, n *node, at *path) bool {
	if n.kind == scalarNode && !n.quoted && isInteger(n.text) {
		i, ok := d.integer(n, at, 0, maxStates)
		*l = Label(strconv.Itoa(i))
		return ok
	}
	text, ok := d.name(n, at)
	*l = Label(text)
	return ok
}

func (l *Label) encode(b []byte) []byte { return appendLabel(b, string(*l)) }

// A Direction is where an opponent pushes the return: Word is "target", away from
// the target, or "learner", the learner's direction; empty, it is the first if
// there is a target, else the second. Along, if not nil, is a direction for ever.
type Direction struct {
	Word  string
	Along *Coefficients
}

func (x *Direction) decode(d *decoder, n *node, at *path) bool {
	if n.kind == scalarNode {
		word, ok := d.name(n, at)
		x.Word = word
		return ok
	}
	x.Along = new(Coefficients)
	return x.Along.decode(d, n, at)
}

func (x *Direction) encode(b []byte) []byte {
	if x.Along != nil {
		return x.Along.encode(b)
	}
	return appendName(b, x.Word)
}

// An OpponentLog holds the numbers of the opponent's actions, one slice for each
// episode, -1 where it had no choice.
type OpponentLog [][]int

func (l *OpponentLog) decode(d *decoder, n *node, at *path) bool {
	if !d.list(n, at) {
		return false
	}
	ok := true
	*l = make(OpponentLog, len(n.items))
	for k, row := range n.items {
		if !d.list(row, at.at(k)) {
			ok = false
			continue
		}
		(*l)[k] = make([]int, len(row.items))
		for h, item := range row.items {
			b, good := d.integer(item, at.at(k).at(h), -1, maxStates)
			(*l)[k][h], ok = b, ok && good
		}
	}
	return ok
}

func (l *OpponentLog) encode(b []byte) []byte {
	rows := [][]int(*l)
	return appendValue(b, reflect.ValueOf(&rows).Elem())
}

// opponentMembers lists what each policy needs, and after an empty string what it
// allows.
var opponentMembers = map[string][]string{
	"uniform":       nil,
	"fixed":         {"probabilities"},
	"best-response": {"", "direction"},
	"adversarial":   {"", "direction"},
	"switching":     {"opponents", "period"},
	"random-start":  {"then", "episodes"},
	"scripted":      {"actions"},
	"replay":        {"log"},
}

// OpponentPolicies returns the policies that an [OpponentSpec] may have.
func OpponentPolicies() []string {
	return []string{"uniform", "fixed", "best-response", "adversarial", "switching", "random-start", "scripted",
		"replay"}
}

// complaint names a member that is wrong in form, and says what is wrong.
func (o *OpponentSpec) complaint() (member, message string) {
	members, known := opponentMembers[o.Policy]
	if !known {
		return "policy", "unknown policy " + shorten(o.Policy) + orWant(o.Policy, OpponentPolicies())
	}
	needed := members
	if i := slices.Index(members, ""); i >= 0 {
		needed = members[:i]
	}
	v := reflect.ValueOf(*o)
	for i, f := range fieldsOf(v.Type()) {
		switch absent := v.Field(i).IsZero(); {
		case f.name == "policy":
		case absent && slices.Contains(needed, f.name) && v.Field(i).Kind() == reflect.Int:
			return f.name, "the policy " + o.Policy + " needs " + f.name + ": want at least 1"
		case absent && slices.Contains(needed, f.name):
			return "", f.name + " is missing: the policy " + o.Policy + " needs it"
		case !absent && !slices.Contains(members, f.name):
			return f.name, "the policy " + o.Policy + " has no " + f.name
		}
	}
	switch d := o.Direction; {
	case d.Along != nil && o.Policy != "best-response":
		return "direction", "the policy " + o.Policy + " follows the target or the learner: want target or learner"
	case d.Along == nil && d.Word != "" && d.Word != "target" && d.Word != "learner":
		return "direction", "unknown direction " + shorten(d.Word) + orWant(d.Word, []string{"target", "learner"})
	}
	return "", ""
}

func (h *header) readOpponent(n *node, at *path) {
	o := new(OpponentSpec)
	if !h.value(n, at, reflect.ValueOf(o).Elem()) {
		return // what is wrong has been said
	}
	if h.judgeOpponent(o, n, at) {
		h.p.Opponent = o
	}
}

// judgeOpponent complains of the form of o and of the opponents within it.
func (h *header) judgeOpponent(o *OpponentSpec, n *node, at *path) bool {
	if member, message := o.complaint(); message != "" {
		if m := n.get(member); m != nil {
			n, at = m, at.key(member)
		}
		return h.bad(n, at, "%s", message)
	}
	ok := true
	for i, inner := range o.Opponents {
		ok = h.judgeOpponent(inner, n.get("opponents").items[i], at.key("opponents").at(i)) && ok
	}
	if o.Then != nil {
		ok = h.judgeOpponent(o.Then, n.get("then"), at.key("then")) && ok
	}
	return ok
}

// ParseOpponent reads an opponent by itself: the name of a policy that needs
// nothing more, or YAML as under the key opponent of a problem file. Name is what
// errors call the text.
func ParseOpponent(name, text string) (*OpponentSpec, error) {
	h := &header{decoder: decoder{file: name}, p: new(Problem)}
	root, bad := parseYAML(text, 1)
	switch {
	case bad != nil:
		h.syntax(bad)
	case root == nil:
		h.bad(nil, nil, "nothing is given%s", orWant("", OpponentPolicies()))
	case root.kind == scalarNode:
		o := &OpponentSpec{Policy: root.text}
		if _, message := o.complaint(); message != "" {
			if _, known := opponentMembers[o.Policy]; known {
				message = o.Policy + " alone does not say enough: " + message
			}
			h.report(&Error{File: name, Message: message})
		} else {
			h.p.Opponent = o
		}
	default:
		h.readOpponent(root, nil)
	}
	if len(h.errs) > 0 {
		return nil, h.errs
	}
	return h.p.Opponent, nil
}
