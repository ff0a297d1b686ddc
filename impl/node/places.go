package node

import (
	"slices"
	"sync"

	"github.com/quorate/quorate/impl/core"
)

// places decides which accepted connections there is room for. Who connects is not known
// before he has asked for something, so when all places are taken there are some more, in
// which a connection is on trial: it stays if it turns out to be a voter's. So clients,
// however many, cannot keep a quorum apart.
//
//	ordinary ── limit ──┐
//	on trial ── kept  ──┼─► voter: at most perVoter for each
type places struct {
	limit, kept int
	voters      map[core.ReplicaID][]*inConn // of the others of the voter set; guarded by mu
	mu          sync.Mutex
	ordinary    int       // guarded by mu
	trial       []*inConn // oldest first; guarded by mu
}

// place is where a connection is counted.
type place uint8

const (
	noPlace place = iota
	ordinaryPlace
	trialPlace
	voterPlace
)

const (
	// perVoter is more than one, since it takes a while until a connection that has been
	// lost is found to be.
	perVoter = 4
	// trialPlaces is what is kept for connections on trial, besides twice the voters.
	trialPlaces = 16
)

func newPlaces(self core.ReplicaID, voters []Voter, limit int) *places {
	p := &places{limit: limit, kept: trialPlaces + 2*len(voters), voters: map[core.ReplicaID][]*inConn{}}
	for _, v := range voters {
		if v.ID != self {
			p.voters[v.ID] = nil
		}
	}
	return p
}

// setVoters says who the voters are now. Connections of others count on as they did.
func (p *places) setVoters(self core.ReplicaID, ids []core.ReplicaID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.voters
	p.kept, p.voters = trialPlaces+2*len(ids), map[core.ReplicaID][]*inConn{}
	for _, id := range ids {
		if id != self {
			p.voters[id] = before[id]
		}
		delete(before, id)
	}
	for _, conns := range before {
		for _, c := range conns {
			c.place = ordinaryPlace
			p.ordinary++
		}
	}
}

// take gives a new connection a place, for which another may have to go.
func (p *places) take(c *inConn) (evicted *inConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ordinary < p.limit {
		p.ordinary++
		c.place = ordinaryPlace
		return nil
	}
	if len(p.trial) == p.kept {
		evicted = p.trial[0]
		evicted.place = noPlace
		p.trial = slices.Delete(p.trial, 0, 1)
	}
	p.trial = append(p.trial, c)
	c.place = trialPlace
	return evicted
}

// onTrial says whether a connection has yet to show whose it is.
func (p *places) onTrial(c *inConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.place == trialPlace
}

// proven notes that a connection is of a replica. If it is a voter it no longer counts
// as one of the others; the oldest of too many of it has to go.
func (p *places) proven(c *inConn, id core.ReplicaID) (evicted *inConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, ok := p.voters[id]
	if !ok || c.place == voterPlace || c.place == noPlace {
		return nil
	}
	p.remove(c)
	if len(all) == perVoter {
		evicted = all[0]
		evicted.place = noPlace
		all = slices.Delete(all, 0, 1)
	}
	c.place, c.voter = voterPlace, id
	p.voters[id] = append(all, c)
	return evicted
}

// leave gives the place back.
func (p *places) leave(c *inConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(c)
	c.place = noPlace
}

func (p *places) remove(c *inConn) {
	same := func(other *inConn) bool { return other == c }
	switch c.place {
	case ordinaryPlace:
		p.ordinary--
	case trialPlace:
		p.trial = slices.DeleteFunc(p.trial, same)
	case voterPlace:
		p.voters[c.voter] = slices.DeleteFunc(p.voters[c.voter], same)
	}
}

// isVoter says whether a connection is known to be a voter's.
func (p *places) isVoter(c *inConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.place == voterPlace
}

// count is how many connections there are, and how many of them are of voters.
func (p *places) count() (all, voters int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conns := range p.voters {
		voters += len(conns)
	}
	return p.ordinary + len(p.trial) + voters, voters
}
