package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/quorate/quorate/traces/event/mapped"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// BinaryExt ends the name of a file in the binary form, which [Create] and [OpenAppend]
// go by; [Open] looks into the file. Of such a file
//
//	[0, 8)     binaryMagic
//	[8, 16)    where the last event ends, published after each
//	[16, 20)   Version
//	[20, 24)   id of the node
//	[24, 26)   length of its directory id, which follows
//	[4096, …)  events: their length in 4 bytes, the binary form, the length again
//
// in little-endian order. What follows the last event is of no account: the file is
// mapped beyond it, and cut only when it is closed.
const BinaryExt = ".events"

const (
	binaryMagic = "\x89QTRACE\n"
	endPos      = 8
	frameBytes  = 8 // the two lengths of an event
	maxDir      = mapped.Head - 26
)

// binaryFile is a file in the binary form that is written.
type binaryFile struct {
	m   *mapped.File
	end int64
	buf []byte
}

// isBinary says whether a file at a path is or is to be in the binary form.
func isBinary(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return strings.HasSuffix(path, BinaryExt), nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, len(binaryMagic))
	switch n, err := io.ReadFull(f, magic); {
	case n == 0 && errors.Is(err, io.EOF):
		return strings.HasSuffix(path, BinaryExt), nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	}
	return begunBinary(magic), nil
}

// begunBinary says whether a file begins as one in the binary form. One whose process
// was killed when it made it has zeros.
func begunBinary(head []byte) bool {
	return string(head) == binaryMagic || bytes.Equal(head, make([]byte, len(binaryMagic)))
}

// damagedMagic says whether a file that does not begin as one in the binary form was to be
// one: by its name, or as half of it is there. An event in a line begins with a brace.
func damagedMagic(head []byte, name string) bool {
	same := 0
	for i := range binaryMagic {
		if head[i] == binaryMagic[i] {
			same++
		}
	}
	named := strings.HasSuffix(strings.TrimSuffix(name, ".zst"), BinaryExt)
	return same >= len(binaryMagic)/2 || named && head[0] != '{'
}

