package metaprops

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files of node 1 as they stand in a directory.
const (
	v0X   = "cluster.id=X\nbroker.id=1\n"
	v0    = "broker.id=1\n"
	v1X   = "cluster.id=X\nnode.id=1\nversion=1\n"
	v1Y   = "cluster.id=Y\nnode.id=1\nversion=1\n"
	v1    = "node.id=1\nversion=1\n"
	v2X   = "cluster.id=X\nnode.id=1\nversion=2\n"
	v2    = "node.id=1\nversion=2\n"
	v3    = "cluster.id=X\nnode.id=1\nversion=3\n"
	other = "cluster.id=X\nnode.id=2\nversion=1\n"
)

func withDirectory(content string, n byte) string {
	return "directory.id=" + (DirectoryID{0: 1, 15: n}).String() + "\n" + content
}

// draws are ids that a start draws.
func draws() func() DirectoryID {
	n := byte(100)
	return func() DirectoryID {
		n++
		return DirectoryID{0: 1, 15: n}
	}
}

// TestTable is the table of starts of docs/kip-1262.md, row by row, for those that are no
// bootstrap controllers and for those that are.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		row       string
		meta      string // meta.properties of the metadata directory, "" for none
		data      string // of a data directory
		start     Start  // but for Node and Bootstrap
		says      string // "": it starts with the id
		id        string // "": it is to be learned
		bootstrap string // what a bootstrap controller is told; "": as the others
		write     int    // files
		offline   int
		drop      bool
	}{
		{row: "1", write: 2, bootstrap: "m is not formatted"},
		{row: "2, 3, 11", meta: v1X, data: v1X, id: "X", write: 2},
		{row: "2, 3, 11", meta: v2X, data: v2X, id: "X", write: 2},
		{row: "2, 3, 11", meta: v1X, data: v2X, id: "X", write: 2},
		{row: "2, 3, 11", meta: v0X, data: v0X, id: "X"},
		{row: "4", meta: v2, data: v2, write: 2, bootstrap: "m/meta.properties has no cluster.id"},
		{row: "5", meta: v2, data: v1X, id: "X", write: 2},
		{row: "5", meta: v1X, data: v2, id: "X", write: 2},
		{row: "6", meta: v1X, id: "X", write: 2, bootstrap: "a is not formatted"},
		{row: "6", data: v2X, id: "X", write: 2, bootstrap: "m is not formatted"},
		{row: "7", meta: v2, write: 2, bootstrap: "a is not formatted"},
		{row: "7", data: v2, write: 2, bootstrap: "m is not formatted"},
		{row: "8", meta: v1X, data: v1Y, says: `a/meta.properties is of cluster "Y", and m/meta.properties of cluster "X"`},
		{row: "2, 3, 11", meta: v1X, data: v1, id: "X", write: 1, offline: 1}, // 9
		{row: "10", meta: v1, data: v1X, says: "m/meta.properties: cluster.id is missing"},
		{row: "12", meta: v0, data: v1X, says: "m/meta.properties has version 0 and no cluster.id"},
		{row: "12", meta: v1X, data: v0, says: "a/meta.properties has version 0 and no cluster.id"},
		{row: "13", meta: v1X, data: other, says: "a/meta.properties is of node 2, and the configuration has node.id 1"},
		{row: "13", meta: other, says: "m/meta.properties is of node 2"},
		{row: "14", meta: withDirectory(v1X, 1), data: withDirectory(v1X, 1), says: "have the same directory.id"},
		{row: "14", meta: v1X, data: "directory.id=AAAAAAAAAAAAAAAAAAAAAQ\n" + v1X, says: "is reserved"},
		{row: "15", meta: v3, data: v1X, says: `m/meta.properties: version "3" is not 0, 1 or 2`},
		{row: "2, 3, 11", meta: v1X, data: v3, id: "X", write: 1, offline: 1}, // 15
		{row: "17", meta: v3, data: v3, says: "m/meta.properties"},
		{row: "18", start: Start{HasLog: true}, write: 2, drop: true, bootstrap: "m is not formatted"},
		{row: "18", meta: v2, data: v2, start: Start{HasLog: true}, write: 2, drop: true, bootstrap: "has no cluster.id"},
		{row: "4", meta: v2, data: v2, start: Start{HasLog: true, KeepLog: true}, write: 2, bootstrap: "has no cluster.id"},
		{row: "18, 21", start: Start{HasLog: true, Snapshot: "X"}, id: "X", write: 2, bootstrap: "m is not formatted"},
		{row: "18, 21", meta: v2, data: v2, start: Start{HasLog: true, Snapshot: "X"}, id: "X", write: 2, bootstrap: "has no cluster.id"},
		{row: "20", meta: v1X, data: v1X, start: Start{HasLog: true, Snapshot: "Y"}, says: `of cluster "X", and the snapshot of the log beside it of cluster "Y"`},
		{row: "20", meta: v2X, data: v2X, start: Start{Zero: "Y"}, says: `of cluster "X", and the zero checkpoint of cluster "Y"`},
		{row: "2, 3, 11", meta: v2X, data: v2X, start: Start{Zero: "X", Snapshot: "X"}, id: "X", write: 2},
		{row: "2, 3, 11", meta: withDirectory(v1X, 1), data: withDirectory(v2X, 2), id: "X"},
	} {
		for _, bootstrap := range []bool{false, true} {
			what := fmt.Sprintf("row %s of %q and %q, bootstrap %v", c.row, c.meta, c.data, bootstrap)
			d := fs.NewDouble()
			for dir, content := range map[string]string{"m": c.meta, "a": c.data} {
				require.NoError(t, d.Mkdir(dir))
				if content != "" {
					require.NoError(t, fs.WriteFile(d, dir+"/"+FileName, []byte(content)))
				}
			}
			set, _ := Load(d, []string{"m", "a"})
			start := c.start
			start.Node, start.Bootstrap = 1, bootstrap
			before := d.Ops()
			have, err := set.Decide(start, draws())
			require.Equal(t, before, d.Ops(), "to decide is to write nothing")
			says := c.says
			if bootstrap && says == "" {
				says = c.bootstrap
			}
			if says != "" {
				require.ErrorContains(t, err, says, what)
				require.Equal(t, bootstrap && c.says == "" && c.bootstrap != "" && !errors.Is(err, ErrNotFormatted), says == "has no cluster.id" || says == "m/meta.properties has no cluster.id", what)
				continue
			}
			require.NoError(t, err, what)
			assert.Equal(t, c.row, have.Row, what)
			assert.Equal(t, c.id, have.ClusterID, what)
			assert.Equal(t, c.drop, have.DropLog, what)
			assert.Len(t, have.Offline, c.offline, what)
			assert.Len(t, have.Write, c.write, what)
			if c.write == 2 {
				assert.Equal(t, "m", have.Write[1].Path, "that of the metadata log last")
			}
			// What was decided is what is read then.
			for _, dir := range have.Write {
				require.NoError(t, Write(d, dir.Path, dir.Properties), what)
			}
			again, _ := Load(d, []string{"m", "a"})
			for _, dir := range again.readable().Dirs {
				assert.True(t, dir.Formatted, what)
				assert.Equal(t, c.id, dir.ClusterID, what)
				assert.True(t, dir.Version == 0 || dir.Directory != DirectoryID{}, what)
			}
			assert.Equal(t, again.readable().Dirs, have.Online.Dirs, what)
			assert.Equal(t, again.Dirs[0].Directory, have.Directory, what)
			for i, dir := range set.Dirs {
				if dir.Formatted {
					assert.Equal(t, dir.Version, again.Dirs[i].Version, "a file keeps its version")
				} else if dir.Err == nil {
					assert.Equal(t, 2, again.Dirs[i].Version)
				}
			}
		}
	}
	_, err := Set{}.Decide(Start{}, draws())
	require.ErrorContains(t, err, "no log directory")
}

func TestIsBootstrap(t *testing.T) {
	for _, c := range []struct{ controller, static, zero, unformatted, want bool }{
		{true, true, false, false, true}, {true, true, true, false, true}, {true, true, true, true, false},
		{true, false, true, false, true}, {true, false, true, true, true}, {true, false, false, false, false},
		{false, false, false, false, false}, {false, false, true, false, false},
	} {
		require.Equal(t, c.want, IsBootstrap(c.controller, c.static, c.zero, c.unformatted), "%+v", c)
	}
}
