package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/quorumstate"
)

const dumpHelp = `Usage: kraftd dump [-print-data-log] [-skip-record-metadata] FILE...

Prints files of a replica in a readable form, by what they are called: segments (.log),
checkpoints (.checkpoint), indexes (.index, .timeindex), quorum-state, meta.properties,
leader-epoch-checkpoint, partition.metadata. Segments and checkpoints are printed as
kafka-dump-log does; records that are metadata records are decoded. Files are only read, and may belong to a node that runs; the last
batch of such a log may be incomplete.

Exit codes: 0 all is well, 1 a file is damaged or cannot be read, 2 usage.

`

// dumper prints files, and remembers whether something is wrong with one.
type dumper struct {
	out, err     io.Writer
	data, noMeta bool
	bad          bool
}

// wrong reports what is wrong with a file.
func (d *dumper) wrong(format string, args ...any) {
	d.bad = true
	fmt.Fprintf(d.err, format+"\n", args...)
}

// errDamaged is the result of a dump that found damage, and has said so.
var errDamaged = errors.New("something is wrong with a file, as said above")

func dump(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("dump", flag.ContinueOnError)
	d := &dumper{out: stdout, err: stderr}
	flags.BoolVar(&d.data, "print-data-log", false, "print the values of records")
	flags.BoolVar(&d.noMeta, "skip-record-metadata", false, "do not print offsets and sizes of records")
	if err := parse(flags, args, dumpHelp, stderr); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usagef("no file is given")
	}
	for _, name := range flags.Args() {
		fmt.Fprintf(d.out, "Dumping %s\n", name)
		if err := d.file(name); err != nil {
			d.wrong("%v", err)
		}
	}
	if d.bad {
		return errDamaged
	}
	return nil
}

// file prints a file by what it is called.
func (d *dumper) file(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	base := filepath.Base(name)
	switch {
	case strings.HasSuffix(base, ".log"), strings.Contains(base, ".checkpoint"):
		return d.batches(name, base)
	case strings.HasSuffix(base, ".index"):
		return d.index(name, base)
	case strings.HasSuffix(base, ".timeindex"):
		return d.timeIndex(name, base)
	}
	text := d.texts()[base]
	if text == nil {
		return fmt.Errorf("%s: not a file that kraftd dump knows", name)
	}
	if info.Size() > maxText {
		return fmt.Errorf("%s: %d bytes are too many for such a file", name, info.Size())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := text(b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// texts are the files that are text.
func (d *dumper) texts() map[string]func([]byte) error {
	return map[string]func([]byte) error{
		quorumstate.FileName:      d.quorumState,
		metaprops.FileName:        d.metaProperties,
		"leader-epoch-checkpoint": d.epochs,
		"partition.metadata":      d.text,
		"recovery-point":          d.text,
		"log-start":               d.text,
		"incarnation":             d.text,
	}
}

// maxText is the largest text file that is read, in bytes.
const maxText = 16 << 20

func (d *dumper) text(b []byte) error {
	_, err := fmt.Fprintf(d.out, "%s\n", strings.TrimRight(string(b), "\r\n"))
	return err
}

func (d *dumper) quorumState(b []byte) error {
	e, version, err := quorumstate.Decode(b)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "version: %d leaderEpoch: %d leaderId: %d votedId: %d", version, e.Epoch, e.Leader, e.Voted)
	if e.VotedDirectory != [16]byte{} {
		fmt.Fprintf(d.out, " votedDirectoryId: %s", metaprops.DirectoryID(e.VotedDirectory))
	}
	fmt.Fprintln(d.out)
	return nil
}

func (d *dumper) metaProperties(b []byte) error {
	p, err := metaprops.Decode(b)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "version: %d cluster.id: %s node.id: %d directory.id: %s\n", p.Version, quoted(p.ClusterID), p.NodeID, p.Directory)
	for _, e := range p.Other {
		fmt.Fprintf(d.out, "%s: %s\n", e.Key, quoted(e.Value))
	}
	return nil
}

// quoted is a text as it is, or quoted if it would be misread.
func quoted(s string) string {
	if q := strconv.Quote(s); s == "" || q != `"`+s+`"` || strings.ContainsRune(s, ' ') {
		return q
	}
	return s
}

func (d *dumper) epochs(b []byte) error {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if lines[0] != "0" || len(lines) < 2 {
		return fmt.Errorf("version %q is not 0, or the number of entries is missing", lines[0])
	}
	if lines[1] != strconv.Itoa(len(lines)-2) {
		return fmt.Errorf("%q entries, and %d lines of them", lines[1], len(lines)-2)
	}
	for i, line := range lines[2:] {
		epoch, offset, ok := strings.Cut(line, " ")
		_, err1 := strconv.ParseInt(epoch, 10, 32)
		_, err2 := strconv.ParseInt(offset, 10, 64)
		if !ok || errors.Join(err1, err2) != nil {
			return fmt.Errorf("line %d: %q is not an epoch and an offset", i+3, line)
		}
		fmt.Fprintf(d.out, "epoch: %s startOffset: %s\n", epoch, offset)
	}
	return nil
}

// index prints an offset index, and holds it against the segment beside it, if it is
// there.
func (d *dumper) index(name, base string) error {
	start, err := baseOffset(base, ".index")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	segment, err := os.Open(strings.TrimSuffix(name, ".index") + ".log")
	if err == nil {
		defer segment.Close()
	}
	return d.entries(name, 8, func(b []byte) {
		offset, pos := start+int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
		fmt.Fprintf(d.out, "offset: %d position: %d\n", offset, pos)
		var head [headerSize]byte
		if segment == nil {
			return
		}
		if _, err := segment.ReadAt(head[:], pos); err != nil {
			d.wrong("%s: offset %d is at position %d, where the segment has no batch", name, offset, pos)
		} else if last := header(head[:]).last(); last != offset {
			d.wrong("%s: offset %d is at position %d, where a batch ends with offset %d", name, offset, pos, last)
		}
	})
}

func (d *dumper) timeIndex(name, base string) error {
	start, err := baseOffset(base, ".timeindex")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return d.entries(name, 12, func(b []byte) {
		fmt.Fprintf(d.out, "timestamp: %d offset: %d\n", int64(binary.BigEndian.Uint64(b)), start+int64(int32(binary.BigEndian.Uint32(b[8:]))))
	})
}

// entries calls f with each entry of an index. An active index is larger than its
// entries: the rest is zeros.
func (d *dumper) entries(name string, size int, f func([]byte)) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.Size() > maxText {
		return fmt.Errorf("%s: %d bytes are too many for an index", name, info.Size())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	n := 0
	for ; len(b) >= size; b, n = b[size:], n+1 {
		if binary.BigEndian.Uint64(b) == 0 && n > 0 {
			break
		}
		f(b[:size])
	}
	if n == 0 {
		fmt.Fprintf(d.out, "%s is empty.\n", name)
	}
	return nil
}

// baseOffset is the offset that a file is named after.
func baseOffset(base, suffix string) (int64, error) {
	offset, err := strconv.ParseInt(strings.TrimSuffix(base, suffix), 10, 64)
	if err != nil || len(base) != 20+len(suffix) || offset < 0 {
		return 0, errors.New("the name is not an offset of 20 digits")
	}
	return offset, nil
}

// asJSON is for small values of known types.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
