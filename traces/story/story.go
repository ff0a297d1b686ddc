package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/spec"
)

// Cluster is the setting of a story.
type Cluster struct {
	Voters, Observers int
	PreVote           bool
	// Dynamic: the voters are in the log, and may change (KIP-853).
	Dynamic bool
}

// Line is what is shown of a replica.
type Line struct {
	Role          string
	Epoch         spec.Epoch
	Leader, Voted spec.ID
	Log           spec.Log
	Flushed       spec.Offset
	HighWatermark spec.Offset
	Snapshots     Snapshots
	// Voters are those of the set in force, shown where they are in the log.
	Voters spec.Set
	// Served are the reads answered since the last look, by the offset that they
	// must see.
	Served []spec.Offset
}

// Cast is a cluster that a script can play with. Replicas are named 1 to n.
// Messages are those in flight, parked fetches not included.
type Cast interface {
	Line(id spec.ID) Line
	Messages() []spec.Msg
	Parked() []spec.Msg

	Timeout(id spec.ID) error
	Deliver(m spec.Msg) error
	Flush(id spec.ID) error
	Append(id spec.ID, records int) error
	Read(id spec.ID) error
	Crash(id spec.ID, keep spec.Offset) error
	CheckQuorum(id spec.ID) error
	Resign(id spec.ID) error

	// AddVoter and RemoveVoter ask a leader for a change of the voter set.
	AddVoter(id, voter spec.ID) error
	RemoveVoter(id, voter spec.ID) error

	// Snapshot: the state machine has written a snapshot of all below end.
	Snapshot(id spec.ID, end spec.Offset) error
	// AdvanceLogStart: the log is to begin at the end of a snapshot.
	AdvanceLogStart(id spec.ID, to spec.Offset) error
	// Verified: the check of a snapshot that was received has ended.
	Verified(id spec.ID, good bool) error
}

// Play runs commands on one cast after the other.
type Play struct {
	// New makes a cast.
	New func(Cluster) (Cast, error)

	cast    Cast
	cluster Cluster
	shown   map[spec.ID]string
}

// Command carries out one command and returns what it changed.
func (p *Play) Command(name string, args []string) (string, error) {
	if name == "cluster" {
		return p.start(args)
	}
	if p.cast == nil {
		return "", fmt.Errorf("a story begins with the command cluster, not %s", name)
	}
	if err := p.carryOut(name, args); err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return p.show(), nil
}

func (p *Play) start(args []string) (string, error) {
	p.cluster = Cluster{PreVote: true}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "voters", "observers":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 5 {
				return "", fmt.Errorf("cluster: %s wants a number from 0 to 5, not %q", key, value)
			}
			if key == "voters" {
				p.cluster.Voters = n
			} else {
				p.cluster.Observers = n
			}
		case "pre-vote":
			p.cluster.PreVote = value == "on"
		case "dynamic":
			p.cluster.Dynamic = value == "on"
		default:
			return "", fmt.Errorf("cluster: unknown argument %q; known: voters, observers, pre-vote, dynamic", a)
		}
	}
	cast, err := p.New(p.cluster)
	if err != nil {
		return "", err
	}
	p.cast, p.shown = cast, map[spec.ID]string{}
	return p.show(), nil
}

func (p *Play) carryOut(name string, args []string) error {
	if name == "settle" {
		return p.settle(args)
	}
	if len(args) == 0 {
		return fmt.Errorf("whom?")
	}
	if name == "deliver" {
		m, err := p.message(args)
		if err != nil {
			return err
		}
		return p.cast.Deliver(m)
	}
	id, err := p.replica(args[0])
	if err != nil {
		return err
	}
	switch name {
	case "timeout":
		return p.cast.Timeout(id)
	case "flush":
		return p.cast.Flush(id)
	case "append":
		n := 1
		if len(args) > 1 {
			if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
				return fmt.Errorf("%q records", args[1])
			}
		}
		return p.cast.Append(id, n)
	case "read":
		return p.cast.Read(id)
	case "crash":
		keep := p.cast.Line(id).Flushed
		for _, a := range args[1:] {
			value, ok := strings.CutPrefix(a, "keep=")
			n, err := strconv.Atoi(value)
			if !ok || err != nil {
				return fmt.Errorf("unknown argument %q", a)
			}
			keep = spec.Offset(n)
		}
		return p.cast.Crash(id, keep)
	case "add-voter", "remove-voter":
		if len(args) != 2 {
			return fmt.Errorf("which voter?")
		}
		voter, err := p.replica(args[1])
		if err != nil {
			return err
		}
		if name == "add-voter" {
			return p.cast.AddVoter(id, voter)
		}
		return p.cast.RemoveVoter(id, voter)
	case "snapshot", "log-start":
		if len(args) != 2 {
			return fmt.Errorf("at which offset?")
		}
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("%q is no offset", args[1])
		}
		if name == "snapshot" {
			return p.cast.Snapshot(id, spec.Offset(n))
		}
		return p.cast.AdvanceLogStart(id, spec.Offset(n))
	case "verified":
		return p.cast.Verified(id, !slices.Contains(args[1:], "damaged"))
	case "check-quorum":
		return p.cast.CheckQuorum(id)
	case "resign":
		return p.cast.Resign(id)
	}
	return fmt.Errorf("unknown command; known: cluster, timeout, deliver, flush, append, read, crash, check-quorum, resign, add-voter, remove-voter, snapshot, log-start, verified, settle")
}

