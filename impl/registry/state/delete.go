package state

import (
	"context"
	"database/sql"
	"errors"
)

func (d *DB) deleteVersion(ctx context.Context, op *Op) (Result, error) {
	var next int
	if err := d.stmts.subject.QueryRowContext(ctx, op.Subject).Scan(&next); errors.Is(err, sql.ErrNoRows) {
		return Result{}, errSubjectNotFound(op.Subject)
	} else if err != nil {
		return Result{}, err
	}
	version := op.Version
	if version == 0 {
		latest, err := d.latestVersion(ctx, op.Subject)
		if err != nil {
			return Result{}, err
		}
		version = latest
	}
	schema, deleted, err := d.findVersion(ctx, op.Subject, version)
	switch {
	case err != nil:
		return Result{}, err
	case schema == 0:
		return Result{}, errVersionNotFound(version)
	case !op.Permanent && deleted:
		return Result{}, errVersionSoftDeleted(op.Subject, version)
	case op.Permanent && !deleted:
		return Result{}, errVersionNotSoftDeleted(op.Subject, version)
	}
	if err := d.unreferenced(ctx, op.Subject, version); err != nil {
		return Result{}, err
	}
	if !op.Permanent {
		_, err := d.stmts.softDelete.ExecContext(ctx, op.Subject, version)
		return Result{Version: version}, err
	}
	return Result{Version: version}, d.drop(ctx, op.Subject, version, schema)
}

// drop removes a version, and its schema if it was the last to have it. The subject stays:
// its counter is what keeps versions from being given twice.
func (d *DB) drop(ctx context.Context, subject string, version, schema int) error {
	s := &d.stmts
	if _, err := s.dropVersion.ExecContext(ctx, subject, version); err != nil {
		return err
	}
	var n int
	if err := s.used.QueryRowContext(ctx, schema).Scan(&n); err != nil || n > 0 {
		return err
	}
	if _, err := s.dropSchema.ExecContext(ctx, schema); err != nil {
		return err
	}
	_, err := s.dropRefs.ExecContext(ctx, schema)
	return err
}

func (d *DB) unreferenced(ctx context.Context, subject string, version int) error {
	var n int
	if err := d.stmts.referenced.QueryRowContext(ctx, subject, version).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return errReferenced(subject, version)
	}
	return nil
}

func (d *DB) deleteSubject(ctx context.Context, op *Op) (Result, error) {
	type entry struct {
		version, schema int
		deleted         bool
	}
	rows, err := d.stmts.versions.QueryContext(ctx, op.Subject)
	if err != nil {
		return Result{}, err
	}
	defer rows.Close()
	var all []entry
	live := 0
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.version, &e.schema, &e.deleted); err != nil {
			return Result{}, err
		}
		if !e.deleted {
			live++
		}
		all = append(all, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return Result{}, err
	}
	switch {
	case len(all) == 0:
		return Result{}, errSubjectNotFound(op.Subject)
	case op.Permanent && live > 0:
		return Result{}, errSubjectNotSoftDeleted(op.Subject)
	case !op.Permanent && live == 0:
		return Result{}, errSubjectSoftDeleted(op.Subject)
	}
	for _, e := range all {
		if !op.Permanent && e.deleted {
			continue
		}
		if err := d.unreferenced(ctx, op.Subject, e.version); err != nil {
			return Result{}, err
		}
	}
	var result Result
	for _, e := range all {
		if !op.Permanent && e.deleted {
			continue
		}
		if op.Permanent {
			err = d.drop(ctx, op.Subject, e.version, e.schema)
		} else {
			_, err = d.stmts.softDelete.ExecContext(ctx, op.Subject, e.version)
		}
		if err != nil {
			return Result{}, err
		}
		result.Versions = append(result.Versions, e.version)
	}
	if _, err := d.stmts.dropConfig.ExecContext(ctx, op.Subject); err != nil {
		return Result{}, err
	}
	return result, nil
}
