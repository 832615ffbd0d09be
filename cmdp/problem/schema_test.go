package problem

//go:generate go test -run TestSchemaIsCurrent -update .

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const schemaFile = "../../docs/problem.schema.json"

func TestSchemaIsCurrent(t *testing.T) {
	s, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, schemaFile, string(s))
}

func resolvedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plainValue is what encoding/json would make of a node.
func plainValue(n *node) any {
	switch n.kind {
	case listNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = plainValue(item)
		}
		return list
	case mapNode:
		m := make(map[string]any)
		for _, member := range n.members {
			m[member.key.text] = plainValue(member.value)
		}
		return m
	}
	if x, err := strconv.ParseFloat(n.text, 64); err == nil && !n.quoted {
		return x
	}
	if n.isNull() {
		return nil
	}
	if n.isBool() && !n.quoted {
		return strings.EqualFold(n.text, "true")
	}
	return n.text
}

func validate(t *testing.T, r *jsonschema.Resolved, name string) error {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	root, bad := parseYAML(string(data), 1)
	if bad != nil {
		t.Fatalf("%s: %v", name, bad)
	}
	return r.Validate(plainValue(root))
}

func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	r := resolvedSchema(t)
	names, _ := filepath.Glob("testdata/good/*")
	if len(names) < 4 {
		t.Fatal("the examples are missing")
	}
	for _, name := range names {
		if err := validate(t, r, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRejectsWrongForms reads the examples that are wrong in form, not in
// meaning.
func TestSchemaRejectsWrongForms(t *testing.T) {
	r := resolvedSchema(t)
	for _, name := range []string{"header", "missing", "list", "rows", "game", "opponent-form", "opponent-names",
		"sets", "promise-form", "file-kind", "json"} {
		if err := validate(t, r, "testdata/"+name+".yaml"); err == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// Schema returns the JSON Schema of problem files, made from the types that they
// are decoded into, for editors to complete and check by. It covers the form of a
// file; that names exist, probabilities sum to 1 and sets have points is for
// [Parse] to say.
func Schema() ([]byte, error) {
	s := schemas{types: byHand(), defs: make(map[string]*jsonschema.Schema)}
	s.stateSet()
	s.structure("cost_bound", reflect.TypeFor[CostBound]())
	s.structure("return", reflect.TypeFor[Return]())
	s.types[reflect.TypeFor[returnsForm]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "array", Items: s.types[reflect.TypeFor[string]()], MinItems: new(1)},
		{Type: "object", AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/return"}},
	}}
	s.union("set", reflect.TypeFor[Set]())
	s.union("cost", reflect.TypeFor[Cost]())
	s.union("goal", reflect.TypeFor[Goal]())
	s.structure("row", reflect.TypeFor[rowForm]())
	s.structure("outcome", reflect.TypeFor[outcomeForm]())
	s.opponent()
	s.types[reflect.TypeFor[transitionsForm]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/row"}, Description: "rows"},
		object(map[string]*jsonschema.Schema{"rest": {Type: "string",
			Description: "a condition on the variables of a model in a language: states where it holds are at rest"},
			"agent":     {Type: "string", Description: "the player of a game in a language who plans; without it the first one"},
			"entering":  {Type: "object", Description: "conditions on the variables of a model in a language: each is a reward of 1 for a step into a state where it holds", AdditionalProperties: &jsonschema.Schema{Type: "string"}},
			"constants": {Type: "object", Description: "values of constants that a model in a language leaves open", AdditionalProperties: &jsonschema.Schema{Types: []string{"number", "boolean", "string"}}},
			"file":      {Type: "string", Pattern: `\.([cC][sS][vV]|[jJ][sS][oO][nN][lL]|[nN][dD][jJ][sS][oO][nN]|[nN][pP][zZ]|[uU][mM][bB]|[dD][rR][nN](\.[gG][zZ]|\.[xX][zZ])?|[tT][rR][aA]|[jJ][sS][oO][nN]|[pP][rR][iI][sS][mM]|[jJ][aA][nN][iI](\.[gG][zZ]|\.[xX][zZ])?|[nN][mM]|[pP][mM]|[sS][mM])$|/$`}}, "file"),
	}}
	s.fleet()
	root := s.structure("", reflect.TypeFor[document]())
	if s.err != nil {
		return nil, fmt.Errorf("problem: schema: %w", s.err)
	}
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Problem file, format " + Format
	root.Properties["format"].Enum = []any{Format}
	root.Properties["horizon"].Minimum = new(1.0)
	root.Properties["discount"].ExclusiveMinimum, root.Properties["discount"].Maximum = new(0.0), new(1.0)
	for _, key := range timeKeys {
		root.OneOf = append(root.OneOf, &jsonschema.Schema{Required: []string{"transitions", key}})
	}
	root.OneOf = append(root.OneOf, &jsonschema.Schema{Required: []string{"fleet", "returns"}})
	root.Properties["criterion"].Enum = []any{"average"}
	root.Defs = s.defs
	s.defs["return"].Properties["criterion"].Enum = []any{total, average}
	row := s.defs["row"]
	row.Properties["step"].Minimum = new(1.0)
	row.OneOf = []*jsonschema.Schema{{Required: []string{"next"}}, {Required: []string{"outcomes"}}}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("problem: schema: %w", err)
	}
	return b.Bytes(), nil
}

// schemas makes schemas of types; those of types in defs are referred to.
type schemas struct {
	types map[reflect.Type]*jsonschema.Schema
	defs  map[string]*jsonschema.Schema
	err   error
}

// structure makes the schema of a struct and, under a name, refers to it from
// then on.
func (s *schemas) structure(name string, t reflect.Type) *jsonschema.Schema {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: s.types})
	if err != nil {
		s.err = err
		return new(jsonschema.Schema)
	}
	plain(schema)
	if name != "" {
		s.defs[name] = schema
		s.types[t] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	return schema
}

