package monitor_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strconv"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// corridor is a model of three steps: in state 0 each step leads with probability one half to the end, state 1,
// from which there is one way, back.
func corridor() *cmdp.Model {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{State: 0, Returns: []float64{0}, Next: []cmdp.Transition{{Next: 1, Probability: 0.5},
			{Next: 0, Probability: 0.5}}},
		{State: 1, Returns: []float64{0}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			log.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// How likely is a walker to arrive?
func ExampleNew() {
	arrives := &monitor.Reach{Title: "arrives", Target: []bool{false, true}, Within: -1}
	p, err := monitor.New(monitor.Spec{Model: corridor(), Monitors: []monitor.Monitor{arrives}, Columns: []int{1}})
	if err != nil {
		log.Fatal(err)
	}
	box, err := geometry.NewBox([]float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	likely, err := cost.NewLinear([]float64{-1}, box)
	if err != nil {
		log.Fatal(err)
	}
	r, err := exact.Solve(context.Background(), p.Model, cmdp.Task{Cost: likely}, exact.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d pairs, memory %q; arrives with probability %.3f\n", p.Model.States(), p.Memory(0), r.Returns[0])
	// Output:
	// 3 pairs, memory "under way"; arrives with probability 0.875
}

// A turns is a monitor of one's own. It remembers the state before, and returns 1 for each step that leads back there.
type turns struct{}

func (turns) Name() string                 { return "state before" }
func (turns) Rewards() int                 { return 1 }
func (turns) Range(lower, upper []float64) { lower[0], upper[0] = 0, math.Inf(1) }
func (turns) Value(memory int) string      { return strconv.Itoa(memory - 1) }

// Start remembers 0, for no state. Others are numbered from 1.
func (turns) Start(dst []float64, _ monitor.Transition) int {
	dst[0] = 0
	return 0
}

// Step remembers the state that the step began in.
func (turns) Step(dst []float64, memory int, t monitor.Transition) int {
	if dst[0] = 0; memory-1 == t.Next && t.State != t.Next {
		dst[0] = 1
	}
	return t.State + 1
}

// A monitor of one's own, checked by the laws of monitors, and how often a walker turns on average.
func ExampleMonitor() {
	m := corridor()
	if err := cmdptest.CheckMonitor(m, turns{}); err != nil {
		log.Fatal(err)
	}
	p, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{turns{}}, Columns: []int{1}})
	if err != nil {
		log.Fatal(err)
	}
	turned := make([]float64, 1)
	cmdp.NewEvaluator(p.Model).Returns(turned, cmdp.Uniform{Shape: p.Model.Shape()})
	fmt.Println(turned[0], "turns")
	// Output:
	// 1 turns
}

// A deterministic automaton that reads whether the walker is at the end, and returns 1 for the second arrival.
func ExampleNewTable() {
	again, err := monitor.NewTable(monitor.TableSpec{
		Title:  "again",
		Memory: []string{"not yet", "once", "twice"},
		Symbol: []int{0, 1}, // of state 0 and of the end
		Next:   [][]int{{0, 1}, {1, 2}, {2, 2}},
		Reward: [][]float64{{0, 0}, {0, 1}, {0, 0}},
	})
	if err != nil {
		log.Fatal(err)
	}
	p, err := monitor.New(monitor.Spec{Model: corridor(), Monitors: []monitor.Monitor{again}, Columns: []int{1}})
	if err != nil {
		log.Fatal(err)
	}
	twice := make([]float64, 1)
	cmdp.NewEvaluator(p.Model).Returns(twice, cmdp.Uniform{Shape: p.Model.Shape()})
	fmt.Println("arrives twice with probability", twice[0])
	// Output:
	// arrives twice with probability 0.25
}
