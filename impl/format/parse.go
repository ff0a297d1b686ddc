package format

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
)

// ParseVoters reads --initial-controllers: id@host:port:directory, separated by commas, and
// sorts them by id. name is that of the controller listener.
func ParseVoters(s, name string) ([]log.Voter, error) {
	var voters []log.Voter
	for item := range strings.SplitSeq(s, ",") {
		v, err := parseVoter(strings.TrimSpace(item), name)
		if err != nil {
			return nil, fmt.Errorf("%q: want id@host:port:directory, separated by commas: %w", item, err)
		}
		for _, other := range voters {
			if other.ID == v.ID || other.Directory == v.Directory {
				return nil, fmt.Errorf("%q: the id or the directory is given twice", item)
			}
		}
		voters = append(voters, v)
	}
	slices.SortFunc(voters, func(a, b log.Voter) int { return cmp.Compare(a.ID, b.ID) }) // as Kafka writes them
	return voters, nil
}

func parseVoter(item, name string) (v log.Voter, err error) {
	number, rest, _ := strings.Cut(item, "@")
	id, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return v, fmt.Errorf("%q is not an id", number)
	}
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 {
		return v, errors.New("there is no directory")
	}
	e, err := ParseEndpoint(name, rest[:colon])
	if err != nil {
		return v, err
	}
	directory, err := metaprops.ParseDirectoryID(rest[colon+1:])
	if err != nil {
		return v, fmt.Errorf("directory %w", err)
	}
	return log.Voter{ID: int32(id), Directory: directory, Endpoints: []log.VoterEndpoint{e}, MaxVersion: 1}, nil
}

// ParseEndpoint reads host:port, where others reach a listener.
func ParseEndpoint(name, addr string) (log.VoterEndpoint, error) {
	host, number, err := net.SplitHostPort(addr)
	port, err2 := strconv.ParseUint(number, 10, 16)
	if errors.Join(err, err2) != nil || host == "" || port == 0 {
		return log.VoterEndpoint{}, fmt.Errorf("%q is not host:port", addr)
	}
	return log.VoterEndpoint{Name: name, Host: host, Port: uint16(port)}, nil
}

// ParseFeature reads --feature: name=level.
func ParseFeature(s string) (name string, level int16, err error) {
	name, number, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if name = strings.TrimSpace(name); !ok || err != nil || name == "" || n < math.MinInt16 || n > math.MaxInt16 {
		return "", 0, fmt.Errorf("%q is not name=level", s)
	}
	return name, int16(n), nil
}

// Keys of a credential.
const (
	keyName       = "name"
	keyPassword   = "password"
	keySalted     = "saltedpassword"
	keySalt       = "salt"
	keyIterations = "iterations"
)

// ParseCredential reads --add-scram, such as
// SCRAM-SHA-256=[name=alice,password=secret,iterations=8192], with a salt of its own or one
// that is drawn, or with salt and saltedpassword, both in base64 (ScramParser). A value may
// stand in double quotes, and cannot have a comma. Errors tell no password.
func ParseCredential(s string) (metadata.ScramCredential, error) {
	c, err := parseCredential(s)
	if err != nil {
		name, _, _ := strings.Cut(s, "=")
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func parseCredential(s string) (c metadata.ScramCredential, err error) {
	name, list, _ := strings.Cut(s, "=")
	if c.Mechanism, err = metadata.ParseScramMechanism(name); err != nil {
		return c, err
	}
	list, open := strings.CutPrefix(strings.TrimSpace(list), "[")
	list, closed := strings.CutSuffix(list, "]")
	if !open || !closed {
		return c, errors.New("want MECHANISM=[key=value,…]")
	}
	values := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(item, "=")
		if key = strings.TrimSpace(key); !ok || !slices.Contains([]string{keyName, keyPassword, keySalted, keySalt, keyIterations}, key) {
			return c, errors.New("want name=, password= or saltedpassword=, salt=, iterations=, separated by commas, and no comma in a value")
		}
		if _, twice := values[key]; twice {
			return c, fmt.Errorf("%s is given twice", key)
		}
		values[key] = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), `"`), `"`)
	}
	c.Iterations = metadata.MinScramIterations
	if number, ok := values[keyIterations]; ok {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < metadata.MinScramIterations || n > metadata.MaxScramIterations {
			return c, fmt.Errorf("iterations=%s: want %d to %d", number, metadata.MinScramIterations, metadata.MaxScramIterations)
		}
		c.Iterations = int32(n)
	}
	switch name := values[keyName]; {
	case name == "":
		return c, errors.New("name is required")
	case !utf8.ValidString(name):
		return c, errors.New("name is not UTF-8")
	}
	return salted(c.Mechanism, c.Iterations, values)
}

// salted makes a credential from a password, or from one that is salted.
func salted(m metadata.ScramMechanism, iterations int32, values map[string]string) (c metadata.ScramCredential, err error) {
	password, plain := values[keyPassword]
	text, given := values[keySalted]
	encoded, hasSalt := values[keySalt]
	salt := []byte(rand.Text())
	if hasSalt {
		if salt, err = base64.StdEncoding.DecodeString(encoded); err != nil || len(salt) == 0 {
			return c, errors.New("salt is not in base64")
		}
	}
	switch {
	case plain == given:
		return c, errors.New("want one of password and saltedpassword")
	case given && !hasSalt:
		return c, errors.New("saltedpassword needs the salt that it was made with")
	case plain && password == "":
		return c, errors.New("password is empty")
	}
	var key []byte
	if given {
		if key, err = base64.StdEncoding.DecodeString(text); err != nil || len(key) == 0 {
			return c, errors.New("saltedpassword is not in base64")
		}
	} else if key, err = m.SaltPassword(password, salt, int(iterations)); err != nil {
		return c, err
	}
	return m.Credential(values[keyName], salt, key, iterations), nil
}
