package concern_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/format"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	event "github.com/quorate/quorate/traces/event/concern"
)

// recorded collects events as texts.
type recorded []string

func (r *recorded) recorder() *concern.Recorder {
	return concern.New(func(e *event.Event) error {
		t := e.Concern + " " + e.Action
		if e.Concern == event.ClusterID || e.Meta != nil {
			t += fmt.Sprintf(" %d", e.Dir)
		}
		if m := e.Meta; m != nil {
			t += fmt.Sprintf(" %s %q", m.Form, m.Cluster)
			if m.Unflushed {
				t += " unflushed"
			}
		}
		if z := e.Zero; z != nil {
			t += fmt.Sprintf(" %d records, level %d, cluster %q", z.Records, z.Level, z.Cluster)
		}
		*r = append(*r, t)
		return nil
	})
}

// What format does to the directories of a controller, in the order in which it does it.
func TestFormat(t *testing.T) {
	plan, err := format.New(format.Options{
		Node: 1, Controller: true, StaticVoters: true, Dirs: []string{"/d0", "/d1"}, ClusterID: "A", Release: "4.5-IV1", Unstable: true,
		NewID: metaprops.NewDirectoryID,
	})
	require.NoError(t, err)
	var got recorded
	disk := fs.NewDouble()
	require.NoError(t, plan.Run(got.recorder().FS(disk, []string{"/d0", "/d1"}, true), func(format.Formatted) {}))
	require.Equal(t, recorded{
		`cluster-id Format 1 V1 "A"`, `cluster-id FlushMeta 1`,
		"bootstrap BeginFormat", "bootstrap WriteZeroPart", "bootstrap FlushZeroPart",
		`bootstrap RenameZero 7 records, level 35, cluster "A"`, "bootstrap FlushZeroDirectory",
		"bootstrap WriteMetaTemp", "bootstrap FlushMetaTemp", `bootstrap RenameMeta 0 V1 "A"`, "bootstrap FlushMetaDirectory",
	}, got)
}

// unformatted are two directories that a node has made, which lack its cluster id.
func unformatted(t *testing.T) (*fs.Double, []metaprops.Dir) {
	disk := fs.NewDouble()
	var dirs []metaprops.Dir
	for _, path := range []string{"/d0", "/d1"} {
		require.NoError(t, disk.Mkdir(path))
		p := metaprops.Properties{Version: 2, NodeID: 1, Directory: metaprops.NewDirectoryID()}
		require.NoError(t, metaprops.Write(disk, path, p))
		dirs = append(dirs, metaprops.Dir{Path: path, Properties: p, Formatted: true})
	}
	return disk, dirs
}

func TestAdoption(t *testing.T) {
	disk, dirs := unformatted(t)
	var got recorded
	fsys := got.recorder().FS(disk, []string{"/d0", "/d1"}, false)
	none := func(metaprops.Dir, error) { t.Error("no directory fails") }
	require.NoError(t, metaprops.Settle(fsys, dirs, "/d0", none))
	require.NoError(t, metaprops.Persist(fsys, metaprops.Adopting(dirs, "A"), "/d0", none))
	require.Equal(t, recorded{
		"cluster-id FlushMeta 0", "cluster-id FlushMeta 1",
		`cluster-id WriteMeta 1 V2 "A"`, "cluster-id FlushMeta 1", `cluster-id WriteMeta 0 V2 "A"`, "cluster-id FlushMeta 0",
	}, got)
}

// What fails has not happened, and what was not done is not recorded.
func TestWhatHappens(t *testing.T) {
	disk, dirs := unformatted(t)
	var got recorded
	fsys := got.recorder().FS(disk, []string{"/d0", "/d1"}, false)
	disk.Fail(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSyncDir {
			return fs.Error
		}
		return fs.None
	})
	require.Error(t, metaprops.Persist(fsys, metaprops.Adopting(dirs, "A"), "/d0", func(metaprops.Dir, error) {}))
	require.Equal(t, recorded{`cluster-id WriteMeta 1 V2 "A"`, `cluster-id WriteMeta 0 V2 "A"`}, got)

	disk, dirs = unformatted(t)
	got = nil
	fsys = got.recorder().FS(disk, []string{"/d0", "/d1"}, false)
	file, err := fsys.Create("/d0/meta.properties")
	require.NoError(t, err)
	dirs[0].ClusterID = "B"
	_, err = file.WriteAt(dirs[0].Encode(), 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, recorded{`cluster-id WriteMeta 0 V2 "B" unflushed`}, got, "in place")
}

// Recording ends with an error of whoever records, and the node goes on.
func TestRecorderFails(t *testing.T) {
	calls := 0
	r := concern.New(func(*event.Event) error { calls++; return errors.New("full") })
	r.Record(event.Event{})
	r.Record(event.Event{})
	require.Equal(t, 1, calls)
	var none *concern.Recorder
	none.Record(event.Event{})
	none.Watch(nil)
	require.NoError(t, none.Close())
	require.Equal(t, fs.FS(fs.OS{}), none.FS(fs.OS{}, nil, true))
}

func TestFileOf(t *testing.T) {
	records := [][]byte{
		metadata.AppendFeatureLevel(nil, metadata.VersionFeature, 35), metadata.AppendFeatureLevel(nil, "group.version", 1),
		{1, 99, 0}, metadata.AppendClusterID(nil, "A"), metadata.AppendEndTransaction(nil), {7},
	}
	require.Equal(t, event.File{Records: 6, Level: 35, Cluster: "A", Digest: concern.Digest(records)}, concern.FileOf(records, nil))
	require.Equal(t, []event.Record{
		{Kind: event.MetaVersion, Level: 35}, {Kind: event.Data, Count: 2}, {Kind: event.ClusterIDRec, Cluster: "A"}, {Kind: event.EndOfTx}, {Kind: event.Data, Count: 1},
	}, concern.RecordsOf(records))
}
