package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inputFlags are the flags of each command that name files to read. All others that take a file name one to
// write.
var inputFlags = map[string][]string{
	"plan":     {"log"},
	"simulate": {"policy"},
	"learn":    {"log"},
	"compare":  {"suite", "safe-policy", "null-policy"},
}

// checkpointFlags may name the same file: a run goes on from it and keeps it up to date.
var checkpointFlags = []string{"save", "resume"}

// namesFile reports whether the value of a flag is the name of a file or of a folder, as its help says.
func namesFile(f *pflag.Flag) bool {
	value, _ := pflag.UnquoteUsage(f)
	return strings.HasPrefix(value, "FILE") || value == "DIR" || value == "FOLDER"
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

// standard notes the standard output, if it leads to a file.
func (u *fileUses) standard(out io.Writer) {
	f, ok := out.(*os.File)
	if !ok {
		return
	}
	target, err := atomicfile.Open(f)
	if err == nil {
		u.list = append(u.list, fileUse{target: target, said: "standard output", writes: true})
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
		if cmd.Name() == "convert" && i == 1 {
			u.writes(path, path)
		} else {
			u.reads(path, path)
		}
	}
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
			if again || !out.target.Same(other.target) {
				continue
			}
			switch {
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
