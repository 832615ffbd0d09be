package problem

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// npyBlock is how many entries of an array are read at a time.
const npyBlock = 4096

// An npyArray is a NumPy array of numbers in rows, read block by block.
type npyArray struct {
	shape  []int
	width  int       // numbers in an entry
	values []float64 // of the entries read last
	in     io.ReadCloser
	decode func(dst []float64, b []byte)
	bytes  int // of a number
	block  []byte
	// sum is the checksum of what was read. The zip reader does not look at a
	// checksum of 0.
	sum  hash.Hash32
	want uint32
}

var (
	npyDescr   = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape':\s*\(([0-9, ]*)\)`)
)

// openArray reads the header of an array in the format .npy, version 1 to 3, and
// checks that the member is as long as the header says.
func openArray(member *zip.File) (*npyArray, error) {
	in, err := member.Open()
	if err != nil {
		return nil, fmt.Errorf("the array cannot be read: %w", err)
	}
	a := &npyArray{in: in, width: 1, sum: crc32.NewIEEE(), want: member.CRC32}
	if err := a.header(member.UncompressedSize64); err != nil {
		in.Close()
		return nil, err
	}
	return a, nil
}

// next reads len(b) bytes.
func (a *npyArray) next(b []byte) error {
	_, err := io.ReadFull(a.in, b)
	a.sum.Write(b)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return errors.New("the array ends too early: the file is cut off")
	case errors.Is(err, zip.ErrChecksum):
		return errBroken
	case err != nil:
		return fmt.Errorf("the array cannot be unpacked: %w", err)
	}
	return nil
}

func (a *npyArray) header(size uint64) error {
	head := make([]byte, 10, 12)
	if err := a.next(head); err != nil {
		return err
	}
	if string(head[:6]) != "\x93NUMPY" {
		return errors.New("not a NumPy array")
	}
	length := int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] > 1 { // the length has four bytes
		head = head[:12]
		if err := a.next(head[10:]); err != nil {
			return err
		}
		length = int(binary.LittleEndian.Uint32(head[8:]))
	}
	if length > 1<<16 {
		return errors.New("the header of the array is too long")
	}
	text := make([]byte, length)
	if err := a.next(text); err != nil {
		return err
	}
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return errors.New("the header of the array cannot be read: want numbers, as numpy.savez writes them")
	}
	count, err := a.readShape(string(shape[1]))
	if err != nil {
		return err
	}
	if string(fortran[1]) == "True" && len(a.shape) > 1 && a.shape[0] > 1 && a.shape[1] > 1 {
		return errors.New("stored by columns (Fortran order): want rows, as numpy.ascontiguousarray makes")
	}
	if err := a.readType(string(descr[1])); err != nil {
		return err
	}
	if want := uint64(len(head)+length) + uint64(count)*uint64(a.bytes); size != want {
		return fmt.Errorf("the array has %d bytes, but %d by its shape and type: it is cut off or damaged", size, want)
	}
	return nil
}

// readShape reads the sides of the array and returns how many numbers it has.
func (a *npyArray) readShape(text string) (count int, err error) {
	count = 1
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 0 && count > maxStored/n {
			return 0, fmt.Errorf("shape (%s): too large", text)
		}
		count *= n
		a.shape = append(a.shape, n)
	}
	if len(a.shape) < 1 || len(a.shape) > 2 {
		return 0, fmt.Errorf("%d dimensions: want 1 or 2", len(a.shape))
	}
	if len(a.shape) == 2 {
		a.width = a.shape[1]
	}
	return count, nil
}

// readType finds out how numbers are decoded.
func (a *npyArray) readType(descr string) error {
	order := binary.LittleEndian
	switch descr {
	case "<f8":
		a.bytes, a.decode = 8, func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = math.Float64frombits(order.Uint64(b[8*i:]))
			}
		}
	case "<f4":
		a.bytes, a.decode = 4, func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = float64(math.Float32frombits(order.Uint32(b[4*i:])))
			}
		}
	case "<i8":
		a.bytes, a.decode = 8, func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = float64(int64(order.Uint64(b[8*i:])))
			}
		}
	case "<u8":
		a.bytes, a.decode = 8, func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = float64(order.Uint64(b[8*i:]))
			}
		}
	case "<i4":
		a.bytes, a.decode = 4, func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = float64(int32(order.Uint32(b[4*i:])))
			}
		}
	default:
		return fmt.Errorf("numbers of type %s: want float64, float32, int64 or int32, little-endian, as a.astype('<f8') makes", descr)
	}
	return nil
}

// read reads the next n entries into values.
func (a *npyArray) read(n int) error {
	n *= a.width
	if cap(a.values) < n {
		a.values, a.block = make([]float64, n), make([]byte, n*a.bytes)
	}
	a.values, a.block = a.values[:n], a.block[:n*a.bytes]
	if err := a.next(a.block); err != nil {
		return err
	}
	a.decode(a.values, a.block)
	return nil
}

// end checks that nothing follows and that the checksum is right.
func (a *npyArray) end() error {
	n, err := io.ReadFull(a.in, make([]byte, 1))
	switch {
	case errors.Is(err, zip.ErrChecksum), err == io.EOF && a.sum.Sum32() != a.want:
		return errBroken
	case err == io.EOF:
		return nil
	case err != nil:
		return fmt.Errorf("the array cannot be unpacked: %w", err)
	}
	return fmt.Errorf("%d or more bytes follow the array: it is damaged", n)
}
