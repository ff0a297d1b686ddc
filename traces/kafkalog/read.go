package kafkalog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// Hidden is how many steps that no line shows may lie between two events of a node: the
// flush of what a leader appended, or of what a follower fetched.
const Hidden = 2

// Log is what the logs of a cluster say.
type Log struct {
	Run traces.Run
	// Events of each node, by id.
	Events map[int32][]event.Event
	// Lines is how many lines were read, Entries how many of them are of the raft layer.
	Lines, Entries int64
	// Unknown are lines of the protocol's classes of a kind that is not known, by their
	// first words, with the first such line.
	Unknown map[string]Unknown

	where map[int32][]where
}

// Unknown is how often there were lines of some kind, and where the first is.
type Unknown struct {
	File  string
	Line  int64
	Count int
}

// Read reads the logs of a cluster: one file for each node, or one of all, compressed by
// zstd if the name ends in .zst, or by gzip whatever the name. A file that has no entry of
// the raft layer, a node that has none at TRACE, or a line that cannot be read, is an
// error.
func Read(paths ...string) (*Log, error) {
	log := newLog()
	nodes := map[int32]*node{}
	for _, path := range paths {
		if err := log.read(path, nodes); err != nil {
			return nil, err
		}
	}
	return log, log.finish(nodes)
}

func newLog() *Log {
	return &Log{Events: map[int32][]event.Event{}, Unknown: map[string]Unknown{}, where: map[int32][]where{}}
}

func (log *Log) read(path string, nodes map[int32]*node) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := unzipped(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines, err := ndjson.NewLines(in, path)
	if err != nil {
		return err
	}
	defer lines.Close()
	return log.entries(lines, path, nodes)
}

// unzipped is what a stream has in it if it is one of gzip, as its first bytes say (RFC
// 1952, 2.3.1), and the stream itself if not.
func unzipped(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil // what is wrong with it, the reader of lines says
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("a file of gzip that cannot be read: %w", err)
	}
	return z, nil
}

func (log *Log) entries(lines *ndjson.Lines, path string, nodes map[int32]*node) error {
	entries := log.Entries
	for {
		text, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		log.Lines++
		l, ok := split(string(text))
		if !ok {
			continue
		}
		log.Entries++
		l.file, l.at = path, lines.Line()
		if l.node < 0 && !ofProtocol(l.logger) {
			continue // of the log, of files, of threads
		}
		if l.node < 0 {
			return l.fail("whose line is it? It begins with neither [Node 1] nor [RaftManager id=1]: %.80q", l.text)
		}
		n := nodes[l.node]
		if n == nil {
			n = &node{id: l.node}
			nodes[l.node] = n
		}
		known, err := n.next(&l)
		if err != nil {
			return err
		}
		if !known {
			words := strings.Fields(l.text)
			kind := l.logger + ": " + strings.Join(words[:min(3, len(words))], " ")
			u, seen := log.Unknown[kind]
			if !seen {
				u = Unknown{File: path, Line: l.at}
			}
			u.Count++
			log.Unknown[kind] = u
		}
	}
	if log.Entries == entries {
		return fmt.Errorf("%s: no entry of %s* in %d lines: is that logger set to TRACE?", path, raft, lines.Line())
	}
	return nil
}

func sorted(nodes map[int32]*node) []int32 { return slices.Sorted(maps.Keys(nodes)) }

// finish ends all events, matches requests, and says who took part.
func (log *Log) finish(nodes map[int32]*node) error {
	var voters []int32
	preVote := []int32{}
	var pending error
	for _, id := range sorted(nodes) {
		if err := nodes[id].untraced(); err != nil {
			return err
		}
	}
	for _, id := range sorted(nodes) {
		n := nodes[id]
		if n.failed != nil {
			return n.failed
		}
		n.cutOff()
		n.end()
		if n.voters != nil && voters != nil && !slices.Equal(n.voters, voters) {
			at := n.votersAt
			at.Err = fmt.Errorf("node %d starts with voters %v, others with %v", id, n.voters, voters)
			return &at
		}
		if n.voters != nil {
			voters = n.voters
		}
		for _, r := range n.received {
			if !r.done && r.env.msg.Kind != event.Fetch {
				// Died before it answered, or the log ends here.
				if last := n.events[len(n.events)-1]; r.events[0] != last && last.Inc == r.inc {
					pending = errors.Join(pending, &Error{r.events[0].at.file, r.events[0].at.first, errors.New("a request that is never answered: are lines missing?")})
				}
			}
		}
	}
	if pending != nil {
		return pending
	}
	if len(voters) == 0 {
		return errors.New(`no line "Starting voters are": the log has to begin with the start of a node`)
	}
	match(nodes)
	for _, id := range sorted(nodes) {
		n := nodes[id]
		if !slices.Contains(voters, id) {
			log.Run.Observers = append(log.Run.Observers, id)
		}
		asks := false
		seq, inc := int64(0), int32(0)
		for _, e := range n.events {
			if e.Action == spec.ActionSendFetch.String() && e.State.Role == "Follower" && e.Send[0].Conn.To != e.State.Leader {
				log.Run.AsksVoters = true
			}
			if e.Inc != inc {
				inc, seq = e.Inc, 0
			}
			seq++
			e.Node, e.Seq, e.Step = event.Node{ID: id}, seq, e.at.first
			asks = asks || e.State.Role == "Prospective"
			log.Events[id] = append(log.Events[id], e.Event)
			log.where[id] = append(log.where[id], e.at)
		}
		if asks {
			preVote = append(preVote, id)
		}
	}
	log.Run.Voters = voters
	if len(preVote) > 0 { // one version of the software for all, unless one stands without asking
		log.Run.PreVote = traces.PreVote{All: true}
	}
	log.Run.Unlogged = &traces.Unlogged{
		Actions: []string{"Flush", "TakeSnapshot", "AdvanceLogStart"},
		Fields:  []string{traces.UnloggedLog, traces.UnloggedDurable, traces.UnloggedRecords},
		Hidden:  Hidden,
	}
	return nil
}

// Inputs are the traces of the nodes, whose lines are those of the logs.
func (log *Log) Inputs() []traces.Input {
	var list []traces.Input
	for _, id := range slices.Sorted(maps.Keys(log.Events)) {
		if len(log.Events[id]) == 0 {
			continue
		}
		list = append(list, traces.Input{
			Name: log.where[id][0].file,
			Open: func() (traces.Source, error) { return &source{events: log.Events[id], where: log.where[id]}, nil },
		})
	}
	return list
}

// source gives the events of a node, with the lines that they are made of.
type source struct {
	events []event.Event
	where  []where
	at     int
}

func (s *source) Read(e *event.Event) error {
	if s.at == len(s.events) {
		return io.EOF
	}
	*e = s.events[s.at]
	s.at++
	return nil
}

// Line is where the event begins.
func (s *source) Line() int64 { return s.where[s.at-1].first }

// LineOf is the line that says what a field of the event last read is; 0 if no line of
// its own does.
func (s *source) LineOf(field string) int64 {
	w := &s.where[s.at-1]
	switch {
	case strings.HasPrefix(field, "send"):
		return w.sent
	case field == "state.hw":
		return w.hw
	case field == "state.role", field == "state.epoch", field == "state.leader", field == "state.voted":
		return w.role
	case field == "state.logEnd", field == "state.lastEpoch":
		return w.log
	}
	return 0
}
