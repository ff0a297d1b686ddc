package metrics

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// kafka describes a metric of Kafka's group raft-metrics.
func kafka(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kafka_server_raft_metrics_"+strings.ReplaceAll(name, "-", "_"), help, labels, nil)
}

func ours(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("quorate_"+name, help, nil, nil)
}

var (
	currentState     = kafka("current-state", "1 for the state that the replica is in: leader, candidate, prospective, prospective-voted, follower, unattached, unattached-voted or observer.", "state")
	currentLeader    = kafka("current-leader", "Id of the leader; -1 if none is known.")
	currentVote      = kafka("current-vote", "Id of the replica that has the vote of this one; -1 if none.")
	currentDirectory = kafka("current-vote-directory-id", "1 for the directory id that has the vote of this replica.", "directory_id")
	currentEpoch     = kafka("current-epoch", "Epoch of the quorum.")
	highWatermark    = kafka("high-watermark", "High watermark, exclusive; -1 if it is not known.")
	logEndOffset     = kafka("log-end-offset", "End offset of the log, exclusive.")
	logEndEpoch      = kafka("log-end-epoch", "Epoch of the last record of the log.")
	unknownVoters    = kafka("number-unknown-voter-connections", "Voters whose address is not known: always 0, since the voter set is static.")
	numberOfVoters   = kafka("number-of-voters", "Size of the voter set.")
	commitAvg        = kafka("commit-latency-avg", "Average time in milliseconds from when a leader takes records to when they are committed; NaN if there were none.")
	commitMax        = kafka("commit-latency-max", "Longest time in milliseconds from when a leader takes records to when they are committed; NaN if there were none.")
	electionAvg      = kafka("election-latency-avg", "Average time in milliseconds from when this replica stands to when it knows a leader; NaN if there was no election.")
	electionMax      = kafka("election-latency-max", "Longest time in milliseconds from when this replica stands to when it knows a leader; NaN if there was no election.")
	appendRate       = kafka("append-records-rate", "Records appended as leader, per second.")
	fetchRate        = kafka("fetch-records-rate", "Records fetched from the leader, per second.")
	pollIdle         = kafka("poll-idle-ratio-avg", "Share of its time in which the loop of the replica waits.")

	appendTotal   = ours("append_records_total", "Records appended as leader since the start.")
	fetchTotal    = ours("fetch_records_total", "Records fetched from a leader since the start.")
	electionTotal = ours("elections_total", "Elections in which this replica stood, and which ended with a leader, since the start.")
	flushedOffset = ours("log_flushed_offset", "Offset below which the log is durable.")
	startOffset   = ours("log_start_offset", "Offset at which the log starts.")
	appliedOffset = ours("applied_offset", "Offset below which records were applied to the state machine.")
	incarnation   = ours("incarnation", "How often the replica has started.")

	connections      = ours("connections", "Connections that were accepted and are open.")
	voterConnections = ours("voter_connections", "Connections that were accepted, are open, and are of voters.")
	requests         = ours("requests_in_progress", "Requests of others that are not answered: parked fetches, mostly.")
	unsentBytes      = ours("unsent_bytes", "Bytes of responses that were not taken yet.")
	refusedTotal     = prometheus.NewDesc("quorate_refused_total", "Connections and requests that were refused since the start.", []string{"reason"}, nil)
)

// Describe implements [prometheus.Collector].
func (t *Tracker) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		currentState, currentLeader, currentVote, currentDirectory, currentEpoch, highWatermark, logEndOffset, logEndEpoch,
		unknownVoters, numberOfVoters, commitAvg, commitMax, electionAvg, electionMax, appendRate, fetchRate, pollIdle,
		appendTotal, fetchTotal, electionTotal, flushedOffset, startOffset, appliedOffset, incarnation,
		connections, voterConnections, requests, unsentBytes, refusedTotal,
	} {
		c <- d
	}
}

// Collect implements [prometheus.Collector].
func (t *Tracker) Collect(c chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stepped {
		return
	}
	now, s := t.now(), t.state
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v uint64) {
		c <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	latency := func(avg, max *prometheus.Desc, w *window) {
		total := w.total(now)
		if total.n == 0 {
			total = sample{1, math.NaN(), math.NaN()}
		}
		gauge(avg, total.sum/float64(total.n))
		gauge(max, total.max)
	}
	gauge(currentState, 1, t.stateName())
	gauge(currentLeader, float64(s.Leader))
	vote := t.vote()
	gauge(currentVote, float64(vote.ID))
	if vote.Directory != (core.DirectoryID{}) {
		gauge(currentDirectory, 1, vote.Directory.String())
	}
	gauge(currentEpoch, float64(s.Epoch))
	gauge(highWatermark, float64(s.HighWatermark))
	gauge(logEndOffset, float64(s.LogEnd))
	gauge(logEndEpoch, float64(s.LastEpoch))
	gauge(unknownVoters, 0)
	gauge(numberOfVoters, float64(t.voters))
	latency(commitAvg, commitMax, &t.commit)
	latency(electionAvg, electionMax, &t.election)
	gauge(appendRate, t.appends.rate(now))
	gauge(fetchRate, t.fetches.rate(now))
	idle, busy := t.idle.total(now).sum, t.busy.total(now).sum
	idle += max(0, now.Sub(t.ended).Seconds()) // the step after has not begun
	gauge(pollIdle, idle/max(idle+busy, 1e-9))

	count(appendTotal, t.appended)
	count(fetchTotal, t.fetched)
	count(electionTotal, t.elections)
	gauge(flushedOffset, float64(s.Flushed))
	gauge(startOffset, float64(s.LogStart))
	gauge(appliedOffset, float64(s.Applied))
	gauge(incarnation, float64(s.Incarnation))
	if t.network == nil {
		return
	}
	w := t.network()
	gauge(connections, float64(w.Connections))
	gauge(voterConnections, float64(w.VoterConnections))
	gauge(requests, float64(w.Requests))
	gauge(unsentBytes, float64(w.Unsent))
	for r, n := range w.Refused {
		c <- prometheus.MustNewConstMetric(refusedTotal, prometheus.CounterValue, float64(n), node.Refusal(r).String())
	}
}
