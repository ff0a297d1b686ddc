package node

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node/tlstest"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type authority struct{ *tlstest.Authority }

func newAuthority(t testing.TB, name string) authority {
	return authority{tlstest.NewAuthority(t, name)}
}

func (a authority) tls(name, host string, auth ClientAuth) *TLS {
	key, chain := a.Issue(name, host)
	t, err := NewTLS(TLSConfig{Key: key, Chain: chain, Authorities: a.PEM, ClientAuth: auth})
	if err != nil {
		panic(err)
	}
	return t
}

func principal(name string) string { return "User:CN=" + name + ",O=Quorate" }

// logs collects what is logged in a test.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func captureLogs(t testing.TB) *logs {
	l, before := new(logs), slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

func tlsCluster(t testing.TB, a authority, size int, auth ClientAuth) *cluster {
	return newCluster(t, size, false, func(cfg *Config) {
		cfg.TLS = a.tls("node", "127.0.0.1", auth)
		// An election must outlast a handshake, also on a machine that is busy.
		cfg.Core.ElectionTimeout, cfg.Core.FetchTimeout = 500, 1000
		if auth != ClientAuthNone {
			cfg.SuperUsers = []string{principal("node"), principal("admin")}
		}
	})
}

func dialTLS(t testing.TB, n *Node, secure *TLS) (*asker, error) {
	conn, err := tls.Dial("tcp", n.Addr().String(), secure.Client("127.0.0.1"))
	if err != nil {
		return nil, err
	}
	return newAsker(t, conn), nil
}

func apiVersions() *kmsg.ApiVersionsRequest {
	r := kmsg.NewPtrApiVersionsRequest()
	r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = 4, "test", "1.0"
	return r
}

// Three nodes know each other by their certificates. Who has none is not served, who has
// another may ask for nothing but versions, and an administrator for all.
func TestMutualTLS(t *testing.T) {
	captured := captureLogs(t)
	a := newAuthority(t, "ca")
	c := tlsCluster(t, a, 3, ClientAuthRequired)
	c.append("a")
	n := c.nodes[c.leader()]

	stranger, err := dialTLS(t, n, a.tls("stranger", "127.0.0.1", ClientAuthNone))
	require.NoError(t, err)
	require.NotEmpty(t, ask[*kmsg.ApiVersionsResponse](stranger, apiVersions()).ApiKeys)
	vote := voteRequest()
	vote.Topics = nil // the principal is looked at first
	require.EqualValues(t, 31, ask[*kmsg.VoteResponse](stranger, vote).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.BeginQuorumEpochResponse](stranger, beginRequest()).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.EndQuorumEpochResponse](stranger, endRequest()).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.FetchResponse](stranger, fetchRequest(1)).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.FetchSnapshotResponse](stranger, snapshotRequest(1, 1, 1)).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.DescribeQuorumResponse](stranger, kmsg.NewPtrDescribeQuorumRequest()).ErrorCode)
	require.EqualValues(t, 31, ask[*kmsg.DescribeClusterResponse](stranger, kmsg.NewPtrDescribeClusterRequest()).ErrorCode)
	require.Contains(t, captured.String(), principal("stranger"))
	require.EqualValues(t, 7, n.Network().Refused[RefusedPrincipal])

	admin, err := dialTLS(t, n, a.tls("admin", "127.0.0.1", ClientAuthNone))
	require.NoError(t, err)
	describe := kmsg.NewPtrDescribeQuorumRequest()
	describe.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	require.Len(t, ask[*kmsg.DescribeQuorumResponse](admin, describe).Topics[0].Partitions[0].CurrentVoters, 3)

	none, err := NewTLS(TLSConfig{Authorities: a.PEM})
	require.NoError(t, err)
	other := newAuthority(t, "other")
	key, chain := other.Issue("node", "127.0.0.1")
	forged, err := NewTLS(TLSConfig{Key: key, Chain: chain, Authorities: a.PEM})
	require.NoError(t, err)
	for _, secure := range []*TLS{none, forged} {
		// In TLS 1.3 a client only learns of it when it reads.
		conn, err := dialTLS(t, n, secure)
		if err == nil {
			_, err = conn.try(apiVersions())
		}
		require.Error(t, err)
	}
	_, err = dialTLS(t, n, other.tls("admin", "127.0.0.1", ClientAuthNone))
	require.ErrorContains(t, err, "unknown authority", "nor is a node believed that others vouch for")
	require.Eventually(t, func() bool { return n.Network().Refused[RefusedHandshake] == 3 }, 10*time.Second, time.Millisecond)
	c.append("b")
}

