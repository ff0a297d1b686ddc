package scenarios

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kfs "github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// said is what it has said so far.
func (n *process) said() string { return n.stdout.String() + n.stderr.String() }

// fails waits until it ends by itself, with a code that is not 0, and has said something.
func (n *process) fails(says ...string) {
	n.t.Helper()
	n.ends()
	require.Positive(n.t, n.ProcessState.ExitCode(), n.said())
	for _, text := range says {
		require.Contains(n.t, n.said(), text)
	}
}

// says waits until it has said something.
func (n *process) says(text string) {
	n.t.Helper()
	eventually(n.t, "it says "+text, func() bool { return strings.Contains(n.said(), text) })
}

// runs: it has not ended.
func (n *process) runs() {
	n.t.Helper()
	select {
	case <-n.exited:
		require.Fail(n.t, "it has ended", n.said())
	default:
	}
}

// ports are free ones, each another.
func ports(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // when all are known, so that they differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// quorum are the voters of a static quorum, formatted and not started.
type quorum struct {
	t      *testing.T
	addrs  []string
	voters string
	places []*place
	lines  []string
}

// newQuorum makes n voters of cluster id, each with records in its zero checkpoint; nil:
// it has none. Without an id they are not formatted.
func newQuorum(t *testing.T, n int, id string, zero [][]byte, lines ...string) *quorum {
	q := &quorum{t: t, addrs: ports(t, n), lines: lines}
	for i, addr := range q.addrs {
		q.voters += fmt.Sprintf(",%d@%s", i+1, addr)
	}
	q.voters = q.voters[1:]
	for i := range n {
		p := newPlace(t, q.configuration(i)...)
		q.places = append(q.places, p)
		if id != "" {
			p.prepare(int32(i+1), id, zero)
		}
	}
	return q
}

func (q *quorum) configuration(i int) []string {
	return append([]string{
		fmt.Sprintf("node.id=%d", i+1), "listeners=CONTROLLER://" + q.addrs[i], "controller.quorum.voters=" + q.voters,
		"controller.quorum.append.linger.ms=0", "controller.quorum.election.timeout.ms=500", "controller.quorum.fetch.timeout.ms=1000",
	}, q.lines...)
}

func (q *quorum) start(which ...int) (started []*process) {
	if which == nil {
		for i := range q.places {
			which = append(which, i)
		}
	}
	for _, i := range which {
		started = append(started, q.places[i].launch())
	}
	return started
}

// prepare formats the directories as format would, with records of the test's choice.
func (p *place) prepare(node int32, id string, zero [][]byte) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Join(p.dir(0), metadata.LogDir), 0o755))
	require.NoError(p.t, os.MkdirAll(p.dir(1), 0o755))
	if zero != nil {
		p.checkpoint(zero)
	}
	for i := range 2 {
		p.setMeta(i, metaprops.Properties{Version: 1, ClusterID: id, NodeID: node, Directory: metaprops.NewDirectoryID()})
	}
}

func (p *place) setMeta(i int, m metaprops.Properties) {
	p.t.Helper()
	p.changed()
	require.NoError(p.t, os.MkdirAll(p.dir(i), 0o755))
	require.NoError(p.t, metaprops.Write(kfs.OS{}, p.dir(i), m))
}

// checkpoint writes a zero checkpoint, in place of any that there is.
func (p *place) checkpoint(records [][]byte) {
	p.t.Helper()
	p.changed()
	w, err := snapshot.Replace(kfs.OS{}, filepath.Join(p.dir(0), metadata.LogDir), metadata.ZeroID, time.Now().UnixMilli())
	require.NoError(p.t, err)
	require.NoError(p.t, w.Append(records))
	require.NoError(p.t, w.Freeze())
}

// legacy writes a bootstrap.checkpoint.
func (p *place) legacy(records ...[]byte) {
	p.t.Helper()
	dir := p.t.TempDir()
	w, err := snapshot.Create(kfs.OS{}, dir, metadata.ZeroID, 1)
	require.NoError(p.t, err)
	require.NoError(p.t, w.Append(records))
	require.NoError(p.t, w.Freeze())
	b, err := os.ReadFile(filepath.Join(dir, metadata.ZeroID.FileName()))
	require.NoError(p.t, err)
	p.write("d0/"+metadata.LegacyFile, string(b))
}

// history gives a node a past: that voter 1 led epoch 1 and wrote batches, of which this
// node has these. An empty one is the LeaderChange of epoch 1.
func (p *place) history(voters int, batches ...[][]byte) {
	p.t.Helper()
	p.changed()
	dir := filepath.Join(p.dir(0), metadata.LogDir)
	l, _, err := log.Open(kfs.OS{}, dir, log.Config{})
	require.NoError(p.t, err)
	var ids []int32
	for i := range voters {
		ids = append(ids, int32(i+1))
	}
	now := time.Now().UnixMilli()
	for _, b := range batches {
		if len(b) == 0 {
			_, err = l.AppendLeaderChange(1, 1, ids, ids, now)
		} else {
			_, err = l.AppendData(1, b, now)
		}
		require.NoError(p.t, err)
	}
	require.NoError(p.t, l.Flush())
	require.NoError(p.t, l.Close())
	store := quorumstate.New(kfs.OS{}, filepath.Join(dir, quorumstate.FileName), quorumstate.Config{Voters: ids})
	require.NoError(p.t, store.Save(quorumstate.Election{Epoch: 1, Leader: 1, Voted: quorumstate.None}))
	p.write("d0/incarnation", "1\n")
}

var leaderChange [][]byte

