package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/quorate/quorate/impl/properties"
)

// SSL is how connections of protocol SSL are made. Files and values are in PEM form. Keys
// of the file may begin with listener.name.NAME. and then count for that listener only.
type SSL struct {
	// Keystore (ssl.keystore.location) is a file with the private key and the certificates
	// of this node. Instead Key (ssl.keystore.key) and Chain
	// (ssl.keystore.certificate.chain) are these themselves.
	Keystore, Key, Chain string
	// Truststore (ssl.truststore.location) is a file with the authorities that are trusted.
	// Instead Authorities (ssl.truststore.certificates) are these themselves.
	Truststore, Authorities string
	// ClientAuth is ssl.client.auth: none, requested or required.
	ClientAuth string
	// AnyHost: ssl.endpoint.identification.algorithm is empty, so certificates of others
	// need not be of their host.
	AnyHost bool
}

// Client is the configuration of a command that connects to nodes (the -command-config of
// Kafka's tools).
type Client struct {
	Protocol Protocol // security.protocol
	SSL      SSL
}

// LoadClient reads the configuration of a command. Keys that it does not know mean
// nothing.
func LoadClient(name string) (*Client, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	entries, err := properties.Parse(b)
	if err != nil {
		var bad *properties.Error
		errors.As(err, &bad)
		return nil, &Error{File: name, Line: bad.Line, Reason: bad.Reason}
	}
	r := &reader{file: name, values: map[string]properties.Entry{}, used: map[string]bool{}}
	for _, e := range entries {
		e.Value = strings.TrimSpace(e.Value)
		r.values[e.Key] = e
	}
	c := &Client{Protocol: Protocol(strings.ToUpper(r.text("security.protocol", string(Plaintext)))), SSL: r.ssl("")}
	if c.Protocol != Plaintext && c.Protocol != TLS {
		r.refuse("security.protocol", "want PLAINTEXT or SSL (SASL is not supported)")
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// ssl reads the keys of SSL, each with the prefix if it is there.
func (r *reader) ssl(prefix string) SSL {
	at := func(key string) string {
		if _, ok := r.values[prefix+key]; ok {
			r.used[key] = true
			return prefix + key
		}
		return key
	}
	text := func(key, otherwise string) string { return r.text(at(key), otherwise) }
	s := SSL{
		Keystore: text("ssl.keystore.location", ""), Key: text("ssl.keystore.key", ""), Chain: text("ssl.keystore.certificate.chain", ""),
		Truststore: text("ssl.truststore.location", ""), Authorities: text("ssl.truststore.certificates", ""),
		ClientAuth: strings.ToLower(text("ssl.client.auth", "none")),
	}
	switch s.ClientAuth {
	case "none", "requested", "required":
	default:
		r.refuse(at("ssl.client.auth"), "want none, requested or required")
	}
	for _, store := range []struct {
		kind, file, values string
	}{{"keystore", s.Keystore, s.Key + s.Chain}, {"truststore", s.Truststore, s.Authorities}} {
		key := at("ssl." + store.kind + ".type")
		if kind := r.text(key, "JKS"); kind != "PEM" && (store.file+store.values != "" || kind != "JKS") {
			r.refuse(key, "only PEM is supported (Kafka's default is JKS)")
		}
		if store.file != "" && store.values != "" {
			r.refuse(at("ssl."+store.kind+".location"), "a file is given, and its content too: want one of them")
		}
	}
	if (s.Key == "") != (s.Chain == "") {
		r.missing(at("ssl.keystore.key"), "and ssl.keystore.certificate.chain are given together, or neither")
	}
	for _, key := range []string{"ssl.key.password", "ssl.keystore.password", "ssl.truststore.password"} {
		if key = at(key); r.text(key, "") != "" {
			r.errs = append(r.errs, &Error{r.file, r.values[key].Line, key, "(hidden)", "encrypted keys are not supported: a PEM file has no password"})
		}
	}
	host := at("ssl.endpoint.identification.algorithm")
	if v, ok := r.values[host]; ok && v.Value == "" {
		r.used[host], s.AnyHost = true, true
	} else if !strings.EqualFold(r.text(host, "https"), "https") {
		r.refuse(host, "want https, or nothing, with which certificates of others need not be of their host")
	}
	if rules := at("ssl.principal.mapping.rules"); r.text(rules, "DEFAULT") != "DEFAULT" {
		r.refuse(rules, "only DEFAULT is supported: a principal is the distinguished name of the certificate")
	}
	return s
}

// standardAuthorizer is Kafka's. Here it is there if super.users is given, and knows no
// other rules.
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

// security reads who may connect, how, and what for.
func (r *reader) security(c *Config) {
	prefix := ""
	if len(c.ControllerListeners) > 0 {
		prefix = "listener.name." + strings.ToLower(c.ControllerListeners[0]) + "."
	}
	c.SSL = r.ssl(prefix)
	c.MaxConnections = int(r.integer("max.connections", 256, 1, math.MaxInt32))
	for _, user := range strings.Split(r.text("super.users", ""), ";") {
		user = strings.TrimSpace(user)
		kind, name, ok := strings.Cut(user, ":")
		switch {
		case user == "":
		case !ok || kind != "User" || name == "":
			r.refuse("super.users", "%q is not User:name (separated by semicolons)", user)
		default:
			c.SuperUsers = append(c.SuperUsers, user)
		}
	}
	if class := r.text("authorizer.class.name", ""); class != "" && class != standardAuthorizer {
		r.refuse("authorizer.class.name", "only %s is supported", standardAuthorizer)
	} else if class != "" && len(c.SuperUsers) == 0 {
		r.missing("super.users", "is required with an authorizer: it knows no other rules, and not even the nodes could talk to each other")
	}
	encrypted := false
	for _, l := range c.Listeners {
		if l.Protocol != TLS {
			continue
		}
		encrypted = true
		if c.SSL.Keystore == "" && c.SSL.Key == "" {
			r.missing("ssl.keystore.location", fmt.Sprintf("is required, since listener %s is SSL", l.Name))
		}
		if c.SSL.ClientAuth != "none" && c.SSL.Truststore == "" && c.SSL.Authorities == "" {
			r.missing("ssl.truststore.location", fmt.Sprintf("is required, since ssl.client.auth is %s", c.SSL.ClientAuth))
		}
	}
	known := encrypted && c.SSL.ClientAuth != "none"
	if len(c.SuperUsers) > 0 && !known && !slices.Contains(c.SuperUsers, "User:ANONYMOUS") {
		r.refuse("super.users", "all are User:ANONYMOUS as long as the listener is not SSL with ssl.client.auth required, so the nodes could not talk to each other")
	}
}
