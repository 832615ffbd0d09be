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
	"github.com/klauspost/compress/flate"
)

// Ways to read a file.
const (
	model   = "cmdpsolve"
	bare    = "bare"
	numpy   = "NumPy"
	goZip   = "archive/zip"
	inflate = "klauspost/compress"
	permute = "a permutation"
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
	if by == goZip || by == inflate {
		return unpack(path, by == inflate)
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
	case permute:
		return permuteRecords(f)
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
func unpack(path string, faster bool) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	if faster {
		z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	}
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

// permuteRecords moves as many records as the file has transitions, of the size of a transition in
// memory, from an order at random to their places. It does not read them.
func permuteRecords(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := int(info.Size()) / stored
	from, to := make([][5]uint64, n), make([][5]uint64, n)
	for i := range from {
		from[i][0] = uint64(disorder(i, n))
	}
	for i := range from {
		to[from[i][0]] = from[i]
	}
	runtime.KeepAlive(to)
	return nil
}

// A jsonRow is a row as a Go program would read it.
type jsonRow struct {
	State, Action int
	Next          map[string]float64
	Returns       []float64
}
