package kafkasqlc

import "github.com/quorate/quorate/checker"

// Properties: what must hold first, then what must be reached.
const (
	RestoredIsReplay checker.Props = 1 << iota
	NoHole
	ReadyCaughtUp
	MarkerAhead
	OwnMarkerAhead
	WaiterAnswered
	DumpNamed

	RestoredAndServed
	ReplayedAll
	RestoredOlder
	StartedWithoutFile
	OthersMarkerPassed
	OldBootPassed
)

// Properties lists them, in the order of their bits. S, L and numbers are those of package
// kafkasql.
var Properties = []checker.Property{
	{Name: "RestoredIsReplay", Kind: checker.Always, Doc: "S1: a file has what a replay up to its marker gives", Subject: "Dump"},
	{Name: "NoHole", Doc: "S2, S14: a ready instance has applied every operation before its position"},
	{Name: "ReadyCaughtUp", Kind: checker.Always, Doc: "S8: who becomes ready has applied what the journal had when it started", Subject: "BecomeReady"},
	{Name: "MarkerAhead", Doc: "L2: the marker that an instance looks for, to stop throwing away, is still to come"},
	{Name: "OwnMarkerAhead", Doc: "L2: the marker that makes an instance ready is still to come"},
	{Name: "WaiterAnswered", Doc: "L4: no request waits for a marker that its instance has passed over"},
	{Name: "DumpNamed", Doc: "L1: a file that is complete is made known, unless its process ends"},

	{Name: "RestoredAndServed", Kind: checker.Sometimes, Doc: "an instance restores a file, throws away what it has, and serves"},
	{Name: "ReplayedAll", Kind: checker.Sometimes, Doc: "an instance without a file replays the journal, and serves"},
	{Name: "RestoredOlder", Kind: checker.Sometimes, Doc: "an instance restores an older snapshot: the newest one is on another disk"},
	{Name: "StartedWithoutFile", Kind: checker.Sometimes, Doc: "an instance whose disk is new finds snapshots in the topic, and none of their files"},
	{Name: "OthersMarkerPassed", Kind: checker.Sometimes, Doc: "an instance passes over a marker of another one"},
	{Name: "OldBootPassed", Kind: checker.Sometimes, Doc: "an instance that starts passes over the marker of an earlier start"},
}

// Check implements concern.Spec.
func (m *machine) Check(s *State) (bad checker.Props) {
	for i := range m.model.Instances {
		n := &s.I[i]
		if n.Phase == Ready && s.operations(n.Pos)&^n.Has != 0 {
			bad |= NoHole
		}
		if n.Phase == Booted && n.Skip != 0 && !s.ahead(n.Pos, Record{Marker, n.Skip}) {
			bad |= MarkerAhead
		}
		if n.Phase == Booted && !s.ahead(n.Pos, Record{Boot, author(i, n)}) {
			bad |= OwnMarkerAhead
		}
		for id := uint8(1); id <= s.Asked; id++ {
			waits, dumped := n.Waits>>id&1 == 1, n.Dumped>>id&1 == 1
			if waits && !dumped && !s.ahead(n.Pos, Record{Marker, id}) {
				bad |= WaiterAnswered
			}
			if dumped && !waits {
				bad |= DumpNamed
			}
		}
	}
	return bad
}

// judge gives the properties that a step breaks and reaches.
func (m *machine) judge(a Action, p int, s, t *State) (bad, reached checker.Props) {
	if p < 0 || p >= m.model.Instances {
		return 0, 0
	}
	old, now := &s.I[p], &t.I[p]
	see := func(r checker.Props, ok bool) {
		if ok {
			reached |= r
		}
	}
	switch a {
	case Dump:
		if now.Has != s.operations(now.Pos) {
			bad |= RestoredIsReplay
		}
	case BecomeReady:
		if now.Pos < old.Must {
			bad |= ReadyCaughtUp
		}
		see(RestoredAndServed, now.Files != 0 && s.NTopic > 0)
		see(ReplayedAll, s.NTopic == 0 && now.Has != 0)
	case ScanSnapshots:
		see(StartedWithoutFile, s.NTopic > 0 && now.Skip == 0)
		see(RestoredOlder, now.Skip != 0 && s.Topic[s.NTopic-1] != now.Skip)
	case Apply:
		see(OthersMarkerPassed, s.J[now.Pos-1].Kind == Marker && old.Phase == Ready)
		see(OldBootPassed, s.J[now.Pos-1].Kind == Boot && old.Phase == Booted)
	}
	return bad, reached
}
