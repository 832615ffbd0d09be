package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A linkedPackage is a package of the binary as go list describes it. Those of the standard library have no module.
type linkedPackage struct {
	Dir    string
	Module *struct {
		Path, Dir string
		Main      bool
	}
}

// linkedPackages lists the packages of the binary on a system, with all that can be built in.
func linkedPackages(t *testing.T, system string) []linkedPackage {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-tags", "glpk", "-json=Dir,Module", ".")
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=1")
	list.Stderr = t.Output()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []linkedPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p linkedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// licenseFile matches the names of files that say under which terms code is given, and licenseFolder those of
// folders of them.
var (
	licenseFile   = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)
	licenseFolder = regexp.MustCompile(`(?i)^(third_party_)?licenses$`)
)

// licensesIn lists the license files of a folder.
func licensesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case e.IsDir() && licenseFolder.MatchString(e.Name()):
			err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					files = append(files, path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		case !e.IsDir() && licenseFile.MatchString(e.Name()) && filepath.Ext(path) != ".go":
			files = append(files, path)
		}
	}
	return files
}

// linkedLicenses returns the license files of all that is linked, by the name of what they are of and their path there.
func linkedLicenses(t *testing.T) map[string]string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(string(root))
	texts := make(map[string]string)
	modules := make(map[string]bool) // whether there is a license
	for _, system := range []string{"linux", "windows", "darwin"} {
		for _, p := range linkedPackages(t, system) {
			name, top := "the Go standard library", goroot
			if p.Module != nil {
				name, top = p.Module.Path, p.Module.Dir
			}
			for dir := p.Dir; ; dir = filepath.Dir(dir) {
				for _, file := range licensesIn(t, dir) {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					at, err := filepath.Rel(top, file)
					if err != nil {
						t.Fatal(err)
					}
					texts[name+", "+filepath.ToSlash(at)] = strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n",
						"\n"))
					modules[name] = true
				}
				if dir == top || len(dir) <= len(top) {
					break
				}
			}
			if !modules[name] {
				t.Errorf("%s has no license", name)
			}
		}
	}
	return texts
}

// notices writes license files one after the other. What several of them say stands there once.
func notices(files map[string]string) string {
	of := make(map[string][]string)
	for name, text := range files {
		of[text] = append(of[text], name)
	}
	for _, names := range of {
		slices.Sort(names)
	}
	texts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Compare(of[a][0], of[b][0]) })
	var b strings.Builder
	b.WriteString("cmdpsolve is made of the works below, each under the terms that follow its name. " +
		"github.com/lukpank/go-glpk is in\nbuilds with GLPK alone.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return b.String()
}

// TestLicenses compares the texts that the binary has with those of the modules that are linked into it.
func TestLicenses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const file = "licenses.txt"
	want := notices(linkedLicenses(t))
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(licenses, "\n")); diff != "" {
		t.Errorf("%s is not what the linked modules have (-linked +here); write it anew with go test "+
			"./cmd/cmdpsolve -run TestLicenses -update:\n%s", file, diff)
	}
}
