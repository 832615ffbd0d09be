package numpy_test

import (
	"bytes"
	"fmt"
	"log"

	"cmdpsolve/cmdp/exchange"
	"cmdpsolve/cmdp/exchange/numpy"
)

// A model becomes an .npz file with the array P[s,a,s'], which numpy.load opens too.
func ExampleWrite() {
	m := exchange.Empty(1)
	m.Start = exchange.UniformStart([]int32{0})
	m.First, m.Offset = []int32{0, 1, 2}, []int{0, 2, 3}
	m.Target, m.Probability = []int32{0, 1, 1}, []float64{0.25, 0.75, 1}
	var file bytes.Buffer
	if err := numpy.Write(&file, m); err != nil {
		log.Fatal(err)
	}
	in := bytes.NewReader(file.Bytes())
	again, err := numpy.Read(in, in.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.States(), "states, probabilities", again.Probability)
	// Output: 2 states, probabilities [0.25 0.75 1]
}
