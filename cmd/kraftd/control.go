package main

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/log"
)

// Types of control records (ControlRecordType).
const (
	leaderChange   = 2
	snapshotHeader = 3
	snapshotFooter = 4
	kraftVersion   = 5
	kraftVoters    = 6
)

type voterJSON struct {
	ID        int32          `json:"voterId"`
	Directory string         `json:"voterDirectoryId,omitempty"`
	Endpoints []endpointJSON `json:"endpoints,omitempty"`
	Version   *versionsJSON  `json:"kRaftVersionFeature,omitempty"`
}

type endpointJSON struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port uint16 `json:"port"`
}

type versionsJSON struct {
	Min int16 `json:"minSupportedVersion"`
	Max int16 `json:"maxSupportedVersion"`
}

// control is a control record as kafka-dump-log prints it: its type, and its fields as
// JSON. The text is there also if there is an error.
func control(r log.Record) (string, error) {
	kind := binary.BigEndian.Uint16(r.Key[2:]) // Records sees to its length
	in := &reader{b: r.Value}
	var name string
	var fields any
	version := in.int16()
	switch kind {
	case leaderChange:
		name = "LeaderChange"
		f := struct {
			Version  int16       `json:"version"`
			Leader   int32       `json:"leaderId"`
			Voters   []voterJSON `json:"voters"`
			Granting []voterJSON `json:"grantingVoters"`
		}{Version: version, Leader: in.int32()}
		f.Voters = in.ids(version)
		f.Granting = in.ids(version)
		fields = f
	case snapshotHeader:
		name = "SnapshotHeader"
		fields = struct {
			Version int16 `json:"version"`
			Time    int64 `json:"lastContainedLogTimestamp"`
		}{version, in.int64()}
	case snapshotFooter:
		name = "SnapshotFooter"
		fields = struct {
			Version int16 `json:"version"`
		}{version}
	case kraftVersion:
		name = "KRaftVersion"
		fields = struct {
			Version int16 `json:"version"`
			Level   int16 `json:"kRaftVersion"`
		}{version, in.int16()}
	case kraftVoters:
		name = "KRaftVoters"
		fields = struct {
			Version int16       `json:"version"`
			Voters  []voterJSON `json:"voters"`
		}{version, in.voters()}
	default:
		return fmt.Sprintf("controlType: %d", kind), fmt.Errorf("control record of type %d", kind)
	}
	in.tags()
	if !in.bad && len(in.b) > 0 {
		in.bad = true
	}
	if in.bad {
		return name + " malformed", errors.New("malformed " + name)
	}
	return name + " " + asJSON(fields), nil
}

// reader reads Kafka's compact encoding. After an error all it reads is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return make([]byte, min(max(n, 0), 16))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(len(r.b)) { // nothing is longer than what is left
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) text() string {
	n := r.uvarint() - 1
	if n < 0 {
		r.bad = true
		return ""
	}
	return string(r.take(n))
}

func (r *reader) directory() string { return base64.RawURLEncoding.EncodeToString(r.take(16)) }

// tags skips tagged fields.
func (r *reader) tags() {
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		_, used := binary.Uvarint(r.b) // the tag
		if used <= 0 {
			r.bad = true
			return
		}
		r.b = r.b[used:]
		r.take(r.uvarint())
	}
}

// ids are the voters of a LeaderChange; from version 1 on they have directory ids.
func (r *reader) ids(version int16) []voterJSON {
	all := []voterJSON{}
	for n := r.uvarint() - 1; n > 0 && !r.bad; n-- {
		v := voterJSON{ID: r.int32()}
		if version >= 1 {
			v.Directory = r.directory()
		}
		r.tags()
		all = append(all, v)
	}
	return all
}

func (r *reader) voters() []voterJSON {
	all := []voterJSON{}
	for n := r.uvarint() - 1; n > 0 && !r.bad; n-- {
		v := voterJSON{ID: r.int32(), Directory: r.directory()}
		for e := r.uvarint() - 1; e > 0 && !r.bad; e-- {
			v.Endpoints = append(v.Endpoints, endpointJSON{r.text(), r.text(), uint16(r.int16())})
			r.tags()
		}
		v.Version = &versionsJSON{r.int16(), r.int16()}
		r.tags()
		r.tags()
		all = append(all, v)
	}
	return all
}
