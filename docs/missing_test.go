package docs

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"
)

// functions are those of the packages for users that take something that can be missing, or a number that can
// be impossible.
var functions = []any{
	cmdp.BestPolicy, cmdp.BestReturns, cmdp.CheckInterval, cmdp.Draw, cmdp.Extremes, cmdp.FactorActions, cmdp.Markov,
	cmdp.NewAdversarialOpponent,
	cmdp.NewBestResponseAlong, cmdp.NewBestResponseOpponent, cmdp.NewBonus, cmdp.NewBuilder, cmdp.NewChanging,
	cmdp.NewCounts, cmdp.NewEndless, cmdp.NewEndlessOf, cmdp.NewEndlessRunner,
	cmdp.NewEvaluator, cmdp.NewFixedOpponent, cmdp.NewGameRunner, cmdp.NewIntervals, cmdp.NewLearner, cmdp.NewMOMA,
	cmdp.MostEpisodes, cmdp.NewMinimax, cmdp.NewModel,
	cmdp.NewOptimisticVI, cmdp.NewProjectionDual, cmdp.NewRandomStartOpponent, cmdp.NewRandomized,
	cmdp.NewRecordingOpponent, cmdp.NewReplayOpponent,
	cmdp.NewReturnConfidence, cmdp.NewReturns, cmdp.NewRunner, cmdp.NewScriptedOpponent, cmdp.NewShape,
	cmdp.NewSwitchingOpponent, cmdp.NewTally,
	cmdp.NewTermsDual, cmdp.NewTrajectory, cmdp.NewUniformOpponent, cmdp.NextRecord, cmdp.Nominal, cmdp.ProductActions,
	cmdp.SlaterPenalty, cmdp.Widen,
	baseline.BestOrNearest, baseline.KnowledgeOf, baseline.LinearForm, baseline.New, baseline.NewModel,
	baseline.NewRecorder, baseline.PlanCredibly,
	baseline.PlanSampled, baseline.Ranges, baseline.SampleError, baseline.SamplesFor, baseline.SupportOf,
	contest.MeanInterval, contest.New, contest.NewCheckpointFile, contest.Play, contest.ReadCheckpoint,
	contest.SavedEpisodes, contest.Told,
	exact.ApproachabilityGap, exact.Branches, exact.CutBox, exact.DeterministicFront, exact.Evaluate,
	exact.Front, exact.NewLinearMixer,
	exact.NewMixer, exact.NewPlanner, exact.NewPolicy, exact.NewRollingPlanner, exact.NewSumPlanner, exact.OccupancyLP,
	exact.RationalValue, exact.SecondOpinion, exact.SecondOpinionOfSum,
	exact.Solve, exact.SolveDeterministic,
	exact.SolveGame, exact.Verify, exact.VerifyBound, exact.VerifyBoundRational, exact.VerifyGap, exact.VerifyRational,
	exact.Visits,
	fleet.NewDispatcher, fleet.NewIndependent, fleet.NewPlanner, fleet.NewReplanner, fleet.NewSharing, fleet.NewSum,
	fleet.NewWhittle, fleet.Play, fleet.WhittleIndices,
	instance.DefaultFrozenLake, instance.FromMap, instance.NewWithin,
	monitor.Amounts, monitor.Decimal, monitor.Distribution, monitor.Greatest, monitor.New, monitor.NewBudget,
	monitor.NewTable, monitor.Over, monitor.Unit,
	problem.Ask, problem.Import, problem.Inside, problem.Parse,
	problem.ReadMixture, problem.ReadFrom, problem.ReadLog, problem.ReadPolicy, problem.ReadSimulated,
	problem.ReadWith, problem.Write, problem.WritePolicy, problem.WritePolicyCSV,
	query.Draws, query.New, query.NewSimulation, query.Sampled, query.Steps, query.TaskOf,
	robust.FromCounts, robust.New, robust.Solve, robust.Verify,
	cost.ConjugateValue, cost.New, cost.NewAffine, cost.NewCVaR, cost.NewConjugated, cost.NewCoordinate,
	cost.NewDistance, cost.NewEntropic,
	cost.NewHinge, cost.NewHuber, cost.NewLinear, cost.NewLogSumExp, cost.NewMaxAffine, cost.NewMaximum, cost.NewNorm,
	cost.NewPrecomposed,
	cost.NewScaled, cost.NewSquared, cost.NewSum,
	geometry.CompactOf, geometry.Contains, geometry.FromMaximizer, geometry.LinearRange, geometry.NewAffine,
	geometry.NewBall, geometry.NewBox, geometry.NewConvexHull,
	geometry.NewEllipsoid, geometry.NewHalfspace, geometry.NewHull, geometry.NewImage, geometry.NewInflate,
	geometry.NewIntersection,
	geometry.NewL1Ball, geometry.NewLInfBall, geometry.NewMinkowskiSum, geometry.NewOrthant, geometry.NewPoint,
	geometry.NewPolyhedron,
	geometry.NewPolytope, geometry.NewPreimage, geometry.NewProduct, geometry.NewScale, geometry.NewSecondOrderCone,
	geometry.NewSimplex,
	geometry.NewTranslate, geometry.Restrict, geometry.Separate,
	oracle.Distance, oracle.Extremes, oracle.NewActiveSet, oracle.NewBoxConjugate, oracle.NewConjugate,
	oracle.NewIntersectionProjector, oracle.NewMinNorm,
	oracle.NewProximalMaximizer, oracle.Support,
	lp.AtLeast, lp.AtMost, lp.Equal, lp.Free, lp.NewEmbedded, lp.NewGLPK, lp.NewSolver, lp.Solve,
}

