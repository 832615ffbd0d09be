package instance

import (
	"fmt"
	"slices"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/nearest"
)

// A Grid is one of the built-in grid worlds; [FromMap] says what their
// characters mean. The maps and their numbers are ours. The default one, field8,
// has 64 states and 30 steps, and is what speed is measured on.
type Grid struct {
	// Map is field8, field16 or rooms9.
	Map     string
	Horizon int
	// Slip is the probability that a move goes aside, Budget the bound on the
	// expected risk; +Inf for no bound.
	Slip, Budget float64
}

var gridMaps = []struct {
	name    string
	horizon int
	budget  float64
	lines   []string
}{
	// A lake of risk between start and goal: across, by the causeway, or around.
	{"field8", 30, 1, []string{
		"........",
		"........",
		"........",
		"..XXXX..",
		"..XXXX..",
		"..X..X..",
		"..XXXX..",
		"S.XXXX.G",
	}},
	{"field16", 60, 2, []string{
		"................",
		"................",
		"................",
		"................",
		"................",
		"................",
		"....XXXXXXXX....",
		"....XXXXXXXX....",
		"....XXXXXXXX....",
		"....XXXXXXXX....",
		"....XX....XX....",
		"....XX....XX....",
		"....XXXXXXXX....",
		"....XXXXXXXX....",
		"....XXXXXXXX....",
		"S...XXXXXXXX...G",
	}},
	// Four rooms: the short way leads through a dear door.
	{"rooms9", 50, 1, []string{
		"....#....",
		"....#....",
		".........",
		"....#....",
		"#.####.##",
		"....#....",
		"....3....",
		"....#....",
		"S...#...G",
	}},
}

// DefaultGrid returns the 8×8 field with 30 steps, slip 0.1 and a risk of at
// most 1.
func DefaultGrid() Grid {
	m := gridMaps[0]
	return Grid{Map: m.name, Horizon: m.horizon, Slip: 0.1, Budget: m.budget}
}

// newGrid returns the default world on the named map.
func newGrid(name string) (definition, error) {
	g := DefaultGrid()
	if name == "" {
		return &g, nil
	}
	i := slices.Index(mapNames(), name)
	if i < 0 {
		return nil, fmt.Errorf("parameter map=%s: want one of %s", name, nearest.List(name, mapNames()))
	}
	g.Map, g.Horizon, g.Budget = name, gridMaps[i].horizon, gridMaps[i].budget
	return &g, nil
}

func mapNames() []string {
	names := make([]string, len(gridMaps))
	for i, m := range gridMaps {
		names[i] = m.name
	}
	return names
}

func (g *Grid) parameters() []parameter {
	o := GridOptions{}
	params := append([]parameter{{
		name: "map", field: &g.Map, words: mapNames(), meaning: "built-in map, each with its own horizon and budget",
	}}, o.parameters()...)
	params[1].field, params[2].field, params[3].field = &g.Horizon, &g.Slip, &g.Budget
	return params
}

// Problem returns the grid world as a problem, see [FromMap].
func (g Grid) Problem() (*problem.Problem, error) {
	if err := checkAll("grid", g.parameters()); err != nil {
		return nil, err
	}
	defaults, err := newGrid(g.Map)
	if err != nil {
		return nil, fmt.Errorf("instance: grid: %w", err)
	}
	base := defaults.parameters()
	base[0].field = &gridMaps[0].name // the map is named unless it is the default one
	options := GridOptions{Name: specOf("grid", g.parameters(), base), Horizon: g.Horizon, Slip: g.Slip,
		Budget: g.Budget}
	return FromMap(gridMaps[slices.Index(mapNames(), g.Map)].lines, options) // checkAll has seen its name
}
