package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Record of the journal.
type Record struct {
	Offset int64
	Epoch  int32
	Value  []byte
}

// ErrOrder: a record is not after the last one that was applied.
var ErrOrder = errors.New("record is not after the last one applied")

// statements of the writer.
type statements struct {
	all []*sql.Stmt

	position, findSchema, counter, addSchema, addRef, dropSchema, dropRefs *sql.Stmt
	subject, nextVersion, addVersion, version, ofSchema                    *sql.Stmt
	latest, versions, softDelete, dropVersion, used, referenced            *sql.Stmt
	config, setConfig, dropConfig                                          *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, c *sql.Conn) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.position, `UPDATE position SET off = ?, epoch = ?`},
		{&s.findSchema, `SELECT id FROM schemas WHERE hash = ?`},
		{&s.counter, `UPDATE counters SET value = ? WHERE name = 'schema'`},
		{&s.addSchema, `INSERT INTO schemas VALUES (?, ?, ?, ?, ?)`},
		{&s.addRef, `INSERT OR IGNORE INTO refs VALUES (?, ?, ?)`},
		{&s.dropSchema, `DELETE FROM schemas WHERE id = ?`},
		{&s.dropRefs, `DELETE FROM refs WHERE schema = ?`},
		{&s.subject, `SELECT next FROM subjects WHERE name = ?`},
		{&s.nextVersion, `INSERT INTO subjects VALUES (?, 2) ON CONFLICT (name) DO UPDATE SET next = next + 1 RETURNING next - 1`},
		{&s.addVersion, `INSERT INTO versions VALUES (?, ?, ?, 0)`},
		{&s.version, `SELECT schema, deleted FROM versions WHERE subject = ? AND version = ?`},
		{&s.ofSchema, `SELECT version, deleted FROM versions WHERE subject = ? AND schema = ? ORDER BY version DESC LIMIT 1`},
		{&s.latest, `SELECT version FROM versions WHERE subject = ? AND deleted = 0 ORDER BY version DESC LIMIT 1`},
		{&s.versions, `SELECT version, schema, deleted FROM versions WHERE subject = ? ORDER BY version`},
		{&s.softDelete, `UPDATE versions SET deleted = 1 WHERE subject = ? AND version = ?`},
		{&s.dropVersion, `DELETE FROM versions WHERE subject = ? AND version = ?`},
		{&s.used, `SELECT count(*) FROM versions WHERE schema = ?`},
		{&s.referenced, `SELECT count(*) FROM refs WHERE subject = ? AND version = ?`},
		{&s.config, `SELECT level FROM config WHERE subject = ?`},
		{&s.setConfig, `INSERT OR REPLACE INTO config VALUES (?, ?)`},
		{&s.dropConfig, `DELETE FROM config WHERE subject = ?`},
	} {
		stmt, err := c.PrepareContext(ctx, p.text)
		if err != nil {
			return err
		}
		*p.to = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

// close closes them: with one open, SQLite would keep the file open too.
func (s *statements) close() (err error) {
	for _, stmt := range s.all {
		err = errors.Join(err, stmt.Close())
	}
	return err
}

// Apply applies records, in the order of the journal, and says for each what came of it.
// They and the position after them are in the file together or not at all. What is refused
// moves the position too: it is refused everywhere. Errors: ErrUnknownOp, ErrOrder, and
// those of the file; then those before the record are applied, if they are in results.
func (d *DB) Apply(ctx context.Context, records []Record) (results []Result, err error) {
	if len(records) == 0 {
		return nil, nil
	}
	if _, err := d.conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return nil, err
	}
	rollback := func(err error) ([]Result, error) {
		_, e := d.conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		if e != nil && strings.Contains(e.Error(), "no transaction is active") {
			e = nil // SQLite has done so itself, as it does if the disk is full
		}
		return nil, errors.Join(fmt.Errorf("write %s: %w", d.path, err), e, d.recall(context.WithoutCancel(ctx)))
	}
	var last int64
	if err := d.conn.QueryRowContext(ctx, `SELECT off FROM position`).Scan(&last); err != nil {
		return rollback(err)
	}
	var unknown error
	applied, vocabulary := 0, d.vocabulary
	for _, r := range records {
		if r.Offset <= last {
			return rollback(fmt.Errorf("offset %d after %d: %w", r.Offset, last, ErrOrder))
		}
		op, err := DecodeOp(r.Value)
		if err != nil {
			unknown = fmt.Errorf("record at offset %d: %w", r.Offset, err)
			break
		}
		result, err := d.apply(ctx, op)
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			result = Result{Refused: refusal}
		} else if err != nil {
			return rollback(fmt.Errorf("record at offset %d: %w", r.Offset, err))
		}
		results = append(results, result)
		last = r.Offset
		applied++
		vocabulary = max(vocabulary, op.Vocabulary)
	}
	if applied > 0 {
		r := records[applied-1]
		if _, err := d.stmts.position.ExecContext(ctx, r.Offset, r.Epoch); err != nil {
			return rollback(err)
		}
	}
	if _, err := d.stmts.counter.ExecContext(ctx, d.nextID); err != nil {
		return rollback(err)
	}
	if vocabulary > d.vocabulary {
		if _, err := d.conn.ExecContext(ctx, `INSERT OR REPLACE INTO meta VALUES ('vocabulary', ?)`, strconv.Itoa(vocabulary)); err != nil {
			return rollback(err)
		}
	}
	if _, err := d.conn.ExecContext(ctx, `COMMIT`); err != nil {
		return rollback(err)
	}
	d.vocabulary = vocabulary
	return results, unknown
}

