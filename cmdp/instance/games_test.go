package instance

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// processes returns the names of the instances without an opponent, games those
// with one.
func processes(t *testing.T) []string { return split(t, false) }
func games(t *testing.T) []string     { return split(t, true) }

func split(t *testing.T, game bool) (names []string) {
	t.Helper()
	for _, name := range Names() {
		if m := mustNew(t, name).Model; m != nil && m.Shape().Game() == game { // others are fleets
			names = append(names, name)
		}
	}
	return names
}

// gameVariants are specs whose gap is known.
var gameVariants = map[string]float64{
	"matrix":                             0,
	"matrix:limit=0.4":                   0.1 * math.Sqrt2,
	"matrix:game=rps":                    0,
	"matrix:game=rps,limit=0.3":          1.0/3 - 0.3,
	"matrix:game=regret2":                0,
	"matrix:game=regret2,limit=-0.1":     0.1 * math.Sqrt2,
	"matrix:game=regret3":                0,
	"matrix:game=regret3,limit=-0.1":     0.1 * math.Sqrt(3),
	"soccer":                             0,
	"soccer:rows=2,cols=3,H=5":           0,
	"soccer:rows=3,cols=4,H=4,share=0.6": 0.4,
}

func gapOf(t *testing.T, spec string) float64 {
	t.Helper()
	d, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	gap, ok := gameVariants[d.Name]
	if !ok {
		t.Fatalf("%s is named %s", spec, d.Name)
	}
	return gap
}

// TestGaps asks for F(θ) = V*(θ) − h_W(θ) in many directions: its greatest value is
// the gap, and it is attained.
func TestGaps(t *testing.T) {
	for spec := range gameVariants {
		p := mustNew(t, spec)
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := cmdp.NewMinimax(p.Model)
		if err != nil {
			t.Fatal(err)
		}
		want, rng, d := gapOf(t, spec), rand.New(rand.NewPCG(1, 1)), p.Model.Dim()
		best, point := 0.0, make([]float64, d) // 0 in the direction 0
		tried := 3000
		if p.Model.States() > 1 {
			tried = 5000 / p.Model.States() // 7 at least, among them the axes
		}
		for i := range tried {
			dir := make([]float64, d)
			for j := range dir {
				dir[j] = rng.NormFloat64()
			}
			if i < 2*d+1 { // the axes and the diagonal
				for j := range dir {
					dir[j] = 0
					if i == 2*d || j == i/2 {
						dir[j] = 1 - 2*float64(i%2)
					}
				}
			}
			floats.Scale(1/floats.Norm(dir, 2), dir)
			if i == 2*d {
				floats.Scale(math.Copysign(1, dir[0]), dir)
			}
			low, up, _ := g.Solve(t.Context(), dir)
			task.Target.MaximizeLinear(point, dir)
			if gap := up - floats.Dot(dir, point); gap > want+1e-9 {
				t.Errorf("%s: the gap is at least %g in direction %v: want %g", spec, gap, dir, want)
			}
			best = max(best, low-floats.Dot(dir, point))
		}
		if best < want-1e-9 {
			t.Errorf("%s: the largest gap found is %g: want %g", spec, best, want)
		}
	}
}

// TestNoSinglePolicyReaches shows that the regrets of the regret games can be
// driven to zero only by adapting: every policy has an opponent against whom some
// regret is positive, although every opponent has a policy without.
func TestNoSinglePolicyReaches(t *testing.T) {
	for _, game := range []string{"regret2", "regret3"} {
		p := mustNew(t, "matrix:game="+game)
		d, rng := p.Model.Dim(), rand.New(rand.NewPCG(2, 2))
		k := p.Model.Kernel(0).Plain(p.Model.Dim())
		for range 1000 {
			mix := make([]float64, d)
			for i := range mix {
				mix[i] = rng.ExpFloat64()
			}
			floats.Scale(1/floats.Sum(mix), mix)
			worst := math.Inf(-1) // over the opponent's actions, of the agent's mixture
			for b := range d {
				for i := range d {
					x := 0.0
					for a := range d {
						x += mix[a] * k.Returns[(a*d+b)*d+i]
					}
					worst = max(worst, x)
				}
			}
			if worst <= 1e-3 {
				t.Errorf("%s: the mixture %v has no regret above %g", game, mix, worst)
			}
			best := math.Inf(1) // over the agent's actions, against the opponent's mixture
			for a := range d {
				most := math.Inf(-1)
				for i := range d {
					x := 0.0
					for b := range d {
						x += mix[b] * k.Returns[(a*d+b)*d+i]
					}
					most = max(most, x)
				}
				best = min(best, most)
			}
			if best > 1e-12 {
				t.Errorf("%s: against %v every action has a regret of at least %g", game, mix, best)
			}
		}
	}
}

