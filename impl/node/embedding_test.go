package node_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/tlstest"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

func start(dir string, voters []node.Voter, machine node.Machine) (*node.Node, error) {
	secure, err := node.NewTLS(node.TLSConfig{
		Keystore: dir + "/node.pem", Truststore: dir + "/ca.pem", ClientAuth: node.ClientAuthRequired,
	})
	if err != nil {
		return nil, err
	}
	return node.Start(node.Config{
		ID: voters[0].ID, Dir: dir + "/data", ClusterID: "example", Voters: voters,
		Listen: voters[0].Addr, TLS: secure, // nil: plain text
		Machine:   machine,
		Snapshots: snapshot.Policy{MaxBytes: 16 << 20},
		Retention: snapshot.Retention{MaxBytes: 64 << 20, MaxMs: -1},
		Trace:     dir + "/node.ndjson",                                   // empty: none
		Core:      core.Config{ElectionTimeout: 1000, FetchTimeout: 2000}, // milliseconds
	})
}

// What docs/embedding.md shows is what is here, and works.
func TestEmbeddingDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/embedding.md")
	require.NoError(t, err)
	source, err := os.ReadFile("embedding_test.go")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```go\n")[1:]
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		require.Contains(t, string(source), code)
	}

	dir := t.TempDir()
	ca := tlstest.NewAuthority(t, "ca")
	key, chain := ca.Issue("node", "127.0.0.1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node.pem"), []byte(key+chain), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.pem"), []byte(ca.PEM), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	w := new(words)
	n, err := start(dir, []node.Voter{{ID: 1, Addr: l.Addr().String()}}, w)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	record := []byte("hello")
	for {
		offset, epoch, err := n.Propose(ctx, [][]byte{record})
		if errors.Is(err, node.ErrNotLeader) && !errors.Is(err, node.ErrUnknown) {
			time.Sleep(time.Millisecond)
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 1, offset)
		require.EqualValues(t, 1, epoch)
		break
	}
	_, err = n.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"hello"}, w.said)
	require.NoError(t, n.Close())
	require.FileExists(t, filepath.Join(dir, "node.ndjson"))
}
