package prism

import (
	"cmdpsolve/cmdp/language"
)

// initial finds the initial states: that of the declarations, or those of init … endinit.
func (b *builder) initial() error {
	if b.source.initial == nil {
		values := make([]int64, len(b.starts))
		for i, e := range b.starts {
			values[i] = e.Int
		}
		b.program.Initial = [][]int64{values}
		return nil
	}
	when, err := b.scope.ResolveAs(language.Bool, b.source.initial, nil)
	if err != nil {
		return err
	}
	b.program.InitialAt = b.source.initial.At
	b.program.Initial, err = language.Solutions(b.program.Variables, when)
	if err != nil {
		return err
	}
	if len(b.program.Initial) == 0 {
		return wrong(b.source.initial.At, "no state is initial: the condition of init … endinit holds nowhere")
	}
	return nil
}
