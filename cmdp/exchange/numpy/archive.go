package numpy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cmdpsolve/cmdp/internal/source"

	"github.com/klauspost/compress/flate"
)

// An Archive is an .npz file: arrays by name.
type Archive struct {
	members  map[string]*zip.File
	names    []string
	limit    int64  // bytes that an array held in memory may have
	unpacked uint64 // bytes of all arrays
	memory   int64  // bytes that the model may take, 0 for no bound
}

// Open opens an archive of the given length. It reads the list of arrays only.
func Open(f io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("numpy: not an .npz file, or cut: %w", err)
	}
	if !endsArchive(f, size-int64(len(z.Comment))) {
		return nil, errors.New("numpy: the file goes on behind its end: it is damaged, or something was added to it")
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { // faster than that of Go's library
		return flate.NewReader(bufio.NewReaderSize(r, 1<<16))
	})
	a := &Archive{members: make(map[string]*zip.File), limit: max(source.Small, size*source.MaxRatio),
		memory: source.Memory(f)}
	for _, m := range z.File {
		name, ok := strings.CutSuffix(m.Name, ".npy")
		if !ok || a.members[name] != nil {
			return nil, fmt.Errorf("numpy: %s: no array, or in the archive twice", source.Quote(m.Name))
		}
		a.members[name] = m
		a.names = append(a.names, name)
		a.unpacked += min(m.UncompressedSize64, math.MaxInt64/uint64(len(z.File)))
	}
	return a, nil
}

// endsArchive reports whether the last record of an archive, but for a comment, ends at a place. The zip reader lets
// anything follow.
func endsArchive(f io.ReaderAt, at int64) bool {
	const record = 22
	head := make([]byte, 4)
	_, err := f.ReadAt(head, at-record)
	return err == nil && string(head) == "PK\x05\x06"
}

// OpenFile is [Open] of a file. The archive must not be used once the file is closed. A file
// that can only be read from its beginning is read into memory.
func OpenFile(f fs.File) (*Archive, error) {
	at, size, err := source.At(f)
	if err != nil {
		return nil, err
	}
	return Open(at, size)
}

// CheckGrowth returns an error if all arrays together are too large for the length of the
// file, which readers want to know who keep everything.
func (a *Archive) CheckGrowth() error {
	if a.unpacked > uint64(a.limit) {
		return fmt.Errorf("numpy: the arrays unpack to more than %d times the length of the file: want less, or a "+
			"file without compression, as numpy.savez makes", source.MaxRatio)
	}
	return nil
}

// fits returns an error if what takes so many bytes needs more memory than there is.
func (a *Archive) fits(what string, bytes float64) error { return source.Fits(a.memory, what, bytes) }

// Names returns the names of the arrays in the order of the file.
func (a *Archive) Names() []string { return a.names }

// Has reports whether there is an array of that name.
func (a *Archive) Has(name string) bool { return a.members[name] != nil }

// An Array is an array that is being read.
type Array struct {
	Shape []int
	// Kind is 'f', 'i', 'u', 'b', 'U' or 'S', as in NumPy's descriptors, Width the
	// bytes of a value.
	Kind  byte
	Width int
	// Fortran says that values stand with the first index fastest. [Array.Read] hands them
	// out so.
	Fortran bool
	big     bool // the first byte of a value is the highest
	in      io.ReadCloser
	left    int // values
	buf     []byte
	// The zip reader does not look at a checksum of 0: then it is taken here.
	sum hash.Hash32
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
	x := &Array{in: in}
	if m.CRC32 == 0 {
		x.sum = crc32.NewIEEE()
	}
	used, err := x.header()
	if err == nil && uint64(used)+uint64(x.left)*uint64(x.Width) != m.UncompressedSize64 {
		err = fmt.Errorf("the array has %d bytes, but %d by its shape and type: it is cut off or damaged",
			m.UncompressedSize64, uint64(used)+uint64(x.left)*uint64(x.Width))
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
	if err := x.next(head[:10]); err != nil {
		return 0, err
	}
	if string(head[:6]) != "\x93NUMPY" {
		return 0, errors.New("not a NumPy array")
	}
	used, size := 10, int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] > 1 {
		if err := x.next(head[10:]); err != nil {
			return 0, err
		}
		used, size = 12, int(binary.LittleEndian.Uint32(head[8:]))
	}
	if size > 1<<16 {
		return 0, fmt.Errorf("a header of %d bytes: too long", size)
	}
	text := make([]byte, size)
	if err := x.next(text); err != nil {
		return 0, err
	}
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return 0, fmt.Errorf("the header %s cannot be read: want an array of numbers or strings",
			source.Quote(strings.TrimSpace(string(text))))
	}
	x.Fortran = string(fortran[1]) == "True"
	if err := x.readType(string(descr[1]), string(descr[2]), string(descr[3])); err != nil {
		return 0, err
	}
	return used + size, x.readShape(string(shape[1]))
}

