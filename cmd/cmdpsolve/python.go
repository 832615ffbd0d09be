package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

//go:embed python/cmdpsolve.py
var pythonClient string

func newPython(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "python",
		Short: "Print the Python client, one file without dependencies",
		Long: `Prints a Python module that calls this command: plan, front, check, simulate,
learn and compare are functions, policies are arrays, and a Gymnasium environment
or any object with reset and step can be learned in. It needs Python 3.9 and
nothing else; see docs/python.md.`,
		Example: `  cmdpsolve python > cmdpsolve.py`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.out, pythonClient)
			return failed(err)
		},
	}
}
