package numpy

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/exchange/internal/source"
)

// An Archive is an .npz file: arrays by name.
type Archive struct {
	members map[string]*zip.File
	names   []string
	limit   int64 // bytes that an array held in memory may have
}

// Open opens an archive of the given length. It reads the list of arrays only.
func Open(f io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("numpy: not an .npz file, or cut: %w", err)
	}
	a := &Archive{members: make(map[string]*zip.File), limit: max(source.Small, size*source.MaxRatio)}
	for _, m := range z.File {
		name, ok := strings.CutSuffix(m.Name, ".npy")
		if !ok || a.members[name] != nil {
			return nil, fmt.Errorf("numpy: %s: no array, or in the archive twice", source.Quote(m.Name))
		}
		a.members[name] = m
		a.names = append(a.names, name)
	}
	return a, nil
}

// Names returns the names of the arrays in the order of the file.
func (a *Archive) Names() []string { return a.names }

// Has reports whether there is an array of that name.
func (a *Archive) Has(name string) bool { return a.members[name] != nil }

// An Array is an array that is being read.
type Array struct {
	Shape []int
	// Kind is 'f', 'i', 'u', 'b', 'U' or 'S', as in NumPy's descriptors, Width the
	// bytes of a value.
	Kind    byte
	Width   int
	order   binary.ByteOrder
	fortran bool
	in      io.ReadCloser
	left    int // values
	limit   int64
	buf     []byte
}

// Array begins to read the array of the given name. Nothing is allocated for its
// values, and its length is that of the file.
func (a *Archive) Array(name string) (*Array, error) {
	m := a.members[name]
	if m == nil {
		return nil, fmt.Errorf("numpy: the array %s is missing", name)
	}
	in, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("numpy: %s: %w", name, err)
	}
	x := &Array{in: in, limit: a.limit}
	used, err := x.header()
	if err == nil && uint64(used)+uint64(x.left)*uint64(x.Width) != m.UncompressedSize64 {
		err = fmt.Errorf("%d values of %d bytes do not fill the %d bytes of the array", x.left, x.Width, m.UncompressedSize64)
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("numpy: %s: %w", name, err)
	}
	return x, nil
}

var (
	npyDescr   = regexp.MustCompile(`'descr':\s*'([<>|=]?)([a-zA-Z])(\d{1,9})'`)
	npyFortran = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape':\s*\(([0-9, ]*)\)`)
)

// header reads the header of the format .npy, version 1 to 3, and returns its length.
func (x *Array) header() (int, error) {
	head := make([]byte, 12)
	if _, err := io.ReadFull(x.in, head[:10]); err != nil || string(head[:6]) != "\x93NUMPY" {
		return 0, errors.New("not a NumPy array")
	}
	used, size := 10, int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] > 1 {
		if _, err := io.ReadFull(x.in, head[10:]); err != nil {
			return 0, errors.New("not a NumPy array")
		}
		used, size = 12, int(binary.LittleEndian.Uint32(head[8:]))
	}
	if size > 1<<16 {
		return 0, fmt.Errorf("a header of %d bytes: too long", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(x.in, text); err != nil {
		return 0, errors.New("the header of the array ends too early")
	}
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return 0, fmt.Errorf("the header %s cannot be read: want an array of numbers or strings", source.Quote(strings.TrimSpace(string(text))))
	}
	x.fortran = string(fortran[1]) == "True"
	x.order = binary.LittleEndian
	if string(descr[1]) == ">" {
		x.order = binary.BigEndian
	}
	x.Kind = descr[2][0]
	x.Width, _ = strconv.Atoi(string(descr[3]))
	if x.Kind == 'U' {
		x.Width *= 4
	}
	switch {
	case x.Kind == 'f' && (x.Width == 4 || x.Width == 8), strings.IndexByte("iu", x.Kind) >= 0 && bits.OnesCount(uint(x.Width)) == 1 && x.Width <= 8,
		x.Kind == 'b' && x.Width == 1, x.Kind == 'U' || x.Kind == 'S':
	default:
		return 0, fmt.Errorf("values of type %s%s: want floating-point numbers of 32 or 64 bits, whole numbers, truth values or strings", descr[2], descr[3])
	}
	if x.Width == 0 {
		return 0, errors.New("strings of no length")
	}
	x.left = 1
	for _, s := range strings.Split(string(shape[1]), ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n > 0 && x.left > math.MaxInt/16/max(1, x.Width)/n {
			return 0, fmt.Errorf("the shape (%s) is too large", shape[1])
		}
		x.Shape, x.left = append(x.Shape, n), x.left*n
	}
	if len(x.Shape) > 8 {
		return 0, fmt.Errorf("%d dimensions: want at most 8", len(x.Shape))
	}
	return used + size, nil
}

