package prism

import "cmdpsolve/cmdp/language"

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

// isTimed reports whether time passes in the model.
func (b *builder) isTimed() bool { return b.source.kind.text == "pta" || b.times.Any() }

// clocks resolves invariants, and checks what stands beside clocks.
func (b *builder) clocks() error {
	for _, in := range b.modules {
		if in.module.invariant == nil {
			continue
		}
		if !b.isTimed() {
			return wrong(in.module.invariant.At, "an invariant in a model without clocks: want pta")
		}
		when, err := b.condition(in.module.invariant, in.rename)
		if err != nil {
			return err
		}
		b.program.Invariants = append(b.program.Invariants, language.Label{Name: "the invariant of module " + in.name, At: when.At, When: when})
	}
	if !b.isTimed() {
		return nil
	}
	if k := b.source.kind; k.text != "" && k.text != "pta" && k.text != "mdp" && k.text != "nondeterministic" {
		return wrong(k.at, "clocks in a model of type %s: want pta", k)
	}
	b.action(language.TimeAction)
	for _, in := range b.modules {
		for i := range in.module.commands {
			if a := in.module.commands[i].action; a.text != "" && in.renamed(a.text) == language.TimeAction {
				return wrong(a.at, "an action called time, which is that of steps in which time passes: want another name")
			}
		}
	}
	return nil
}

// addTime lets time pass. Invariants hold in every state, and time never stands still.
func (b *builder) addTime() error {
	if !b.isTimed() {
		return nil
	}
	var invariants []*expr
	for _, l := range b.program.Invariants {
		invariants = append(invariants, l.When)
	}
	b.times.AddTime(b.actions[language.TimeAction], invariants)
	b.program.NoDeadlocks = "neither time can pass nor a command is enabled"
	return nil
}
