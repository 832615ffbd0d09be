package prism_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
)

// randomModel writes a model of several modules that write sums of what they read.
func randomModel(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString("mdp\nglobal g : [0..2];\n")
	modules := 2 + rng.IntN(3)
	for m := range modules {
		fmt.Fprintf(&b, "module m%d\n x%d : [-1..%d]; b%d : bool;\n", m, m, 1+rng.IntN(70), m)
		for range 1 + rng.IntN(4) {
			other := rng.IntN(modules)
			fmt.Fprintf(&b, " [%s] %s & x%d>=%d -> ", []string{"", "a", "c"}[rng.IntN(3)],
				[]string{fmt.Sprint("b", other), fmt.Sprint("x", other, "<40"), "g<2"}[rng.IntN(3)], m, rng.IntN(3)-1)
			fmt.Fprintf(&b, "0.25:(x%d'=min(max(-1,x%d-%d), x%d+%d)) + 0.75:(b%d'=!b%d)&(x%d'=mod(max(0,x%d),%d));\n",
				m, other, rng.IntN(2), m, rng.IntN(3), m, m, m, other, 1+rng.IntN(2))
			fmt.Fprintf(&b, " [] x%d<1 -> (x%d'=x%d+1)%s;\n", m, m, m, []string{"", "&(g'=mod(g+1,3))"}[rng.IntN(2)])
		}
		b.WriteString("endmodule\n")
	}
	b.WriteString("rewards \"r\" [] true : x0; b0 : 2; endrewards\n")
	return b.String()
}

// TestThreads explores random models with any number of threads: states have the same numbers, and
// every choice is the same.
func TestThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	large := 0
	for i := range 24 {
		model := randomModel(rng)
		one, err := explore(model, nil, 1)
		if err != nil {
			t.Fatalf("%v in\n%s", err, model)
		}
		if one.result.States.Len() > 1000 {
			large++
		}
		threads := []int{2, 7}[i%2]
		more, err := explore(model, nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		if more.String() != one.String() {
			t.Fatalf("%d threads find something else in\n%s", threads, model)
		}
		for s := range one.result.States.Len() {
			if n, ok := one.result.States.Find(one.result.States.StateName(s)); !ok || n != s {
				t.Fatalf("state %d is found as %d in\n%s", s, n, model)
			}
		}
	}
	if large < 5 {
		t.Errorf("%d models have more than 1000 states", large)
	}
}

// TestStops: a context ends an exploration, and an error of the sink does.
func TestStops(t *testing.T) {
	const endless = "module m x : [0..1000000000]; [] true -> (x'=x+1); endmodule"
	p, err := prism.Read("m.prism", endless, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	seen := 0
	o := language.ExploreOptions{Progress: func(p language.Progress) {
		if seen = p.States; seen > 10_000 {
			cancel()
		}
	}}
	if _, err := language.Explore(ctx, p, nothing{}, o); !errors.Is(err, context.Canceled) || seen < 10_000 {
		t.Error(err, seen)
	}
	_, err = language.Explore(context.Background(), p, full{}, language.ExploreOptions{})
	if !errors.Is(err, errFull) {
		t.Error(err)
	}
	_, err = language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{Memory: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "more than 1 MB of memory") {
		t.Error(err)
	}
	_, err = language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{Transitions: 500})
	if err == nil || !strings.Contains(err.Error(), "more than 500 transitions") {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type full struct{ nothing }

func (full) Choice(int, []int32, []float64, []float64, []float64) error { return errFull }

// FuzzRead: any text is a model or an error that names its file, and a small model can be explored.
func FuzzRead(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	f.Add("mdp module m p : [0..1]; [a] p=0 -> (p'=1); [b] p=0 -> true; endmodule module n = m [p=q] endmodule " +
		"system ((m |[a]| n) / {a}) {b<-c} endsystem")
	f.Add(randomModel(rng))
	f.Add("pta const int N=2; module m x : clock; s : [0..N] init 1; invariant s=1=>x<=3 endinvariant [a] x>=1 -> " +
		"0.5:(x'=0) + 1/2:(s'=0); endmodule module n = m [x=y,s=t,a=b] endmodule")
	f.Add("smg player p m,[a] endplayer label \"l\"=true; rewards \"r\" [a] true:1; x>0:x^2; endrewards formula " +
		"f=func(max,1,2.5); module m x:[0..3]; [a] f>1?x<3:false -> (x'=x+1); endmodule init x=0 endinit")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := prism.Read("m.prism", text, nil)
		if err == nil {
			_, err = language.Explore(context.Background(), p, nothing{},
				language.ExploreOptions{States: 200, Transitions: 5000})
		}
		if err != nil && !strings.HasPrefix(err.Error(), "m.prism:") {
			t.Error(err)
		}
	})
}