// readType reads the three parts of a descriptor.
func (x *Array) readType(order, kind, width string) error {
	x.big = order == ">"
	x.Kind = kind[0]
	x.Width, _ = strconv.Atoi(width)
	if x.Kind == 'U' {
		x.Width *= 4
	}
	switch {
	case x.Kind == 'f' && (x.Width == 4 || x.Width == 8),
		strings.IndexByte("iu", x.Kind) >= 0 && bits.OnesCount(uint(x.Width)) == 1 && x.Width <= 8,
		x.Kind == 'b' && x.Width == 1, x.Kind == 'U' || x.Kind == 'S':
	default:
		return fmt.Errorf("values of type %s%s: want floating-point numbers of 32 or 64 bits, as a.astype('f8') "+
			"makes, whole numbers, truth values or strings", kind, width)
	}
	if x.Width == 0 {
		return errors.New("strings of no length")
	}
	return nil
}

func (x *Array) readShape(shape string) error {
	x.left = 1
	for _, s := range strings.Split(shape, ",") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n > 0 && x.left > math.MaxInt/16/max(1, x.Width)/n {
			return fmt.Errorf("the shape (%s) is too large", shape)
		}
		x.Shape, x.left = append(x.Shape, n), x.left*n
	}
	if len(x.Shape) > 8 {
		return fmt.Errorf("%d dimensions: want at most 8", len(x.Shape))
	}
	return nil
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
		if err := x.next(b); err != nil {
			return err
		}
		x.decode(dst[:n], b)
		dst = dst[n:]
		x.left -= n
	}
	return nil
}

// next reads len(b) bytes.
func (x *Array) next(b []byte) error {
	_, err := io.ReadFull(x.in, b)
	if x.sum != nil {
		x.sum.Write(b)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the array ends too early: the file is cut off")
	}
	return damaged(err)
}

func damaged(err error) error {
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("the array is damaged: its bytes do not agree with their checksum")
	case err != nil:
		return fmt.Errorf("the array cannot be unpacked: %w", err)
	}
	return nil
}

// decode decodes values, which it leaves in the order of little-endian machines.
func (x *Array) decode(dst []float64, b []byte) {
	for i := 0; x.big && i < len(b); i += x.Width {
		slices.Reverse(b[i : i+x.Width])
	}
	order := binary.LittleEndian
	switch string([]byte{x.Kind, '0' + byte(x.Width)}) {
	case "f8":
		for i := range dst {
			dst[i] = math.Float64frombits(order.Uint64(b[8*i:]))
		}
	case "f4":
		for i := range dst {
			dst[i] = float64(math.Float32frombits(order.Uint32(b[4*i:])))
		}
	case "i8":
		for i := range dst {
			dst[i] = float64(int64(order.Uint64(b[8*i:])))
		}
	case "u8":
		for i := range dst {
			dst[i] = float64(order.Uint64(b[8*i:]))
		}
	case "i4":
		for i := range dst {
			dst[i] = float64(int32(order.Uint32(b[4*i:])))
		}
	case "u4":
		for i := range dst {
			dst[i] = float64(order.Uint32(b[4*i:]))
		}
	case "i2":
		for i := range dst {
			dst[i] = float64(int16(order.Uint16(b[2*i:])))
		}
	case "u2":
		for i := range dst {
			dst[i] = float64(order.Uint16(b[2*i:]))
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

// Stop gives up reading.
func (x *Array) Stop() { x.in.Close() }

// Close ends reading. It is an error if values are left, and if the checksum of
// the archive does not agree.
func (x *Array) Close() error {
	defer x.in.Close()
	n, err := io.ReadFull(x.in, make([]byte, 1))
	switch {
	case n > 0 || x.left > 0:
		return errors.New("the array is longer than its shape says")
	case err != io.EOF:
		return damaged(err)
	case x.sum != nil && x.sum.Sum32() != 0:
		return damaged(zip.ErrChecksum)
	}
	return nil
}

// Floats returns all values of an array of numbers, the last index fastest.
func (a *Archive) Floats(name string) (shape []int, values []float64, err error) {
	x, err := a.Array(name)
	if err != nil {
		return nil, nil, err
	}
	if int64(x.left) > a.limit/8 {
		x.in.Close()
		return nil, nil, fmt.Errorf("numpy: %s: %d values: the archive may not unpack to more than %d times its length",
			name, x.left, source.MaxRatio)
	}
	err = a.fits("the array", 8*float64(x.left))
	if err != nil {
		x.in.Close()
		return nil, nil, fmt.Errorf("numpy: %s: %w", name, err)
	}
	values = make([]float64, x.left)
	err = x.Read(values)
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("numpy: %s: %w", name, err)
	}
	if x.Fortran {
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
			at[d]++
			if at[d] < shape[d] {
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
	if err := a.fits("the array", float64(total)+16*float64(n)); err != nil {
		x.in.Close()
		return bad(err)
	}
	b := make([]byte, total)
	if err := x.next(b); err != nil {
		return bad(err)
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
				if x.big {
					slices.Reverse(part[:4])
				}
				text = append(text, rune(binary.LittleEndian.Uint32(part)))
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
