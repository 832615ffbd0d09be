package query

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// TestCancelledCalls: once its context is done each call says so, or that it was stopped, and claims nothing.
func TestCancelledCalls(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	const worst, never = "constraints: [{return: gain, at_least: 2, cvar: 0.5}]",
		"constraints: [{return: gain, at_least: 6, probability: 0.9}]"
	over := []Objective{{"gain", true}, {"much", false}}
	for _, limits := range []string{"", worst, never} {
		q := parsed(t, fmt.Sprintf(walk, "{gain: {}, much: {exceeds: {return: gain, limit: 4}}}", limits))
		s := NewSimulation(q, []Drawn{{1, cmdp.Deterministic{make([]int32, 99), make([]int32, 99)}}}, 1, 2)
		solved := func(r *exact.Result, err error) error {
			if err == nil && (r.Status == exact.Stopped || r.Status == exact.Undecided) {
				return context.Canceled
			}
			return err
		}
		for name, call := range map[string]func() error{
			"solve":    func() error { return solved(q.Solve(done, exact.Options{})) },
			"play":     func() error { return s.Play(done) },
			"describe": func() error { _, err := s.Distributions(done, 10); return err },
			"conflict": func() error { _, err := q.Conflict(done, exact.Options{}); return err },
			"front": func() error {
				f, err := q.Front(done, over, exact.FrontOptions{})
				if err == nil && f.Status != exact.Optimal && f.Status != exact.Infeasible {
					return context.Canceled
				}
				return err
			},
			"front without draws": func() error {
				f, err := q.DeterministicFront(done, [2]Objective(over), exact.DeterministicOptions{})
				if err == nil && f.Status != exact.Optimal && f.Status != exact.Infeasible {
					return context.Canceled
				}
				return err
			},
		} {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %v", limits, name, err)
			}
		}
		if s.Episodes > 0 {
			t.Errorf("%s: %d episodes were played", limits, s.Episodes)
		}
	}
}
