package metaprops

import (
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/properties"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ggs is "GGS06qO7SJ2O-HutgVQQSw" in base64url: GGS0 is 000110 000110 010010 110100, so
// 18 64 b4, and so on.
var ggs = DirectoryID{0x18, 0x64, 0xb4, 0xea, 0xa3, 0xbb, 0x48, 0x9d, 0x8e, 0xf8, 0x7b, 0xad, 0x81, 0x54, 0x10, 0x4b}

// Files as Kafka and its tools leave them.
func TestVectors(t *testing.T) {
	for content, want := range map[string]Properties{
		"#\n#Thu Nov 26 10:11:12 UTC 2026\ncluster.id=Vp1Qnpk6Rh2zwk1aNEeqXw\ndirectory.id=GGS06qO7SJ2O-HutgVQQSw\nnode.id=3000\nversion=1\n": {1, "Vp1Qnpk6Rh2zwk1aNEeqXw", 3000, ggs, nil},
		"version=1\r\nnode.id=0\r\ncluster.id=my\\ cluster\\=\\:1\r\n":                                                                        {1, "my cluster=:1", 0, DirectoryID{}, nil},
		"#\nbroker.id=7\nversion=0\ncluster.id=c\n":                                                                                           {0, "c", 7, DirectoryID{}, nil},
		"broker.id=7\n":             {0, "", 7, DirectoryID{}, nil},
		"cluster.id=c\nnode.id=9\n": {0, "c", NoNode, DirectoryID{}, []properties.Entry{{Key: "node.id", Value: "9"}}},
		"":                          {0, "", NoNode, DirectoryID{}, nil},
		"version=2\nnode.id=1\n":    {2, "", 1, DirectoryID{}, nil},
		"version=1\nnode.id=1\ncluster.id=c\nx.y=z\n": {1, "c", 1, DirectoryID{}, []properties.Entry{{Key: "x.y", Value: "z"}}},
	} {
		have, err := Decode([]byte(content))
		require.NoError(t, err, "%q", content)
		assert.Equal(t, want, have, "%q", content)
		again, err := Decode(have.Encode())
		require.NoError(t, err)
		assert.Equal(t, want, again)
	}
	assert.Equal(t, "GGS06qO7SJ2O-HutgVQQSw", ggs.String())
	assert.Equal(t, "cluster.id=a\\=b\ndirectory.id=GGS06qO7SJ2O-HutgVQQSw\nnode.id=4\nversion=1\n",
		string(Properties{Version: 1, ClusterID: "a=b", NodeID: 4, Directory: ggs}.Encode()))
}

func TestRefused(t *testing.T) {
	for content, reason := range map[string]string{
		"version=3\nnode.id=1\ncluster.id=c":                        `version "3" is not 0, 1 or 2`,
		"version=-1":                                                `version "-1"`,
		"version=one":                                               `version "one"`,
		"version=1\ncluster.id=c":                                   "node.id is missing",
		"version=1\nbroker.id=1\ncluster.id=c":                      "node.id is missing",
		"version=2\ncluster.id=c":                                   "node.id is missing",
		"version=1\nnode.id=1":                                      "cluster.id is missing",
		"version=2\nnode.id=1\ncluster.id=":                         "cluster.id is missing or empty",
		"version=1\nnode.id=x\ncluster.id=c":                        `node.id "x" is not from 0 to 2147483647`,
		"version=1\nnode.id=-1\ncluster.id=c":                       `node.id "-1"`,
		"version=1\nnode.id=2147483648\ncluster.id=c":               `node.id "2147483648"`,
		"broker.id=-7":                                              `broker.id "-7"`,
		"version=2\nnode.id=1\ndirectory.id=abc":                    `directory.id "abc" is not 16 bytes`,
		"version=2\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ": "is reserved",
		"a=\\u12": "line 1",
		"a=\xff":  "line 1: is not UTF-8",
	} {
		d := fs.NewDouble()
		require.NoError(t, fs.WriteFile(d, FileName, []byte(content)))
		_, err := Read(d, ".")
		require.ErrorContains(t, err, reason, "%q", content)
		require.ErrorContains(t, err, FileName)
	}
	for _, p := range []Properties{{Version: 1, NodeID: 1}, {Version: 1, ClusterID: "c", NodeID: NoNode}, {Version: 3, NodeID: 1}, {Version: 1, ClusterID: " ", NodeID: 1}} {
		d := fs.NewDouble()
		require.Error(t, Write(d, ".", p), "%+v", p)
		require.Zero(t, d.Ops(), "nothing is written that would not be read")
	}
}

func TestCheck(t *testing.T) {
	other := ggs
	other[0]++
	dir := func(path string, cluster string, node int32, id DirectoryID) Dir {
		return Dir{Path: path, Properties: Properties{Version: 1, ClusterID: cluster, NodeID: node, Directory: id}, Formatted: true}
	}
	for _, c := range []struct {
		dirs    []Dir
		node    int32
		cluster string
		says    string // "" if all is well
	}{
		{[]Dir{dir("a", "c", 1, ggs), dir("b", "c", 1, other)}, 1, "c", ""},
		{[]Dir{dir("a", "c", 1, ggs), {Path: "b"}}, 1, "", ""},
		{[]Dir{dir("a", "", 1, ggs), dir("b", "c", 1, other)}, 1, "", ""},
		{[]Dir{dir("a", "", NoNode, DirectoryID{}), dir("b", "c", 1, DirectoryID{})}, 1, "", ""},
		{[]Dir{dir("a", "c", 2, ggs)}, 1, "", "a/meta.properties is of node 2, and the configuration has node.id 1"},
		{[]Dir{dir("a", "c", 1, ggs)}, 1, "d", `a/meta.properties is of cluster "c", and the configuration of cluster "d"`},
		{[]Dir{dir("a", "c", 1, ggs), dir("b", "d", 1, other)}, 1, "", `b/meta.properties is of cluster "d", and a/meta.properties of cluster "c"`},
		{[]Dir{dir("a", "c", 1, ggs), dir("b", "c", 1, ggs)}, 1, "", "a/meta.properties and b/meta.properties have the same directory.id " + ggs.String() + ": one is a copy"},
	} {
		err := Set{c.dirs}.Check(c.node, c.cluster)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.says)
		}
	}
}

