package cmdp

import "slices"

// dictionary is a list of names and their places in it.
type dictionary struct {
	names []int32
	index map[int32]int32 // of the names, once there are many
}

func (r *dictionary) clear() { r.names, r.index = r.names[:0], nil }

func (r *dictionary) add(name int32) {
	const few = 16
	switch {
	case r.index != nil:
		if _, ok := r.index[name]; ok {
			return
		}
		r.index[name] = 0 // its rank is not known before all are
	case slices.Contains(r.names, name):
		return
	case len(r.names) == few:
		r.index = make(map[int32]int32)
		for _, n := range r.names {
			r.index[n] = 0
		}
		r.index[name] = 0
	}
	r.names = append(r.names, name)
}

func (r *dictionary) rank(name int32) int32 {
	if r.index == nil {
		return int32(slices.Index(r.names, name))
	}
	if i := r.index[name]; r.names[i] == name {
		return i
	}
	for i, n := range r.names {
		r.index[n] = int32(i)
	}
	return r.index[name]
}
