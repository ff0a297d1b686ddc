package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"

	"github.com/quorate/quorate/impl/registry/pace"
)

// Image is what a copy of a database says of itself.
type Image struct {
	Position
	// Rows of all tables, Bytes of the file.
	Rows, Bytes int64
	// Digest of the rows, "" if it was not asked for.
	Digest string
}

// tables in the order in which they are digested, each with an order of its rows.
var tables = []struct{ name, order string }{
	{"meta", "name"}, {"position", "one"}, {"counters", "name"}, {"schemas", "id"}, {"subjects", "name"},
	{"versions", "subject, version"}, {"config", "subject"}, {"refs", "subject, version, schema"},
}

// Look reads where a copy stands, and how large it is, and no more.
func Look(ctx context.Context, path string) (img Image, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return img, err
	}
	img.Bytes = info.Size()
	db, done, err := openCopy(path, nil)
	if err != nil {
		return img, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if img.Position, err = position(ctx, db); err != nil {
		err = fmt.Errorf("%s: where it stands: %w", path, err)
	}
	return img, err
}

// Inspect opens a copy, has SQLite check how it is built, and reads where it stands. The
// file is not changed. That its bytes are those that were written is not its business: a
// letter that has changed within a text is none of SQLite's.
func Inspect(ctx context.Context, path string, digest bool, p *pace.Pacer) (img Image, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return img, err
	}
	img.Bytes = info.Size()
	db, done, err := openCopy(path, p)
	if err != nil {
		return img, err
	}
	defer func() { err = errors.Join(err, done()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return img, fmt.Errorf("%s: %w", path, err)
	}
	if verdict != "ok" {
		return img, fmt.Errorf("%s: %s", path, verdict)
	}
	if img.Position, err = position(ctx, db); err != nil {
		return img, fmt.Errorf("%s: where it stands: %w", path, err)
	}
	for _, t := range tables {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&n); err != nil {
			return img, fmt.Errorf("%s: %w", path, err)
		}
		img.Rows += n
	}
	if digest {
		img.Digest, err = digestOf(ctx, db)
	}
	return img, err
}

// Digest of all rows: equal of two databases exactly if all that they hold is equal. How
// the file is laid out, and its schema version, do not count.
func (d *DB) Digest(ctx context.Context) (string, error) {
	_, digest, err := d.DigestAt(ctx)
	return digest, err
}

// DigestAt is the digest, and the last record that is applied in the rows it is of.
func (d *DB) DigestAt(ctx context.Context) (at Position, digest string, err error) {
	// All from one snapshot.
	tx, err := d.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return at, "", err
	}
	defer tx.Rollback()
	if at, err = position(ctx, tx); err != nil {
		return at, "", err
	}
	digest, err = digestOf(ctx, tx)
	return at, digest, err
}

func digestOf(ctx context.Context, q querier) (string, error) {
	h := sha256.New()
	for _, t := range tables {
		if err := digestTable(ctx, q, h, t.name, t.order); err != nil {
			return "", fmt.Errorf("digest %s: %w", t.name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestTable(ctx context.Context, q querier, h hash.Hash, table, order string) error {
	rows, err := q.QueryContext(ctx, `SELECT * FROM `+table+` ORDER BY `+order)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n", table, len(columns))
	values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, v := range values {
			fmt.Fprintf(h, "%d ", len(v))
			h.Write(v)
		}
	}
	return rows.Err()
}

// Migrate brings the tables of a file to a schema version (0: [SchemaVersion]). A crash
// leaves the old ones or the new ones. Errors: ErrNewer.
func Migrate(ctx context.Context, path string, schema int) error {
	if schema == 0 {
		schema = SchemaVersion
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return migrate(ctx, c, schema)
}
