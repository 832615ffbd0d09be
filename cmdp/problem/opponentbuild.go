package problem

import (
	"errors"
	"fmt"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
)

// Build returns the opponent in the game p, whose target is that of a
// [cmdp.Task] and may be nil. An error that concerns a member is a
// [MemberError], several are returned together. It allocates.
func (o *OpponentSpec) Build(p *Problem, target geometry.Compact) (cmdp.Opponent, error) {
	if p.Model == nil || p.Model.Shape() == nil {
		return nil, errors.New("problem: an opponent without a game: want a model with a horizon")
	}
	if member, message := o.complaint(); message != "" {
		return nil, Inside(errors.New(message), member)
	}
	sh := p.Model.Shape()
	switch o.Policy {
	case "uniform":
		return cmdp.NewUniformOpponent(sh), nil
	case "fixed":
		policy, err := o.fixed(p)
		if err != nil {
			return nil, err
		}
		return opponentOf(cmdp.NewFixedOpponent(sh, policy))
	case "best-response", "adversarial":
		if o.Direction.Along != nil {
			dir, err := o.Direction.Along.vector(p.Returns, p.Model.Dim())
			if err != nil {
				return nil, Inside(err, "direction")
			}
			return opponentOf(cmdp.NewBestResponseAlong(p.Model, dir))
		}
		if o.Direction.Word == "learner" {
			target = nil
		} else if o.Direction.Word == "target" && target == nil {
			return nil, Inside(errors.New("the problem has neither a target nor constraints: want learner"),
				"direction")
		}
		if o.Policy == "adversarial" {
			return opponentOf(cmdp.NewAdversarialOpponent(p.Model, target))
		}
		return opponentOf(cmdp.NewBestResponseOpponent(p.Model, target))
	case "switching":
		members, err := buildEach(o.Opponents,
			func(o *OpponentSpec) (cmdp.Opponent, error) { return o.Build(p, target) })
		if err != nil {
			return nil, Inside(err, "opponents")
		}
		return opponentOf(cmdp.NewSwitchingOpponent(o.Period, members...))
	case "random-start":
		then, err := o.Then.Build(p, target)
		if err != nil {
			return nil, Inside(err, "then")
		}
		return opponentOf(cmdp.NewRandomStartOpponent(sh, o.Episodes, then))
	case "scripted":
		numbers := make(map[Label]int)
		actions, err := buildEach(o.Actions, func(action Label) (b int, err error) {
			b, ok := numbers[action]
			if !ok {
				b, err = p.opponentEverywhere(string(action))
				numbers[action] = b
			}
			return b, err
		})
		if err != nil {
			return nil, Inside(err, "actions")
		}
		return opponentOf(cmdp.NewScriptedOpponent(sh, actions))
	}
	return opponentOf(cmdp.NewReplayOpponent(sh, o.Log))
}

// checkOpponent makes sure that the opponent can be built, whatever the target is if there is one.
func (p *Problem) checkOpponent() error {
	if p.Opponent == nil || p.Model == nil {
		return nil
	}
	var target geometry.Compact
	if len(p.Constraints) > 0 || p.Target != nil {
		some, err := geometry.NewBox(orFill(nil, len(p.Returns), 0), orFill(nil, len(p.Returns), 1))
		if err != nil {
			return err
		}
		target, err = some.Bounded()
		if err != nil {
			return err
		}
	}
	_, err := p.Opponent.Build(p, target)
	return Inside(err, "opponent")
}

// opponentOf keeps a nil pointer out of a cmdp.Opponent, and another package's name
// out of a message.
func opponentOf[O cmdp.Opponent](o O, err error) (cmdp.Opponent, error) {
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "cmdp: "))
	}
	return o, nil
}

// opponentEverywhere returns the number of an action of the opponent, whose name must stand for the
// same number wherever it is one.
func (p *Problem) opponentEverywhere(label string) (int, error) {
	sh := p.Model.Shape()
	found := -1
	var names labels
	for h := range p.steps() {
		for s := range sh.States() {
			for b := range p.offered(h, s) {
				name := p.OpponentName(h, s, b)
				names.id(name)
				if name != label {
					continue
				}
				if found >= 0 && found != b {
					return 0, fmt.Errorf("%s is action %d of the opponent in one state and %d in another: want a number", label, found, b)
				}
				found = b
			}
		}
	}
	if n, ok := labelNumber(label); ok && found < 0 {
		return n, nil // the constructor judges numbers
	}
	if found < 0 {
		return 0, fmt.Errorf("unknown action %s of the opponent%s", shorten(label), orWant(label, names.names))
	}
	return found, nil
}

// offered returns how many actions the opponent has where the process does not
// rest.
func (p *Problem) offered(h, s int) int {
	if first, end := p.Model.Rows(h).Choices(s); first == end {
		return 0
	}
	return p.played().columns(h, s)
}
