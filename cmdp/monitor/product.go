package monitor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
)

// A ProductModel is a model whose states are pairs of a state of another model, the base, and of
// what monitors remember. Only pairs that can come up are states. It is immutable and safe
// for concurrent use.
type ProductModel struct {
	// Model is the product as a model.
	Model *cmdp.Model
	// Losing is not nil if no policy of the base keeps what is enforced. Model then offers all
	// choices.
	Losing *LosingState

	exploration
	// whose pairs are the states that the exploration goes through, see With; nil for those of the base
	inner     *ProductModel
	generated *generated // nil if rows are stored
	recalls   []bool     // of each monitor: it has more than one memory value
	actions   [][]int32  // of each kernel and choice, the action of the base; nil if nothing is left out
}

// Spec says what a product is made of.
type Spec struct {
	Model    *cmdp.Model
	Monitors []Monitor
	// Columns lists the coordinates of the product's returns by number: those of the model, then those
	// of each monitor. Nil stands for all of them.
	Columns []int
	// Means says of each of Columns whether it is a long-run mean, in a model without a horizon and a discount
	// below 1. Nil stands for what the model has, and for monitors for means if all of the model's returns are.
	Means []bool
	// Enforced lists the numbers of monitors, which are [Breaker]s, whose memory must not be broken at the
	// end of an episode, whatever chance does. Without a horizon it must never be, even if it would mend.
	Enforced []int
	// Bytes bounds the memory that the product may take, 0 stands for 8 GiB. Its pairs are counted before
	// it is built.
	Bytes int
	// Told, if not nil, is called now and then with how many pairs, or epochs of them, have been found. Nothing is
	// built once it returns an error, which is that of [New].
	Told func(pairs int) error
	// Generate, if not 0, is a number of pairs from which on rows are not stored, where that can be: they are
	// generated when they are asked for. With a horizon these are the rows of a product of one budget, whose Model is
	// one of a [cmdp.Tally]; without, those of products whose memory never comes back, such as what is left of costs,
	// where policies surely come to rest. Their Model is one of [cmdp.Epochs].
	Generate int
}

// DefaultBytes is the value of Spec.Bytes that 0 stands for.
const DefaultBytes = min(8<<30, math.MaxInt)

// New returns the product of a model and its monitors. What monitors return is summed, or averaged where
// Means or all returns of the model say so. What a monitor returns at the start
// is added to the first step. A resting state has a choice in the product where its memory
// changes or something is returned.
func New(spec Spec) (*ProductModel, error) {
	p := &ProductModel{exploration: newExploration(spec)}
	if spec.Bytes == 0 {
		spec.Bytes = DefaultBytes
	}
	for _, i := range spec.Enforced {
		if _, ok := spec.Monitors[i].(Breaker); !ok {
			return nil, fmt.Errorf("monitor: %s cannot be enforced: it does not tell when it is broken",
				spec.Monitors[i].Name())
		}
		if sh := spec.Model.Shape(); sh != nil && sh.Game() {
			return nil, fmt.Errorf("monitor: %s cannot be enforced in a game", spec.Monitors[i].Name())
		}
	}
	if q, err := generate(spec); q != nil || err != nil {
		return q, err
	}
	if q, err := generateEpochs(spec); q != nil || err != nil {
		return q, err
	}
	if err := p.explore(spec.Bytes); err != nil {
		return nil, err
	}
	for i := range spec.Monitors {
		p.recalls = append(p.recalls, len(p.values(i)) > 1)
	}
	out := cmdp.ModelSpec{Horizon: p.base.Horizon(), Discount: p.base.Discount(), Average: p.base.Average(),
		Dim: len(p.columns)}
	if out.Horizon == 0 && out.Discount == 1 {
		out.Average, out.Means = false, spec.Means
		for _, c := range p.columns {
			if spec.Means == nil {
				out.Means = append(out.Means, c < p.base.Dim() && p.base.Mean(c) || p.base.Average())
			}
		}
	}
	for i, st := range p.base.StartStates() {
		out.Start = append(out.Start, cmdp.StartState{State: int(p.starts[i]), Probability: st.Probability})
	}
	out.Kernels = p.kernels
	if sh := p.base.Shape(); sh != nil {
		out.ReturnToGo, out.Promised = p.promise(sh), true
		if sh.Game() {
			out.Opponents = p.opponents(sh)
		}
	}
	if len(spec.Enforced) > 0 {
		p.enforce(&out, spec.Enforced)
	}
	if p.base.Horizon() > 0 {
		out.Factor = newKnownFactor(p)
	}
	var err error
	p.Model, err = cmdp.NewModel(out)
	if err != nil {
		return nil, fmt.Errorf("monitor: product: %w", err)
	}
	p.layers, p.kernels = nil, nil
	if p.base.Horizon() == 0 {
		p.pairs, p.tupleNumbers = nil, nil // which the known factor alone asks for
	}
	return p, nil
}

// promise bounds the returns still to come: what the base promises, and the ranges of the
// monitors.
func (p *ProductModel) promise(sh *cmdp.Shape) *cmdp.Interval {
	d, width := p.base.Dim(), len(p.returns)
	lower, upper := make([]float64, width), make([]float64, width)
	for i := range d {
		lower[i], upper[i] = promised(sh, i)
	}
	for i, m := range p.monitors {
		from, end := p.offset[i], p.offset[i]+m.Rewards()
		m.Range(lower[from:end], upper[from:end])
	}
	iv := &cmdp.Interval{}
	for _, c := range p.columns {
		iv.Lower, iv.Upper = append(iv.Lower, lower[c]), append(iv.Upper, upper[c])
	}
	return iv
}

