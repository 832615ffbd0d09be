package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"cmdpsolve/cmd/cmdpsolve/internal/report"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// versionReport is the data of a build: what to name when reporting a mistake.
type versionReport struct {
	Version  string `json:"version" csv:"version"`
	Revision string `json:"revision" csv:"revision"` // of the source, empty if the build does not know it
	Modified bool   `json:"modified" csv:"modified"` // the source differs from the revision
	Go       string `json:"go" csv:"go"`
	Platform string `json:"platform" csv:"platform"`
	GLPK     bool   `json:"glpk" csv:"glpk"`
}

//go:embed licenses.txt
var licenses string

func newVersion(s streams) *cobra.Command {
	var format *report.Format
	var terms bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which build of cmdpsolve this is",
		Long: `Says which build of cmdpsolve this is: its version, the revision of its source
where the build knows it, the Go release, the platform, and whether GLPK is
built in. With --licenses it prints the licenses of cmdpsolve and of all that is
linked into it, which go with every copy of the binary.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case terms && cmd.Flags().Changed("format"):
				return usage("--licenses prints text: want no --format")
			case terms:
				_, err := io.WriteString(s.out, licenses)
				return failed(err)
			}
			info, _ := debug.ReadBuildInfo()
			return s.write(thisBuild(info).report(), *format)
		},
	}
	cmd.Flags().BoolVar(&terms, "licenses", false, "print the licenses of all that is in the binary")
	format = addFormat(cmd.Flags())
	return cmd
}

// thisBuild describes the build. info is nil where the binary does not have it.
func thisBuild(info *debug.BuildInfo) *versionReport {
	v := &versionReport{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GLPK: glpkBuilt("") == nil}
	if info == nil {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

func (v *versionReport) report() *report.Report {
	line := fmt.Sprintf("cmdpsolve %s, %s, %s", v.Version, v.Go, v.Platform)
	if v.Revision != "" {
		line += ", revision " + v.Revision
	}
	if v.Modified {
		line += ", modified"
	}
	return &report.Report{Data: v, Sections: []report.Section{
		report.Heading{line, map[bool]string{true: "with GLPK", false: "without GLPK"}[v.GLPK]},
	}}
}

//go:embed python/cmdpsolve.py
var pythonClient string

func newPython(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "python",
		Short: "Print the Python client, one file without dependencies",
		Long: `Prints a Python module that calls this command: plan, front, check, simulate,
learn and compare are functions, policies are arrays, and a Gymnasium
environment or any object with reset and step can be learned in. It needs Python
3.9 and nothing else; see cmdpsolve help python.`,
		Example: `  cmdpsolve python > cmdpsolve.py`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.out, pythonClient)
			return failed(err)
		},
	}
}

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
