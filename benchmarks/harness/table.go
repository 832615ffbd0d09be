package harness

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
)

// Digits writes x with the five digits that records have.
func Digits(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// Rounded returns x as Digits writes it, so that what was played and what is read
// from records are the same.
func Rounded(x float64) float64 {
	y, err := strconv.ParseFloat(Digits(x), 64)
	if err != nil {
		panic("harness: " + err.Error()) // it has just been written
	}
	return y
}

// Short writes x with the three digits that tables have.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// List writes numbers, with the digits of records, into one cell of a table.
func List(x []float64) string {
	words := make([]string, len(x))
	for i, v := range x {
		words[i] = Digits(v)
	}
	return strings.Join(words, " ")
}

// ParseList reads what List wrote.
func ParseList(text string) ([]float64, error) {
	words := strings.Fields(text)
	x := make([]float64, len(words))
	for i, w := range words {
		var err error
		if x[i], err = strconv.ParseFloat(w, 64); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// WriteTable writes rows under a header as CSV, all of them or, on an error, nothing.
func WriteTable(path string, header []string, rows [][]string) error {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if err := csv.NewWriter(file).WriteAll(append([][]string{header}, rows...)); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// ReadTable reads what WriteTable wrote, and gives every row to parse. Errors name the
// file and the line.
func ReadTable(path string, header []string, parse func(row []string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		return fmt.Errorf("%s: line 1: not a table of %s", path, strings.Join(header, ", "))
	}
	for i, row := range rows[1:] {
		if err := parse(row); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, i+2, err)
		}
	}
	return nil
}
