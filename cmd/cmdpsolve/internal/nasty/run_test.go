package nasty

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An Outcome of a command: its exit status and what it printed. Lost says why there is none.
type Ran struct {
	Status   int
	Out, Err string
	Lost     string // "panic" or "does not end"
}

// A Command runs cmdpsolve with arguments. large says that it uses the methods for large models as far as it can.
type Command func(large bool, arguments ...string) Ran

// A Bed tries problems.
type Bed struct {
	Command Command
	Folder  string // for files

	tooLarge int // questions that were dropped since an exact program takes too long

	large bool     // how commands are run now
	last  []string // the arguments of the last one
}

// run runs a command.
func (b *Bed) run(arguments ...string) Ran {
	b.last = arguments
	return b.Command(b.large, arguments...)
}

// Known tells failures that are no news.
type Known []struct {
	Why   string
	Holds func(p *Problem, f *Failure) bool
}

// why says why a failure is no news, "" if it is.
func (known Known) why(p *Problem, f *Failure) string {
	for _, k := range known {
		if k.Holds(p, f) {
			return k.Why
		}
	}
	return ""
}

// dropped reports whether the reference left a question without an answer. It counts those whose exact program is too
// large.
func (b *Bed) dropped(not unknown) bool {
	if not == tooLarge {
		b.tooLarge++
	}
	return not != ""
}

// Try asks the command the named questions about a problem, and judges what it says.
func (b *Bed) Try(p *Problem, checks ...string) *Failure {
	var q *question
	if !p.game() {
		if b.dropped(answered(func() { q = ask(p) })) {
			return nil
		}
	}
	file := filepath.Join(b.Folder, "problem.json")
	if err := os.WriteFile(file, p.JSON(), 0o600); err != nil {
		panic(err)
	}
	for _, name := range checks {
		var f *Failure
		b.dropped(answered(func() { f = everyCheck[name](b, p, q, file) }))
		if f == nil {
			continue
		}
		f.Check, f.Large = name, b.large
		for _, a := range b.last {
			f.Arguments = append(f.Arguments, strings.TrimPrefix(a, b.Folder+string(filepath.Separator)))
		}
		return f
	}
	return nil
}

// checks are the names of the questions that can be asked about a problem, the first always.
func (p *Problem) checks() []string {
	switch {
	case p.game():
		return []string{"game", "convert"}
	case p.Target != nil, p.Goal != nil && p.Goal.Cost != nil:
		return []string{"curved", "convert"}
	}
	return []string{"plan", "budget", "check", "convert", "deterministic", "deterministic front", "distribution", "front",
		"memoryless", "rounded", "simulate", "sweep", "swept chance"}
}

// everyCheck are the questions about a problem, by their names.
var everyCheck = map[string]func(b *Bed, p *Problem, q *question, file string) *Failure{
	"plan":                (*Bed).judgePlan,
	"budget":              (*Bed).judgeBudget,
	"curved":              (*Bed).judgeCurved,
	"game":                (*Bed).judgeGame,
	"check":               (*Bed).judgeCheck,
	"front":               (*Bed).judgeFront,
	"rounded":             (*Bed).judgeRounded,
	"simulate":            (*Bed).judgeSimulate,
	"convert":             (*Bed).judgeConvert,
	"deterministic":       (*Bed).judgeDeterministic,
	"deterministic front": (*Bed).judgeDeterministicFront,
	"memoryless":          (*Bed).judgeMemoryless,
	"sweep":               (*Bed).judgeSweep,
	"swept chance":        (*Bed).judgeSweptChance,
	"distribution":        (*Bed).judgeDistribution,
}

// ran reads the JSON of a command that may refuse a problem. ok is false if there is nothing to judge.
func ran[T any](b *Bed, arguments ...string) (answer *T, r Ran, f *Failure) {
	r = b.run(arguments...)
	if r.Lost != "" {
		return nil, r, failure(r.Lost, "an answer").but("%s", r.Err)
	}
	answer, err := read[T](r.Out)
	if err != nil {
		return nil, r, failure("JSON", "one object").but("%v: %s%s", err, r.Out, r.Err)
	}
	return answer, r, nil
}