// TestSoccerRules follows single moves.
func TestSoccerRules(t *testing.T) {
	g := Soccer{Rows: 2, Cols: 3, Horizon: 5, Share: 0.5}
	const up, down, left, right, stand = 0, 1, 2, 3, 4
	for _, c := range []struct {
		at           position
		player, move int
		want         position
		scorer       int
	}{
		{position{[2]int{0, 4}, 0}, 0, left, position{[2]int{0, 4}, 0}, 0},       // the agent's goal
		{position{[2]int{0, 4}, 1}, 0, left, position{[2]int{0, 4}, 1}, noGoal},  // not without the ball
		{position{[2]int{0, 5}, 1}, 1, right, position{[2]int{0, 5}, 1}, 1},      // the opponent's goal
		{position{[2]int{0, 3}, 1}, 1, left, position{[2]int{0, 3}, 1}, noGoal},  // not an own goal
		{position{[2]int{0, 1}, 0}, 0, right, position{[2]int{0, 1}, 1}, noGoal}, // loses the ball
		{position{[2]int{0, 1}, 1}, 0, right, position{[2]int{0, 1}, 1}, noGoal}, // does not win it
		{position{[2]int{0, 5}, 0}, 0, down, position{[2]int{3, 5}, 0}, noGoal},
		{position{[2]int{0, 5}, 0}, 0, up, position{[2]int{0, 5}, 0}, noGoal},
		{position{[2]int{0, 5}, 0}, 1, stand, position{[2]int{0, 5}, 0}, noGoal},
	} {
		at := c.at
		if scorer := g.move(&at, c.player, c.move); scorer != c.scorer || at != c.want {
			t.Errorf("%v: move %d of player %d gives %v, scorer %d: want %v, %d", c.at, c.move, c.player, at, scorer,
				c.want, c.scorer)
		}
	}
	big := mustNew(t, "soccer")
	if n := big.Model.States(); n != 760 {
		t.Errorf("Littman's grid has %d states: want 760", n)
	}
}

// TestGarnetGameRoom: one policy keeps all bounds with room=1, and none can be
// guaranteed below the room=0 ones.
func TestGarnetGameRoom(t *testing.T) {
	bounds := func(p *problem.Problem) []float64 {
		var b []float64
		for _, c := range p.Constraints {
			b = append(b, *c.AtMost)
		}
		return b
	}
	for seed := range 5 {
		loose := mustNew(t, fmt.Sprintf("garnetgame:S=6,H=3,b=2,room=1,seed=%d", seed+2))
		tight := mustNew(t, fmt.Sprintf("garnetgame:S=6,H=3,b=2,room=0,seed=%d", seed+2))
		g, err := cmdp.NewMinimax(loose.Model)
		if err != nil {
			t.Fatal(err)
		}
		low, up := bounds(tight), bounds(loose)
		g.Solve(t.Context(), []float64{1, 1})
		policy := g.Agent().Clone()
		for i := range low {
			dir := make([]float64, len(low))
			dir[i] = 1
			if value, _, _ := g.Solve(t.Context(), dir); math.Abs(value-low[i]) > 1e-9 {
				t.Errorf("seed %d: r%d can be kept at %g: the bound is %g", seed+2, i, value, low[i])
			}
			if value, _, _ := g.OpponentResponse(t.Context(), dir, policy); value > up[i]+1e-9 {
				t.Errorf("seed %d: r%d is driven up to %g: the bound is %g", seed+2, i, value, up[i])
			}
		}
	}
}

func TestGameErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"matrix:game=regret": "instance: matrix: parameter game=regret: want one of regret2, " +
			"regret3, pennies, rps",
		"matrix:limit=x":       "instance: matrix: parameter limit=x: want a number from -10 to 10",
		"soccer:rows=3,cols=3": "instance: soccer: parameter cols=3: want at least 4, because rows=3 is odd",
		"garnetgame:S=2":       "instance: garnetgame: parameter b=3: want at most S=2",
		"garnetgame:S=9000000,A=1000,B=1000": "instance: garnetgame: 2.7e+13 successors or returns to store: want " +
			"at most 268435456",
	} {
		if _, err := New(spec); err == nil || err.Error() != want {
			t.Errorf("%s: got %v: want %s", spec, err, want)
		}
	}
}

// TestManualGames computes the table of games anew.
func TestManualGames(t *testing.T) {
	rows := manualRows(t, "Games")
	documented := make(map[string]bool)
	for _, row := range rows[1:] {
		p := mustNew(t, row[0])
		m := p.Model
		documented[row[0]] = true
		for i, got := range []int{m.States(), m.Choices(), m.Transitions(), m.Horizon(), m.Dim()} {
			if row[1+i] != strconv.Itoa(got) {
				t.Errorf("%s: %s is %d, the manual says %s", row[0], rows[0][1+i], got, row[1+i])
			}
		}
		if gap, ok := gameVariants[row[0]]; ok {
			compareNumbers(t, row[0]+", gap", row[6], []float64{gap})
		}
	}
	for _, name := range games(t) {
		if !documented[name] {
			t.Errorf("the manual has no numbers of %s", name)
		}
	}
}

// TestGamesAsFiles writes every game as a problem file and reads it again.
func TestGamesAsFiles(t *testing.T) {
	for _, spec := range games(t) {
		p := mustNew(t, spec)
		var b bytes.Buffer
		if err := problem.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		q, err := problem.Parse("written.yaml", b.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		k, l := p.Model.Kernel(0).Plain(p.Model.Dim()), q.Model.Kernel(0).Plain(q.Model.Dim())
		if !slices.Equal(k.First, l.First) || !slices.Equal(k.Next, l.Next) || !slices.Equal(k.Prob, l.Prob) ||
			!slices.Equal(k.Returns, l.Returns) ||
			!reflect.DeepEqual(p.Actions, q.Actions) || !reflect.DeepEqual(p.Opponents, q.Opponents) ||
			q.Opponent.Policy != "best-response" ||
			q.Model.Shape().MaxOpponentActions() != p.Model.Shape().MaxOpponentActions() {
			t.Errorf("%s: the game read differs from the one written", spec)
		}
	}
}
