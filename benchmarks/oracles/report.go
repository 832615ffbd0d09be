package main

import (
	"fmt"
	"math"
	"strings"

	"cmdpsolve/benchmarks/harness"
)

const preamble = "# Oracles side by side\n\n```sh\ngo run -tags glpk ./benchmarks/oracles\n```\n\n" +
	`Medians of %d rounds. In each round every benchmark of every table ran once, for
%s, one after the other; a ratio is the median of the ratios within rounds. Times are
of one operation. The machine was shared with other work, so that ratios
carry and absolute times do not.

Machine: %s.

`

func (r results) markdown(rounds int, benchtime string) string {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, rounds, benchtime, harness.Machine())
	r.programs(&b)
	r.supports(&b)
	r.sets(&b)
	r.costs(&b)
	r.games(&b)
	return b.String()
}

// table writes the head of a table.
func table(b *strings.Builder, columns ...string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
}

func row(b *strings.Builder, cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

func (r results) programs(b *strings.Builder) {
	b.WriteString(`## Linear programs

Random polytopes. "Cold" builds and solves a program; "warm" solves it again
with a random new objective; "near" with an objective changed by about 2%, which is what
dual updates ask. The embedded simplex then starts from its last basis, GLPK afresh.

`)
	kinds := []string{"Cold", "Warm", "Near"}
	table(b, "rows × columns", "embedded cold, µs", "warm", "near", "GLPK cold, µs", "warm", "near", "GLPK / embedded cold", "warm", "near")
	for _, size := range []string{"rows=6/columns=2", "rows=12/columns=4", "rows=30/columns=12", "rows=60/columns=30"} {
		cells := []string{strings.NewReplacer("rows=", "", "/columns=", " × ").Replace(size)}
		key := func(kind, backend string) string { return "oracle/lp Benchmark" + kind + "/" + backend + "/" + size }
		for _, backend := range []string{"embedded", "glpk"} {
			for _, kind := range kinds {
				cells = append(cells, digits(r.time(key(kind, backend))/1e3))
			}
		}
		for _, kind := range kinds {
			cells = append(cells, digits(r.ratio(key(kind, "glpk"), key(kind, "embedded"))))
		}
		row(b, cells...)
	}
}

func (r results) supports(b *strings.Builder) {
	b.WriteString(`
## The same question in closed form and as a linear program

The point of a set that is farthest in a direction, new at every call: in closed form,
and by programs that have the set as rows (2n for a box, n + 1 for a simplex, 2^n for an
ℓ1 ball) and are kept between calls (warm) or built anew (cold). GLPK keeps no basis.

`)
	table(b, "set", "closed form, ns", "embedded warm, ns", "embedded cold, ns", "GLPK warm, ns", "GLPK cold, ns", "embedded warm / closed", "GLPK warm / closed")
	prefix := "benchmarks/oracles BenchmarkSupport/"
	for _, name := range r.names(prefix, "/closed") {
		cells := []string{strings.ReplaceAll(name, "/", ", ")}
		key := func(way string) string { return prefix + name + "/" + way }
		for _, way := range []string{"closed", "embedded-warm", "embedded-cold", "glpk-warm", "glpk-cold"} {
			cells = append(cells, digits(r.time(key(way))))
		}
		row(b, append(cells, digits(r.ratio(key("embedded-warm"), key("closed"))), digits(r.ratio(key("glpk-warm"), key("closed"))))...)
	}
}

func (r results) sets(b *strings.Builder) {
	b.WriteString(`
## Sets

The examples of the registry of package geometry, at random points and directions:
projection, linear maximisation, and projection on a face, where a set answers it.
Sets made of others, and those given by rows or points, iterate.

`)
	table(b, "set", "project, ns", "maximise, ns", "face, ns", "most allocations")
	for _, name := range r.names("geometry BenchmarkSets/", "/project") {
		prefix := "geometry BenchmarkSets/" + name
		keys := []string{prefix + "/project", prefix + "/maximize", prefix + "/face"}
		row(b, name, digits(r.time(keys[0])), digits(r.time(keys[1])), digits(r.time(keys[2])), r.allocations(keys...))
	}
}

func (r results) costs(b *strings.Builder) {
	b.WriteString("\n## Costs\n\nThe registry of package cost in four dimensions, over a box. The subgradient of\nthe conjugate is what a learner asks in every episode; costs without a closed form\nfor it iterate.\n\n")
	table(b, "cost", "subgradient of the conjugate, ns", "its allocations", "value, ns", "subgradient, ns")
	for _, name := range r.names("cost BenchmarkConjugateSubgradient/", "") {
		key := "cost BenchmarkConjugateSubgradient/" + name
		row(b, name, digits(r.time(key)), r.allocations(key), digits(r.time("cost BenchmarkValue/"+name)), digits(r.time("cost BenchmarkSubgradient/"+name)))
	}
}

// allocations returns the most allocations of any of the benchmarks, nothing if
// they were not counted.
func (r results) allocations(keys ...string) string {
	most := -1.0
	for _, key := range keys {
		if x := r[key]; x != nil && median(x.allocations) > most {
			most = median(x.allocations)
		}
	}
	if most < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", most)
}

func (r results) games(b *strings.Builder) {
	b.WriteString(`
## Matrix games

A stream of n × n games with drifting random payoffs: package oracle/game (saddle points and
2 × 2 in closed form, else a dense simplex method of its own), and linear programs that
are built anew for each game (cold) or solve one and the same game again (warm), which is
less work than a new game. The embedded simplex then starts from its last basis, GLPK afresh.

`)
	table(b, "n", "oracle/game, ns", "GLPK warm, ns", "GLPK cold, ns", "embedded warm, ns", "embedded cold, ns", "GLPK warm / oracle/game", "embedded warm / oracle/game")
	for _, n := range []string{"2", "3", "4", "5", "10", "20"} {
		key := func(way string) string { return "oracle/game BenchmarkNash/" + way + "/" + n + "x" + n }
		cells := []string{n}
		for _, way := range []string{"game", "glpk-warm", "glpk-cold", "embedded-warm", "embedded-cold"} {
			cells = append(cells, digits(r.time(key(way))))
		}
		row(b, append(cells, digits(r.ratio(key("glpk-warm"), key("game"))), digits(r.ratio(key("embedded-warm"), key("game"))))...)
	}
}

// digits writes a number with three significant digits, and nothing for NaN.
func digits(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
