#!/bin/sh
# Compares the ways in which the small questions of planning and learning are answered, and writes
# oracles.md beside this file. Run it in the root of the repository; it needs GLPK and its headers.
set -e
rounds=6 time=10ms
here=$(dirname "$0")
measured=$(mktemp)
trap 'rm -f "$measured"' EXIT
for round in $(seq $rounds); do # every benchmark once in each round, so that all meet the same machine
    go test -tags glpk -run '^$' -bench '^Benchmark(Cold|Warm|Near|Support|Sets|ConjugateSubgradient|Value|Subgradient|Nash)$' \
        -benchtime $time ./oracle/lp ./geometry ./cost ./oracle/game >> "$measured"
done
# table FILTER ROWS COLUMNS UNIT: medians, with their 95% intervals, and ratios to the first column.
table() {
    echo '```text'
    go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -ignore pkg \
        -filter "$1 .unit:$4" -row "$2" -col "$3" "$measured" | sed -e '/^goos:/d' -e '/^goarch:/d' -e '/^cpu:/d' -e '/geomean/d' -e 's/ *$//'
    echo '```'
}
{
    cat <<END
# Oracles side by side

\`\`\`sh
benchmarks/results/oracles.sh
\`\`\`

Medians of $rounds rounds with 95% intervals. In each round every benchmark ran once for $time, one after the other. Times are of one operation, and
ratios are to the first column, "~" where the difference may be noise. $(grep -m 1 '^cpu:' "$measured" | cut -d ' ' -f 2-), $(nproc) cores, $(go version | cut -d ' ' -f 3,4).

## Linear programs

Random polytopes. "Cold" builds and solves a program; "Warm" solves it again with a random new objective; "Near" with an objective changed by about 2%,
which is what dual updates ask. The embedded simplex then starts from its last basis, GLPK afresh.

END
    table '.name:(Cold OR Warm OR Near)' '.name,/rows,/columns' /solver sec/op
    cat <<'END'

## The same question in closed form and as a linear program

The point of a set that is farthest in a direction, new at every call: in closed form, and by programs that have the set as rows (2n for a box, n + 1 for a
simplex, 2^n for an ℓ1 ball) and are kept between calls (warm) or built anew (cold). GLPK keeps no basis.

END
    table .name:Support '/set,/n' /way sec/op
    cat <<'END'

## Sets

The examples of the registry of package geometry, at random points and directions: projection, linear maximisation, and projection on a face, where a set
answers it. Sets made of others, and those given by rows or points, iterate.

END
    table .name:Sets /set /ask sec/op
    table .name:Sets /set /ask allocs/op
    cat <<'END'

## Costs

The registry of package cost in four dimensions, over a box. The subgradient of the conjugate is what a learner asks in every episode; costs without a closed
form for it iterate.

END
    table '.name:(ConjugateSubgradient OR Value OR Subgradient)' /cost .name sec/op
    table .name:ConjugateSubgradient /cost .name allocs/op
    cat <<'END'

## Matrix games

A stream of n × n games with drifting random payoffs: package oracle/game (saddle points and 2 × 2 in closed form, else a dense simplex method of its own), and
linear programs that are built anew for each game (cold) or solve one and the same game again (warm), which is less work than a new game. The embedded
simplex then starts from its last basis, GLPK afresh.

END
    table .name:Nash /n /way sec/op
} > "$here/oracles.md"
