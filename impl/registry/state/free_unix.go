//go:build linux || darwin

package state

import "syscall"

// free is how many bytes are free where a directory is, for who is not root.
func free(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
