package cmdptest

import (
	"encoding"
	"math"

	"cmdpsolve/cmdp"
)

// dualEpisodes is how many episodes CheckDualUpdate observes.
const dualEpisodes = 400

// CheckDualUpdate feeds a dual update with random returns in the box of possible
// returns of a shape and checks that directions are finite and of the right
// length, that a value is neither changed nor kept, that runs repeat, and, if the
// update can be saved, that it goes on bit for bit. make returns a fresh update,
// the same at every call.
func CheckDualUpdate(make func() cmdp.DualUpdate, sh *cmdp.Shape) error {
	whole, err := observe(make(), make, sh, false)
	if err != nil {
		return err
	}
	again, err := observe(make(), make, sh, false)
	if err != nil {
		return err
	}
	if !equal(whole, again) {
		return errorf("repeatable", "the same returns gave other directions the second time")
	}
	if _, ok := make().(encoding.BinaryMarshaler); !ok {
		return nil
	}
	saved, err := observe(make(), make, sh, true)
	if err != nil {
		return err
	}
	if !equal(whole, saved) {
		return errorf("saving", "an update saved and restored gave other directions")
	}
	return nil
}

// observe returns all directions that an update takes, one after the other. If
// save is set, it is replaced by a restored copy every 50 episodes.
func observe(u cmdp.DualUpdate, fresh func() cmdp.DualUpdate, sh *cmdp.Shape, save bool) ([]float64, error) {
	d, rng := sh.Dim(), stream("returns")
	lo, up := sh.Totals()
	value, before := make([]float64, d), make([]float64, d)
	var all []float64
	for k := range dualEpisodes {
		dir := u.Direction()
		if len(dir) != d || !finite(dir) {
			return nil, errorf("direction", "episode %d: direction %v: want %d finite numbers", k+1, dir, d)
		}
		all = append(all, dir...)
		for i := range value {
			value[i] = lo[i] + rng.Float64()*(up[i]-lo[i])
		}
		copy(before, value)
		ev := u.Observe(value, -rng.Float64())
		if !equal(value, before) {
			return nil, errorf("value", "episode %d: Observe changed the value", k+1)
		}
		if math.IsNaN(ev.Gap) || math.IsNaN(ev.Optimum) {
			return nil, errorf("evidence", "episode %d: %+v", k+1, ev)
		}
		after := append([]float64(nil), u.Direction()...)
		for i := range value {
			value[i] = math.NaN() // whoever kept the slice finds NaN in it
		}
		if !equal(after, u.Direction()) {
			return nil, errorf("value", "episode %d: the direction hangs on the value after Observe", k+1)
		}
		if save && k%50 == 49 {
			var err error
			u, err = resaved(u, fresh())
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// resaved moves the state of from into to.
func resaved[T any](from, to T) (T, error) {
	m, ok := any(from).(encoding.BinaryMarshaler)
	if !ok {
		return to, errorf("saving", "%T has no MarshalBinary", from)
	}
	data, err := m.MarshalBinary()
	if err != nil {
		return to, errorf("saving", "%v", err)
	}
	r, ok := any(to).(encoding.BinaryUnmarshaler)
	if !ok {
		return to, errorf("saving", "%T has MarshalBinary, but no UnmarshalBinary", to)
	}
	if err := r.UnmarshalBinary(data); err != nil {
		return to, errorf("saving", "%v", err)
	}
	return to, nil
}
