package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Types of resources (ConfigResource.Type).
const (
	unknownResource int8 = 0
	topicResource   int8 = 2
	brokerResource  int8 = 4
	loggerResource  int8 = 8
	metricsResource int8 = 16
	groupResource   int8 = 32
)

// valueType is the type of a configuration (DescribeConfigs response, ConfigType).
type valueType int8

const (
	anyType     valueType = 0
	boolType    valueType = 1
	stringType  valueType = 2
	intType     valueType = 3
	longType    valueType = 5
	doubleType  valueType = 6
	listType    valueType = 7
	maxValue              = 32767 // bytes of a value (ConfigurationControlManager)
	maxName               = 249   // characters of a topic's name
	validInName           = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// rule is what a configuration may be.
type rule struct {
	kind valueType
	// least: of a number.
	least float64
	// among: values that a text or the elements of a list may have; nil: any.
	among []string
	// initial is what APPEND and SUBTRACT start from where nothing is set.
	initial string
}

// topicRules are the configurations of topics (TopicConfig, LogConfig); others are
// refused. Those of other resources are texts, but for lists.
var topicRules = map[string]rule{
	"cleanup.policy":                          {kind: listType, among: []string{"compact", "delete"}, initial: "delete"},
	"compression.gzip.level":                  {kind: intType, least: -1},
	"compression.lz4.level":                   {kind: intType, least: 1},
	"compression.type":                        {kind: stringType, among: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}},
	"compression.zstd.level":                  {kind: intType, least: -131072},
	"delete.retention.ms":                     {kind: longType},
	"file.delete.delay.ms":                    {kind: longType},
	"flush.messages":                          {kind: longType, least: 1},
	"flush.ms":                                {kind: longType},
	"follower.replication.throttled.replicas": {kind: listType},
	"index.interval.bytes":                    {kind: intType},
	"leader.replication.throttled.replicas":   {kind: listType},
	"local.retention.bytes":                   {kind: longType, least: -2},
	"local.retention.ms":                      {kind: longType, least: -2},
	"max.compaction.lag.ms":                   {kind: longType, least: 1},
	"max.message.bytes":                       {kind: intType},
	"message.timestamp.after.max.ms":          {kind: longType},
	"message.timestamp.before.max.ms":         {kind: longType},
	"message.timestamp.type":                  {kind: stringType, among: []string{"CreateTime", "LogAppendTime"}},
	"min.cleanable.dirty.ratio":               {kind: doubleType},
	"min.compaction.lag.ms":                   {kind: longType},
	"min.insync.replicas":                     {kind: intType, least: 1},
	"preallocate":                             {kind: boolType},
	"remote.copy.disable":                     {kind: boolType},
	"remote.log.delete.on.disable":            {kind: boolType},
	"remote.storage.enable":                   {kind: boolType},
	"retention.bytes":                         {kind: longType, least: -1},
	"retention.ms":                            {kind: longType, least: -1},
	"segment.bytes":                           {kind: intType, least: 14},
	"segment.index.bytes":                     {kind: intType, least: 4},
	"segment.jitter.ms":                       {kind: longType},
	"segment.ms":                              {kind: longType, least: 1},
	"unclean.leader.election.enable":          {kind: boolType},
}

// lists are the configurations of other resources that are lists.
var lists = map[int8][]string{
	brokerResource: {
		"advertised.listeners", "controller.listener.names", "early.start.listeners", "listeners", "log.cleanup.policy", "log.dirs",
		"metric.reporters", "process.roles", "sasl.enabled.mechanisms", "sasl.kerberos.principal.to.local.rules", "ssl.cipher.suites", "ssl.enabled.protocols",
	},
	metricsResource: {"match", "metrics"},
}

// ruleOf is the rule of a configuration; false: there is none of this name.
func ruleOf(kind int8, name string) (rule, bool) {
	if kind == topicResource {
		r, ok := topicRules[name]
		return r, ok
	}
	if slices.Contains(lists[kind], name) {
		return rule{kind: listType}, true
	}
	return rule{}, true
}

// check says what is wrong with a value; empty if nothing is.
func (r rule) check(value string) string {
	switch r.kind {
	case boolType:
		if !slices.Contains([]string{"true", "false"}, strings.ToLower(value)) {
			return "want true or false"
		}
	case intType, longType:
		bits := 64
		if r.kind == intType {
			bits = 32
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, bits)
		if err != nil {
			return fmt.Sprintf("want an integer of %d bits", bits)
		}
		if float64(n) < r.least {
			return fmt.Sprintf("want at least %.0f", r.least)
		}
	case doubleType:
		f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if inside := f >= 0 && f <= 1; err != nil || !inside { // NaN is not
			return "want a number from 0 to 1"
		}
	case listType, stringType:
		if r.among == nil {
			break
		}
		parts := []string{value}
		if r.kind == listType {
			parts = elements(value)
		}
		for _, p := range parts {
			if !slices.Contains(r.among, p) {
				return "want " + strings.Join(r.among, ", ")
			}
		}
	}
	return ""
}

// elements are those of a list.
func elements(value string) []string {
	var all []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
