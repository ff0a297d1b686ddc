package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// migrations are the steps of the tables' layout; the number of those done is the schema
// version of a file. Each is run once, in a transaction, and never changed afterwards.
var migrations = []string{
	`CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
	CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), off INTEGER NOT NULL, epoch INTEGER NOT NULL);
	CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE schemas (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, type TEXT NOT NULL, text TEXT NOT NULL, refs TEXT NOT NULL);
	CREATE TABLE subjects (name TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE versions (subject TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (subject, version)) WITHOUT ROWID;
	CREATE TABLE refs (schema INTEGER NOT NULL, subject TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (subject, version, schema)) WITHOUT ROWID;
	CREATE TABLE config (subject TEXT PRIMARY KEY, level TEXT NOT NULL) WITHOUT ROWID;
	INSERT INTO position VALUES (1, -1, 0);
	INSERT INTO counters VALUES ('schema', 1);`,
	`CREATE INDEX versions_schema ON versions (schema);
	CREATE INDEX refs_schema ON refs (schema);`,
}

// SchemaVersion is the layout of the tables that this binary makes and serves.
var SchemaVersion = len(migrations)

// ErrNewer: a file was made by a newer binary.
var ErrNewer = errors.New("layout of the database is newer than this version knows")

// versionOf is the schema version of a file, 0 if it is empty.
func versionOf(ctx context.Context, q querier) (int, error) {
	var v int
	err := q.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&v)
	return v, err
}

// migrate brings the tables to a version, in one transaction.
func migrate(ctx context.Context, c *sql.Conn, to int) error {
	from, err := versionOf(ctx, c)
	if err != nil {
		return err
	}
	if from > to {
		return fmt.Errorf("schema version %d, and this binary has %d: %w", from, to, ErrNewer)
	}
	if from == to {
		return nil
	}
	if _, err := c.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if _, err := c.ExecContext(ctx, migrations[i]); err != nil {
			c.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
			return fmt.Errorf("migrate to schema version %d: %w", i+1, err)
		}
	}
	if _, err := c.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, to)); err != nil {
		c.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		return err
	}
	_, err = c.ExecContext(ctx, `COMMIT`)
	return err
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
