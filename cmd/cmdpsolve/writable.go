package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/atomicfile"
)

// writable returns an error if no file can be written where an option says, so that
// this is found out before the work and not after it.
func writable(option, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage("%s %s: this is a folder: want the name of a file", option, path)
	}
	err := atomicfile.Check(path)
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &at):
		err = at.Err
	}
	if _, there := os.Lstat(path); there == nil {
		return usage("%s %s: this file cannot be replaced: %w", option, path, err)
	}
	return usage("%s %s: no file can be written in the folder %s: %w", option, path, filepath.Dir(path), err)
}

// drawable returns an error if no picture can be drawn where --plot says.
func drawable(path string) error {
	if path == "" {
		return nil
	}
	if _, err := chart.FormatOf(path); err != nil {
		return usage("--plot: %w", err)
	}
	return writable("--plot", path)
}

// policyFile returns an error if no policy can be written where an option says.
func policyFile(option, path string) error {
	if path == "" {
		return nil
	}
	if _, err := problem.PolicyFormat(path, true); err != nil {
		return usage("%s %w", option, err)
	}
	return writable(option, path)
}

// numberedPolicy returns the name of the i-th of n policy files in a new folder: kind-1.csv, or, if
// path ends in the name of a policy file, a name and a format like its own.
func numberedPolicy(path, kind string, i, n int) string {
	folder, ending := path, ".csv"
	if _, err := problem.PolicyFormat(path, true); err == nil {
		folder, ending = filepath.Dir(path), filepath.Ext(path)
		kind = strings.TrimSuffix(filepath.Base(path), ending)
	}
	return filepath.Join(folder, fmt.Sprintf("%s-%0*d%s", kind, len(strconv.Itoa(n)), i, ending))
}

// policyFolder returns an error if --policies names no new folder, or no file in one.
func policyFolder(path string) error {
	if path == "" {
		return nil
	}
	return newFolder("--policies", filepath.Dir(numberedPolicy(path, "", 1, 1)))
}

// newFolder returns an error if an option names no folder that is empty, or that can be made.
// Files of before must not stand among the new ones.
func newFolder(option, path string) error {
	if path == "" {
		return nil
	}
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && len(entries) > 0:
		return usage("%s %s: the folder is not empty", option, path)
	case err == nil:
		return writable(option, filepath.Join(path, "policy"))
	case !errors.Is(err, fs.ErrNotExist):
		return usage("%s: %w", option, err)
	}
	for { // the folders in between are made too
		parent := filepath.Dir(path)
		if _, err := os.Stat(parent); !errors.Is(err, fs.ErrNotExist) || parent == path {
			return writable(option, path)
		}
		path = parent
	}
}
