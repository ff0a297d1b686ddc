package checkpoint

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of checkpoints and of starts. Nil counts nothing.
type Metrics struct {
	stages        *prometheus.HistogramVec
	total         prometheus.Histogram
	Pause         prometheus.Histogram
	raw, stored   prometheus.Gauge
	rows          prometheus.Gauge
	attempts      *prometheus.CounterVec
	reject        *prometheus.CounterVec
	start         *prometheus.GaugeVec
	restoreUsed   prometheus.Counter
	fullReplay    prometheus.Counter
	replayed      prometheus.Gauge
	skippedRead   prometheus.Gauge
	trim          prometheus.Gauge
	Age, Distance prometheus.Gauge
	LagMax        prometheus.Gauge
	LagRecover    prometheus.Gauge
}

// NewMetrics makes them and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	seconds := prometheus.ExponentialBuckets(0.001, 4, 10)
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "registry", Name: name, Help: help})
	}
	m := &Metrics{
		stages:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "registry", Name: "ck_stage_seconds", Help: "Time of each stage of a checkpoint.", Buckets: seconds}, []string{"stage"}),
		total:       prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "registry", Name: "ck_total_seconds", Help: "Time of a whole checkpoint.", Buckets: seconds}),
		Pause:       prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "registry", Name: "ck_pause_seconds", Help: "Longest time between two records applied while a checkpoint was made and there were any.", Buckets: seconds}),
		raw:         gauge("ck_bytes_raw", "Bytes of the last image."),
		stored:      gauge("ck_bytes_stored", "Bytes of the last image as it is stored."),
		rows:        gauge("ck_rows", "Rows of the last image."),
		attempts:    prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "registry", Name: "ck_attempts_total", Help: "Checkpoints that were begun, by how they ended."}, []string{"outcome"}),
		reject:      prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "registry", Name: "images_rejected_total", Help: "Images that were not used, by the reason."}, []string{"reason"}),
		start:       prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "registry", Name: "start_seconds", Help: "Time of each stage of the start."}, []string{"stage"}),
		restoreUsed: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "registry", Name: "restore_used_total", Help: "Starts from an image."}),
		fullReplay:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: "registry", Name: "full_replay_total", Help: "Starts that replayed the whole journal."}),
		replayed:    gauge("start_records_replayed", "Records applied before the instance was ready."),
		skippedRead: gauge("start_records_skipped_read", "Records read and not applied before the instance was ready."),
		trim:        gauge("journal_start_offset", "Where the journal begins since it was trimmed last."),
		Age:         gauge("ck_age_seconds", "Age of the newest checkpoint that can be used; -1 without one."),
		Distance:    gauge("ck_distance_records", "Offsets of the journal after the newest checkpoint that can be used."),
		LagMax:      gauge("ck_lag_max_records", "Most records that were waiting to be applied during the last checkpoint."),
		LagRecover:  gauge("ck_lag_recover_seconds", "Time from the end of the last checkpoint until fewer than 10 records waited."),
	}
	r.MustRegister(m.stages, m.total, m.Pause, m.raw, m.stored, m.rows, m.attempts, m.reject, m.start, m.restoreUsed, m.fullReplay,
		m.replayed, m.skippedRead, m.trim, m.Age, m.Distance, m.LagMax, m.LagRecover)
	return m
}

func (m *Metrics) stage(name string, d time.Duration) {
	if m != nil {
		m.stages.WithLabelValues(name).Observe(d.Seconds())
	}
}

func (m *Metrics) attempt(c Commit, d time.Duration, err error) {
	if m == nil {
		return
	}
	outcome := "committed"
	if err != nil {
		outcome = "failed"
	} else {
		m.total.Observe(d.Seconds())
		m.raw.Set(float64(c.Raw))
		m.stored.Set(float64(c.Size))
		m.rows.Set(float64(c.Rows))
	}
	m.attempts.WithLabelValues(outcome).Inc()
}

func (m *Metrics) rejected(err error) {
	if m == nil {
		return
	}
	reason := "damaged"
	for r, is := range map[string]error{
		"other-journal": ErrOtherJournal, "before-start": ErrBeforeStart, "ahead": ErrAhead, "other-epoch": ErrOtherEpoch, "newer": ErrNewer,
	} {
		if errors.Is(err, is) {
			reason = r
		}
	}
	m.reject.WithLabelValues(reason).Inc()
}

func (m *Metrics) trimmed(start int64) {
	if m != nil {
		m.trim.Set(float64(start))
	}
}

// Started says how a start went; replay is how long the tail took, for so many records.
func (m *Metrics) Started(r Restored, replay, total time.Duration, replayed int64) {
	if m == nil {
		return
	}
	if r.From != nil {
		m.restoreUsed.Inc()
	} else {
		m.fullReplay.Inc()
	}
	m.replayed.Set(float64(replayed))
	for stage, d := range map[string]time.Duration{
		"scan": r.Scan, "fetch": r.Fetch, "verify": r.Verify, "load": r.Load, "migrate": r.Migration, "replay": replay, "total": total,
	} {
		m.start.WithLabelValues(stage).Set(d.Seconds())
	}
}
