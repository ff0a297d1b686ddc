package scenarios

import (
	"fmt"
	"os"
	"testing"

	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// start runs kraftd start, which is to end.
func (p *place) start() result {
	p.t.Helper()
	return run(p.t, "start", "-config", p.config())
}

// put writes meta.properties of a log directory in a version; an empty id is left out.
func (p *place) put(i, version int, cluster string, node int32) metaprops.DirectoryID {
	p.t.Helper()
	d := metaprops.NewDirectoryID()
	text := fmt.Sprintf("directory.id=%s\nnode.id=%d\nversion=%d\n", d, node, version)
	if cluster != "" {
		text = "cluster.id=" + cluster + "\n" + text
	}
	p.write(fmt.Sprintf("d%d/meta.properties", i), text)
	return d
}

var _ = add(31, "directories of two clusters: no start, whatever the role", func(t *testing.T) {
	for node, lines := range map[int32][]string{1: nil, 4: broker} {
		p := newPlace(t, lines...)
		p.put(0, 1, "A", node)
		p.put(1, 1, "B", node)
		p.refused(`d1/meta.properties is of cluster "B", and `+p.path("d0/meta.properties")+` of cluster "A"`, p.start)
	}
})

var _ = add(33, "a static voter with empty directories: no start, and they stay empty", func(t *testing.T) {
	p := newPlace(t)
	p.refused("d0 is not formatted, as a controller that takes part in the first election must be", p.start)
	require.NoDirExists(t, p.dir(0))
	for i := range 2 {
		require.NoError(t, os.Mkdir(p.dir(i), 0o755))
	}
	p.refused("d0 is not formatted", p.start)
	for i := range 2 {
		have, err := os.ReadDir(p.dir(i))
		require.NoError(t, err)
		require.Empty(t, have, "not even a lock")
	}
})

var _ = add(42, "meta.properties that cannot be read: no start in the metadata directory, else the directory is offline", func(t *testing.T) {
	for _, c := range []struct{ content, says string }{
		{"version=3\nnode.id=1\ncluster.id=X\n", `version "3" is not 0, 1 or 2`},
		{"version=1\nnode.id=1\n", "cluster.id is missing or empty"},
	} {
		p := newPlace(t)
		p.formatted("-t", "X")
		good := p.read("d0/meta.properties")
		p.write("d0/meta.properties", c.content)
		p.refused("d0/meta.properties: "+c.says, p.start)
		p.write("d0/meta.properties", good)
		p.write("d1/meta.properties", c.content)
		n := p.starts()
		require.Contains(t, n.stderr.String(), "a log directory is offline")
		require.Contains(t, n.stderr.String(), p.dir(1))
		n.stop()
		require.Equal(t, c.content, p.read("d1/meta.properties"))
	}
})

var _ = add(46, "meta.properties of one cluster and a zero checkpoint of another: no start", func(t *testing.T) {
	p := newPlace(t, unstable)
	p.formatted("-t", "Y", "-f", withID)
	for i := range 2 {
		p.put(i, 1, "X", 1)
	}
	p.refused(`d0/meta.properties is of cluster "X", and the zero checkpoint of cluster "Y"`, p.start)
	require.Len(t, p.names(), 3, "no log, no vote")
})

var _ = add(32, "a broker with one directory of a cluster and an empty one: that becomes V2, and the other stays", func(t *testing.T) {
	p := newPlace(t, broker...)
	d0 := p.put(0, 1, "A", 4)
	before := p.read("d0/meta.properties")
	n := p.starts()
	n.stop()
	d1 := p.meta(1).Directory
	require.Equal(t, fmt.Sprintf("cluster.id=A\ndirectory.id=%s\nnode.id=4\nversion=2\n", d1), p.read("d1/meta.properties"))
	require.NotEqual(t, d0, d1)
	require.Equal(t, before, p.read("d0/meta.properties"))
})

var _ = add(34, "a dynamic voter that has lost meta.properties, and has its zero checkpoint: no start", func(t *testing.T) {
	p := newPlace(t, dynamicQuorum...)
	p.formatted("-t", "X", "--standalone")
	p.changed()
	require.NoError(t, os.Remove(p.path("d0/meta.properties")))
	p.refused("d0 is not formatted, as a controller that takes part in the first election must be", p.start)
	require.NoFileExists(t, p.path("d0/meta.properties"))
	// So it is if all of them are gone.
	p.changed()
	require.NoError(t, os.Remove(p.path("d1/meta.properties")))
	p.refused("d0 is not formatted", p.start)
})
