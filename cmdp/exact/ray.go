package exact

import "context"

// ray returns what a policy gains in each step of a place in which it goes on for ever,
// found in a direction in which that is negative.
func (p *stationary) ray(ctx context.Context, dir []float64, q *quotient, policy *actions, endless []int32) (priced, error) {
	s := p.k.First
	for n, i := range s {
		_ = i
		if q.state[n] == endless[0] {
			return priced{}, &NoTotalError{State: n, Action: policy.at(n), Return: -1}
		}
	}
	return priced{}, ErrNoTotal
}
