package node

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/wire"
)

// ErrStopped is the error of every operation after the node was stopped.
var ErrStopped = errors.New("node is stopped")

// ErrNoSnapshot is what a machine says whose state may not be a snapshot now (see
// [Machine]).
var ErrNoSnapshot = errors.New("no snapshot of this state")

// ErrOtherLeader ends a node that does not know its cluster id and was to follow another
// leader. Its log has to be discarded before it is started again (KIP-1262).
var ErrOtherLeader = errors.New("another leader, before the cluster id is known")

// What an [*OpError] may be, for errors.Is.
var (
	// ErrNotLeader: only a leader can do that.
	ErrNotLeader = errors.New("node is not the leader")
	// ErrBusy: as much is under way as may be.
	ErrBusy = errors.New("too much is under way")
	// ErrTooLarge: the records do not fit into a batch.
	ErrTooLarge = errors.New("records are too large for a batch")
	// ErrUnknown: the operation may yet take effect, or already has.
	ErrUnknown = errors.New("outcome is unknown")
)

// OpError is how an operation of a client failed.
type OpError struct {
	// Code is a Kafka error code, None if the node stopped or the caller went away.
	Code core.ErrorCode
	// Unknown: the operation may yet take effect, or already has. False: it has not
	// and never will.
	Unknown bool
	// Leader that the node knew, NoReplica if none.
	Leader core.ReplicaID
	// Reason says more than Code, in words; empty if there is no more to say.
	Reason string
	// Cause is set where Code is None.
	Cause error
}

// Error implements error.
func (e *OpError) Error() string {
	what := codeName(e.Code)
	if e.Code == core.None {
		what = fmt.Sprint(e.Cause)
	}
	if e.Unknown {
		what += " (outcome unknown)"
	}
	if e.Reason != "" {
		what += ": " + e.Reason
	}
	return what
}

// Unwrap returns Cause.
func (e *OpError) Unwrap() error { return e.Cause }

// Is says which of the errors above it is.
func (e *OpError) Is(target error) bool {
	switch target {
	case ErrUnknown:
		return e.Unknown
	case ErrNotLeader:
		return e.Code == core.NotLeaderOrFollower
	case ErrBusy:
		return e.Code == core.ThrottlingQuotaExceeded
	case ErrTooLarge:
		return e.Code == core.MessageTooLarge
	}
	return false
}

func codeName(c core.ErrorCode) string {
	switch c {
	case core.None:
		return "NONE"
	case core.NotLeaderOrFollower:
		return "NOT_LEADER_OR_FOLLOWER"
	case core.BrokerNotAvailable:
		return "BROKER_NOT_AVAILABLE"
	case core.MessageTooLarge:
		return "MESSAGE_TOO_LARGE"
	case core.UnsupportedVersion:
		return "UNSUPPORTED_VERSION"
	case core.InvalidRequest:
		return "INVALID_REQUEST"
	case clusterAuthorizationFailed:
		return "CLUSTER_AUTHORIZATION_FAILED"
	case wire.InconsistentClusterID:
		return "INCONSISTENT_CLUSTER_ID"
	case core.ThrottlingQuotaExceeded:
		return "THROTTLING_QUOTA_EXCEEDED"
	case core.RequestTimedOut:
		return "REQUEST_TIMED_OUT"
	case core.DuplicateVoter:
		return "DUPLICATE_VOTER"
	case core.VoterNotFound:
		return "VOTER_NOT_FOUND"
	case core.FencedLeaderEpoch:
		return "FENCED_LEADER_EPOCH"
	case core.UnknownLeaderEpoch:
		return "UNKNOWN_LEADER_EPOCH"
	}
	return fmt.Sprintf("error %d", c)
}
