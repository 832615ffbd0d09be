package instance

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
)

// variants are specs beside the defaults that the laws are tried on, all with
// limits that can be kept and that bind.
var variants = []string{
	"cliff:rows=3,cols=4,H=20,budget=1",
	"cliff:rows=6,cols=9,H=40,budget=3",
	"inventory:capacity=8,H=4,budget=1.5,fixed=0",
	"media:S=4,H=20,budget=6,slow=0.3",
	"riverswim:S=10,H=40,budget=15",
	"grid:map=field16",
	"grid:map=rooms9",
	"grid:H=16,slip=0,budget=2",
	"garnet:S=10,A=3,H=5,d=2,b=1,seed=7",
	"garnet:S=30,A=5,H=6,b=30,budget=0.1,stationary=false,seed=3",
}

func TestInstancesAreWellFormed(t *testing.T) {
	for _, spec := range append(processes(t), variants...) {
		p := mustNew(t, spec)
		m := p.Model
		if p.Name != spec {
			t.Errorf("the problem of %s is named %s", spec, p.Name)
		}
		if len(p.Returns) != m.Dim() {
			t.Errorf("%s: %d names for %d returns", spec, len(p.Returns), m.Dim())
		}
		if p.States != nil && len(p.States) != m.States() {
			t.Errorf("%s: %d names for %d states", spec, len(p.States), m.States())
		}
		if p.Actions != nil {
			if len(p.Actions) != 1 || len(p.Actions[0]) != m.Choices() {
				t.Errorf("%s: names of actions do not match %d choices", spec, m.Choices())
			}
		}
		seen := make(map[string]bool)
		for _, name := range p.States {
			if seen[name] {
				t.Errorf("%s: state %s twice", spec, name)
			}
			seen[name] = true
		}
		if _, _, limits := asked(t, p); len(limits) != m.Dim()-1 {
			t.Errorf("%s: %d constraints on %d returns", spec, len(limits), m.Dim())
		}
	}
}

// TestPlayedReturns compares the exact value of the uniform policy with plays of
// the model, which catches outcomes that do not agree with their averages.
func TestPlayedReturns(t *testing.T) {
	const episodes = 2000
	for _, spec := range processes(t) {
		m := mustNew(t, spec).Model
		want := make([]float64, m.Dim())
		cmdp.NewEvaluator(m).Returns(want, cmdp.Uniform{Shape: m.Shape()})
		sum, square := make([]float64, m.Dim()), make([]float64, m.Dim())
		lower, upper := m.Shape().Totals()
		tr := cmdp.NewTrajectory(m.Shape())
		env, agent := rand.New(cmdp.Stream(1, "environment")), rand.New(cmdp.Stream(1, "agent"))
		for range episodes {
			tr.Play(m, cmdp.Uniform{Shape: m.Shape()}, env, agent)
			for i, x := range tr.Total {
				if x < lower[i]-1e-9 || x > upper[i]+1e-9 {
					t.Fatalf("%s: return %d is %g, outside [%g, %g]", spec, i, x, lower[i], upper[i])
				}
				sum[i] += x
				square[i] += x * x
			}
		}
		for i := range want {
			mean := sum[i] / episodes
			spread := math.Sqrt(max(0, square[i]/episodes-mean*mean) / episodes)
			// Goals that are seldom reached may not have been seen at all: the second term.
			if math.Abs(mean-want[i]) > 5*spread+7.0/episodes {
				t.Errorf("%s: return %d averages %g when played, %g by evaluation (standard error %g)", spec, i, mean,
					want[i], spread)
			}
		}
	}
}

