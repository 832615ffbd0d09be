package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"

	"github.com/spf13/pflag"
)

// showOptions ask for the policy as a table.
type showOptions struct{ show bool }

func (o *showOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.show, "show", false,
		"show what the policy does where (as a table, and as a map where states have places)")
}

// check refuses problems whose policy no table is made for.
func (o *showOptions) check(p *loaded) error {
	const most = 1 << 22
	choices := 0
	for _, q := range p.Members() {
		sh := q.Shape()
		if sh == nil {
			choices += q.Model.Choices()
		} else {
			choices += sh.Slots()
		}
	}
	switch {
	case !o.show:
	case p.isGame():
		return usage("--show: %s is a game: want a problem with one player (--policy FILE and --opponent-policy "+
			"FILE write the policies of both)", p.name)
	case choices > most:
		return usage("--show: %s has more than %d choices of all steps: save the policy with --policy FILE instead",
			p.name, most)
	}
	return nil
}

// A policyLine is what a policy does in a state over some steps, the only one without a
// horizon.
type policyLine struct {
	component, state int // component 0 if none is drawn
	steps            stepRun
	visits           float64
}

// A stepRun has 1-based steps that are alike.
type stepRun struct {
	first, last int
	does        string // actions with their probabilities, the most likely first
}

// mergeSteps merges consecutive steps with the same actions. A step with an empty text
// does not count; the steps before and after it are merged.
func mergeSteps(does []string) []stepRun {
	var runs []stepRun
	for h, what := range does {
		n := len(runs)
		switch {
		case what == "":
		case n > 0 && runs[n-1].does == what:
			runs[n-1].last = h + 1
		default:
			runs = append(runs, stepRun{h + 1, h + 1, what})
		}
	}
	return runs
}

func (r stepRun) String() string {
	if r.first == r.last {
		return strconv.Itoa(r.first)
	}
	return fmt.Sprintf("%d–%d", r.first, r.last)
}

// stoppedWithPolicy reports whether an answer is the best policy that was found in a time, or that is certain with
// rounded totals: its gap is wider than was asked for.
func stoppedWithPolicy(r *exact.Result) bool { return r.Status == exact.Stopped && r.HasPolicy() }

// shownPolicy returns the sections that show the policy of an answer.
func (o *showOptions) shownPolicy(ctx context.Context, p *loaded, r *exact.Result) ([]report.Section, error) {
	switch {
	case !o.show:
		return nil, nil
	case r.Status == exact.Undecided || r.Policy == nil && r.Mixture == nil:
		return []report.Section{report.Note{"No policy is shown: none is known to be what is wanted."}}, nil
	}
	shown := &policyShown{loaded: p, components: r.Mixture, draws: r.Policy == nil}
	if r.Policy != nil {
		shown.components = []exact.WeightedPolicy{{Weight: 1, Policy: r.Policy}}
	}
	for i := range shown.components {
		if err := shown.add(ctx, i); err != nil {
			return nil, err
		}
	}
	sections := append(shown.grid(), shown.table()...)
	if r.Status == exact.Infeasible {
		sections = append(sections, report.Note{"The policy shown comes nearest to what is allowed."})
	}
	return sections, nil
}

// A policyShown is what the policies of an answer do, of which one may be drawn at the start.
type policyShown struct {
	*loaded
	components []exact.WeightedPolicy
	draws      bool
	lines      []policyLine
}

// add lists what component i does in the states that it reaches.
func (v *policyShown) add(ctx context.Context, i int) error {
	c, number := v.components[i], 0
	if v.draws {
		number = i + 1
	}
	visits, err := v.Visits(ctx, c.Policy)
	if err != nil {
		return err
	}
	for s := range v.Model.States() {
		does := make([]string, len(visits))
		for h := range visits {
			if visits[h][s] > 0 {
				does[h] = v.does(c.Policy, h, s)
			}
		}
		for _, run := range mergeSteps(does) {
			l := policyLine{component: number, state: s, steps: run}
			for h := run.first - 1; h < run.last; h++ {
				l.visits += visits[h][s]
			}
			l.visits *= c.Weight
			v.lines = append(v.lines, l)
		}
	}
	return nil
}

// does writes what a policy does in a state: "go", or "0.7 go, 0.3 stay".
func (v *policyShown) does(policy *exact.Policy, h, s int) string {
	first, end := v.Model.Rows(h).Choices(s)
	probs := make([]float64, end-first)
	if len(probs) == 0 {
		return ""
	}
	policy.Distribution(probs, h, s)
	var taken []int
	for a, x := range probs {
		if x > 0 {
			taken = append(taken, a)
		}
	}
	if len(taken) == 1 {
		return v.ActionName(h, s, taken[0])
	}
	slices.SortStableFunc(taken, func(a, b int) int { return cmp.Compare(probs[b], probs[a]) })
	var parts []string
	for _, a := range taken {
		parts = append(parts, report.Brief(probs[a])+" "+v.ActionName(h, s, a))
	}
	return strings.Join(parts, ", ")
}

