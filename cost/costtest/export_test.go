package costtest

// Laws returns the names of all laws.
func Laws() (names []string) {
	for _, l := range laws {
		names = append(names, l.name)
	}
	return names
}