// batches are those of the log, each the texts of its records; what is at its end and is
// not whole yet is left out. Where there are thousands of one kind they are counted.
func (p *place) batches() (list [][]string) {
	p.t.Helper()
	p.each(func(b log.Batch) {
		var batch []string
		err := b.Records(func(r log.Record) error {
			if b.Control {
				batch = append(batch, r.Control().String())
				return nil
			}
			d, err := metadata.Decode(r.Value)
			batch = append(batch, d.String())
			return err
		})
		require.NoError(p.t, err)
		list = append(list, batch)
	})
	return list
}

// each calls do with each batch of the log.
func (p *place) each(do func(b log.Batch)) {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.dir(0), metadata.LogDir, "*.log"))
	require.NoError(p.t, err)
	slices.Sort(names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(p.t, err)
		it := log.NewBatches(b)
		for it.Next() {
			do(it.Batch())
		}
	}
}

// data are the records of the log that are not the protocol's, in order.
func (p *place) data() (list []string) {
	for _, b := range p.batches() {
		for _, r := range b {
			if strings.HasPrefix(r, "{") {
				list = append(list, r)
			}
		}
	}
	return list
}

// waitData waits until the log has these records, and no others.
func (p *place) waitData(want ...string) {
	p.t.Helper()
	eventually(p.t, "the log has the records", func() bool { return slices.Equal(want, p.data()) })
}

// Records.
func mv(v metadata.Version) []byte {
	return metadata.AppendFeatureLevel(nil, metadata.VersionFeature, int16(v))
}

func idRecord(id string) []byte { return metadata.AppendClusterID(nil, id) }

func setting(name, value string) []byte {
	return metadata.ConfigRecord{ResourceType: 4, Name: name, Value: &value}.Append(nil)
}

func credentials(n int) (records [][]byte) {
	for i := range n {
		c := metadata.ScramCredential{Name: fmt.Sprint("user", i), Mechanism: metadata.ScramSHA256, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: 4096}
		records = append(records, c.Append(nil))
	}
	return records
}

var (
	begin = metadata.AppendBeginTransaction(nil, "Bootstrap records")
	abort = metadata.AppendAbortTransaction(nil, "Controller failover")
	end   = metadata.AppendEndTransaction(nil)
)

const idVersion = metadata.ClusterIDVersion

// bootstrapOf is a zero checkpoint of a cluster with an id.
func bootstrapOf(id string) [][]byte { return [][]byte{mv(idVersion), idRecord(id)} }

func text(records ...[]byte) (list []string) {
	for _, b := range records {
		r, err := metadata.Decode(b)
		if err != nil {
			panic(err)
		}
		list = append(list, r.String())
	}
	return list
}

// inTransaction is how records stand in a log.
func inTransaction(records ...[]byte) []string {
	return text(slices.Concat([][]byte{begin}, records, [][]byte{end})...)
}

// ask sends a request to one node.
func ask[R kmsg.Response](t *testing.T, addr string, q kmsg.Request) (R, error) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0), kgo.DialTimeout(time.Second))
	require.NoError(t, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := cl.SeedBrokers()[0].Request(ctx, q)
	r, _ := resp.(R)
	return r, err
}

// features are the finalized ones that a node tells of; false: it is not reached.
func features(t *testing.T, addr string) (epoch int64, levels map[string]int16, ok bool) {
	t.Helper()
	q := kmsg.NewPtrApiVersionsRequest()
	q.ClientSoftwareName, q.ClientSoftwareVersion = "test", "1"
	r, err := ask[*kmsg.ApiVersionsResponse](t, addr, q)
	if err != nil {
		return -1, nil, false
	}
	levels = map[string]int16{}
	for _, f := range r.FinalizedFeatures {
		levels[f.Name] = f.MaxVersionLevel
	}
	return r.FinalizedFeaturesEpoch, levels, true
}

// upgrade changes metadata.version, by whoever leads.
func (q *quorum) upgrade(to metadata.Version, kind int8) {
	q.t.Helper()
	eventually(q.t, "metadata.version changes", func() bool {
		for _, addr := range q.addrs {
			u := kmsg.NewPtrUpdateFeaturesRequest()
			u.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: metadata.VersionFeature, MaxVersionLevel: int16(to), UpgradeType: kind}}
			if r, err := ask[*kmsg.UpdateFeaturesResponse](q.t, addr, u); err == nil && r.ErrorCode == 0 {
				return true
			}
		}
		return false
	})
}

// set sets a configuration, by whoever leads.
func (q *quorum) set(name, value string) {
	q.t.Helper()
	eventually(q.t, "a configuration is set", func() bool {
		for _, addr := range q.addrs {
			u := kmsg.NewPtrIncrementalAlterConfigsRequest()
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Value = name, &value
			u.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 4, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c}}}
			if r, err := ask[*kmsg.IncrementalAlterConfigsResponse](q.t, addr, u); err == nil && r.Resources[0].ErrorCode == 0 {
				return true
			}
		}
		return false
	})
}

// snapshot are the records of the latest snapshot, those of configurations left out.
func (p *place) snapshot() (list []string) {
	p.t.Helper()
	dir := filepath.Join(p.dir(0), metadata.LogDir)
	id, ok, err := snapshot.Latest(kfs.OS{}, dir)
	require.NoError(p.t, err)
	require.True(p.t, ok)
	r, err := snapshot.Open(kfs.OS{}, dir, id)
	require.NoError(p.t, err)
	defer r.Close()
	require.NoError(p.t, r.Records(func(b []byte) error {
		if d, err := metadata.Decode(b); err != nil || d.Config == nil {
			list = append(list, d.String())
			return err
		}
		return nil
	}))
	return list
}
