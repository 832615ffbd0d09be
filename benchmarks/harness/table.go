package harness

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/internal/atomicfile"

	"github.com/jszwec/csvutil"
)

// digits writes x with the five digits that records have.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// Rounded returns x as digits writes it, so that what was played and what is read
// from records are the same.
func Rounded(x float64) float64 {
	y, err := strconv.ParseFloat(digits(x), 64)
	if err != nil {
		panic("harness: " + err.Error()) // it has just been written
	}
	return y
}

// Short writes x with the three digits that tables have.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// Interval writes the mean of numbers with a 95% interval, in the digits that tables have.
func Interval(x []float64) string {
	mean, half := contest.MeanInterval(x)
	return Short(mean) + " ± " + Short(half)
}

// writeRecords writes records as CSV, all of them or, on an error, nothing. R is a struct whose
// exported fields are columns, with the name of their csv tag: texts, numbers, which keep five
// digits, or lists of numbers, which stand in one cell.
func writeRecords[R any](path string, records []R) error {
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

// ReadRecords reads what writeRecords wrote. Errors name the file and the line.
func ReadRecords[R any](path string) (records []R, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var zero R
	want, err := csvutil.Header(zero, "csv")
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
		var r R
		if err := dec.Decode(&r); err == io.EOF {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		records = append(records, r)
	}
}

// findings is the heading under which people write what the numbers say.
const findings = "## What was found"

// WritePage writes a page of Markdown into a folder, which is made if it is missing. What stands
// under "What was found" on the page that it replaces is kept.
func WritePage(folder, name, text string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if old, err := os.ReadFile(path); err == nil {
		if _, kept, ok := strings.Cut(string(old), findings); ok {
			text += findings + kept
		}
	}
	return atomicfile.WriteFile(path, []byte(text))
}
