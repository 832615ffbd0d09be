package problem

import (
	"embed"
	"io"
	"iter"
	"strconv"
	"strings"
	"text/template"
)

// policyTables is a policy as the source code of a controller holds it. Steps at which the policy
// does the same share a table, and the choices of state s in table t are First[t·S+s] to
// First[t·S+s+1]−1, for S states.
type policyTables struct {
	Problem         string
	States, Actions []string
	Horizon         int       // 0 without
	Upto            []float64 // of each component, the sum of the weights up to it; one without components
	Table           []int     // of each component and step
	First, Action   []int
	Sum             []float64 // of each choice, the sum of the state's probabilities up to it
}

//go:embed policy.c.tmpl policy.go.tmpl
var policyTemplates embed.FS

// sourcePolicy writes a policy as source code in the language of the given ending.
func sourcePolicy(w io.Writer, of *Process, rows iter.Seq[PolicyRow], ending string) error {
	t, err := template.New("").Funcs(template.FuncMap{
		"quoteGo": strconv.Quote, "quoteC": quoteC,
		"numbers": numberLines[int], "floats": numberLines[float64],
	}).ParseFS(policyTemplates, "policy."+ending+".tmpl")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "policy."+ending+".tmpl", tablesOf(of, rows))
}

// quoteC quotes text for C, where ?? may begin a trigraph.
func quoteC(s string) string { return strings.ReplaceAll(strconv.Quote(s), "?", `\?`) }

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
	t.First, t.Actions = append(t.First, len(t.Action)), actions.names
	return t
}

// table returns the number of the table of what a policy does at one step.
func (t *policyTables) table(known map[string]int, rows []PolicyRow, number map[string]int, action func(string) int) int {
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
