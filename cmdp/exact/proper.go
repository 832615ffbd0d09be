package exact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmdpsolve/cmdp/markov"
)

// ErrNoTotal is wrapped by errors about models in which no policy has a well-defined
// total return, see [NoTotalError].
var ErrNoTotal = errors.New("the total return is not well-defined")

// A NoTotalError says that some state is reached from the start where every policy may
// go on for ever, with returns that matter and are unwanted. A total is then infinite
// or undefined.
type NoTotalError struct {
	State  int // in which it goes on
	Action int // that keeps it there
	Return int // the number of a return that does not end, −1 if there is none
	// Wanted tells that the return is wanted: a policy could collect it without limit. If the task asks for
	// long-run means too, no policy is the best then.
	Wanted bool
	// Kept tells that policies which break a limit of the task need not come to it.
	Kept bool
}

func (e *NoTotalError) Error() string {
	what := fmt.Sprintf("return %d", e.Return)
	if e.Return < 0 {
		what = "no return that matters"
	}
	if e.Wanted {
		return fmt.Sprintf("exact: the total %s grows without limit, as in state %d by action %d, and the task asks "+
			"for long-run means too: %v", what, e.State, e.Action, ErrNoTotal)
	}
	every := "every policy"
	if e.Kept {
		every += " that keeps the limits"
	}
	return fmt.Sprintf("exact: %s may go on for ever, as in state %d by action %d, which gives %s: %v", every, e.State,
		e.Action, what, ErrNoTotal)
}

// Unwrap returns ErrNoTotal.
func (e *NoTotalError) Unwrap() error { return ErrNoTotal }

// restrictToProper finds the places where a policy may go on for ever without harm. It leaves out the states
// where no policy is sure to come to such a place or to an end, because a policy that goes there
// has a bad infinite total or none.
func (p *infiniteHorizon) restrictToProper(ctx context.Context) (err error) {
	g := &p.graph
	g.Allowed = p.choices(func(int32) bool { return true })
	for _, s := range p.without {
		g.In[s] = false
	}
	p.neutralEnds, err = p.endComponents(ctx, p.choices(func(c int32) bool { return g.Allowed[c] && p.neutral(c) }))
	if err != nil {
		return err
	}
	whole, _, err := g.AlmostSurely(ctx, func(s int32) bool {
		return p.k.First[s] == p.k.First[s+1] || p.neutralEnds.Of[s] >= 0
	})
	if err != nil {
		return err
	}
	if whole && len(p.without) == 0 {
		g.Allowed = nil
	}
	for _, st := range p.m.StartStates() {
		if st.Probability > 0 && !g.In[st.State] {
			return p.improperError(ctx)
		}
	}
	return nil
}

// choices reports which choices are ok.
func (p *infiniteHorizon) choices(ok func(c int32) bool) []bool {
	out := make([]bool, p.k.Choices())
	for c := range out {
		out[c] = ok(int32(c))
	}
	return out
}

// neutral reports whether a choice returns nothing that matters, apart from totals that
// are wanted.
func (p *infiniteHorizon) neutral(c int32) bool {
	return p.unwanted(p.m, p.k.ReturnsOf(int(c), p.dim())) < 0
}

// improper reports whether some policy goes on for ever for a return that has to be finite.
func (p *infiniteHorizon) improper(ctx context.Context) (bool, error) {
	if !p.mayRecur || p.graph.Allowed != nil {
		return p.mayRecur, nil
	}
	ends, err := p.endComponents(ctx, nil)
	if err != nil {
		return false, err
	}
	for _, s := range ends.Order {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if ends.Inside[c] && !p.neutral(c) {
				return true, nil
			}
		}
	}
	return false, nil
}

// improperError names a place among the states left out where every policy may stay.
func (p *infiniteHorizon) improperError(ctx context.Context) error {
	out := slices.Clone(p.reachable)
	for s, in := range p.graph.In {
		out[s] = out[s] && !in
	}
	ends, err := (&markov.Graph{Kernel: p.k, In: out}).EndComponents(ctx)
	if err != nil {
		return err
	}
	found := &NoTotalError{Return: -1}
	for _, s := range ends.Order {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if !ends.Inside[c] {
				continue
			}
			if found.Return < 0 {
				found.State, found.Action = int(s), int(c-p.k.First[s])
			}
			if found.Return < 0 {
				found.Return = p.unwanted(p.m, p.k.ReturnsOf(int(c), p.dim()))
			}
		}
	}
	return found
}
