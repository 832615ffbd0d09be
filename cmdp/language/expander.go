package language

import (
	"fmt"
	"math"
	"slices"
)

// maxSuccessors bounds what one choice may lead to, maxChoices what a state may offer, and maxWords the
// packed successors of its choices together.
const (
	maxSuccessors = 1 << 22
	maxChoices    = 1 << 18
	maxWords      = 1 << 25
)

// A batch is a run of states, with their choices once it has been expanded. Successors stand in it as
// packed states with their hashes.
type batch struct {
	states []uint64 // packed, one after the other
	count  int
	done   int // how many of them have been expanded
	err    error
	ready  chan struct{}

	players      []int8
	choices      []int32 // of each state, where they end
	stateRewards []float64
	actions      []int32 // of each choice
	ends         []int32 // of each choice, where its successors end
	rewards      []float64
	next, hashes []uint64
	probability  []float64
	gained       []float64 // rewards of each successor beside those of the choice, if the machine tells them
}

// atRest stands for the player of a state that is asked to be at rest.
const atRest = -1

func (b *batch) clear() {
	b.done, b.err = 0, nil
	b.players, b.choices, b.stateRewards = b.players[:0], b.choices[:0], b.stateRewards[:0]
	b.actions, b.ends, b.rewards = b.actions[:0], b.ends[:0], b.rewards[:0]
	b.truncate(0, 0, 0)
}

// end ends the choices of a state of a player.
func (b *batch) end(player int8) {
	b.players = append(b.players, player)
	b.choices = append(b.choices, int32(len(b.actions)))
}

// truncate leaves the first successors, of so many words each, and with so many rewards.
func (b *batch) truncate(successors, words, rewards int) {
	b.next, b.hashes, b.probability = b.next[:successors*words], b.hashes[:successors], b.probability[:successors]
	b.gained = b.gained[:successors*rewards]
}

// An expander finds the choices of states. It is used by one goroutine.
type expander struct {
	*machine
	b        *batch
	packed   []uint64
	values   []int64
	set      []uint64
	enabled  []int32
	first    []int32 // of each group, where its enabled commands begin in enabled, −1 without any
	end      []int32
	chosen   []int // the enabled command of each group of a vector
	scratch  [][]uint64
	isStaged bool // the vector that is looked at
	action   int32
	taken    []taken             // updates along the way, in a staged vector
	after    []int64             // values after the assignments
	writes   []written           // assignments of an index
	gained   []float64           // rewards of the successor that is added
	weights  map[int32][]float64 // probabilities of commands in this state that are not fixed
	keys     []uint64            // of the choices of the state, for repeated
	// successors and choices find those that are there already.
	successors, choices index
	// For errors: the command that is looked at, or if it is −1, what else is, and where it stands.
	command int32
	what    string
	at      Pos
}

type taken struct {
	command int32
	update  *Update
}

type written struct {
	variable int
	value    int64
}

func (x *expander) says(what string, at Pos) {
	x.command = -1
	x.what = what
	x.at = at
}

func newExpander(m *machine) *expander {
	values := make([]int64, len(m.Variables)+len(m.Transient))
	for i, v := range m.Transient {
		values[len(m.Variables)+i] = v.Initial
	}
	return &expander{
		machine: m,
		values:  values,
		after:   slices.Clone(values),
		gained:  make([]float64, len(m.rewards)),
		set:     make([]uint64, len(m.guards.none)),
		first:   slices.Repeat([]int32{-1}, len(m.Groups)),
		end:     make([]int32, len(m.Groups)),
		weights: make(map[int32][]float64),
	}
}

// enough is how many words of successors a batch holds before the rest of its states has to wait.
const enough = 1 << 16

// expand finds the choices of the states of a batch, or of the first of them.
func (x *expander) expand(b *batch) {
	b.clear()
	x.b = b
	for b.done < b.count && len(b.next) < enough {
		n := x.layout.words
		x.packed = b.states[b.done*n : (b.done+1)*n]
		if err := Try(x.File, x.state); err != nil {
			x.explain(err.(*Error))
			b.err = err
			return
		}
		b.done++
	}
}

