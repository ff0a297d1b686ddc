package node

import "time"

// Observer is told what the loop does: for metrics, and for logs of what a replica has
// become. The loop calls it, and waits for it.
type Observer interface {
	// Stepped is called at the start and after each step: when it began and ended, and
	// what the replica is now. Between steps the loop waits.
	Stepped(began, ended time.Time, s State)
}

// begin notes when a step begins, if somebody wants to know.
func (n *Node) begin() {
	if n.cfg.Observer != nil {
		n.began = time.Now()
	}
}

// observe tells the observer of the step.
func (n *Node) observe() {
	if n.cfg.Observer != nil {
		n.cfg.Observer.Stepped(n.began, time.Now(), n.State())
	}
}
