package concerns

import (
	"fmt"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	event "github.com/quorate/quorate/traces/event/concern"
)

// step takes an event as the action that it names. A refusal says why that cannot be.
func (v *validator) step(n *node, s *state, e *event.Event) *refusal {
	if s.stopped {
		return because("the process has said that it ends")
	}
	take := v.actions()[e.Concern][e.Action]
	if take == nil {
		return because("there is no action of this name that a node takes")
	}
	if e.Concern == event.Bootstrap && len(s.dirs) == 0 && e.Action == "Start" {
		s.dirs = []directory{{now: clusterid.Meta{Form: clusterid.V1}, known: false}}
	}
	return take(n, s, e)
}

type action func(n *node, s *state, e *event.Event) *refusal

func (v *validator) actions() map[string]map[string]action {
	format := map[string]action{
		"Start": v.begin, "Replay": v.replay, "Claim": v.claim, "Activate": v.activate, "AppendChunk": v.appendChunk,
		"AppendOrdinary": v.appendOrdinary, "UpgradeFeatures": v.upgradeFeatures, "StepDown": v.stepDown,
		"TakeSnapshot": v.takeSnapshot, "InstallSnapshot": v.installSnapshot, "DeleteZero": v.deleteZero, "DeleteLegacy": v.deleteLegacy,
		"BeginFormat": v.beginFormat,
	}
	for _, a := range v.rules.Bootstrap.FormatSteps {
		format[a.String()] = v.formatStep
	}
	return map[string]map[string]action{
		event.Bootstrap: format,
		event.ClusterID: {
			"Start": v.start, "Format": v.format, "WriteMeta": v.writeMeta, "FlushMeta": v.flushMeta, "FailMeta": v.failMeta,
			"SetMemory": v.setMemory, "Adopt": v.adopt, "Fetch": v.fetch, "Register": v.register,
			"AutoJoin": v.join, "AddVoter": v.join, "Timeout": v.timeout,
		},
	}
}

// not says which guard has refused the action.
func (v *validator) not(e *event.Event) *refusal {
	if v.refused.Guard == 0 {
		return because("%s changes nothing", e.Action)
	}
	name, action := "", ""
	if e.Concern == event.Bootstrap {
		name, action = bootstrap.GuardName(v.refused.Guard), bootstrap.Action(v.refused.Action).String()
	} else {
		name, action = clusterid.GuardName(v.refused.Guard), clusterid.Action(v.refused.Action).String()
	}
	r := because("%s is not enabled: guard %s is false", action, name)
	r.guard = name
	return r
}

// differ compares fields, and says which are not the same: each is a name, what the
// specification has, and what was recorded.
func differ(action string, fields ...any) *refusal {
	var list []Difference
	for i := 0; i < len(fields); i += 3 {
		if a, b := show(fields[i+1]), show(fields[i+2]); a != b {
			list = append(list, Difference{Field: fields[i].(string), Spec: a, Recorded: b})
		}
	}
	if list == nil {
		return nil
	}
	r := because("%s is possible with another effect", action)
	r.differences = list
	return r
}

func show(x any) string {
	if t, ok := x.(string); ok && t == "" {
		return "none"
	}
	return fmt.Sprint(x)
}

// image compares what the machine has with what was observed of it.
func (v *validator) image(s *state, w *view, e *event.Event) *refusal {
	if e.Image == nil {
		return because("the event does not say what the state machine has")
	}
	if s.c.Old == 1 || w.Old == 1 {
		return nil // what software before KIP-1170 loads as committed no log says
	}
	m := w.ImageAt(w.Loaded)
	ids := s.baseIDs
	boot := s.base
	for _, r := range s.log[:s.handed] {
		boot, ids = r.apply(boot, ids)
	}
	return differ(e.Action,
		"image.level", v.file(m.Stable().Version).Level, e.Image.Level,
		"image.clusterId", v.clusterName(ids.Stable().ID), e.Image.Cluster,
		"image.open", m.Tx != 0, e.Image.Open)
}

// rightID: what a node has applied of a cluster is of the cluster whose id it has.
func (v *validator) rightID(s *state, e *event.Event) *refusal {
	if e.Fatal != "" {
		s.stopped = true
		return nil
	}
	own := v.clusterName(s.n.Mem)
	if own == "" || e.Image == nil || e.Image.Cluster == "" || e.Image.Cluster == own {
		return nil
	}
	r := violated("RightID")
	r.why = fmt.Sprintf("a node of cluster %q has applied the id of cluster %q", own, e.Image.Cluster)
	return r
}
