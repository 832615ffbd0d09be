package chart_test

import (
	"bytes"
	"fmt"

	"cmdpsolve/cmdp/chart"
)

func ExampleFigure_Bytes() {
	f := chart.Figure{Panels: []chart.Panel{{
		X:      chart.Axis{Title: "episodes", Log: true},
		Y:      chart.Axis{Title: "regret", Log: true},
		Curves: []chart.Curve{{Name: "moma", X: []float64{1, 10, 100}, Y: []float64{2, 9, 31}}},
	}}}
	svg, err := f.Bytes("svg")
	fmt.Println(bytes.Contains(svg, []byte("episodes")), err)
	// Output: true <nil>
}
