#!/bin/sh
# Draws the curves of the suite and writes the table of times, from its results:
#   benchmarks/results/suite-draw.sh suite.json
# where suite.json is what compare --suite … --format json wrote. Needs jq, and
# cmdpsolve on the path.
set -e
here=$(dirname "$0")
learners=posterior,posterior-plain,moma-posterior,moma,optcmdp,optdual,appropo,mo-ucbvi
draw() { cmdpsolve plot "$1" --problem "$2" --algorithms $learners --output "$here/suite-$2.svg"; }
for problem in frozenlake cliff inventory media riverswim grid garnet-small garnet-large; do
    draw "$1" $problem
done
cat > "$here/suite-times.md" <<'END'
Milliseconds per episode, least mean of the 20 runs.

| algorithm | frozenlake | cliff | inventory | media | riverswim | grid | garnet-small | garnet-large |
|:---|--:|--:|--:|--:|--:|--:|--:|--:|
END
jq -r '
  def short: if . >= 0.1 then (. * 100 | round / 100) else (. * 10000 | round / 10000) end;
  .problems as $all |
  ([$all[].rows[].algorithm] | unique) as $names |
  ($names[] as $n | [$n] + [$all[] | [.rows[] | select(.algorithm == $n and .runs > 0) | .seeds[].metrics.seconds_per_episode] | if length > 0 then min * 1000 | short else "" end])
  | "| " + (map(tostring) | join(" | ")) + " |"' "$1" >> "$here/suite-times.md"
