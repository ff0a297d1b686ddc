//go:build !linux && !darwin

package checker

import "os"

// locks says that locks tell whether a process lives. Without them nothing that was
// left is removed.
const locks = false

func tryLock(*os.File) bool { return true }
