package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const minimal = `node.id=1
process.roles=controller
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:9091
controller.quorum.voters=1@127.0.0.1:9091,2@127.0.0.1:9092,3@127.0.0.1:9093
log.dirs=/var/lib/kraft
`

// What is not said is as in Kafka 4 (QuorumConfig, MetadataLogConfig).
func TestDefaults(t *testing.T) {
	c, err := Parse("f", []byte(minimal))
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	assert.Equal(t, int32(1), c.NodeID)
	assert.Equal(t, []Voter{{1, "127.0.0.1:9091"}, {2, "127.0.0.1:9092"}, {3, "127.0.0.1:9093"}}, c.Voters)
	assert.Equal(t, []Listener{{"CONTROLLER", Plaintext, "127.0.0.1:9091"}}, c.Listeners)
	assert.Equal(t, c.Listeners, c.Advertised)
	assert.Equal(t, c.Listeners[0], c.ControllerListener())
	assert.Equal(t, "/var/lib/kraft", c.MetadataLogDir)
	assert.Equal(t, Quorum{
		ElectionTimeout: time.Second, FetchTimeout: 2 * time.Second, ElectionBackoffMax: time.Second,
		AppendLinger: 25 * time.Millisecond, RequestTimeout: 2 * time.Second, RetryBackoff: 20 * time.Millisecond, Registration: time.Minute,
	}, c.Quorum)
	assert.Equal(t, Log{
		SegmentBytes: 1073741824, SegmentAge: 7 * 24 * time.Hour,
		RetentionBytes: 100 * 1024 * 1024, RetentionAge: 7 * 24 * time.Hour,
		SnapshotBytes: 20 * 1024 * 1024, SnapshotInterval: time.Hour,
	}, c.Log)
	assert.Equal(t, SSL{ClientAuth: "none"}, c.SSL)
	assert.Equal(t, Quorate{}, c.Quorate)
	assert.True(t, c.IsSet("node.id"))
	assert.False(t, c.IsSet("metadata.log.dir"))
}

func TestAll(t *testing.T) {
	c, err := Parse("f", []byte(`
node.id = 2
process.roles : controller
controller.listener.names=secure, Plain
listeners=SECURE://:9091,plain://[::1]:0
advertised.listeners=SECURE://n2.example:19091
listener.security.protocol.map=SECURE:ssl,PLAIN:PLAINTEXT
controller.quorum.voters=1@n1.example:19091,\
   2@n2.example:19091
controller.quorum.bootstrap.servers=n1.example:19091
log.dirs=/a, /b
metadata.log.dir=/c
controller.quorum.election.timeout.ms=150
controller.quorum.fetch.timeout.ms=151
controller.quorum.election.backoff.max.ms=152
controller.quorum.append.linger.ms=0
controller.quorum.request.timeout.ms=153
controller.quorum.retry.backoff.ms=154
metadata.log.segment.bytes=8388608
metadata.log.segment.ms=155
metadata.max.retention.bytes=-1
metadata.max.retention.ms=-1
metadata.log.max.record.bytes.between.snapshots=156
metadata.log.max.snapshot.interval.ms=0
ssl.keystore.type=PEM
ssl.keystore.location=/tls/node.pem
ssl.truststore.type=PEM
ssl.truststore.location=/tls/ca.pem
ssl.client.auth=none
listener.name.secure.ssl.client.auth=REQUIRED
ssl.endpoint.identification.algorithm=
ssl.principal.mapping.rules=DEFAULT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
max.connections=77
super.users=User:CN=n1,O=x;User:CN=n2
quorate.metrics.listener=127.0.0.1:9990
quorate.trace.file=/t
quorate.client.listener=127.0.0.1:9991
quorate.unformatted.voters=True
quorate.internal.before.kip1170=true
quorate.bootstrap.checkpoint.delete=true
initial.broker.registration.timeout.ms=157
unstable.feature.versions.enable=true
`))
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	c.set = nil
	ms := time.Millisecond
	assert.Equal(t, &Config{
		File: "f", NodeID: 2, Controller: true, UnstableFeatures: true,
		Voters: []Voter{{1, "n1.example:19091"}, {2, "n2.example:19091"}}, Bootstrap: []string{"n1.example:19091"},
		ControllerListeners: []string{"SECURE", "PLAIN"},
		Listeners:           []Listener{{"SECURE", TLS, ":9091"}, {"PLAIN", Plaintext, "[::1]:0"}},
		Advertised:          []Listener{{"SECURE", TLS, "n2.example:19091"}, {"PLAIN", Plaintext, "[::1]:0"}},
		LogDirs:             []string{"/a", "/b"}, MetadataLogDir: "/c",
		Quorum:     Quorum{150 * ms, 151 * ms, 152 * ms, 0, 153 * ms, 154 * ms, 157 * ms},
		Log:        Log{8 << 20, 155 * ms, -1, -1, 156, 0},
		SSL:        SSL{Keystore: "/tls/node.pem", Truststore: "/tls/ca.pem", ClientAuth: "required", AnyHost: true},
		SuperUsers: []string{"User:CN=n1,O=x", "User:CN=n2"}, MaxConnections: 77,
		Quorate: Quorate{MetricsListener: "127.0.0.1:9990", TraceFile: "/t", UnformattedVoters: true, BeforeKIP1170: true, DeleteLegacy: true, ClientListener: "127.0.0.1:9991"},
	}, c)
}

