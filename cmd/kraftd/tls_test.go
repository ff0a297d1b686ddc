package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/node/tlstest"
	"github.com/stretchr/testify/require"
)

// A node of TLS is described to who may ask, and to nobody else. It takes new
// certificates while it runs.
func TestQuorumTLS(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
		return file
	}
	// inline is PEM as it stands in a properties file.
	inline := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\\n") }
	first, second := tlstest.NewAuthority(t, "first"), tlstest.NewAuthority(t, "second")
	stores := func(a *tlstest.Authority) {
		key, chain := a.Issue("node", "127.0.0.1")
		write("node.pem", key+chain)
		write("ca.pem", a.PEM)
	}
	client := func(a *tlstest.Authority, name string) string {
		key, chain := a.Issue(name, "127.0.0.1")
		return write(name+".properties", fmt.Sprintf("security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.key=%s\nssl.keystore.certificate.chain=%s\n"+
			"ssl.truststore.type=PEM\nssl.truststore.certificates=%s\n", inline(key), inline(chain), inline(a.PEM)))
	}
	stores(first)
	file := write("node.properties", fmt.Sprintf("node.id=1\nprocess.roles=controller\ncontroller.listener.names=CONTROLLER\n"+
		"listeners=CONTROLLER://%s\nlistener.security.protocol.map=CONTROLLER:SSL\ncontroller.quorum.voters=1@%[1]s\nlog.dirs=%s/data\n"+
		"ssl.keystore.type=PEM\nssl.keystore.location=%[2]s/node.pem\nssl.truststore.type=PEM\nssl.truststore.location=%[2]s/ca.pem\n"+
		"ssl.client.auth=required\nsuper.users=User:CN=node,O=Quorate;User:CN=admin,O=Quorate\n", addr, dir))
	code, _, errs := kraftd("format", "-config", file, "-cluster-id", "secret")
	require.Equal(t, 0, code, errs)
	p := startProcess(t, "start", "-config", file)
	describe := func(args ...string) (int, string, string) {
		return kraftd(append([]string{"quorum", "describe", "-status", "-bootstrap-controller", addr, "-timeout", "10s"}, args...)...)
	}
	admin := client(first, "admin")
	require.Eventually(t, func() bool {
		code, out, _ := describe("-command-config", admin)
		return code == 0 && strings.Contains(out, "ClusterId:              secret")
	}, time.Minute, 20*time.Millisecond)
	code, _, errs = describe("-command-config", client(first, "stranger"))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "answers with error 31")
	code, _, errs = describe()
	require.Equal(t, 1, code)
	require.Contains(t, errs, "does not answer ApiVersions")
	code, _, errs = describe("-command-config", client(second, "other"))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "cannot be reached by TLS: tls: failed to verify certificate")

	stores(second)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	code, _, errs = describe("-command-config", client(second, "admin"))
	require.Equal(t, 0, code, errs)
	code, _, errs = describe("-command-config", write("bad.properties", "security.protocol=SASL_SSL\n"))
	require.NotEqual(t, 0, code)
	require.Contains(t, errs, "SASL is not supported")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait())
	require.Contains(t, p.stderr.String(), `msg="TLS: new certificate" subject="CN=node,O=Quorate"`)
	require.Contains(t, p.stderr.String(), "it speaks plain text")
}
