package quorumstate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// file0 is data_version 0, in Kafka's order of fields. clusterId and
// appliedOffset are always empty and 0.
type file0 struct {
	ClusterID     string   `json:"clusterId"`
	LeaderID      int32    `json:"leaderId"`
	LeaderEpoch   int32    `json:"leaderEpoch"`
	VotedID       int32    `json:"votedId"`
	AppliedOffset int64    `json:"appliedOffset"`
	CurrentVoters []voter0 `json:"currentVoters"`
	DataVersion   int16    `json:"data_version"`
}

type voter0 struct {
	VoterID int32 `json:"voterId"`
}

// file1 is data_version 1.
type file1 struct {
	LeaderID         int32  `json:"leaderId"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	VotedID          int32  `json:"votedId"`
	VotedDirectoryID string `json:"votedDirectoryId"`
	DataVersion      int16  `json:"data_version"`
}

// Encode returns the content of the file. Version 0 has no voted directory id,
// so it is forgotten; version 1 has no voters.
func Encode(e Election, version int16, voters []int32) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	switch version {
	case 0:
		f := file0{LeaderID: e.Leader, LeaderEpoch: e.Epoch, VotedID: e.Voted, CurrentVoters: []voter0{}}
		for _, id := range voters {
			f.CurrentVoters = append(f.CurrentVoters, voter0{id})
		}
		return json.Marshal(f)
	case 1:
		return json.Marshal(file1{
			LeaderID:         e.Leader,
			LeaderEpoch:      e.Epoch,
			VotedID:          e.Voted,
			VotedDirectoryID: base64.RawURLEncoding.EncodeToString(e.VotedDirectory[:]),
			DataVersion:      1,
		})
	}
	return nil, fmt.Errorf("data_version %d is not supported", version)
}

// Decode parses the content of the file and returns its data_version. Fields
// that Kafka's reader insists on must be there (leaderId, leaderEpoch, votedId;
// in version 1 votedDirectoryId); others are ignored.
func Decode(content []byte) (Election, int16, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return Election{}, 0, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Election{}, 0, fmt.Errorf("more than one JSON value, at byte %d", d.InputOffset())
	}
	version, err := number(fields, "data_version", math.MinInt16, math.MaxInt16)
	if err != nil {
		return Election{}, 0, err
	}
	if version != 0 && version != 1 {
		return Election{}, 0, fmt.Errorf("data_version %d is not supported", version)
	}
	var e Election
	for _, f := range []struct {
		name string
		to   *int32
	}{{"leaderId", &e.Leader}, {"leaderEpoch", &e.Epoch}, {"votedId", &e.Voted}} {
		n, err := number(fields, f.name, math.MinInt32, math.MaxInt32)
		if err != nil {
			return Election{}, 0, err
		}
		*f.to = int32(n)
	}
	if version == 1 {
		if e.VotedDirectory, err = directory(fields); err != nil {
			return Election{}, 0, err
		}
	}
	return e, int16(version), e.check()
}

func number(fields map[string]any, name string, least, most int64) (int64, error) {
	v, ok := fields[name].(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is missing or not a number", name)
	}
	n, err := v.Int64()
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s %s is out of range", name, v)
	}
	return n, nil
}

func directory(fields map[string]any) (id [16]byte, err error) {
	s, ok := fields["votedDirectoryId"].(string)
	if !ok {
		return id, errors.New("votedDirectoryId is missing or not a string")
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("votedDirectoryId %q is not a uuid in base64", s)
	}
	return [16]byte(b), nil
}
