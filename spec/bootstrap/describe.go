package bootstrap

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
)

// text lists the records of a log, those below start in front of a bar.
func (l *Log) text(start uint8) string {
	var out []string
	for i, r := range l[:l.end()] {
		t := kindText[r.Kind()] + fmt.Sprint(r.Epoch())
		if r.Content() != NoContent {
			t += "(" + r.Content().String() + ")"
		}
		out = append(out, t)
		if start > 0 && i == int(start)-1 {
			out = append(out, "|")
		}
	}
	return "[" + strings.Join(out, " ") + "]"
}

func (m Image) text() string {
	if m == (Image{}) {
		return "empty"
	}
	t := fmt.Sprintf("version %s rest %s", m.Version, m.Rest)
	if m.Tx != 0 {
		t += fmt.Sprintf(" in a transaction, before it version %s rest %s", m.StableVersion, m.StableRest)
	}
	return t
}

func pending(text string, isPending uint8) string {
	if isPending == 1 {
		return text + " (name not flushed)"
	}
	return text
}

func metaText(run uint8) string {
	switch run {
	case 0:
		return "-"
	case tornMeta:
		return "torn"
	}
	return fmt.Sprintf("of run %d", run)
}

// Describe implements concern.Spec.
func (m *machine) Describe(s *State) []checker.Field {
	var fields []checker.Field
	for i := range m.model.Controllers {
		c := &s.C[i]
		add := func(path, value string, show bool) {
			if show {
				fields = append(fields, checker.Field{Path: name(i) + "." + path, Value: value})
			}
		}
		role := "down"
		switch {
		case c.Up == 0 && c.Phase == Fatal:
			role = "ended with an error"
		case c.Up == 1 && c.Leading == 1:
			role = "leader"
		case c.Up == 1:
			role = "follower"
		}
		add("role", role, true)
		add("phase", c.Phase.String(), c.Leading == 1)
		add("epoch", fmt.Sprint(c.Epoch), true)
		add("log", c.Log.text(c.LogStart), true)
		add("metaProperties", pending(metaText(c.Meta), c.MetaPending), m.model.Runs > 0)
		add("zeroCheckpoint", pending(c.Zero.String(), c.ZeroPending), true)
		add("zeroCheckpointOf", metaText(c.ZeroRun), m.model.Runs > 0)
		add("bootstrapCheckpoint", pending(c.Legacy.String(), c.LegacyPending), true)
		add("snapshot", fmt.Sprintf("%d: version %s rest %s", c.Snap, c.SnapVersion, c.SnapRest), c.Snap > 0)
		add("format", fmt.Sprintf("run %d", c.FormatRun), c.FormatStep > 0)
		add("source", c.Source.String(), c.Source != NoContent)
		add("software", "before KIP-1170", c.Old == 1)
		add("loaded", fmt.Sprint(c.Loaded), c.Up == 1)
		add("image", c.Image.text(), c.Up == 1)
	}
	return append(fields,
		checker.Field{Path: "committed", Value: s.Committed.text(0)},
		checker.Field{Path: "crashes", Value: fmt.Sprint(s.Crashes)})
}

// ControllerView is a controller as a predicate of find sees it.
type ControllerView struct {
	ID      string `expr:"id"`
	Up      bool   `expr:"up"`
	Leading bool   `expr:"leading"`
	Phase   string `expr:"phase"`
	Epoch   int    `expr:"epoch"`
	Log     string `expr:"log"`
	End     int    `expr:"end"`
	Zero    string `expr:"zero"`
	Legacy  string `expr:"legacy"`
	Snap    int    `expr:"snap"`
	Version string `expr:"version"`
	Open    bool   `expr:"open"`
}

// Env implements concern.Spec.
func (m *machine) Env(s *State) map[string]any {
	var list []ControllerView
	for i := range m.model.Controllers {
		c := &s.C[i]
		list = append(list, ControllerView{
			ID: name(i), Up: c.Up == 1, Leading: c.Leading == 1, Phase: c.Phase.String(), Epoch: int(c.Epoch), Log: c.Log.text(0),
			End: int(c.Log.end()), Zero: c.Zero.String(), Legacy: c.Legacy.String(), Snap: int(c.Snap),
			Version: c.Image.Version.String(), Open: c.Image.Tx != 0,
		})
	}
	return map[string]any{"controllers": list, "hw": int(s.HighWatermark), "committed": s.Committed.text(0)}
}
