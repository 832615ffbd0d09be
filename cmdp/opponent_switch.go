package cmdp

import (
	"fmt"
	"math/rand/v2"

	"cmdpsolve/cmdp/internal/saved"
)

// A SwitchingOpponent plays like one of several opponents for a number of
// episodes, then like the next. After the last one it starts again or stays with
// it. Every one of them observes all episodes.
type SwitchingOpponent struct {
	saved.State
	members []Opponent
	period  int
	stay    bool
	now     int // whose turn it is
}

// NewSwitchingOpponent returns the opponent that goes round among members, each
// for period episodes.
func NewSwitchingOpponent(period int, members ...Opponent) (*SwitchingOpponent, error) {
	if period < 1 {
		return nil, fmt.Errorf("cmdp: switching opponent with a period of %d episodes: want at least 1", period)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("cmdp: switching opponent without members")
	}
	s := &SwitchingOpponent{members: members, period: period}
	for i, o := range members {
		if o == nil {
			return nil, fmt.Errorf("cmdp: member %d of the switching opponent is missing", i)
		}
		s.Keep(saved.Own{Name: "cmdp: opponent", Part: o})
	}
	return s, nil
}

// NewRandomStartOpponent returns the opponent that plays uniformly at random for
// a number of episodes and like then ever after.
func NewRandomStartOpponent(shape *Shape, episodes int, then Opponent) (*SwitchingOpponent, error) {
	if episodes < 1 {
		return nil, fmt.Errorf("cmdp: random start of %d episodes: want at least 1", episodes)
	}
	o, err := NewSwitchingOpponent(episodes, NewUniformOpponent(shape), then)
	if err != nil {
		return nil, err
	}
	o.stay = true
	return o, nil
}

// Begin lets the member whose turn it is prepare.
func (o *SwitchingOpponent) Begin(v *View) error {
	i := v.Episode / o.period
	if o.stay {
		i = min(i, len(o.members)-1)
	}
	o.now = i % len(o.members)
	return o.members[o.now].Begin(v)
}

// Choose returns the action of the member whose turn it is.
func (o *SwitchingOpponent) Choose(rng *rand.Rand, h, s int) int {
	return o.members[o.now].Choose(rng, h, s)
}

// switchingPolicy is the policy of a SwitchingOpponent whose members have one each.
type switchingPolicy struct {
	*SwitchingOpponent
	policies []Policy
}

func (t switchingPolicy) Distribution(dst []float64, h, s int) {
	t.policies[t.now].Distribution(dst, h, s)
}

func (o *SwitchingOpponent) markov() (Policy, bool) {
	t := switchingPolicy{o, make([]Policy, len(o.members))}
	for i, m := range o.members {
		p, ok := Markov(m)
		if !ok {
			return nil, false
		}
		t.policies[i] = p
	}
	return t, true
}

// Observe shows the episode to all members.
func (o *SwitchingOpponent) Observe(tr *Trajectory) {
	for _, m := range o.members {
		m.Observe(tr)
	}
}
