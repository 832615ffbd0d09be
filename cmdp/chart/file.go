package chart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmdpsolve/internal/atomicfile"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Formats are the endings of files that a figure can be saved to.
var Formats = []string{"svg", "png", "pdf"}

// FormatOf returns the format of a file by its ending. The error names the endings
// that are known.
func FormatOf(path string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if !slices.Contains(Formats, format) {
		return "", fmt.Errorf("chart: %s: want a file that ends with .svg, .png or .pdf", path)
	}
	return format, nil
}

// Save draws the figure to a file in the format of its ending. It writes a
// temporary file beside it and renames, so that the file is never half a figure.
func (f *Figure) Save(path string) error {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	data, err := f.Bytes(format)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, data); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// Bytes draws the figure in a format, "svg", "png" (200 dots per inch) or "pdf". The
// same figure gives the same bytes. It may be called concurrently.
func (f *Figure) Bytes(format string) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	s := f.layout()
	var c vg.CanvasWriterTo
	switch format {
	case "svg":
		c = vgsvg.New(s.width, s.height)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(200))}
	case "pdf":
		c = vgpdf.New(s.width, s.height)
	default:
		return nil, fmt.Errorf("chart: format %q: want svg, png or pdf", format)
	}
	s.draw(draw.New(c.(vg.CanvasSizer)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	switch format {
	case "svg":
		// Viewers without the font take one whose letters are as wide.
		return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
			[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
	case "pdf":
		return pdfDate.ReplaceAll(b.Bytes(), []byte("(D:20000101000000)")), nil
	}
	return b.Bytes(), nil
}

// pdfDate is the date of a PDF file; it is replaced by one of the same length, as
// the file's table of offsets demands.
var pdfDate = regexp.MustCompile(`\(D:[0-9]{14}\)`)
