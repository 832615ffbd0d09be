package nasty

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// model writes the rows of a problem in another form, and returns the name of the file and whether the form holds them.
func (b *Bed) model(p *Problem, file, ending string) (model string, ok bool, f *Failure) {
	folder := filepath.Join(b.Folder, "model") // some formats have several files
	os.RemoveAll(folder)
	if err := os.Mkdir(folder, 0o700); err != nil {
		panic(err)
	}
	model = filepath.Join(folder, "model") + ending // with the slash that stands for a folder
	var text []byte
	switch ending {
	case ".prism":
		text = p.prism()
	case ".jani":
		text = p.jani()
	default:
		written := strings.Replace(model, ".pexp", ".tra", 1)
		if r := b.run("convert", file, written); r.Status != 0 || ending != ".pexp" {
			if r.Lost != "" {
				f = failure("convert", "a model, or an error").but("%s%s", r.Lost, r.Err)
			}
			return model, r.Status == 0, f // not every format holds every model
		}
		for _, kind := range []string{"*.tra", "*.sta", "*.lab", "*.?rew"} { // all of them in one file
			parts, _ := filepath.Glob(filepath.Join(folder, kind))
			for _, part := range parts {
				more, err := os.ReadFile(part)
				if err != nil {
					panic(err)
				}
				text = append(append(text, more...), '\n')
			}
		}
	}
	if text == nil {
		return model, false, nil
	}
	if err := os.WriteFile(model, text, 0o600); err != nil {
		panic(err)
	}
	return model, true, nil
}

// onlyStart is where every episode begins, "" if there are several such states. Languages have one.
func (p *Problem) onlyStart() string {
	only := ""
	for s, x := range p.Start {
		if sign(x) > 0 && only != "" {
			return ""
		}
		if sign(x) > 0 {
			only = s
		}
	}
	return only
}

// prism is the problem's rows as a program in PRISM's language, whose rewards are those of choices.
func (p *Problem) prism() []byte {
	start := p.onlyStart()
	if start == "" {
		return nil
	}
	var out, rewards strings.Builder
	fmt.Fprintf(&out, "mdp\nmodule m\ns : [0..%d] init %s;\n", p.States, start)
	for _, r := range p.Transitions {
		var updates []string
		for _, o := range r.outcomes() {
			updates = append(updates, fmt.Sprintf("%s:(s'=%d)", o.Probability, o.Next))
		}
		fmt.Fprintf(&out, "[a%s] s=%d -> %s;\n", r.Action, r.State, strings.Join(updates, " + "))
	}
	for _, name := range p.names() {
		fmt.Fprintf(&rewards, "rewards %q\n", name)
		for _, r := range p.Transitions {
			mean := new(big.Rat)
			for _, o := range r.outcomes() {
				addMul(mean, rat(o.Probability), rat(o.Returns[name]))
			}
			fmt.Fprintf(&rewards, "[a%s] s=%d : %s;\n", r.Action, r.State, exactly(float(mean)))
		}
		rewards.WriteString("endrewards\n")
	}
	return []byte(out.String() + "endmodule\n" + rewards.String())
}

// jani is the problem's rows as a JANI model, whose rewards are assigned by destinations.
func (p *Problem) jani() []byte {
	start := p.onlyStart()
	if start == "" {
		return nil
	}
	type object = map[string]any
	actions := map[string]bool{}
	var edges []object
	for _, r := range p.Transitions {
		var destinations []object
		for _, o := range r.outcomes() {
			assignments := []object{{"ref": "s", "value": o.Next}}
			for _, name := range slices.Sorted(maps.Keys(o.Returns)) {
				assignments = append(assignments, object{"ref": name, "value": o.Returns[name]})
			}
			destinations = append(destinations, object{"location": "l", "probability": object{"exp": o.Probability},
				"assignments": assignments})
		}
		actions["a"+r.Action] = true
		edges = append(edges, object{"location": "l", "action": "a" + r.Action, "destinations": destinations,
			"guard": object{"exp": object{"op": "=", "left": "s", "right": r.State}}})
	}
	variables := []object{{"name": "s", "initial-value": json.Number(start),
		"type": object{"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": p.States}}}
	for _, name := range p.names() {
		variables = append(variables, object{"name": name, "type": "real", "transient": true, "initial-value": 0})
	}
	var names []object
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		names = append(names, object{"name": name})
	}
	text, err := json.MarshalIndent(object{"jani-version": 1, "name": "m", "type": "mdp", "actions": names,
		"variables": variables, "properties": []object{},
		"automata": []object{{"name": "P", "locations": []object{{"name": "l"}}, "initial-locations": []string{"l"},
			"edges": edges}},
		"system": object{"elements": []object{{"automaton": "P"}}}}, "", " ")
	if err != nil {
		panic(err)
	}
	return text
}