// Each line is put in place of what minimal says of its key.
func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"node.id=":                        "f: node.id: is required",
		"node.id=-1":                      "f:1: node.id=-1: want a number from 0 to 2147483647",
		"node.id=1x":                      "f:1: node.id=1x: want a number from 0 to 2147483647",
		"node.id=2147483648":              "f:1: node.id=2147483648: want a number from 0 to 2147483647",
		"node.id=4":                       "f:5: controller.quorum.voters=1@127.0.0.1:9091,2@127.0.0.1:9092,3@127.0.0.1:9093: node.id 4 is not one of the voters, as a controller must be",
		"process.roles=":                  `f: process.roles: is required: want "controller" (there is no ZooKeeper mode)`,
		"process.roles=broker,broker":     "f:2: process.roles=broker,broker: broker is given twice",
		"process.roles=broker\nnode.id=4": "f:4: listeners=CONTROLLER://127.0.0.1:9091: CONTROLLER is in controller.listener.names, and a broker has none of those",
		"process.roles=broker\nlisteners=B://a:1":                                           "f:5: controller.quorum.voters=1@127.0.0.1:9091,2@127.0.0.1:9092,3@127.0.0.1:9093: node.id 1 is one of the voters, as no broker may be",
		"process.roles=broker\nnode.id=4\nlisteners=\nlistener.security.protocol.map=B:SSL": "f:3: controller.listener.names=CONTROLLER: CONTROLLER is not in listener.security.protocol.map",
		"unstable.feature.versions.enable=yes":                                              "f:7: unstable.feature.versions.enable=yes: want true or false",
		"process.roles=leader":                                                              `f:2: process.roles=leader: "leader" is not a role: want controller or broker`,
		"process.roles=controller,controller":                                               "f:2: process.roles=controller,controller: controller is given twice",
		"controller.listener.names=":                                                        "f: controller.listener.names: is required, and must name one of listeners",
		"controller.listener.names=OTHER,CONTROLLER":                                        "f:3: controller.listener.names=OTHER,CONTROLLER: OTHER, the listener of the quorum, is not one of listeners",
		"listeners=":                                  "f: listeners: is required: want CONTROLLER://host:port",
		"listeners=CONTROLLER":                        `f:4: listeners=CONTROLLER: "CONTROLLER" is not NAME://host:port`,
		"listeners=CONTROLLER://127.0.0.1":            `f:4: listeners=CONTROLLER://127.0.0.1: "CONTROLLER://127.0.0.1" is not NAME://host:port`,
		"listeners=CONTROLLER://127.0.0.1:65536":      `f:4: listeners=CONTROLLER://127.0.0.1:65536: "CONTROLLER://127.0.0.1:65536" is not NAME://host:port`,
		"listeners=CONTROLLER://a:1,B://a:2":          "f:4: listeners=CONTROLLER://a:1,B://a:2: B is not in controller.listener.names, and a controller has no others",
		"listeners=CONTROLLER://a:1,CONTROLLER://a:2": "f:4: listeners=CONTROLLER://a:1,CONTROLLER://a:2: CONTROLLER is given twice",
		"listeners=CONTROLLER://a:1,B://:1\ncontroller.listener.names=CONTROLLER,B":          "f:4: listeners=CONTROLLER://a:1,B://:1: CONTROLLER and B have the same port 1",
		"listener.security.protocol.map=OTHER:SSL":                                           "f:4: listeners=CONTROLLER://127.0.0.1:9091: CONTROLLER is not in listener.security.protocol.map",
		"listener.security.protocol.map=CONTROLLER":                                          `f:7: listener.security.protocol.map=CONTROLLER: "CONTROLLER" is not NAME:PROTOCOL`,
		"listener.security.protocol.map=CONTROLLER:TCP":                                      `f:7: listener.security.protocol.map=CONTROLLER:TCP: "TCP" is not a security protocol: want PLAINTEXT or SSL`,
		"listener.security.protocol.map=CONTROLLER:SASL_SSL":                                 "f:7: listener.security.protocol.map=CONTROLLER:SASL_SSL: SASL_SSL is not supported: want PLAINTEXT or SSL",
		"listener.security.protocol.map=CONTROLLER:SSL":                                      "f: ssl.keystore.location: is required, since listener CONTROLLER is SSL",
		"advertised.listeners=CONTROLLER://0.0.0.0:1":                                        `f:7: advertised.listeners=CONTROLLER://0.0.0.0:1: CONTROLLER: nobody can connect to "0.0.0.0:1"`,
		"advertised.listeners=CONTROLLER://:1":                                               `f:7: advertised.listeners=CONTROLLER://:1: "CONTROLLER://:1" is not NAME://host:port`,
		"advertised.listeners=B://a:1":                                                       "f:7: advertised.listeners=B://a:1: B is not in controller.listener.names, and a controller has no others",
		"advertised.listeners=B://a:1\ncontroller.listener.names=CONTROLLER,B":               "f:7: advertised.listeners=B://a:1: B is not one of listeners",
		"controller.quorum.voters=":                                                          "f: controller.quorum.voters: is required: want id@host:port, separated by commas; or controller.quorum.bootstrap.servers, for a dynamic voter set",
		"controller.quorum.voters=1":                                                         `f:5: controller.quorum.voters=1: "1" is not id@host:port`,
		"controller.quorum.voters=1@a:0":                                                     `f:5: controller.quorum.voters=1@a:0: "1@a:0" is not id@host:port`,
		"controller.quorum.voters=-1@a:1":                                                    `f:5: controller.quorum.voters=-1@a:1: "-1@a:1" is not id@host:port`,
		"controller.quorum.voters=1@a:1,1@b:1":                                               "f:5: controller.quorum.voters=1@a:1,1@b:1: voter 1 is given twice",
		"controller.quorum.bootstrap.servers=a":                                              `f:7: controller.quorum.bootstrap.servers=a: "a" is not host:port`,
		"log.dirs=":                                                                          "f: log.dirs: is required: a default below /tmp would not outlive the machine's next start",
		"log.dirs=/a,/b,/a/":                                                                 "f:6: log.dirs=/a,/b,/a/: /a/ is given twice",
		"controller.quorum.election.timeout.ms=0":                                            "f:7: controller.quorum.election.timeout.ms=0: want a number from 1 to 2147483647",
		"controller.quorum.fetch.timeout.ms=1.5":                                             "f:7: controller.quorum.fetch.timeout.ms=1.5: want a number from 1 to 2147483647",
		"controller.quorum.append.linger.ms=-1":                                              "f:7: controller.quorum.append.linger.ms=-1: want a number from 0 to 2147483647",
		"controller.quorum.request.timeout.ms=99999999999999999999":                          "f:7: controller.quorum.request.timeout.ms=99999999999999999999: want a number from 1 to 2147483647",
		"metadata.log.segment.bytes=8388607":                                                 "f:7: metadata.log.segment.bytes=8388607: want a number from 8388608 to 2147483647",
		"metadata.max.retention.ms=-2":                                                       "f:7: metadata.max.retention.ms=-2: want a number from -1 to 9223372036854",
		"metadata.log.max.record.bytes.between.snapshots=0":                                  "f:7: metadata.log.max.record.bytes.between.snapshots=0: want a number from 1 to 9223372036854775807",
		"ssl.client.auth=maybe":                                                              "f:7: ssl.client.auth=maybe: want none, requested or required",
		"ssl.keystore.location=/k":                                                           "f: ssl.keystore.type: only PEM is supported (Kafka's default is JKS)",
		"ssl.truststore.type=PKCS12":                                                         "f:7: ssl.truststore.type=PKCS12: only PEM is supported (Kafka's default is JKS)",
		"ssl.key.password=hunter2":                                                           "f:7: ssl.key.password=(hidden): encrypted keys are not supported: a PEM file has no password",
		"max.connections=0":                                                                  "f:7: max.connections=0: want a number from 1 to 2147483647",
		"ssl.endpoint.identification.algorithm=none":                                         "f:7: ssl.endpoint.identification.algorithm=none: want https, or nothing, with which certificates of others need not be of their host",
		"ssl.principal.mapping.rules=RULE:^CN=(.*)$/x":                                       "f:7: ssl.principal.mapping.rules=RULE:^CN=(.*)$/x: only DEFAULT is supported: a principal is the distinguished name of the certificate",
		"ssl.keystore.type=PEM\nssl.keystore.key=k":                                          "f: ssl.keystore.key: and ssl.keystore.certificate.chain are given together, or neither",
		"ssl.truststore.type=PEM\nssl.truststore.location=/t\nssl.truststore.certificates=c": "f:8: ssl.truststore.location=/t: a file is given, and its content too: want one of them",
		"authorizer.class.name=x":                                                            "f:7: authorizer.class.name=x: only org.apache.kafka.metadata.authorizer.StandardAuthorizer is supported",
		"authorizer.class.name=" + standardAuthorizer:                                        "f: super.users: is required with an authorizer: it knows no other rules, and not even the nodes could talk to each other",
		"super.users=User:CN=x":                                                              "f:7: super.users=User:CN=x: all are User:ANONYMOUS as long as the listener is not SSL with ssl.client.auth required, so the nodes could not talk to each other",
		"super.users=CN=x":                                                                   `f:7: super.users=CN=x: "CN=x" is not User:name (separated by semicolons)`,
		"quorate.metrics.listener=9990":                                                      `f:7: quorate.metrics.listener=9990: "9990" is not host:port`,
		"x=\\u12":                                                                            `f:7: "\\u12" is not a \u with four hexadecimal digits`,
	} {
		_, err := Parse("f", []byte(with(line)))
		assert.EqualError(t, err, want, "%s", line)
	}
}

