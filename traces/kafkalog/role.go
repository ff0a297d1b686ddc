package kafkalog

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/traces/event"
)

// roles are the names that QuorumState prints, of several versions of Kafka.
var roles = map[string]string{
	"Unattached": "Unattached", "UnattachedState": "Unattached", "Voted": "Unattached", "VotedState": "Unattached",
	"Prospective": "Prospective", "ProspectiveState": "Prospective", "Candidate": "Candidate", "CandidateState": "Candidate",
	"Leader": "Leader", "LeaderState": "Leader", "Follower": "Follower", "FollowerState": "Follower",
	"Resigned": "Resigned", "ResignedState": "Resigned",
}

const completed = "Completed transition to "

// transition reads a "Completed transition": the state after it, and what it was from,
// empty if the process has just started.
func transition(text string, node int32) (s event.State, from string, err error) {
	to, old, found := strings.Cut(strings.TrimPrefix(text, completed), " from ")
	if !found {
		return s, "", fmt.Errorf("a transition from nothing: %.60q", text)
	}
	name, body, _ := strings.Cut(to, "(")
	role, known := roles[name]
	if !known {
		return s, "", fmt.Errorf("a transition to an unknown role %q", name)
	}
	oldName, _, _ := strings.Cut(old, "(")
	if from = roles[oldName]; from == "" && old != "null" {
		return s, "", fmt.Errorf("a transition from an unknown role %q", oldName)
	}
	f := &fields{text: body}
	s.Role, s.Epoch, s.Leader, s.Voted = role, f.int32("epoch="), -1, -1
	s.Has = event.HasRole | event.HasEpoch | event.HasLeader | event.HasVoted
	switch role {
	case "Candidate":
		s.Voted = node
	case "Follower":
		if s.Leader = -1; f.has("leaderId=") {
			s.Leader = f.int32("leaderId=")
		} else {
			s.Leader = f.int32("leader=")
		}
		s.Has &^= event.HasVoted
	case "Leader", "Resigned":
		s.Leader = node
		s.Has &^= event.HasVoted
	default:
		switch {
		case f.has("votedId="): // before KIP-853
			s.Voted = f.int32("votedId=")
		case f.has("votedKey=ReplicaKey(id="):
			s.Voted = f.int32("votedKey=ReplicaKey(id=")
		case f.has("votedKey=Optional[ReplicaKey(id="):
			s.Voted = f.int32("votedKey=Optional[ReplicaKey(id=")
		case role != name && name != "UnattachedState" && name != "ProspectiveState": // Voted
			f.err = errorsOr(f.err, fmt.Errorf("%s: no voted key", name))
		}
		if f.has("leaderId=OptionalInt[") {
			s.Leader = f.int32("leaderId=OptionalInt[")
		}
	}
	if f.has("highWatermark=") { // a resigned leader does not say
		s.Has |= event.HasHighWatermark
		s.HighWatermark = -1
		if !f.has("highWatermark=Optional.empty") {
			hw := *f
			s.HighWatermark = hw.from("highWatermark=").int64("offset=")
			f.err = errorsOr(f.err, hw.err)
		}
	}
	return s, from, f.err
}

func errorsOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
