// Package instance holds built-in problems. Each is generated from its
// definition in a file of its own, which cites where its numbers come from and
// says which of them are published and which are ours.
//
// [New] makes a problem from its name and parameters, as on the command line,
//
//	p, err := instance.New("garnet:S=50,A=4,H=10,d=3,seed=1")
//
// The struct of its kind does the same in Go:
//
//	c := instance.DefaultCliff()
//	c.Budget = 2
//	p, err := c.Problem()
//
// [List] describes all problems, and [FromMap] makes a grid world of a drawing.
// Parameters are validated, and nothing is ignored: an unknown name, key or
// value is an error that lists what is known. With its default parameters every
// instance for one player can keep its limits and has a better best policy without
// them, so that the limits matter. The games say how far an opponent can keep the
// return from their target. Where a budget may be chosen freely, it may also be
// chosen so that no policy keeps it, which verdicts of infeasibility are tried
// on.
//
// All functions are safe for concurrent use; values of one kind are plain data.
package instance
