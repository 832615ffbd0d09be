package exchange_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"cmdpsolve/cmdp/exchange/drn"
	"cmdpsolve/cmdp/exchange/umb"
)

// A model in Storm's text format is read, written in the binary format, checked, and read
// again.
func Example() {
	text := `@type: MDP
@value_type: double
@parameters

@reward_models
time
@nr_states
2
@nr_choices
3
@model
state 0 [0] init
	action walk [1]
		0 : 0.5
		1 : 0.5
	action run [2]
		1 : 1
state 1 [0] home
	action rest [0]
		1 : 1
`
	m, err := drn.Read(strings.NewReader(text), int64(len(text)))
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := umb.Write(&file, m, umb.WriteOptions{}); err != nil {
		log.Fatal(err)
	}
	in := bytes.NewReader(file.Bytes())
	again, err := umb.Read(in, in.Size())
	if err != nil {
		log.Fatal(err)
	}
	home, _ := again.Label("home")
	fmt.Println(again.States(), "states,", again.Choices(), "choices,", again.DistinctActions(), "home:", home)
	// Output: 2 states, 3 choices, [walk run rest] home: [1]
}
