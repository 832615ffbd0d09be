package baseline

import "cmdpsolve/cmdp"

// newCoordinates returns a unit whose signals are the coordinates of the return,
// scaled to [0,1], for methods that plan for any direction. It has no limits. With
// extra there is one more signal at the end, always 0, which a method may use for
// itself.
func newCoordinates(c *Config, extra bool) *scaledTask {
	d := c.Shape.Dim()
	linear := &Linear{Goal: unitVector(d, 0)}
	for i := 1; i < d; i++ {
		linear.Rows = append(linear.Rows, cmdp.Constraint{Normal: unitVector(d, i)})
	}
	if extra {
		linear.Rows = append(linear.Rows, cmdp.Constraint{Normal: make([]float64, d)})
	}
	u := scaleTo(c, linear)
	u.limit = nil
	return u
}

// returnsOf sets dst, of length d, to the returns that scaled coordinates stand
// for.
func (u *scaledTask) returnsOf(dst, scaled []float64) {
	for j := range dst {
		dst[j] = u.width[j]*scaled[j] + u.shift[j]
	}
}
