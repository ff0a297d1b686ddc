package composed

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

var recordNames = map[spec.RecordKind]string{
	spec.LeaderChange: "L", spec.Data: "other", beginRecord: "begin", endRecord: "end", abortRecord: "abort",
	versionRecord: "version", restRecord: "rest", wholeRecord: "all", upgradeRecord: "upgrade",
}

// logText lists the records of a log.
func logText(l *spec.Log) string {
	var out []string
	for _, r := range l.Runs() {
		who := r.Origin.String()
		if r.Origin == foreigner {
			who = "(of another cluster)"
		}
		t := fmt.Sprintf("%s%d%s", recordNames[r.Kind&0xf], r.Epoch, who)
		switch r.Kind & 0xf {
		case versionRecord, restRecord, wholeRecord:
			t += "(" + bootstrap.Content(r.Kind>>4).String() + ")"
		case upgradeRecord:
			t += "(" + clusterid.ID(r.Kind>>4).String() + ")"
		}
		if r.Count > 1 {
			t += fmt.Sprintf("x%d", r.Count)
		}
		out = append(out, t)
	}
	return "[" + strings.Join(out, " ") + "]"
}

func (c Contents) text() string {
	return fmt.Sprintf("%d: version %s rest %s id %s", c.End, c.Version, c.Rest, c.ID)
}

// DescribeProcess implements checker.System.
func (s *System) DescribeProcess(p *Process) []checker.Field {
	fields := spec.Describe(&p.Replica)
	for i := range fields {
		switch fields[i].Path {
		case "log":
			fields[i].Value = logText(&p.Log)
		case "disk":
			fields[i].Value = logText(&p.Disk)
		}
	}
	add := func(path, value string, show bool) {
		if show {
			fields = append(fields, checker.Field{Path: path, Value: value})
		}
	}
	c, n := &p.Controller, &p.Node
	boot := s.model.Bootstraps && p.Controller.Meta != 0
	add("phase", c.Phase.String(), boot && c.Phase != bootstrap.Standby)
	add("claimed", fmt.Sprint("epoch ", p.Claimed), boot && c.Phase != bootstrap.Standby)
	add("zeroCheckpoint", c.Zero.String(), boot)
	add("bootstrapCheckpoint", c.Legacy.String(), boot && c.Legacy != bootstrap.NoContent)
	add("loaded", fmt.Sprint(c.Loaded), boot)
	image := fmt.Sprintf("version %s rest %s", c.Image.Version, c.Image.Rest)
	if c.Image.Tx != 0 {
		image += " in a transaction"
	}
	add("image", image, boot)
	if s.model.ClusterID {
		add("stage", n.Stage.String(), true)
		add("clusterId", n.Mem.String(), true)
		for d, m := range n.Meta {
			t := fmt.Sprintf("V%d(%s, dir %d)", m.Form-clusterid.V1+1, m.ID, m.Dir)
			if n.Disk[d] != m {
				t += " (name not flushed)"
			}
			add("metaProperties"+[]string{"", "OfData"}[d], t, true)
		}
	}
	for _, h := range p.Held {
		add("snapshotHolds", h.text(), h.End > 0)
	}
	return fields
}