// apply carries out an operation. A [*Refusal] has changed nothing.
func (d *DB) apply(ctx context.Context, op *Op) (Result, error) {
	switch op.Type {
	case OpRegister:
		return d.register(ctx, op)
	case OpDeleteVersion:
		return d.deleteVersion(ctx, op)
	case OpDeleteSubject:
		return d.deleteSubject(ctx, op)
	case OpSetConfig:
		if !slices.Contains(Levels, op.Level) {
			return Result{}, refuse(42203, "Invalid compatibility level %s", op.Level)
		}
		_, err := d.stmts.setConfig.ExecContext(ctx, op.Subject, op.Level)
		return Result{Level: op.Level}, err
	case OpDeleteConfig:
		var level string
		switch err := d.stmts.config.QueryRowContext(ctx, op.Subject).Scan(&level); {
		case errors.Is(err, sql.ErrNoRows) && op.Subject != "":
			return Result{}, errNoConfig(op.Subject)
		case errors.Is(err, sql.ErrNoRows):
			return Result{Level: DefaultLevel}, nil
		case err != nil:
			return Result{}, err
		}
		_, err := d.stmts.dropConfig.ExecContext(ctx, op.Subject)
		return Result{Level: level}, err
	}
	return Result{}, fmt.Errorf("%w: %q", ErrUnknownOp, op.Type)
}

// hashOf is what makes two schemas the same one.
func hashOf(schemaType, text, refs string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d ", len(schemaType), len(text))
	h.Write([]byte(schemaType))
	h.Write([]byte(text))
	h.Write([]byte(refs))
	return h.Sum(nil)
}

// refsText is how references are stored.
func refsText(refs []Reference) (string, error) {
	if len(refs) == 0 {
		return "", nil
	}
	b, err := json.Marshal(refs)
	return string(b), err
}

func (d *DB) register(ctx context.Context, op *Op) (Result, error) {
	s := &d.stmts
	refs, err := refsText(op.References)
	if err != nil {
		return Result{}, err
	}
	sum := hashOf(op.SchemaType, op.Schema, refs)
	id := 0
	if err := s.findSchema.QueryRowContext(ctx, sum).Scan(&id); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Result{}, err
	}
	if id != 0 {
		var version int
		var deleted bool
		err := s.ofSchema.QueryRowContext(ctx, op.Subject, id).Scan(&version, &deleted)
		if err == nil && !deleted {
			return Result{ID: id, Version: version}, nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return Result{}, err
		}
	}
	for _, r := range op.References {
		_, deleted, err := d.findVersion(ctx, r.Subject, r.Version)
		if err != nil {
			return Result{}, err
		}
		if deleted {
			return Result{}, errBadReference(r)
		}
	}
	if op.Level != "" {
		if err := d.unchanged(ctx, op); err != nil {
			return Result{}, err
		}
	}
	if id == 0 {
		// A counter, and not the largest id there is: that would be given again after it
		// was deleted.
		id = d.nextID
		if _, err := s.addSchema.ExecContext(ctx, id, sum, op.SchemaType, op.Schema, refs); err != nil {
			return Result{}, err
		}
		d.nextID++
		for _, r := range op.References {
			if _, err := s.addRef.ExecContext(ctx, id, r.Subject, r.Version); err != nil {
				return Result{}, err
			}
		}
	}
	var version int
	if err := s.nextVersion.QueryRowContext(ctx, op.Subject).Scan(&version); err != nil {
		return Result{}, err
	}
	_, err = s.addVersion.ExecContext(ctx, op.Subject, version, id)
	return Result{ID: id, Version: version}, err
}

// unchanged refuses a registration whose check no longer holds.
func (d *DB) unchanged(ctx context.Context, op *Op) error {
	latest, err := d.latestVersion(ctx, op.Subject)
	if err != nil {
		return err
	}
	level, err := d.levelOf(ctx, op.Subject)
	if err != nil {
		return err
	}
	if latest != op.Checked || level != op.Level {
		return refuse(CodeChanged, "Subject '%s' was changed while the schema was checked", op.Subject)
	}
	return nil
}

// latestVersion of a subject that is not deleted, 0 if there is none.
func (d *DB) latestVersion(ctx context.Context, subject string) (version int, err error) {
	err = d.stmts.latest.QueryRowContext(ctx, subject).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

// levelOf is the compatibility that counts for a subject.
func (d *DB) levelOf(ctx context.Context, subject string) (level string, err error) {
	for _, name := range []string{subject, ""} {
		err = d.stmts.config.QueryRowContext(ctx, name).Scan(&level)
		if !errors.Is(err, sql.ErrNoRows) {
			return level, err
		}
	}
	return DefaultLevel, nil
}

// findVersion is the schema of a version; deleted says so also if there is none.
func (d *DB) findVersion(ctx context.Context, subject string, version int) (schema int, deleted bool, err error) {
	err = d.stmts.version.QueryRowContext(ctx, subject, version).Scan(&schema, &deleted)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, true, nil
	}
	return schema, deleted, err
}
