package umb_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"cmdpsolve/cmdp/exchange/exchangetest"
	"cmdpsolve/cmdp/exchange/umb"
)

// FuzzRead takes any bytes. What is read must be written to a file that the
// validator accepts, and be the same again.
func FuzzRead(f *testing.F) {
	f.Add(pack(example()))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(pack(example()))
	z.Close()
	f.Add(zipped.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		checkRead(t, data)
	})
}

// FuzzIndex takes the text of index.json alone, which random changes of a whole
// archive seldom reach.
func FuzzIndex(f *testing.F) {
	f.Add(example()[0].content, example()[11].content)
	f.Fuzz(func(t *testing.T, index, valuations string) {
		files := example()
		files[0].content, files[11].content = index, valuations
		checkRead(t, pack(files))
	})
}

func checkRead(t *testing.T, data []byte) {
	_ = umb.Validate(bytes.NewReader(data), int64(len(data)))
	m, err := read(data)
	if err != nil {
		return
	}
	var b bytes.Buffer
	if err := umb.Write(&b, m, umb.WriteOptions{Compression: umb.Plain}); err != nil {
		t.Fatal(err)
	}
	if err := umb.Validate(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Fatal(err)
	}
	again, err := read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := exchangetest.Same(m, again); err != nil {
		t.Fatal(err)
	}
}
