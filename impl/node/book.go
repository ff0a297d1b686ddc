package node

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/wire"
)

// book knows where replicas can be reached: voters by their set, others by what leaders and
// bootstrap servers have told.
type book struct {
	mu     sync.Mutex
	voters map[core.ReplicaID]string // guarded by mu
	others map[core.ReplicaID]string // guarded by mu
}

// addr is host:port, empty if it is not known.
func (b *book) addr(id core.ReplicaID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if addr := b.voters[id]; addr != "" {
		return addr
	}
	return b.others[id]
}

func (b *book) use(voters map[core.ReplicaID]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, addr := range b.voters { // one that is none any more may still be the leader
		if b.others == nil {
			b.others = map[core.ReplicaID]string{}
		}
		b.others[id] = addr
	}
	b.voters = voters
}

// maxTold bounds what is remembered of others: whoever answers can make up ids.
const maxTold = 1000

func (b *book) told(id core.ReplicaID, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.others == nil || len(b.others) >= maxTold {
		b.others = map[core.ReplicaID]string{}
	}
	b.others[id] = addr
}

// useVoters goes by the voter set in force, if it is another than before.
func (n *Node) useVoters() {
	set := n.replica.VoterSet()
	if set == n.voterSet {
		return
	}
	n.voterSet = set
	if !set.Dynamic() {
		addrs := map[core.ReplicaID]string{}
		for _, v := range n.cfg.Voters {
			addrs[v.ID] = v.Addr
		}
		n.book.use(addrs)
		return
	}
	addrs, endpoints := map[core.ReplicaID]string{}, map[core.ReplicaID]wire.Endpoint{}
	var ids []core.ReplicaID
	for _, v := range set.Voters {
		ids = append(ids, v.Key.ID)
		if e, ok := n.endpointOf(driver.Voter(v)); ok {
			endpoints[v.Key.ID] = wire.Endpoint{Host: e.Host, Port: e.Port}
			addrs[v.Key.ID] = hostPort(e.Host, e.Port)
		}
	}
	n.book.use(addrs)
	n.codec.UseVoters(endpoints)
	n.net.places.setVoters(n.cfg.ID, ids)
	voters := make([]string, len(set.Voters))
	for i, v := range set.Voters {
		voters[i] = voterText(v.Key)
		if addr := addrs[v.Key.ID]; addr != "" {
			voters[i] += "@" + addr
		}
	}
	slog.Info("the voters are", "node", int(n.cfg.ID), "voters", strings.Join(voters, ","), "offset", int64(set.Offset))
}

// endpointOf is where a voter listens for the quorum.
func (n *Node) endpointOf(v log.Voter) (log.VoterEndpoint, bool) {
	for _, e := range v.Endpoints {
		if e.Name == n.codec.ListenerName() {
			return e, true
		}
	}
	return log.VoterEndpoint{}, false
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
