package core

import "testing"

// benchLeader is a leader of three without a trace, its first record committed.
func benchLeader(b *testing.B) *rig {
	g := &rig{now: 1000}
	r, err := New(Config{ID: 1, Voters: voters(1, 2, 3), PreVote: true}, file(4, NoReplica, 1), g.now, &g.out)
	if err != nil {
		b.Fatal(err)
	}
	g.r = r
	yes := Message{Kind: Vote, Response: true, Epoch: 4, Leader: NoReplica, Granted: true}
	g.step(Input{Kind: InputResponse, Peer: 2, Correlation: r.peers[1].correlation, Message: &yes})
	g.flush()
	if r.role != Leader {
		b.Fatal("no leader")
	}
	return g
}

// One record through a leader: append, flush, fetch of a follower that commits it.
func BenchmarkStepLeader(b *testing.B) {
	g := benchLeader(b)
	records := [][]byte{make([]byte, 100)}
	fetch := Message{Kind: Fetch, From: ReplicaKey{ID: 2}, Epoch: 4, LastEpoch: 4, MaxWait: 500, MaxBytes: 1 << 20}
	append, flushed := Input{Kind: InputAppend, Records: records}, Input{Kind: InputFlushed}
	request := Input{Kind: InputRequest, Message: &fetch}
	b.ReportAllocs()
	for b.Loop() {
		append.Client++
		g.r.Step(g.now, &append, &g.out)
		flushed.Flush, flushed.End = g.r.log.lastFlush, g.r.log.end
		g.r.Step(g.now, &flushed, &g.out)
		fetch.Offset, fetch.HighWatermark = g.r.log.end, g.r.hw
		g.r.Step(g.now, &request, &g.out)
		if g.r.hw != g.r.log.end {
			b.Fatal("not committed")
		}
	}
}

// A fetch that is parked and answered by the next append.
func BenchmarkStepParkedFetch(b *testing.B) {
	g := benchLeader(b)
	records := [][]byte{make([]byte, 100)}
	fetch := Message{Kind: Fetch, From: ReplicaKey{ID: 2}, Epoch: 4, LastEpoch: 4, MaxWait: 500, MaxBytes: 1 << 20}
	append := Input{Kind: InputAppend, Records: records}
	request := Input{Kind: InputRequest, Message: &fetch}
	b.ReportAllocs()
	for b.Loop() {
		flushed := Input{Kind: InputFlushed, Flush: g.r.log.lastFlush, End: g.r.log.end}
		g.r.Step(g.now, &flushed, &g.out)
		fetch.Offset, fetch.HighWatermark = g.r.log.end, g.r.log.end
		g.r.Step(g.now, &request, &g.out)
		append.Client++
		g.r.Step(g.now, &append, &g.out)
		if len(g.r.parked) != 0 {
			b.Fatal("still parked")
		}
	}
}

// One batch through a follower: response, flush, next fetch.
func BenchmarkStepFollower(b *testing.B) {
	g := &rig{now: 1000}
	r, err := New(Config{ID: 1, Voters: voters(1, 2, 3), PreVote: true}, file(4, 2, NoReplica), g.now, &g.out)
	if err != nil {
		b.Fatal(err)
	}
	response := Message{Kind: Fetch, Response: true, Epoch: 4, Leader: 2, Diverging: NoEpochEnd,
		Batches: make([]BatchInfo, 1), Records: make([]byte, 100)}
	in, flushed := Input{Kind: InputResponse, Peer: 2, Message: &response}, Input{Kind: InputFlushed}
	b.ReportAllocs()
	for b.Loop() {
		end := r.log.end
		response.Offset, response.HighWatermark = end, end
		response.Batches[0] = BatchInfo{Base: end, End: end + 1, Epoch: 4, Count: 1, Size: 100}
		in.Correlation = r.peers[1].correlation
		r.Step(g.now, &in, &g.out)
		flushed.Flush, flushed.End = r.log.lastFlush, r.log.end
		r.Step(g.now, &flushed, &g.out)
		if r.log.flushed != end+1 {
			b.Fatal("not appended")
		}
	}
}
