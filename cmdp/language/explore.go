package language

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// A Sink takes the states of a model in the order of their numbers, and the choices of each. The slices
// belong to the caller. Next holds numbers of states; rewards hold one number for each reward structure, of the state
// and of the choice. Gained holds as many for each successor, what it has beside those of the choice; it is empty
// where successors do not differ in that, and then each is listed once.
type Sink interface {
	State(player int, rewards []float64) error
	Choice(action int, next []int32, probability, rewards, gained []float64) error
}

// ExploreOptions say how a program is explored. The zero value has no limits.
type ExploreOptions struct {
	// Threads is how many states are looked at together; 0 is one for each processor. What is
	// found, and in which order, does not depend on it.
	Threads int
	// States and Transitions bound the model, Memory the bytes that states, their index and 16 bytes
	// a transition take; 0 for no bound.
	States, Transitions, Memory int
	// Progress, if not nil, is called now and then.
	Progress func(Progress)
}

// Progress is how far an exploration has come: states found and those that have been looked at.
type Progress struct{ States, Explored, Transitions int }

// An Explored is what an exploration knows besides what the sink got.
type Explored struct {
	States *States
	// Initial holds the numbers of the initial states, in order.
	Initial []int32
	// Deadlocks holds the states without choices, in order.
	Deadlocks   []int32
	Transitions int
}

// batchStates is how many states a thread gets at once.
const batchStates = 128

// Explore finds the reachable states of a program, breadth first from the initial states in their
// order, and hands them to the sink. Errors of the model are [Error]s that name the place in the
// program and the state; the first one in the order of states is returned.
func Explore(ctx context.Context, p *Program, sink Sink, o ExploreOptions) (*Explored, error) {
	var m *machine
	if err := Try(p.File, func() { m = compileProgram(p) }); err != nil {
		return nil, err
	}
	e := &exploration{machine: m, sink: sink, options: o, result: &Explored{States: newStates(m.layout)}}
	if e.options.Threads < 1 {
		e.options.Threads = runtime.GOMAXPROCS(0)
	}
	e.free.New = func() any { return &batch{ready: make(chan struct{}, 1)} }
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	return e.result, nil
}

// An exploration numbers states in the caller's goroutine, in the order in which they are found, while
// others expand those that have a number. Batches are expanded in any order and numbered in theirs.
type exploration struct {
	*machine
	sink     Sink
	options  ExploreOptions
	result   *Explored
	handed   int // states that belong to a batch
	explored int
	next     []int32
	free     sync.Pool // of batches
}

func (e *exploration) run(ctx context.Context) error {
	packed := make([]uint64, e.layout.words)
	for _, values := range e.Initial {
		e.layout.pack(packed, values)
		if s, added := e.result.States.add(packed, hash(packed)); added {
			e.result.Initial = append(e.result.Initial, int32(s))
		}
	}
	window := 4 * e.options.Threads
	work := make(chan *batch, window)
	defer close(work)
	for range e.options.Threads {
		go func() {
			x := newExpander(e.machine)
			for b := range work {
				x.expand(b)
				b.ready <- struct{}{}
			}
		}()
	}
	var queue []*batch
	for {
		for len(queue) < window && e.handed < e.result.States.Len() {
			b := e.hand()
			queue = append(queue, b)
			work <- b
		}
		if len(queue) == 0 {
			e.report()
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b := queue[0]
		<-b.ready
		if err := e.number(b); err != nil {
			return err
		}
		if b.done < b.count { // it would have grown too large
			b.states = b.states[b.done*e.layout.words:]
			b.count -= b.done
			work <- b
			continue
		}
		queue = append(queue[:0], queue[1:]...)
		e.free.Put(b)
		e.report()
	}
}

// hand makes a batch of states that are not in one yet. They are copied, because States grows meanwhile.
func (e *exploration) hand() *batch {
	b := e.free.Get().(*batch)
	b.count = min(batchStates, e.result.States.Len()-e.handed)
	b.states = b.states[:0]
	for range b.count {
		b.states = append(b.states, e.result.States.at(e.handed)...)
		e.handed++
	}
	return b
}

func (e *exploration) report() {
	if e.options.Progress != nil {
		e.options.Progress(Progress{e.result.States.Len(), e.explored, e.result.Transitions})
	}
}

// number gives the successors of the expanded states of a batch their numbers.
func (e *exploration) number(b *batch) error {
	r, words, rewards, told := e.result, e.layout.words, len(e.Rewards), e.told()
	choice, from := 0, 0
	for s := range b.done {
		if err := e.sink.State(max(0, int(b.players[s])), b.stateRewards[s*rewards:(s+1)*rewards]); err != nil {
			return err
		}
		if choice == int(b.choices[s]) && b.players[s] != atRest {
			r.Deadlocks = append(r.Deadlocks, int32(e.explored))
		}
		for ; choice < int(b.choices[s]); choice++ {
			end := int(b.ends[choice])
			e.next = e.next[:0]
			for i := from; i < end; i++ {
				n, _ := r.States.add(b.next[i*words:(i+1)*words], b.hashes[i])
				e.next = append(e.next, int32(n))
			}
			err := e.sink.Choice(int(b.actions[choice]), e.next, b.probability[from:end],
				b.rewards[choice*rewards:(choice+1)*rewards], b.gained[from*told:end*told])
			if err != nil {
				return err
			}
			r.Transitions += end - from
			from = end
		}
		e.explored++
	}
	if b.err != nil {
		return b.err
	}
	return e.bounded()
}

// mostStates is how many states can have a number.
const mostStates = 1<<31 - 2

func (e *exploration) bounded() error {
	states, transitions := e.result.States.Len(), e.result.Transitions
	const ofTransition = 16
	o := &e.options
	what := ""
	switch {
	case states > mostStates-batchStates*enough || o.States > 0 && states > o.States:
		what = fmt.Sprintf("more than %d states", min(states, max(o.States, 1)))
	case o.Transitions > 0 && transitions > o.Transitions:
		what = fmt.Sprintf("more than %d transitions", o.Transitions)
	case o.Memory > 0 && e.result.States.bytes()+ofTransition*transitions > o.Memory:
		what = fmt.Sprintf("%d states and %d transitions so far need more than %d MB of memory", states, transitions,
			o.Memory>>20)
	default:
		return nil
	}
	return &Error{File: e.File, Message: fmt.Sprintf("the model is too large: %s, %d of them explored", what,
		e.explored)}
}

// Satisfying returns the states where a condition holds, in order.
func (s *States) Satisfying(file string, when Label) (states []int32, err error) {
	values := make([]int64, len(s.variables))
	number := 0
	err = Try(file, func() {
		for ; number < s.count; number++ {
			s.Values(values, number)
			if when.When.holds(values) {
				states = append(states, int32(number))
			}
		}
	})
	if e, ok := err.(*Error); ok {
		e.Message = fmt.Sprintf("%s in the state %s: %s", when.Name, shorten(s.StateName(number), mostOfState), e.Message)
	}
	return states, err
}
