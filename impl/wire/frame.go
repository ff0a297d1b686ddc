package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of the frames that a replica accepts, in bytes.
const (
	// MaxRequest bounds requests of any kind, and responses but those that follow.
	MaxRequest = 1 << 20
	// MaxMessage bounds the requests of replicas: they have a few hundred bytes, and a
	// client id of at most 32 KiB. A body may become a hundred times as large in memory.
	MaxMessage = 64 << 10
	// MaxRecords is what is given to a Fetch that asks for more, if one batch is not more
	// (KafkaRaftClient.MAX_FETCH_SIZE_BYTES).
	MaxRecords = 8 << 20
	// MaxResponse bounds responses: a Fetch response has at most the bytes asked
	// for, or one batch.
	MaxResponse = 32 << 20
)

// firstRead is how much of a frame is read before its length is believed.
const firstRead = 64 << 10

// ErrMalformed is wrapped by every error that says that bytes are not what they
// should be. The connection they came from is of no more use.
var ErrMalformed = errors.New("malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// ReadFrame reads a frame of at most limit bytes and returns what is in it, in buf
// if it is large enough. Memory grows with the bytes that arrive, not with the
// length that is announced. The error is io.EOF only between frames.
func ReadFrame(r io.Reader, limit int, buf []byte) ([]byte, error) {
	// The length is read into buf too: a local array would escape to the heap.
	if cap(buf) < 4 {
		buf = make([]byte, 0, 512)
	}
	if _, err := io.ReadFull(r, buf[:4]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(buf[:4])))
	if size < 0 || size > int64(limit) {
		return nil, malformed("frame of %d bytes, at most %d are allowed", size, limit)
	}
	n := int(size)
	if cap(buf) >= n {
		buf = buf[:n]
		if _, err := io.ReadFull(r, buf); err != nil {
			return nil, inFrame(err)
		}
		return buf, nil
	}
	buf = buf[:0]
	for want := firstRead; len(buf) < n; want *= 2 {
		have := len(buf)
		grown := make([]byte, min(want, n))
		copy(grown, buf)
		if _, err := io.ReadFull(r, grown[have:]); err != nil {
			return nil, inFrame(err)
		}
		buf = grown
	}
	return buf, nil
}

func inFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// beginFrame makes room for the length of a frame; endFrame fills it in.
func beginFrame(dst []byte) ([]byte, int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

func endFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
