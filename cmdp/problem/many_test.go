package problem

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestManyWrongNames reads files with 100,000 wrong names or columns, and as many right ones. If each were compared
// with each, this would take hours.
func TestManyWrongNames(t *testing.T) {
	const n = 100_000
	var names, columns, rows strings.Builder
	for i := range n {
		fmt.Fprintf(&names, "name%06d, ", i)
		fmt.Fprintf(&columns, ",column%d", i)
		fmt.Fprintf(&rows, "nome%06d,a,name000000,1,0\n", i)
	}
	head := "state,action,next,probability,reward"
	for what, rows := range map[string]string{
		"columns": head + columns.String() + "\n",
		"twice":   head + strings.Repeat(",reward", n) + "\n",
		"names":   head + "\n" + rows.String(),
	} {
		text := "format: cmdp/1\nhorizon: 2\nreturns: [reward]\nstart: 0\nstates: [" + names.String() + "last]\ntransitions: {file: rows.csv}\n"
		_, err := Parse("many.yaml", []byte(text), fstest.MapFS{"rows.csv": {Data: []byte(rows)}})
		if err == nil || !strings.Contains(err.Error(), "rows.csv:") {
			t.Errorf("%s: %.200v", what, err)
		}
	}
}

func TestCheckNesting(t *testing.T) {
	for _, part := range []string{"[", "{a: ", "- "} {
		if err := CheckNesting("x:\n " + strings.Repeat(part, 50_000)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%q: %v", part, err)
		}
		if err := CheckNesting("x:\n " + strings.Repeat(part, 50)); err != nil {
			t.Errorf("%q: %v", part, err)
		}
	}
}
