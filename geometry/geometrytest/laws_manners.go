package geometrytest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// question is one call of one method, without aliasing.
type question struct {
	name   string
	inputs [][]float64
	ask    func(dst []float64, in [][]float64)
	alias  int // the input that dst may be, or -1
}

func (p *probe) questions(k int) []question {
	x, dir := p.points[k], p.directions[k%len(p.directions)]
	q := []question{{"Project", [][]float64{x}, func(dst []float64, in [][]float64) { p.set.Project(dst, in[0]) }, 0}}
	if p.maximizer != nil {
		q = append(q, question{"MaximizeLinear", [][]float64{dir}, func(dst []float64, in [][]float64) { p.maximizer.MaximizeLinear(dst, in[0]) }, -1})
	}
	if p.faces != nil {
		q = append(q, question{"ProjectFace", [][]float64{x, dir}, func(dst []float64, in [][]float64) { p.faces.ProjectFace(dst, in[1], in[0]) }, 0})
	}
	return q
}

// each calls f for every question at every point.
func (p *probe) each(f func(q question) error) error {
	for k := range p.points {
		for _, q := range p.questions(k) {
			if err := f(q); err != nil {
				return fmt.Errorf("%s of %v: %w", q.name, q.inputs, err)
			}
		}
	}
	return nil
}

func (p *probe) repeatable() error {
	first, second := make([]float64, p.dim), make([]float64, p.dim)
	return p.each(func(q question) error {
		q.ask(first, q.inputs)
		if !finite(first) {
			return fmt.Errorf("answer %v: want finite numbers", first)
		}
		q.ask(second, q.inputs)
		if gap := floats.Distance(first, second, 2); gap > p.slack(append(q.inputs, first)...) {
			return fmt.Errorf("answers %v, then %v", first, second)
		}
		return nil
	})
}

func (p *probe) overwritten() error {
	return p.each(func(q question) error {
		clean := make([]float64, p.dim)
		q.ask(clean, q.inputs)
		for _, fill := range []float64{math.NaN(), math.Inf(1), 7} {
			dirty := slices.Repeat([]float64{fill}, p.dim)
			q.ask(dirty, q.inputs)
			if gap := floats.Distance(clean, dirty, 2); !(gap <= p.slack(append(q.inputs, clean)...)) {
				return fmt.Errorf("answer %v with a destination full of %g, %v with zeros", dirty, fill, clean)
			}
		}
		return nil
	})
}

func (p *probe) untouched() error {
	return p.each(func(q question) error {
		var copies [][]float64
		for _, in := range q.inputs {
			copies = append(copies, slices.Clone(in))
		}
		q.ask(make([]float64, p.dim), copies)
		for k, in := range q.inputs {
			if !slices.Equal(in, copies[k]) {
				return fmt.Errorf("input %v became %v", in, copies[k])
			}
		}
		return nil
	})
}

func (p *probe) aliasing() error {
	return p.each(func(q question) error {
		if q.alias < 0 {
			return nil
		}
		apart := p.blank()
		q.ask(apart, q.inputs)
		together := slices.Clone(q.inputs)
		together[q.alias] = slices.Clone(q.inputs[q.alias])
		q.ask(together[q.alias], together)
		if gap := floats.Distance(apart, together[q.alias], 2); !(gap <= p.slack(append(q.inputs, apart)...)) {
			return fmt.Errorf("answer %v in place, %v apart", together[q.alias], apart)
		}
		return nil
	})
}

func (p *probe) lengths() error {
	long := make([]float64, p.dim+1)
	right := make([]float64, p.dim)
	calls := map[string]func(){
		"Project to a long destination":  func() { p.set.Project(long, right) },
		"Project of a long point":        func() { p.set.Project(right, long) },
		"Project to a short destination": func() { p.set.Project(long[:p.dim-1], right) },
	}
	if p.maximizer != nil {
		calls["MaximizeLinear to a long destination"] = func() { p.maximizer.MaximizeLinear(long, right) }
		calls["MaximizeLinear in a long direction"] = func() { p.maximizer.MaximizeLinear(right, long) }
	}
	if p.faces != nil {
		calls["ProjectFace of a long point"] = func() { p.faces.ProjectFace(right, right, long) }
	}
	var quiet []error
	for name, call := range calls {
		if !panics(call) {
			quiet = append(quiet, errors.New(name))
		}
	}
	return errors.Join(quiet...)
}

func panics(call func()) (did bool) {
	defer func() { did = recover() != nil }()
	call()
	return false
}

func (p *probe) concurrent() error {
	const workers = 8
	broken := make([]error, workers)
	var wait sync.WaitGroup
	var answers [][]float64
	_ = p.each(func(q question) error {
		dst := make([]float64, p.dim)
		q.ask(dst, q.inputs)
		answers = append(answers, dst)
		return nil
	})
	for w := range workers {
		wait.Go(func() {
			broken[w] = guard(p, func(p *probe) error {
				k := 0
				return p.each(func(q question) error {
					dst := p.blank()
					var own [][]float64
					for _, in := range q.inputs {
						own = append(own, slices.Clone(in))
					}
					q.ask(dst, own)
					want := answers[k]
					k++
					gap := floats.Distance(dst, want, 2)
					if q.name == "MaximizeLinear" { // another vertex of the same face will do
						gap = math.Abs(floats.Dot(q.inputs[0], minus(dst, want)))
					}
					if !(gap <= p.slack(append(q.inputs, want)...)) {
						return fmt.Errorf("answer %v, %v when alone", dst, want)
					}
					return nil
				})
			})
		})
	}
	wait.Wait()
	return errors.Join(broken...)
}

func (p *probe) allocation() error {
	if !p.NoAllocation || raceEnabled {
		return nil
	}
	dst := make([]float64, p.dim)
	for _, q := range p.questions(0) {
		if n := testing.AllocsPerRun(100, func() { q.ask(dst, q.inputs) }); n >= 1 {
			return fmt.Errorf("%s allocates %g times per call", q.name, n)
		}
	}
	return nil
}
