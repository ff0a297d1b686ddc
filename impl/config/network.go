package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// network reads listeners and voters, with the rules of Kafka's KafkaConfig for the roles
// of the node.
func (r *reader) network(c *Config) {
	protocols := r.protocols()
	for _, name := range r.list("controller.listener.names") {
		c.ControllerListeners = append(c.ControllerListeners, strings.ToUpper(name))
	}
	if len(c.ControllerListeners) == 0 {
		r.missing("controller.listener.names", "is required, and must name one of listeners")
	}
	defer r.voters(c)
	if len(c.ControllerListeners) == 0 || r.failed("process.roles") { // on which depends which listeners there are
		for _, key := range []string{"listeners", "advertised.listeners"} {
			for _, item := range r.list(key) {
				if _, _, _, err := splitListener(item, key == "listeners"); err != nil {
					r.refuse(key, "%v", err)
				}
			}
		}
		return
	}
	c.Listeners = r.listeners("listeners", protocols, c)
	first := c.ControllerListeners[0]
	switch {
	case !c.Controller:
		protocol, known := r.protocol(protocols, first)
		if !known {
			r.refuse("controller.listener.names", "%s is not in listener.security.protocol.map", first)
		}
		c.quorumListener = Listener{Name: first, Protocol: protocol}
	case len(c.Listeners) == 0:
		if !r.failed("listeners") {
			r.missing("listeners", fmt.Sprintf("is required: want %s://host:port", first))
		}
		return
	case named(c.Listeners, first).Name == "":
		if !r.failed("listeners") {
			r.refuse("controller.listener.names", "%s, the listener of the quorum, is not one of listeners", first)
		}
		return
	}
	r.advertised(c, protocols)
	for _, l := range c.Listeners {
		if host, _, _ := splitAddr(l.Addr, true); l.Protocol == Plaintext && !loopback(host) {
			r.warn("%s:%d: listener %s is reached from other machines, and PLAINTEXT asks nobody who he is",
				r.file, r.values["listeners"].Line, l.Name)
		}
	}
}

// protocols is listener.security.protocol.map. A listener that it does not have is
// PLAINTEXT, or, if it is called after a protocol, has that. Kafka does so as long as
// the map is not given.
func (r *reader) protocols() map[string]Protocol {
	const key = "listener.security.protocol.map"
	all := map[string]Protocol{"PLAINTEXT": Plaintext, "SSL": TLS}
	items := r.list(key)
	for _, item := range items {
		name, protocol, ok := strings.Cut(item, ":")
		p := Protocol(strings.ToUpper(strings.TrimSpace(protocol)))
		switch {
		case !ok || name == "":
			r.refuse(key, "%q is not NAME:PROTOCOL", item)
		case p == "SASL_PLAINTEXT" || p == "SASL_SSL":
			r.refuse(key, "%s is not supported: want PLAINTEXT or SSL", p)
		case p != Plaintext && p != TLS:
			r.refuse(key, "%q is not a security protocol: want PLAINTEXT or SSL", strings.TrimSpace(protocol))
		}
		all[strings.ToUpper(strings.TrimSpace(name))] = p
	}
	return all
}

// protocol is that of a listener. known is false if the map is given, and does not have it.
func (r *reader) protocol(protocols map[string]Protocol, name string) (_ Protocol, known bool) {
	protocol, known := protocols[name]
	if mapped := r.values["listener.security.protocol.map"].Value != ""; !known && !mapped {
		protocol, known = Plaintext, !strings.HasPrefix(name, "SASL_")
	}
	return protocol, known
}

func (r *reader) listeners(key string, protocols map[string]Protocol, c *Config) (all []Listener) {
	for _, item := range r.list(key) {
		name, host, port, err := splitListener(item, key == "listeners")
		protocol, known := r.protocol(protocols, name)
		ofController := slices.Contains(c.ControllerListeners, name)
		switch {
		case err != nil:
			r.refuse(key, "%v", err)
			continue
		case !ofController && !c.Broker:
			r.refuse(key, "%s is not in controller.listener.names, and a controller has no others", name)
			continue
		case ofController && !c.Controller:
			r.refuse(key, "%s is in controller.listener.names, and a broker has none of those", name)
			continue
		case !known:
			r.refuse(key, "%s is not in listener.security.protocol.map", name)
			continue
		}
		for _, l := range all {
			h, p, _ := splitAddr(l.Addr, true)
			if l.Name == name {
				r.refuse(key, "%s is given twice", name)
			} else if key == "listeners" && p == port && port != 0 && (h == host || h == "" || host == "") {
				r.refuse(key, "%s and %s have the same port %d", l.Name, name, port)
			}
		}
		all = append(all, Listener{name, protocol, net.JoinHostPort(host, strconv.Itoa(int(port)))})
	}
	return all
}

