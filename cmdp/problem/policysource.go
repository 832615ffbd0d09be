package problem

import (
	"embed"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"cmdpsolve/cmdp"
)

// policyTables is a policy as the source code of a controller holds it. Steps at which the policy
// does the same share a table, and the choices of state s in table t are First[t·S+s] to
// First[t·S+s+1]−1, for S states.
type policyTables struct {
	Problem         string
	States, Actions []string
	Horizon         int       // 0 without
	Upto            []float64 // of each policy that is drawn, the sum of the weights up to it; one without a mixture
	Table           []int     // of each of these and step
	First, Action   []int
	Sum             []float64 // of each choice, the sum of the state's probabilities up to it
	Memory          *memoryTables
}

// memoryTables say how what a policy remembers goes on. States are then those of the problem with what is
// remembered, and the entries of state s in table t are First[t·S+s] to First[t·S+s+1]−1: after Action[i] led
// to state Next[i] of the problem, To[i] is the state.
type memoryTables struct {
	Parts            []MemoryPart
	Declared         []string // the states of the problem
	Of               []int    // of each state, the number of the one of the problem
	Start            []int    // of each state of the problem, where an episode begins that starts there, or −1
	Table            []int    // of each step
	First            []int
	Action, Next, To []int
	// Returns holds, with Names, what the problem's rows return in each entry, where that decides what is remembered.
	Names   []string
	Returns []float64
}

//go:embed policy.c.tmpl policy.go.tmpl
var policyTemplates embed.FS

// sourcePolicy writes a policy as source code in the language of the given ending.
func sourcePolicy(w io.Writer, of *Process, rows iter.Seq[PolicyRow], ending string) error {
	t, err := template.New("").Funcs(template.FuncMap{
		"quoteGo": strconv.Quote, "quoteC": quoteC,
		"numbers": numberLines[int], "floats": numberLines[float64], "comment": commented, "values": listValues,
	}).ParseFS(policyTemplates, "policy."+ending+".tmpl")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "policy."+ending+".tmpl", tablesOf(of, rows))
}

// quoteC quotes text for C, where ?? may begin a trigraph.
func quoteC(s string) string { return strings.ReplaceAll(strconv.Quote(s), "?", `\?`) }

// commented quotes text for a comment, which it does not end.
func commented(s string) string { return strings.ReplaceAll(strconv.Quote(s), "*/", `*\/`) }

// listValues lists the values of a part of the memory, the first and the last of many.
func listValues(values []string) string {
	const most = 20
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = commented(v)
	}
	if len(quoted) > most {
		quoted = append(append(quoted[:most/2:most/2], "…"), quoted[len(quoted)-most/2:]...)
	}
	return strings.Join(quoted, ", ")
}

// numberLines writes numbers in lines, at least one number.
func numberLines[T int | float64](all []T) string {
	if len(all) == 0 {
		all = make([]T, 1)
	}
	const width = 100
	b, begin := []byte(nil), 0
	for i, x := range all {
		text := strconv.FormatFloat(float64(x), 'g', -1, 64)
		if _, whole := any(x).(int); whole {
			text = strconv.Itoa(int(x))
		}
		switch {
		case i == 0:
			b = append(b, '\t')
		case len(b)-begin+len(text) > width:
			b = append(b, "\n\t"...)
			begin = len(b)
		default:
			b = append(b, ' ')
		}
		b = append(append(b, text...), ',')
	}
	return string(b)
}

// maxNumbered bounds the numbers that actions keep in tables.
const maxNumbered = 1 << 16

// tablesOf makes tables of the rows of a policy, which stand by component, step and state.
func tablesOf(of *Process, rows iter.Seq[PolicyRow]) *policyTables {
	states := of.Model.States()
	t := &policyTables{Problem: of.of.Name, Horizon: of.Model.Horizon(), States: make([]string, states)}
	number := make(map[string]int, states)
	for s := range states {
		t.States[s] = of.StateName(s)
		number[t.States[s]] = s
	}
	var all []PolicyRow
	highest := -1 // the greatest number that is an action's name, if all names are numbers
	for row := range rows {
		if n, ok := labelNumber(row.Action); ok && n < maxNumbered && (highest >= 0 || len(all) == 0) {
			highest = max(highest, n)
		} else {
			highest = -1
		}
		all = append(all, row)
	}
	var actions labels
	for n := range highest + 1 {
		actions.numbered(n)
	}
	known := make(map[string]int) // tables
	steps, weight := max(1, t.Horizon), 0.0
	for at := 0; at < len(all) || len(t.Upto) == 0; {
		component := 0
		if at < len(all) {
			component = all[at].Component
			weight += all[at].Weight
		}
		t.Upto = append(t.Upto, weight)
		for h := range steps {
			var of []PolicyRow
			for from := at; at < len(all) && all[at].Component == component && max(1, all[at].Step) == h+1; at++ {
				of = all[from : at+1]
			}
			t.Table = append(t.Table, t.table(known, of, number, actions.id))
		}
	}
	t.Upto[len(t.Upto)-1] = 1
	if of.Remembers() {
		t.Memory = memoryOf(of, actions.id)
	}
	t.First, t.Actions = append(t.First, len(t.Action)), actions.names
	return t
}

