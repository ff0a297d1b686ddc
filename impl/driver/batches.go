package driver

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/log"
)

// TakeBatches checks the records of a Fetch response that came from a peer, and
// describes them in m.Batches (reusing its memory). The first bad batch ends the
// records: m is left with the good ones before it, and the error says why. A
// caller that wants Kafka's behaviour goes on if there are any, and takes the
// request for failed if there are none.
func TakeBatches(m *core.Message) error {
	m.Batches = m.Batches[:0]
	if len(m.Records) == 0 {
		return nil
	}
	it := log.NewBatchesAt(m.Records, int64(m.Offset), 0)
	for it.Next() {
		b := it.Batch()
		info := core.BatchInfo{
			Base: core.Offset(b.Base), End: core.Offset(b.End), Epoch: core.Epoch(b.Epoch),
			Control: b.Control, Count: b.End - b.Base, Size: len(b.Bytes),
		}
		if b.Control {
			var err error
			if info.Controls, err = controls(b); err != nil {
				m.Records = m.Records[:it.Pos()-len(b.Bytes)]
				return fmt.Errorf("records of a fetch response: %w", err)
			}
		}
		m.Batches = append(m.Batches, info)
	}
	m.Records = m.Records[:it.Pos()]
	if err := it.Err(); err != nil {
		return fmt.Errorf("records of a fetch response: %w", err)
	}
	return nil
}
