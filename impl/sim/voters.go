package sim

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
)

// CheckVoter implements [driver.Hooks]: all replicas can do kraft.version 1, if they run.
func (n *node) CheckVoter(client core.ClientID, v core.Voter) error {
	if err := n.point(); err != nil {
		return err
	}
	n.c.after(n.c.flushDelay(), item{kind: checksVoter, node: n.index, inc: n.inc, client: client, voter: v.Key})
	return nil
}

func (n *node) voterChecked(it *item) error {
	if !n.up || it.inc != n.inc {
		return nil
	}
	in := core.Input{Kind: core.InputVoterChecked, Client: it.client, Error: core.RequestTimedOut}
	for _, other := range n.c.nodes {
		if other.id == it.voter.ID && other.cfg.Directory == it.voter.Directory && other.up {
			in.Error = core.None
		}
	}
	return n.input(&in, driver.Link{})
}
