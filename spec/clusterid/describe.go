package clusterid

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
)

// text lists the records of a log; those of another cluster than k have its letter.
func (l *Log) text(k int, start uint8) string {
	var out []string
	for i, r := range l[:l.end()] {
		t := kindNames[r.Kind()] + fmt.Sprint(r.Epoch())
		if r.ID() != NoID {
			t += "(" + r.ID().String() + ")"
		}
		if int(r.Origin()) != k+1 {
			t = clusterName(int(r.Origin())-1) + ":" + t
		}
		out = append(out, t)
		if start > 0 && i == int(start)-1 {
			out = append(out, "|")
		}
	}
	return "[" + strings.Join(out, " ") + "]"
}

func (m Meta) text() string {
	if !m.usable() {
		return formNames[m.Form]
	}
	return fmt.Sprintf("%s(%s, dir %d)", formNames[m.Form], m.ID, m.Dir)
}

// Describe implements concern.Spec.
func (m *machine) Describe(s *State) []checker.Field {
	var fields []checker.Field
	for i := range m.model.Nodes {
		n := &s.N[i]
		add := func(path, value string, show bool) {
			if show {
				fields = append(fields, checker.Field{Path: nodeName(i) + "." + path, Value: value})
			}
		}
		add("role", n.Role.String(), true)
		add("stage", n.Stage.String(), true)
		add("clusterId", n.Mem.String(), true)
		add("writing", n.Target.String(), n.Stage == Writing)
		for d, name := range []string{"metadataDirectory", "dataDirectory"} {
			text := n.Meta[d].text()
			if n.Disk[d] != n.Meta[d] {
				text += ", not flushed, before " + n.Disk[d].text()
			}
			if n.Offline>>d&1 == 1 {
				text += ", offline"
			}
			add(name, text, true)
		}
		k := max(int(n.Leader)-1, 0)
		add("log", n.Log.text(k, n.LogStart), true)
		add("snapshotId", n.SnapID.String(), n.LogStart > 0)
		add("highWatermark", fmt.Sprint(n.HighWatermark), n.Leader != 0)
		add("fetchesFrom", clusterName(k), n.Leader != 0)
		add("zeroCheckpoint", "id "+n.ZeroID.String(), n.Zero == 1)
		add("registered", "yes", n.In == 1)
		add("voter", "yes", n.Voter == 1)
		add("stands", "yes", n.Stands == 1)
		add("rejected", "yes", n.Rejected == 1)
		add("lostItsDisk", "yes", n.Lost == 1)
	}
	for k := range m.model.clusters() {
		c := &s.K[k]
		at := "cluster " + clusterName(k) + "."
		leader := "of its own"
		switch {
		case c.Leader == Nobody:
			leader = "nobody"
		case c.Leader != External:
			leader = nodeName(int(c.Leader) - 1)
		}
		fields = append(fields,
			checker.Field{Path: at + "log", Value: c.Log.text(k, c.Start)},
			checker.Field{Path: at + "leader", Value: fmt.Sprintf("%s, epoch %d", leader, c.Epoch)},
			checker.Field{Path: at + "highWatermark", Value: fmt.Sprint(c.HighWatermark)})
		if c.Start > 0 {
			fields = append(fields, checker.Field{Path: at + "snapshotId", Value: c.SnapID.String()})
		}
	}
	return fields
}

// NodeView and ClusterView are what a predicate of find sees.
type NodeView struct {
	ID         string   `expr:"id"`
	Role       string   `expr:"role"`
	Stage      string   `expr:"stage"`
	Mem        string   `expr:"clusterId"`
	Dirs       []string `expr:"directories"`
	Log        string   `expr:"log"`
	Registered bool     `expr:"registered"`
	Voter      bool     `expr:"voter"`
	Rejected   bool     `expr:"rejected"`
}

// ClusterView is a cluster.
type ClusterView struct {
	ID    string `expr:"id"`
	Log   string `expr:"log"`
	Epoch int    `expr:"epoch"`
	HW    int    `expr:"hw"`
}

// Env implements concern.Spec.
func (m *machine) Env(s *State) map[string]any {
	var nodes []NodeView
	for i := range m.model.Nodes {
		n := &s.N[i]
		nodes = append(nodes, NodeView{
			ID: nodeName(i), Role: n.Role.String(), Stage: n.Stage.String(), Mem: n.Mem.String(), Dirs: []string{n.Meta[0].text(), n.Meta[1].text()},
			Log: n.Log.text(max(int(n.Leader)-1, 0), n.LogStart), Registered: n.In == 1, Voter: n.Voter == 1, Rejected: n.Rejected == 1,
		})
	}
	var clusters []ClusterView
	for k := range m.model.clusters() {
		c := &s.K[k]
		clusters = append(clusters, ClusterView{ID: clusterName(k), Log: c.Log.text(k, c.Start), Epoch: int(c.Epoch), HW: int(c.HighWatermark)})
	}
	return map[string]any{"nodes": nodes, "clusters": clusters}
}
