package log

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// ControlRecord is a control record that may stand in a batch with others.
type ControlRecord struct {
	Kind  ControlType
	Value []byte
}

// VoterEndpoint is where a voter listens.
type VoterEndpoint struct {
	Name, Host string
	Port       uint16
}

// Voter is a member of a dynamic voter set (KIP-853).
type Voter struct {
	ID        int32
	Directory [16]byte
	Endpoints []VoterEndpoint
	// MinVersion and MaxVersion are the levels of kraft.version that it can do.
	MinVersion, MaxVersion int16
}

// votersVersion is the version of KRaftVersionRecord and VotersRecord.
const votersVersion = 0

// KRaftVersionControl is a KRaftVersion record of a level.
func KRaftVersionControl(level int16) ControlRecord {
	value := binary.BigEndian.AppendUint16(nil, votersVersion)
	return ControlRecord{ControlKRaftVersion, append(binary.BigEndian.AppendUint16(value, uint16(level)), 0)}
}

// KRaftVotersControl is a KRaftVoters record of a voter set (VotersRecord).
func KRaftVotersControl(voters []Voter) ControlRecord {
	b := binary.BigEndian.AppendUint16(nil, votersVersion)
	b = binary.AppendUvarint(b, uint64(len(voters))+1)
	for _, v := range voters {
		b = binary.BigEndian.AppendUint32(b, uint32(v.ID))
		b = append(b, v.Directory[:]...)
		b = binary.AppendUvarint(b, uint64(len(v.Endpoints))+1)
		for _, e := range v.Endpoints {
			b = appendCompact(appendCompact(b, e.Name), e.Host)
			b = append(binary.BigEndian.AppendUint16(b, e.Port), 0)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(v.MinVersion))
		b = binary.BigEndian.AppendUint16(b, uint16(v.MaxVersion))
		b = append(b, 0, 0) // no tagged fields of the versions, nor of the voter
	}
	return ControlRecord{ControlKRaftVoters, append(b, 0)}
}

func appendCompact(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

// ParseKRaftVersion decodes the value of a KRaftVersion record: a level of kraft.version.
// ok is false if it is none.
func ParseKRaftVersion(value []byte) (level int16, ok bool) {
	if len(value) < 4 || binary.BigEndian.Uint16(value) != votersVersion || !onlyTags(value[4:]) {
		return 0, false
	}
	return int16(binary.BigEndian.Uint16(value[2:])), true
}

// ParseKRaftVoters decodes the value of a KRaftVoters record.
func ParseKRaftVoters(value []byte) ([]Voter, error) {
	r := votersReader{b: value}
	if version := r.uint16(); !r.short && version != votersVersion {
		return nil, fmt.Errorf("voters of version %d, want %d", version, votersVersion)
	}
	var voters []Voter
	for range r.count() {
		v := Voter{ID: int32(r.uint32())}
		copy(v.Directory[:], r.take(16))
		for range r.count() {
			e := VoterEndpoint{Name: r.text(), Host: r.text(), Port: r.uint16()}
			r.tags()
			v.Endpoints = append(v.Endpoints, e)
		}
		v.MinVersion, v.MaxVersion = int16(r.uint16()), int16(r.uint16())
		r.tags()
		r.tags()
		if r.short {
			break
		}
		voters = append(voters, v)
	}
	r.tags()
	if r.short || len(r.b) > 0 {
		return nil, fmt.Errorf("malformed voters")
	}
	return voters, nil
}

// VoterSet is a voter set and the offset of its record.
type VoterSet struct {
	Offset int64
	Voters []Voter
}

// VoterSets are the KRaftVoters records that Open found at or behind the log start, ascending.
func (l *Log) VoterSets() []VoterSet { return l.voterSets }

// maxKRaftVersion is the level of kraft.version that is known here.
const maxKRaftVersion = 1

// noteVoters takes the voter sets of a batch that Open has read.
func (l *Log) noteVoters(b Batch) error {
	if !b.Control || b.End <= l.start.offset {
		return nil
	}
	err := b.Controls(func(r Record, voters []Voter) error {
		if voters != nil {
			l.voterSets = append(l.voterSets, VoterSet{r.Offset, voters})
		}
		return nil
	})
	if err != nil {
		return l.CorruptAt(b.Base, err.Error())
	}
	return nil
}

// Controls calls yield with each record of a control batch, and the voters of one that has
// a voter set. Errors: as of Records; a level of kraft.version that is not known here;
// those of yield.
func (b Batch) Controls(yield func(r Record, voters []Voter) error) error {
	return b.Records(func(r Record) error {
		switch r.Control() {
		case ControlKRaftVersion:
			level, ok := ParseKRaftVersion(r.Value)
			if !ok {
				return fmt.Errorf("record %d: malformed %s", r.Offset, ControlKRaftVersion)
			}
			if level < 0 || level > maxKRaftVersion {
				return fmt.Errorf("record %d: kraft.version %d is not supported, at most %d is", r.Offset, level, maxKRaftVersion)
			}
		case ControlKRaftVoters:
			voters, err := ParseKRaftVoters(r.Value)
			if err == nil {
				err = checkVoters(voters)
			}
			if err != nil {
				return fmt.Errorf("record %d: %w", r.Offset, err)
			}
			return yield(r, voters)
		}
		return yield(r, nil)
	})
}

// checkVoters refuses what is no voter set.
func checkVoters(voters []Voter) error {
	for i, v := range voters {
		if v.ID < 0 {
			return fmt.Errorf("voter %d: the id is negative", v.ID)
		}
		for _, other := range voters[:i] {
			if other.ID == v.ID {
				return fmt.Errorf("voter %d is there twice", v.ID)
			}
		}
	}
	return nil
}

// keys are the voters as traces name them, ascending by id.
func keys(voters []Voter) []event.Node {
	nodes := make([]event.Node, 0, len(voters))
	for _, v := range voters {
		n := event.Node{ID: v.ID}
		if v.Directory != [16]byte{} {
			n.Dir = base64.RawURLEncoding.EncodeToString(v.Directory[:])
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b event.Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes
}

// votersReader reads fields one after the other. Once short it reads zeros.
type votersReader struct {
	b     []byte
	short bool
}

func (r *votersReader) take(n uint64) []byte {
	if r.short || n > uint64(len(r.b)) {
		r.short = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *votersReader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *votersReader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *votersReader) uvarint() uint64 {
	v, used := binary.Uvarint(r.b)
	if used <= 0 || v > math.MaxUint32 {
		r.short = true
		return 0
	}
	r.take(uint64(used))
	return v
}

// count is the length of a compact array: no more than there are bytes.
func (r *votersReader) count() uint64 {
	n := r.uvarint()
	if n == 0 || n-1 > uint64(len(r.b)) {
		r.short = true
		return 0
	}
	return n - 1
}

func (r *votersReader) text() string {
	n := r.uvarint()
	if n == 0 {
		r.short = true
		return ""
	}
	return string(r.take(n - 1))
}

func (r *votersReader) tags() {
	for range r.uvarint() {
		r.uvarint()
		if r.take(r.uvarint()); r.short {
			return
		}
	}
}
