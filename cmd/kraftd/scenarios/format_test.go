package scenarios

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kraftformat "github.com/quorate/quorate/impl/format"
	kfs "github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// Lines and flags with which the cluster begins at the first metadata.version that has a
// ClusterIdRecord, which is not for production yet.
const unstable = "unstable.feature.versions.enable=true"

var withID = fmt.Sprintf("metadata.version=%d", metadata.ClusterIDVersion)

// clusterRecords are what a cluster then begins with.
func clusterRecords(id string) []string {
	return slices.Concat([]string{version(int16(metadata.ClusterIDVersion))}, latest, []string{clusterID(id)})
}

// requireMeta compares meta.properties of both directories, written in version 1, byte by
// byte but for directory ids, which differ.
func (p *place) requireMeta(cluster string, node int32) {
	p.t.Helper()
	for i := range 2 {
		require.Equal(p.t, metaV1(cluster, node, p.meta(i).Directory), p.read(fmt.Sprintf("d%d/meta.properties", i)))
	}
	require.NotEqual(p.t, p.meta(0).Directory, p.meta(1).Directory)
	require.NotZero(p.t, p.meta(1).Directory)
}

// voters1 are control records: kraft.version 1 and node 1 as the only voter.
func voters1(d metaprops.DirectoryID) [][2]string {
	return [][2]string{{kraftKey, kraftVersion1}, {votersKey, "0000" + "02" + "00000001" + hex.EncodeToString(d[:]) +
		"02" + "0b434f4e54524f4c4c4552" + "0a3132372e302e302e31" + "2383" + "00" + "0000000100" + "00" + "00"}}
}

var _ = add(1, "static controller: meta.properties V1 in each directory, and the zero checkpoint", func(t *testing.T) {
	p := newPlace(t, unstable)
	p.formatted("-t", "X", "-f", withID)
	require.ElementsMatch(t, []string{"d0/meta.properties", zeroName, "d1/meta.properties"}, p.names())
	p.requireMeta("X", 1)
	p.requireZero(nil, clusterRecords("X")...)
	// What Kafka 4.4 would write, byte by byte: no cluster id.
	p = newPlace(t)
	p.formatted("-t", "X")
	p.requireZero(nil, append([]string{version(33)}, latest...)...)
})

var _ = add(2, "broker: meta.properties V1 in each directory, and nothing else", func(t *testing.T) {
	p := newPlace(t, broker...)
	p.formatted("-t", "X")
	require.ElementsMatch(t, []string{"d0/meta.properties", "d1/meta.properties"}, p.names())
	p.requireMeta("X", 4)
})

var _ = add(3, "-standalone: the zero checkpoint has the node as voter, with the directory id of meta.properties", func(t *testing.T) {
	p := newPlace(t, append(dynamicQuorum, unstable)...)
	p.formatted("-t", "X", "-f", withID, "--standalone")
	require.ElementsMatch(t, []string{"d0/meta.properties", zeroName, "d1/meta.properties"}, p.names())
	p.requireMeta("X", 1)
	p.requireZero(voters1(p.meta(0).Directory), clusterRecords("X")...)
})

var _ = add(4, "-standalone with controller.quorum.voters: refused", func(t *testing.T) {
	p := newPlace(t, "listeners=CONTROLLER://127.0.0.1:9091")
	p.refused("controller.quorum.voters is set", func() result { return p.format("-t", "X", "--standalone") })
	require.NoDirExists(t, p.dir(0))
})

var _ = add(5, "neither controller.quorum.voters nor a flag says who the voters are: refused", func(t *testing.T) {
	p := newPlace(t, dynamicQuorum...)
	p.refused("want one of -standalone, -initial-controllers and -no-initial-controllers", func() result { return p.format("-t", "X") })
	require.NoDirExists(t, p.dir(0))
})

var _ = add(6, "-add-scram below 3.5-IV2: refused", func(t *testing.T) {
	p := newPlace(t)
	p.refused("-add-scram needs metadata.version 3.5-IV2 or later, and this is 3.4-IV0", func() result {
		return p.format("-t", "X", "--add-scram", "SCRAM-SHA-256=[name=alice,password=secret]", "--release-version", "3.4")
	})
	require.NoDirExists(t, p.dir(0))
})

// cut is a file system on which a process is killed: one operation, and all after it, are
// not done.
type cut struct {
	kfs.OS
	before string // the name of the file that is not made or renamed any more
	dead   bool
}

var errKilled = errors.New("killed")

func (c *cut) at(name string) error {
	if c.dead = c.dead || filepath.Base(name) == c.before; c.dead {
		return errKilled
	}
	return nil
}

func (c *cut) Create(name string) (kfs.File, error) {
	if err := c.at(name); err != nil {
		return nil, err
	}
	return c.OS.Create(name)
}

func (c *cut) Rename(from, to string) error {
	if err := c.at(to); err != nil {
		return err
	}
	return c.OS.Rename(from, to)
}

func (c *cut) Remove(name string) error {
	if err := c.at(name); err != nil {
		return err
	}
	return c.OS.Remove(name)
}