// promised bounds return i of the base still to come.
func promised(sh *cmdp.Shape, i int) (lower, upper float64) {
	if all := sh.Promise(); all != nil {
		return all.Lower[i], all.Upper[i]
	}
	return math.Inf(-1), math.Inf(1)
}

// opponents counts the actions of the opponent, 1 where a pair has no choices at a step.
func (p *ProductModel) opponents(sh *cmdp.Shape) [][]int32 {
	out := make([][]int32, len(p.layers))
	for h, layer := range p.layers {
		out[h] = slices.Repeat([]int32{1}, len(p.state))
		for _, i := range layer {
			s := int(p.state[i])
			if sh.Actions(h, s) > 0 {
				out[h][i] = int32(sh.OpponentActions(h, s))
			}
		}
	}
	return out
}

// State returns the state of the base that state s of the product is about. A nil product remembers nothing, and its
// states and actions are those of its base.
func (p *ProductModel) State(s int) int {
	if p == nil {
		return s
	}
	if g := p.generated; g != nil {
		of, _ := g.tally.State(s)
		return g.state(of)
	}
	if p.inner != nil {
		return p.inner.State(int(p.state[s]))
	}
	return p.declared(s)
}

// declared returns the state of the product's own base that state s is about.
func (p *ProductModel) declared(s int) int {
	if p.epochs != nil {
		_, s = p.epochs.Split(s)
		return s
	}
	return int(p.state[s])
}

// Restricted reports whether the model leaves out choices of the base, after which what is enforced may be broken.
func (p *ProductModel) Restricted() bool {
	switch {
	case p == nil:
		return false
	case p.epochs != nil:
		return p.epochs.Restricted()
	case p.generated == nil:
		return p.actions != nil || p.inner.Restricted()
	}
	return p.generated.tally.AtLeast != nil || p.generated.tally.AtMost != nil
}

// Base returns the model without memory.
func (p *ProductModel) Base() *cmdp.Model {
	if p.inner != nil {
		return p.inner.Base()
	}
	return p.base
}

// Action returns the number that action a of state s at step h has in the base, −1 where the
// base rests.
func (p *ProductModel) Action(h, s, a int) int {
	if p == nil {
		return a
	}
	if of := p.baseActions(h); of != nil {
		first, _ := p.Model.Rows(h).Choices(s)
		return int(of[first+a])
	}
	if p.inner != nil {
		return p.inner.Action(h, int(p.state[s]), a)
	}
	if first, end := p.base.Rows(h).Choices(p.State(s)); first == end {
		return -1
	}
	return a
}

// Memory says what is remembered in state s of the product: the values of the monitors that remember
// anything, separated by "; ", "" if nothing is. It allocates.
func (p *ProductModel) Memory(s int) string {
	switch {
	case p == nil:
		return ""
	case p.generated != nil:
		return p.generated.memory(s)
	}
	return strings.Join(p.recall(s, func(_, value string) string { return value }), "; ")
}

// Recall says the same for people, with what each value is of: "arrive under way, fuel so far 2". It allocates.
func (p *ProductModel) Recall(s int) string {
	switch {
	case p == nil:
		return ""
	case p.generated != nil:
		return p.generated.memory(s)
	}
	return strings.Join(p.recall(s, func(name, value string) string { return name + " " + value }), ", ")
}

// recall lists what is remembered in state s, each as write puts it.
func (p *ProductModel) recall(s int, write func(name, value string) string) (parts []string) {
	if p.inner != nil {
		parts = p.inner.recall(int(p.state[s]), write)
	}
	tuple := p.Tuple(s)
	if p.startRewardDue[tuple] {
		parts = append(parts, "start")
	}
	for i, m := range p.monitors {
		if p.recalls[i] {
			parts = append(parts, write(m.Name(), m.Value(p.tuples[tuple*len(p.monitors)+i])))
		}
	}
	if len(parts) == 0 && slices.Contains(p.startRewardDue, true) {
		parts = append(parts, "later") // or nothing would be told apart from the start
	}
	return parts
}

// Remembered is what one monitor remembers.
type Remembered struct {
	Name string `json:"name"`
	// Values are what its memory may be, in the order of their numbers.
	Values []string `json:"values"`
}

// Remembered lists the monitors that remember anything, in the order of Memory.
func (p *ProductModel) Remembered() []Remembered {
	switch {
	case p == nil:
		return nil
	case p.generated != nil:
		return p.generated.remembered()
	}
	var out []Remembered
	if p.inner != nil {
		out = p.inner.Remembered()
	}
	for i, m := range p.monitors {
		if !p.recalls[i] {
			continue
		}
		r := Remembered{Name: m.Name()}
		for _, v := range p.values(i) {
			r.Values = append(r.Values, m.Value(v))
		}
		out = append(out, r)
	}
	return out
}

// values returns the memory values of a monitor that come up, in ascending order.
func (w *exploration) values(i int) []int {
	var out []int
	for tuple, n := 0, len(w.monitors); tuple*n < len(w.tuples); tuple++ {
		if w.comesUp(tuple) {
			out = append(out, w.tuples[tuple*n+i])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// comesUp reports whether a tuple comes up in some state. Epochs are found without looking at states.
func (w *exploration) comesUp(tuple int) bool {
	if w.epochs == nil {
		return true
	}
	for s := range w.base.States() {
		if w.epochs.ComesUp(w.epochs.Pair(tuple, s)) {
			return true
		}
	}
	return false
}
