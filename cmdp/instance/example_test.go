package instance_test

import (
	"fmt"

	"cmdpsolve/cmdp/instance"
)

func ExampleNew() {
	p, err := instance.New("cliff:rows=3,cols=4,budget=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Name, p.Model.States(), p.Returns)
	_, err = instance.New("cliff:depth=3")
	fmt.Println(err)
	// Output:
	// cliff:rows=3,cols=4,budget=2 10 [reward cost]
	// instance: cliff: unknown parameter "depth": want one of H, rows, cols, budget
}
