package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// floors says on which floor of the house each package lives. A package may
// import only from lower floors; see design.md. Test files are free to import
// what they test with.
var floors = map[string]int{
	"oracle/lp":                  0,
	"oracle/game":                1,
	"cmdp/exchange":              0,
	"cmdp/internal/source":       0,
	"cmdp/internal/saved":        0,
	"cmdp/internal/interval":     -1,
	"cmdp/internal/sample":       -1,
	"internal/threshold":         0,
	"cmdp/internal/parallel":     1,
	"internal/atomicfile":        0,
	"internal/available":         0,
	"cmdp/progress":              0,
	"internal/scratch":           0,
	"internal/nearest":           0,
	"oracle":                     1,
	"oracle/oracletest":          1,
	"cmdp/exchange/umb":          1,
	"cmdp/exchange/drn":          1,
	"cmdp/exchange/prism":        1,
	"cmdp/exchange/numpy":        1,
	"cmdp/exchange/gymnasium":    1,
	"cmdp/exchange/formats":      5,
	"cmdp/language":              1,
	"cmdp/language/property":     2,
	"cmdp/language/prism":        3,
	"cmdp/language/jani":         4,
	"cmdp/exchange/exchangetest": 1,
	"geometry":                   2,
	"geometry/geometrytest":      3,
	"cost":                       3,
	"cost/costtest":              4,
	"cmdp":                       4,
	"cmdp/monitor":               5,
	"cmdp/cmdptest":              6,
	"cmdp/chart":                 5,
	"cmdp/markov":                5,
	"cmdp/exact":                 6,
	"cmdp/simulator":             5,
	"cmdp/problem":               6,
	"cmdp/fleet":                 7,
	"cmdp/robust":                7,
	"cmdp/query":                 8,
	"cmdp/instance":              8,
	"cmdp/baseline":              8,
	"cmdp/contest":               9,
	"cmd":                        10,
	"benchmarks":                 10,
	"docs":                       0,
}

func floorOf(path string) (int, bool) {
	for p := path; p != "."; p = filepath.Dir(p) {
		if f, ok := floors[p]; ok && (p == path || f == 10) {
			return f, true
		}
	}
	return 0, false
}

// TestProblemsNeedNoProduct: reading, checking and writing a problem needs neither a solver nor a product.
func TestProblemsNeedNoProduct(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmdp/problem")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := strings.Fields(string(out))
	for _, name := range []string{"monitor", "markov", "exact"} {
		if slices.Contains(needed, "cmdpsolve/cmdp/"+name) || !slices.Contains(needed, "cmdpsolve/cmdp") {
			t.Errorf("problem needs %s, or the list is wrong: %v", name, needed)
		}
	}
}

// TestDefaultBuildIsPureGo: with cgo switched on, nothing but the standard library uses it
// unless the tag glpk asks for GLPK.
func TestDefaultBuildIsPureGo(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "glpk": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tags, "-f",
			"{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", "./cmd/...")
		cmd.Dir, cmd.Env, cmd.Stderr = "..", append(os.Environ(), "CGO_ENABLED=1"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Fields(string(out))
		if slices.Contains(found, "cmdpsolve/oracle/lp") != want || !want && len(found) > 0 {
			t.Errorf("tags %q: the packages with C code are %v", tags, found)
		}
	}
}

func TestImportsGoOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimPrefix(p.ImportPath, "cmdpsolve/")
		floor, ok := floorOf(from)
		if !ok {
			t.Errorf("package %s has no floor: give it one here and in design.md", from)
			continue
		}
		seen++
		for _, to := range p.Imports {
			to, ours := strings.CutPrefix(to, "cmdpsolve/")
			if !ours {
				continue
			}
			below, ok := floorOf(to)
			inside := floor == 10 && strings.HasPrefix(to, strings.SplitN(from, "/", 2)[0]+"/")
			if !ok || below >= floor && !inside {
				t.Errorf("%s (floor %d) imports %s (floor %d)", from, floor, to, below)
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d packages were checked: want at least 12", seen)
	}
}

var links = regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../README.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}

