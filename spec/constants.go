package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/checker"
)

// Constant is a constant or bound of a model that may be set by its name.
type Constant struct {
	Name string
	// Values says what it takes.
	Values string
	get    func(*Model) string
	set    func(*Model, string) error
}

// Constants of every model, in the order in which they are told.
var Constants = []Constant{
	{"voters", "1 to 6", func(m *Model) string { return strconv.Itoa(m.Voters) }, resized(func(m *Model) *int { return &m.Voters }, 1)},
	{"observers", "0 to 5", func(m *Model) string { return strconv.Itoa(m.Observers) }, resized(func(m *Model) *int { return &m.Observers }, 0)},
	{"pre-vote", "replicas that know pre-votes, as A,B, all or none", func(m *Model) string { return setText(m.PreVote, m.size()) },
		func(m *Model, v string) (err error) { m.PreVote, err = parseSet(v, m.size()); return err }},
	{"epochs", "1 to 6", func(m *Model) string { return fmt.Sprint(m.Epochs) },
		func(m *Model, v string) error {
			n, err := parseNumber(v, 1, maxStarts)
			m.Epochs = Epoch(n)
			return err
		}},
	count("adds", func(m *Model) *uint8 { return &m.Adds }),
	count("removes", func(m *Model) *uint8 { return &m.Removes }),
	count("updates", func(m *Model) *uint8 { return &m.Updates }),
	{"changing", "replicas that may be added, removed and updated, as A,B or all", func(m *Model) string { return setText(m.changing(), m.size()) },
		func(m *Model, v string) (err error) {
			if m.Changing, err = parseSet(v, m.size()); m.Changing == All(m.size()) {
				m.Changing = 0 // whoever there is
			}
			return err
		}},
	{"stand", "who may stand in each epoch from 1, as A/A,C/all, or any", standText, parseStand},
	count("records", func(m *Model) *uint8 { return &m.Records }),
	count("crashes", func(m *Model) *uint8 { return &m.Crashes }),
	count("lost-disks", func(m *Model) *uint8 { return &m.Disks }),
	count("reads", func(m *Model) *uint8 { return &m.Reads }),
	count("resignations", func(m *Model) *uint8 { return &m.Resigns }),
	count("late", func(m *Model) *uint8 { return &m.Late }),
	count("snapshots", func(m *Model) *uint8 { return &m.Snapshots }),
	{"snapshot-parts", "0 to 9", func(m *Model) string { return fmt.Sprint(m.Parts) },
		func(m *Model, v string) error {
			n, err := parseNumber(v, 0, 9)
			m.Parts = uint8(n)
			return err
		}},
	{"in-flight", fmt.Sprintf("1 to %d", checker.MaxMessages), func(m *Model) string { return strconv.Itoa(m.InFlight) },
		func(m *Model, v string) (err error) {
			m.InFlight, err = parseNumber(v, 1, checker.MaxMessages)
			return err
		}},
	kinds("immediate", func(m *Model) *KindSet { return &m.Immediate }),
	kinds("silent", func(m *Model) *KindSet { return &m.Silent }),
	choice("formed", func(m *Model) *bool { return &m.Formed }),
	choice("merge-flush", func(m *Model) *bool { return &m.MergeFlush }),
	choice("stays-down", func(m *Model) *bool { return &m.StaysDown }),
	choice("bootstrap", func(m *Model) *bool { return &m.Bootstrap }),
	choice("check-quorum", func(m *Model) *bool { return &m.CheckQuorum }),
	choice("park", func(m *Model) *bool { return &m.Park }),
}

func count(name string, of func(*Model) *uint8) Constant {
	return Constant{name, "0 to 255", func(m *Model) string { return fmt.Sprint(*of(m)) }, func(m *Model, v string) error {
		n, err := parseNumber(v, 0, 255)
		*of(m) = uint8(n)
		return err
	}}
}

func choice(name string, of func(*Model) *bool) Constant {
	return Constant{name, "true or false", func(m *Model) string { return strconv.FormatBool(*of(m)) }, func(m *Model, v string) error {
		switch v {
		case "true", "false":
			*of(m) = v == "true"
			return nil
		}
		return fmt.Errorf("%q is neither true nor false", v)
	}}
}

func kinds(name string, of func(*Model) *KindSet) Constant {
	return Constant{name, "kinds of messages, as Vote,Fetch, all or none", func(m *Model) string { return of(m).String() }, func(m *Model, v string) (err error) {
		*of(m), err = parseKinds(v)
		return err
	}}
}

// resized sets a number of replicas. If all knew pre-votes before, all do after.
func resized(of func(*Model) *int, least int) func(*Model, string) error {
	return func(m *Model, v string) error {
		n, err := parseNumber(v, least, checker.MaxProcesses)
		if err != nil {
			return err
		}
		all := m.PreVote != 0 && m.PreVote == All(m.size())
		*of(m) = n
		if all {
			m.PreVote = All(m.size())
		}
		return nil
	}
}

