package spec

import (
	"fmt"
	"strings"
)

// Hides says, in a sentence each, which behaviours the model leaves out by what it is
// made of, so that no bound reports them.
func (m *Model) Hides() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if m.Immediate != 0 {
		add("Immediate: a request %s is handled, and its answer taken or lost, in the step that sends it. Hidden is what happens while one is under way: requests that overtake each other, answers that come late, a replica that changes its role in between.", m.Immediate.words())
	}
	if m.Silent != 0 {
		add("Silent: no answer to %s ever arrives. Hidden is what such an answer changes: what a leader learns from an acknowledgement, and what a replica learns from an error.", m.Silent.words())
	}
	if m.MergeFlush {
		add("MergeFlush: what is written is flushed in the same step. Hidden are replicas that have records which are not on their disks, and so what a crash may take (KAFKA-10533); nothing crashes here.")
	}
	if m.Crashes+m.Disks > 0 && !m.StaysDown {
		add("StaysDown is off: a replica that crashes restarts in the same step. Hidden is what the others do while one is down, but for messages to it that are lost.")
	}
	if m.Stand != nil {
		var who []string
		for i, s := range m.Stand {
			names := s.String()
			if s == 0 {
				names = "nobody"
			}
			who = append(who, fmt.Sprintf("in epoch %d %s", i+1, names))
		}
		add("Stand: only some may become candidates, %s. Hidden are elections among the others, such as a split vote of those left out.", strings.Join(who, ", "))
	}
	if !m.Bootstrap {
		add("Bootstrap is off: a voter without a leader does not fetch from others to find one. It learns of a leader by BeginQuorumEpoch, by votes and by answers.")
	}
	if !m.Park {
		add("Park is off: a fetch at the end of the log is answered at once. Hidden are fetches that wait while the leader changes its role, its log or its high watermark.")
	}
	if m.Resigns > 0 {
		if m.CheckQuorum {
			add("CheckQuorum: leaders give up when a majority has not fetched for a time. Hidden are leaders that are asked to resign.")
		} else {
			add("CheckQuorum is off: leaders give up on request. Hidden are leaders that do so since no majority fetches.")
		}
	}
	if m.Snapshots == 0 {
		add("No replica takes snapshots (KIP-630): every log begins at offset 0.")
	} else {
		add("Snapshots: a replica that is sent to one asks its leader for that and nothing else. Hidden are fetches beside a transfer, and snapshots of which the parts are many.")
	}
	if m.Dynamic() {
		add("Replicas have no directory ids: one that has lost its disk and comes back is not another (KIP-853). Hidden as well is what a leader asks before it adds a voter: whether that is caught up, and knows the version.")
	}
	if m.Formed {
		add("Formed: in the beginning A leads epoch 1, and all have what it writes first. Hidden is what can go wrong before that.")
	}
	switch old := m.old(); {
	case m.PreVote == 0:
		add("No replica knows pre-votes (KIP-996).")
	case old == 0:
		add("All replicas know pre-votes (KIP-996): hidden are clusters in the middle of an upgrade.")
	}
	return list
}

// words lists the kinds.
func (s KindSet) words() string {
	var names []string
	for k := Vote; k < numKinds; k++ {
		if s.has(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, ", ")
}
