package checker

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spillFile is written at its end, and read in pieces whose sums are kept in
// memory. Errors name the file.
type spillFile struct {
	f    *os.File
	size int64
}

// piece is a part of a spillFile.
type piece struct {
	at   int64
	size uint32
	sum  uint32
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// write appends b.
func (f *spillFile) write(b []byte) error {
	_, err := f.f.WriteAt(b, f.size)
	if err == nil {
		f.size += int64(len(b))
	}
	return err
}

// read gives a piece, in dst if that has the room.
func (f *spillFile) read(dst []byte, p piece) ([]byte, error) {
	if cap(dst) < int(p.size) {
		dst = make([]byte, p.size)
	}
	dst = dst[:p.size]
	if _, err := f.f.ReadAt(dst, p.at); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: %d bytes at %d: %w", f.f.Name(), p.size, p.at, err)
	}
	if sumOf(dst) != p.sum {
		return nil, fmt.Errorf("%s: the %d bytes at %d are damaged", f.f.Name(), p.size, p.at)
	}
	return dst, nil
}

// reset empties the file.
func (f *spillFile) reset() error {
	if f.size == 0 {
		return nil
	}
	f.size = 0
	return f.f.Truncate(0)
}
