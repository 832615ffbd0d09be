package prism

import "cmdpsolve/cmdp/language"

// initial finds the initial states: that of the declarations, or those of init … endinit.
func (b *builder) initial() {
	if b.source.initial == nil {
		values := make([]int64, len(b.starts))
		for i, e := range b.starts {
			values[i] = e.Int
		}
		b.program.Initial = [][]int64{values}
		return
	}
	when := must(b.scope.ResolveAs(language.Bool, b.source.initial, nil))
	b.program.InitialAt = b.source.initial.At
	b.program.Initial = must(language.Solutions(b.program.Variables, when))
	if len(b.program.Initial) == 0 {
		fail(b.source.initial.At, "no state is initial: the condition of init … endinit holds nowhere")
	}
}

// isTimed reports whether time passes in the model.
func (b *builder) isTimed() bool { return b.source.kind.text == "pta" || b.times.Any() }

// clocks resolves invariants, and checks what stands beside clocks.
func (b *builder) clocks() {
	for _, in := range b.modules {
		if in.module.invariant == nil {
			continue
		}
		if !b.isTimed() {
			fail(in.module.invariant.At, "an invariant in a model without clocks: want pta")
		}
		when := b.condition(in.module.invariant, in.rename)
		b.program.Invariants = append(b.program.Invariants, language.Label{Name: "the invariant of module " + in.name, At: when.At, When: when})
	}
	if !b.isTimed() {
		return
	}
	if k := b.source.kind; k.text != "" && k.text != "pta" && k.text != "mdp" && k.text != "nondeterministic" {
		fail(k.at, "clocks in a model of type %s: want pta", k)
	}
	b.action(language.TimeAction)
	for _, in := range b.modules {
		for i := range in.module.commands {
			if a := in.module.commands[i].action; a.text != "" && in.renamed(a.text) == language.TimeAction {
				fail(a.at, "an action called time, which is that of steps in which time passes: want another name")
			}
		}
	}
}

// addTime lets time pass. Invariants hold in every state, and time never stands still.
func (b *builder) addTime() {
	if !b.isTimed() {
		return
	}
	var invariants []*expr
	for _, l := range b.program.Invariants {
		invariants = append(invariants, l.When)
	}
	b.times.AddTime(b.actions[language.TimeAction], invariants)
	b.program.NoDeadlocks = "neither time can pass nor a command is enabled"
}
