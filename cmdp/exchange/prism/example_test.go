package prism_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"cmdpsolve/cmdp/exchange/prism"
)

// The files of a model stand beside one another in a folder, here one in memory.
func ExampleRead() {
	files := fstest.MapFS{
		"walk.tra":  {Data: []byte("2 2 3\n0 0 0 0.5 walk\n0 0 1 0.5 walk\n1 0 1 1 rest\n")},
		"walk.lab":  {Data: []byte("0=\"init\" 1=\"home\"\n0: 0\n1: 1\n")},
		"walk.srew": {Data: []byte("2 1\n0 1\n")},
	}
	m, err := prism.Read(files, "walk.tra")
	if err != nil {
		log.Fatal(err)
	}
	home, _ := m.Label("home")
	fmt.Println(m.States(), "states,", m.Choices(), "choices,", len(m.Rewards), "reward, home:", home)
	// Output: 2 states, 2 choices, 1 reward, home: [1]
}
