package sim

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// CheckVoter implements [driver.Hooks]: all replicas can do kraft.version 1, if they run.
func (n *node) CheckVoter(client core.ClientID, v core.Voter) error {
	if err := n.point(); err != nil {
		return err
	}
	n.c.after(n.flushDelay(), item{kind: checksVoter, node: n.index, inc: n.inc, client: client, voter: v.Key})
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

// memberOf gives a replica of a quorum whose voters are in the log what it begins with: the first
// voters have a zero checkpoint, the others nothing (Config.Members).
func (n *node) memberOf(voters, all int) error {
	n.cfg.Voters = nil
	n.cfg.Info = driver.Info(n.c.voter(n.id, 0))
	for i := range all {
		n.cfg.Bootstrap = append(n.cfg.Bootstrap, core.ReplicaID(i+1))
	}
	if n.index >= voters {
		return nil
	}
	var set []log.Voter
	for i := range voters {
		set = append(set, n.c.voter(core.ReplicaID(i+1), 0))
	}
	if err := n.disk.Mkdir(dataDir); err != nil {
		return err
	}
	w, err := snapshot.Create(n.disk, dataDir, snapshot.ID{}, n.Time(), log.KRaftVersionControl(1), log.KRaftVotersControl(set))
	if err != nil {
		return err
	}
	return errors.Join(w.Freeze(), n.disk.SyncDir("."))
}

// voter is a replica as a voter set has it; it may be said to listen at several ports.
func (c *cluster) voter(id core.ReplicaID, port int) log.Voter {
	return log.Voter{ID: int32(id), Directory: c.cfg.Directory(id), MaxVersion: 1,
		Endpoints: []log.VoterEndpoint{{Name: "CONTROLLER", Host: fmt.Sprint("replica-", id), Port: uint16(1 + port)}}}
}

func (c *cluster) nextChange() {
	if c.knobs.changeEvery > 0 {
		c.after(c.memberRNG.between(1, 2*c.knobs.changeEvery), item{kind: votersChange})
	}
}

// changeVoters asks a replica, mostly the leader, for a change of the voter set, which may
// be one that it refuses.
func (c *cluster) changeVoters() error {
	if c.calm {
		return nil
	}
	c.nextChange()
	r := &c.memberRNG
	n, who := c.leader(), c.nodes[r.below(len(c.nodes))]
	if n == nil || r.chance(100) {
		n = c.nodes[r.below(len(c.nodes))]
	}
	if !n.up || n.paused > 0 {
		return nil
	}
	c.lastAttempt++
	c.changes[c.lastAttempt] = n
	in := core.Input{Client: c.lastAttempt, Epoch: n.core.State().Epoch, Voter: driver.CoreVoter(c.voter(who.id, 0)), Early: r.chance(300)}
	switch _, is := n.raw.VoterSet().Find(who.id); {
	case r.chance(100):
		in.Kind, in.Voter = core.InputUpdateVoter, driver.CoreVoter(c.voter(who.id, 1+r.below(3)))
	case is:
		in.Kind = core.InputRemoveVoter
	default:
		in.Kind = core.InputAddVoter
	}
	return n.input(&in, driver.Link{})
}

// changed takes the result of a change; false if it is that of a client.
func (c *cluster) changed(n *node, id core.ClientID, result core.Result) (is bool, err error) {
	asked, is := c.changes[id]
	if !is {
		return false, nil
	}
	delete(c.changes, id)
	switch {
	case asked != n:
		return true, violated("CompletedOnce", "change %d of the voter set completed at another node", id)
	case result.Error == core.None:
		c.met(VoterChangeDone)
	}
	return true, nil
}

// meetVoters notes what an event says of voters.
func (c *cluster) meetVoters(n *node, e *event.Event) {
	if e.Args.Voter != nil {
		switch own := e.Args.Voter.ID == int32(n.id); {
		case e.Action == "AddVoter":
			c.met(VoterAdded)
		case e.Action == "RemoveVoter" && own:
			c.met(LeaderRemoved)
		}
	}
	if e.State.Has&event.HasVoters == 0 || e.Log == nil {
		return
	}
	if e.Log.Truncated >= 0 {
		c.met(VotersTruncated)
	}
	if e.Log.Reset > 0 {
		c.met(VotersInstalled)
	}
}
