//go:build !unix

package node

import "errors"

// LockDir is not supported.
func LockDir(string) (func(), error) {
	return nil, errors.New("locks are not supported on this system")
}