// memoryOf makes tables of how what is remembered goes on. The model has the transitions of the declared one,
// in their order.
func memoryOf(of *Process, action func(string) int) *memoryTables {
	base, declared := of.of.Model, of.of.Process()
	t := &memoryTables{Parts: of.memory.Parts(), Start: slices.Repeat([]int{-1}, base.States())}
	for s := range base.States() {
		t.Declared = append(t.Declared, declared.StateName(s))
	}
	for s := range of.Model.States() {
		t.Of = append(t.Of, of.Declared(s))
	}
	for _, st := range of.Model.StartStates() {
		t.Start[t.Of[st.State]] = st.State
	}
	decides := false                   // what the rows return
	tables := make(map[*cmdp.Rows]int) // steps may share rows
	for h := range max(1, of.Model.Horizon()) {
		rows := of.Model.Rows(h)
		n, known := tables[rows]
		t.Table = append(t.Table, n)
		if known {
			continue
		}
		t.Table[h], tables[rows] = len(tables), len(tables)
		for s := range of.Model.States() {
			t.First = append(t.First, len(t.To))
			first, end := rows.Choices(s)
			for a := range end - first {
				decides = t.addChoice(of, rows, h, s, a, action(of.ActionName(h, s, a))) || decides
			}
		}
	}
	t.First = append(t.First, len(t.To))
	if decides {
		t.Names = of.of.Given()
	} else {
		t.Returns = nil
	}
	return t
}

// addChoice adds the entries of a choice. It reports whether the same successor of the problem comes with
// different memories.
func (t *memoryTables) addChoice(x *Process, rows *cmdp.Rows, h, s, a, action int) (decides bool) {
	base, from := x.of.Model, len(t.To)
	of, e, choice := base.Rows(h), 0, -1
	var prob []float64 // of the base
	if rest := x.memory.Action(h, s, a); rest >= 0 {
		choice, _ = of.Choices(t.Of[s])
		choice += rest
		_, prob = of.Row(choice)
	}
	first, _ := rows.Choices(s)
	next, _ := rows.Row(first + a)
	for _, successor := range next {
		to := int(successor)
		for e < len(prob) && prob[e] == 0 { // the model leaves these out
			e++
		}
		returns := make([]float64, base.Dim())
		if choice >= 0 {
			copy(returns, of.Outcome(choice, e))
		}
		e++
		for j := from; j < len(t.To); j++ {
			decides = decides || t.Next[j] == t.Of[to] && t.To[j] != to
		}
		t.Action, t.Next, t.To = append(t.Action, action), append(t.Next, t.Of[to]), append(t.To, to)
		t.Returns = append(t.Returns, returns...)
	}
	return decides
}

// table returns the number of the table of what a policy does at one step.
func (t *policyTables) table(known map[string]int, rows []PolicyRow, number map[string]int,
	action func(string) int) int {
	var key []byte
	for _, row := range rows {
		key = strconv.AppendInt(key, int64(number[row.place()]), 10)
		key = strconv.AppendInt(append(key, ' '), int64(action(row.Action)), 10)
		key = append(appendNumber(append(key, ' '), row.Probability), '\n')
	}
	n, ok := known[string(key)]
	if ok {
		return n
	}
	n = len(known)
	known[string(key)] = n
	at := 0
	for s := range t.States {
		t.First = append(t.First, len(t.Action))
		sum, before := 0.0, at
		for ; at < len(rows) && number[rows[at].place()] == s; at++ {
			sum += rows[at].Probability
			t.Action, t.Sum = append(t.Action, action(rows[at].Action)), append(t.Sum, sum)
		}
		if at > before {
			t.Sum[len(t.Sum)-1] = 1
		}
	}
	return n
}
