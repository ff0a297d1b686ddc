package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
)

// Schema as a reader sees it.
type Schema struct {
	Subject    string
	Version    int
	ID         int
	Type       string
	Text       string
	References []Reference
	Deleted    bool
}

// Subjects with versions, sorted, that begin with a prefix; those all of whose versions
// are deleted if deleted is set.
func (d *DB) Subjects(ctx context.Context, prefix string, deleted bool) ([]string, error) {
	names, err := list[string](ctx, d.read, `SELECT DISTINCT subject FROM versions WHERE deleted <= ? ORDER BY subject`, deleted)
	if prefix == "" || err != nil {
		return names, err
	}
	kept := []string{}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// Versions of a subject. Errors: a [*Refusal].
func (d *DB) Versions(ctx context.Context, subject string, deleted bool) ([]int, error) {
	versions, err := list[int](ctx, d.read, `SELECT version FROM versions WHERE subject = ? AND deleted <= ? ORDER BY version`, subject, deleted)
	if err == nil && len(versions) == 0 {
		return nil, errSubjectNotFound(subject)
	}
	return versions, err
}

// Version of a subject, 0 for the latest. Errors: a [*Refusal].
func (d *DB) Version(ctx context.Context, subject string, version int, deleted bool) (Schema, error) {
	s := Schema{Subject: subject}
	var refs string
	err := d.read.QueryRowContext(ctx, `SELECT v.version, v.deleted, s.id, s.type, s.text, s.refs FROM versions v JOIN schemas s ON s.id = v.schema
		WHERE v.subject = ? AND (v.version = ? OR ? = 0) AND v.deleted <= ? ORDER BY v.version DESC LIMIT 1`, subject, version, version, deleted).
		Scan(&s.Version, &s.Deleted, &s.ID, &s.Type, &s.Text, &refs)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := d.Versions(ctx, subject, deleted); err != nil {
			return s, err
		}
		return s, errVersionNotFound(version)
	}
	if err != nil {
		return s, err
	}
	s.References, err = parseRefs(refs)
	return s, err
}

// SchemaByID is a schema wherever it is used. Errors: a [*Refusal].
func (d *DB) SchemaByID(ctx context.Context, id int) (Schema, error) {
	s := Schema{ID: id}
	var refs string
	err := d.read.QueryRowContext(ctx, `SELECT type, text, refs FROM schemas WHERE id = ?`, id).Scan(&s.Type, &s.Text, &refs)
	if errors.Is(err, sql.ErrNoRows) {
		return s, errSchemaNotFound(id)
	}
	if err != nil {
		return s, err
	}
	s.References, err = parseRefs(refs)
	return s, err
}

// Uses of a schema: subjects and versions. Errors: a [*Refusal].
func (d *DB) Uses(ctx context.Context, id int, deleted bool) ([]Schema, error) {
	if _, err := d.SchemaByID(ctx, id); err != nil {
		return nil, err
	}
	rows, err := d.read.QueryContext(ctx, `SELECT subject, version FROM versions WHERE schema = ? AND deleted <= ? ORDER BY subject, version`, id, deleted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []Schema{}
	for rows.Next() {
		s := Schema{ID: id}
		if err := rows.Scan(&s.Subject, &s.Version); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// Lookup finds a schema under a subject. Errors: a [*Refusal].
func (d *DB) Lookup(ctx context.Context, subject, schemaType, text string, references []Reference, deleted bool) (Schema, error) {
	refs, err := refsText(references)
	if err != nil {
		return Schema{}, err
	}
	s := Schema{Subject: subject, Type: schemaType, Text: text, References: references}
	err = d.read.QueryRowContext(ctx, `SELECT v.version, v.deleted, s.id FROM schemas s JOIN versions v ON v.schema = s.id
		WHERE s.hash = ? AND v.subject = ? AND v.deleted <= ? ORDER BY v.version DESC LIMIT 1`, hashOf(schemaType, text, refs), subject, deleted).
		Scan(&s.Version, &s.Deleted, &s.ID)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := d.Versions(ctx, subject, deleted); err != nil {
			return s, err
		}
		return s, refuse(40403, "Schema not found")
	}
	return s, err
}

// Referrers are the ids of schemas that refer to a version.
func (d *DB) Referrers(ctx context.Context, subject string, version int) ([]int, error) {
	return list[int](ctx, d.read, `SELECT schema FROM refs WHERE subject = ? AND version = ? ORDER BY schema`, subject, version)
}

// Level is the compatibility set for a subject ("": for all). Without orDefault, one that
// has none is a [*Refusal].
func (d *DB) Level(ctx context.Context, subject string, orDefault bool) (level string, err error) {
	names := []string{subject}
	if orDefault && subject != "" {
		names = append(names, "")
	}
	for _, name := range names {
		err = d.read.QueryRowContext(ctx, `SELECT level FROM config WHERE subject = ?`, name).Scan(&level)
		if !errors.Is(err, sql.ErrNoRows) {
			return level, err
		}
	}
	if subject != "" && !orDefault {
		return "", errNoConfig(subject)
	}
	return DefaultLevel, nil
}

func parseRefs(text string) (refs []Reference, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &refs)
	}
	return refs, err
}

func list[T any](ctx context.Context, q querier, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