// union makes the schema of a struct with one field given.
func (s *schemas) union(name string, t reflect.Type) {
	if all := s.members(name, t); all != nil {
		all.MinProperties, all.MaxProperties = new(1), new(1)
	}
}

// fleet makes the schema of types of agents, and of bounds that may be lists.
func (s *schemas) fleet() {
	s.types[reflect.TypeFor[modelForm]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", Description: "a problem file"},
		{Type: "object", Required: []string{"transitions"},
			Description: "a problem that wants nothing; format may be left out, and the time if the fleet has it"},
	}}
	some := s.structure("share", reflect.TypeFor[share]())
	some.MinProperties, some.MaxProperties = new(1), new(1)
	s.types[reflect.TypeFor[sharesForm]()] = &jsonschema.Schema{Type: "object",
		AdditionalProperties: &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			s.types[reflect.TypeFor[string]()], {Ref: "#/$defs/share"},
		}}}
	s.structure("agents", reflect.TypeFor[memberForm]()).Properties["count"].Minimum = new(1.0)
	bounds := s.structure("constraint", reflect.TypeFor[Limit]()).Properties
	for _, key := range []string{"at_most", "at_least"} {
		one := *bounds[key]
		one.Description = ""
		list := &jsonschema.Schema{Type: "array", Items: s.types[reflect.TypeFor[float64]()],
			Description: "one for each step"}
		bounds[key] = &jsonschema.Schema{Description: bounds[key].Description, OneOf: []*jsonschema.Schema{&one, list}}
	}
	bounds["steps"] = &jsonschema.Schema{Description: bounds["steps"].Description, Types: []string{"integer", "string"},
		Pattern: `^[0-9]+( *- *[0-9]+)?$`}
}

// numberedStates makes the schema of states that are named by a pattern.
func numberedStates(count *jsonschema.Schema) *jsonschema.Schema {
	all := object(map[string]*jsonschema.Schema{"count": count,
		"name": {Type: "string", Pattern: `^[^{}]*\{\}[^{}]*$`}})
	all.Required = []string{"count", "name"}
	return all
}

// stateSet makes the schema of sets of states, which may contain others.
func (s *schemas) stateSet() {
	ref := &jsonschema.Schema{Ref: "#/$defs/states"}
	list := &jsonschema.Schema{Type: "array", Items: ref}
	s.types[reflect.TypeFor[StateSet]()], s.types[reflect.TypeFor[*StateSet]()] = ref, ref
	some := object(map[string]*jsonschema.Schema{"not": ref, "and": list, "or": list})
	some.MinProperties, some.MaxProperties = new(1), new(1)
	s.defs["states"] = &jsonschema.Schema{
		Description: "a label, or the name or number of a state; a list of sets; or not, and, or of sets",
		OneOf:       []*jsonschema.Schema{s.types[reflect.TypeFor[Label]()], list, some},
	}
}

// opponent makes the schema of opponents, which may contain others.
func (s *schemas) opponent() {
	if all := s.members("opponent", reflect.TypeFor[OpponentSpec]()); all != nil {
		all.Required = []string{"policy"}
		policies := all.Properties["policy"]
		for _, name := range OpponentPolicies() {
			policies.Enum = append(policies.Enum, name)
		}
		all.Properties["period"].Minimum, all.Properties["episodes"].Minimum = new(1.0), new(1.0)
	}
}

