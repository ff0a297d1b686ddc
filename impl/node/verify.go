package node

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
)

// VerifySnapshot implements [driver.Hooks]: the check of a snapshot that was received
// takes long, so the replica goes on meanwhile.
func (n *Node) VerifySnapshot(id core.SnapshotID, transfer int64) error {
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		in := input{}
		in.Kind, in.SnapshotID, in.Transfer = core.InputSnapshotVerified, id, transfer
		switch err := n.driver.VerifySnapshot(id); {
		case errors.Is(err, driver.ErrBadSnapshot):
			in.Error = core.InvalidRequest
		case err != nil:
			n.fail(fmt.Errorf("verify a snapshot: %w", err))
			return
		default:
			in.VoterSet = n.driver.VerifiedVoters()
		}
		n.give(in)
	}()
	return nil
}
