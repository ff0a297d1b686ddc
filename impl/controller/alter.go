package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Operations of IncrementalAlterConfigs.
const (
	opSet      = 0
	opDelete   = 1
	opAppend   = 2
	opSubtract = 3
)

// change is an IncrementalAlterConfigs request under way.
type change struct {
	resources []kmsg.IncrementalAlterConfigsRequestResource
	validate  bool       // only
	refused   []*refusal // by resource, nil: it is done
	done      chan struct{}
}

// alter answers IncrementalAlterConfigs (ControllerApis.handleIncrementalAlterConfigs,
// ConfigurationControlManager.incrementalAlterConfigs). A resource changes as a whole or
// not at all, whatever becomes of the others.
func (c *Controller) alter(q *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	ch := &change{resources: q.Resources, validate: q.ValidateOnly, refused: make([]*refusal, len(q.Resources)), done: make(chan struct{})}
	c.submit(ch)
	<-ch.done
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for i, r := range q.Resources {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		out.ErrorCode, out.ErrorMessage = ch.refused[i].fields()
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// submit puts a change into the queue. Whoever finds nobody at work has all done that
// waits, in one batch, and what came meanwhile in the next.
func (c *Controller) submit(ch *change) {
	q := &c.queue
	q.mu.Lock()
	q.waiting = append(q.waiting, ch)
	begin := !q.busy
	q.busy = true
	q.mu.Unlock()
	if begin {
		go c.drain()
	}
}

// drain works on the queue until it is empty. Each batch ends, at the latest with the node
// or its leadership.
func (c *Controller) drain() {
	q := &c.queue
	for {
		q.mu.Lock()
		n := min(len(q.waiting), maxTogether)
		group := q.waiting[:n:n]
		q.waiting = q.waiting[n:]
		if n == 0 {
			q.busy, q.waiting = false, nil
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		c.commit(group)
		for _, ch := range group {
			close(ch.done)
		}
	}
}

// maxTogether is how many changes are put together at most.
const maxTogether = 500

// commit makes records of changes, and commits them. What they are made from is the
// state as this leader's epoch has it: records of earlier epochs are applied, and one
// batch follows the other. Should another have led in between, nothing is committed.
func (c *Controller) commit(group []*change) {
	ctx := context.Background()
	epoch, quorum := c.activeEpoch(), c.quorum.Load()
	w := writing{state: &c.state, changed: map[resource]map[string]*string{}}
	last := node.ErrNotLeader
	if epoch > 0 && quorum != nil {
		for _, ch := range group {
			for i := range ch.resources {
				ch.refused[i] = w.resource(ch, i)
			}
		}
		if last = nil; len(w.records) > 0 {
			c.writes(epoch)
			_, last = (*quorum).ProposeIn(ctx, epoch, w.records)
		} else {
			// Nothing to write is an answer of the state, which may be old news.
			_, last = (*quorum).Read(ctx)
		}
	}
	if errors.Is(last, node.ErrTooLarge) && len(group) > 1 {
		for i := range group {
			clear(group[i].refused)
			c.commit(group[i : i+1])
		}
		return
	}
	if refused := refusalOf(last); refused != nil {
		for _, ch := range group {
			for i := range ch.refused {
				if ch.refused[i] == nil {
					ch.refused[i] = refused
				}
			}
		}
	}
}

// writing is a batch that is being made.
type writing struct {
	*state
	records [][]byte
	changed map[resource]map[string]*string // by what is in records; nil: deleted
}

// value is what a configuration is after the records so far.
func (w *writing) value(r resource, name string) (string, bool) {
	if v, ok := w.changed[r][name]; ok {
		if v == nil {
			return "", false
		}
		return *v, true
	}
	return w.get(r, name)
}

// resource makes the records of one resource of a change, or none.
func (w *writing) resource(ch *change, i int) *refusal {
	q := &ch.resources[i]
	same := func(o kmsg.IncrementalAlterConfigsRequestResource) bool {
		return o.ResourceType == q.ResourceType && o.ResourceName == q.ResourceName
	}
	if slices.IndexFunc(ch.resources, same) != i || slices.ContainsFunc(ch.resources[i+1:], same) {
		return &refusal{invalidRequest, "Duplicate resource."}
	}
	r := resource{int8(q.ResourceType), q.ResourceName}
	if refused := checkResource(r); refused != nil {
		return refused
	}
	values := map[string]*string{}
	var names []string
	for _, cfg := range q.Configs {
		if _, twice := values[cfg.Name]; twice {
			return &refusal{invalidRequest, fmt.Sprintf("Error due to duplicate config keys: %s", cfg.Name)}
		}
		v, refused := w.operation(r, cfg)
		if refused != nil {
			return refused
		}
		values[cfg.Name] = v
		names = append(names, cfg.Name)
	}
	if ch.validate {
		return nil
	}
	for _, name := range names {
		old, had := w.value(r, name)
		v := values[name]
		// A broker's is written even if nothing changes (ConfigurationControlManager).
		if r.kind != brokerResource && (v == nil && !had || v != nil && had && *v == old) {
			continue
		}
		w.records = append(w.records, metadata.ConfigRecord{ResourceType: r.kind, ResourceName: r.name, Name: name, Value: v}.Append(nil))
		if w.changed[r] == nil {
			w.changed[r] = map[string]*string{}
		}
		w.changed[r][name] = v
	}
	return nil
}

// operation is what an operation makes of a configuration; nil: it is deleted.
func (w *writing) operation(r resource, cfg kmsg.IncrementalAlterConfigsRequestResourceConfig) (*string, *refusal) {
	if cfg.Name == "" {
		return nil, &refusal{invalidRequest, "A configuration without a name."}
	}
	rule, known := ruleOf(r.kind, cfg.Name)
	var v string
	switch cfg.Op {
	case opDelete:
		return nil, nil // also of what is not known: it may be there from another version
	case opSet, opAppend, opSubtract:
		if cfg.Value == nil {
			return nil, &refusal{invalidRequest, fmt.Sprintf("Null value not supported for : %s", cfg.Name)}
		}
		v = *cfg.Value
	default:
		return nil, &refusal{invalidRequest, fmt.Sprintf("Unknown operation type %d is not supported.", cfg.Op)}
	}
	if !known {
		return nil, &refusal{invalidConfig, "Unknown topic config name: " + cfg.Name}
	}
	if cfg.Op != opSet {
		if rule.kind != listType {
			return nil, &refusal{invalidConfig, fmt.Sprintf("Can't %s to key %s because its type is not LIST.", opNames[cfg.Op], cfg.Name)}
		}
		old, ok := w.value(r, cfg.Name)
		if !ok {
			old = rule.initial
		}
		list := elements(old)
		for _, e := range elements(v) {
			at := slices.Index(list, e)
			if cfg.Op == opAppend && at < 0 {
				list = append(list, e)
			} else if cfg.Op == opSubtract && at >= 0 {
				list = slices.Delete(list, at, at+1)
			}
		}
		v = strings.Join(list, ",")
	}
	if len(v) > maxValue {
		return nil, &refusal{invalidConfig, fmt.Sprintf("The configuration value of %s cannot be added because it exceeds the maximum value size of %d bytes.", cfg.Name, maxValue)}
	}
	if wrong := rule.check(v); wrong != "" {
		return nil, &refusal{invalidConfig, fmt.Sprintf("Invalid value %s for configuration %s: %s", v, cfg.Name, wrong)}
	}
	return &v, nil
}

var opNames = map[kmsg.IncrementalAlterConfigOp]string{opAppend: "APPEND", opSubtract: "SUBTRACT"}

// checkResource refuses what cannot be a resource (ControllerConfigurationValidator).
func checkResource(r resource) *refusal {
	switch r.kind {
	case brokerResource:
		if n, err := strconv.ParseInt(r.name, 10, 32); r.name != "" && (err != nil || n < 0) {
			return &refusal{invalidRequest, fmt.Sprintf("Broker id %q is not a number of at least 0.", r.name)}
		}
	case topicResource:
		switch {
		case r.name == "":
			return &refusal{invalidRequest, "Default topic resources are not allowed."}
		case r.name == "." || r.name == ".." || len(r.name) > maxName || strings.Trim(r.name, validInName) != "" || strings.ContainsFunc(r.name, notInName):
			return &refusal{invalidTopic, fmt.Sprintf("%q cannot be the name of a topic.", r.name)}
		}
	case metricsResource:
		if r.name == "" {
			return &refusal{invalidRequest, "Subscription name can't be empty"}
		}
	case groupResource:
		if r.name == "" {
			return &refusal{invalidRequest, "Default group resources are not allowed."}
		}
	default:
		return &refusal{invalidRequest, fmt.Sprintf("Unexpected resource type %d.", r.kind)}
	}
	return nil
}

func notInName(r rune) bool { return !strings.ContainsRune(validInName, r) }
