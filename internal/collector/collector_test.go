package collector

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"cmdpsolve/cmdp"
)

// line returns a model in which each state leads to the next one.
func line(t *testing.T, transitions int) *cmdp.Model {
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}, Returns: make([]float64, transitions)}
	for n := range int32(transitions) {
		k.Next, k.Prob = append(k.Next, n+1), append(k.Prob, 1)
		k.Offset, k.First = append(k.Offset, len(k.Next)), append(k.First, n+1)
	}
	k.First = append(k.First, int32(transitions))
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k}, Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Only large models get a limit, and none where the user has said how garbage is to be collected.
func TestLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, test := range []struct {
		transitions int
		name, value string
		limited     bool
	}{{large - 1, "", "", false}, {large, "GOGC", "100", false}, {large, "GOMEMLIMIT", "1GiB", false}, {large, "", "", true}} {
		for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
			t.Setenv(name, "") // which puts back what was there
			os.Unsetenv(name)
		}
		if test.name != "" {
			t.Setenv(test.name, test.value)
		}
		debug.SetMemoryLimit(before)
		Limit(line(t, test.transitions))
		if got := debug.SetMemoryLimit(before); (got != before) != test.limited || got <= 0 {
			t.Errorf("%d transitions, %s=%s: limit %d, before %d", test.transitions, test.name, test.value, got, before)
		}
	}
}

// The limit leaves room for what is in use, however little is free.
func TestLimitLeavesRoom(t *testing.T) {
	for _, test := range []struct{ has, free, want uint64 }{{100, 1000, 1000}, {100, 0, 200}, {100, 50, 200}} {
		if got, ok := limit(test.has, func() (uint64, error) { return test.free, nil }); !ok || got != int64(test.want) {
			t.Errorf("%d in use, %d free: %d, %v: want %d", test.has, test.free, got, ok, test.want)
		}
	}
	if _, ok := limit(1, func() (uint64, error) { return 0, errors.New("unknown") }); ok {
		t.Error("a limit although nobody knows what is free")
	}
}

func TestAvailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	for text, want := range map[string]uint64{
		"MemTotal:  24684096 kB\nMemFree: 15 kB\nMemAvailable:   21061956 kB\nBuffers: 1 kB\n": 21061956 << 10,
		"MemTotal:  24684096 kB\n": 0, "": 0, "MemAvailable: much kB\n": 0, "MemAvailable: 99999999999999999999 kB\n": 0,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := available(path); (err == nil) != (want > 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v: want %d", text, got, err, want)
		}
	}
	if _, err := available(path + ".not"); err == nil {
		t.Error("a file that is not there was read")
	}
}
