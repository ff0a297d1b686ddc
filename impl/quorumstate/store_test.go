package quorumstate

import (
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var ggs = [16]byte{0x19, 0x64, 0xb4, 0xea, 0xa3, 0xbb, 0x48, 0x9d, 0x8e, 0xf8, 0x7b, 0xa0, 0xb6, 0x05, 0x10, 0x43}

// The lines are Apache Kafka's.
const (
	line0     = `{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}`
	line1     = `{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"GGS06qO7SJ2O-HutgVQQSw","data_version":1}`
	line1None = `{"leaderId":3,"leaderEpoch":7,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`
)

func TestFormat(t *testing.T) {
	voted, _, err := Decode([]byte(line1))
	require.NoError(t, err)
	for _, c := range []struct {
		line    string
		version int16
		voters  []int32
		e       Election
	}{
		{line0, 0, []int32{1, 2, 3}, Election{Epoch: 2, Leader: 1, Voted: None}},
		{line1, 1, nil, Election{Epoch: 2, Leader: None, Voted: 1, VotedDirectory: voted.VotedDirectory}},
		{line1None, 1, nil, Election{Epoch: 7, Leader: 3, Voted: None}},
	} {
		have, err := Encode(c.e, c.version, c.voters)
		require.NoError(t, err)
		assert.Equal(t, c.line, string(have))
		e, version, err := Decode([]byte(c.line))
		require.NoError(t, err)
		assert.Equal(t, c.version, version)
		assert.Equal(t, c.e, e)
	}
	// By hand: "GGS0" is 000110 000110 010010 110100, so 0x18 0x64 0xb4.
	assert.Equal(t, []byte{0x18, 0x64, 0xb4}, voted.VotedDirectory[:3])
	assert.EqualValues(t, 0x4b, voted.VotedDirectory[15]) // "Sw": 010010 110000
}

func TestStore(t *testing.T) {
	d := fs.NewDouble()
	require.NoError(t, d.Mkdir("l"))
	s := New(d, "l/"+FileName, Config{Version: 1})
	e, found, err := s.Load()
	require.NoError(t, err)
	assert.False(t, found)
	assert.Equal(t, Election{Leader: None, Voted: None}, e)
	want := Election{Epoch: 4, Leader: None, Voted: 2, VotedDirectory: ggs}
	require.NoError(t, s.Save(want))
	e, found, err = New(d, "l/"+FileName, Config{Version: 0}).Load()
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, want, e)
	assert.Panics(t, func() { New(d, "x", Config{Version: 2}) })
}

func TestRefused(t *testing.T) {
	for content, reason := range map[string]string{
		``:            "not JSON",
		`{`:           "not JSON",
		`[]`:          "not JSON",
		line0[1:]:     "not JSON",
		line1 + `x`:   "more than one",
		line1 + line1: "more than one",
		`{}`:          "data_version is missing",
		`{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":2}`:                                             "data_version 2 is not supported",
		`{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":-1}`:                                            "data_version -1 is not supported",
		`{"leaderId":1,"leaderEpoch":2,"votedId":-1}`:                                                              "data_version is missing",
		`{"leaderId":1,"leaderEpoch":2,"data_version":0}`:                                                          "votedId is missing",
		`{"leaderId":1,"leaderEpoch":2147483648,"votedId":-1,"data_version":0}`:                                    "leaderEpoch 2147483648 is out of range",
		`{"leaderId":1,"leaderEpoch":1.5,"votedId":-1,"data_version":0}`:                                           "out of range",
		`{"leaderId":1,"leaderEpoch":-1,"votedId":-1,"data_version":0}`:                                            "epoch -1 is negative",
		`{"leaderId":1,"leaderEpoch":2147483647,"votedId":-1,"data_version":0}`:                                    "epoch 2147483647 is above the last",
		`{"leaderId":-2,"leaderEpoch":1,"votedId":-1,"data_version":0}`:                                            "leader -2",
		`{"leaderId":1,"leaderEpoch":1,"votedId":-5,"data_version":0}`:                                             "vote -5",
		`{"leaderId":1,"leaderEpoch":1,"votedId":1,"data_version":1}`:                                              "votedDirectoryId is missing",
		`{"leaderId":1,"leaderEpoch":1,"votedId":1,"votedDirectoryId":"AAAA","data_version":1}`:                    "not a uuid",
		`{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"GGS06qO7SJ2O-HutgVQQSw","data_version":1}`: "without a vote",
	} {
		d := fs.NewDouble()
		f, err := d.Create(FileName)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(content), 0)
		require.NoError(t, err)
		_, found, err := New(d, FileName, Config{}).Load()
		assert.ErrorContains(t, err, reason, "%s", content)
		assert.ErrorContains(t, err, FileName)
		assert.False(t, found)
		have, err := fs.ReadFile(d, FileName)
		require.NoError(t, err)
		assert.Equal(t, content, string(have))
	}
}

