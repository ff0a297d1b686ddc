//go:build interop

package interop

import (
	"os/exec"
	"syscall"
)

// endWithUs has the system kill a process when this one ends, also if it is killed.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
