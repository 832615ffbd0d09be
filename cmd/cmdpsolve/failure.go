package main

import (
	"encoding/json"
	"errors"
	"io"

	"cmdpsolve/cmdp/problem"

	"github.com/spf13/cobra"
)

// A failure is what --format json prints where there is no answer.
type failure struct {
	Status  int     `json:"status"`
	Message string  `json:"message"`
	Faults  []fault `json:"faults"`
}

// A fault is one thing that is wrong with a file.
type fault struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"`
	Message string `json:"message"`
}

// writeFailure writes the error of a command as an object. An error that has nothing to say, such as
// that a problem is infeasible, has its report.
func writeFailure(w io.Writer, err error) error {
	status, said := statusOf(err)
	if !said {
		return nil
	}
	f := failure{Status: status, Message: err.Error(), Faults: []fault{}}
	var many problem.Errors
	var one *problem.Error
	if !errors.As(err, &many) && errors.As(err, &one) {
		many = problem.Errors{one}
	}
	for _, e := range many {
		f.Faults = append(f.Faults, fault{e.File, e.Line, e.Column, e.Key, e.Message})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]failure{"failed": f})
}

// asksJSON reports whether a command was given --format json.
func asksJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("format")
	return f != nil && f.Value.String() == "json"
}

// A counter counts what is written.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += n
	return n, err
}