// state adds the choices of a state to the batch.
func (x *expander) state() {
	b := x.b
	x.layout.unpack(x.values, x.packed)
	for _, l := range x.Invariants {
		x.says(l.Name, l.At)
		if !l.When.holds(x.values) {
			Fail(x.at, "the invariant does not hold")
		}
	}
	if x.Rest != nil {
		x.says("the condition of states at rest", Pos{})
		if x.Rest.holds(x.values) {
			b.stateRewards = append(b.stateRewards, make([]float64, len(x.rewards))...)
			b.end(atRest)
			return
		}
	}
	x.says("a guard", Pos{})
	x.enabled = x.guards.enabled(x.enabled[:0], x.set, x.values)
	x.open()
	defer x.close()
	for r := range x.rewards {
		b.stateRewards = append(b.stateRewards, x.sum(x.rewards[r].before[-1], r, x.values))
	}
	before := len(b.actions)
	player := int8(-1)
	for i := range x.Vectors {
		if x.vector(i) {
			player = x.owner(player, &x.Vectors[i])
		}
	}
	if x.Kind == Chain && len(b.actions) > before+1 {
		x.mix(before)
	}
	if x.NoDeadlocks != "" && len(b.actions) == before {
		x.says("", Pos{})
		Fail(Pos{}, "%s", x.NoDeadlocks)
	}
	b.end(max(0, player))
}

// mostOfState is how much of the name of a state stands in an error.
const mostOfState = 2000

// explain adds to an error in which state it happened, and where.
func (x *expander) explain(e *Error) {
	what := x.what
	if x.command >= 0 {
		what = x.commands[x.command].Name
		x.at = x.commands[x.command].At
	}
	if e.At == (Pos{}) {
		e.At = x.at
	}
	if what != "" {
		what += " "
	}
	e.Message = fmt.Sprintf("%sin the state %s: %s", what, shorten(x.layout.name(x.packed), mostOfState), e.Message)
}

// open finds the enabled commands of each group, which stand one after the other.
func (x *expander) open() {
	for i, c := range x.enabled {
		g := x.commands[c].group
		if x.first[g] < 0 {
			x.first[g] = int32(i)
		}
		x.end[g] = int32(i + 1)
	}
}

func (x *expander) close() {
	for _, c := range x.enabled {
		x.first[x.commands[c].group] = -1
	}
	clear(x.weights)
	x.keys = x.keys[:0]
}

// owner returns the player of a state who had that of an earlier choice, or −1 before the first.
func (x *expander) owner(player int8, v *Vector) int8 {
	if x.Kind != Game {
		return 0
	}
	x.command = x.enabled[x.first[v.Groups[0]]]
	switch {
	case v.Player < 0:
		Fail(Pos{}, "no player has this choice")
	case player >= 0 && player != v.Player:
		Fail(Pos{}, "another player than this one's has a choice too: want states of one player")
	}
	return v.Player
}

// vector adds the choices of a vector: each way to take one enabled command of each group. It reports whether there
// are any, though others may have made the same ones.
func (x *expander) vector(i int) bool {
	v := &x.Vectors[i]
	x.chosen = x.chosen[:0]
	for _, g := range v.Groups {
		if x.first[g] < 0 {
			return false
		}
		x.chosen = append(x.chosen, int(x.first[g]))
	}
	x.isStaged = x.staged[i]
	for {
		x.choice(v)
		k := len(x.chosen) - 1
		for ; k >= 0; k-- {
			g := v.Groups[k]
			x.chosen[k]++
			if x.chosen[k] < int(x.end[g]) {
				break
			}
			x.chosen[k] = int(x.first[g])
		}
		if k < 0 {
			return true
		}
	}
}

// choice adds the choice of the chosen commands, unless the state has the same one already.
func (x *expander) choice(v *Vector) {
	b := x.b
	if len(b.actions) > maxChoices || len(b.next) > maxWords {
		x.says("", Pos{})
		Fail(Pos{}, "it has more than %d choices, or successors that take more than %d MB", maxChoices, maxWords>>17)
	}
	begin, earned := len(b.hashes), len(b.rewards)
	x.taken, x.action = x.taken[:0], v.Action
	clear(x.gained)
	copy(x.scratchAt(0), x.packed)
	x.product(0, 0, 1, 1, begin)
	for r := range x.rewards {
		b.rewards = append(b.rewards, x.shared(begin, r)+x.sum(x.rewards[r].before[v.Action], r, x.values))
	}
	if x.Kind != Chain && x.repeated(v.Action, begin) {
		b.truncate(begin, x.layout.words, x.told())
		b.rewards = b.rewards[:earned]
		return
	}
	b.actions = append(b.actions, v.Action)
	b.ends = append(b.ends, int32(len(b.hashes)))
}

