package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
)

// headerSize is the size of the header of a record batch, in bytes, and overhead what
// its length field does not count.
const (
	headerSize = log.HeaderSize
	overhead   = 12
)

// header is the header of a batch of format 2, not checked (DefaultRecordBatch).
type header []byte

func (h header) i64(at int) int64 { return int64(binary.BigEndian.Uint64(h[at:])) }
func (h header) i32(at int) int64 { return int64(int32(binary.BigEndian.Uint32(h[at:]))) }
func (h header) i16(at int) int64 { return int64(int16(binary.BigEndian.Uint16(h[at:]))) }

func (h header) base() int64 { return h.i64(0) }
func (h header) size() int64 { return overhead + h.i32(8) }
func (h header) last() int64 { return h.base() + h.i32(23) }
func (h header) magic() int8 { return int8(h[16]) }
func (h header) crc() uint32 { return binary.BigEndian.Uint32(h[17:]) }
func (h header) has(bit int) bool {
	return h.i16(21)>>bit&1 != 0
}

var (
	codecs     = [8]string{"none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// batches prints a segment or a checkpoint, one batch at a time.
func (d *dumper) batches(name, base string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return d.batchesIn(f, info.Size(), name, base)
}

func (d *dumper) batchesIn(f io.ReaderAt, size int64, name, base string) error {
	if err := d.title(base); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at, next := int64(0), int64(-1)
	for at < size {
		b, err := readBatch(f, at, size)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if b == nil {
			d.bad = true
			fmt.Fprintf(d.out, "Found %d invalid bytes at the end of %s\n", size-at, base)
			return nil
		}
		h := header(b)
		if next >= 0 && h.base() != next {
			d.wrong("Non-consecutive offsets in %s: %d is followed by %d", name, next-1, h.base())
		}
		next = h.last() + 1
		d.batch(name, at, b)
		at += int64(len(b))
	}
	return nil
}

// title is what the name of the file says.
func (d *dumper) title(base string) error {
	if base == "bootstrap.checkpoint" {
		fmt.Fprintln(d.out, "KRaft bootstrap snapshot")
		return nil
	}
	if strings.HasSuffix(base, ".log") {
		offset, err := baseOffset(base, ".log")
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "Log starting offset: %d\n", offset)
		return nil
	}
	// %020d-%010d.checkpoint, or more before or after the suffix while it is written
	// or deleted.
	var end, epoch int64
	err := errors.New("the name is not an offset of 20 digits and an epoch of 10")
	if len(base) >= 31 && base[20] == '-' {
		var err1, err2 error
		end, err1 = strconv.ParseInt(base[:20], 10, 64)
		epoch, err2 = strconv.ParseInt(base[21:31], 10, 32)
		if err1 == nil && err2 == nil && end >= 0 && epoch >= 0 {
			err = nil
		}
	}
	if err == nil {
		fmt.Fprintf(d.out, "Snapshot end offset: %d, epoch: %d\n", end, epoch)
	}
	return err
}

// readBatch reads the batch at a position, nil if there is no whole one.
func readBatch(f io.ReaderAt, at, size int64) ([]byte, error) {
	var head [headerSize]byte
	if size-at < headerSize {
		return nil, nil
	}
	if _, err := f.ReadAt(head[:], at); err != nil {
		return nil, err
	}
	n := header(head[:]).size()
	if n < headerSize || n > size-at || header(head[:]).magic() != 2 {
		return nil, nil
	}
	b := make([]byte, n)
	_, err := f.ReadAt(b, at)
	return b, err
}

// batch prints a batch as kafka-dump-log does, and its records.
func (d *dumper) batch(name string, at int64, b []byte) {
	h := header(b)
	valid := crc32.Checksum(b[21:], castagnoli) == h.crc()
	horizon := "OptionalLong.empty"
	if h.has(6) {
		horizon = fmt.Sprintf("OptionalLong[%d]", h.i64(27))
	}
	timestamps := "CreateTime"
	if h.has(3) {
		timestamps = "LogAppendTime"
	}
	fmt.Fprintf(d.out, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		h.base(), h.last(), h.i32(57), h.i32(53), lastSequence(h), h.i64(43), h.i16(51),
		h.i32(12), h.has(4), h.has(5), horizon, at, timestamps, h.i64(35), len(b), h.magic(), codecs[h.i16(21)&7], h.crc(), valid)
	if !valid {
		d.wrong("%s: the checksum of the batch at byte %d is wrong", name, at)
		return
	}
	it := log.NewBatches(b)
	if !it.Next() {
		d.wrong("%s: the batch at byte %d is not one of KRaft: %v", name, at, it.Err())
		return
	}
	batch := it.Batch()
	err := batch.Records(func(r log.Record) error {
		d.record(name, batch, r)
		return nil
	})
	if err != nil {
		d.wrong("%s: the batch at byte %d: %v", name, at, err)
	}
}

func lastSequence(h header) int64 {
	if h.i32(53) < 0 {
		return -1
	}
	return int64(int32(h.i32(53) + h.i32(23)))
}

func (d *dumper) record(name string, b log.Batch, r log.Record) {
	line := "| "
	if !d.noMeta {
		key := -1
		if r.Key != nil {
			key = len(r.Key)
		}
		line += fmt.Sprintf("offset: %d CreateTime: %d keySize: %d valueSize: %d sequence: -1 headerKeys: [] ", r.Offset, b.Timestamp, key, len(r.Value))
	}
	if b.Control {
		text, err := control(r)
		if err != nil {
			d.wrong("%s: record %d: %v", name, r.Offset, err)
		}
		line += text
	} else if d.data {
		line += "payload: " + payload(r.Value)
	}
	if line = strings.TrimRight(line, " "); line != "|" {
		fmt.Fprintln(d.out, line)
	}
}

// payload is a data record: a metadata record as text, anything else as bytes.
func payload(b []byte) string {
	if r, err := metadata.Decode(b); err == nil {
		return r.String()
	}
	return strconv.QuoteToASCII(string(b))
}
