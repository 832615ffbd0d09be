package main

import (
	"bytes"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

func newInstances(s streams) *cobra.Command {
	var format *report.Format
	cmd := &cobra.Command{
		Use:   "instances [NAME]",
		Short: "List the built-in problems, or write one as a problem file",
		Long: `Without NAME, lists the built-in problems and their parameters. With NAME,
writes that problem as a problem file to standard output, in YAML or with
--format json in JSON. Parameters follow the name.`,
		Example: `  cmdpsolve instances
  cmdpsolve instances garnet:S=50,A=4,H=10,d=3,seed=1 > garnet.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return s.write(instancesReport(instance.List()), *format)
			}
			p, err := instance.NewWithin(cmd.Context(), args[0], mostBytes())
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if *format != report.Terminal && *format != report.JSON {
				return usage("--format %s: a problem file is YAML, or with --format json JSON", *format)
			}
			var file bytes.Buffer
			if err := problem.Write(&file, p); err != nil {
				return failed(err)
			}
			text := file.Bytes()
			if *format == report.JSON {
				text, err = yaml.YAMLToJSON(text)
				if err != nil {
					return failed(err)
				}
			}
			s.status.clear()
			_, err = s.out.Write(text)
			return err
		},
	}
	format = addFormat(cmd.Flags())
	return cmd
}

// instancesReport declares the list: one table for programs and documents, and for each
// problem a few lines for people at a terminal.
func instancesReport(list []instance.Info) *report.Report {
	table := report.NewTable("instance", "parameter", "default", "meaning")
	rep := &report.Report{Data: map[string]any{"instances": list}}
	for _, in := range list {
		table.Add(in.Name, "", "", in.Summary)
		text := report.Listing{Name: in.Name, Text: in.Summary}
		for _, p := range in.Parameters {
			table.Add(in.Name, p.Name, p.Default, p.Meaning)
			text.Items = append(text.Items, report.Pair{Name: p.Name + "=" + p.Default, Value: p.Meaning})
		}
		rep.Sections = append(rep.Sections, report.Only(text, report.Terminal))
	}
	rep.Sections = append(rep.Sections, report.Only(table, report.Markdown, report.LaTeX, report.CSV))
	return rep
}
