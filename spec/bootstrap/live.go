package bootstrap

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// What comes about in the end.

// Atoms of a state.
const (
	bootstrapped checker.Atoms = 1 << iota // a bootstrap has taken effect
	served                                 // somebody is active, with a metadata.version
	usable                                 // nobody has a file that cannot be used, and no other
	led                                    // one leads whom nobody has gone beyond, and all are up
)

var atomNames = []string{"bootstrapped", "served", "usable", "led"}

// Atoms implements concern.Judge.
func (m *machine) Atoms(s *State) (set checker.Atoms) {
	took := EffectOf(&s.Committed, s.HighWatermark)
	if stable := took.Stable(); stable.Version != NoContent && stable.Version == stable.Rest {
		set |= bootstrapped
	}
	newest, up, leader := uint8(0), true, -1
	set |= usable
	for i := range m.model.Controllers {
		c := &s.C[i]
		if c.Legacy == Ancient && c.Zero.Content() == NoContent {
			set &^= usable
		}
		newest, up = max(newest, c.Epoch), up && c.Up == 1
		if c.Up == 1 && c.Leading == 1 && (leader < 0 || c.Epoch > s.C[leader].Epoch) {
			leader = i
		}
		if at := c.ImageAt(c.Log.end()); c.Phase == Active && at.Tx == 0 && at.Version != NoContent {
			set |= served
		}
	}
	if up && leader >= 0 && s.C[leader].Epoch == newest {
		set |= led
	}
	return set
}

var liveProperties = []checker.LivenessProperty{
	{Name: "BootstrapWritten", Form: checker.LeadsTo, P: usable, Q: bootstrapped, Doc: "a bootstrap takes effect in the end, if there is one that can be used"},
	{Name: "LeaderServes", Form: checker.LeadsTo, P: usable, Q: served, Doc: "somebody serves again and again, with a metadata.version"},
}

// Lives are the live models.
var Lives = []concern.Live{
	{
		Name: "live-bootstrap", Why: "one controller, whatever files it has, and power that is lost at any point, twice",
		Model: "bootstrap-cases", Set: []concern.Setting{{Name: "crashes", Value: "2"}, {Name: "epochs", Value: "3"}, {Name: "records", Value: "0"}},
		Pin: concern.LivePin{Distinct: 24310, Suffix: 24059, Fair: 350},
		Liveness: &checker.Liveness{
			Atoms: atomNames, Properties: liveProperties,
			Fair:    concern.Fair(1, Start, Elect, AppendLeaderChange, Claim, Activate, AppendChunk, Commit, Replay),
			Finally: checker.Finally{Always: usable, Never: []checker.StepSet{concern.Steps(Crash)}},
			Limits:  []checker.StepLimit{{Bound: boundNames[boundCrashes], Steps: concern.Steps(Crash)}},
			Assumes: "there is no file that cannot be used and no other; in the end no power is lost; each step that stays possible is taken",
		},
		Mutations: []concern.LiveMutation{
			{ID: "zero-as-committed", Property: "BootstrapWritten", Stem: 6},
			{ID: "control-records-count", Property: "BootstrapWritten", Stem: 6},
			{ID: "begin-counts", Property: "BootstrapWritten", Stem: 17},
			{ID: "version-inside-counts", Property: "BootstrapWritten", Stem: 18},
			{ID: "abort-only", Property: "BootstrapWritten", Stem: 17},
			{ID: "end-not-written", Property: "BootstrapWritten", Stem: 11},
		},
	},
	{
		Name: "live-bootstrap-failover", Why: "three controllers: A leads, then C, from any point of a bootstrap transaction on",
		Model: "bootstrap-failover", Set: []concern.Setting{{Name: "epochs", Value: "2"}},
		Pin: concern.LivePin{Distinct: 6406, Suffix: 5976, Fair: 8},
		Liveness: &checker.Liveness{
			Atoms: atomNames, Properties: liveProperties,
			Fair:    concern.Fair(3, Start, AppendLeaderChange, Claim, Activate, AppendChunk, Commit, Truncate, Replicate),
			Finally: checker.Finally{Always: led, Never: []checker.StepSet{concern.Steps(Elect)}},
			Limits:  []checker.StepLimit{{Bound: boundNames[boundEpochs], Steps: concern.Steps(Elect)}, {Bound: boundNames[boundStand], Steps: concern.Steps(Elect)}},
			Assumes: "in the end one leader stays whom nobody has gone beyond; each step that stays possible is taken",
		},
		Mutations: []concern.LiveMutation{
			{ID: "abort-only", Property: "BootstrapWritten", Stem: 24},
		},
	},
}
