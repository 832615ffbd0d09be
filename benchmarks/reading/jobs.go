package main

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"cmdpsolve/cmdp/problem"

	"github.com/goccy/go-yaml"
)

// Ways to read a file.
const (
	model   = "cmdpsolve"
	bare    = "bare"
	numpy   = "NumPy"
	goZip   = "archive/zip"
	goCSV   = "encoding/csv"
	goJSON  = "encoding/json, whole"
	goLines = "encoding/json"
	goYAML  = "go-yaml, whole"
)

// write is a job that writes a file in the format UMB.
const write = "write"

// job reads a file.
func job(by, path string) error {
	if by == model {
		p, err := problem.Read(path)
		runtime.KeepAlive(p)
		return err
	}
	if by == goZip {
		return unpack(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch by {
	case bare:
		buffer := make([]byte, 1<<20)
		for err == nil {
			_, err = f.Read(buffer)
		}
	case goCSV:
		in := csv.NewReader(f)
		in.ReuseRecord = true
		for err == nil {
			_, err = in.Read()
		}
	case goJSON:
		var p struct{ Transitions []jsonRow }
		err = json.NewDecoder(f).Decode(&p)
	case goLines:
		in := json.NewDecoder(f)
		var rows []jsonRow
		defer func() { runtime.KeepAlive(rows) }()
		for err == nil {
			var row jsonRow
			if err = in.Decode(&row); err == nil {
				rows = append(rows, row)
			}
		}
	case goYAML:
		var p struct{ Transitions []jsonRow }
		err = yaml.NewDecoder(f).Decode(&p)
	default:
		err = fmt.Errorf("reading: unknown job %q", by)
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// unpack unpacks all arrays and does nothing with them.
func unpack(path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, member := range z.File {
		in, err := member.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A jsonRow is a row as a Go program would read it.
type jsonRow struct {
	State, Action int
	Next          map[string]float64
	Returns       []float64
}