// What a broker has, and a node of a dynamic voter set, which only format uses so far.
func TestOtherNodes(t *testing.T) {
	c, err := Parse("f", []byte(with("process.roles=broker\nnode.id=4\nlisteners=PLAINTEXT://127.0.0.1:9092")))
	require.NoError(t, err)
	assert.True(t, c.Broker && !c.Controller && !c.IsVoter())
	assert.Equal(t, []Listener{{"PLAINTEXT", Plaintext, "127.0.0.1:9092"}}, c.Listeners)
	assert.Equal(t, Listener{"CONTROLLER", Plaintext, ""}, c.ControllerListener())
	c, err = Parse("f", []byte(with("process.roles=broker,controller\nlisteners=B://127.0.0.1:9092,CONTROLLER://127.0.0.1:9091")))
	require.NoError(t, err)
	assert.True(t, c.Broker && c.Controller && c.IsVoter())
	assert.Equal(t, Listener{"CONTROLLER", Plaintext, "127.0.0.1:9091"}, c.ControllerListener())
	c, err = Parse("f", []byte(with("controller.quorum.voters=\ncontroller.quorum.bootstrap.servers=a:1")))
	require.NoError(t, err)
	assert.Empty(t, c.Voters)
	assert.Equal(t, []string{"a:1"}, c.Bootstrap)
	assert.False(t, c.IsVoter())
}