// Without certificates of clients all are the same, and may do all.
func TestTLSWithoutClientCertificates(t *testing.T) {
	a := newAuthority(t, "ca")
	c := tlsCluster(t, a, 2, ClientAuthNone)
	c.append("a")
	none, err := NewTLS(TLSConfig{Authorities: a.PEM})
	require.NoError(t, err)
	conn, err := dialTLS(t, c.nodes[0], none)
	require.NoError(t, err)
	require.Zero(t, ask[*kmsg.DescribeQuorumResponse](conn, kmsg.NewPtrDescribeQuorumRequest()).ErrorCode)
}

// A certificate that is asked for, but need not be there: who has none is anonymous.
func TestTLSRequested(t *testing.T) {
	a := newAuthority(t, "ca")
	c := tlsCluster(t, a, 1, ClientAuthRequested)
	none, err := NewTLS(TLSConfig{Authorities: a.PEM})
	require.NoError(t, err)
	for secure, want := range map[*TLS]int16{none: 31, a.tls("admin", "x", ClientAuthNone): 0} {
		conn, err := dialTLS(t, c.nodes[0], secure)
		require.NoError(t, err)
		require.Equal(t, want, ask[*kmsg.DescribeQuorumResponse](conn, kmsg.NewPtrDescribeQuorumRequest()).ErrorCode)
	}
}

// Plain text on a listener of TLS, and TLS on one of plain text: the connection is
// closed, and the log says why.
func TestPlainTextAndTLS(t *testing.T) {
	captured := captureLogs(t)
	a := newAuthority(t, "ca")
	secure := tlsCluster(t, a, 1, ClientAuthNone).nodes[0]
	_, err := dialAsker(t, secure).try(apiVersions())
	require.Error(t, err)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "it is closed: %v", err)
	require.Eventually(t, func() bool { return strings.Contains(captured.String(), "it speaks plain text") }, 10*time.Second, time.Millisecond)

	plain := newCluster(t, 1, false, nil).nodes[0]
	none, err := NewTLS(TLSConfig{Authorities: a.PEM})
	require.NoError(t, err)
	_, err = dialTLS(t, plain, none)
	require.Error(t, err)
	require.Contains(t, captured.String(), "it is no request of Kafka's protocol")
	require.EqualValues(t, 1, plain.Network().Refused[RefusedFrame])

	// A peer that is not spoken to as it wants is a peer that cannot be reached.
	c := newCluster(t, 2, false, func(cfg *Config) {
		if cfg.ID == 2 {
			cfg.TLS = a.tls("node", "127.0.0.1", ClientAuthNone)
		}
	})
	require.Eventually(t, func() bool { return strings.Contains(captured.String(), `msg="cannot connect" node=2 peer=1`) }, 10*time.Second, time.Millisecond)
	for _, n := range c.nodes {
		require.NotEqual(t, core.Leader, n.State().Role)
	}
}

// A handshake that does not go on is ended.
func TestSilentHandshake(t *testing.T) {
	a := newAuthority(t, "ca")
	c := newCluster(t, 1, false, func(cfg *Config) {
		cfg.TLS = a.tls("node", "127.0.0.1", ClientAuthNone)
		cfg.limits = defaultLimits
		cfg.limits.handshake = 20 * time.Millisecond
	})
	conn, err := net.Dial("tcp", c.nodes[0].Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.ReadAll(conn)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.nodes[0].Network().Refused[RefusedHandshake] == 1 }, 10*time.Second, time.Millisecond)
}

