package node

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// pemBlock is a block of PEM. In a value of a properties file it may stand on one line,
// with spaces where lines end, which encoding/pem does not read and Kafka does
// (DefaultSslEngineFactory.PemParser).
var pemBlock = regexp.MustCompile(`-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END ([A-Z0-9 ]+)-----`)

type block struct {
	kind string
	der  []byte
}

func pemBlocks(b []byte) (all []block, err error) {
	for _, m := range pemBlock.FindAllSubmatch(b, -1) {
		kind := string(m[1])
		if kind != string(m[3]) {
			return nil, fmt.Errorf("a block begins as %s and ends as %s", kind, m[3])
		}
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(m[2])), ""))
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", kind, err)
		}
		all = append(all, block{kind, der})
	}
	return all, nil
}

// keyPair takes the private key out of one and the certificates out of the other.
func keyPair(key, chain []byte) (*tls.Certificate, error) {
	c := new(tls.Certificate)
	keys, err := pemBlocks(key)
	if err != nil {
		return nil, err
	}
	for _, b := range keys {
		if strings.HasSuffix(b.kind, "PRIVATE KEY") {
			if c.PrivateKey != nil {
				return nil, errors.New("more than one private key")
			}
			if c.PrivateKey, err = privateKey(b); err != nil {
				return nil, err
			}
		}
	}
	if c.PrivateKey == nil {
		return nil, errors.New("no private key in PEM form (one with a password is not supported)")
	}
	certificates, err := pemCertificates(chain)
	if err != nil {
		return nil, err
	}
	for _, cert := range certificates {
		c.Certificate = append(c.Certificate, cert.Raw)
	}
	c.Leaf = certificates[0]
	public, ok := c.Leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(c.PrivateKey.(crypto.Signer).Public()) {
		return nil, errors.New("the first certificate is not of the private key")
	}
	return c, nil
}

func privateKey(b block) (any, error) {
	var key any
	var err error
	switch b.kind {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(b.der)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(b.der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(b.der)
	default:
		return nil, fmt.Errorf("%s is not supported: want PRIVATE KEY (PKCS #8) without a password", b.kind)
	}
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	if _, ok := key.(crypto.Signer); !ok {
		return nil, fmt.Errorf("private key: one of %T cannot sign", key)
	}
	return key, nil
}

// pemCertificates are the certificates, of which there is at least one.
func pemCertificates(b []byte) (all []*x509.Certificate, err error) {
	blocks, err := pemBlocks(b)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.kind != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.der)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return all, nil
}

func pool(b []byte) (*x509.CertPool, error) {
	all, err := pemCertificates(b)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	for _, c := range all {
		p.AddCert(c)
	}
	return p, nil
}
