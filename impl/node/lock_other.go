//go:build !unix

package node

import "errors"

func lockDir(string) (func(), error) {
	return nil, errors.New("locks are not supported on this system")
}
