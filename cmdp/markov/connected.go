package markov

import (
	"context"

	"cmdpsolve/internal/threshold"
)

// connected reports whether a few passes over many states show that all of them lead to one another. Passes go through
// memory in order, where Tarjan's search goes from place to place. It reports false where a pass to and fro finds
// little. The error is that of ctx.
func (g *Graph) connected(ctx context.Context, states []int32, what string) (bool, error) {
	if len(states) <= threshold.Swept {
		return false, nil
	}
	const reached, leads = 1, 2 // from the first state, and there
	marks := make([]uint8, g.States())
	marks[states[0]] = reached | leads
	look := func(s int32) {
		from, back := marks[s]&reached, uint8(0)
		g.each(s, func(n int32) {
			marks[n] |= from
			back |= marks[n] & leads
		})
		marks[s] |= back
	}
	for found := 0; ; {
		g.Progress.At(what, float64(found)/float64(len(states)), len(states))
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		for _, s := range states {
			look(s)
		}
		for j := len(states) - 1; j >= 0; j-- {
			look(states[j])
		}
		before, of := found, [4]int{}
		for _, s := range states {
			of[marks[s]]++
		}
		found = of[reached|leads] + min(of[reached], of[leads])
		const few = 16
		if found == len(states) || found-before <= len(states)/few {
			return found == len(states), nil
		}
	}
}

// oneComponent makes components of the states up to last without choices and one of all others, if these are many and
// connected.
func (g *Graph) oneComponent(ctx context.Context, p *Partition, last int32) (bool, error) {
	var rest, others []int32
	for s := last; s >= 0; s-- {
		switch {
		case !g.Has(s):
		case g.Kernel.First[s] == g.Kernel.First[s+1]:
			rest = append(rest, s)
		default:
			others = append(others, s)
		}
	}
	one, err := g.connected(ctx, others, findingComponents)
	if one {
		for i := range rest {
			p.add(rest[i : i+1])
		}
		p.add(others)
	}
	return one, err
}
