//go:build race

package oracletest

// raceEnabled: the race detector makes pools forget, so allocations say nothing.
const raceEnabled = true
