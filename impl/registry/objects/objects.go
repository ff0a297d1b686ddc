// Package objects is where images are kept: whole objects that are written once, under a
// name that nobody else uses, read and deleted. [Dir] is a directory; the buckets of
// clouds are in impl/registry/cloud, a module of its own, since they bring many others.
package objects

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store keeps objects. Keys are paths with forward slashes, of letters, digits and
// "-._/".
type Store interface {
	// Put writes an object from what is read until the end. It is there, whole and
	// durable, when Put returns nil, and not at all if it fails before its end. Errors:
	// ErrExist, and then nothing was changed.
	Put(ctx context.Context, key string, r io.Reader) error
	// Get reads an object. Errors: ErrNotExist.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// List lists what begins with a prefix, sorted by key.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete deletes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// Sweeper is a store in which what was begun may lie about.
type Sweeper interface {
	// Sweep removes what was begun at least so long ago and never became an object.
	Sweep(ctx context.Context, age time.Duration) error
}

// Object that is kept.
type Object struct {
	Key  string
	Size int64
	// Time when it was written, by the store's clock.
	Time time.Time
}

var (
	// ErrExist: there is an object of that name.
	ErrExist = errors.New("object exists")
	// ErrNotExist: there is no object of that name.
	ErrNotExist = errors.New("object does not exist")
)
