// Package cloud keeps images in buckets: of S3, Google Cloud Storage and Azure, and of
// whatever else gocloud.dev/blob has a driver for. It is a module of its own, and the
// drivers of the clouds are linked with the build tag cloud only, since each brings an SDK.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/quorate/quorate/impl/registry/objects"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Bucket is a store of images.
type Bucket struct{ b *blob.Bucket }

// Open opens the bucket that an URL names, as gocloud.dev/blob has them: s3://NAME?region=R,
// gs://NAME, azblob://NAME, file:///DIR. prefix=P of the query puts everything below P.
func Open(ctx context.Context, u *url.URL) (objects.Store, error) {
	b, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", u.Redacted(), err)
	}
	return New(b), nil
}

// New makes a store of an open bucket.
func New(b *blob.Bucket) *Bucket { return &Bucket{b} }

// Put implements [objects.Store].
func (s *Bucket) Put(ctx context.Context, key string, r io.Reader) error {
	// What was written until then is an object as soon as the writer is closed, unless its
	// context has ended before.
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	w, err := s.b.NewWriter(ctx, key, &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"})
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if _, err := io.Copy(w, r); err != nil {
		abort()
		return errors.Join(fmt.Errorf("write %s: %w", key, err), ignoreAbort(w.Close()))
	}
	err = w.Close()
	if gcerrors.Code(err) == gcerrors.FailedPrecondition || gcerrors.Code(err) == gcerrors.AlreadyExists {
		return fmt.Errorf("%s: %w: %w", key, objects.ErrExist, err)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// ignoreAbort is the error of a close, but for the one that was meant.
func ignoreAbort(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// Get implements [objects.Store].
func (s *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := s.b.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fmt.Errorf("%s: %w", key, objects.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return r, nil
}

// List implements [objects.Store].
func (s *Bucket) List(ctx context.Context, prefix string) (all []objects.Object, err error) {
	for list := s.b.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		all = append(all, objects.Object{Key: o.Key, Size: o.Size, Time: o.ModTime})
	}
}

// Delete implements [objects.Store].
func (s *Bucket) Delete(ctx context.Context, key string) error {
	if err := s.b.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// Close closes the bucket.
func (s *Bucket) Close() error { return s.b.Close() }