func createBinary(path string, flag int, node Node) (*binaryFile, error) {
	if len(node.Dir) > maxDir {
		return nil, fmt.Errorf("a directory id of %d bytes", len(node.Dir))
	}
	m, err := mapped.Open(path, flag|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	h := make([]byte, 0, mapped.Head)
	h = append(h, binaryMagic...)
	h = binary.LittleEndian.AppendUint64(h, mapped.Head)
	h = binary.LittleEndian.AppendUint32(h, Version)
	h = binary.LittleEndian.AppendUint32(h, uint32(node.ID))
	h = binary.LittleEndian.AppendUint16(h, uint16(len(node.Dir)))
	h = append(h, node.Dir...)
	if err := m.Store(h, 0, endPos, mapped.Head); err != nil {
		return nil, errors.Join(err, m.Close(0))
	}
	return &binaryFile{m: m, end: mapped.Head}, nil
}

// openBinary goes on with a file, of which last becomes the last event; false if it has
// none.
func openBinary(path string, node Node, last *Event) (f *binaryFile, found bool, err error) {
	end, of, begun, err := lastBinary(path, last)
	if err != nil {
		return nil, false, err
	}
	if !begun {
		f, err := createBinary(path, 0, node)
		return f, false, err
	}
	if of != node {
		return nil, false, otherNode(of, node)
	}
	m, err := mapped.Open(path, 0, 0)
	if err != nil {
		return nil, false, err
	}
	return &binaryFile{m: m, end: end}, end > mapped.Head, nil
}

func otherNode(of, node Node) error {
	return fmt.Errorf("the file of node %d (directory %q), not of node %d (directory %q)", of.ID, of.Dir, node.ID, node.Dir)
}

// lastBinary reads the head of a file and its last event, if it has one. Not begun: it
// has no head yet.
func lastBinary(path string, last *Event) (end int64, node Node, begun bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, node, false, nil
	} else if err != nil {
		return 0, node, false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return 0, node, false, err
	}
	h := make([]byte, mapped.Head)
	if _, err := io.ReadFull(f, h); err != nil {
		return 0, node, false, fmt.Errorf("not a trace that can be continued: %w", err)
	}
	if end, node, err = parseHead(h); err != nil || end == 0 {
		return 0, node, false, err
	}
	if end == mapped.Head {
		return end, node, true, nil
	}
	damaged := func(what string) (int64, Node, bool, error) {
		return 0, node, false, fmt.Errorf("not a trace that can be continued: byte %d, where the last event ends: %s", end, what)
	}
	var length [4]byte
	if _, err := f.ReadAt(length[:], end-4); err != nil {
		return damaged(err.Error())
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > ndjson.MaxLine || end-n-frameBytes < mapped.Head {
		return damaged(fmt.Sprintf("an event of %d bytes", n))
	}
	b := make([]byte, n+4)
	if _, err := f.ReadAt(b, end-n-frameBytes); err != nil {
		return damaged(err.Error())
	}
	if front := int64(binary.LittleEndian.Uint32(b)); front != n {
		return damaged(fmt.Sprintf("an event of %d bytes, which at its beginning is one of %d", n, front))
	}
	if err := DecodeBinary(b[4:], node, last); err != nil {
		return damaged(err.Error())
	}
	return end, node, true, nil
}

// parseHead reads the head of a file. The end is 0 if it is that of a file that was just
// made.
func parseHead(h []byte) (end int64, node Node, err error) {
	if string(h[:len(binaryMagic)]) != binaryMagic {
		return 0, node, nil
	}
	if v := binary.LittleEndian.Uint32(h[16:]); v != Version {
		return 0, node, fmt.Errorf("the version of the schema is %d, this program reads version %d only", v, Version)
	}
	at := binary.LittleEndian.Uint64(h[endPos:])
	id, n := binary.LittleEndian.Uint32(h[20:]), int(binary.LittleEndian.Uint16(h[24:]))
	switch {
	case at < mapped.Head || at > math.MaxInt64:
		return 0, node, fmt.Errorf("the head says that events end at byte %d", at)
	case id > math.MaxInt32:
		return 0, node, fmt.Errorf("the head says node %d", int32(id))
	case n > maxDir:
		return 0, node, fmt.Errorf("the head has a directory id of %d bytes", n)
	}
	return int64(at), Node{ID: int32(id), Dir: string(h[26 : 26+n])}, nil
}

// append adds an event, which is there when it returns.
func (f *binaryFile) append(e *Event) error {
	b := AppendBinary(append(f.buf[:0], 0, 0, 0, 0), e)
	n := uint32(len(b) - 4)
	if n > ndjson.MaxLine {
		return fmt.Errorf("an event of %d bytes", n)
	}
	binary.LittleEndian.PutUint32(b, n)
	b = binary.LittleEndian.AppendUint32(b, n)
	f.buf = b
	end := f.end + int64(len(b))
	if err := f.m.Store(b, f.end, endPos, uint64(end)); err != nil {
		return err
	}
	f.end = end
	return nil
}

func (f *binaryFile) close() error { return f.m.Close(f.end) }

// binaryReader reads the events of a file in the binary form.
type binaryReader struct {
	in       *ndjson.Lines
	name     string
	node     Node
	at, end  int64
	n        int64 // of the event last read
	start    int64
	buf      []byte
	dec      binaryDecoder
	begun    bool
	interned decoder
}

func (r *binaryReader) fault(format string, args ...any) error {
	return &ndjson.FileError{Name: r.name, Line: r.n, Offset: r.start, Err: fmt.Errorf(format, args...)}
}

func (r *binaryReader) head() error {
	h := make([]byte, mapped.Head)
	if _, err := io.ReadFull(r.in, h); err != nil {
		return r.fault("the file ends within its head: %w", err)
	}
	end, node, err := parseHead(h)
	if err != nil {
		return r.fault("%w", err)
	}
	r.at, r.end, r.node, r.begun = mapped.Head, max(end, mapped.Head), node, true
	r.dec.names = &r.interned
	return nil
}

// read reads the next event, io.EOF after the last.
func (r *binaryReader) read(e *Event) error {
	if !r.begun {
		if err := r.head(); err != nil {
			return err
		}
	}
	r.start = r.at
	if r.at == r.end {
		return io.EOF
	}
	r.n++
	n, err := r.frame(4)
	if err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(n))
	if size > ndjson.MaxLine {
		return r.fault("an event of %d bytes", size)
	}
	b, err := r.frame(size + 4)
	if err != nil {
		return err
	}
	if again := int64(binary.LittleEndian.Uint32(b[size:])); again != size {
		return r.fault("an event of %d bytes, which at its end is one of %d", size, again)
	}
	r.dec.b, r.dec.at, r.dec.err = b[:size], 0, nil
	if err := r.dec.decode(r.node, e); err != nil {
		return r.fault("%w", err)
	}
	return nil
}

// frame reads a number of bytes, which are good until the next call.
func (r *binaryReader) frame(n int64) ([]byte, error) {
	if r.at+n > r.end {
		return nil, r.fault("the event would end after byte %d, where the head says that the last one ends", r.end)
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, max(n, 512))
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.in, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the file ends, where the head says that events go on until byte %d", r.end)
		}
		return nil, r.fault("%w", err)
	}
	r.at += n
	return b, nil
}
