package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// TLSConfig says where the keys and certificates of TLS are: in files, or here, all in
// PEM form. Kafka's names are in brackets.
type TLSConfig struct {
	// Keystore is a file with the private key and the certificates of this node
	// (ssl.keystore.location). Key (ssl.keystore.key) and Chain
	// (ssl.keystore.certificate.chain) are used if there is no such file. A client may do
	// without any.
	Keystore   string
	Key, Chain string
	// Truststore is a file with the authorities that are trusted (ssl.truststore.location).
	// Authorities (ssl.truststore.certificates) are used if there is no such file; with
	// neither, those of the operating system are.
	Truststore  string
	Authorities string
	// ClientAuth is what clients are asked for (ssl.client.auth).
	ClientAuth ClientAuth
	// AnyHost: the certificate of whom we connect to need not be one of its host
	// (ssl.endpoint.identification.algorithm is empty).
	AnyHost bool
}

// ClientAuth says whether clients must have a certificate.
type ClientAuth uint8

// What clients are asked for.
const (
	ClientAuthNone ClientAuth = iota
	ClientAuthRequested
	ClientAuthRequired
)

// TLS makes connections of TLS, with the files as they are when a handshake begins. It is
// safe for concurrent use.
type TLS struct {
	cfg TLSConfig

	mu    sync.Mutex
	files []os.FileInfo // as they were when they were read; guarded by mu
	keys  keys          // guarded by mu
	err   string        // of the last attempt to read them again; guarded by mu
}

// keys is what has been read.
type keys struct {
	certificate *tls.Certificate // nil: none
	roots       *x509.CertPool   // nil: those of the operating system
	server      *tls.Config
}

// NewTLS reads keys and certificates.
func NewTLS(cfg TLSConfig) (*TLS, error) {
	t := &TLS{cfg: cfg}
	if err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the files again, whether or not they have changed. After an error what
// was read before stays in use.
func (t *TLS) Reload() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.load()
}

// now are the keys for a handshake that begins. Files that have changed are read again;
// while they cannot be used, what was read before is.
func (t *TLS) now() keys {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed() {
		switch err := t.load(); {
		case err == nil:
			t.err = ""
		case err.Error() != t.err:
			t.err = err.Error()
			slog.Error("TLS: the new files cannot be used, the old ones stay in use", "error", err)
		}
	}
	return t.keys
}

func (t *TLS) changed() bool {
	files, err := t.stat()
	return err == nil && !slices.EqualFunc(files, t.files, func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
}

func (t *TLS) stat() (files []os.FileInfo, err error) {
	for _, name := range []string{t.cfg.Keystore, t.cfg.Truststore} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, info)
	}
	return files, nil
}

// load reads everything. The caller holds mu, or is the only one.
func (t *TLS) load() error {
	files, err := t.stat() // before they are read: a change after it is one
	if err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	var k keys
	key, chain := []byte(t.cfg.Key), []byte(t.cfg.Chain)
	if t.cfg.Keystore != "" {
		if chain, err = os.ReadFile(t.cfg.Keystore); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		key = chain
	}
	if len(key)+len(chain) > 0 {
		if k.certificate, err = keyPair(key, chain); err != nil {
			return fmt.Errorf("TLS: key and certificates%s: %w", in(t.cfg.Keystore), err)
		}
	}
	authorities := []byte(t.cfg.Authorities)
	if t.cfg.Truststore != "" {
		if authorities, err = os.ReadFile(t.cfg.Truststore); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
	}
	if len(authorities) > 0 {
		if k.roots, err = pool(authorities); err != nil {
			return fmt.Errorf("TLS: trusted authorities%s: %w", in(t.cfg.Truststore), err)
		}
	}
	k.server = t.server(k)
	if c := k.certificate; c != nil && t.keys.server != nil {
		slog.Info("TLS: new certificate", "subject", distinguishedName(c.Leaf.RawSubject), "until", c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	t.files, t.keys = files, k
	return nil
}

func in(file string) string {
	if file == "" {
		return ""
	}
	return " in " + file
}

var clientAuth = [...]tls.ClientAuthType{
	ClientAuthNone: tls.NoClientCert, ClientAuthRequested: tls.VerifyClientCertIfGiven, ClientAuthRequired: tls.RequireAndVerifyClientCert,
}

// server is the configuration of a handshake that was accepted. Sessions are not resumed:
// who is no longer trusted must not come back by one.
func (t *TLS) server(k keys) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: clientAuth[t.cfg.ClientAuth], ClientCAs: k.roots, SessionTicketsDisabled: true,
	}
	if k.certificate != nil {
		c.Certificates = []tls.Certificate{*k.certificate}
	}
	return c
}

// Server is the configuration of connections that are accepted.
func (t *TLS) Server() (*tls.Config, error) {
	k := t.now()
	if k.certificate == nil {
		return nil, errors.New("TLS: a listener needs a key and a certificate")
	}
	return k.server, nil
}

// Client is the configuration of a connection to a host.
func (t *TLS) Client(host string) *tls.Config {
	k := t.now()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: k.roots, ServerName: host}
	if k.certificate != nil {
		// Also if the other end names authorities that did not issue it: then it says so.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return k.certificate, nil }
	}
	if t.cfg.AnyHost {
		c.InsecureSkipVerify = true // of all, so the chain is verified here
		c.VerifyConnection = func(s tls.ConnectionState) error {
			others := x509.NewCertPool()
			for _, cert := range s.PeerCertificates[1:] {
				others.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: k.roots, Intermediates: others})
			return err
		}
	}
	return c
}
