package gymnasium_test

import (
	"fmt"
	"log"
	"strings"

	"cmdpsolve/cmdp/exchange/gymnasium"
)

// The table P of an environment: in state 0, action 0 waits and action 1 leaves for a reward of 2.
func ExampleRead() {
	table := `{"0": {"0": [[1.0, 0, 0.0, false]], "1": [[0.5, 1, 2.0, true], [0.5, 0, 0.0, false]]},
	           "1": {"0": [[1.0, 1, 0.0, true]],  "1": [[1.0, 1, 0.0, true]]}}`
	m, err := gymnasium.Read(strings.NewReader(table), int64(len(table)))
	if err != nil {
		log.Fatal(err)
	}
	over, _ := m.Label("terminated")
	fmt.Println(m.States(), "states,", m.Choices(), "choices, episodes end in", over)
	// Output: 2 states, 4 choices, episodes end in [1]
}
