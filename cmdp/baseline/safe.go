package baseline

// A safePolicy is what zero-violation algorithms are told: a policy whose scaled
// signals keep every limit with room.
type safePolicy struct {
	value []float64 // signals of the policy
	room  float64   // least room to a limit
}

// newSafePolicy returns the safe policy that a Config knows, for the named
// algorithm. Without constraints none is needed, and the room is H.
func newSafePolicy(name string, c *Config, u *scaledTask) (*safePolicy, error) {
	if len(u.limit) == 0 {
		return &safePolicy{room: float64(u.horizon)}, nil
	}
	if c.Knowledge.Safe == nil {
		return nil, unsupported(name, "it needs a safe policy and its returns")
	}
	s := &safePolicy{value: make([]float64, u.signals), room: float64(u.horizon)}
	u.totals(s.value, c.Knowledge.SafeReturns)
	for i, b := range u.limit {
		s.room = min(s.room, b-s.value[i+1])
	}
	if s.room <= 0 {
		return nil, unsupported(name, "the safe policy that it was told keeps a constraint with room %g: want more than 0", s.room)
	}
	return s, nil
}
