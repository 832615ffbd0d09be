#!/bin/sh
# Draws the curves of the suite and writes the table of times, from its results:
#   benchmarks/results/suite-draw.sh suite.json times.json
# which compare --suite … --format json wrote, the second of runs while nothing else ran.
# Needs jq, and cmdpsolve on the path.
set -e
here=$(dirname "$0")
learners=posterior,posterior-plain,moma-posterior,moma,optcmdp,optdual,appropo,mo-ucbvi
draw() { cmdpsolve plot "$1" --problem "$2" --algorithms $learners --output "$here/suite-$2.svg"; }
for problem in frozenlake cliff inventory media riverswim grid garnet-small garnet-large; do
    draw "$1" $problem
done
cat > "$here/suite-times.md" <<'END'
Milliseconds on the clock per episode, whether a learner plans in it or not, and measuring included. One run of 20,000 episodes each, two at a time on two processors
(Intel Xeon, 64 bits, Go 1.26), while no other work ran there. It is a virtual machine that shares them with others: on another one the learners that were there were 3 to 5
times as fast. Compare within the table.

| algorithm | frozenlake | cliff | inventory | media | riverswim | grid | garnet-small | garnet-large |
|:---|--:|--:|--:|--:|--:|--:|--:|--:|
END
jq -r '
  def short: if . >= 0.1 then (. * 100 | round / 100) else (. * 10000 | round / 10000) end;
  .problems as $all |
  ([$all[].rows[].algorithm] | unique) as $names |
  ($names[] as $n | [$n] + [$all[] | [.rows[] | select(.algorithm == $n and .runs > 0) | .seeds[].metrics.seconds_per_episode] | if length > 0 then min * 1000 | short else "" end])
  | "| " + (map(tostring) | join(" | ")) + " |"' "$2" >> "$here/suite-times.md"