// TestMissingArguments: what is missing or impossible, a nil model, no set, −3 or 2⁶² of something, is named by
// an error or by a panic of ours. Nothing else happens, such as the dereference of a nil pointer.
func TestMissingArguments(t *testing.T) {
	tried := make(map[string]bool)
	for _, f := range functions {
		call := reflect.ValueOf(f)
		name := strings.TrimPrefix(runtime.FuncForPC(call.Pointer()).Name(), "cmdpsolve/")
		tried[name] = true
		for _, number := range []int64{0, -3, 1 << 62} {
			func() {
				defer func() {
					if r := recover(); r != nil {
						if _, ours := r.(string); !ours {
							t.Errorf("%s with %d: panic %v", name, number, r)
						}
					}
				}()
				call.Call(missing(call.Type(), number))
			}()
		}
	}
	for _, name := range exported(t) {
		if !tried[name] {
			t.Errorf("%s is not tried: add it to functions", name)
		}
	}
}

// missing returns arguments that are zero or nil. Counts are the number; with one that is not 0, slices have
// two elements that are missing.
func missing(f reflect.Type, number int64) []reflect.Value {
	var in []reflect.Value
	for i := range f.NumIn() {
		kind := f.In(i)
		if f.IsVariadic() && i == f.NumIn()-1 {
			if number == 0 {
				break
			}
			kind = kind.Elem()
		}
		x := reflect.New(kind).Elem()
		switch {
		case kind == reflect.TypeFor[context.Context]():
			x.Set(reflect.ValueOf(context.Background()))
		case kind.Kind() == reflect.Int:
			x.SetInt(number)
		case kind.Kind() == reflect.Slice && number != 0:
			x.Set(reflect.MakeSlice(kind, 2, 2))
		}
		in = append(in, x)
	}
	return in
}

// exported lists the functions that functions should have.
func exported(t *testing.T) (names []string) {
	for _, folder := range []string{"cmdp", "cmdp/baseline", "cmdp/contest", "cmdp/exact", "cmdp/instance",
		"cmdp/monitor", "cmdp/problem", "cmdp/query", "cmdp/robust", "cost", "geometry", "oracle", "oracle/lp"} {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range tree.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() &&
					canBeMissing(f.Type.Params) {
					names = append(names, folder+"."+f.Name.Name)
				}
			}
		}
	}
	return names
}

// canBeMissing reports whether a parameter is something else than a plain value. Build tags are not looked at:
// what has other bodies has the same signature.
func canBeMissing(params *ast.FieldList) bool {
	for _, p := range params.List {
		if id, ok := p.Type.(*ast.Ident); !ok || id.Name != "string" && id.Name != "float64" && id.Name != "uint64" &&
			id.Name != "bool" {
			return true
		}
	}
	return false
}
