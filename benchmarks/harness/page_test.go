package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWritePage: what people wrote about the numbers survives a new page, once.
func TestWritePage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	said := findings + "\n\nThe moon is round.\n"
	for _, text := range []string{"old\n" + said, "new\n", "newer\n"} {
		if err := WritePage(folder, "x.md", text); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "x.md")); err != nil || string(text) != "newer\n"+said {
		t.Errorf("%q, %v", text, err)
	}
}
