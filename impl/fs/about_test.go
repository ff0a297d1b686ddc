package fs

import (
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// The file is named once, whoever names it.
func TestAbout(t *testing.T) {
	full := errors.New("no space left on device")
	const want = "write /d/f: no space left on device"
	require.EqualError(t, About("write", "/d/f", full), want)
	require.EqualError(t, About("write", "/d/f", &iofs.PathError{Op: "write", Path: "/d/f", Err: full}), want)
	require.ErrorIs(t, About("write", "f", full), full)
	require.EqualError(t, About("write", "f", &iofs.PathError{Op: "write", Path: "/d/f", Err: full}), "write f: "+want, "the directory is not lost")
}
