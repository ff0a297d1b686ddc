package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/kafkalog"
)

func newTraceImport() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Turn what other programs record into traces"}
	cmd.AddCommand(newImportKafkaLog())
	return cmd
}

func newImportKafkaLog() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "kafka-log -o DIR FILE...",
		Short: "Read the logs of Apache Kafka's controllers",
		Long: `Read the logs of Apache Kafka's controllers: what the logger org.apache.kafka.raft
prints at TRACE, of all nodes in one file or in one for each, from the start of the
processes. Files whose names end in .zst, and files of gzip, are decompressed.

The directory gets a file node-N.ndjson.zst for each node and a run.json that says what
the log leaves unsaid; ` + "`quorate trace check DIR`" + ` judges it. The step of an event is the
line of the log. To judge logs without a copy, and see lines of the log in a rejection:
` + "`quorate trace check -kafka-log FILE...`" + `. docs/kafka-logs.md says which logger to set.

Exit codes: 0 read, 2 a line that cannot be read.`,
		Example: "  quorate trace import kafka-log -o out/kafka raft-1.log raft-2.log raft-3.log",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("trace import kafka-log: which logs?")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("trace import kafka-log: to which directory? -o DIR")
			}
			log, err := kafkalog.Read(args...)
			if err != nil {
				return err
			}
			if err := writeRecording(out, "kafka-log", &log.Run, log.Events); err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			for _, id := range slices.Sorted(maps.Keys(log.Events)) {
				fmt.Fprintf(w, "node %d: %d events\n", id, len(log.Events[id]))
			}
			unknownLines(w, log)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the directory to write, which must not hold a run (required)")
	return cmd
}

// unknownLines says what was passed over without being known.
func unknownLines(w io.Writer, log *kafkalog.Log) {
	for _, kind := range slices.Sorted(maps.Keys(log.Unknown)) {
		u := log.Unknown[kind]
		fmt.Fprintf(w, "passed over: %d lines %q of a kind that is not known, the first is %s:%d\n", u.Count, kind, u.File, u.Line)
	}
}

// writeRecording writes a run: a file for each node, and run.json.
func writeRecording(dir, kind string, run *traces.Run, events map[int32][]event.Event) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(struct {
		Kind string `json:"kind"`
		*traces.Run
	}{kind, run}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, traces.RunFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	for id, list := range events {
		if err := writeEvents(filepath.Join(dir, fmt.Sprintf("node-%d.ndjson.zst", id)), list); err != nil {
			return err
		}
	}
	return nil
}

func writeEvents(path string, list []event.Event) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	w := event.NewWriter(z, list[0].Node)
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return z.Close()
}
