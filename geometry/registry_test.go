package geometry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/geometry"
)

// TestRegistryIsComplete reads the package's source: every exported function that
// returns a set and an error must be the constructor of exactly one entry.
func TestRegistryIsComplete(t *testing.T) {
	results := []string{"Set", "Compact"}
	var constructors []string
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var functions []*ast.FuncDecl
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions = append(functions, f)
			if f.Recv != nil && f.Name.Name == "Project" { // types with a projection are sets
				receiver := f.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				results = append(results, receiver.(*ast.Ident).Name)
			}
		}
	}
	results = append(results, "BoundedBox", "Polytope") // by embedding
	for _, f := range functions {
		if f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 2 {
			continue
		}
		result := f.Type.Results.List[0].Type
		if star, ok := result.(*ast.StarExpr); ok {
			result = star.X
		}
		if name, ok := result.(*ast.Ident); ok && slices.Contains(results, name.Name) {
			constructors = append(constructors, f.Name.Name)
		}
	}
	if len(constructors) < 20 {
		t.Fatalf("found only the constructors %v", constructors)
	}
	var listed, names []string
	for _, e := range geometry.Registry() {
		listed, names = append(listed, e.Constructor), append(names, e.Name)
		if e.Doc == "" || e.Methods == "" || e.Tolerance <= 0 || len(e.Inside) == 0 || len(e.Outside) == 0 {
			t.Errorf("entry %q is incomplete", e.Name)
		}
	}
	slices.Sort(listed)
	slices.Sort(names)
	slices.Sort(constructors)
	if !slices.Equal(listed, constructors) {
		t.Errorf("registry lists %v\nthe package exports %v", listed, constructors)
	}
	if len(slices.Compact(names)) != len(listed) {
		t.Errorf("names are not distinct: %v", names)
	}
}

// TestTableInDocs keeps the table of docs/adding-a-set.md equal to the registry.
func TestTableInDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/adding-a-set.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := geometry.Table(); !strings.Contains(string(text), table) {
		t.Errorf("docs/adding-a-set.md does not hold the table of the registry:\n%s", table)
	}
}