// Set sets a constant by name.
func (m *Model) Set(name, value string) error {
	names := make([]string, len(Constants))
	for i, c := range Constants {
		if c.Name == name {
			if err := c.set(m, value); err != nil {
				return fmt.Errorf("%s=%s: %w", name, value, err)
			}
			return nil
		}
		names[i] = c.Name
	}
	return fmt.Errorf("no constant %q; there are %s", name, strings.Join(names, ", "))
}

// Get is the value of a constant, as Set takes it.
func (c *Constant) Get(m *Model) string { return c.get(m) }

// Check refuses constants that do not fit each other.
func (m *Model) Check() error {
	all := All(m.size())
	switch {
	case m.Voters < 1:
		return fmt.Errorf("%d voters; a quorum has at least one", m.Voters)
	case m.size() > checker.MaxProcesses:
		return fmt.Errorf("%d voters and %d observers; %d replicas fit", m.Voters, m.Observers, checker.MaxProcesses)
	case m.Epochs < 1 || m.Epochs > maxStarts:
		return fmt.Errorf("%d epochs; 1 to %d fit", m.Epochs, maxStarts)
	case m.InFlight < 1 || m.InFlight > checker.MaxMessages:
		return fmt.Errorf("%d messages in flight; 1 to %d fit", m.InFlight, checker.MaxMessages)
	case m.PreVote&^all != 0:
		return fmt.Errorf("pre-votes on %s; there are %s", m.PreVote, all)
	case m.Stand != nil && len(m.Stand) < int(m.Epochs):
		return fmt.Errorf("it says who may stand in %d epochs of %d", len(m.Stand), m.Epochs)
	case m.Changing&^all != 0:
		return fmt.Errorf("changes of %s; there are %s", m.Changing, all)
	case m.Snapshots == 0 && m.Parts > 0:
		return fmt.Errorf("snapshots in %d parts, and none are taken", m.Parts)
	case m.MergeFlush && m.Crashes > 0:
		return fmt.Errorf("merge-flush hides what a crash takes: not with %d crashes", m.Crashes)
	}
	for i, who := range m.Stand {
		if who&^m.standing() != 0 {
			return fmt.Errorf("%s may stand in epoch %d; the voters are %s", who, i+1, m.standing())
		}
	}
	return nil
}

func parseNumber(v string, least, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("want a number from %d to %d", least, most)
	}
	return n, nil
}

// parseSet reads replicas, as A,B, all or none, of the first n.
func parseSet(v string, n int) (Set, error) {
	switch v {
	case "all":
		return All(n), nil
	case "none", "":
		return 0, nil
	}
	var s Set
	for _, name := range strings.Split(v, ",") {
		name = strings.TrimSpace(name)
		if len(name) != 1 || name[0] < 'A' || int(name[0]-'A') >= n {
			return 0, fmt.Errorf("no replica %q; there are %s", name, All(n))
		}
		s = s.With(ID(name[0]-'A') + 1)
	}
	return s, nil
}

// ReplicaSet reads names of replicas of the model, as A,B, all or none.
func (m *Model) ReplicaSet(v string) (Set, error) { return parseSet(v, m.size()) }

func setText(s Set, n int) string {
	switch s {
	case 0:
		return "none"
	case All(n):
		return "all"
	}
	var names []string
	for i := ID(1); int(i) <= n; i++ {
		if s.Has(i) {
			names = append(names, i.String())
		}
	}
	return strings.Join(names, ",")
}

func standText(m *Model) string {
	if m.Stand == nil {
		return "any"
	}
	var list []string
	for _, s := range m.Stand {
		list = append(list, setText(s, m.standing().Len()))
	}
	return strings.Join(list, "/")
}

func parseStand(m *Model, v string) error {
	if v == "any" {
		m.Stand = nil
		return nil
	}
	var list []Set
	for _, part := range strings.Split(v, "/") {
		s, err := parseSet(part, m.standing().Len())
		if err != nil {
			return err
		}
		list = append(list, s)
	}
	m.Stand = list
	return nil
}

// String lists the kinds by name.
func (s KindSet) String() string {
	if s == 0 {
		return "none"
	}
	var names []string
	for k := Vote; k < numKinds; k++ {
		if s.has(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, ",")
}

func parseKinds(v string) (KindSet, error) {
	switch v {
	case "all":
		return Kinds(Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot), nil
	case "none", "":
		return 0, nil
	}
	var s KindSet
	for _, name := range strings.Split(v, ",") {
		k := slices.Index(kindNames[1:], strings.TrimSpace(name))
		if k < 0 {
			return 0, fmt.Errorf("no kind of message %q; there are %s", name, strings.Join(kindNames[1:], ", "))
		}
		s |= Kinds(Kind(k + 1))
	}
	return s, nil
}
