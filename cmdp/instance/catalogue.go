package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/nearest"
)

// An Info describes a built-in problem.
type Info struct {
	// Name is what New knows it by, Summary a line about it.
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Parameters lists what a spec may set, in the order in which a canonical
	// spec does.
	Parameters []Parameter `json:"parameters"`
}

// A Parameter is a number or word that a spec may set, key=value.
type Parameter struct {
	// Name is the key, Default the value that holds without it, Meaning a short
	// description with the values allowed.
	Name    string `json:"name"`
	Default string `json:"default"`
	Meaning string `json:"meaning"`
}

// A definition is a built-in problem with all its parameters set.
type definition interface {
	parameters() []parameter
	Problem() (*problem.Problem, error)
}

// An entry of the catalogue. Defaults may hang on one parameter, the variant:
// make takes its value, or "" for the default one.
type entry struct {
	name, summary string
	variant       string
	make          func(variant string) (definition, error)
}

func fixed[D any, P interface {
	*D
	definition
}](value func() D) func(string) (definition, error) {
	return func(string) (definition, error) {
		d := value()
		return P(&d), nil
	}
}

var catalogue = []entry{
	{"frozenlake4", "Gymnasium's slippery 4×4 lake: reach the goal, keep the chance of a hole small", "",
		fixed(func() FrozenLake { return DefaultFrozenLake(4) })},
	{"frozenlake8", "Gymnasium's slippery 8×8 lake: reach the goal, keep the chance of a hole small", "",
		fixed(func() FrozenLake { return DefaultFrozenLake(8) })},
	{"cliff", "cliff walking with a charge on the inner cells: short ways cost", "", fixed(DefaultCliff)},
	{"inventory", "stock control: few lost sales within a budget for ordering and holding", "",
		fixed(DefaultInventory)},
	{"media", "media streaming: seldom an empty buffer, limited use of the fast service", "", fixed(DefaultMedia)},
	{"riverswim", "a chain with a current: swim up for the large reward, limited strokes", "", fixed(DefaultRiverSwim)},
	{"grid", "a grid world from a character map: fast to the goal, little time in risky cells", "map", newGrid},
	{"garnet", "seeded random models of any size with bounds that bind", "", fixed(DefaultGarnet)},
	{"matrix", "games of one step with vector payoffs, after Blackwell: approachable or not by their limit", "game",
		newMatrixGame},
	{"soccer", "Littman's soccer, a game on a grid: concede no more than scored, have the ball half the time", "",
		fixed(DefaultSoccer)},
	{"garnetgame", "seeded random games of any size with bounds on all returns", "", fixed(DefaultGarnetGame)},
	{"machines", "a fleet: machines that wear, and few crews that repair them at each step", "",
		fixed(DefaultMachines)},
	{"bandit", "a fleet: random Markov arms, of which few act at each step (a restless bandit)", "",
		fixed(DefaultBandit)},
}

// Names returns the names of the built-in problems.
func Names() []string {
	names := make([]string, len(catalogue))
	for i, e := range catalogue {
		names[i] = e.name
	}
	return names
}

// List describes the built-in problems, in the order of [Names].
func List() []Info {
	list := make([]Info, len(catalogue))
	for i, e := range catalogue {
		d, err := e.make("")
		if err != nil {
			panic("instance: " + err.Error()) // the catalogue's own defaults are valid
		}
		list[i] = Info{Name: e.name, Summary: e.summary, Parameters: []Parameter{}}
		for _, p := range d.parameters() {
			list[i].Parameters = append(list[i].Parameters,
				Parameter{p.name, p.text(), p.meaning + " (" + p.wants() + ")"})
		}
	}
	return list
}

// New returns the built-in problem of a spec, "name" or
// "name:key=value,key=value". Parameters left out have their defaults. The name
// of the problem is the spec in canonical form: the parameters that differ from
// the defaults, in the order of [List]. The default problems take milliseconds. A spec may ask for
// as many states as memory holds, at some hundred thousand transitions a second and more; that
// cannot be interrupted.
func New(spec string) (*problem.Problem, error) { return NewWithin(context.Background(), spec, 0) }

// NewWithin is [New] for a model of at most so many bytes, 0 for no bound. A larger one is not built: the error is a
// [cmdp.MemoryError]. Of a large one ctx is told how far it is, see package progress.
func NewWithin(ctx context.Context, spec string, bytes int) (*problem.Problem, error) {
	name, list, given := strings.Cut(spec, ":")
	d, err := define(strings.TrimSpace(name), list, given)
	if err != nil {
		return nil, fmt.Errorf("instance: %w", err)
	}
	if large, ok := d.(interface{ size() cmdp.Size }); ok {
		if err := large.size().Fits(bytes); err != nil {
			return nil, fmt.Errorf("instance: %s: %w", spec, err)
		}
	}
	if long, ok := d.(interface {
		draw(context.Context) (*problem.Problem, error)
	}); ok {
		return long.draw(ctx)
	}
	return d.Problem()
}

func define(name, list string, given bool) (definition, error) {
	at := slices.Index(Names(), name)
	if at < 0 {
		return nil, fmt.Errorf("unknown instance %q: want one of %s", name, nearest.List(name, Names()))
	}
	e := catalogue[at]
	var settings []setting
	if given {
		var err error
		settings, err = parseSettings(list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	variant := ""
	for _, s := range settings {
		if s.key == e.variant {
			variant = s.value
		}
	}
	d, err := e.make(variant)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range settings {
		if err := set(d.parameters(), s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return d, nil
}
