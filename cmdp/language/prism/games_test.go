package prism_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/language"
)

// TestRandomGames gives the actions of random programs, and the commands without one, to two players or to nobody. A
// state belongs to the player who has its choices; it is an error if that is nobody, or both.
func TestRandomGames(t *testing.T) {
	games := make(map[bool]int)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(28, seed))
		plain, text := drawProgram(rng)
		if plain.chain || len(plain.starts()) == 0 {
			continue
		}
		has, lists, most := make(map[string]int), [3][]string{}, rng.IntN(2)
		gives := func(who, listed string) {
			if _, ok := has[who]; !ok {
				if has[who] = most; rng.IntN(3) == 0 {
					has[who] = rng.IntN(3)
				}
				lists[has[who]] = append(lists[has[who]], listed)
			}
		}
		for i, m := range plain.modules {
			gives(fmt.Sprint("m", i), fmt.Sprint("m", i))
			for _, c := range m {
				if c.action != "" {
					gives(c.action, "["+c.action+"]")
				}
			}
		}
		twins := drawCondition(rng, plain.variables, 1) // two modules that do nothing, in the same states
		hasTwins := plain.over == nil && rng.IntN(2) == 0
		for i := 0; i < 2 && hasTwins; i++ {
			gives(fmt.Sprint("twin", i), fmt.Sprint("twin", i))
			text += fmt.Sprintf("module twin%d [] %s -> true; endmodule\n", i, twins.text)
		}
		text = fmt.Sprintf("smg player one %s endplayer player two %s endplayer\n", strings.Join(lists[0], ","),
			strings.Join(lists[1], ",")) + text[strings.Index(text, "\n"):]
		wrong := false
		owners := make(map[string]int)
		rows := plain.rows()
		if len(plain.wrong) > 0 {
			continue
		}
		for state := range rows {
			movers := plain.movers[state]
			if hasTwins && twins.of(vector(state)) > 0 {
				movers = append(movers, "twin0", "twin1")
			}
			for i, who := range movers {
				wrong = wrong || has[who] == 2 || i > 0 && has[who] != owners[state]
				owners[state] = has[who]
			}
		}
		r, err := explore(text, nil, 1)
		if (err != nil) != wrong || err != nil && !strings.Contains(err.Error(), "player") {
			t.Fatalf("%v: want an error: %t\n%s", err, wrong, text)
		}
		games[wrong]++
		if !wrong {
			checkModel(t, r, plain.goal, text)
			if r.p.Kind != language.Game || !slices.Equal(r.p.Players, []string{"one", "two"}) {
				t.Fatalf("a model of kind %d of the players %v\n%s", r.p.Kind, r.p.Players, text)
			}
		}
		for s := 0; !wrong && s < len(r.owners); s++ {
			if name := fmt.Sprint(vector(r.name(int32(s)))); r.owners[s] != owners[name] {
				t.Fatalf("%s belongs to player %d\n%s", name, r.owners[s], text)
			}
		}
	}
	if games[true] < 30 || games[false] < 30 {
		t.Errorf("%d games are right and %d wrong", games[false], games[true])
	}
}