var _ = add(7, "format killed before meta.properties: done again, it replaces all, and nothing is left over", func(t *testing.T) {
	for _, before := range []string{metaprops.FileName + ".tmp", metadata.ZeroID.FileName()} {
		p := newPlace(t, dynamicQuorum...)
		plan, err := kraftformat.New(kraftformat.Options{
			Node: 1, Controller: true, Dirs: []string{p.dir(0)}, ClusterID: "X", NewID: metaprops.NewDirectoryID,
			Standalone: &log.VoterEndpoint{Name: "CONTROLLER", Host: "127.0.0.1", Port: 9091}, Timestamp: 1,
		})
		require.NoError(t, err)
		require.ErrorIs(t, plan.Run(&cut{before: before}, func(kraftformat.Formatted) {}), errKilled)
		require.Len(t, p.names(), 1, "the zero checkpoint, or its .part")
		left := p.tree()
		p.formatted("-t", "X", "--standalone")
		require.ElementsMatch(t, []string{"d0/meta.properties", zeroName, "d1/meta.properties"}, p.names())
		require.NotEqual(t, left[zeroName], p.read(zeroName))
		p.requireZero(voters1(p.meta(0).Directory), append([]string{version(33)}, latest...)...)
	}
	// A start after it, of a static quorum.
	p := newPlace(t)
	plan, err := kraftformat.New(kraftformat.Options{
		Node: 1, Controller: true, StaticVoters: true, Dirs: []string{p.dir(0), p.dir(1)}, ClusterID: "X", NewID: metaprops.NewDirectoryID, Timestamp: 1,
	})
	require.NoError(t, err)
	require.NoError(t, plan.Run(kfs.OS{}, func(kraftformat.Formatted) {}))
	p.changed()
	require.NoError(t, os.Remove(p.path("d0/meta.properties")))
	p.refused("is not formatted", func() result { return run(t, "start", "-config", p.config()) })
	p.formatted("-t", "X", "-g")
	p.starts().stop()
})

var _ = add(8, "-ignore-formatted formats the others, of the same cluster only", func(t *testing.T) {
	p := newPlace(t)
	p.formatted("-t", "X")
	p.changed()
	require.NoError(t, os.RemoveAll(p.dir(1)))
	require.NoError(t, os.Mkdir(p.dir(1), 0o755))
	p.refused("d0 is already formatted, for node 1 of cluster \"X\"", func() result { return p.format("-t", "X") })
	before := p.tree()
	p.formatted("-t", "X", "--ignore-formatted")
	after := p.tree()
	require.Equal(t, metaV1("X", 1, p.meta(1).Directory), after["d1/meta.properties"])
	delete(after, "d1/meta.properties")
	require.Equal(t, before, after, "only d1 changes")
	p.refused(`is of cluster "X", and the configuration of cluster "Y"`, func() result { return p.format("-t", "Y", "--ignore-formatted") })
})

// A command line cannot be as long as that, so this one calls what kraftd format calls.
var _ = add(9, "a bootstrap of more than 8 MiB: refused before any file is made", func(t *testing.T) {
	p := newPlace(t)
	credential := metadata.ScramSHA512.Credential("", []byte("salt"), []byte("salted"), 4096)
	o := kraftformat.Options{Node: 1, Controller: true, StaticVoters: true, Dirs: []string{p.dir(0), p.dir(1)}, ClusterID: "X", NewID: metaprops.NewDirectoryID}
	format := func() error {
		plan, err := kraftformat.New(o)
		if err != nil {
			return err
		}
		return plan.Run(kfs.OS{}, func(kraftformat.Formatted) {})
	}
	for i := range 60 {
		credential.Name = fmt.Sprintf("%d", i) + strings.Repeat("x", 150<<10)
		o.Credentials = append(o.Credentials, credential)
	}
	require.ErrorContains(t, format(), "a batch at most 8388608: give fewer credentials")
	require.Empty(t, p.tree())
	o.Credentials = o.Credentials[:50] // about 7.5 MiB
	require.NoError(t, format())
	require.Len(t, p.zero().Records, 56)
})

var _ = add(49, "(R2) -standalone without -cluster-id below the metadata.version that has one: refused", func(t *testing.T) {
	lines := append(slices.Clone(dynamicQuorum), unstable)
	p := newPlace(t, lines...)
	p.refused("-cluster-id is required", func() result { return p.format("--standalone") })
	p.configure(append(lines, "quorate.unformatted.voters=true")...)
	p.refused("-cluster-id may be left out from metadata.version 4.5-IV1 on, and this is 4.4-IV2", func() result { return p.format("--standalone") })
	require.NoDirExists(t, p.dir(0))
	p.formatted("--standalone", "-f", withID)
	d := p.meta(0).Directory
	require.Equal(t, "directory.id="+d.String()+"\nnode.id=1\nversion=2\n", p.read("d0/meta.properties"))
	p.requireZero(voters1(d), append([]string{version(int16(metadata.ClusterIDVersion))}, latest...)...)
	// Who learns of an id later writes it into what lacks it.
	p.formatted("-t", "X", "-g", "-f", withID, "--standalone")
	require.Equal(t, "cluster.id=X\ndirectory.id="+d.String()+"\nnode.id=1\nversion=2\n", p.read("d0/meta.properties"))
})
