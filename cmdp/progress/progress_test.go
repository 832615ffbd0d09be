package progress_test

import (
	"context"
	"testing"

	"cmdpsolve/cmdp/progress"
)

// TestProgressOfSteps: of steps through many states all together those are told of with which that many have been gone
// through as are worth it, and which part was done before.
func TestProgressOfSteps(t *testing.T) {
	for _, states := range []int{1, 1000, progress.Many / 2, progress.Many, 3*progress.Many + 1} {
		const steps = 40
		for step := range steps {
			var told []float64
			progress.Func(func(_ string, part float64) { told = append(told, part) }).AtStep("", step, steps, states)
			passed := false
			for n := step*states + 1; n <= (step+1)*states; n++ {
				passed = passed || n%progress.Many == 0
			}
			if passed != (told != nil) || passed && (len(told) > 1 || told[0] != float64(step)/steps) {
				t.Fatalf("step %d through %d states: told %v", step, states, told)
			}
		}
	}
}

// TestContexts: who is told is the last one that a context was given, with the names of the parts before what is done;
// nobody is told in other contexts, which is no fault.
func TestContexts(t *testing.T) {
	var told string
	hear := func(what string, part float64) { told = what }
	ctx := progress.With(t.Context(), hear)
	for want, at := range map[string]context.Context{
		"":           progress.With(ctx, nil),
		"a":          ctx,
		"x, a":       progress.Within(ctx, "x"),
		"x, y, a":    progress.Within(progress.Within(ctx, "x"), "y"),
		"silence, a": progress.Within(progress.With(progress.Within(ctx, "x"), hear), "silence"),
	} {
		told = ""
		progress.Of(at).Tell("a", 0.5)
		progress.Of(progress.Within(t.Context(), "z")).AtStep("b", 0, 1, 1<<20)
		if told != want {
			t.Errorf("told %q: want %q", told, want)
		}
	}
}
