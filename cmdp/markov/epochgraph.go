package markov

import (
	"slices"

	"cmdpsolve/cmdp"
)

// EpochGraph returns the model of one epoch: its rows, of which all that leaves the epoch leads to a state without
// choices. That is the last one, after those of the base.
func EpochGraph(e *cmdp.Epochs, epoch int) *Graph {
	k := e.Classes[e.Class[epoch]]
	outside := int32(e.Base.States())
	k.First = append(slices.Clip(k.First), k.First[outside])
	k.Next = slices.Clone(k.Next)
	for at := range k.Next {
		if e.After(epoch, e.Letter[at]) != epoch {
			k.Next[at] = outside
		}
	}
	return &Graph{Kernel: &k}
}
