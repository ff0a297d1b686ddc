package sim

import "github.com/quorate/quorate/impl/driver"

// attach begins to record the node: now, as soon as an event can tell of it, or with its
// next start if it is down.
func (n *node) attach() error {
	switch {
	case !n.up:
		n.attachDue = true
		return nil
	case !n.raw.Attachable():
		n.c.after(millisecond, item{kind: attaches, node: n.index})
		return nil
	}
	n.c.stepNode = n.index
	n.silent = false
	err := n.driver.Attach(n.raw, driver.Records{}, n)
	if err != nil && storageFault(err) { // the log is read for it
		n.silent, n.attachDue = true, true
		return n.crash()
	}
	return err
}

// detach ends the recording, as soon as the node is up. It still gives events, to whoever
// checks the run.
func (n *node) detach() error {
	switch {
	case !n.up || n.attachDue:
		n.c.after(millisecond, item{kind: detaches, node: n.index})
		return nil
	case n.silent:
		return nil
	}
	err := n.driver.Detach(n.raw, n)
	n.raw.Trace(true)
	n.silent = true
	return err
}
