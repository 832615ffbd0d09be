package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// curves returns figures like those of a comparison: two panels, bands, values
// that reach 0.
func curves(n int) *Figure {
	rng := rand.New(rand.NewPCG(1, 2))
	f := &Figure{Title: "garnet, 20 seeds, mean and 95% interval"}
	for _, name := range []string{"regret of the mean return (cost)", "violation of the target (distance)"} {
		p := Panel{X: Axis{Title: "episodes", Log: true}, Y: Axis{Title: name, Log: true}}
		for i := range n {
			c := Curve{Name: "algorithm-" + strconv.Itoa(i)}
			for k := 1.0; k <= 1e5; k *= 1.3 {
				y := float64(i+1) * math.Pow(k, -0.2-0.05*float64(i)) * (1 + 0.1*rng.Float64())
				if i == 2 && k > 1e3 {
					y = 0
				}
				c.X, c.Y = append(c.X, k), append(c.Y, y)
				c.Low, c.High = append(c.Low, y*0.7-0.01), append(c.High, y*1.4)
			}
			p.Curves = append(p.Curves, c)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

func draws(t *testing.T, f *Figure, format string) []byte {
	t.Helper()
	data, err := f.Bytes(format)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSameFigureSameBytes(t *testing.T) {
	for _, format := range Formats {
		a, b := draws(t, curves(4), format), draws(t, curves(4), format)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two drawings of one figure differ", format)
		}
		other := curves(4)
		other.Panels[0].Curves[0].Y[5] *= 2
		if bytes.Equal(a, draws(t, other, format)) {
			t.Errorf("%s: another figure has the same drawing", format)
		}
	}
}

// TestFilesAreWhole: what is written can be read by others.
func TestFilesAreWhole(t *testing.T) {
	f := curves(9)
	dec := xml.NewDecoder(bytes.NewReader(draws(t, f, "svg")))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
	img, err := png.Decode(bytes.NewReader(draws(t, f, "png")))
	if err != nil {
		t.Fatal(err)
	}
	if w := img.Bounds().Dx(); w < 1300 {
		t.Errorf("png of %d pixels across: too few for print", w)
	}
	if r, g, b, a := img.At(0, 0).RGBA(); r&g&b&a != 0xffff {
		t.Error("png: the paper is not white")
	}
	pdf := draws(t, f, "pdf")
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || !bytes.HasSuffix(bytes.TrimSpace(pdf), []byte("%%EOF")) {
		t.Error("pdf: no whole file")
	}
	xref := regexp.MustCompile(`startxref\s+([0-9]+)`).FindSubmatch(pdf)
	at, err := strconv.Atoi(string(xref[1]))
	if err != nil || !bytes.HasPrefix(pdf[at:], []byte("xref")) {
		t.Errorf("pdf: the table of offsets is not at %s", xref[1])
	}
}

// TestTextOfFigure: titles, units and every name stand in the figure, once in the
// legend however many panels there are.
func TestTextOfFigure(t *testing.T) {
	f := curves(6)
	f.Notes = []string{"A <note> & more"}
	svg := string(draws(t, f, "svg"))
	for _, want := range []string{"episodes", "regret of the mean return (cost)", "violation of the target (distance)",
		"A &lt;note&gt; &amp; more", "lower edge"} {
		if !strings.Contains(svg, want) {
			t.Errorf("svg has no %q", want)
		}
	}
	for i := range 6 {
		if n := strings.Count(svg, ">algorithm-"+strconv.Itoa(i)+"<"); n != 1 {
			t.Errorf("algorithm-%d stands %d times in the figure", i, n)
		}
	}
}

func TestStylesDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range 35 {
		s := styleOf(i)
		key := ""
		for _, d := range s.dashes {
			key += strconv.FormatFloat(float64(d), 'g', 4, 64) + " "
		}
		r, g, b, _ := s.color.RGBA()
		key += strconv.Itoa(int(r)) + " " + strconv.Itoa(int(g)) + " " + strconv.Itoa(int(b))
		if j, twice := seen[key]; twice {
			t.Errorf("curves %d and %d look the same", i, j)
		}
		seen[key] = i
	}
}

// TestLegendStandsBelowTheData: no entry overlaps the panels or the edges.
// TestManyCurves: of many curves each is in front in one drawing of its panel, among eight at most, and the
// others are grey there.
func TestManyCurves(t *testing.T) {
	grey := []byte("#CDCDCD")
	for _, n := range []int{1, 8, 9, 20} {
		f := curves(n)
		f.Panels[1].Curves = f.Panels[1].Curves[:min(n, 5)] // the other panel has fewer
		front := map[*Curve]int{}
		for _, v := range f.views() {
			if v.end-v.first > 8 || v.end <= v.first {
				t.Errorf("%d curves: those from %d up to %d in front", n, v.first, v.end)
			}
			for i := v.first; i < v.end; i++ {
				front[&v.Curves[i]]++
			}
		}
		for i := range f.Panels {
			for j := range f.Panels[i].Curves {
				if front[&f.Panels[i].Curves[j]] != 1 {
					t.Errorf("%d curves: curve %d of panel %d is in front %d times", n, j, i,
						front[&f.Panels[i].Curves[j]])
				}
			}
		}
		if got := bytes.Contains(draws(t, f, "svg"), grey); got != (n > 8) {
			t.Errorf("%d curves: some are grey: %t", n, got)
		}
	}
}

func TestLegendStandsBelowTheData(t *testing.T) {
	for _, n := range []int{1, 4, 25} {
		s := curves(n).layout()
		if got := float64(s.legend.columns) * float64(s.legend.width); got > float64(s.width) {
			t.Errorf("%d names: a legend of %g points on a sheet of %g", n, got, float64(s.width))
		}
		if rows := (n + s.legend.columns - 1) / s.legend.columns; s.foot() < s.legend.height() ||
			float64(s.legend.height()) < fontSize*1.2*float64(rows) {
			t.Errorf("%d names in %d rows: the legend is %v high", n, rows, s.legend.height())
		}
	}
}

func TestSpans(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		log           bool
		values, edges []float64
		min, max      float64
		cut           bool
	}{
		{"positive", true, []float64{0.01, 10}, nil, 0.01 / 1.1, 11, false},
		{"zero", true, []float64{0, 1}, nil, 1 / 1.1, 1.1, true},
		{"band to zero", true, []float64{0.3, 1}, []float64{-1, 2}, 0.3 / 1.1, 2.2, true},
		{"band far below", true, []float64{0.3, 1}, []float64{1e-6, 2}, 0.1 / 1.1, 2.2, true},
		{"too many decades", true, []float64{1e-20, 1}, nil, 1e-5 / 1.1, 1.1, true},
		{"gaps", true, []float64{nan, 1, 10}, nil, 1 / 1.1, 11, false},
		{"band above nothing", true, []float64{-1, -2}, []float64{-3, 1.4}, 1.4 / 1.1, 1.4 * 1.1, true},
		{"smallest", true, []float64{5e-324, 1e-310}, nil, 0.1, 1, true},
		{"nothing", true, []float64{0, nan}, nil, 0.1, 1, true},
		{"linear", false, []float64{-1, 1}, nil, -1.08, 1.08, false},
		{"constant", false, []float64{5}, nil, 4.5, 5.5, false},
		{"zero only", false, []float64{0}, nil, -1, 1, false},
	} {
		s := spanOf(c.log, c.values, c.edges)
		if math.Abs(s.min/c.min-1) > 1e-9 || math.Abs(s.max/c.max-1) > 1e-9 || s.cut != c.cut {
			t.Errorf("%s: from %g to %g, cut %v: want %g, %g, %v", c.name, s.min, s.max, s.cut, c.min, c.max, c.cut)
		}
	}
}

// TestBandAboveNothing: a regret that is below 0 in the mean, but not in its band.
func TestBandAboveNothing(t *testing.T) {
	f := Figure{Panels: []Panel{{X: Axis{Log: true}, Y: Axis{Log: true}, Curves: []Curve{{
		Name: "moma", X: []float64{1, 10}, Y: []float64{-1, -2}, Low: []float64{-3, -3}, High: []float64{-1, 1.4},
	}}}}}
	for _, format := range []string{"svg", "png", "pdf"} {
		if _, err := f.Bytes(format); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{1, 1e5, "1 10 100 1000 10000 1e5"},
		{0.9, 31, "1 2 5 10 20"},
		{1e-8, 1, "1e-8 1e-6 1e-4 0.01 1"},
		{0.31, 0.42, "0.31 0.42"},
		{0.41, 0.42, "0.41 0.42"},
		{0.00021, 0.00098, "3e-4 4e-4 5e-4 6e-4 7e-4 8e-4 9e-4"},
	} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(c.low, c.high) {
			if tick.Value < c.low || tick.Value > c.high {
				t.Errorf("mark %g beyond %g to %g", tick.Value, c.low, c.high)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %g to %g: %s: want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestBadFigures(t *testing.T) {
	one := []float64{1}
	for _, c := range []struct {
		f    Figure
		want string
	}{
		{Figure{}, "without panels"},
		{Figure{Panels: []Panel{{}}}, "no curves"},
		{figureOf(Curve{}), "no points"},
		{figureOf(Curve{X: one}), "0 values at 1 points"},
		{figureOf(Curve{X: one, Y: one, Low: one}), "band of 1 and 0"},
		{figureOf(Curve{X: one, Y: one, Low: []float64{2}, High: one}), "band from 2 to 1"},
		{figureOf(Curve{X: []float64{2, 1}, Y: []float64{1, 1}}), "falls"},
		{figureOf(Curve{X: one, Y: []float64{math.Inf(1)}}), "finite"},
		{figureOf(Curve{X: one, Y: one, Low: one, High: one, Free: true}), "free"},
		{figureOf(Curve{X: one, Y: []float64{math.NaN()}}), "no point can be drawn"},
	} {
		if _, err := c.f.Bytes("svg"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v: want %q", err, c.want)
		}
	}
	f := figureOf(Curve{X: one, Y: one})
	if _, err := f.Bytes("gif"); err == nil {
		t.Error("drew a gif")
	}
	if err := f.Save("x.gif"); err == nil || !strings.Contains(err.Error(), ".svg, .png or .pdf") {
		t.Errorf("error %v", err)
	}
}

func figureOf(c Curve) Figure { return Figure{Panels: []Panel{{Curves: []Curve{c}}}} }

func TestSave(t *testing.T) {
	f := &Figure{Panels: []Panel{{X: Axis{Title: "reward"}, Y: Axis{Title: "risk"},
		Curves: []Curve{{X: []float64{0, 1, 2}, Y: []float64{0, 0.5, 2}, Marks: true}}}}}
	for _, name := range []string{"a.svg", "b.PNG", "c.pdf"} {
		path := filepath.Join(t.TempDir(), name)
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := f.Save(filepath.Join(t.TempDir(), "none", "a.svg")); err == nil {
		t.Error("saved into a folder that does not exist")
	}
}