// product follows the updates of the chosen commands from number k on. The packed state of the given
// level is reached so far, with a probability, in one of so many ways.
func (x *expander) product(k, level int, probability float64, ways, begin int) {
	to := x.scratchAt(level)
	for ; k < len(x.chosen); k++ {
		c := x.enabled[x.chosen[k]]
		weights := x.weightsOf(c)
		updates := x.commands[c].Updates
		if len(updates) == 1 {
			x.assign(c, &updates[0], to)
			continue
		}
		ways *= len(updates)
		if ways > maxSuccessors {
			x.command = c
			Fail(Pos{}, "a choice has more than %d successors", maxSuccessors)
		}
		taken := len(x.taken)
		for i, w := range weights {
			if w == 0 {
				continue
			}
			next := x.scratchAt(level + 1)
			copy(next, to)
			x.assign(c, &updates[i], next)
			x.product(k+1, level+1, probability*w, ways, begin)
			x.taken = x.taken[:taken]
		}
		return
	}
	if x.isStaged {
		x.assignUpdates(to)
		for r := range x.rewards {
			x.gained[r] = x.sum(x.rewards[r].after[x.action], r, x.after)
		}
	}
	x.add(to, probability, begin)
}

// shared takes from all successors of a choice what they have of a reward, if that is the same, and returns it. They
// keep what differs.
func (x *expander) shared(begin, r int) float64 {
	n := x.told()
	if n == 0 {
		return 0
	}
	gained := x.b.gained[begin*n:]
	for i := r; i < len(gained); i += n {
		if gained[i] != gained[r] {
			return 0
		}
	}
	all := gained[r]
	for i := r; i < len(gained); i += n {
		gained[i] = 0
	}
	return all
}

func (x *expander) scratchAt(k int) []uint64 {
	for len(x.scratch) <= k {
		x.scratch = append(x.scratch, make([]uint64, x.layout.words))
	}
	return x.scratch[k]
}

// weightsOf returns the probabilities of the updates of a command.
func (x *expander) weightsOf(c int32) []float64 {
	command := &x.commands[c]
	if command.fixed != nil {
		return command.fixed
	}
	if w := x.weights[c]; w != nil {
		return w
	}
	x.command = c
	w := make([]float64, len(command.Updates))
	for i, u := range command.Updates {
		w[i] = fromBits(u.Probability.eval(x.values))
	}
	if bad := checkProbabilities(w); bad != "" {
		Fail(Pos{}, "%s", bad)
	}
	x.weights[c] = w
	return w
}

// assign writes what an update of a command assigns into a packed state, unless the vector is staged.
func (x *expander) assign(c int32, u *Update, to []uint64) {
	if x.isStaged {
		x.taken = append(x.taken, taken{c, u})
		return
	}
	for i := range u.Assign {
		a := &u.Assign[i]
		x.fields[a.Variable].set(to, x.value(c, a, x.values))
	}
}

// value is what a command assigns, which depends on the given values.
func (x *expander) value(c int32, a *Assignment, values []int64) int64 {
	x.command = c
	value := a.Value.Int
	if a.Value.Op != Literal {
		value = a.Value.eval(values)
	}
	if f := &x.fields[a.Variable]; value < f.low || value > f.high {
		Fail(a.At, "%s would become %d", *x.variable(a.Variable), value)
	}
	return value
}

// assignUpdates carries out the assignments of the updates along the way, index by index, and packs the state.
func (x *expander) assignUpdates(to []uint64) {
	copy(x.after, x.values)
	for _, index := range x.indices {
		x.writes = x.writes[:0]
		for _, t := range x.taken {
			for i := range t.update.Assign {
				a := &t.update.Assign[i]
				if a.Index != index {
					continue
				}
				if slices.ContainsFunc(x.writes, func(w written) bool { return w.variable == a.Variable }) {
					x.command = t.command
					Fail(a.At, "%s is written by another command of the same step too", x.variable(a.Variable).Name)
				}
				x.writes = append(x.writes, written{a.Variable, x.value(t.command, a, x.after)})
			}
		}
		for _, w := range x.writes {
			x.after[w.variable] = w.value
		}
	}
	x.layout.pack(to, x.after)
}

