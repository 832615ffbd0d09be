package main

import (
	"regexp"
	"strconv"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// gridReport is a plan of the states: the row and column of each, −1 for those that are not on it.
type gridReport struct {
	Rows    int   `json:"rows"`
	Columns int   `json:"columns"`
	Row     []int `json:"row"`
	Column  []int `json:"column"`
}

// gridOf returns the plan of the states by their coordinates or, where there are none, by their names; nil
// if neither tells. What is remembered makes no difference to where a state is.
func gridOf(p *query.Query) *gridReport {
	places := p.Problem.Coordinates
	if places == nil {
		places = placesNamed(p.Problem.States)
	}
	if places == nil || p.Model.States() > mostShown {
		return nil
	}
	g := &gridReport{}
	for s := range p.Model.States() {
		place, is := places[p.Declared(s)]
		if !is {
			place = problem.Place{Row: -1, Column: -1}
		}
		g.Row, g.Column = append(g.Row, place.Row), append(g.Column, place.Column)
		g.Rows, g.Columns = max(g.Rows, place.Row+1), max(g.Columns, place.Column+1)
	}
	return g
}

// cellNames are the ways in which states are called after their place.
var cellNames = []*regexp.Regexp{
	regexp.MustCompile(`^r(?<row>\d{1,4})c(?<column>\d{1,4})$`),
	regexp.MustCompile(`^y(?<row>\d{1,4})x(?<column>\d{1,4})$`),
	regexp.MustCompile(`^\(?(?<row>\d{1,4})[,;_ -] ?(?<column>\d{1,4})\)?$`),
	regexp.MustCompile(`^x(?<column>\d{1,4})[ _,]?y(?<row>\d{1,4})$`),
}

// placesNamed returns the places after which states are called; nil unless nine of ten are, and fill a part of
// a plan that is worth showing.
func placesNamed(names []string) map[int]problem.Place {
	places, taken := map[int]problem.Place{}, map[problem.Place]bool{}
	rows, columns := 0, 0
	for s, name := range names {
		if place, is := cellOf(name); is && !taken[place] {
			places[s], taken[place] = place, true
			rows, columns = max(rows, place.Row+1), max(columns, place.Column+1)
		}
	}
	if off := len(names) - len(places); off*10 > len(names) || rows < 2 || columns < 2 || rows*columns > 4*len(names) {
		return nil
	}
	return places
}

func cellOf(name string) (place problem.Place, is bool) {
	for _, form := range cellNames {
		if m := form.FindStringSubmatch(name); m != nil {
			place.Row, _ = strconv.Atoi(m[form.SubexpIndex("row")])
			place.Column, _ = strconv.Atoi(m[form.SubexpIndex("column")])
			return place, true
		}
	}
	return place, false
}
