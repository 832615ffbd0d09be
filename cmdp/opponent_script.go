package cmdp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp/internal/saved"
)

// A ScriptedOpponent plays given actions, whatever the agent does. It does not see states, so
// that an action may be one that a state does not offer; that ends the run with an error.
type ScriptedOpponent struct {
	memoryless
	at         func(episode, h int) int
	episodes   int // in which there are actions
	episode    int
	everywhere bool // every state offers all actions, and there is one at every step
}

// NewScriptedOpponent returns the opponent that plays the given actions in turn: at step h of
// episode k action k·H + h of the list, which it copies; after the end of the list it starts
// again. There must be at least one, and none may be negative or beyond what any state
// offers.
func NewScriptedOpponent(shape *Shape, actions []int) (*ScriptedOpponent, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if len(actions) == 0 {
		return nil, fmt.Errorf("cmdp: scripted opponent without actions")
	}
	for i, b := range actions {
		if most := shape.MaxOpponentActions(); b < 0 || b >= most {
			return nil, fmt.Errorf("cmdp: action %d of the script is %d: want 0 to %d", i, b, most-1)
		}
	}
	script, n := slices.Clone(actions), len(actions)
	// The remainder first, so that long runs do not overflow.
	at := func(episode, h int) int { return script[(episode%n*shape.horizon+h)%n] }
	return &ScriptedOpponent{at: at, episodes: math.MaxInt, everywhere: slices.Max(script) < fewestChoices(shape)}, nil
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

// Begin finds the place in the script.
func (o *ScriptedOpponent) Begin(v *View) error {
	if v.Episode >= o.episodes {
		return fmt.Errorf("cmdp: the log of the opponent ends after %d episodes", o.episodes)
	}
	o.episode = v.Episode
	return nil
}

// Choose returns the action of the script, -1 if there is none.
func (o *ScriptedOpponent) Choose(_ *rand.Rand, h, _ int) int { return o.at(o.episode, h) }

func (o *ScriptedOpponent) markov() (Policy, bool) { return pureStrategy{o}, o.everywhere }

// pureStrategy is the policy of an opponent that draws nothing.
type pureStrategy struct{ Opponent }

func (p pureStrategy) Distribution(dst []float64, h, s int) {
	clear(dst)
	dst[p.Choose(nil, h, s)] = 1
}

// NewReplayOpponent returns the opponent that plays action log[k][h] at step h of
// episode k. The run ends with an error once the log is over. Actions at steps at which the
// opponent has no choice are not looked at; they may be -1, and missing at the end of a row.
// The log is not copied.
func NewReplayOpponent(shape *Shape, log [][]int) (*ScriptedOpponent, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	fewest, everywhere := fewestChoices(shape), true
	for k, row := range log {
		everywhere = everywhere && len(row) == shape.horizon
		if len(row) > shape.horizon {
			return nil, fmt.Errorf("cmdp: log of episode %d has %d actions: want at most the horizon %d", k+1, len(row),
				shape.horizon)
		}
		for h, b := range row {
			if most := shape.MaxOpponentActions(); b < -1 || b >= most {
				return nil, fmt.Errorf("cmdp: log of episode %d, step %d: action %d: want 0 to %d, or -1 for none", k+1,
					h+1, b, most-1)
			}
			everywhere = everywhere && b >= 0 && b < fewest
		}
	}
	at := func(episode, h int) int {
		if h >= len(log[episode]) {
			return -1
		}
		return log[episode][h]
	}
	return &ScriptedOpponent{at: at, episodes: len(log), everywhere: everywhere}, nil
}

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