// Files that are replaced count from the next handshake on, in both directions, and who
// is connected stays so. What cannot be used is not.
func TestTLSReload(t *testing.T) {
	captured := captureLogs(t)
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	dir := t.TempDir()
	stores := TLSConfig{Keystore: filepath.Join(dir, "keystore.pem"), Truststore: filepath.Join(dir, "truststore.pem"), ClientAuth: ClientAuthRequired}
	write := func(file, content string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	key, chain := first.Issue("node", "127.0.0.1")
	write(stores.Keystore, key+chain)
	write(stores.Truststore, first.PEM)
	secure, err := NewTLS(stores)
	require.NoError(t, err)
	c := newCluster(t, 1, false, func(cfg *Config) { cfg.TLS = secure })
	n := c.nodes[0]
	old, err := dialTLS(t, n, first.tls("admin", "x", ClientAuthNone))
	require.NoError(t, err)
	ask[*kmsg.ApiVersionsResponse](old, apiVersions())

	// Half of a change: the keystore is not whole.
	write(stores.Keystore, key)
	again, err := dialTLS(t, n, first.tls("admin", "x", ClientAuthNone))
	require.NoError(t, err)
	ask[*kmsg.ApiVersionsResponse](again, apiVersions())
	require.Contains(t, captured.String(), "the old ones stay in use")
	require.ErrorContains(t, secure.Reload(), "no certificate in PEM form")

	key, chain = second.Issue("node", "127.0.0.1")
	write(stores.Keystore, key+chain)
	write(stores.Truststore, second.PEM)
	_, err = dialTLS(t, n, first.tls("admin", "x", ClientAuthNone))
	require.ErrorContains(t, err, "unknown authority", "the node shows its new certificate")
	conn, err := dialTLS(t, n, second.tls("admin", "x", ClientAuthNone))
	require.NoError(t, err)
	ask[*kmsg.ApiVersionsResponse](conn, apiVersions())
	forged, err := NewTLS(TLSConfig{Key: key, Chain: chain, Authorities: second.PEM})
	require.NoError(t, err)
	_, err = dialTLS(t, n, forged)
	require.NoError(t, err)
	ask[*kmsg.ApiVersionsResponse](old, apiVersions())

	// The client's side of the same files.
	require.True(t, secure.Client("h").RootCAs.Equal(mustPool(t, second.PEM)))
	shown, err := secure.Client("h").GetClientCertificate(nil)
	require.NoError(t, err)
	require.Equal(t, mustCertificate(t, chain), shown.Leaf.Raw)
	require.NoError(t, secure.Reload())
}

func mustPool(t testing.TB, text string) *x509.CertPool {
	p, err := pool([]byte(text))
	require.NoError(t, err)
	return p
}

func mustCertificate(t testing.TB, text string) []byte {
	all, err := pemCertificates([]byte(text))
	require.NoError(t, err)
	return all[0].Raw
}

// A peer must have the certificate of its host, unless that is not to be looked at.
func TestTLSHost(t *testing.T) {
	a := newAuthority(t, "ca")
	c := newCluster(t, 1, false, func(cfg *Config) { cfg.TLS = a.tls("node", "elsewhere.example", ClientAuthNone) })
	for anyHost, authorities := range map[bool]string{true: a.PEM, false: a.PEM} {
		secure, err := NewTLS(TLSConfig{Authorities: authorities, AnyHost: anyHost})
		require.NoError(t, err)
		_, err = dialTLS(t, c.nodes[0], secure)
		require.Equal(t, anyHost, err == nil, "%v", err)
	}
	secure, err := NewTLS(TLSConfig{Authorities: newAuthority(t, "other").PEM, AnyHost: true})
	require.NoError(t, err)
	_, err = dialTLS(t, c.nodes[0], secure)
	require.ErrorContains(t, err, "unknown authority", "any host, but not any authority")
}

func TestTLSFiles(t *testing.T) {
	a := newAuthority(t, "ca")
	key, chain := a.Issue("node", "h")
	other, _ := a.Issue("node", "h")
	line := func(s string) string { return strings.Join(strings.Split(strings.TrimSpace(s), "\n"), " ") }
	_, err := NewTLS(TLSConfig{Key: line(key), Chain: line(chain + a.PEM), Authorities: line(a.PEM)})
	require.NoError(t, err, "as it stands in a properties file")
	secure, err := NewTLS(TLSConfig{Key: "Bag Attributes\n  friendlyName: x\n" + key, Chain: "subject=x\n" + chain + "\n" + a.PEM})
	require.NoError(t, err, "as openssl writes it")
	require.Len(t, secure.keys.certificate.Certificate, 2)

	missing := filepath.Join(t.TempDir(), "missing.pem")
	for want, cfg := range map[string]TLSConfig{
		missing:                             {Keystore: missing},
		"truststore":                        {Truststore: missing + "-truststore"},
		"no private key in PEM form":        {Key: chain, Chain: chain},
		"more than one private key":         {Key: key + other, Chain: chain},
		"not of the private key":            {Key: other, Chain: chain},
		"key and certificates: no cert":     {Key: key},
		"trusted authorities: no cert":      {Authorities: key},
		"without a password":                {Key: strings.ReplaceAll(key, "PRIVATE", "ENCRYPTED PRIVATE"), Chain: chain},
		"private key: asn1":                 {Key: "-----BEGIN PRIVATE KEY-----AAAA-----END PRIVATE KEY-----", Chain: chain},
		"block PRIVATE KEY: illegal base64": {Key: "-----BEGIN PRIVATE KEY-----AA=A-----END PRIVATE KEY-----", Chain: chain},
		"ends as":                           {Key: "-----BEGIN PRIVATE KEY-----AAAA-----END CERTIFICATE-----", Chain: chain},
		"certificate 2":                     {Key: key, Chain: chain + "-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----"},
	} {
		_, err := NewTLS(cfg)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "TLS: ")
	}
	secure, err = NewTLS(TLSConfig{})
	require.NoError(t, err, "a client needs nothing")
	_, err = secure.Server()
	require.ErrorContains(t, err, "a listener needs a key")
}

