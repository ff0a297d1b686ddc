package traces

import (
	"fmt"

	"github.com/quorate/quorate/traces/event"
)

// The schema has words for snapshots, and replicas record them; the specification has
// no snapshots. A run with one is refused: nothing is known of it.

// unspecified are the actions of the schema that the specification does not have.
var unspecified = []string{
	"TakeSnapshot", "AdvanceLogStart", "SendFetchSnapshot", "HandleFetchSnapshotRequest", "HandleFetchSnapshotResponse", "InstallSnapshot",
}

// checkNoSnapshots finds what an event says of snapshots.
func checkNoSnapshots(e *event.Event) error {
	said := ""
	say := func(field string, is bool) {
		if is && said == "" {
			said = field
		}
	}
	say("args.snapshot", e.Args.Snapshot != event.SnapshotID{})
	message := func(field string, m *event.Message) {
		say(field+".kind", m.Kind == event.FetchSnapshot)
		say(field+".snapshot", m.Snapshot != event.SnapshotID{})
		say(field+".position", m.Position != 0)
		say(field+".bytes", m.Bytes != 0)
		say(field+".size", m.Size != 0)
	}
	if e.Recv != nil {
		message("recv", e.Recv)
	}
	for i := range e.Send {
		message("send", &e.Send[i])
	}
	say("state.snapshot", e.State.Has&event.HasSnapshot != 0 && e.State.Snapshot != event.SnapshotID{})
	say("state.fetching", e.State.Has&event.HasFetching != 0 && e.State.Fetching != event.Fetching{})
	if e.Log != nil {
		say("log.reset", e.Log.Reset != 0)
		say("log.noDigest", e.Log.NoDigest)
	}
	say("durable.snapshot", e.Durable != nil && e.Durable.Snapshot != event.SnapshotID{})
	if said == "" {
		return nil
	}
	return fmt.Errorf("%s: it speaks of a snapshot, and the specification has none: the run cannot be judged", said)
}
