package cmdp

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp/internal/saved"
)

// A ScriptedOpponent plays given actions in turn, whatever the agent does. At
// step h of episode k it plays action k·H + h of the list; after the end of the
// list it starts again. It does not see states, so that an action of the list may
// be one that a state does not offer; that ends the run with an error.
type ScriptedOpponent struct {
	memoryless
	actions          []int
	episode, horizon int
	everywhere       bool // every state offers all actions of the script
}

// NewScriptedOpponent returns the opponent with the given actions, which are
// copied. There must be at least one, and none may be negative or beyond what any
// state offers.
func NewScriptedOpponent(shape *Shape, actions []int) (*ScriptedOpponent, error) {
	if len(actions) == 0 {
		return nil, fmt.Errorf("cmdp: scripted opponent without actions")
	}
	if err := checkScript(shape, actions); err != nil {
		return nil, err
	}
	return &ScriptedOpponent{actions: slices.Clone(actions), horizon: shape.horizon,
		everywhere: slices.Max(actions) < fewestChoices(shape)}, nil
}

// fewestChoices returns the least number of actions of the opponent in a state in
// which it has several.
func fewestChoices(shape *Shape) int {
	fewest := shape.MaxOpponentActions()
	for _, row := range shape.opponents {
		for _, n := range row {
			if n > 1 {
				fewest = min(fewest, int(n))
			}
		}
	}
	return fewest
}

func checkScript(shape *Shape, actions []int) error {
	for i, b := range actions {
		if most := shape.MaxOpponentActions(); b < 0 || b >= most {
			return fmt.Errorf("cmdp: action %d of the script is %d: want 0 to %d", i, b, most-1)
		}
	}
	return nil
}

// Begin finds the place in the script.
func (o *ScriptedOpponent) Begin(v *View) error {
	o.episode = v.Episode
	return nil
}

// Choose returns the action of the script.
func (o *ScriptedOpponent) Choose(_ *rand.Rand, h, _ int) int {
	// The remainder first, so that long runs do not overflow.
	return o.actions[(o.episode%len(o.actions)*o.horizon+h)%len(o.actions)]
}

func (o *ScriptedOpponent) markov() (Policy, bool) { return pure{o}, o.everywhere }

// pure is the policy of an opponent that draws nothing.
type pure struct{ Opponent }

func (p pure) Distribution(dst []float64, h, s int) {
	clear(dst)
	dst[p.Choose(nil, h, s)] = 1
}

// A ReplayOpponent plays the actions of a log again, whatever the agent does. The
// run ends with an error once the log is over, or if a logged action does not fit
// the state.
type ReplayOpponent struct {
	memoryless
	log        [][]int
	row        []int
	everywhere bool // every state offers every action of the log, which has no gaps
}

// NewReplayOpponent returns the opponent that plays action log[k][h] at step h of
// episode k. Actions at steps at which the opponent has no choice are not looked
// at; they may be -1, and missing at the end of a row. The log is not copied.
func NewReplayOpponent(shape *Shape, log [][]int) (*ReplayOpponent, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	fewest, everywhere := fewestChoices(shape), true
	for k, row := range log {
		everywhere = everywhere && len(row) == shape.horizon
		if len(row) > shape.horizon {
			return nil, fmt.Errorf("cmdp: log of episode %d has %d actions: want at most the horizon %d", k+1, len(row), shape.horizon)
		}
		for h, b := range row {
			if most := shape.MaxOpponentActions(); b < -1 || b >= most {
				return nil, fmt.Errorf("cmdp: log of episode %d, step %d: action %d: want 0 to %d, or -1 for none", k+1, h+1, b, most-1)
			}
			everywhere = everywhere && b >= 0 && b < fewest
		}
	}
	return &ReplayOpponent{log: log, everywhere: everywhere}, nil
}

// Begin finds the episode in the log.
func (o *ReplayOpponent) Begin(v *View) error {
	if v.Episode >= len(o.log) {
		return fmt.Errorf("cmdp: the log of the opponent ends after %d episodes", len(o.log))
	}
	o.row = o.log[v.Episode]
	return nil
}

// Choose returns the logged action, -1 if there is none.
func (o *ReplayOpponent) Choose(_ *rand.Rand, h, _ int) int {
	if h >= len(o.row) {
		return -1
	}
	return o.row[h]
}

func (o *ReplayOpponent) markov() (Policy, bool) { return pure{o}, o.everywhere }

// A RecordingOpponent plays like another one and keeps a log for
// [NewReplayOpponent].
type RecordingOpponent struct {
	saved.State
	inner Opponent
	shape *Shape
	past  struct{ Log [][]int }
}

// NewRecordingOpponent returns an opponent that records inner.
func NewRecordingOpponent(shape *Shape, inner Opponent) (*RecordingOpponent, error) {
	if inner == nil {
		return nil, fmt.Errorf("cmdp: no opponent to record")
	}
	o := &RecordingOpponent{inner: inner, shape: shape}
	o.Keep(&o.past, saved.Own{Name: "cmdp: opponent", Part: inner})
	return o, nil
}

// Begin hands the view on.
func (o *RecordingOpponent) Begin(v *View) error { return o.inner.Begin(v) }

// Choose returns the action of the recorded opponent.
func (o *RecordingOpponent) Choose(rng *rand.Rand, h, s int) int { return o.inner.Choose(rng, h, s) }

// Observe logs the opponent's actions of the episode and hands it on.
func (o *RecordingOpponent) Observe(tr *Trajectory) {
	row := make([]int, tr.Steps)
	for h := range row {
		row[h] = -1
		if a := tr.Actions[h]; a >= 0 {
			_, row[h] = o.shape.Split(h, tr.States[h], a)
		}
	}
	o.past.Log = append(o.past.Log, row)
	o.inner.Observe(tr)
}

// Log returns the actions of the opponent in each episode so far, -1 at steps at
// which the process rested. It must not be changed.
func (o *RecordingOpponent) Log() [][]int { return o.past.Log }

func (o *RecordingOpponent) markov() (Policy, bool) { return Markov(o.inner) }
