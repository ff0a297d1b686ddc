package format

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

const initial = "1@127.0.0.1:19191:JEXY6aqzQY-32P5TStzaFg,2@127.0.0.1:19292:MvDxzVmcRsaTz33bUuRU6A"

// valid are options of a controller of a static quorum.
func valid(t *testing.T, change func(o *Options)) Options {
	o := Options{Node: 1, Controller: true, StaticVoters: true, Dirs: dirs, ClusterID: "X", NewID: newDrawer(fs.NewDouble()).next}
	change(&o)
	return o
}

func credential(t *testing.T, text string) []metadata.ScramCredential {
	c, err := ParseCredential(text)
	require.NoError(t, err)
	return []metadata.ScramCredential{c}
}

var here = &log.VoterEndpoint{Name: "CONTROLLER", Host: "h", Port: 1}

// TestRules: what is refused is what kafka-storage 4.4.0 refuses, but for -cluster-id, which
// the second revision of KIP-1262 allows to be left out.
func TestRules(t *testing.T) {
	voters, err := ParseVoters(initial, "CONTROLLER")
	require.NoError(t, err)
	scram := credential(t, "SCRAM-SHA-256=[name=a,password=b]")
	feature := func(name string, level int16) func(*Options) {
		return func(o *Options) { o.Features = map[string]int16{name: level} }
	}
	for _, c := range []struct {
		name   string
		change func(o *Options)
		says   string // "": it is right
	}{
		{"static", func(o *Options) {}, ""},
		{"static, no initial controllers", func(o *Options) { o.NoInitial = true }, ""},
		{"static and standalone", func(o *Options) { o.Standalone = here }, "controller.quorum.voters is set"},
		{"static and initial", func(o *Options) { o.Initial = voters }, "controller.quorum.voters is set"},
		{"standalone and initial", func(o *Options) { o.Initial, o.Standalone = voters, here }, "exclude each other"},
		{"initial and none", func(o *Options) { o.Initial, o.NoInitial, o.StaticVoters = voters, true, false }, "exclude each other"},
		{"dynamic, nothing", func(o *Options) { o.StaticVoters = false }, "want one of -standalone"},
		{"dynamic, standalone", func(o *Options) { o.StaticVoters, o.Standalone = false, here }, ""},
		{"dynamic, initial", func(o *Options) { o.StaticVoters, o.Initial = false, voters }, ""},
		{"dynamic, none", func(o *Options) { o.StaticVoters, o.NoInitial = false, true }, ""},
		{"broker", func(o *Options) { o.Controller, o.StaticVoters = false, false }, ""},
		{"broker, standalone", func(o *Options) { o.Controller, o.StaticVoters, o.Standalone = false, false, here }, "is for controllers"},
		{"broker, initial", func(o *Options) { o.Controller, o.StaticVoters, o.Initial = false, false, voters }, ""},
		{"static, kraft.version 1", feature("kraft.version", 1), "-feature kraft.version=1: want 0"},
		{"static, kraft.version 0", feature("kraft.version", 0), ""},
		{"dynamic, kraft.version 0", func(o *Options) {
			o.StaticVoters, o.NoInitial, o.Features = false, true, map[string]int16{"kraft.version": 0}
		}, "a dynamic quorum has kraft.version 1"},
		{"dynamic below 3.9", func(o *Options) { o.StaticVoters, o.Standalone, o.Release = false, here, "3.4" }, ""},
		{"two versions", func(o *Options) { o.Release = "4.0"; feature("metadata.version", 20)(o) }, "exclude each other"},
		{"version 6", feature("metadata.version", 6), "want 7 to 35"},
		{"version 36", func(o *Options) { o.Unstable = true; feature("metadata.version", 36)(o) }, "want 7 to 35"},
		{"no such release", func(o *Options) { o.Release = "9.9" }, `-release-version "9.9" is not a metadata.version`},
		{"unstable", feature("metadata.version", 34), "4.5-IV0 is not for production yet"},
		{"unstable release", func(o *Options) { o.Release = "4.5-IV1" }, "unstable.feature.versions.enable=true allows it"},
		{"allowed", func(o *Options) { o.Unstable = true; feature("metadata.version", 34)(o) }, ""},
		{"no such feature", feature("foo", 1), "-feature foo: there is none of this name: want eligible.leader.replicas.version, group.version"},
		{"level too high", feature("group.version", 7), "-feature group.version=7: want 0 to 1"},
		{"level below 0", feature("group.version", -1), "want 0 to 1"},
		{"level 0", feature("group.version", 0), ""},
		{"needs", func(o *Options) { o.Release = "3.9"; feature("eligible.leader.replicas.version", 1)(o) }, "needs metadata.version 4.0-IV1 or later, and this is 3.9-IV0"},
		{"needs, and has", func(o *Options) { o.Release = "4.0"; feature("eligible.leader.replicas.version", 1)(o) }, ""},
		{"credential", func(o *Options) { o.Credentials, o.Release = scram, "3.5" }, ""},
		{"credential too early", func(o *Options) { o.Credentials, o.Release = scram, "3.5-IV1" }, "-add-scram needs metadata.version 3.5-IV2"},
		{"credential twice", func(o *Options) { o.Credentials = append(scram, scram...) }, `SCRAM-SHA-256 of "a" is given twice`},
		{"no id", func(o *Options) { o.ClusterID = "" }, "-cluster-id is required"},
		{"no id, too early", func(o *Options) { o.ClusterID, o.MayLackID = "", true }, "may be left out from metadata.version 4.5-IV1 on"},
		{"no id, R2", func(o *Options) { o.ClusterID, o.MayLackID, o.Unstable, o.Release = "", true, true, "4.5-IV1" }, ""},
		{"many without transactions", func(o *Options) {
			o.Release = "3.5"
			for i := range maxAtomic {
				o.Credentials = append(o.Credentials, metadata.ScramCredential{Name: fmt.Sprint(i), Mechanism: 1})
			}
		}, "begin with 10001 records, and without transactions (metadata.version 3.6-IV1) at most 10000"},
	} {
		_, err := New(valid(t, c.change))
		if c.says == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.says, c.name)
		}
	}
}