// identifiers matches what notation.md and design.md name in backquotes as Go
// identifiers of a package, such as `cmdp.Shape` or `cmdp.Shape.Horizon`.
var identifiers = regexp.MustCompile("`((?:oracle|geometry|cost|cmdp|exact|markov|monitor|query|game|lp|language)\\.[A-Z][A-Za-z0-9]*(?:\\.[A-Z][A-Za-z0-9]*)?)`")

func TestNotationNamesWhatExists(t *testing.T) {
	folders := map[string]string{"exact": "cmdp/exact", "markov": "cmdp/markov", "game": "oracle/game",
		"lp": "oracle/lp", "language": "cmdp/language", "monitor": "cmdp/monitor", "query": "cmdp/query"}
	for _, page := range []string{"notation.md", "design.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, m := range identifiers.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		if len(names) < 5 {
			t.Errorf("%s names %d identifiers only", page, len(names))
		}
		for name := range names {
			pkg, symbol, _ := strings.Cut(name, ".")
			if f, ok := folders[pkg]; ok {
				pkg = f
			}
			cmd := exec.Command("go", "doc", "cmdpsolve/"+pkg, symbol)
			cmd.Dir = ".."
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: `%s` is not in the code: %s", page, name, out)
			}
		}
	}
}

// TestErrataListsWhatIsCited wants every erratum that code or pages cite, E-nn, to have a
// row in errata.md, and every row to be cited.
func TestErrataListsWhatIsCited(t *testing.T) {
	page, err := os.ReadFile("errata.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (E-\d\d) \|`).FindAllSubmatch(page, -1) {
		listed[string(m[1])] = false
	}
	number := regexp.MustCompile(`\bE-\d\d\b`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "errata.md" ||
			!slices.Contains([]string{".go", ".md"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, e := range number.FindAllString(string(text), -1) {
			if _, ok := listed[e]; !ok {
				t.Errorf("%s cites %s, which errata.md does not list", path, e)
			}
			listed[e] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for e, cited := range listed {
		if !cited {
			t.Errorf("errata.md lists %s, which nothing cites", e)
		}
	}
}

// TestWalkOfALimit holds the table of the design page against the code: every file has the functions that are said to
// be called there, and there are as many files and ways back as the page says.
func TestWalkOfALimit(t *testing.T) {
	page, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	seen, back := make(map[string]bool), 0
	row := regexp.MustCompile("(?m)^\\| `(cmd\\S*\\.go)`( \\(again\\))? \\| (.*?) \\|")
	for _, at := range row.FindAllStringSubmatch(string(page), -1) {
		file, again := at[1], at[2] != ""
		if seen[file] != again {
			t.Errorf("%s: seen before: %v, the page says %v", file, seen[file], again)
		}
		seen[file] = true
		if again {
			back++
		}
		src, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(at[3], -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `\(`).Match(src) {
				t.Errorf("%s has no function %s", file, name[1])
			}
		}
	}
	if len(seen) != 15 || back != 5 {
		t.Errorf("%d files, and %d times back", len(seen), back)
	}
}

// TestChecklistsNameWhatExists wants every name of Go in the checklists to be declared somewhere:
// a function, type, constant or variable of a package, a field or a method.
func TestChecklistsNameWhatExists(t *testing.T) {
	known := map[string]bool{"NewX": true, "dst": true} // a placeholder, and a parameter
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		known[d.Name()] = true
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		known[strings.TrimSuffix(strings.TrimSuffix(d.Name(), ".go"), "_test")] = true
		for _, decl := range file.Decls {
			declared(decl, known)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fenced, name := regexp.MustCompile("(?s)```.*?```"),
		regexp.MustCompile("`(?:[A-Za-z]\\w*\\.)*([A-Za-z]\\w*)(?:\\([^`]*\\))?`")
	for _, page := range []string{"adding-a-set.md", "adding-a-cost.md", "adding-an-algorithm.md", "testing.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d things only", page, len(found))
		}
		for _, m := range found {
			if !known[string(m[1])] && !known[strings.Trim(string(m[0]), "`")] {
				t.Errorf("%s: %s is not in the code", page, m[0])
			}
		}
	}
}

// declared notes what a declaration declares.
func declared(decl ast.Decl, known map[string]bool) {
	if f, ok := decl.(*ast.FuncDecl); ok {
		known[f.Name.Name] = true
		return
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			known[n.Name.Name] = true
		case *ast.Field:
			for _, id := range n.Names {
				known[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				known[id.Name] = true
			}
		case *ast.FuncLit:
			return false
		}
		return true
	})
}

// TestPagesShowTheExampleFiles: what pages show as a file stands in the folder examples, where readers find it.
func TestPagesShowTheExampleFiles(t *testing.T) {
	for name, shown := range map[string]struct{ page, language string }{
		"two-rooms.yaml": {"../README.md", "yaml"},
		"line.yaml":      {"simulators.md", "yaml"},
		"line.py":        {"simulators.md", "python"},
		"suite.yaml":     {"comparing.md", "yaml"},
	} {
		page, err := os.ReadFile(shown.page)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join("examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, []byte("```"+shown.language+"\n"+string(file)+"```")) {
			t.Errorf("what %s shows is not docs/examples/%s", shown.page, name)
		}
	}
}

// mostColumns is the width of a line, in which a tab takes four columns.
const mostColumns = 120

// TestLinesAreNarrow finds lines that are too wide. Texts in quotes do not count: they stay whole, to be found.
func TestLinesAreNarrow(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		checked++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range wideLines(src) {
			t.Errorf("%s:%d: more than %d columns", strings.TrimPrefix(path, "../"), line, mostColumns)
		}
		return nil
	})
	if err != nil || checked < 500 {
		t.Errorf("%d files, %v", checked, err)
	}
	if wide := "package p\n\n// " + strings.Repeat("x ", 60) + "\nvar y = \"" + strings.Repeat("x ", 60) + "\""; !slices.Equal(wideLines([]byte(wide)), []int{3}) {
		t.Errorf("of a wide comment and a long text: %v", wideLines([]byte(wide)))
	}
}

