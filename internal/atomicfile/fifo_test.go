//go:build unix

package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cmdpsolve/internal/atomicfile"
)

func TestPipeIsWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	if err := atomicfile.Check(path); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		got <- string(data)
	}()
	if err := atomicfile.WriteFile(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "text" {
		t.Errorf("the pipe had %q", text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Error("the pipe is none any more")
	}
}
