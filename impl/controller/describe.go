package controller

import (
	"context"
	"maps"
	"slices"

	"github.com/quorate/quorate/impl/node"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where a configuration comes from (DescribeConfigs response, ConfigSource).
const (
	fromTopic         kmsg.ConfigSource = 1
	fromBroker        kmsg.ConfigSource = 2
	fromDefaultBroker kmsg.ConfigSource = 3
	fromClientMetrics kmsg.ConfigSource = 7
	fromGroup         kmsg.ConfigSource = 8
)

var sources = map[int8]kmsg.ConfigSource{topicResource: fromTopic, brokerResource: fromBroker, metricsResource: fromClientMetrics, groupResource: fromGroup}

// describe answers DescribeConfigs with what is set: by one linearizable read for all
// resources of the request. (ConfigHelper.describeConfigs)
func (c *Controller) describe(ctx context.Context, q *kmsg.DescribeConfigsRequest) kmsg.Response {
	err := node.ErrNotLeader
	if quorum := c.quorum.Load(); quorum != nil && c.activeEpoch() > 0 {
		_, err = (*quorum).Read(ctx)
	}
	refused := refusalOf(err)
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, r := range q.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		of := resource{int8(r.ResourceType), r.ResourceName}
		wrong := refused
		if wrong == nil {
			wrong = checkResource(of)
		}
		if out.ErrorCode, out.ErrorMessage = wrong.fields(); wrong == nil {
			out.Configs = c.configs(of, q, r.ConfigNames)
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// configs are those of a resource: names, or all if names is nil. A broker has those of
// all brokers too, where it has none of its own.
func (c *Controller) configs(of resource, q *kmsg.DescribeConfigsRequest, names []string) (out []kmsg.DescribeConfigsResponseResourceConfig) {
	own, source := c.all(of), sources[of.kind]
	var shared map[string]string
	if of.kind == brokerResource && of.name == "" {
		source = fromDefaultBroker
	} else if of.kind == brokerResource {
		shared = c.all(resource{brokerResource, ""})
	}
	every := maps.Clone(shared)
	if every == nil {
		every = map[string]string{}
	}
	maps.Copy(every, own)
	for _, name := range slices.Sorted(maps.Keys(every)) {
		if names != nil && !slices.Contains(names, name) {
			continue
		}
		r := kmsg.NewDescribeConfigsResponseResourceConfig()
		r.Name, r.Source = name, fromDefaultBroker
		add := func(value string, from kmsg.ConfigSource) {
			s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			s.Name, s.Value, s.Source = name, kmsg.StringPtr(value), from
			r.ConfigSynonyms = append(r.ConfigSynonyms, s)
		}
		if v, ok := own[name]; ok {
			r.Source = source
			add(v, source)
		}
		if v, ok := shared[name]; ok {
			add(v, fromDefaultBroker)
		}
		r.Value = r.ConfigSynonyms[0].Value
		if !q.IncludeSynonyms {
			r.ConfigSynonyms = nil
		}
		rule, _ := ruleOf(of.kind, name)
		r.ConfigType = kmsg.ConfigType(rule.kind)
		out = append(out, r)
	}
	return out
}

// metadata answers with the nodes of the quorum and who leads it. There are no topics.
func (c *Controller) metadata(q *kmsg.MetadataRequest) kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID, resp.ControllerID = c.id.Load(), -1
	if quorum := c.quorum.Load(); quorum != nil {
		resp.ControllerID = int32((*quorum).Leader())
	}
	nodes := c.cfg.Nodes
	if c.cfg.Voters != nil {
		if voters, dynamic := c.cfg.Voters(); dynamic {
			nodes = voters
		}
	}
	for _, n := range nodes {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID = int32(n.ID)
		b.Host, b.Port = n.HostPort()
		resp.Brokers = append(resp.Brokers, b)
	}
	for _, t := range q.Topics {
		out := kmsg.NewMetadataResponseTopic()
		out.Topic, out.TopicID, out.ErrorCode = t.Topic, t.TopicID, unknownTopicOrPartition
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
