package node

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/traces/event"
)

// Both ends of a connection must name it alike in their traces. Who accepts it
// learns the name from the client id of the request header, which Kafka's format
// has room for: quorate-<id>-<incarnation>-<counter>.

const clientPrefix = "quorate-"

func clientID(c event.Conn) string {
	return fmt.Sprintf("%s%d-%d-%d", clientPrefix, c.From, c.Inc, c.N)
}

// parseClientID returns the name of the connection that self accepted; false if the
// other end is not a replica of ours.
func parseClientID(s string, self core.ReplicaID) (event.Conn, bool) {
	rest, ok := strings.CutPrefix(s, clientPrefix)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 {
		return event.Conn{}, false
	}
	id, err1 := strconv.ParseUint(parts[0], 10, 31)
	inc, err2 := strconv.ParseUint(parts[1], 10, 31)
	n, err3 := strconv.ParseUint(parts[2], 10, 63)
	if err1 != nil || err2 != nil || err3 != nil || inc == 0 || id == uint64(self) {
		return event.Conn{}, false
	}
	return event.Conn{From: int32(id), To: int32(self), Inc: int32(inc), N: int64(n)}, true
}