// TestSweep fails and crashes each operation of some saves: what is found is the
// old state or the new.
func TestSweep(t *testing.T) {
	states := []Election{
		{Epoch: 1, Leader: None, Voted: 1, VotedDirectory: ggs},
		{Epoch: 1, Leader: 1, Voted: 1, VotedDirectory: ggs},
		{Epoch: 2, Leader: None, Voted: None},
		{Epoch: 3, Leader: None, Voted: 2},
	}
	const ops = 4 * 5 // create, write, sync, rename, flush of the directory
	crashes := 0
	for _, fault := range []fs.Fault{fs.Crash, fs.Error, fs.TornWrite, fs.DiskFull} {
		for k := 1; k <= ops; k++ {
			d := fs.NewDouble()
			d.FailAt(k, fault)
			s := New(d, FileName, Config{Version: 1})
			saved, err := 0, error(nil)
			for saved < len(states) && err == nil {
				if err = s.Save(states[saved]); err == nil {
					saved++
				}
			}
			require.Equal(t, ops, max(d.Ops(), ops))
			if err == nil { // the fault was not for this operation
				require.Equal(t, ops, d.Ops())
				continue
			}
			require.ErrorIs(t, err, ErrFailed)
			require.Equal(t, err, s.Save(states[0]))
			_, _, again := s.Load()
			require.Equal(t, err, again)
			check := func(d *fs.Double, what string) Election {
				crashes++
				where := fmt.Sprintf("fault %d at %d, %s", fault, k, what)
				e, found, err := New(d, FileName, Config{Version: 1}).Load()
				require.NoError(t, err, where)
				require.Equal(t, e == Election{Leader: None, Voted: None}, !found)
				allowed := []Election{{Leader: None, Voted: None}, states[saved]}
				if saved > 0 {
					allowed[0] = states[saved-1]
				}
				require.Contains(t, allowed, e, where)
				// What was loaded stays.
				after, _, err := New(d.Crash(fs.KeepNone), FileName, Config{}).Load()
				require.NoError(t, err, where)
				require.Equal(t, e, after, where)
				return e
			}
			check(d.Crash(fs.KeepAll), "all")
			check(d.Crash(fs.KeepNone), "none")
			for n := 1; n <= k; n++ {
				check(d.Crash(fs.LoseOnly(n)), fmt.Sprint("lose ", n))
				check(d.Crash(fs.KeepOnly(n)), fmt.Sprint("only ", n))
			}
			for seed := range uint64(10) {
				check(d.Crash(fs.KeepRandom(seed)), fmt.Sprint("seed ", seed))
			}
			d.Restart()
			e := check(d, "process restarts")
			require.NoError(t, New(d, FileName, Config{Version: 1}).Save(e))
		}
	}
	t.Logf("%d points with 4 faults, %d crashes", ops, crashes)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(line0))
	f.Add([]byte(line1))
	f.Add([]byte(line1None))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, version, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(e, version, nil)
		require.NoError(t, err)
		e2, version2, err := Decode(again)
		require.NoError(t, err)
		require.Equal(t, e, e2)
		require.Equal(t, version, version2)
	})
}
