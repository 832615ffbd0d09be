package baseline

// newSlaterCore returns the core of the named algorithm and the scaled Slater constant of the Config. Without
// constraints none is needed, and it is H.
func newSlaterCore(name string, c *Config) (l *core, room float64, err error) {
	l, err = newCore(name, c)
	if err != nil {
		return nil, 0, err
	}
	if len(l.limit) > 0 && c.Knowledge.Slater == 0 {
		return nil, 0, unsupported(name, "it needs a Slater constant")
	}
	room = float64(l.horizon)
	for i := range l.limit {
		room = min(room, c.Knowledge.Slater/l.width[i+1])
	}
	return l, room, nil
}
