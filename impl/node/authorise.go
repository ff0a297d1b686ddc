package node

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"net"
	"strings"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/wire"
)

// clusterAuthorizationFailed: Kafka's CLUSTER_AUTHORIZATION_FAILED.
const clusterAuthorizationFailed core.ErrorCode = 31

// Anonymous is the principal of who does not say who he is.
const Anonymous = "User:ANONYMOUS"

// Caller is who sends requests on a connection.
type Caller struct {
	// Principal is User: and the distinguished name of the certificate, or Anonymous.
	Principal string
	// Authorised: may do everything. Others may only ask for ApiVersions.
	Authorised bool
	Addr       net.Addr
}

type callerKey struct{}

// CallerOf is who sent the request that a Service handles.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// caller is who is at the other end of a connection. chain is what TLS has verified of
// it, empty if there is none.
func (n *Node) caller(conn net.Conn, chain []*x509.Certificate) Caller {
	c := Caller{Principal: Anonymous, Addr: conn.RemoteAddr()}
	if len(chain) > 0 {
		c.Principal = "User:" + distinguishedName(chain[0].RawSubject)
	}
	c.Authorised = n.net.allowed == nil || n.net.allowed[c.Principal]
	return c
}

// authorise refuses a request of a client that may not ask it. Kafka's controller looks
// at this before anything else (ControllerApis), and serves only ApiVersions to all.
func (c *inConn) authorise(req *wire.Request) bool {
	if c.caller.Authorised || req.API == wire.ApiVersions {
		return true
	}
	req.Refused = clusterAuthorizationFailed
	c.n.refuse(RefusedPrincipal, c.raw, "the principal is not one of super.users", "principal", c.caller.Principal, "api", int(req.API))
	return false
}

// attributes are the names that X500Principal.getName(RFC2253), and so Kafka's default
// principal, writes; others are numbers.
var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// distinguishedName is a name as RFC 2253 writes it, the last attribute first. Go's
// pkix.Name knows other attributes than Java does. It is empty if der is no name, which
// a certificate that was parsed has not.
func distinguishedName(der []byte) string {
	var name []asn1.RawValue
	if _, err := asn1.Unmarshal(der, &name); err != nil {
		return ""
	}
	var all []string
	for i := len(name) - 1; i >= 0; i-- {
		var one []string
		for rest := name[i].Bytes; len(rest) > 0; {
			var pair struct {
				Type  asn1.ObjectIdentifier
				Value asn1.RawValue
			}
			var err error
			if rest, err = asn1.Unmarshal(rest, &pair); err != nil {
				return ""
			}
			one = append(one, attribute(pair.Type.String(), pair.Value))
		}
		all = append(all, strings.Join(one, "+"))
	}
	return strings.Join(all, ",")
}

func attribute(oid string, v asn1.RawValue) string {
	short, ok := attributes[oid]
	var text string
	if ok {
		_, err := asn1.Unmarshal(v.FullBytes, &text)
		ok = err == nil
	}
	if !ok {
		return oid + "=#" + hex.EncodeToString(v.FullBytes)
	}
	return short + "=" + escape(text)
}

// escape escapes an attribute's value as Java does, which is more than RFC 2253 asks for.
func escape(s string) string {
	middle := strings.Trim(s, " ")
	before := strings.Index(s, middle)
	if middle == "" {
		before = len(s)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(`\ `, before))
	for _, r := range middle {
		if strings.ContainsRune(`,=+<>#;"\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat(`\ `, len(s)-before-len(middle)))
	return b.String()
}
