//go:build !unix || solaris || aix

package mapped

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) error { return nil }