// FuzzProperties: any text is a list of properties or an error that names its file, and conditions that were read are
// read again.
func FuzzProperties(f *testing.F) {
	f.Add(`const int k = N+1; label "up" = x>=k; "a": multi(Pmax=? [F<=k "up"], R{"t"}<=2^3 [C<=(1+1)]); "b": P>=0.5 [x=1 & "up" U<3 !y];`)
	f.Add(`S=? [x>0 ? true : "up"]; "c": R{"t"}min=? [F x=1|y]; LRA>=1/2 [x<=func(max,1,2)]; Rmax=? [S]; Pmin=? [G x!=1 => y <=> false];`)
	f.Fuzz(func(t *testing.T, text string) {
		list, _, err := prism.ReadProperties("m.props", text, map[string]string{"N": "3"})
		if err != nil && !strings.HasPrefix(err.Error(), "m.props:") {
			t.Fatal(err)
		}
		for _, p := range list {
			for _, formula := range p.Formulas {
				if formula.Goal == "" {
					continue
				}
				again := "P>=1 [F (" + formula.Goal + ")]"
				if _, _, err := prism.ReadProperties("m.props", again, nil); err != nil &&
					!strings.Contains(err.Error(), "nested") {
					t.Fatalf("%s: %v", again, err)
				}
			}
		}
	})
}

// BenchmarkExplore explores the model in the file that the environment variable MODEL names, or one of
// random modules: states a second of processor time are what counts on a busy machine.
func BenchmarkExplore(b *testing.B) {
	text := "mdp\nmodule a x : [0..999]; [] x<999 -> 0.5:(x'=x+1) + 0.5:(x'=0); [s] x=7 -> true; endmodule\nmodule " +
		"b = a [x=y] endmodule\n"
	constants := make(map[string]string)
	if file, given, _ := strings.Cut(os.Getenv("MODEL"), ","); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		text = string(data)
		for _, c := range strings.Split(given, ",") {
			name, value, _ := strings.Cut(c, "=")
			if name != "" {
				constants[name] = value
			}
		}
	}
	states := 0
	for b.Loop() {
		p, err := prism.Read("m.prism", text, constants)
		if err != nil {
			b.Fatal(err)
		}
		r, err := language.Explore(context.Background(), p, nothing{}, language.ExploreOptions{})
		if err != nil {
			b.Fatal(err)
		}
		states += r.States.Len()
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}

// TestConstantsOfProperties: constants that are given serve as bounds of probabilities and of steps in one
// property, and in constants that its file defines.
func TestConstantsOfProperties(t *testing.T) {
	const text = "const int m = k+1; const int n; multi(P>=p [F<=k x=1], P<=p/k [F<=m x=2], P>=1 [F<=n x=3])"
	list, _, err := prism.ReadProperties("m.props", text, map[string]string{"p": "0.5", "k": "3", "n": "7"})
	if err != nil {
		t.Fatal(err)
	}
	f := list[0].Formulas
	if f[0].Value != 0.5 || f[0].Within != 3 || f[1].Value != 0.5/3 || f[1].Within != 4 || f[2].Within != 7 {
		t.Error(f)
	}
}
