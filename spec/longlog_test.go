package spec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCondense: logs that share a past say what the same logs say that share none.
func TestCondense(t *testing.T) {
	condensed, deepest := 0, 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const n = 3
		var shared, plain [n]Replica
		gs, gp := NewLargeGhost(), NewLargeGhost()
		var rs []*Replica
		for i := range n {
			shared[i], plain[i] = NewLargeReplica(ID(i+1), 0), NewLargeReplica(ID(i+1), 0)
			rs = append(rs, &shared[i])
		}
		both := func(i int, change func(l *Log)) { change(&shared[i].Log); change(&plain[i].Log) }
		epoch := Epoch(1)
		for range 400 {
			i := rng.IntN(n)
			switch k := rng.IntN(20); {
			case k < 8: // the first leads, in epochs that begin where its log ends
				if rng.IntN(2) == 0 {
					epoch++
					start := EpochStart{Offset: plain[0].Log.End(), Epoch: epoch, Previous: plain[0].Log.LastEpoch(), Leader: 1}
					gs.Starts.add(start)
					gp.Starts.add(start)
				}
				if len(gp.Starts.all()) == 0 {
					continue
				}
				run := Run{Count: 1 + rng.Int64N(3), Epoch: epoch, Origin: 1, Kind: RecordKind(rng.IntN(2))}
				both(0, func(l *Log) { l.Append(run) })
			case k < 14: // the others fetch
				from := plain[i].Log.End()
				if to := plain[0].Log.End(); i > 0 && from < to && CommonPrefix(&plain[i].Log, &plain[0].Log) == from {
					to = from + 1 + Offset(rng.Int64N(int64(to-from)))
					news := plain[0].Log.Slice(from, to)
					both(i, func(l *Log) { l.AppendAll(&news) })
				}
			case k < 15: // and may lose a tail that not all have
				if end := plain[i].Log.End(); i > 0 && end > gp.Exposed.End() {
					to := gp.Exposed.End() + Offset(rng.Int64N(int64(end-gp.Exposed.End())+1))
					both(i, func(l *Log) { l.TruncateTo(to) })
				}
			case k < 16: // a disk is lost
				if rng.IntN(10) == 0 && i > 0 {
					both(i, func(l *Log) { *l = NewLargeLog() })
					if rng.IntN(2) == 0 { // and another one is found, as long and longer
						for _, foreign := range gp.Exposed.Runs() {
							foreign.Origin = ID(i + 1)
							both(i, func(l *Log) { l.Append(foreign) })
						}
					}
				}
			case k < 18: // what a majority has is exposed
				ends := []Offset{plain[0].Log.End(), plain[1].Log.End(), plain[2].Log.End()}
				slices.Sort(ends)
				if from := gp.Exposed.End(); ends[1] > from {
					news := plain[0].Log.Slice(from, ends[1])
					for _, g := range []*Ghost{&gs, &gp} {
						g.Exposed.AppendAll(&news)
						g.ExposedIn.Append(Run{Count: int64(ends[1] - from), Epoch: epoch})
						g.Chosen.AppendAll(&news)
						g.ChosenIn.Append(Run{Count: int64(ends[1] - from), Epoch: epoch})
					}
				}
			default:
				Condense(&gs, rs)
				if m := shared[0].Log.more; m != nil && m.past != nil {
					condensed++
					depth := 0
					for p := m.past; p != nil; p = p.below {
						depth++
					}
					deepest = max(deepest, depth)
				}
			}
			for i := range n {
				shared[i].Disk, plain[i].Disk = shared[i].Log.Slice(0, shared[i].Log.End()/2), plain[i].Log.Slice(0, plain[i].Log.End()/2)
				a, b := &shared[i].Log, &plain[i].Log
				require.Equal(t, b.Runs(), a.Runs(), "seed %d", seed)
				require.Equal(t, plain[i].Disk.Runs(), shared[i].Disk.Runs())
				require.Equal(t, b.End(), a.End())
				require.Equal(t, b.LastRun(), a.LastRun())
				require.Equal(t, gp.follows(b), gs.follows(a))
				require.Equal(t, missing(b, epoch, &gp.Chosen, &gp.ChosenIn), missing(a, epoch, &gs.Chosen, &gs.ChosenIn))
				require.Equal(t, plain[i].FlushedEnd(), shared[i].FlushedEnd())
				if e := Epoch(rng.IntN(int(epoch) + 2)); b.End() > 0 {
					wantEpoch, wantEnd := b.EndOffsetForEpoch(e)
					gotEpoch, gotEnd := a.EndOffsetForEpoch(e)
					require.Equal(t, []any{wantEpoch, wantEnd}, []any{gotEpoch, gotEnd})
					o := Offset(rng.Int64N(int64(b.End())))
					require.Equal(t, b.At(o), a.At(o))
					to := o + Offset(rng.Int64N(int64(b.End()-o)+1))
					x, y := b.Slice(o, to), a.Slice(o, to)
					require.Equal(t, x.Runs(), y.Runs())
					x, y = b.Slice(0, to), a.Slice(0, to)
					require.Equal(t, x.Runs(), y.Runs())
					require.Equal(t, x.End(), y.End())
				}
				for k := range n {
					require.Equal(t, CommonPrefix(b, &plain[k].Log), CommonPrefix(a, &shared[k].Log))
					require.Equal(t, Matches(b, &plain[k].Log), Matches(a, &shared[k].Log))
					require.Equal(t, b.SameAs(&plain[k].Log), a.SameAs(&shared[k].Log))
					require.Equal(t, CommonPrefix(b, &gp.Exposed), CommonPrefix(a, &gs.Exposed))
				}
			}
		}
	}
	t.Logf("condensed %d times, up to %d pasts behind each other", condensed, deepest)
	require.Greater(t, condensed, 50)
	require.Greater(t, deepest, 3)
}