// wideLines returns the numbers of the lines that are too wide without their texts.
func wideLines(src []byte) (wide []int) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	texts := map[int]int{} // columns that texts take, by line
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.STRING {
			continue
		}
		for i, part := range strings.Split(lit, "\n") {
			texts[file.Line(pos)+i] += columns(part)
		}
	}
	for i, line := range strings.Split(string(src), "\n") {
		if columns(line)-texts[i+1] > mostColumns {
			wide = append(wide, i+1)
		}
	}
	return wide
}

func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// TestHeadsOnlyDecide: the head of an if or a switch may declare what it decides about, or take the error that it
// looks at, and does nothing else.
func TestHeadsOnlyDecide(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if err == nil && d.IsDir() && name == "cmdp/testdata" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		checked++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range workingHeads(t, src) {
			t.Errorf("%s:%d: the head of an if or a switch does work: want a line of its own for it", name, line)
		}
		return nil
	})
	if err != nil || checked < 250 {
		t.Errorf("%d files, %v", checked, err)
	}
	const sample = `package p
func f(a, b int) (err error) {
	if a = g(b); a > 0 {
	}
	if a++; a > 0 {
	}
	if g(a); b > 0 {
	}
	if a, err = h(); err != nil {
	}
	switch a = 1; b {
	}
	if c := g(a); c > 0 {
	}
	if err = k(); err != nil {
	}
	return err
}`
	if got := workingHeads(t, []byte(sample)); !slices.Equal(got, []int{3, 5, 7, 9, 11}) {
		t.Errorf("of a sample: lines %v", got)
	}
}

// workingHeads returns the lines of heads that do work.
func workingHeads(t *testing.T, src []byte) (lines []int) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var init ast.Stmt
		switch s := n.(type) {
		case *ast.IfStmt:
			init = s.Init
		case *ast.SwitchStmt:
			init = s.Init
		}
		works := init != nil
		if assign, ok := init.(*ast.AssignStmt); ok {
			to, named := assign.Lhs[0].(*ast.Ident)
			works = assign.Tok != token.DEFINE && (len(assign.Lhs) > 1 || !named || to.Name != "err")
		}
		if works {
			lines = append(lines, fset.Position(init.Pos()).Line)
		}
		return true
	})
	return lines
}
