package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A node that has been let in registers with the active controller, with the cluster id that it
// knows now: a broker by BrokerRegistration, a controller by ControllerRegistration
// (BrokerLifecycleManager, ControllerRegistrationManager). Who was a voter when it started
// does not: nothing here asks who is registered.

// register registers until it is done. A broker gives up at the deadline.
func (d *discovery) register(deadline time.Time) error {
	var incarnation [16]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		return err
	}
	for last := ""; ; {
		if level := d.controllers.Version(); d.o.file.Controller && 0 < level && level < metadata.RegistersControllers {
			return nil // the log has no such record
		}
		q := d.registration(incarnation)
		code, err := d.registers(q)
		switch {
		case err == nil && code == 0:
			d.o.registered(d.node.ClusterID())
			d.log.Info("registered", "request", kmsg.NameForKey(q.Key()), "cluster", d.node.ClusterID())
			return nil
		case errors.Is(err, node.ErrNotServed):
			d.log.Warn("is not registered", "error", err)
			return nil
		case err == nil && code == int16(wire.InconsistentClusterID):
			return fmt.Errorf("%w: this node is of cluster %q, and the active controller answers INCONSISTENT_CLUSTER_ID", errLate, d.node.ClusterID())
		case err == nil:
			err = fmt.Errorf("the active controller answers with error %d", code)
		}
		if last != err.Error() {
			last = err.Error()
			d.log.Info("is not registered yet", "error", err)
		}
		select {
		case <-d.node.Done():
			return nil
		case <-time.After(registerAgain):
		}
		if d.o.file.Broker && !time.Now().Before(deadline) {
			return fmt.Errorf("%w: not registered: %w", errLate, err)
		}
	}
}

// registerAgain is how long to wait after a registration that was not taken.
const registerAgain = 100 * time.Millisecond

func (d *discovery) registers(q kmsg.Request) (int16, error) {
	if d.controllers.Version() == 0 {
		return 0, errors.New("the metadata.version is not known yet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := d.node.AskLeader(ctx, q)
	switch r := r.(type) {
	case *kmsg.BrokerRegistrationResponse:
		return r.ErrorCode, err
	case *kmsg.ControllerRegistrationResponse:
		return r.ErrorCode, err
	}
	return 0, err
}

// registration is what the node says of itself.
func (d *discovery) registration(incarnation [16]byte) kmsg.Request {
	c := d.o.file
	features := map[string][2]int16{metadata.VersionFeature: {int16(metadata.MinVersion), int16(metadata.MaxVersion)}}
	for _, name := range metadata.FeatureNames() {
		f, _ := metadata.FeatureOf(name)
		features[name] = [2]int16{0, f.Max()}
	}
	if c.Controller {
		features[metadata.KRaftVersionFeature] = [2]int16{0, wire.MaxKRaftVersion}
		q := kmsg.NewPtrControllerRegistrationRequest()
		q.ControllerID, q.IncarnationID = c.NodeID, incarnation
		for _, l := range c.Advertised {
			host, port := d.endpoint(l)
			q.Listeners = append(q.Listeners, kmsg.ControllerRegistrationRequestListener{Name: l.Name, Host: host, Port: port, SecurityProtocol: protocol(l)})
		}
		for name, r := range features {
			q.Features = append(q.Features, kmsg.ControllerRegistrationRequestFeature{Name: name, MinSupportedVersion: r[0], MaxSupportedVersion: r[1]})
		}
		return q
	}
	q := kmsg.NewPtrBrokerRegistrationRequest()
	q.BrokerID, q.ClusterID, q.IncarnationID, q.PreviousBrokerEpoch = c.NodeID, d.node.ClusterID(), incarnation, -1
	for _, l := range c.Advertised {
		host, port := d.endpoint(l)
		q.Listeners = append(q.Listeners, kmsg.BrokerRegistrationRequestListener{Name: l.Name, Host: host, Port: port, SecurityProtocol: protocol(l)})
	}
	for name, r := range features {
		q.Features = append(q.Features, kmsg.BrokerRegistrationRequestFeature{Name: name, MinSupportedVersion: r[0], MaxSupportedVersion: r[1]})
	}
	for _, dir := range d.o.dirs {
		q.LogDirs = append(q.LogDirs, dir.Directory)
	}
	return q
}

// endpoint is where a listener is reached.
func (d *discovery) endpoint(l config.Listener) (host string, port uint16) {
	addr := l.Addr
	if d.o.file.Controller && l.Name == d.o.node.ListenerName && d.o.node.Advertised == "" {
		addr = d.node.Addr().String()
	}
	host, p, _ := net.SplitHostPort(addr) // checked
	n, _ := strconv.ParseUint(p, 10, 16)
	return host, uint16(n)
}

// protocol is Kafka's number of a security protocol.
func protocol(l config.Listener) int16 {
	if l.Protocol == config.TLS {
		return 1
	}
	return 0
}
