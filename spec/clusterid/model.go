package clusterid

import "fmt"

// Mode is how far a cluster is when a model begins.
type Mode uint8

// Modes of a cluster.
const (
	// Absent: there is none.
	Absent Mode = iota
	// Ready has committed its bootstrap, with its id.
	Ready
	// Booting has an empty log, and will write its id.
	Booting
	// Low has committed a metadata.version that knows no ids.
	Low
	// BootingLow has an empty log, and will write no id.
	BootingLow
	// Unformatted is Booting without anybody who has an id (R2).
	Unformatted
)

var modeNames = [...]string{"absent", "ready", "booting", "before ids", "booting before ids", "unformatted"}

func newCluster(k int, mode Mode) Cluster {
	c := Cluster{Epoch: 1}
	add := func(kind Kind, id ID) { c.Log[c.Log.end()] = NewRecord(kind, 1, k, id) }
	switch mode {
	case Ready:
		c.New = 1
		add(LeaderChange, NoID)
		add(Begin, NoID)
		add(NewVersion, NoID)
		add(ClusterID, idOf(k))
		add(End, NoID)
	case Booting:
		c.New = 1
	case Low:
		add(LeaderChange, NoID)
		add(Begin, NoID)
		add(Version, NoID)
		add(End, NoID)
	case Unformatted:
		c.New, c.Leader, c.Epoch = 1, Nobody, 0
	}
	c.HighWatermark = c.Log.end()
	return c
}

// Model is a box that is explored to the end.
type Model struct {
	Name, Why string
	Nodes     int
	Clusters  [MaxClusters]Mode
	Epochs    int
	// Endpoints are the sets of clusters that a node may be started with; to change them
	// costs of Moves.
	Endpoints []uint8
	// Init makes the nodes of each initial state.
	Init func(s *State, yield func())
	// Budgets.
	Crashes, Moves, Losses, Failures, Upgrades, Snapshots uint8
	// Voters: nodes may become and be voters. Timeouts: deadlines may pass. Formats:
	// operators format. R2: voters of a static quorum need no format.
	Voters, Timeouts, Formats, R2 bool
	Deep                          bool
	Unsafe                        string
}

func (m *Model) clusters() int {
	if m.Clusters[1] == Absent {
		return 1
	}
	return 2
}

func (m *Model) constants() string {
	s := fmt.Sprintf("%d nodes", m.Nodes)
	if m.Nodes == 1 {
		s = "1 node"
	}
	for k := range m.clusters() {
		s += fmt.Sprintf(", cluster %s %s", clusterName(k), modeNames[m.Clusters[k]])
	}
	s += fmt.Sprintf(", epochs %d", m.Epochs)
	for _, b := range []struct {
		n    uint8
		name string
	}{{m.Crashes, "crashes"}, {m.Moves, "changes of endpoints"}, {m.Losses, "lost disks"}, {m.Failures, "failed writes"}, {m.Upgrades, "upgrades"}, {m.Snapshots, "snapshots"}} {
		if b.n > 0 {
			s += fmt.Sprintf(", %s %d", b.name, b.n)
		}
	}
	for _, b := range []struct {
		ok   bool
		name string
	}{{m.Voters, "voters"}, {m.Timeouts, "deadlines"}, {m.Formats, "operators format"}, {m.R2, "R2"}} {
		if b.ok {
			s += ", " + b.name
		}
	}
	return s
}

const (
	atA = 1 << iota
	atB
	atBoth = atA | atB
)

// set gives a node its directories, with directory ids.
func (n *Node) set(metas ...Meta) {
	for d, meta := range metas {
		if meta.usable() {
			n.Draws++
			meta.Dir = n.Draws
		}
		n.Meta[d], n.Disk[d] = meta, meta
		if meta.usable() {
			n.Ever |= everBit(meta.ID)
		}
	}
}

// unformatted nodes of a role find nothing.
func unformatted(roles ...Role) func(*State, func()) {
	return func(s *State, yield func()) {
		for i, r := range roles {
			s.N[i] = Node{Role: r}
			if r == DynamicVoter {
				s.N[i].Zero = 1
			}
		}
		yield()
	}
}

// each makes an initial state of each of several.
func each(inits ...func(*State, func())) func(*State, func()) {
	return func(s *State, yield func()) {
		for _, init := range inits {
			init(s, yield)
		}
	}
}

// formatted is a node of a role that was formatted with an id.
func formatted(r Role, id ID) func(*State, func()) {
	return func(s *State, yield func()) {
		n := Node{Role: r}
		n.set(Meta{Form: V1, ID: id}, Meta{Form: V1, ID: id})
		if r == DynamicVoter {
			n.Zero, n.ZeroID = 1, id
		}
		s.N[0] = n
		yield()
	}
}

// everyStart is every way to find two directories, for each role, with or without a
// snapshot of the local log.
func everyStart(s *State, yield func()) {
	forms := []Meta{
		{}, {Form: Broken}, {Form: VersionZero}, {Form: WithoutID},
		{Form: V1, ID: OfA}, {Form: V1, ID: OfB}, {Form: V2}, {Form: V2, ID: OfA}, {Form: V2, ID: OfB},
	}
	for r := Broker; r <= DynamicVoter; r++ {
		for _, metadata := range forms {
			for _, data := range forms {
				for _, snapshot := range []ID{NoID, OfA, OfB} {
					n := Node{Role: r}
					n.set(metadata, data)
					n.Ever = 0 // some of these directories nobody could have made
					if r == DynamicVoter {
						n.Zero, n.ZeroID = 1, OfA
					}
					if snapshot != NoID {
						other := newCluster(int(snapshot-1), Ready)
						n.Log, n.LogStart, n.SnapVersion, n.SnapID = other.Log, other.HighWatermark, 2, snapshot
					}
					s.N[0] = n
					yield()
				}
			}
		}
	}
}

