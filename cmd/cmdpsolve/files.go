package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inputFlags are the flags of each command that name files to read. All others that take a file name one to
// write.
var inputFlags = map[string][]string{
	"plan":     {"log"},
	"check":    {"policy"},
	"simulate": {"policy"},
	"learn":    {"log"},
	"compare":  {"suite", "safe-policy", "null-policy"},
}

// wordCommands are the commands whose arguments are no files to read.
var wordCommands = []string{"algorithms", "help", "instances", "man"}

// checkpointFlags may name the same file: a run goes on from it and keeps it up to date.
var checkpointFlags = []string{"save", "resume"}

// namesFile reports whether the value of a flag is the name of a file or of a folder, as its help says.
func namesFile(f *pflag.Flag) bool {
	value, _ := pflag.UnquoteUsage(f)
	return strings.HasPrefix(value, "FILE") || value == "DIR" || value == "FOLDER"
}

// A oneFile is the value of a flag that names a file. The second one would take the place of the first without a word.
type oneFile struct {
	pflag.Value
	first string
}

func (f *oneFile) Set(path string) error {
	if f.first != "" && path != f.first {
		return fmt.Errorf("want one file, got %s too", f.first)
	}
	f.first = path
	return f.Value.Set(path)
}

// oneFileEach lets every flag of a command that names a file be given once.
func oneFileEach(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if namesFile(f) && f.Value.Type() == "string" {
			f.Value = &oneFile{Value: f.Value}
		}
	})
}

// A fileUse is a file that the command reads or writes.
type fileUse struct {
	target atomicfile.Target
	// said is what the user called it, such as --policy out.csv.
	said       string
	writes     bool
	checkpoint bool
}

// fileUses are the files of one call of the command. What it writes must be nothing that it reads, and no two
// outputs the same file, by whatever names and links: else it would destroy what belongs to the user. Its
// methods may be called on nil, which knows of no files, and concurrently.
type fileUses struct {
	mu   sync.Mutex
	list []fileUse
}

func (u *fileUses) add(use fileUse, path string) {
	if u == nil || path == "" {
		return
	}
	var err error
	use.target, err = atomicfile.Find(path)
	if err != nil {
		return // it is no file, and whoever needs it says so
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = append(u.list, use)
}

// reads notes a file that is read. said may be empty for one that a problem names.
func (u *fileUses) reads(said, path string) { u.add(fileUse{said: said}, path) }

// writes notes a file that is to be written.
func (u *fileUses) writes(said, path string) { u.add(fileUse{said: said, writes: true}, path) }

// stream notes standard input or standard output, if it leads to a file.
func (u *fileUses) stream(said string, stream any, writes bool) {
	f, ok := stream.(*os.File)
	if !ok || u == nil {
		return
	}
	target, err := atomicfile.Open(f)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = append(u.list, fileUse{target: target, said: said, writes: writes})
}

// told notes the files that the settings of runs name.
func (u *fileUses) told(s contest.Settings) {
	for _, path := range []string{s.Safe, s.Null, s.Log} {
		if path != "none" && path != "auto" {
			u.reads(path, path)
		}
	}
}

// given notes the files that a command line names.
func (u *fileUses) given(cmd *cobra.Command, args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !namesFile(f) {
			return
		}
		path := f.Value.String()
		u.add(fileUse{
			said:       "--" + f.Name + " " + path,
			writes:     !slices.Contains(inputFlags[cmd.Name()], f.Name),
			checkpoint: slices.Contains(checkpointFlags, f.Name),
		}, path)
	})
	for i, path := range args {
		switch {
		case slices.Contains(wordCommands, cmd.Name()):
		case path == "-":
			u.stream("standard input", os.Stdin, false)
		case cmd.Name() == "convert" && i == 1:
			u.writes(path, path)
		default:
			u.reads(path, path)
		}
	}
}

// result returns an error if the file of one result of a suite is another file of the call. There may be many
// thousands, which are not compared with each other.
func (u *fileUses) result(path string) error {
	target, err := atomicfile.Find(path)
	if u == nil || err != nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, other := range u.list {
		if target.Same(other.target) || other.writes && other.target.Beside(target) {
			return usage("%s is the file of a result: want another name, or another folder with --results",
				cmp.Or(other.said, path))
		}
	}
	return nil
}

// check returns an error if a file that is written is another file of the call.
func (u *fileUses) check() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, out := range u.list {
		if !out.writes {
			continue
		}
		for j, other := range u.list {
			again := other.writes && (j <= i || other.said == out.said || other.checkpoint && out.checkpoint)
			beside := out.target.Beside(other.target)
			if !beside && (again || !out.target.Same(other.target)) {
				continue
			}
			switch {
			case beside:
				return usage("%s: writing it removes %s, which has the name of a temporary file: want another name",
					out.said, other.target.Path())
			case other.writes:
				return usage("%s and %s are the same file: want two", out.said, other.said)
			case other.said == "" || strings.HasSuffix(out.said, other.said):
				return usage("%s: this file is read too: want another name", out.said)
			default:
				return usage("%s: this file is read too, as %s: want another name", out.said, other.said)
			}
		}
	}
	return nil
}