// TestLimitsBind shows for every instance that some policy keeps all limits with
// room to spare, and that keeping them costs: a Lagrangian bound of the
// constrained problem is worse than the unconstrained optimum.
func TestLimitsBind(t *testing.T) {
	for _, spec := range append(processes(t), variants...) {
		p := mustNew(t, spec)
		goal, sign, limits := asked(t, p)
		free, cautious := extreme(p.Model, goalDirection(t, p)), cautiousVector(t, p)
		// A small step from the cautious policy towards the free one: garnet's bounds
		// may hold with equality at the cautious policy itself.
		for _, l := range limits {
			if v := cautious[l.coordinate] + 0.01*(free[l.coordinate]-cautious[l.coordinate]); v >= l.bound {
				t.Errorf("%s: %s is %g under a cautious policy: want below %g", spec, p.Returns[l.coordinate], v,
					l.bound)
			}
		}
		best := math.Inf(-1)
		prices := make([]float64, len(limits))
		for price := 1e-3; price < 100; price *= 1.5 {
			for j := range prices {
				prices[j] = price
			}
			best = max(best, lagrangian(t, p, prices))
		}
		optimum := sign * free[goal]
		if best < optimum+1e-4*max(1, math.Abs(optimum)) {
			t.Errorf("%s: the limits do not bind: Lagrangian bound %g, optimum without limits %g", spec, best, optimum)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"":                                   `unknown instance ""`,
		"frozenlak8":                         "want one of frozenlake8, frozenlake4",
		"Garnet":                             `unknown instance "Garnet": want one of garnet, `,
		"garnet:":                            `parameter "": want key=value`,
		"garnet:S":                           `parameter "S": want key=value`,
		"garnet:=3":                          `parameter "=3": want key=value`,
		"garnet:S=":                          "no value",
		"garnet:S=5,":                        "want key=value",
		"garnet:S=5,S=6":                     "parameter S given twice",
		"garnet:see=5":                       `unknown parameter "see": want one of seed, `,
		"garnet:s=5":                         `unknown parameter "s": want one of S, `,
		"garnet:S=5.5":                       "parameter S=5.5: want a whole number from 1 to",
		"garnet:S=0":                         "parameter S=0: want",
		"garnet:A=1":                         "parameter A=1: want",
		"garnet:b=51":                        "parameter b=51: want at most S=50",
		"garnet:H=0":                         "parameter H=0: want a whole number from 1 to 1000000",
		"garnet:H=1000001":                   "parameter H=1000001",
		"garnet:d=-1":                        "parameter d=-1",
		"garnet:seed=-1":                     "parameter seed=-1",
		"garnet:budget=0":                    "want a number above 0 and below 1",
		"garnet:budget=NaN":                  "parameter budget=NaN",
		"garnet:stationary=1":                "want true or false",
		"garnet:S=1000000,A=100,b=100":       "to store",
		"garnet:S=99999999999999999999":      "parameter S=99999999999999999999",
		"frozenlake4:slippery=yes":           "want true or false",
		"frozenlake4:budget=inf":             "want a number from 0 to 1e+09, or none",
		"frozenlake8:size=4":                 `unknown parameter "size"`,
		"cliff:rows=1":                       "parameter rows=1",
		"cliff:cols=2":                       "parameter cols=2",
		"cliff:budget=-1":                    "parameter budget=-1",
		"inventory:capacity=0":               "parameter capacity=0",
		"inventory:fixed=0,unit=0,holding=0": "all costs are 0",
		"inventory:holding=NaN":              "parameter holding=NaN",
		"media:play=1.5":                     "want a number from 0 to 1",
		"riverswim:S=2":                      "parameter S=2",
		"grid:map=field9":                    "parameter map=field9: want one of field8, ",
		"grid:H=5":                           "want at least 7, the moves from r7c0 to a goal",
		"grid:slip=-0.1":                     "parameter slip=-0.1",
	} {
		_, err := New(spec)
		if err == nil {
			t.Errorf("%q is accepted", spec)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "instance: ") {
			t.Errorf("%q: error %q, want %q in it", spec, err, want)
		}
	}
}

func TestCanonicalNames(t *testing.T) {
	for spec, want := range map[string]string{
		"cliff: H=30 , budget=none":   "cliff:budget=none",
		"garnet:seed=1,d=3,S=50":      "garnet",
		"garnet:seed=2,d=4,S=7":       "garnet:S=7,d=4,seed=2",
		"grid:map=field8,budget=1":    "grid",
		"grid:map=rooms9,H=50":        "grid:map=rooms9",
		"grid:budget=2,map=rooms9":    "grid:map=rooms9,budget=2",
		"frozenlake8:H=200":           "frozenlake8",
		"frozenlake8:slippery=false":  "frozenlake8:slippery=false",
		"inventory:fixed=1e-3,unit=2": "inventory:fixed=0.001",
	} {
		p := mustNew(t, spec)
		if p.Name != want {
			t.Errorf("%q is named %q, want %q", spec, p.Name, want)
		}
		if again := mustNew(t, p.Name); again.Name != want {
			t.Errorf("%q does not return itself", want)
		}
	}
	if p := mustNew(t, "cliff:budget=none"); p.Constraints != nil {
		t.Errorf("a budget of none leaves the constraints %v", p.Constraints)
	}
}

func TestListMatchesNew(t *testing.T) {
	list := List()
	if len(list) != len(Names()) {
		t.Fatalf("%d infos for %d names", len(list), len(Names()))
	}
	for i, info := range list {
		if info.Name != Names()[i] || info.Summary == "" {
			t.Errorf("info %d is %+v", i, info)
		}
		for _, p := range info.Parameters {
			// A default typed out changes nothing.
			if got := mustNew(t, info.Name+":"+p.Name+"="+p.Default).Name; got != info.Name {
				t.Errorf("%s with its default %s=%s is named %s", info.Name, p.Name, p.Default, got)
			}
			if p.Meaning == "" {
				t.Errorf("%s: parameter %s has no description", info.Name, p.Name)
			}
		}
	}
}
