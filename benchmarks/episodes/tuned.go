package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"

	"gonum.org/v1/gonum/stat/distuv"
)

// ours are the learners that are compared with their defaults.
var ours = []string{"posterior", "posterior-plain", "moma-posterior"}

// writeTuned writes the page on learners whose constants are chosen, for each problem, by the result.
func writeTuned(out string, suite *contest.Suite, defaults []*problem, folders []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# Episodes needed, with tuned constants

From how many episodes on regret and violation of the mean return stay below 1%% of their ranges, as in [episodes needed](episodes.md), with 95%% intervals of the median by order statistics where there
are at least six runs, else the least and the greatest. "none" stands for a run that did not get there. Ours have their defaults; of the others every learner has, for each problem, those constants of %s and the suite's with which it
needs the fewest episodes there, on the very seeds of the table. That is in their favour.

| problem |`, strings.Join(scales(folders), ", "))
	for _, name := range ours {
		fmt.Fprintf(&b, " %s |", name)
	}
	b.WriteString(" best other | second | third |\n|:--|" + strings.Repeat("--:|", len(ours)) + ":--|:--|:--|\n")
	cells := make(map[string]string) // the row of every other learner
	for i, e := range suite.Problems {
		p := defaults[i]
		fmt.Fprintf(&b, "| %s |", p.name)
		for _, name := range ours {
			fmt.Fprintf(&b, " %s |", withInterval(p.needed[name]))
		}
		var others []candidate
		for _, name := range baseline.Names() {
			others = append(others, bestScale(p, name, "suite"))
		}
		for j, folder := range folders {
			q, err := read(e, folder)
			if err != nil {
				return fmt.Errorf("episodes: %s: %w", folder, err)
			}
			for k, name := range baseline.Names() {
				if c := bestScale(q, name, scales(folders)[j]); c.median < others[k].median || others[k].list == nil {
					others[k] = c
				}
			}
		}
		for _, c := range others {
			cells[c.name] += " " + c.cell() + " |"
		}
		for range 3 {
			fmt.Fprintf(&b, " %s |", takeBest(others))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nEvery other learner; a dash stands where more than half of the runs did not get there, and nothing where it was " +
		"not played.\n\n| learner |")
	for _, p := range defaults {
		b.WriteString(" " + p.name + " |")
	}
	b.WriteString("\n|:--|" + strings.Repeat("--:|", len(defaults)) + "\n")
	for _, name := range baseline.Names() {
		if strings.Trim(cells[name], " |") != "" {
			fmt.Fprintf(&b, "| %s |%s\n", name, cells[name])
		}
	}
	return harness.WritePage(out, "tuned.md", b.String()+"\n")
}

// A candidate is a learner with constants.
type candidate struct {
	name, scale string
	median      float64
	list        [][]float64
}

// cell writes the median with an interval and the constants.
func (c candidate) cell() string {
	switch {
	case c.list == nil:
		return ""
	case math.IsInf(c.median, 1):
		return "–"
	}
	return withInterval(c.list) + " at " + c.scale
}

func bestScale(p *problem, name, scale string) candidate {
	c := candidate{name: name, scale: scale, median: math.Inf(1), list: p.needed[name]}
	for _, own := range ours {
		if name == own {
			c.list = nil
		}
	}
	if c.list != nil {
		c.median = p.median(name, 0)
	}
	return c
}

// takeBest writes the candidate with the fewest episodes and takes it away.
func takeBest(list []candidate) string {
	best := -1
	for i, c := range list {
		if c.list != nil && !math.IsInf(c.median, 1) && (best < 0 || c.median < list[best].median) {
			best = i
		}
	}
	if best < 0 {
		return "–"
	}
	c := list[best]
	list[best].list = nil
	return fmt.Sprintf("%s (%s) %s", c.name, c.scale, withInterval(c.list))
}

// scales names folders by what stands before .results and after the last hyphen.
func scales(folders []string) (names []string) {
	for _, folder := range folders {
		name := strings.TrimSuffix(filepath.Base(folder), ".results")
		names = append(names, name[strings.LastIndexByte(name, '-')+1:])
	}
	return names
}

// withInterval writes the median of the first share with an interval, and the number of runs.
func withInterval(needed [][]float64) string {
	if needed == nil {
		return ""
	}
	list := needed[0]
	n := len(list)
	low := order95(n)
	write := func(x float64) string {
		if math.IsInf(x, 1) {
			return "none"
		}
		return strconv.Itoa(int(x))
	}
	return fmt.Sprintf("%s [%s, %s] of %d", write(list[(n-1)/2]), write(list[low]), write(list[n-1-low]), n)
}

// order95 returns the greatest l, from 0, for which the median lies between the order statistics l and n−1−l of
// n numbers with probability 0.95, or 0 if there is none.
func order95(n int) int {
	binomial := distuv.Binomial{N: float64(n), P: 0.5}
	l := 0
	for 2*l+3 < n && binomial.CDF(float64(l+1)) <= 0.025 {
		l++
	}
	return l
}