// TestDefaults: the levels at each release are those of kafka-storage version-mapping.
func TestDefaults(t *testing.T) {
	for release, want := range map[string]string{
		"3.3-IV3": "7", "3.9": "21", "4.0-IV0": "22 group.version=1", "4.0-IV1": "23 group.version=1",
		"4.0-IV2": "24 group.version=1 transaction.version=2", "4.0": "25 group.version=1 transaction.version=2",
		"4.1-IV0": "26 eligible.leader.replicas.version=1 group.version=1 transaction.version=2",
		"4.2-IV0": "28 eligible.leader.replicas.version=1 group.version=1 share.version=1 transaction.version=2",
		"4.2":     "29 eligible.leader.replicas.version=1 group.version=1 share.version=1 streams.version=1 transaction.version=2",
		"4.3":     "30 eligible.leader.replicas.version=1 group.version=1 share.version=1 streams.version=1 transaction.version=2",
		"4.4-IV0": "31 eligible.leader.replicas.version=1 group.version=1 share.version=2 streams.version=1 transaction.version=2",
		"":        "33 eligible.leader.replicas.version=1 group.version=1 share.version=2 streams.version=1 transaction.version=2",
		"4.5-IV0": "34 eligible.leader.replicas.version=1 group.version=1 share.version=2 streams.version=1 transaction.version=2",
		"4.5-IV1": "35 eligible.leader.replicas.version=1 group.version=1 share.version=2 streams.version=1 transaction.version=2 id X",
	} {
		p, err := New(valid(t, func(o *Options) { o.Release, o.Unstable = release, true }))
		require.NoError(t, err)
		var have []string
		for i, b := range p.records {
			r, err := metadata.Decode(b)
			require.NoError(t, err)
			switch {
			case i == 0:
				require.Equal(t, metadata.VersionFeature, r.Feature)
				have = append(have, fmt.Sprint(r.Level))
			case r.ClusterID != "":
				have = append(have, "id "+r.ClusterID)
			default:
				have = append(have, fmt.Sprintf("%s=%d", r.Feature, r.Level))
			}
		}
		require.Equal(t, want, strings.Join(have, " "), release)
	}
}

