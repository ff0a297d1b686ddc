package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// walBytes is how large the write-ahead log may grow before it is brought into the file.
const walBytes = 4 << 20

// DB is a database that one goroutine writes and many read. The file is a cache of the
// journal, so nothing of it is flushed: after a crash it is made anew.
type DB struct {
	path    string
	write   *sql.DB
	conn    *sql.Conn // of the writer
	read    *sql.DB
	stmts   statements
	version int
	// Of the writer, and in the file at the end of each transaction: the highest
	// vocabulary of any operation applied, and the id of the next schema.
	vocabulary, nextID int

	// free is how many bytes are free where a directory is.
	free func(dir string) (int64, error)

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Position is where a database stands.
type Position struct {
	// Journal is the identity of the journal, "" of a database that has none yet.
	Journal string
	// Offset of the last record applied, -1 if none is.
	Offset int64
	// Epoch of that record.
	Epoch int32
	// Schema is the version of the tables' layout, Vocabulary the highest of any
	// operation applied.
	Schema, Vocabulary int
}

// Open opens the database in a file, which is made if it is missing, and brings its tables
// to the schema version given (0: [SchemaVersion]). Errors: ErrNewer.
func Open(ctx context.Context, path string, schema int) (*DB, error) {
	if schema == 0 {
		schema = SchemaVersion
	}
	d := &DB{path: path, version: schema, free: free}
	var err error
	// Other than by the writer the log is brought into the file beside it, so that no
	// write pays for what has piled up while a copy was made (shrink).
	if d.write, err = sql.Open("sqlite", dsn(path, "_pragma=journal_mode(wal)", "_pragma=synchronous(off)", "_pragma=wal_autocheckpoint(0)", "_pragma=cache_size(-16000)")); err != nil {
		return nil, err
	}
	d.write.SetMaxOpenConns(1)
	if d.conn, err = d.write.Conn(ctx); err == nil {
		err = migrate(ctx, d.conn, schema)
	}
	if err == nil {
		err = d.stmts.prepare(ctx, d.conn)
	}
	if err == nil {
		err = d.recall(ctx)
	}
	if err == nil {
		// It is a reader that brings the log into the file: it flushes as little as the writer.
		d.read, err = sql.Open("sqlite", dsn(path, "_pragma=query_only(1)", "_pragma=synchronous(off)", "_pragma=cache_size(-8000)"))
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	d.read.SetMaxOpenConns(8)
	d.read.SetMaxIdleConns(8)
	run, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.wg.Go(func() { d.shrink(run) })
	return d, nil
}

// recall reads what the writer keeps in memory.
func (d *DB) recall(ctx context.Context) error {
	p, err := position(ctx, d.conn)
	if err != nil {
		return err
	}
	d.vocabulary = p.Vocabulary
	return d.conn.QueryRowContext(ctx, `SELECT value FROM counters WHERE name = 'schema'`).Scan(&d.nextID)
}

// dsn names a file for the driver.
func dsn(path string, params ...string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	u.RawQuery = "_pragma=busy_timeout(10000)"
	for _, p := range params {
		u.RawQuery += "&" + p
	}
	return u.String()
}

// shrink brings the write-ahead log into the file when it is large, as far as no reader
// is in the way: the writer never waits for that, and begins the log anew after it.
func (d *DB) shrink(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if info, err := os.Stat(d.path + "-wal"); err != nil || info.Size() < walBytes {
			continue
		}
		// What cannot be done now is next time.
		_, _ = d.read.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`)
	}
}

// Close closes the database.
func (d *DB) Close() error {
	if d.stop != nil {
		d.stop()
		d.wg.Wait()
	}
	var errs []error
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.stmts.close(), d.conn.Close())
	}
	return errors.Join(append(errs, d.write.Close())...)
}

// Position is where the database stands, for a reader.
func (d *DB) Position(ctx context.Context) (Position, error) { return position(ctx, d.read) }

func position(ctx context.Context, q querier) (p Position, err error) {
	if p.Schema, err = versionOf(ctx, q); err != nil {
		return p, err
	}
	if err = q.QueryRowContext(ctx, `SELECT off, epoch FROM position`).Scan(&p.Offset, &p.Epoch); err != nil {
		return p, err
	}
	if p.Journal, err = meta(ctx, q, "journal"); err != nil {
		return p, err
	}
	v, err := meta(ctx, q, "vocabulary")
	if err == nil && v != "" {
		p.Vocabulary, err = strconv.Atoi(v)
	}
	return p, err
}

func meta(ctx context.Context, q querier, name string) (value string, err error) {
	err = q.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, err
}

// Begin says of which journal the database is to be; one that was made of another is an
// error.
func (d *DB) Begin(ctx context.Context, journal string) error {
	p, err := position(ctx, d.conn)
	if err != nil {
		return err
	}
	if p.Journal != "" && p.Journal != journal {
		return fmt.Errorf("%s: made of journal %s, and not of %s", d.path, p.Journal, journal)
	}
	_, err = d.conn.ExecContext(ctx, `INSERT OR REPLACE INTO meta VALUES ('journal', ?)`, journal)
	return err
}