func TestLoad(t *testing.T) {
	d := fs.NewDouble()
	require.NoError(t, d.Mkdir("a"))
	require.NoError(t, d.Mkdir("b"))
	p := Properties{Version: 1, ClusterID: "c", NodeID: 1, Directory: ggs}
	require.NoError(t, Write(d, "b", p))
	s, err := Load(d, []string{"a", "b", "missing"})
	require.NoError(t, err)
	require.Equal(t, []Dir{{Path: "a", Properties: Properties{NodeID: NoNode}}, {Path: "b", Properties: p, Formatted: true}, {Path: "missing", Properties: Properties{NodeID: NoNode}}}, s.Dirs)
	require.Equal(t, "c", s.ClusterID())
	require.Empty(t, Set{}.ClusterID())
	require.NoError(t, fs.WriteFile(d, "a/"+FileName, []byte("version=9")))
	_, err = Load(d, []string{"a", "b"})
	require.ErrorContains(t, err, "a/meta.properties")
	d.FailRead(func(int, string) fs.Fault { return fs.Error })
	_, err = Load(d, []string{"b"})
	require.ErrorIs(t, err, fs.ErrInjected)
}

func TestNewDirectoryID(t *testing.T) {
	seen := map[DirectoryID]bool{}
	for range 2000 { // one in 64 would start with a dash
		id := NewDirectoryID()
		require.False(t, seen[id])
		seen[id] = true
		require.Len(t, id.String(), 22)
		require.NotEqual(t, "-", id.String()[:1])
		again, err := ParseDirectoryID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
	}
}

// TestSweep fails and crashes each operation of writing a file anew: what is found is
// the old one or the new one.
func TestSweep(t *testing.T) {
	before := Properties{Version: 1, ClusterID: "c", NodeID: 1}
	after := before
	after.Directory = ggs
	points, crashes := 0, 0
	for _, fault := range []fs.Fault{fs.Crash, fs.Error, fs.TornWrite, fs.DiskFull} {
		for k := 1; ; k++ {
			d := fs.NewDouble()
			require.NoError(t, d.Mkdir("l"))
			require.NoError(t, d.SyncDir("/"))
			require.NoError(t, Write(d, "l", before))
			done := d.Ops()
			d.FailAt(done+k, fault)
			err := Write(d, "l", after)
			if err == nil && d.Ops() < done+k {
				break
			}
			points++
			keep := []fs.Chooser{fs.KeepAll, fs.KeepNone}
			for n := 1; n <= d.Ops(); n++ {
				keep = append(keep, fs.LoseOnly(n), fs.KeepOnly(n), fs.KeepBelow(n))
			}
			for seed := range uint64(10) {
				keep = append(keep, fs.KeepRandom(seed))
			}
			for _, c := range keep {
				crashes++
				found, readErr := Read(d.Crash(c), "l")
				require.NoError(t, readErr, "fault %d at %d", fault, k)
				if err == nil {
					require.Equal(t, after, found, "it was written")
				} else {
					require.Contains(t, []Properties{before, after}, found)
				}
			}
		}
	}
	t.Logf("%d points with 4 faults, %d crashes", points, crashes)
	require.Equal(t, 4*5, points, "create, write, sync, rename, flush of the directory")
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("#\n#date\ncluster.id=c\ndirectory.id=GGS06qO7SJ2O-HutgVQQSw\nnode.id=1\nversion=1\n"))
	f.Add([]byte("version=2\nnode.id=1\n"))
	f.Add([]byte("broker.id=7\nx=y"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(p.Encode())
		require.NoError(t, err)
		for i := range p.Other { // in the order of their keys now
			require.Contains(t, again.Other, p.Other[i])
		}
		p.Other, again.Other = nil, nil
		require.Equal(t, p, again)
	})
}