// TestDirectories: what is refused by what the directories have, and that nothing is
// written then.
func TestDirectories(t *testing.T) {
	voters, err := ParseVoters(initial, "CONTROLLER")
	require.NoError(t, err)
	meta := func(version int, cluster string, node int32, id byte) metaprops.Properties {
		return metaprops.Properties{Version: version, ClusterID: cluster, NodeID: node, Directory: metaprops.DirectoryID{0: 1, 15: id}}
	}
	for _, c := range []struct {
		name   string
		d0, d1 any // metaprops.Properties, a text, or nil
		change func(o *Options)
		says   string
		todo   int
	}{
		{"none", nil, nil, nil, "", 2},
		{"all", meta(1, "X", 1, 91), meta(1, "X", 1, 92), nil, "", 0},
		{"all, not ignored", meta(1, "X", 1, 91), meta(1, "X", 1, 92), func(o *Options) { o.IgnoreFormatted = false }, "p/d0 is already formatted", 0},
		{"one", meta(1, "X", 1, 91), nil, nil, "", 1},
		{"other cluster", meta(1, "Y", 1, 91), nil, nil, `is of cluster "Y"`, 0},
		{"other node", meta(1, "X", 2, 91), nil, nil, "is of node 2", 0},
		{"unreadable", "version=3", nil, nil, `version "3" is not`, 0},
		{"V2 without id", meta(2, "", 1, 91), meta(2, "X", 1, 92), nil, "", 1},
		{"directory of the voter is taken", nil, metaprops.Properties{Version: 1, ClusterID: "X", NodeID: 1, Directory: voters[0].Directory},
			func(o *Options) { o.StaticVoters, o.Initial = false, voters }, "have the same directory.id", 0},
		{"an id that is not said", meta(1, "X", 1, 91), nil,
			func(o *Options) { o.ClusterID, o.MayLackID, o.Unstable, o.Release = "", true, true, "4.5-IV1" }, `are of cluster "X"`, 0},
	} {
		d := fs.NewDouble()
		require.NoError(t, d.Mkdir("p"))
		for i, have := range []any{c.d0, c.d1} {
			if have == nil {
				continue
			}
			require.NoError(t, d.Mkdir(dirs[i]))
			if p, ok := have.(metaprops.Properties); ok {
				have = string(p.Encode())
			}
			require.NoError(t, fs.WriteFile(d, dirs[i]+"/"+metaprops.FileName, []byte(have.(string))))
		}
		before := d.Ops()
		p, err := New(valid(t, func(o *Options) {
			o.IgnoreFormatted = true
			if c.change != nil {
				c.change(o)
			}
		}))
		require.NoError(t, err, c.name)
		todo, err := p.Check(d)
		if c.says != "" {
			require.ErrorContains(t, err, c.says, c.name)
			require.ErrorContains(t, p.Run(d, func(Formatted) { t.Fatal("formatted") }), c.says)
			require.Equal(t, before, d.Ops(), "%s: nothing is written", c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.todo, todo, c.name)
		var done []string
		require.NoError(t, p.Run(d, func(f Formatted) { done = append(done, f.Path) }))
		require.Len(t, done, todo, c.name)
		set, err := metaprops.Load(d, dirs)
		require.NoError(t, err)
		require.NoError(t, set.Check(1, "X"))
	}
}

// TestKinds: directories are called as kafka-storage calls them, and a controller that is
// not among the first voters has a zero checkpoint too.
func TestKinds(t *testing.T) {
	voters, err := ParseVoters(initial, "CONTROLLER")
	require.NoError(t, err)
	for _, c := range []struct {
		change func(o *Options)
		kind   string
		kraft  int16
		voters int
		zero   bool
	}{
		{func(o *Options) {}, "metadata", 0, 0, true},
		{func(o *Options) { o.NoInitial = true }, "metadata", 0, 0, true},
		{func(o *Options) { o.StaticVoters, o.NoInitial = false, true }, "metadata", 1, 0, true},
		{func(o *Options) { o.StaticVoters, o.Initial = false, voters }, "dynamic metadata voter", 1, 2, true},
		{func(o *Options) { o.StaticVoters, o.Initial, o.Node = false, voters, 3 }, "dynamic metadata", 1, 2, true},
		{func(o *Options) { o.StaticVoters, o.Standalone = false, here }, "dynamic metadata voter", 1, 1, true},
		{func(o *Options) { o.Controller = false }, "metadata", 0, 0, false},
		{func(o *Options) { o.Controller, o.StaticVoters, o.Initial, o.Node = false, false, voters, 2 }, "dynamic metadata voter", 0, 0, false},
	} {
		d := fs.NewDouble()
		p, err := New(valid(t, c.change))
		require.NoError(t, err)
		var done []Formatted
		require.NoError(t, p.Run(d, func(f Formatted) { done = append(done, f) }))
		require.Equal(t, []string{"data", c.kind}, []string{done[0].Kind, done[1].Kind})
		b, ok, err := metadata.ReadZero(d, dirs[0])
		require.NoError(t, err)
		require.Equal(t, c.zero, ok)
		require.Equal(t, c.kraft, b.KRaftVersion)
		require.Len(t, b.Voters, c.voters)
		if b.IsVoter(p.o.Node) || !c.zero && c.kind != "metadata" {
			require.EqualValues(t, p.voters[p.voter()].Directory, done[1].Directory, "the id of a voter is that of the voter set")
		}
	}
}

func TestParse(t *testing.T) {
	voters, err := ParseVoters("1@[::1]:9:JEXY6aqzQY-32P5TStzaFg", "C")
	require.NoError(t, err)
	require.Equal(t, []log.VoterEndpoint{{Name: "C", Host: "::1", Port: 9}}, voters[0].Endpoints)
	require.EqualValues(t, 1, voters[0].ID)
	for bad, says := range map[string]string{
		"": `"" is not an id`, "1": "there is no directory", "x@h:1:JEXY6aqzQY-32P5TStzaFg": `"x" is not an id`, "-1@h:1:JEXY6aqzQY-32P5TStzaFg": "is not an id",
		"1@h:1": `"h" is not host:port`, "1@h:0:JEXY6aqzQY-32P5TStzaFg": "is not host:port", "1@h:1:JEXY": "is not 16 bytes",
		"1@h:1:AAAAAAAAAAAAAAAAAAAAAQ":                              "reserved",
		"1@h:1:JEXY6aqzQY-32P5TStzaFg,1@h:2:MvDxzVmcRsaTz33bUuRU6A": "is given twice",
		"1@h:1:JEXY6aqzQY-32P5TStzaFg,2@h:2:JEXY6aqzQY-32P5TStzaFg": "is given twice",
		"1@h:1:JEXY6aqzQY-32P5TStzaFg,":                             `"" is not an id`,
	} {
		_, err := ParseVoters(bad, "C")
		require.ErrorContains(t, err, says, bad)
	}
	for bad, says := range map[string]string{"a": "not name=level", "a=": "not name=level", "=1": "not name=level", "a=x": "not name=level", "a=40000": "not name=level"} {
		_, _, err := ParseFeature(bad)
		require.ErrorContains(t, err, says, bad)
	}
	name, level, err := ParseFeature("a.b=-3")
	require.NoError(t, err)
	require.Equal(t, "a.b", name)
	require.EqualValues(t, -3, level)
}

// TestCredentials: what kafka-storage takes, and what it does not.
func TestCredentials(t *testing.T) {
	c := credential(t, `SCRAM-SHA-512=[name="alice",iterations=8192,salt="N3E=",saltedpassword="YCE="]`)[0]
	require.Equal(t, metadata.ScramSHA512.Credential("alice", []byte("7q"), []byte("`!"), 8192), c)
	a, b := credential(t, "SCRAM-SHA-256=[name=a,password=b]")[0], credential(t, "SCRAM-SHA-256=[name=a,password=b]")[0]
	require.NotEqual(t, a.Salt, b.Salt, "salts are drawn")
	require.EqualValues(t, 4096, a.Iterations)
	salted, err := metadata.ScramSHA256.SaltPassword("b", a.Salt, 4096)
	require.NoError(t, err)
	require.Equal(t, metadata.ScramSHA256.Credential("a", a.Salt, salted, 4096), a)
	require.Equal(t, credential(t, "SCRAM-SHA-256=[name=a,password=b,salt="+base64.StdEncoding.EncodeToString(a.Salt)+"]")[0], a)
	for bad, says := range map[string]string{
		"foo": `"foo" is not SCRAM-SHA-256 or SCRAM-SHA-512`, "SCRAM-SHA-1=[name=a,password=hunter2]": "is not SCRAM-SHA-256",
		"SCRAM-SHA-256": "want MECHANISM=[", "SCRAM-SHA-256=name=a,password=hunter2": "want MECHANISM=[", "SCRAM-SHA-256=[name=a,password=hunter2": "want MECHANISM=[",
		"SCRAM-SHA-256=[name=a]": "want one of password and saltedpassword", "SCRAM-SHA-256=[password=hunter2]": "name is required",
		"SCRAM-SHA-256=[name=,password=hunter2]": "name is required", "SCRAM-SHA-256=[name=a,password=]": "password is empty",
		"SCRAM-SHA-256=[name=a,password=hunter2,iterations=100]":            "iterations=100: want 4096 to 16384",
		"SCRAM-SHA-256=[name=a,password=hunter2,iterations=99999]":          "want 4096 to 16384",
		"SCRAM-SHA-256=[name=a,password=hunter2,iterations=x]":              "want 4096 to 16384",
		"SCRAM-SHA-256=[name=a,password=hunter2,foo=c]":                     "want name=",
		"SCRAM-SHA-256=[name=\xff,password=hunter2]":                        "name is not UTF-8",
		`SCRAM-SHA-256=[name="a,c",password=hunter2]`:                       "no comma in a value",
		"SCRAM-SHA-256=[name=a,name=b,password=hunter2]":                    "name is given twice",
		"SCRAM-SHA-256=[name=a,saltedpassword=YCE=]":                        "needs the salt",
		"SCRAM-SHA-256=[name=a,saltedpassword=YCE,salt=N3E=]":               "saltedpassword is not in base64",
		"SCRAM-SHA-256=[name=a,password=hunter2,salt=N3E]":                  "salt is not in base64",
		"SCRAM-SHA-256=[name=a,password=hunter2,saltedpassword=YCE=,salt=]": "salt is not in base64",
		"SCRAM-SHA-256=[name=a,password=hunter2,saltedpassword=YCE=]":       "want one of",
	} {
		_, err := ParseCredential(bad)
		require.ErrorContains(t, err, says, bad)
		require.NotContains(t, err.Error(), "hunter2", "no message tells a password")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(initial)
	f.Add("SCRAM-SHA-256=[name=a,password=b,iterations=5000]")
	f.Add("group.version=1")
	f.Fuzz(func(t *testing.T, s string) {
		if voters, err := ParseVoters(s, "C"); err == nil {
			again, err := log.ParseKRaftVoters(log.KRaftVotersControl(voters).Value)
			require.NoError(t, err)
			require.Equal(t, voters, again)
		}
		if len(s) < 200 { // a password costs time
			if c, err := ParseCredential(s); err == nil {
				r, err := metadata.Decode(c.Append(nil))
				require.NoError(t, err)
				require.Equal(t, c, *r.Scram)
			}
		}
		ParseFeature(s)
	})
}
