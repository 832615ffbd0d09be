package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"cmdpsolve/cmd/cmdpsolve/internal/report"

	"github.com/spf13/cobra"
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

func newVersion(s streams) *cobra.Command {
	var format *report.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which build of cmdpsolve this is",
		Long: `Says which build of cmdpsolve this is: its version, the revision of its source
where the build knows it, the Go release, the platform, and whether GLPK is
built in.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			return s.write(thisBuild(info).report(), *format)
		},
	}
	format = addFormat(cmd.Flags())
	return cmd
}

// thisBuild describes the build. info is nil where the binary does not have it.
func thisBuild(info *debug.BuildInfo) *versionReport {
	v := &versionReport{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GLPK: glpkBuilt("") == nil}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
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
