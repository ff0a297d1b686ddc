package core

// Replica is one KRaft replica. It is not safe for concurrent use.
type Replica struct {
	cfg Config
}

// New makes the replica of a process that starts, from what its disk holds
// (QuorumState.initialize). A configuration or a disk that cannot be is an error.
func New(cfg Config, disk DiskState, now Ticks, out *Effects) (*Replica, error) {
	return nil, nil
}

// Step applies one input. It never blocks and reads no clock: what it does is a
// function of the configuration, the disk at the start, and the inputs so far.
func (r *Replica) Step(now Ticks, in *Input, out *Effects) {}

// State is what can be observed of the replica now.
func (r *Replica) State() State { return State{} }