// mostLines bounds the rows of the table of a policy.
const mostLines = 40

// table lists the lines. If there are too many, it lists those that are visited most.
func (v *policyShown) table() []report.Section {
	lines := v.lines
	shown, left := lines, len(lines)-mostLines
	if left > 0 {
		order := make([]int, len(lines))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(lines[j].visits, lines[i].visits) })
		order = order[:mostLines]
		slices.Sort(order)
		shown = nil
		for _, i := range order {
			shown = append(shown, lines[i])
		}
	}
	const stateWidth, doesWidth = 24, 34
	t := &report.Table{}
	several, steps := len(lines) > 0 && v.draws, v.Model.Horizon() > 0
	if several {
		t.Columns = append(t.Columns, report.Column{Title: "component", Align: report.Left})
	}
	t.Columns = append(t.Columns, report.Column{Title: "state", Align: report.Left})
	if v.Remembers() {
		t.Columns[len(t.Columns)-1].Title = "state (memory)"
	}
	if steps {
		t.Head("steps")
	}
	t.Columns = append(t.Columns, report.Column{Title: "policy", Align: report.Left})
	for _, l := range shown {
		var head []any
		if several {
			head = append(head, fmt.Sprintf("%d (%s)", l.component, report.Brief(v.components[l.component-1].Weight)))
		}
		names, does := report.Wrap(v.recalled(l.state), stateWidth), report.Wrap(l.steps.does, doesWidth)
		for i := range max(len(names), len(does)) {
			row := make([]any, 0, len(t.Columns))
			row = append(append(row, head...), clip(line(names, i), stateWidth))
			if steps {
				row = append(row, map[bool]string{true: l.steps.String()}[i == 0])
			}
			t.Add(append(row, clip(line(does, i), doesWidth))...)
			for j := range head {
				head[j] = ""
			}
		}
	}
	sections := []report.Section{t}
	if left > 0 {
		sections = append(sections,
			report.Note{fmt.Sprintf("The table leaves out %s that are visited less; --policy FILE writes all.",
				count(left, "row"))})
	}
	return sections
}

// line is one of the lines of a cell, empty below the last.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// clip cuts a text after so many characters.
func clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// ways are the marks of actions that go somewhere in a grid.
var ways = map[string]string{
	"left": "←", "west": "←", "w": "←", "l": "←", "←": "←", "right": "→", "east": "→", "e": "→", "r": "→", "→": "→",
	"up": "↑", "north": "↑", "n": "↑", "u": "↑", "↑": "↑", "down": "↓", "south": "↓", "s": "↓", "d": "↓", "↓": "↓",
	"nw": "↖", "northwest": "↖", "ne": "↗", "northeast": "↗", "sw": "↙", "southwest": "↙", "se": "↘", "southeast": "↘",
	"stay": "o", "wait": "o", "stop": "o", "noop": "o", "stick": "o", "stand": "o", "rest": "o",
}

// grid draws one policy on the grid of the states, nil where there is none, it is too
// wide for the terminal, or an action has no mark.
func (v *policyShown) grid() []report.Section {
	const widest, highest = 17, 60
	g := gridOf(v.Query)
	if g == nil || g.Columns > widest || g.Rows > highest || len(v.lines) == 0 || v.draws {
		return nil
	}
	t := &report.Table{Columns: []report.Column{{Title: "", Align: report.Left}}}
	for j := range g.Columns {
		t.Columns = append(t.Columns, report.Column{Title: strconv.Itoa(j), Align: report.Left})
	}
	for i := range g.Rows {
		row := make([]any, g.Columns+1)
		for j := range row {
			row[j] = ""
		}
		row[0] = strconv.Itoa(i)
		t.Rows = append(t.Rows, row)
	}
	most := make(map[[2]int]float64) // visits of the cells' marks
	for _, l := range v.lines {
		row, column := g.Row[l.state], g.Column[l.state]
		if row < 0 {
			continue
		}
		action, draws := l.steps.does, false
		if first, _, several := strings.Cut(action, ", "); several {
			_, action, _ = strings.Cut(first, " ")
			draws = true
		}
		mark, known := ways[strings.ToLower(action)]
		if !known {
			return nil
		}
		cell := [2]int{row, column}
		old, again := most[cell]
		if again && l.visits <= old {
			mark = strings.TrimSuffix(fmt.Sprint(t.Rows[row][column+1]), "+")
		}
		most[cell] = max(old, l.visits)
		if again || draws {
			mark += "+"
		}
		t.Rows[row][column+1] = mark
	}
	return []report.Section{t,
		report.Note{"Rows and columns are those of the states' coordinates or names. o stays; + does other things " +
			"too, at other steps, with another memory or by chance. Cells without a mark are never visited, or " +
			"offer no choice."}}
}

// recalled writes a state, and what is remembered there with what it is of.
func (p *loaded) recalled(s int) string {
	name := p.Problem.StateName(p.Declared(s))
	recall := p.Product.Recall(s)
	if recall == "" {
		return name
	}
	return name + " (" + recall + ")"
}
