// Package chart draws curves with confidence bands to SVG, PNG and PDF files: regret
// and violation against episodes on logarithmic axes, trade-off curves on linear
// ones.
//
//	f := chart.Figure{Panels: []chart.Panel{{
//		X: chart.Axis{Title: "episodes", Log: true}, Y: chart.Axis{Title: "regret", Log: true},
//		Curves: []chart.Curve{{Name: "moma", X: episodes, Y: regret, Low: low, High: high}},
//	}}}
//	err := f.Save("regret.svg")
//
// [Figure.Save] writes a file in the format of its ending, [Figure.Bytes] returns it, and
// [FormatOf] says in advance whether an ending is known.
//
// The look is the same everywhere and is meant for print: sans-serif letters of 9
// points in a figure as wide as a page's text, colours that people who confuse
// colours tell apart (Okabe and Ito's, without the yellow that paper swallows), and
// for every curve a pattern of dashes besides, so that a copy in black and white
// can be read too. The legend stands under the panels and never on the data. The
// same figure gives the same bytes at every call, PDF included.
//
// PDF files show the characters of Windows code page 1252 only; SVG and PNG show
// what the embedded font has.
package chart
