package kafkasql

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
)

func (db *DB) text() string {
	if *db == (DB{}) {
		return "none"
	}
	var rows []string
	for id, op := range db.Rows {
		if op != 0 {
			stamp := ""
			if op&8 != 0 {
				stamp = "*"
			}
			rows = append(rows, fmt.Sprintf("%d:op%d%s", id+1, op&7, stamp))
		}
	}
	rows = append(rows, fmt.Sprintf("next %d, offset %d", db.Counter+1, db.Off))
	text := "{" + strings.Join(rows, " ") + "}"
	if db.Schema > 1 {
		text += fmt.Sprintf(" schema %d", db.Schema)
	}
	return text
}

func (s *State) journal() string {
	var b strings.Builder
	b.WriteString("[")
	for off := range s.N {
		r := s.J[off]
		if off > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "op%d-%s", r.Number, kindNames[r.Kind])
		if s.JEpoch > 1 {
			fmt.Fprintf(&b, "(epoch %d)", r.Epoch)
		}
		if s.LogStart == off+1 {
			b.WriteString("|")
		}
	}
	b.WriteString("]")
	return b.String()
}

// Describe implements concern.Spec.
func (m *machine) Describe(s *State) []checker.Field {
	var fields []checker.Field
	add := func(path, value string, show bool) {
		if show {
			fields = append(fields, checker.Field{Path: path, Value: value})
		}
	}
	for i := range m.model.Instances {
		n, at := &s.I[i], instanceName(i)+"."
		add(at+"phase", n.Phase.String(), true)
		add(at+"paused", "yes", n.Paused == 1)
		add(at+"database", n.DB.text(), n.up() && n.Phase >= Installing || n.DB != (DB{}))
		add(at+"reads", fmt.Sprintf("from offset %d", n.Pos), n.Phase >= Replaying && n.up())
		add(at+"candidate", fmt.Sprintf("commit %d", n.Cand), n.Cand != 0)
		add(at+"fetched", fmt.Sprintf("halves of images %d and %d%s", n.First, n.Second, []string{"", ", damaged"}[n.Bad]), n.Phase == Fetched)
		add(at+"attempt", fmt.Sprintf("image %d, %s", n.Att, n.Step), n.Att != 0)
		add(at+"lock", n.Step.String(), n.Att == 0 && n.Step != Idle)
		add(at+"frozen", "yes", n.Frozen == 1)
		add(at+"waits", fmt.Sprintf("for offset %d", n.Wait-1), n.Wait != 0)
		add(at+"version", fmt.Sprint(n.Version), m.model.Versions != nil)
		add(at+"clock", "ahead", n.Ahead == 1)
		if m.model.Variant == A && n.up() {
			add(at+"believes", believes(n), true)
		}
	}
	name := "journal"
	if s.Journal > 1 {
		name = "journal (another of this name)"
	}
	add(name, s.journal(), true)
	for i, c := range s.Commits[:s.NCommits] {
		text := "of nothing"
		if c.Att != 0 {
			text = fmt.Sprintf("image %d, offset %d", c.Att, s.Atts[c.Att-1].Off)
			if c.Fenced == 1 {
				text += ", by one who did not hold the lock any more"
			}
		}
		add(fmt.Sprintf("commit %d", i+1), text, true)
	}
	for i := range s.NAtts {
		a, o := &s.Atts[i], &s.Objects[i]
		text := a.Img.text()
		if a.Img.Off != a.Off && a.Journal != 0 {
			text += fmt.Sprintf(", noted offset %d", a.Off)
		}
		if m.model.Variant != A {
			text += ", in the store: " + o.text()
		} else if a.To > 0 {
			text += fmt.Sprintf(", data records %d to %d", a.From, a.To-1)
		}
		add(fmt.Sprintf("image %d", i+1), text, true)
	}
	if m.model.Variant == A {
		add("coordination", s.coordination(), true)
		var data []string
		for _, d := range s.Data[:s.NData] {
			data = append(data, fmt.Sprintf("half %d of image %d", d&1+1, d>>1))
		}
		add("data", "["+strings.Join(data, ", ")+"]", true)
	}
	return fields
}

func (o *Object) text() string {
	switch {
	case o.Gone == 1:
		return "deleted"
	case o.First == 0:
		return "nothing"
	case o.Bad == 1:
		return "damaged"
	case o.Second == 0:
		return fmt.Sprintf("half of image %d", o.First)
	case o.First != o.Second:
		return fmt.Sprintf("halves of images %d and %d", o.First, o.Second)
	}
	return fmt.Sprintf("image %d", o.First)
}

func believes(n *Instance) string {
	switch {
	case n.Holder != 0:
		return "the lock is held by " + instanceName(int(instanceOf(n.Holder))-1)
	case n.FirstBy != 0:
		return "first to ask was " + instanceName(int(instanceOf(n.FirstBy))-1)
	}
	return "the lock is free"
}

func (s *State) coordination() string {
	var list []string
	for _, c := range s.Coord[:s.NCoord] {
		list = append(list, fmt.Sprintf("%s of %s", coordNames[c.Kind], instanceName(int(instanceOf(c.By))-1)))
	}
	return "[" + strings.Join(list, ", ") + "] not read by all"
}

// InstanceView is what a predicate of find sees.
type InstanceView struct {
	ID     string `expr:"id"`
	Phase  string `expr:"phase"`
	Offset int    `expr:"offset"`
	Reads  int    `expr:"reads"`
	Step   string `expr:"step"`
	Image  int    `expr:"image"`
	Paused bool   `expr:"paused"`
	Frozen bool   `expr:"frozen"`
}

// CommitView is a commit and what its image is.
type CommitView struct {
	Image  int  `expr:"image"`
	Offset int  `expr:"offset"`
	Usable bool `expr:"usable"`
}

// Env implements concern.Spec.
func (m *machine) Env(s *State) map[string]any {
	var instances []InstanceView
	for i := range m.model.Instances {
		n := &s.I[i]
		instances = append(instances, InstanceView{
			ID: instanceName(i), Phase: n.Phase.String(), Offset: int(n.DB.Off), Reads: int(n.Pos), Step: n.Step.String(), Image: int(n.Att),
			Paused: n.Paused == 1, Frozen: n.Frozen == 1,
		})
	}
	var commits []CommitView
	for _, c := range s.Commits[:s.NCommits] {
		v := CommitView{Image: int(c.Att)}
		if c.Att != 0 {
			v.Offset, v.Usable = int(s.Atts[c.Att-1].Off), s.usable(c)
		}
		commits = append(commits, v)
	}
	return map[string]any{"instances": instances, "commits": commits, "logStart": int(s.LogStart), "logEnd": int(s.N)}
}
