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

// BrokerFeatures are those of a RegisterBrokerRecord of version 0 to 3, with its frame, and
// the id of its broker. Errors wrap ErrRecord.
func BrokerFeatures(record []byte) (id int32, all map[string][2]int16, err error) {
	const frame, last = 3, 3
	if len(record) < frame || record[2] > last {
		return 0, nil, fmt.Errorf("%w: no registration of a broker of a version up to %d", ErrRecord, last)
	}
	version := record[2]
	d := decoder{b: record[frame:]}
	id = d.int32()
	if version >= 2 {
		d.skip(1) // IsMigratingZkBroker
	}
	d.skip(16 + 8) // incarnation, epoch
	for range d.elements() {
		d.string() // name
		d.string() // host
		d.skip(2 + 2)
		d.tags()
	}
	all = map[string][2]int16{}
	for range d.elements() {
		name := d.string()
		all[name] = [2]int16{d.int16(), d.int16()}
		d.tags()
	}
	d.nullable() // rack
	d.skip(1)    // fenced
	if version >= 1 {
		d.skip(1) // in controlled shutdown
	}
	d.tags()
	if len(d.b) > 0 {
		d.fail("%d bytes after its end", len(d.b))
	}
	if d.err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrRecord, d.err)
	}
	return id, all, nil
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
