package baseline

import (
	"errors"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A scaledTask is a task with its signals scaled to [0,1]: minimise V_0 subject to
// V_i ≤ limit[i−1], i = 1 … I. See the package comment.
type scaledTask struct {
	shape   *cmdp.Shape
	returns *cmdp.Returns // nil if learned
	linear  *Linear
	horizon int
	states  int
	signals int       // I+1
	least   []float64 // H×signals: l
	width   []float64 // signals: w, 1 where a signal never varies
	shift   []float64 // signals: Σ_h l
	limit   []float64 // I
	base    []int     // number of the first slot of each step
	first   [][]int32 // offsets of the choices of each state; one slice or H
	start   []cmdp.StartState
	most    int // actions of a state
}

// newScaledTask scales the problem of a Config for the named algorithm.
func newScaledTask(name string, c *Config) (*scaledTask, error) {
	linear := c.Linear
	if linear == nil {
		var err error
		linear, err = LinearForm(c.Shape, c.Task)
		if err != nil {
			if errors.Is(err, ErrUnsupported) {
				return nil, unsupported(name, "%s", strings.TrimSuffix(err.Error(), ": "+ErrUnsupported.Error()))
			}
			return nil, err
		}
	} else if err := linear.check(c.Shape.Dim()); err != nil {
		return nil, err
	}
	return scaleTo(c, linear), nil
}

func scaleTo(c *Config, linear *Linear) *scaledTask {
	sh := c.Shape
	u := &scaledTask{shape: sh, returns: c.Returns, linear: linear, horizon: sh.Horizon(), states: sh.States(),
		signals: 1 + len(linear.Rows), first: sh.AgentOffsets(), start: sh.StartStates(), most: sh.MaxActions()}
	u.width, u.shift = make([]float64, u.signals), make([]float64, u.signals)
	u.least = make([]float64, u.horizon*u.signals)
	for j := range u.signals {
		for h := range u.horizon {
			lo, up := sh.StepReturns(h)
			low, high := geometry.LinearRange(u.form(j), lo, up)
			u.least[h*u.signals+j] = low
			u.shift[j] += low
			u.width[j] = max(u.width[j], high-low)
		}
		if u.width[j] == 0 {
			u.width[j] = 1
		}
	}
	for i, r := range linear.Rows {
		u.limit = append(u.limit, (r.Offset-u.shift[i+1])/u.width[i+1])
	}
	u.base = make([]int, u.horizon+1)
	for h := range u.horizon {
		u.base[h+1] = u.base[h] + sh.StepChoices(h)
	}
	return u
}

// form returns the coefficients of signal j over the user's returns.
func (u *scaledTask) form(j int) []float64 {
	if j == 0 {
		return u.linear.Goal
	}
	return u.linear.Rows[j-1].Normal
}

func (u *scaledTask) slots() int { return u.base[u.horizon] }

func (u *scaledTask) offsets(h int) []int32 { return u.first[min(h, len(u.first)-1)] }

// signal returns the scaled value of signal j for a return vector of step h.
func (u *scaledTask) signal(h, j int, returns []float64) float64 {
	return (floats.Dot(u.form(j), returns) - u.least[h*u.signals+j]) / u.width[j]
}

// rest returns signal j of a step where the process rests. The return of such a
// step is 0.
func (u *scaledTask) rest(h, j int) float64 { return -u.least[h*u.signals+j] / u.width[j] }

// totals sets dst to the scaled values of the returns of a whole episode.
func (u *scaledTask) totals(dst, returns []float64) {
	for j := range dst {
		dst[j] = (floats.Dot(u.form(j), returns) - u.shift[j]) / u.width[j]
	}
}
