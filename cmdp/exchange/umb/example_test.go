package umb_test

import (
	"bytes"
	"fmt"
	"log"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/umb"
)

// A model of two states is written as a file and read back.
func ExampleRead() {
	m := exchange.Empty(1)
	m.Start = exchange.UniformStart([]int32{0})
	m.First = []int32{0, 1, 2} // a choice in each state
	m.Offset = []int{0, 2, 3}  // two branches, and one
	m.Target = []int32{0, 1, 1}
	m.Probability = []float64{0.25, 0.75, 1}
	m.Labels = []exchange.Label{{Name: "done", States: []int32{1}}}
	var file bytes.Buffer
	if err := umb.Write(&file, m, umb.WriteOptions{Compression: umb.XZ}); err != nil {
		log.Fatal(err)
	}
	in := bytes.NewReader(file.Bytes())
	again, err := umb.Read(in, in.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.States(), "states,", again.Branches(), "branches, probabilities", again.Probability)
	// Output: 2 states, 3 branches, probabilities [0.25 0.75 1]
}
