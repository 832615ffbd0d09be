package problem

import "fmt"

// opponentLabel records that the file describes a game, and returns the label of
// an action of the opponent: number 0 is what a row without one stands for.
func (r *rowReader) opponentLabel(label int32) int32 {
	r.game = true
	if int(label) < len(r.table.labels.names) && r.table.labels.names[label] == "0" {
		return onlyAction
	}
	return label
}

// rectangles returns the number of the opponent's actions in each state, one slice for
// each kernel, 1 where there is none. It complains of states that do not offer
// every pair of the players' actions, once for each.
func (r *rowReader) rectangles(first []int, choices []choiceRows, steps int) [][]int32 {
	opponents := make([][]int32, steps)
	for h := range opponents {
		if h > 0 && !r.game {
			opponents[h] = opponents[0] // all ones
			continue
		}
		opponents[h] = make([]int32, len(first)-1)
		for s := range opponents[h] {
			opponents[h][s] = 1
		}
	}
	if !r.game {
		return opponents
	}
	for s := range len(first) - 1 {
		whole := true
		for h := 0; h < steps && whole; h++ {
			opponents[h][s], whole = r.rectangle(choices[first[s]:first[s+1]], s, h, steps)
		}
	}
	return opponents
}

// rectangle returns how many actions the opponent has in state s at step h, and
// whether there is a row for each of them against each of the agent's.
func (r *rowReader) rectangle(own []choiceRows, s, h, steps int) (columns int32, whole bool) {
	var agent, opponent []int32
	var at *tableRow
	given := make(map[[2]int32]bool)
	seen := [2]map[int32]bool{make(map[int32]bool), make(map[int32]bool)}
	for i := range own {
		row := r.table.at(&own[i], h)
		if row == nil {
			continue
		}
		if at == nil {
			at = row
		}
		given[[2]int32{row.label, row.opponent}] = true
		if !seen[0][row.label] {
			seen[0][row.label] = true
			agent = append(agent, row.label)
		}
		if !seen[1][row.opponent] {
			seen[1][row.opponent] = true
			opponent = append(opponent, row.opponent)
		}
	}
	if len(given) == len(agent)*len(opponent) {
		return int32(max(1, len(opponent))), true
	}
	for _, a := range agent {
		for _, b := range opponent {
			if given[[2]int32{a, b}] {
				continue
			}
			e := &Error{File: at.where.file, Line: at.where.line, Column: at.where.col}
			if e.File == r.file {
				e.Key = "transitions"
			}
			step := ""
			if steps > 1 {
				step = fmt.Sprintf(" at step %d", h+1)
			}
			e.Message = fmt.Sprintf("state %s: action %s against the opponent's action %s has no row%s: want one for every pair of their actions",
				r.p.StateName(s), r.table.labels.name(a), r.table.labels.name(b), step)
			r.report(e)
			return 1, false
		}
	}
	return 1, false
}
