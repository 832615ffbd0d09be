package cmdp

import "slices"

// TwoCopies returns epochs of two copies of these, one after the other: an episode goes to the second one when it comes
// to one of some states of Base in an epoch. A return more counts that; no return is random there. It is to be called
// after Model, and allocates a kernel for each class of either copy. Concurrent calls are safe.
func (e *Epochs) TwoCopies(epoch int, states []bool) *Epochs {
	out := &Epochs{Base: e.Base, Start: e.Start, Letters: 2 * e.Letters, Dim: e.Dim + 1, Bytes: e.Bytes}
	for j, letter := range e.Letter { // the second of each two letters leads to the states
		letter *= 2
		if states[e.Classes[0].Next[j]] {
			letter++
		}
		out.Letter = append(out.Letter, letter)
	}
	number := make(map[string]int32)
	for copy := range 2 {
		for own := range e.Len() {
			comes := make([]bool, out.Letters)
			for letter := range int32(out.Letters) {
				after := e.After(own, letter/2)
				comes[letter] = copy == 0 && letter%2 == 1 && after == epoch
				if copy == 1 || comes[letter] {
					after += e.Len()
				}
				out.Next = append(out.Next, int32(after))
			}
			out.Class = append(out.Class, out.addClass(number, &e.Classes[e.Class[own]], e.Class[own], comes))
		}
	}
	if e.offered != nil {
		choices := e.Base.Choices()
		out.offered = newBits(out.Len() * choices)
		for own := range out.Len() {
			for c := range choices {
				out.offered.set(own*choices+c, e.Offers(own%e.Len(), int32(c)))
			}
		}
	}
	return out
}

// addClass returns the number of the class in which some letters count, which is made of another one unless there is
// one.
func (e *Epochs) addClass(number map[string]int32, k *Kernel, class int32, counts []bool) int32 {
	key := []byte{byte(class), byte(class >> 8), byte(class >> 16), byte(class >> 24)}
	for _, x := range counts {
		if x {
			key = append(key, 1)
		} else {
			key = append(key, 0)
		}
	}
	n, known := number[string(key)]
	if known {
		return n
	}
	n = int32(len(e.Classes))
	number[string(key)] = n
	own := *k
	own.Vector, own.Returns, own.Outcomes, own.Random = nil, nil, nil, nil
	for c := range k.Choices() {
		_, prob := k.Row(c)
		first, end := k.Entries(c)
		comes := 0.0
		for j, letter := range e.Letter[first:end] {
			if counts[letter] {
				comes += prob[j]
			}
		}
		own.Returns = append(slices.Grow(own.Returns, e.Dim), k.ReturnsOf(c, e.Dim-1)...)
		own.Returns = append(own.Returns, comes)
	}
	e.Classes = append(e.Classes, own)
	return n
}