// add adds a successor to the choice that begins at begin. The same state with the same rewards is listed once.
func (x *expander) add(to []uint64, probability float64, begin int) {
	b, n, told := x.b, x.layout.words, x.told()
	h := hash(to)
	i := x.successors.find(b.hashes[begin:], h, func(i int) bool {
		i += begin
		return slices.Equal(to, b.next[i*n:(i+1)*n]) && slices.Equal(x.gained[:told], b.gained[i*told:(i+1)*told])
	})
	if i >= 0 {
		b.probability[begin+i] += probability
		return
	}
	b.next = append(b.next, to...)
	b.hashes = append(b.hashes, h)
	b.probability = append(b.probability, probability)
	b.gained = append(b.gained, x.gained[:told]...)
}

// repeated reports whether the state has had a choice of the same action with the same distribution as
// the one whose successors begin at begin.
func (x *expander) repeated(action int32, begin int) bool {
	b, n, earned, told := x.b, x.layout.words, len(x.rewards), x.told()
	key := uint64(action)
	for i := begin; i < len(b.hashes); i++ {
		key = (key ^ b.hashes[i] ^ math.Float64bits(b.probability[i])) * 0x9e3779b97f4a7c15
	}
	first := len(b.actions) - len(x.keys)
	i := x.choices.find(x.keys, key, func(i int) bool {
		c := first + i
		from, end := b.successors(c), int(b.ends[c])
		return b.actions[c] == action && slices.Equal(b.probability[from:end], b.probability[begin:]) &&
			slices.Equal(b.next[from*n:end*n], b.next[begin*n:]) &&
			slices.Equal(b.gained[from*told:end*told], b.gained[begin*told:]) &&
			slices.Equal(b.rewards[c*earned:(c+1)*earned], b.rewards[len(b.rewards)-earned:])
	})
	if i < 0 {
		x.keys = append(x.keys, key)
	}
	return i >= 0
}

// successors returns where the successors of a choice begin.
func (b *batch) successors(choice int) int {
	if choice == 0 {
		return 0
	}
	return int(b.ends[choice-1])
}

// mix makes one choice of those from number first on, each of which is taken with equal probability.
func (x *expander) mix(first int) {
	b, n, told, earned := x.b, x.layout.words, x.told(), len(x.rewards)
	from := b.successors(first)
	count := float64(len(b.actions) - first)
	action := b.actions[first]
	for _, a := range b.actions[first:] {
		if a != action {
			action = 0
		}
	}
	next, probability := slices.Clone(b.next[from*n:]), slices.Clone(b.probability[from:])
	gained, ends := slices.Clone(b.gained[from*told:]), slices.Clone(b.ends[first:])
	rewards := slices.Clone(b.rewards[first*earned:])
	b.truncate(from, n, told)
	choice := 0
	for i, p := range probability {
		for from+i >= int(ends[choice]) {
			choice++
		}
		for r := range told {
			x.gained[r] = gained[i*told+r] + rewards[choice*earned+r]
		}
		x.add(next[i*n:(i+1)*n], p/count, from)
	}
	b.rewards = b.rewards[:first*earned]
	for r := range x.rewards {
		b.rewards = append(b.rewards, x.shared(from, r))
	}
	b.actions = append(b.actions[:first], action)
	b.ends = append(b.ends[:first], int32(len(b.hashes)))
}

// sum adds up what the items of a reward structure give for values.
func (x *expander) sum(items []*RewardItem, r int, values []int64) float64 {
	total := 0.0
	for _, item := range items {
		x.says(x.rewards[r].name, item.At)
		if item.Guard.Op != Literal && !item.Guard.holds(values) { // those that are false are left out before
			continue
		}
		value := fromBits(item.Value.eval(values))
		if math.IsNaN(value) || math.IsInf(value, 0) {
			Fail(item.At, "%g: want a finite number", value)
		}
		total += value
	}
	return total
}

// An index finds entries of a list by their keys, in order while they are few.
type index struct {
	of   map[uint64][]int32
	size int // how many entries of the list it has
}

// find returns the number of the entry that has the key and is the same, or −1; then its caller appends
// the key. The keys of a new list begin with none.
func (x *index) find(keys []uint64, key uint64, same func(i int) bool) int {
	const few = 32
	if len(keys) <= few {
		x.size = 0
		for i, k := range keys {
			if k == key && same(i) {
				return i
			}
		}
		return -1
	}
	if x.size == 0 {
		x.of = make(map[uint64][]int32)
	}
	for ; x.size < len(keys); x.size++ {
		k := keys[x.size]
		x.of[k] = append(x.of[k], int32(x.size))
	}
	for _, i := range x.of[key] {
		if same(int(i)) {
			return int(i)
		}
	}
	return -1
}
