package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/internal/atomicfile"

	"github.com/jszwec/csvutil"
)

// digits writes x with the five digits that records have.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// rounded returns x as digits writes it, so that what was played and what is read
// from records are the same.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(digits(x), 64)
	if err != nil {
		panic("published: " + err.Error()) // it has just been written
	}
	return y
}

// writeRecords writes records as CSV, all of them or, on an error, nothing. Numbers keep five digits, and lists of
// numbers stand in one cell.
func writeRecords(path string, records []record) error {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	enc := csvutil.NewEncoder(out)
	enc.WithMarshalers(csvutil.NewMarshalers(
		csvutil.MarshalFunc(func(x float64) ([]byte, error) { return []byte(digits(x)), nil }),
		csvutil.MarshalFunc(func(list []float64) ([]byte, error) {
			words := make([]string, len(list))
			for i, x := range list {
				words[i] = digits(x)
			}
			return []byte(strings.Join(words, " ")), nil
		}),
	))
	if err := enc.Encode(records); err != nil {
		return err
	}
	out.Flush()
	return atomicfile.WriteFile(path, text.Bytes())
}

// readRecords reads what writeRecords wrote. Errors name the file and the line.
func readRecords(path string) (records []record, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	want, err := csvutil.Header(record{}, "csv")
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(text))
	dec, err := csvutil.NewDecoder(in)
	if err != nil || !slices.Equal(dec.Header(), want) {
		return nil, fmt.Errorf("%s: line 1: not a table of %s", path, strings.Join(want, ", "))
	}
	dec.WithUnmarshalers(csvutil.UnmarshalFunc(func(cell []byte, list *[]float64) error {
		for _, word := range strings.Fields(string(cell)) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return err
			}
			*list = append(*list, x)
		}
		return nil
	}))
	for line := 2; ; line++ {
		var r record
		if err := dec.Decode(&r); err == io.EOF {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		records = append(records, r)
	}
}
