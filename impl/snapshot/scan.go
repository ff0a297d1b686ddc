package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/quorate/quorate/impl/log"
)

// scanBytes is how much of a file is read at once, in bytes.
const scanBytes = 1 << 20

// scanner reads a file batch by batch and checks that it is a snapshot.
type scanner struct {
	file io.ReaderAt
	name string
	id   ID
	size int64

	buf []byte
	// The bytes of the file from pos on that are read are buf[from:to].
	from, to int
	pos      int64
	offset   int64 // of the next batch

	batch         log.Batch
	lastTimestamp int64
	kraftVersion  int16
	voters        []log.Voter
	footer        bool
	unparsed      bool // whoever reads the data batches checks their records
	err           error
}

func newScanner(file io.ReaderAt, name string, id ID, size int64) *scanner {
	return &scanner{file: file, name: name, id: id, size: size}
}

// next moves to the next batch, which may be the header or the footer. It returns
// false after the footer, and with s.err set at what cannot be part of a snapshot.
func (s *scanner) next() bool {
	if s.err != nil {
		return false
	}
	if s.pos == s.size {
		if !s.footer {
			s.corrupt(fmt.Sprintf("the file ends without a footer after %d bytes", s.size))
		}
		return false
	}
	if s.footer {
		s.corrupt(fmt.Sprintf("%d bytes follow the footer", s.size-s.pos))
		return false
	}
	for {
		it := log.NewBatchesAt(s.buf[s.from:s.to], s.offset, s.id.Epoch)
		if it.Next() {
			return s.take(it.Batch())
		}
		var bad *log.BatchError
		short := s.from == s.to || errors.As(it.Err(), &bad) && bad.Incomplete
		if left := s.size - s.pos; !short || int64(s.to-s.from) == left {
			s.corrupt(bad.Reason)
			return false
		}
		if s.err = s.fill(); s.err != nil {
			return false
		}
	}
}

// take checks the batch that is next, and moves past it.
func (s *scanner) take(b log.Batch) bool {
	reason := s.check(b)
	if reason != "" {
		s.corrupt(reason)
		return false
	}
	s.batch = b
	s.from += len(b.Bytes)
	s.pos += int64(len(b.Bytes))
	s.offset = b.End
	return true
}

func (s *scanner) check(b log.Batch) string {
	if b.Epoch != s.id.Epoch {
		return fmt.Sprintf("batch of epoch %d", b.Epoch)
	}
	switch first := s.pos == 0; {
	case first && !b.Control:
		return "the first batch is no control batch, and a snapshot starts with a header"
	case first:
		return s.header(b)
	case b.Control:
		return s.end(b)
	}
	return s.data(b)
}

func (s *scanner) data(b log.Batch) string {
	if s.unparsed {
		return ""
	}
	return reasonOf(b.Records(func(log.Record) error { return nil }))
}

// header checks the first batch: SnapshotHeader, then possibly the voters that were
// in force (kraft.version 1).
func (s *scanner) header(b log.Batch) string {
	return reasonOf(b.Controls(func(r log.Record, voters []log.Voter) error {
		kind, ok := r.Control(), true
		switch {
		case r.Offset == 0:
			if kind != log.ControlSnapshotHeader {
				return fmt.Errorf("the snapshot starts with %s instead of a header", kind)
			}
			s.lastTimestamp, ok = log.ParseSnapshotHeader(r.Value)
		case kind == log.ControlKRaftVersion:
			s.kraftVersion, ok = log.ParseKRaftVersion(r.Value)
		case kind == log.ControlKRaftVoters:
			s.voters = voters
		default:
			return fmt.Errorf("%s in the batch of the header", kind)
		}
		if !ok {
			return fmt.Errorf("malformed %s", kind)
		}
		return nil
	}))
}

// end checks a control batch that is not the first: it must be the footer.
func (s *scanner) end(b log.Batch) string {
	s.footer = true
	return reasonOf(b.Records(func(r log.Record) error {
		switch kind := r.Control(); {
		case r.Offset != b.Base:
			return errors.New("a record follows the footer")
		case kind != log.ControlSnapshotFooter:
			return fmt.Errorf("%s instead of data or a footer", kind)
		case !log.ParseSnapshotFooter(r.Value):
			return fmt.Errorf("malformed %s", kind)
		}
		return nil
	}))
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// fill reads more of the file: twice as much as there is, if that was too little for
// one batch.
func (s *scanner) fill() error {
	have := copy(s.buf, s.buf[s.from:s.to])
	if have == len(s.buf) {
		grown := make([]byte, min(max(2*int64(have), scanBytes), s.size-s.pos))
		copy(grown, s.buf)
		s.buf = grown
	}
	want := s.buf[have:min(int64(len(s.buf)), s.size-s.pos)]
	if n, err := s.file.ReadAt(want, s.pos+int64(have)); n < len(want) {
		return fmt.Errorf("read %s: %d of %d bytes at %d: %w", s.name, n, len(want), s.pos+int64(have), err)
	}
	s.from, s.to = 0, have+len(want)
	return nil
}

func (s *scanner) corrupt(reason string) {
	s.err = &CorruptError{File: s.name, Pos: s.pos, Reason: reason}
}