// judgePlan asks for the plan and its policy.
func (b *Bed) judgePlan(p *Problem, q *question, file string) *Failure {
	policy := filepath.Join(b.Folder, "policy.csv")
	os.Remove(policy)
	a, r, f := ran[planned](b, "plan", file, "--format", "json", "--quiet", "--policy", policy)
	if f != nil {
		return f
	}
	if a.Failed != nil {
		return q.judgeRefusal(p, a.message())
	}
	if strings.Contains(r.Out, "every policy may come to break") && q.best(nil, q.ofEveryEpisode(p)).status != infeasible {
		return failure("sentence", "that some policy keeps what is to hold in every episode").but("that none does")
	}
	text, _ := os.ReadFile(policy)
	return judgePlan(p, q, a, r.Status, string(text))
}

// judgeRefusal allows what the format forbids.
func (q *question) judgeRefusal(p *Problem, message string) *Failure {
	for _, allowed := range []string{"contradict", "has no point in common", "the set is empty"} {
		if strings.Contains(message, allowed) {
			if r := q.best(nil, q.limits); r.status == infeasible {
				return nil
			}
		}
	}
	if p.Goal == nil && !slices.ContainsFunc(p.Constraints, func(l Limit) bool { return !l.sure() }) {
		return nil // nothing to plan for
	}
	if wantsResolution(message) {
		return nil
	}
	// A total that is infinite under all policies is refused, and so is one that grows beside long-run means.
	if strings.Contains(message, "does not end") {
		if r := q.best(q.cost, q.limits); r.status == infeasible {
			return nil
		}
	}
	if strings.Contains(message, "the problem asks for long-run means too") && p.Criterion == "average" {
		return nil
	}
	return failure("refused", "an answer").but("%s", message)
}

// wantsResolution reports whether totals have too many values to be counted exactly, as a message says.
func wantsResolution(message string) bool {
	return slices.ContainsFunc([]string{"want a coarser resolution", "want a finer resolution",
		"want a resolution to round"}, func(wish string) bool { return strings.Contains(message, wish) })
}

// Replay asks all questions about the problem of a file, which failed once, by the methods for small models and
// for large ones.
func (b *Bed) Replay(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := new(Problem)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, b.large = range []bool{false, true} {
		f := b.Try(p, p.checks()...)
		if f != nil {
			t.Errorf("%s: %v", file, f)
		}
	}
}

// enough is after how many failures a run of a fixed number of problems stops.
const enough = 3

// Run tries a number of problems, or as many as there is time for. It reports failures, shrunk, at most three
// of a kind.
func (b *Bed) Run(t *testing.T, seed uint64, problems int, duration time.Duration, known Known,
	report func(p *Problem, f *Failure, why string)) {
	t.Helper()
	seen := map[string]int{} // kinds of failures
	printed := map[string]bool{}
	statuses := map[string]int{}
	end := time.Now().Add(duration)
	tried := 0
	for ; (problems == 0 || tried < problems) && (duration == 0 || time.Now().Before(end)); tried++ {
		rng := rand.New(rand.NewPCG(seed, uint64(tried)))
		p, q, dropped := generate(rng)
		b.tooLarge += dropped
		checks := p.checks()
		if q != nil && checks[0] == "plan" {
			statuses[q.best(q.cost, q.limits).status.String()]++
		} else {
			statuses[checks[0]]++
		}
		b.large = rng.IntN(3) == 0
		f := b.Try(p, checks[0], checks[rng.IntN(len(checks))], checks[rng.IntN(len(checks))])
		if f == nil {
			continue
		}
		if why := known.why(p, f); why != "" {
			seen[why]++
			if report != nil && seen[why] < 3 {
				small, sf := b.shrink(p, f)
				report(small, sf, known.why(small, sf))
			}
			continue
		}
		key := f.Kind + p.kind()
		seen[key]++
		if seen[key] > 3 {
			continue
		}
		small, sf := b.shrink(p, f)
		if known.why(small, sf) != "" || printed[string(small.JSON())] {
			continue
		}
		printed[string(small.JSON())] = true
		text, _ := json.Marshal(small)
		t.Errorf("problem %d of seed %d, shrunk:\n%s\n%v", tried, seed, text, sf)
		if report != nil {
			report(small, sf, "")
		}
		if duration == 0 && len(printed) == enough {
			t.Errorf("stopped after %d problems: that is enough", tried+1)
			return
		}
	}
	t.Logf("%d problems, %v, failures %v, %d questions dropped: %v", tried, statuses, seen, b.tooLarge, tooLarge)
}

// kind is the criterion of a problem.
func (p *Problem) kind() string {
	switch {
	case p.Horizon > 0:
		return " horizon"
	case p.Criterion != "":
		return " average"
	case p.Discount == "1":
		return " total"
	}
	return " discount"
}
