package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Writes a manual page of each command, cmdpsolve.1 and cmdpsolve-plan.1 among
them, into the folder DIR, which is made if it is missing. Pages of an older
build are replaced.`,
		Example: `  cmdpsolve man ~/.local/share/man/man1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("%s takes one DIR, the folder of the pages, but got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return failed(err)
			}
			header := &doc.GenManHeader{Section: "1", Source: "cmdpsolve", Manual: "cmdpsolve"}
			cmd.Root().DisableAutoGenTag = true
			return failed(doc.GenManTree(cmd.Root(), header, args[0]))
		},
	}
}
