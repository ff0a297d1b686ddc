package metadata

import "fmt"

// ControllerFeatures are the least and the highest level of each feature that a
// RegisterControllerRecord of version 0, with its frame, says its controller supports.
// Errors wrap ErrRecord.
func ControllerFeatures(record []byte) (map[string][2]int16, error) {
	const frame = 3
	if len(record) < frame {
		return nil, fmt.Errorf("%w: it ends too soon", ErrRecord)
	}
	d := decoder{b: record[frame:]}
	d.skip(4 + 16 + 1) // id, incarnation, ZkMigrationReady
	for range d.elements() {
		d.string() // name
		d.string() // host
		d.skip(2 + 2)
		d.tags()
	}
	all := map[string][2]int16{}
	for range d.elements() {
		name := d.string()
		all[name] = [2]int16{d.int16(), d.int16()}
		d.tags()
	}
	d.tags()
	if d.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, d.err)
	}
	return all, nil
}

// elements is the number of elements of a compact array, each of at least a byte.
func (d *decoder) elements() uint64 {
	n := d.uvarint()
	if d.err == nil && (n == 0 || n-1 > uint64(len(d.b))) {
		d.fail("bad array")
	}
	if d.err != nil {
		return 0
	}
	return n - 1
}

func (d *decoder) skip(n int) {
	if n > len(d.b) {
		d.fail("it ends too soon")
		return
	}
	d.b = d.b[n:]
}
