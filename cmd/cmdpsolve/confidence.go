package main

import "cmdpsolve/cmd/cmdpsolve/internal/report"

// confidenceReport says how intervals were made of a log.
type confidenceReport struct {
	Level report.Number `json:"level" csv:"level"`
}

func (c *confidenceReport) String() string { return "" }
