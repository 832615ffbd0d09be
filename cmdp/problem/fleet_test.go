package problem

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFleet(t *testing.T) {
	p, err := Read("testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Model != nil || len(p.Fleet) != 2 {
		t.Fatalf("%d types", len(p.Fleet))
	}
	van, truck := p.Fleet[0], p.Fleet[1]
	if van.Name != "van" || van.Count != 6 || van.File != "van.yaml" || van.Starts != nil ||
		!slices.Equal(van.Returns, []int{0, 1, 2}) {
		t.Errorf("%+v", van)
	}
	if truck.File != "" || !slices.Equal(truck.Starts, []int{1, 1}) || truck.Agent.Model.Horizon() != 6 ||
		len(truck.Agent.Model.StartStates()) != 2 {
		t.Errorf("%+v", truck)
	}
	for _, m := range p.Fleet { // the charger that is taken
		k, d := m.Agent.Model.Kernel(0), m.Agent.Model.Dim()
		for s := range m.Agent.Model.States() {
			for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
				want := 0.0
				if m.Agent.ActionName(0, s, c-int(k.First[s])) == "charge" {
					want = 1
				}
				if k.ReturnsOf(c, d)[d-1] != want {
					t.Errorf("%s: state %d: %v", m.Name, s, k.ReturnsOf(c, d))
				}
			}
		}
	}
	c := p.Constraints[2]
	first, end, err := c.Range(6)
	if err != nil || first != 1 || end != 3 || *c.At(false, 1) != 1.5 || c.At(true, 0) != nil {
		t.Errorf("steps %d to %d, %v", first, end, err)
	}
	if got := string(c.encode(nil)); got != `{return: chargers, at_most: [2, 1.5], steps: "2-3"}` {
		t.Error(got)
	}
	if err := validate(t, resolvedSchema(t), "testdata/fleet/chargers.yaml"); err != nil {
		t.Error(err)
	}
}

// TestFleetErrors: all that is wrong with a fleet is said at once, with file and key.
func TestFleetErrors(t *testing.T) {
	_, err := Read("testdata/fleet/wrong.yaml")
	if err == nil {
		t.Fatal("no error")
	}
	golden(t, "testdata/fleet/wrong.txt", err.Error()+"\n")
	good, err := os.ReadFile("testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, with := range map[string]string{
		"count: 6":                       "count: 0",
		"count: 2":                       "count: 2.5",
		"returns: [delivered, kwh, char": "returns: {delivered: {}, kwh: {}, char",
		"steps: 2-3":                     "steps: 2-9",
		"steps: 2-3, ":                   "",
		"[2, 1.5]":                       "[2, 1.5, 1]",
		"horizon: 6":                     "horizon: 7",
		"      horizon: 6":               "",
		"model: van.yaml":                "model: none.yaml",
		"{idle: 1, low: 1}":              "{idle: 1, low: 2}",
		"action: charge}}\n":             "action: fly}}\n",
		"energy":                         "none",
		"name: van":                      "name: truck",
		"kwh, chargers]":                 "kwh, chargers, crews]",
		"state: idle, action: drive":     "state: nowhere, action: drive",
		"goal: {maximize: delivered}":    "goal: {maximize: nothing}",
		"goal: {maximize: delivered}\n":  "goal: {maximize: delivered}\nstates: 3\n",
	} {
		text := strings.Replace(string(good), old, with, 1)
		if text == string(good) {
			t.Fatalf("%q does not come up", old)
		}
		if _, err := Parse("x.yaml", []byte(text), os.DirFS("testdata/fleet")); err == nil ||
			!strings.Contains(err.Error(), "x.yaml:") {
			t.Errorf("%q for %q: %v", with, old, err)
		}
	}
	text := strings.NewReplacer("horizon: 6", "horizon: 7", "action: charge}}\n", "action: fly}}\n", "count: 2",
		"count: 0").Replace(string(good))
	_, err = Parse("x.yaml", []byte(text), os.DirFS("testdata/fleet"))
	for _, want := range []string{"horizon 7", "an action fly", "count: got 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not all faults of a type are named: want %s in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "begin somewhere") {
		t.Errorf("the sum of starts is judged by a count that is wrong: %v", err)
	}
	if _, err := Parse("x.yaml", []byte(strings.Replace(string(good), "fleet:", "fleet: []\nname_:", 1)),
		nil); err == nil {
		t.Error("an empty fleet")
	}
}
