package baseline

// slaterRoom returns the scaled Slater constant of a Config for the named
// algorithm. Without constraints none is needed, and it is H.
func slaterRoom(name string, c *Config, u *scaledTask) (float64, error) {
	if len(u.limit) == 0 {
		return float64(u.horizon), nil
	}
	if c.Knowledge.Slater == 0 {
		return 0, unsupported(name, "it needs a Slater constant")
	}
	return min(u.slack(c.Knowledge.Slater), float64(u.horizon)), nil
}