// Read reads the next values, as many as dst has, in the order of the file.
func (x *Array) Read(dst []float64) error {
	if x.Kind == 'U' || x.Kind == 'S' {
		return errors.New("strings: want numbers")
	}
	const most = 8192
	if x.buf == nil {
		x.buf = make([]byte, most*x.Width)
	}
	for len(dst) > 0 {
		n := min(len(dst), most)
		b := x.buf[:n*x.Width]
		if _, err := io.ReadFull(x.in, b); err != nil {
			return broken(err)
		}
		x.decode(dst[:n], b)
		dst = dst[n:]
		x.left -= n
	}
	return nil
}

func broken(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the array ends too early")
	}
	return err
}

func (x *Array) decode(dst []float64, b []byte) {
	switch string([]byte{x.Kind, '0' + byte(x.Width)}) {
	case "f8":
		for i := range dst {
			dst[i] = math.Float64frombits(x.order.Uint64(b[8*i:]))
		}
	case "f4":
		for i := range dst {
			dst[i] = float64(math.Float32frombits(x.order.Uint32(b[4*i:])))
		}
	case "i8":
		for i := range dst {
			dst[i] = float64(int64(x.order.Uint64(b[8*i:])))
		}
	case "u8":
		for i := range dst {
			dst[i] = float64(x.order.Uint64(b[8*i:]))
		}
	case "i4":
		for i := range dst {
			dst[i] = float64(int32(x.order.Uint32(b[4*i:])))
		}
	case "u4":
		for i := range dst {
			dst[i] = float64(x.order.Uint32(b[4*i:]))
		}
	case "i2":
		for i := range dst {
			dst[i] = float64(int16(x.order.Uint16(b[2*i:])))
		}
	case "u2":
		for i := range dst {
			dst[i] = float64(x.order.Uint16(b[2*i:]))
		}
	case "i1":
		for i := range dst {
			dst[i] = float64(int8(b[i]))
		}
	default: // u1, b1
		for i := range dst {
			dst[i] = float64(b[i])
		}
	}
}

// Close ends reading. It is an error if values are left, and if the checksum of
// the archive does not agree.
func (x *Array) Close() error {
	n, err := io.Copy(io.Discard, x.in)
	if err2 := x.in.Close(); err == nil {
		err = err2
	}
	if err == nil && (n > 0 || x.left > 0) {
		err = errors.New("the array is longer than its shape says")
	}
	return err
}

// Floats returns all values of an array of numbers, the last index fastest.
func (a *Archive) Floats(name string) (shape []int, values []float64, err error) {
	x, err := a.Array(name)
	if err != nil {
		return nil, nil, err
	}
	if int64(x.left) > a.limit/8 {
		x.in.Close()
		return nil, nil, fmt.Errorf("numpy: %s: %d values: the archive may not unpack to more than %d times its length", name, x.left, source.MaxRatio)
	}
	values = make([]float64, x.left)
	err = x.Read(values)
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("numpy: %s: %w", name, err)
	}
	if x.fortran {
		values = rowMajor(x.Shape, values)
	}
	return x.Shape, values, nil
}

// rowMajor reorders values whose first index is fastest.
func rowMajor(shape []int, values []float64) []float64 {
	out, at := make([]float64, len(values)), make([]int, len(shape))
	for i := range out {
		from, step := 0, 1
		for d, n := range shape {
			from, step = from+at[d]*step, step*n
		}
		out[i] = values[from]
		for d := len(shape) - 1; d >= 0; d-- {
			if at[d]++; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
	return out
}

// Strings returns the values of an array of strings of one dimension, or of none.
func (a *Archive) Strings(name string) ([]string, error) {
	x, err := a.Array(name)
	if err != nil {
		return nil, err
	}
	bad := func(err error) ([]string, error) { return nil, fmt.Errorf("numpy: %s: %w", name, err) }
	n, total := x.left, int64(x.left)*int64(x.Width)
	if x.Kind != 'U' && x.Kind != 'S' || len(x.Shape) > 1 || total > a.limit {
		x.in.Close()
		return bad(errors.New("want strings, in one dimension"))
	}
	b := make([]byte, total)
	if _, err := io.ReadFull(x.in, b); err != nil {
		return bad(broken(err))
	}
	x.left = 0
	if err := x.Close(); err != nil {
		return bad(err)
	}
	all := make([]string, n)
	for i := range all {
		part := b[i*x.Width : (i+1)*x.Width]
		if x.Kind == 'U' {
			var text []rune
			for ; len(part) > 0; part = part[4:] {
				text = append(text, rune(x.order.Uint32(part)))
			}
			part = []byte(string(text))
		}
		all[i] = strings.TrimRight(string(part), "\x00")
		if !utf8.ValidString(all[i]) || strings.ContainsRune(all[i], utf8.RuneError) {
			return bad(fmt.Errorf("value %d is not text", i))
		}
	}
	return all, nil
}