// cleaned is a static voter whose zero checkpoint was removed by retention.
func cleaned(s *State, yield func()) {
	n := Node{Role: StaticVoter}
	n.set(Meta{Form: V1, ID: OfA}, Meta{Form: V1, ID: OfA})
	s.N[0] = n
	yield()
}

// Models are all models.
var Models = []Model{
	{
		Name: "cluster-id-start", Why: "every combination of two directories, four roles and a local snapshot: the table of starts",
		Nodes: 1, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA}, Init: everyStart,
	},
	{
		Name: "cluster-id-discovery", Why: "an unformatted broker beside a cluster that is writing its id, over changes of leader",
		Nodes: 1, Clusters: [2]Mode{Booting}, Epochs: 2, Endpoints: []uint8{atA}, Init: unformatted(Broker),
		Crashes: 2, Timeouts: true,
	},
	{
		Name: "cluster-id-epochs", Why: "the same over four epochs, without crashes",
		Nodes: 1, Clusters: [2]Mode{Booting}, Epochs: 4, Endpoints: []uint8{atA}, Init: unformatted(Broker),
	},
	{
		Name: "cluster-id-snapshot", Why: "the id comes by record or by snapshot, and directories fail while it is written",
		Nodes: 1, Clusters: [2]Mode{Ready}, Epochs: 2, Endpoints: []uint8{atA}, Init: unformatted(Broker),
		Crashes: 3, Failures: 1, Snapshots: 2, Timeouts: true,
	},
	{
		Name: "cluster-id-wrong", Why: "two clusters, and endpoints of one, the other or both",
		Nodes: 1, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atB, atBoth},
		Init:    each(unformatted(Broker), formatted(Broker, OfA), formatted(Observer, OfA), formatted(StaticVoter, OfA)),
		Crashes: 2, Moves: 1, Snapshots: 2, Timeouts: true,
	},
	{
		Name: "cluster-id-wrong-two", Why: "two nodes and two clusters that are still writing their ids",
		Nodes: 2, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atBoth}, Init: unformatted(Broker, Observer),
		Crashes: 1, Moves: 1,
	},
	{
		Name: "cluster-id-bounds", Why: "two nodes, two clusters, two directories each, crashes, a change of endpoints and a lost disk",
		Nodes: 2, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atB}, Init: unformatted(Broker, Observer),
		Crashes: 2, Moves: 1, Losses: 1,
	},
	{
		Name: "cluster-id-bounds-deep", Why: "the same with three crashes",
		Nodes: 2, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atB}, Init: unformatted(Broker, Observer),
		Crashes: 3, Moves: 1, Losses: 1, Deep: true,
	},
	{
		Name: "cluster-id-booting-both", Why: "two clusters whose first records look alike, none with an id yet",
		Nodes: 1, Clusters: [2]Mode{BootingLow, Booting}, Epochs: 1, Endpoints: []uint8{atBoth}, Init: unformatted(Broker),
		Crashes: 1,
	},
	{
		Name: "cluster-id-disks", Why: "directories and whole machines are replaced, for each role",
		Nodes: 1, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atB},
		Init:    each(unformatted(Broker), formatted(Broker, OfA), formatted(Observer, OfA), formatted(DynamicVoter, OfA), cleaned),
		Crashes: 2, Moves: 1, Losses: 1, Voters: true,
	},
	{
		Name: "cluster-id-voters", Why: "an observer controller becomes a voter, by itself or by an operator, and stands",
		Nodes: 1, Clusters: [2]Mode{Booting}, Epochs: 2, Endpoints: []uint8{atA},
		Init:    each(unformatted(Observer), formatted(Observer, OfA), formatted(StaticVoter, OfA)),
		Crashes: 1, Voters: true, Timeouts: true,
	},
	{
		Name: "cluster-id-upgrade", Why: "a cluster from before ids is upgraded, and downgraded, while a node waits",
		Nodes: 1, Clusters: [2]Mode{Low}, Epochs: 2, Endpoints: []uint8{atA}, Init: unformatted(Broker),
		Upgrades: 3, Snapshots: 1, Timeouts: true,
	},
	{
		Name: "cluster-id-low", Why: "a bootstrap from before ids",
		Nodes: 1, Clusters: [2]Mode{BootingLow}, Epochs: 3, Endpoints: []uint8{atA}, Init: unformatted(Broker),
		Upgrades: 1, Timeouts: true,
	},
	{
		Name: "cluster-id-operator", Why: "an operator formats with another id over a zero checkpoint",
		Nodes: 1, Clusters: [2]Mode{Ready, Ready}, Epochs: 1, Endpoints: []uint8{atA, atB}, Init: formatted(DynamicVoter, OfA),
		Crashes: 1, Moves: 1, Formats: true, Voters: true,
	},
	{
		Name: "cluster-id-r2", Why: "R2: a static quorum that nobody has formatted, whose first leader draws the id",
		Nodes: 2, Clusters: [2]Mode{Unformatted}, Epochs: 2, Endpoints: []uint8{atA}, Init: unformatted(StaticVoter, StaticVoter),
		Crashes: 1, R2: true,
	},
	{
		Name: "cluster-id-r2-disks", Why: "R2: static voters may start on empty disks, and vote though they have forgotten their votes",
		Nodes: 1, Clusters: [2]Mode{Ready}, Epochs: 1, Endpoints: []uint8{atA}, Init: formatted(StaticVoter, OfA),
		Losses: 1, Crashes: 1, Voters: true, R2: true, Unsafe: "VoteMemory",
	},
}
