package geometry

import (
	"cmp"
	"fmt"
	"slices"
)

// NewTranslate returns {x + by : x in set}. The result is a Compact, or an
// oracle.FaceProjector, if the set is. It is an error if by has not the set's
// dimension or an entry is not finite.
func NewTranslate(set Set, by []float64) (Set, error) {
	if err := cmp.Or(present("translation", set), vector("translation", by)); err != nil {
		return nil, err
	}
	if len(by) != set.Dim() {
		return nil, fmt.Errorf("geometry: translation by %d coordinates of a set of dimension %d: want the same",
			len(by), set.Dim())
	}
	return newSimilarity(set, slices.Clone(by), 1), nil
}
