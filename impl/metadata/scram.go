package metadata

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"hash"
)

// ScramMechanism is a mechanism of SASL/SCRAM by its number (ScramMechanism.type).
type ScramMechanism int8

// The mechanisms.
const (
	ScramSHA256 ScramMechanism = 1
	ScramSHA512 ScramMechanism = 2
)

// MinScramIterations and MaxScramIterations bound what a credential may have. Kafka's
// formatter knows the least ones of both mechanisms (ScramMechanism.minIterations), and the
// most (ScramParser).
const (
	MinScramIterations = 4096
	MaxScramIterations = 16384
)

// ParseScramMechanism reads a name such as SCRAM-SHA-256.
func ParseScramMechanism(name string) (ScramMechanism, error) {
	for _, m := range []ScramMechanism{ScramSHA256, ScramSHA512} {
		if m.String() == name {
			return m, nil
		}
	}
	return 0, fmt.Errorf("%q is not SCRAM-SHA-256 or SCRAM-SHA-512", name)
}

// String is the name of the mechanism.
func (m ScramMechanism) String() string {
	switch m {
	case ScramSHA256:
		return "SCRAM-SHA-256"
	case ScramSHA512:
		return "SCRAM-SHA-512"
	}
	return fmt.Sprintf("mechanism %d", int8(m))
}

func (m ScramMechanism) hash() func() hash.Hash {
	if m == ScramSHA512 {
		return sha512.New
	}
	return sha256.New
}

// Size is that of its hash, in bytes.
func (m ScramMechanism) Size() int { return m.hash()().Size() }

// ScramCredential is a UserScramCredentialRecord: what lets a user log in, and does not
// tell his password.
type ScramCredential struct {
	Name       string
	Mechanism  ScramMechanism
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
}

// SaltPassword is Hi() of RFC 5802, section 2.2: PBKDF2 with HMAC. The password is taken as
// it is, as Kafka does, which does not normalise it (ScramFormatter).
func (m ScramMechanism) SaltPassword(password string, salt []byte, iterations int) ([]byte, error) {
	return pbkdf2.Key(m.hash(), password, salt, iterations, m.Size())
}

// Credential derives a credential from a salted password (RFC 5802, section 3).
func (m ScramMechanism) Credential(name string, salt, salted []byte, iterations int32) ScramCredential {
	mac := func(text string) []byte {
		h := hmac.New(m.hash(), salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := m.hash()()
	stored.Write(mac("Client Key"))
	return ScramCredential{Name: name, Mechanism: m, Salt: salt, StoredKey: stored.Sum(nil), ServerKey: mac("Server Key"), Iterations: iterations}
}

// Append appends the record with its frame.
func (c ScramCredential) Append(dst []byte) []byte {
	dst = AppendString(AppendFrame(dst, TypeScramCredential, 0), c.Name)
	dst = append(dst, byte(c.Mechanism))
	dst = appendBytes(appendBytes(appendBytes(dst, c.Salt), c.StoredKey), c.ServerKey)
	return append(binary.BigEndian.AppendUint32(dst, uint32(c.Iterations)), 0)
}

// String leaves the keys out, so that no message has them.
func (c ScramCredential) String() string {
	return fmt.Sprintf("%s of %q, %d iterations", c.Mechanism, c.Name, c.Iterations)
}

// CredentialOf reads user and mechanism, with which the body of a UserScramCredentialRecord
// begins, and which that of a RemoveUserScramCredentialRecord is.
func CredentialOf(body []byte) (name string, m ScramMechanism, err error) {
	d := decoder{b: body}
	name, m = d.string(), ScramMechanism(d.byte())
	return name, m, d.err
}