// with is minimal with other lines, each in place of that of the same key or after all.
func with(text string) string {
	lines := strings.Split(strings.TrimSpace(minimal), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		key, _, _ := strings.Cut(line, "=")
		found := false
		for i := range lines {
			if strings.HasPrefix(lines[i], key+"=") {
				lines[i], found = line, true
			}
		}
		if !found {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// All that is wrong is said at once.
func TestSeveralErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"listeners=bar\ncontroller.quorum.voters=1@127.0.0.1:0,2@x":                         {"f:4: listeners=", "f:5: controller.quorum.voters="},
		"node.id=abc\nprocess.roles=foo\nlisteners=bar\nlog.dirs=":                          {"f:1: node.id=", "f:2: process.roles=", "f:4: listeners=", "f: log.dirs: "},
		"controller.listener.names=\nlisteners=bar\ncontroller.quorum.voters=2@127.0.0.1:1": {"f: controller.listener.names: ", "f:4: listeners=", "f:5: controller.quorum.voters="},
	} {
		_, err := Parse("f", []byte(with(text)))
		require.Error(t, err)
		lines := strings.Split(err.Error(), "\n")
		require.GreaterOrEqual(t, len(lines), len(want), "%s", err)
		for _, w := range want {
			require.Contains(t, err.Error(), w)
		}
	}
	_, err := Parse("f", []byte(with("node.id=x\nlog.dirs=\nmetadata.log.segment.ms=y")))
	require.EqualError(t, err, "f:1: node.id=x: want a number from 0 to 2147483647\n"+
		"f: log.dirs: is required: a default below /tmp would not outlive the machine's next start\n"+
		"f:7: metadata.log.segment.ms=y: want a number from 1 to 9223372036854")
}

func TestWarnings(t *testing.T) {
	c, err := Parse("f", []byte(minimal+`
num.network.threads=3
node.id=2
quorate.metrics.listener=0.0.0.0:9990
controller.quorum.election.timeout=5
`))
	require.NoError(t, err)
	assert.Equal(t, int32(2), c.NodeID, "the last counts, as in Java")
	assert.Equal(t, []string{
		"f:9: node.id is also on line 1, which does not count",
		"f:10: quorate.metrics.listener=0.0.0.0:9990 is reached from other machines, and asks nobody who he is",
		"f:8: num.network.threads is not a key that kraftd knows, and has no effect",
		"f:11: controller.quorum.election.timeout is not a key that kraftd knows, and has no effect",
	}, c.Warnings)
	for addr, warns := range map[string]bool{"127.0.0.1:1": false, "localhost:1": false, "[::1]:1": false, ":1": true, "0.0.0.0:1": true, "10.0.0.1:1": true, "h:1": true} {
		c, err := Parse("f", []byte(with("listeners=CONTROLLER://"+addr)))
		require.NoError(t, err)
		require.Equal(t, warns, len(c.Warnings) == 1, addr)
	}
}

func TestLoad(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.properties"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "none.properties")
	name := filepath.Join(t.TempDir(), "a.properties")
	require.NoError(t, os.WriteFile(name, []byte(minimal), 0o600))
	c, err := Load(name)
	require.NoError(t, err)
	require.Equal(t, name, c.File)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(with("controller.quorum.voters=1@a:1,@b:2\nlisteners=CONTROLLER://[::1]:1,B://\nlog.dirs=,a,")))
	f.Add([]byte(with("listener.security.protocol.map=CONTROLLER:SSL\nssl.keystore.type=PEM\nssl.keystore.location=k\nsuper.users=User:ANONYMOUS;b")))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse("f", b)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f:"), err)
			return
		}
		require.NotEmpty(t, c.Voters)
		require.NotEmpty(t, c.MetadataLogDir)
		require.NotEmpty(t, c.ControllerListener().Addr)
		require.Positive(t, c.Quorum.ElectionTimeout)
	})
}

