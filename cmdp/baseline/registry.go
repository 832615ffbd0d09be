package baseline

import (
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/nearest"
)

// An Algorithm is an entry of the registry: what the algorithm is called, how it is
// made, and the columns of a table of capabilities.
type Algorithm struct {
	Name string
	// New makes the learner. Its error wraps ErrUnsupported if the algorithm cannot
	// handle the problem or was not told what it needs.
	New func(Config) (cmdp.Learner, error)
	// Source names the paper.
	Source string
	// Planner says what is solved in each episode.
	Planner string
	// Guarantee is what the paper promises.
	Guarantee string
	// NonlinearCost and NonlinearConstraints say whether it takes convex costs and
	// targets that are not linear.
	NonlinearCost, NonlinearConstraints bool
	// Games says that it plays against an opponent. The others refuse a game.
	Games bool
	// Endless says that it plays problems without episodes, see [Endless], and NoEpisodes that it plays no others.
	Endless, NoEpisodes bool
	// EndlessGuarantee is in the place of Guarantee without episodes, if it differs.
	EndlessGuarantee string
	// Efficient says that an episode costs a number of operations that is a small
	// polynomial, without a large program; the column "computationally efficient".
	Efficient bool
	// Needs lists what it has to be told: "Slater constant", "safe policy", "null
	// policy", "S=H=1", "known returns".
	Needs []string
	// ModelFree says that it counts no transitions: it does not know which pairs of a state and a known memory
	// are alike, see [cmdp.KnownFactor], and learns about each.
	ModelFree bool
	// Adversarial says that, where returns change from episode to episode, it is told those of each episode
	// after it, see [cmdp.ReturnsObserver]. The others then learn mean returns.
	Adversarial bool
	// Slow says that a comparison in which no learners are named leaves it out.
	Slow bool
	// UsesSupport says that it has a use for Knowledge.Support.
	UsesSupport bool
	// Homogeneous says that the paper has a kernel that is the same at every step;
	// with counts that are not pooled it runs on pairs of step and state.
	Homogeneous bool
	// Published says what the bonus scale "published" is; empty if no constants of
	// experiments are known. New then refuses that scale.
	Published string
	// Certainty says how sure the constants are.
	Certainty string
}

// order is the order of tables.
var order = []string{"moma", "moma-projection", "moma-free", "moma-double", "optcmdp", "optcmdp-bonus", "optdual",
	"optprimaldual", "conrl-lp", "conrl-lagr", "conrl-convex", "conrl-knapsack", "opdop", "ucpd", "bwcr", "bwcr-ucb",
	"bwcr-fw", "blackwell", "abh",
	"shimkin", "appropo", "optpess-lp", "dope", "triple-q", "rpg-pd", "uopt-rpgpd", "mo-ucbvi", "posterior",
	"posterior-plain", "posterior-safe", "moma-posterior", "optpess-pd", "psconrl", "c-ucrl2", "fha"}

var registry = map[string]Algorithm{}

// register adds an entry; each algorithm's file does so for itself.
func register(a Algorithm) bool {
	if _, twice := registry[a.Name]; twice || !slices.Contains(order, a.Name) {
		panic("baseline: algorithm " + a.Name + " registered twice, or without a place in tables")
	}
	registry[a.Name] = a
	return true
}

// Algorithms returns all entries in the order of tables. It allocates a new slice.
func Algorithms() []Algorithm {
	var all []Algorithm
	for _, name := range order {
		all = append(all, registry[name])
	}
	return all
}

// Names returns the names of all algorithms in the order of tables.
func Names() []string { return slices.Clone(order) }

// Lookup returns the entry of a name. The error for an unknown name lists the known
// ones, the most similar first.
func Lookup(name string) (Algorithm, error) {
	if a, ok := registry[name]; ok {
		return a, nil
	}
	return Algorithm{}, fmt.Errorf("unknown algorithm %q: known are %s", name,
		nearest.List(name, Names()))
}

// New returns a learner by the name of its algorithm.
func New(name string, c Config) (cmdp.Learner, error) {
	a, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return a.Make(c)
}

// Make returns a learner of an algorithm, registered or not, after a look at whether it can play what c says. An error
// wraps ErrUnsupported if it cannot.
func (a Algorithm) Make(c Config) (cmdp.Learner, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := c.fits(&a); err != nil {
		return nil, err
	}
	if c.Shape.Game() && !a.Games {
		return nil, unsupported(a.Name, "it has no opponent, and the problem is a game")
	}
	if c.Bonus.Mode == cmdp.Published && a.Published == "" {
		return nil, unsupported(a.Name,
			"no published constants are known for it: want the bonus scale theory, practice or a number")
	}
	return a.New(c)
}
