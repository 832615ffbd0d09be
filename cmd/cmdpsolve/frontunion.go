package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
)

// A part is the curve of one choice of the thresholds at which the worst episodes begin.
type part struct {
	p   *loaded
	r   *exact.FrontResult
	rep *frontReport
}

// frontUnion computes the curve of a problem that limits the mean of the worst episodes: what no policy improves on of the curves of
// all thresholds.
func (c *frontCommand) frontUnion(ctx context.Context, p *loaded, over []objective) error {
	given := p.Problem.Returns
	for _, o := range over {
		if o.index >= len(given) {
			return usage("--over %s: it depends on where the worst episodes begin: want %v", c.over, given)
		}
	}
	begin := time.Now()
	var parts []part
	err := p.EachThreshold(ctx, func(q *query.Query) error {
		of := p.as(q)
		opts, progress := c.options(of, over)
		r, err := exact.Front(ctx, of.Model, of.Task, opts)
		progress.close()
		if err != nil {
			return of.stopped(err)
		}
		parts = append(parts, part{of, r, newFrontReport(of, over, r, 0)})
		return nil
	})
	if exit := (*exitError)(nil); err != nil && !errors.As(err, &exit) {
		return failed(err)
	} else if err != nil {
		return err
	}
	rep := union(parts, given)
	rep.all, rep.Seconds = c.all, report.Number(time.Since(begin).Seconds())
	return c.conclude(parts[0].p, rep, func() *chart.Figure { return unionFigure(p, rep, parts) },
		fmt.Sprintf("the error %g was not reached (see --error, --points and --gap)", c.error))
}

// union puts curves together: vertices that a mixture of another curve equals or improves on are left out. Returns that depend
// on thresholds are not shown.
func union(parts []part, given []string) *frontReport {
	rep := &frontReport{}
	*rep = *parts[0].rep
	rep.Union, rep.shown, rep.Points, rep.Vertices = len(parts), given, []*pointReport{}, []*pointReport{}
	rep.Iterations, rep.Error, rep.Relative, rep.Certificate = 0, report.NaN, report.NaN, nil
	var all []exact.FrontPoint
	for _, q := range parts {
		all = append(all, q.r.Points...)
		rep.Iterations += q.r.Iterations
		if q.rep.status == exact.Undecided || rep.status == exact.Infeasible {
			rep.Status, rep.status = q.rep.Status, q.rep.status
		}
		if e := q.rep.Error; e == e && !(e <= rep.Error) {
			rep.Error, rep.Relative = e, q.rep.Relative
		}
	}
	for i, q := range parts {
		for _, v := range q.rep.Vertices {
			at := slices.IndexFunc(q.r.Points, func(x exact.FrontPoint) bool { return slices.Equal(x.Returns, v.returns) })
			covered := false
			for j, other := range parts {
				if i == j || len(other.r.Points) == 0 {
					continue
				}
				t := worse(other.r.Points, q.r.Points[at], scaleOf(all, q.r.Rounding))
				covered = covered || t < -roundingOfPoints ||
					t <= roundingOfPoints && (j < i || improved(other.r.Points, q.r.Points[at], scaleOf(all, q.r.Rounding))) // of the same points the first stays
			}
			if covered {
				continue
			}
			v.returns, v.Returns = v.returns[:len(given)], named{Names: given, Values: v.Returns.Values[:len(given)]}
			for _, tail := range q.p.Of(query.WorstEpisodes) {
				v.Thresholds = append(v.Thresholds, report.Number(tail.Threshold))
			}
			rep.Points = append(rep.Points, v)
		}
	}
	rep.sort()
	rep.Vertices = rep.Points
	return rep
}

// improved reports whether a mixture of other points is as good as a point, and better in one objective by a millionth of the scale.
func improved(others []exact.FrontPoint, than exact.FrontPoint, scale []float64) bool {
	for k := range scale {
		better := exact.FrontPoint{Objectives: slices.Clone(than.Objectives)}
		better.Objectives[k] -= 1e-6 * scale[k]
		if worse(others, better, scale) <= roundingOfPoints {
			return true
		}
	}
	return false
}

// unionFigure draws the curves of which something is left, of the first two returns.
func unionFigure(p *loaded, rep *frontReport, parts []part) *chart.Figure {
	f := &chart.Figure{Title: p.title() + ": trade-off curves", Notes: []string{"One curve for each threshold at which the worst episodes begin."}}
	panel := chart.Panel{X: axisOf(rep.over[0]), Y: axisOf(rep.over[1])}
	for _, q := range parts {
		i := slices.IndexFunc(rep.Vertices, func(v *pointReport) bool { return v.of == q.p })
		if i < 0 {
			continue
		}
		for _, curve := range q.rep.curves(q.r) {
			curve.Name = fmt.Sprint("threshold ", rep.Vertices[i].Thresholds)
			panel.Curves = append(panel.Curves, curve)
		}
	}
	f.Panels = append(f.Panels, panel)
	return f
}