func (p *Play) replica(name string) (spec.ID, error) {
	for i := 1; i <= p.cluster.Voters+p.cluster.Observers; i++ {
		if spec.ID(i).String() == name {
			return spec.ID(i), nil
		}
	}
	return 0, fmt.Errorf("no replica %q", name)
}

// message finds the one message in flight that the arguments name.
func (p *Play) message(args []string) (spec.Msg, error) {
	var found []spec.Msg
	for _, m := range p.cast.Messages() {
		kind := m.Kind.String()
		if m.Response {
			kind += "Response"
		}
		fits := m.Src.String()+"->"+m.Dst.String() == args[0]
		for _, a := range args[1:] {
			if epoch, ok := strings.CutPrefix(a, "epoch="); ok {
				fits = fits && fmt.Sprint(m.Epoch) == epoch
			} else {
				fits = fits && a == kind
			}
		}
		if fits {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return spec.Msg{}, fmt.Errorf("no such message in flight")
	}
	return spec.Msg{}, fmt.Errorf("%d such messages in flight: say which kind, or epoch=n", len(found))
}

// settle flushes and delivers, in a fixed order, until nothing is left.
func (p *Play) settle(args []string) error {
	var without spec.Set
	for _, a := range args {
		names, ok := strings.CutPrefix(a, "without=")
		if !ok {
			return fmt.Errorf("unknown argument %q", a)
		}
		for _, n := range strings.Split(names, ",") {
			id, err := p.replica(n)
			if err != nil {
				return err
			}
			without = without.With(id)
		}
	}
	for range 1000 {
		moved := false
		for i := 1; i <= p.cluster.Voters+p.cluster.Observers; i++ {
			id := spec.ID(i)
			if l := p.cast.Line(id); !without.Has(id) && l.Flushed < l.Log.End() {
				moved = true
				if err := p.cast.Flush(id); err != nil {
					return err
				}
			}
		}
		for _, m := range sorted(p.cast.Messages()) {
			if without.Has(m.Src) || without.Has(m.Dst) {
				continue
			}
			moved = true
			if err := p.cast.Deliver(m); err != nil {
				return err
			}
			break
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("it does not settle")
}

func sorted(messages []spec.Msg) []spec.Msg {
	slices.SortFunc(messages, func(a, b spec.Msg) int { return strings.Compare(a.String(), b.String()) })
	return messages
}

// show lists the replicas that have changed, and the messages.
func (p *Play) show() string {
	var b strings.Builder
	for i := 1; i <= p.cluster.Voters+p.cluster.Observers; i++ {
		id := spec.ID(i)
		l := p.cast.Line(id)
		hw := "unknown"
		if l.HighWatermark != spec.Unknown {
			hw = fmt.Sprint(l.HighWatermark)
		}
		text := fmt.Sprintf("%s %s epoch %d leader %s voted %s log %s flushed %d hw %s",
			id, l.Role, l.Epoch, l.Leader, l.Voted, l.Log.String(), l.Flushed, hw) + l.Snapshots.text()
		if p.cluster.Dynamic {
			text += " voters " + l.Voters.String()
		}
		if text != p.shown[id] {
			p.shown[id] = text
			b.WriteString(text + "\n")
		}
		for _, o := range l.Served {
			fmt.Fprintf(&b, "%s serves a read of everything below %d\n", id, o)
		}
	}
	for _, m := range sorted(p.cast.Messages()) {
		fmt.Fprintf(&b, "  %s\n", m.String())
	}
	for _, m := range sorted(p.cast.Parked()) {
		fmt.Fprintf(&b, "  %s (parked)\n", m.String())
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
