//go:build !race

package oracletest

// raceEnabled: without the race detector allocations can be counted.
const raceEnabled = false