// The names and their bytes are those that Java 17 gave, by X500Principal.getName(),
// of those bytes.
func TestDistinguishedName(t *testing.T) {
	for der, want := range map[string]string{
		"30819b310a300806035504091301733111300f060a0992268993f22c6401011301753111300f060a0992268993f22c640119160164310c300a06035504081303782c79311b301906035504070c12706c75732b73656d693b6c743c712262735c310b3009060355040613024445310f300d060355040a1306747261696c20310e300c060355040b1305206c656164310e300c06035504030c05613d622363": `CN=a\=b\#c,OU=\ lead,O=trail\ ,C=DE,L=plus\+semi\;lt\<q\"bs\\,ST=x\,y,DC=d,UID=u,STREET=s`,
		"304d310e300c060355040c13057469746c65310b3009060355040513023737311530130603550403130c636f6e74726f6c6c65722d313117301506092a864886f70d01090116086d6540782e6f7267":                                                                                                                                                               "1.2.840.113549.1.9.1=#16086d6540782e6f7267,CN=controller-1,2.5.4.5=#13023737,2.5.4.12=#13057469746c65",
		"30463111300f0603550407130820202074776f2020310e300c060355040a0c0523686173683121300c060355040b13056d756c7469301106035504030c0ac3bc626572206d696368":                                                                                                                                                                             `OU=multi+CN=über mich,O=\#hash,L=\ \ \ two\ \ `,
		"3000": "",
		"04":   "",
	} {
		b, err := hex.DecodeString(der)
		require.NoError(t, err)
		require.Equal(t, want, distinguishedName(b))
	}
}
