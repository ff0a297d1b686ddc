package daemon

import (
	"log/slog"
	"os"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/node"
)

var clientAuth = map[string]node.ClientAuth{
	"none": node.ClientAuthNone, "requested": node.ClientAuthRequested, "required": node.ClientAuthRequired,
}

// TLS reads the keys and certificates that a configuration names.
func TLS(s config.SSL) (*node.TLS, error) {
	return node.NewTLS(node.TLSConfig{
		Keystore: s.Keystore, Key: s.Key, Chain: s.Chain, Truststore: s.Truststore, Authorities: s.Authorities,
		ClientAuth: clientAuth[s.ClientAuth], AnyHost: s.AnyHost,
	})
}

// reload reads keys and certificates again on each signal, until the channel is closed.
// Files that have changed are read without it too.
func reload(t *node.TLS, signals <-chan os.Signal, log *slog.Logger) {
	for range signals {
		if t == nil {
			log.Info("nothing to read again: the listener is not SSL")
		} else if err := t.Reload(); err != nil {
			log.Error("the new keys and certificates cannot be used, the old ones stay in use", "error", err)
		}
	}
}