func TestLoadClient(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.properties")
	load := func(content string) (*Client, error) {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		return LoadClient(file)
	}
	c, err := load("")
	require.NoError(t, err)
	require.Equal(t, &Client{Protocol: Plaintext, SSL: SSL{ClientAuth: "none"}}, c)
	c, err = load("security.protocol=ssl\nssl.keystore.type=PEM\nssl.keystore.key=k\nssl.keystore.certificate.chain=c\nssl.truststore.type=PEM\nssl.truststore.certificates=a\nclient.id=x\n")
	require.NoError(t, err)
	require.Equal(t, &Client{Protocol: TLS, SSL: SSL{Key: "k", Chain: "c", Authorities: "a", ClientAuth: "none"}}, c)
	for content, want := range map[string]string{
		"security.protocol=SASL_SSL": file + ":1: security.protocol=SASL_SSL: want PLAINTEXT or SSL (SASL is not supported)",
		"ssl.truststore.location=/t": file + ": ssl.truststore.type: only PEM is supported (Kafka's default is JKS)",
		"a=\\u00":                    file + ":1: ",
	} {
		_, err := load(content)
		require.ErrorContains(t, err, want)
	}
	_, err = LoadClient(file + "-missing")
	require.ErrorIs(t, err, os.ErrNotExist)
}
