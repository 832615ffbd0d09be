package main

import (
	"fmt"
	"strings"
)

func (v *view) game() {
	v.lines = append(v.lines, v.text("verdict")+", "+many(v.num("iterations"), "value iteration"))
	minimax := v.text("verdict") == "minimax"
	if minimax {
		v.head("", "minimax")
		v.row("objective", six(v.num("objective")))
		for _, name := range v.returns {
			v.row(name, six(v.of("returns", name).num("")))
		}
	} else {
		v.head("", "certified")
		v.row("gap at least", six(v.num("gap_lower")))
		v.row("gap at most", six(v.num("gap_upper")))
	}
	for _, player := range []string{"agent", "opponent"} {
		v.player(player, v.list("policies."+player))
	}
	if minimax {
		v.say("The agent's policy keeps the objective at %s this whatever the opponent does, and the opponent's "+
			"keeps the "+
			"agent from better. The returns are those when both play them.",
			map[bool]string{true: "least", false: "most"}[v.maximizes()])
	} else {
		v.gapSentences()
	}
	v.say("?The policies are long; --policy and --opponent-policy write them to files.")
}

func (v *view) player(player string, rows []answer) {
	if len(rows) > 24 {
		return
	}
	v.head(player, "step", "action", "probability")
	for _, r := range rows {
		v.row(r.text("state"), six(r.num("step")), r.text("action"), six(r.num("probability")))
	}
}

func (v *view) gapSentences() {
	low, up := v.num("gap_lower"), v.num("gap_upper")
	switch {
	case v.has("certificate"):
		gap := six(low)
		if six(up) != gap {
			gap = "between " + gap + " and " + six(up)
		}
		v.say("The target cannot be approached: the gap, the distance from it at which an opponent can keep the mean "+
			"return, is %s.", gap)
		v.proof("Against the opponent's policy, whatever the agent does,")
	case up == 0:
		v.say("The target can be approached, whatever the opponent does: the gap is 0.")
	case low == 0:
		v.say("The target can be approached up to a distance of %s, whatever the opponent does.", six(up))
	default:
		v.say("Whether the target can be approached is not known: the gap lies between %s and %s.", six(low), six(up))
	}
}

func (v *view) checkOfGame() {
	v.lines = append(v.lines, fmt.Sprintf("a game, at most %s of the agent and %s of the opponent",
		many(v.num("most_actions"), "action"), six(v.num("most_opponent_actions"))))
	v.ranges("forced down to", "forced up to")
	v.player("opponent", v.list("opponent"))
	if strings.HasPrefix(v.text("wanted"), "meet ") || strings.Contains(v.text("wanted"), " subject to ") {
		v.gapSentences()
	} else {
		v.say("There are no limits to keep.")
	}
	v.missingRows()
}
