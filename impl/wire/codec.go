package wire

import (
	"math"
	"sync/atomic"

	"github.com/quorate/quorate/impl/core"
)

// API is a Kafka API key.
type API int16

// APIs that a replica serves.
const (
	Fetch            API = 1
	ApiVersions      API = 18
	Vote             API = 52
	BeginQuorumEpoch API = 53
	EndQuorumEpoch   API = 54
	FetchSnapshot    API = 59
)

// InconsistentClusterID is answered here and never seen by the core.
const InconsistentClusterID core.ErrorCode = 104

// The partition that a quorum replicates.
const topicName = "__cluster_metadata"

// topicID is AAAAAAAAAAAAAAAAAAAAAQ, the id that Kafka reserves for the topic.
var topicID = [16]byte{15: 1}

// Endpoint is where a replica can be reached, on the listener of the quorum.
type Endpoint struct {
	Host string
	Port uint16
}

// Codec turns messages into frames and back. All replicas of a quorum have equal
// ones, but for the versions during an upgrade. It is safe for concurrent use while
// nothing is changed.
type Codec struct {
	// ClusterID is stated in requests and compared with that of requests received,
	// unless one of them states none. Empty: none, until LearnClusterID.
	ClusterID string
	// PreVote: Vote up to version 2. Without it Vote is what it was before Kafka 4.0.
	PreVote bool
	// MaxFetch is the highest version of Fetch: 17, or 18 where a follower states its
	// high watermark and is told of a higher one at once (KIP-1166). 0: 18.
	MaxFetch int16

	// Endpoints are where replicas can be reached, until UseVoters says it. Those of the
	// leader are named in responses.
	Endpoints map[core.ReplicaID]Endpoint
	// Told, if not nil, is called with the endpoint of a leader that a message has named.
	Told func(core.ReplicaID, Endpoint)
	// Node, if not nil, is told in ApiVersions responses: see nodeTag.
	Node *core.ReplicaID
	// Extra are APIs that somebody else answers, beside those of the quorum, which they
	// cannot replace: see Request.Body.
	Extra map[API]Versions
	// Listener is the name of the listener of the quorum (controller.listener.names);
	// it must be the same at all replicas. Empty: CONTROLLER.
	Listener string
	// Features that are told of in ApiVersions, besides kraft.version.
	Features []Feature
	// FinalizedFeatures, if not nil, are the levels in use, as they are committed below an
	// offset. -1 is a node that has none yet: then none is told of (KAFKA-19964). Without
	// the function they are those of Features.
	FinalizedFeatures func() (levels []Feature, offset int64)

	learned atomic.Pointer[string]
	voters  atomic.Pointer[voters]
}

// voters are the voter set as the log has it.
type voters struct {
	endpoints map[core.ReplicaID]Endpoint
}

// UseVoters says where the voters of a dynamic set can be reached: kraft.version is 1.
func (c *Codec) UseVoters(endpoints map[core.ReplicaID]Endpoint) { c.voters.Store(&voters{endpoints}) }

// where replicas can be reached.
func (c *Codec) where() map[core.ReplicaID]Endpoint {
	if v := c.voters.Load(); v != nil {
		return v.endpoints
	}
	return c.Endpoints
}

// KRaftVersion is the level of kraft.version in force.
func (c *Codec) KRaftVersion() int16 {
	if c.voters.Load() != nil {
		return 1
	}
	return 0
}

func (c *Codec) told(id int32, host string, port int32) {
	if c.Told != nil && id >= 0 && host != "" && port > 0 && port <= math.MaxUint16 {
		c.Told(core.ReplicaID(id), Endpoint{host, uint16(port)})
	}
}

// Feature is a feature of a cluster, as UpdateFeatures knows them.
type Feature struct {
	Name string
	// Min to Max are the levels that are supported; Finalized is the one in use, 0: none.
	Min, Max, Finalized int16
}

// MaxKRaftVersion is the highest level of kraft.version that is known here. A leader asks
// for it before it adds a voter, which has to know the level in force.
const MaxKRaftVersion = 1

func (c *Codec) kraftVersion() Feature {
	return Feature{Name: "kraft.version", Max: MaxKRaftVersion, Finalized: c.KRaftVersion()}
}

// Versions is a range of versions of an API. The zero value is none.
type Versions struct {
	Min, Max int16
	OK       bool
}

// Supported returns the versions of an API that are sent and accepted.
func (c *Codec) Supported(api API) Versions {
	switch api {
	case ApiVersions:
		return Versions{0, 4, true}
	case Fetch:
		if c.MaxFetch != 0 {
			return Versions{13, c.MaxFetch, true}
		}
		return Versions{13, 18, true}
	case Vote:
		if c.PreVote {
			return Versions{0, 2, true}
		}
		return Versions{0, 1, true}
	case BeginQuorumEpoch, EndQuorumEpoch:
		return Versions{1, 1, true}
	case DescribeQuorum:
		return Versions{0, 2, true}
	case FetchSnapshot, DescribeCluster:
		return Versions{0, 1, true}
	case AddRaftVoter:
		return Versions{0, 1, true}
	case RemoveRaftVoter, UpdateRaftVoter:
		return Versions{0, 0, true}
	}
	return c.Extra[api]
}

// served are the APIs in the order in which they are listed.
var served = [...]API{Fetch, ApiVersions, Vote, BeginQuorumEpoch, EndQuorumEpoch, DescribeQuorum, FetchSnapshot, DescribeCluster, AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter}

func (v Versions) has(version int16) bool { return v.OK && version >= v.Min && version <= v.Max }

// Negotiated are the newest versions that both ends of a connection understand, of
// the APIs for which there is one.
type Negotiated map[API]int16

func apiOf(kind core.MessageKind) API {
	switch kind {
	case core.Vote:
		return Vote
	case core.BeginQuorumEpoch:
		return BeginQuorumEpoch
	case core.EndQuorumEpoch:
		return EndQuorumEpoch
	case core.Fetch:
		return Fetch
	case core.FetchSnapshot:
		return FetchSnapshot
	}
	return -1
}

func kindOf(api API) core.MessageKind {
	switch api {
	case Vote:
		return core.Vote
	case BeginQuorumEpoch:
		return core.BeginQuorumEpoch
	case EndQuorumEpoch:
		return core.EndQuorumEpoch
	case Fetch:
		return core.Fetch
	case FetchSnapshot:
		return core.FetchSnapshot
	}
	return 0
}

// LearnClusterID is for a node that started without an id (KIP-1262): from now on it is
// that of all requests, also on connections that there are.
func (c *Codec) LearnClusterID(id string) { c.learned.Store(&id) }

// Cluster is the cluster id that the node knows, empty if it knows none.
func (c *Codec) Cluster() string {
	if id := c.learned.Load(); id != nil {
		return *id
	}
	return c.ClusterID
}

func (c *Codec) clusterID() *string {
	id := c.Cluster()
	if id == "" {
		return nil
	}
	return &id
}

func (c *Codec) inconsistent(id *string) bool {
	own := c.Cluster()
	return id != nil && own != "" && *id != own
}

func (c *Codec) listener() string {
	if c.Listener == "" {
		return "CONTROLLER"
	}
	return c.Listener
}

func replicaKey(id int32, directory [16]byte) core.ReplicaKey {
	if id < 0 {
		return core.NoKey
	}
	return core.ReplicaKey{ID: core.ReplicaID(id), Directory: directory}
}
