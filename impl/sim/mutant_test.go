package sim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
)

// mutant is a core with something wrong.
type mutant struct {
	replica
	before func(in *core.Input)
	after  func(in *core.Input, s core.State, out *core.Effects)
}

func (m *mutant) Step(now core.Ticks, in *core.Input, out *core.Effects) {
	if m.before != nil {
		m.before(in)
	}
	m.replica.Step(now, in, out)
	if m.after != nil {
		m.after(in, m.replica.State(), out)
	}
}

// mutants are bugs that the checks of a run must find, by the property.
var mutants = []struct {
	name, property string
	cfg            func(*Config)
	wrap           func(id core.ReplicaID, r replica) replica
	swap           func() func(core.ReplicaID, *fs.Double) *fs.Double
}{{
	name: "every vote is taken for granted", property: "ElectionSafety",
	cfg: func(c *Config) { c.PreVote = Off },
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if in.Kind == core.InputResponse && in.Message.Kind == core.Vote {
				in.Message.Granted, in.Message.Error = true, core.None
			}
		}}
	},
}, {
	name: "candidates claim a log that they do not have", property: "LeaderCompleteness",
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if in.Kind == core.InputRequest && in.Message.Kind == core.Vote {
				in.Message.Offset, in.Message.LastEpoch = 1<<40, max(0, in.Message.Epoch-1)
			}
		}}
	},
}, {
	name: "a fetch acknowledges what it is about to fetch", property: "HighWatermarkOnMajority",
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if s := r.State(); in.Kind == core.InputRequest && in.Message.Kind == core.Fetch && s.Role == core.Leader && in.Message.Offset < s.LogEnd {
				in.Message.Offset, in.Message.LastEpoch = s.LogEnd, s.LastEpoch
			}
		}}
	},
}, {
	name: "a follower believes any high watermark", property: "HighWatermarkOnMajority",
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if in.Kind == core.InputResponse && in.Message.Kind == core.Fetch && in.Message.Error == core.None {
				in.Message.HighWatermark = 1 << 40
			}
		}}
	},
}, {
	name: "appends are acknowledged when they are written", property: "AckCommitted",
	wrap: func(_ core.ReplicaID, r replica) replica {
		early := map[core.ClientID]bool{}
		return &mutant{replica: r, after: func(in *core.Input, s core.State, out *core.Effects) {
			kept := out.Ops[:0]
			for _, op := range out.Ops {
				if op.Kind != core.OpComplete || !early[op.Client] {
					kept = append(kept, op)
				}
			}
			out.Ops = kept
			if in.Kind == core.InputAppend && s.Role == core.Leader {
				early[in.Client] = true
				out.Ops = append(out.Ops, core.Op{Kind: core.OpComplete, Client: in.Client, Result: core.Result{Offset: s.LogEnd - 1}})
			}
		}}
	},
}, {
	name: "reads are answered at once", property: "ReadSeesAcknowledged",
	wrap: func(_ core.ReplicaID, r replica) replica {
		m := &mutant{replica: r}
		m.before = func(in *core.Input) {
			if s := r.State(); in.Kind == core.InputRead && s.HighWatermark >= 0 {
				in.Kind = core.InputTick
			}
		}
		m.after = func(in *core.Input, s core.State, out *core.Effects) {
			if in.Kind == core.InputTick && in.Client != 0 {
				out.Ops = append(out.Ops, core.Op{Kind: core.OpComplete, Client: in.Client, Result: core.Result{Offset: max(0, s.HighWatermark)}})
			}
		}
		return m
	},
}, {
	name: "an operation is completed twice", property: "CompletedOnce",
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, after: func(in *core.Input, _ core.State, out *core.Effects) {
			for _, op := range out.Ops {
				if op.Kind == core.OpComplete {
					out.Ops = append(out.Ops, op)
					return
				}
			}
		}}
	},
}, {
	name: "a disk goes back to an earlier state", property: "Durability",
	swap: func() func(core.ReplicaID, *fs.Double) *fs.Double {
		old := map[core.ReplicaID]*fs.Double{}
		return func(id core.ReplicaID, disk *fs.Double) *fs.Double {
			if old[id] == nil {
				old[id] = disk.Crash(fs.KeepAll)
				return disk
			}
			return old[id].Crash(fs.KeepAll)
		}
	},
}, {
	name: "nobody fetches", property: "Progress",
	cfg: func(c *Config) { c.Voters = 3 },
	wrap: func(_ core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if in.Kind == core.InputResponse && in.Message.Kind == core.Fetch {
				in.Kind = core.InputTick
			}
		}}
	},
}, {
	name: "an observer hears nothing", property: "Agreement",
	cfg: func(c *Config) { c.Voters, c.Observers = 3, 1 },
	wrap: func(id core.ReplicaID, r replica) replica {
		return &mutant{replica: r, before: func(in *core.Input) {
			if id == 4 && in.Kind == core.InputResponse {
				in.Kind = core.InputTick
			}
		}}
	},
}}

// TestMutants: each check is able to fail.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			for seed := uint64(1); seed <= 200; seed++ {
				cfg := Config{Seed: seed, wrap: m.wrap, Duration: 4 * second}
				if m.cfg != nil {
					m.cfg(&cfg)
				}
				if m.swap != nil {
					cfg.swap = m.swap()
				}
				_, err := Run(cfg, Sinks{})
				var v *ViolationError
				if errors.As(err, &v) && v.Property == m.property {
					t.Logf("%v", err)
					return
				}
				if err != nil && testing.Verbose() {
					t.Logf("also: %.200v", err)
				}
			}
			require.Fail(t, "not found", m.property)
		})
	}
}
