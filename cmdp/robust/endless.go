package robust

import "errors"

func newEndless(s *Set) (dynamics, error) { return nil, errors.New("robust: no horizon") }