// members makes the schema of a struct that may contain itself. All its members
// are optional.
func (s *schemas) members(name string, t reflect.Type) *jsonschema.Schema {
	s.types[t] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	s.types[reflect.PointerTo(t)] = s.types[t]
	all := object(make(map[string]*jsonschema.Schema))
	for i, f := range fieldsOf(t) {
		member, err := jsonschema.ForType(t.Field(i).Type, &jsonschema.ForOptions{TypeSchemas: s.types})
		if err != nil {
			s.err = err
			return nil
		}
		plain(member)
		if member.Ref != "" {
			member = &jsonschema.Schema{AllOf: []*jsonschema.Schema{member}}
		}
		member.Description = t.Field(i).Tag.Get("jsonschema")
		all.Properties[f.name] = member
		all.PropertyOrder = append(all.PropertyOrder, f.name)
	}
	s.defs[name] = all
	return all
}

// plain removes the null that the inference allows for slices and pointers: a
// member is given or absent. Entries that may be null are described by hand.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if !slices.Contains(s.Types, "number") {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" || t == "" })
	}
	if s.Type == "null" {
		s.Type = ""
	}
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	} else if len(s.Types) == 0 {
		s.Types = nil
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
	for _, p := range s.Properties {
		plain(p)
	}
	for _, p := range s.OneOf {
		plain(p)
	}
}

func object(properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: properties, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: new(jsonschema.Schema)}}
}

// arithmetic is what text that stands for a number looks like.
const arithmetic = `^[-+*/() \t.0-9A-Za-z_]+$`

// byHand lists the schemas of types that have a form of their own.
func byHand() map[reflect.Type]*jsonschema.Schema {
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: new(1)} }
	count := func(least float64) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "integer", Minimum: &least}
	}
	either := func(forms ...*jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{OneOf: forms}
	}
	// spelled also allows arithmetic in the place of numbers.
	spelled := func(types ...string) *jsonschema.Schema {
		return &jsonschema.Schema{Types: append(types, "string"), Pattern: arithmetic}
	}
	named := func(of *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: of}
	}
	list := func(of *jsonschema.Schema, least int) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Items: of, MinItems: &least}
	}
	probability := func() *jsonschema.Schema {
		s := spelled("number")
		s.Minimum, s.Maximum = new(0.0), new(1.0)
		return s
	}
	bounds := func() *jsonschema.Schema {
		return either(spelled("integer"), &jsonschema.Schema{Ref: "#/$defs/cost_bound"})
	}
	interval := &jsonschema.Schema{Type: "array", Items: probability(), MinItems: new(2), MaxItems: new(2)}
	states := spelled("integer")
	states.Minimum = new(1.0)
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[float64]():    spelled("number"),
		reflect.TypeFor[*float64]():   spelled("null", "number"),
		reflect.TypeFor[int]():        spelled("integer"),
		reflect.TypeFor[*int]():       spelled("integer"),
		reflect.TypeFor[statesForm](): either(states, list(either(text(), count(0)), 1), numberedStates(states)),
		reflect.TypeFor[startForm]():  either(count(0), text(), named(probability())),
		reflect.TypeFor[stateForm]():  either(count(0), text()),
		reflect.TypeFor[actionForm](): either(count(0), text()),
		reflect.TypeFor[nextForm]():   named(either(probability(), interval)),
		reflect.TypeFor[CostBounds](): either(spelled("integer"),
			&jsonschema.Schema{Ref: "#/$defs/cost_bound"}, list(bounds(), 1)),
		reflect.TypeFor[rangeForm](): {Type: "array", Items: spelled("null", "number"), MinItems: new(2),
			MaxItems: new(2)},
		reflect.TypeFor[Coefficients]():  either(list(spelled("number"), 1), named(spelled("number"))),
		reflect.TypeFor[*Coefficients](): either(list(spelled("number"), 1), named(spelled("number"))),
		reflect.TypeFor[Order]():         {Enum: []any{1, 2, "inf", ".inf"}},
		reflect.TypeFor[Each]():          {Enum: []any{"step", "model"}},
		reflect.TypeFor[Name]():          text(),
		reflect.TypeFor[Label]():         either(text(), count(0)),
		reflect.TypeFor[Direction](): either(&jsonschema.Schema{Enum: []any{"target", "learner"}},
			list(spelled("number"), 1), named(spelled("number"))),
		reflect.TypeFor[OpponentLog](): {Type: "array", Items: &jsonschema.Schema{Type: "array", Items: count(-1)}},
		reflect.TypeFor[*Name]():       text(),
		reflect.TypeFor[string]():      text(),
	}
}