// splitListener takes NAME://host:port apart.
func splitListener(item string, listen bool) (name, host string, port uint16, err error) {
	name, addr, ok := strings.Cut(item, "://")
	if host, port, err = splitAddr(addr, listen); !ok || name == "" || err != nil {
		return "", "", 0, fmt.Errorf("%q is not NAME://host:port", item)
	}
	return strings.ToUpper(name), host, port, nil
}

func (r *reader) advertised(c *Config, protocols map[string]Protocol) {
	const key = "advertised.listeners"
	c.Advertised = r.listeners(key, protocols, c)
	for _, l := range c.Advertised {
		host, _, _ := splitAddr(l.Addr, false)
		switch {
		case host == "" || net.ParseIP(host).IsUnspecified():
			r.refuse(key, "%s: nobody can connect to %q", l.Name, l.Addr)
		case named(c.Listeners, l.Name).Name == "":
			r.refuse(key, "%s is not one of listeners", l.Name)
		}
	}
	for _, l := range c.Listeners {
		if named(c.Advertised, l.Name).Name == "" {
			c.Advertised = append(c.Advertised, l)
		}
	}
}

func (r *reader) voters(c *Config) {
	const key, bootstrap = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
	for _, item := range r.list(bootstrap) {
		if _, _, err := splitAddr(item, false); err != nil {
			r.refuse(bootstrap, "%v", err)
		}
		c.Bootstrap = append(c.Bootstrap, item)
	}
	c.AutoJoin = r.boolean("controller.quorum.auto.join.enable")
	if c.AutoJoin && !c.Controller && !r.failed("process.roles") {
		r.refuse("controller.quorum.auto.join.enable", "only a controller can become a voter")
	}
	self := false
	for _, item := range r.list(key) {
		v, err := parseVoter(item)
		if err != nil {
			r.refuse(key, "%v", err)
			continue
		}
		for _, other := range c.Voters {
			if other.ID == v.ID {
				r.refuse(key, "voter %d is given twice", v.ID)
			}
		}
		self = self || v.ID == c.NodeID
		c.Voters = append(c.Voters, v)
	}
	switch {
	case r.failed(key) || r.failed(bootstrap):
	case len(c.Voters) == 0 && len(c.Bootstrap) == 0:
		r.missing(key, "is required: want id@host:port, separated by commas; or "+bootstrap+", for a dynamic voter set")
	case len(c.Voters) == 0 || r.failed("node.id") || r.failed("process.roles"):
	case c.Controller && !self:
		r.refuse(key, "node.id %d is not one of the voters, as a controller must be", c.NodeID)
	case !c.Controller && self:
		r.refuse(key, "node.id %d is one of the voters, as no broker may be", c.NodeID)
	}
}

func parseVoter(item string) (Voter, error) {
	id, addr, ok := strings.Cut(item, "@")
	n, err := strconv.ParseInt(id, 10, 32)
	if !ok || err != nil || n < 0 {
		return Voter{}, fmt.Errorf("%q is not id@host:port", item)
	}
	if _, _, err := splitAddr(addr, false); err != nil {
		return Voter{}, fmt.Errorf("%q is not id@host:port", item)
	}
	return Voter{int32(n), addr}, nil
}

// splitAddr takes host:port apart. Only to listen may the host be empty, for all
// interfaces, or the port 0, for any.
func splitAddr(addr string, listen bool) (host string, port uint16, err error) {
	host, p, err := net.SplitHostPort(addr)
	n, err2 := strconv.ParseUint(p, 10, 16)
	if errors.Join(err, err2) != nil || !listen && (host == "" || n == 0) {
		return "", 0, fmt.Errorf("%q is not host:port", addr)
	}
	return host, uint16(n), nil
}

// loopback says whether a host is for sure only reached from this machine.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func named(all []Listener, name string) Listener {
	for _, l := range all {
		if l.Name == name {
			return l
		}
	}
	return Listener{}
}
