package markov

import "sync"

// A Progress is told what is being done and which part of it is done, NaN if that is not known. Small models
// are not worth telling of. nil tells nobody.
type Progress func(what string, part float64)

// reportEvery is for how many states something is done between two reports, or more.
const reportEvery = 1 << 14

// At tells that a part is done of something with so many states.
func (t Progress) At(what string, part float64, states int) {
	if t != nil && states >= reportEvery {
		t(what, min(part, 1))
	}
}

// inTurn returns a Progress that several goroutines may tell at the same time. It tells t one after the other.
func (t Progress) inTurn() Progress {
	if t == nil {
		return nil
	}
	var mu sync.Mutex
	return func(what string, part float64) {
		mu.Lock()
		defer mu.Unlock()
		t(what, part)
	}
}

// AtStep tells that a step is done of several, each of which goes through all states.
func (t Progress) AtStep(what string, step, steps, states int) {
	if (step+1)*states/reportEvery > step*states/reportEvery {
		t.At(what, float64(step)/float64(steps), reportEvery)
	}
}
