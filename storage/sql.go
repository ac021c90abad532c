// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/moonhelm/moonhelm/release"
)

// SQL keeps records in a PostgreSQL database, in the tables of Helm's driver of
// that name, so that each reads what the other writes. What Helm has no column
// for is in a table of our own, and where we may not make that one, lists
// read records singly and holders are not known.
//
// It is made by [PostgreSQL], connects when it is first used, and is closed with
// [SQL.Close].
type SQL struct {
	db        *database
	namespace string
	now       func() time.Time
}

// PostgreSQL is the driver behind HELM_DRIVER=sql. The connection is a URL or
// words like "host=... user=...", as PostgreSQL's own programs take them, and
// what it leaves out comes from the environment (PGHOST and its like). Without
// a word on sslmode, a connection over the network is encrypted or fails.
// Namespace "" is good for listing all namespaces and for records that name
// theirs.
func PostgreSQL(connection, namespace string) (*SQL, error) {
	db, err := newDatabase(connection)
	if err != nil {
		return nil, err
	}
	return &SQL{db: db, namespace: namespace, now: time.Now}, nil
}

// In returns a driver on the same connections, bound to another namespace.
func (s *SQL) In(namespace string) Driver {
	other := *s
	other.namespace = namespace
	return &other
}

// Close ends the connections of the driver, and of those that [SQL.In] made of
// it. A later call connects again.
func (s *SQL) Close() { s.db.close() }

// note is what our own table says of a record. It is true of one state of the
// record's row: who changes the row without us makes it void.
type note struct {
	Summary *summaryJSON `json:"summary,omitempty"`
	Holder  string       `json:"holder,omitempty"`
}

const (
	joinNotes = ` LEFT JOIN moonhelm_records_v1 n ON n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`
	// Without our table there is a row of nothing.
	joinNothing = ` LEFT JOIN (SELECT NULL::text AS note, NULL::text AS beat) n ON true`

	selectLabels = `(SELECT json_object_agg(l.key, l.value)::text FROM custom_labels_v1 l
		WHERE l.releasekey = r.key AND l.releasenamespace = r.namespace AND l.key IS NOT NULL)`

	insertRelease = `INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdat)
		VALUES ($1::text, '` + secretType + `', $2::text, $3::text, $4::text, $5::integer, $6::text, '` + owner + `', $7::integer)`
	updateRelease = `UPDATE releases_v1 r SET body = $2::text, name = $3::text, version = $5::integer, status = $6::text,
		owner = '` + owner + `', modifiedat = $7::integer
		WHERE key = $1::text AND namespace = $4::text AND ($8::text = '' OR ` + versionOf + ` = $8::text)`
	deleteLabels = `DELETE FROM custom_labels_v1 WHERE releasekey = $1::text AND releasenamespace = $2::text`
	// What is next to a row is written where this transaction wrote the row.
	written = ` (SELECT * FROM releases_v1 WHERE key = $1::text AND namespace = $2::text
		AND xmin::text = (txid_current() & 4294967295)::text)`
	clearLabels  = deleteLabels + ` AND EXISTS` + written
	insertLabels = `INSERT INTO custom_labels_v1 (releasekey, releasenamespace, key, value)
		SELECT r.key, r.namespace, l.key, l.value FROM` + written + ` r, json_each_text($3::json) l`
	writeNote = `INSERT INTO moonhelm_records_v1 (key, namespace, state, note, beat)
		SELECT r.key, r.namespace, (txid_current() & 4294967295)::text, $3::text, $4::text FROM` + written + ` r
		ON CONFLICT (key, namespace) DO UPDATE SET state = EXCLUDED.state, note = EXCLUDED.note, beat = EXCLUDED.beat`

	// versionOf is the Version of a row: its state, and when it was made, which
	// another of the same key does not share.
	versionOf = `r.xmin::text || '/' || r.createdat`
	// beatOf is the heartbeat of a row.
	beatOf = `COALESCE(n.beat, '') || ' ' || r.xmin::text`
	// underway are the rows of those at work.
	underway = `(r.status LIKE 'pending-%' OR r.status = 'uninstalling')`
)

// from is the FROM clause of what reads records.
func (d *database) from() string {
	if d.notes {
		return " FROM releases_v1 r" + joinNotes
	}
	return " FROM releases_v1 r" + joinNothing
}

// Resource implements [Driver].
func (s *SQL) Resource() string { return "" }

// Create implements [Driver].
func (s *SQL) Create(ctx context.Context, r Record) (string, error) {
	doing := "create the record of release " + r.Key.String()
	version, err := s.write(ctx, doing, insertRelease, r)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation {
		return "", &ExistsError{r.Key}
	}
	return version, err
}

// Update implements [Driver].
func (s *SQL) Update(ctx context.Context, r Record) (string, error) {
	return s.write(ctx, "update the record of release "+r.Key.String(), updateRelease, r, r.Version)
}

// write writes a record's row, its labels and its note in one transaction, which
// takes one round trip. Each statement sees what those before it did, and the
// first locks the row against others who write the same record.
func (s *SQL) write(ctx context.Context, doing, statement string, r Record, version ...any) (now string, err error) {
	if err := checkKey(r.Key); err != nil {
		return "", err
	}
	err = s.db.do(ctx, doing, func(ctx context.Context) error {
		var err error
		now, err = s.writeRow(ctx, statement, r, version)
		return err
	})
	return now, err
}

// writeRow is write with the tables there. args are those of the statement that
// come after the row's.
func (s *SQL) writeRow(ctx context.Context, statement string, r Record, args []any) (string, error) {
	now := s.now()
	n := note{Holder: r.Holder}
	if !r.Status.InProgress() {
		n.Holder = ""
	}
	if r.Summary != nil {
		n.Summary = shorten(r.Summary)
	}
	key, row := objectName(r.Key), []any{objectName(r.Key), string(r.Data), r.Name, r.Namespace, r.Revision,
		string(r.Status), now.Unix()}
	var batch pgx.Batch
	var wrote int64
	var version string
	var status release.Status
	batch.Queue(statement, append(row, args...)...).Exec(func(tag pgconn.CommandTag) error {
		wrote = tag.RowsAffected()
		return nil
	})
	batch.Queue(clearLabels, key, r.Namespace)
	if len(r.Labels) > 0 {
		batch.Queue(insertLabels, key, r.Namespace, ascii(r.Labels))
	}
	if s.db.notes {
		batch.Queue(writeNote, key, r.Namespace, ascii(n), beatAt(now))
	}
	batch.Queue(`SELECT `+versionOf+`, r.status FROM releases_v1 r WHERE r.key = $1::text AND r.namespace = $2::text`, key,
		r.Namespace).
		QueryRow(func(row pgx.Row) error { return row.Scan(&version, &status) })
	err := s.db.pool.SendBatch(ctx, &batch).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", &NotFoundError{r.Key}
	case err == nil && wrote == 0:
		return "", &ChangedError{Key: r.Key, Status: status}
	}
	return version, err
}

// Read implements [Driver].
func (s *SQL) Read(ctx context.Context, k Key, _ string) (Record, error) {
	if err := checkKey(k); err != nil {
		return Record{}, err
	}
	r := Record{Key: k}
	err := s.db.do(ctx, "read release "+k.String(), func(ctx context.Context) error {
		var labels, noted, kind *string
		err := s.db.pool.QueryRow(ctx, `SELECT r.body, r.status, r.type, `+versionOf+`, n.note, `+selectLabels+s.db.from()+
			` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).
			Scan(&r.Data, &r.Status, &kind, &r.Version, &noted, &labels)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFoundError{k}
		}
		if kind != nil {
			r.Format = formatOf(*kind)
		}
		r.annotate(labels, noted)
		return err
	})
	return r, err
}

// List implements [Driver].
func (s *SQL) List(ctx context.Context, q Query) ([]Record, error) {
	var out []Record
	err := s.db.do(ctx, "list releases", func(ctx context.Context) error {
		out = nil
		rows, err := s.db.pool.Query(ctx, `SELECT r.key, r.type, r.namespace, r.name, r.version, r.status, `+versionOf+
			`, n.note, `+selectLabels+s.db.from()+
			` WHERE r.owner = '`+owner+`' AND ($1::text = '' OR r.namespace = $1::text)
			AND ($2::text = '' OR r.name = $2::text) AND ($3::text = '' OR r.status = $3::text)`,
			s.namespace, q.Name, string(q.Status))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r Record
			var key string
			var labels, noted, kind *string
			if err := rows.Scan(&key, &kind, &r.Namespace, &r.Name, &r.Revision, &r.Status, &r.Version, &noted,
				&labels); err != nil {
				return err
			}
			format, named := r.Key.named(key)
			if !named {
				continue // none of ours, although it looks so
			}
			if kind != nil && format == "" {
				format = formatOf(*kind)
			}
			if r.Format = format; format == "" {
				r.annotate(labels, noted)
			}
			out = append(out, r)
		}
		return rows.Err()
	})
	return out, err
}

// Delete implements [Driver].
func (s *SQL) Delete(ctx context.Context, k Key, version string) error {
	if err := checkKey(k); err != nil {
		return err
	}
	return s.db.do(ctx, "delete the record of release "+k.String(), func(ctx context.Context) error {
		_, made, _ := strings.Cut(version, "/")
		tag, err := s.db.pool.Exec(ctx, `WITH gone AS (DELETE FROM releases_v1 WHERE key = $1::text AND namespace = $2::text
				AND ($3::text = '' OR createdat::text = $3::text) RETURNING key),
			labels AS (`+deleteLabels+` AND EXISTS (SELECT FROM gone))
			SELECT FROM gone`, objectName(k), k.Namespace, made)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFoundError{k}
		}
		return err
	})
}

// RenewHeartbeat implements [Driver].
func (s *SQL) RenewHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string) (Heartbeat, error) {
	if err := checkKey(k); err != nil {
		return Heartbeat{}, err
	}
	var next Heartbeat
	err := s.db.do(ctx, "send a heartbeat on the record of release "+k.String(), func(ctx context.Context) error {
		now, noted, err := s.pulse(ctx, k)
		if err != nil {
			return err
		}
		changed := &ChangedError{Key: k, Status: now.Status, Holder: now.Holder}
		if !seen.beats(now) {
			return changed
		}
		wrote, err := s.beat(ctx, k, seen, holder, noted)
		if err == nil && !wrote {
			return changed
		}
		if err != nil {
			return err
		}
		next, _, err = s.pulse(ctx, k)
		return err
	})
	return next, err
}

// beat writes a heartbeat, and reports whether it was still as seen. One of the
// same holder is next to the row. Another holder, and any where there is no
// note, makes a new state of the row: its last writer finds it changed.
func (s *SQL) beat(ctx context.Context, k Key, seen Heartbeat, holder string, noted *string) (wrote bool, err error) {
	key, now := objectName(k), s.now()
	count := func(tag pgconn.CommandTag) error {
		wrote = wrote || tag.RowsAffected() > 0
		return nil
	}
	var batch pgx.Batch
	switch {
	case noted != nil && holder == seen.Holder:
		batch.Queue(`UPDATE moonhelm_records_v1 n SET beat = $3::text FROM releases_v1 r
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+underway+` AND `+beatOf+` = $4::text
			AND n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`, key, k.Namespace, beatAt(now), seen.Token).Exec(count)
	case noted != nil:
		n := noteOf(noted)
		n.Holder = holder
		batch.Queue(`UPDATE releases_v1 r SET modifiedat = $3::integer FROM moonhelm_records_v1 n
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+underway+` AND `+beatOf+` = $4::text
			AND n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`, key, k.Namespace, now.Unix(), seen.Token).Exec(count)
		batch.Queue(writeNote, key, k.Namespace, ascii(n), beatAt(now))
	default:
		// A row that is written again is in a new state, whatever is in it.
		batch.Queue(`UPDATE releases_v1 r SET modifiedat = $3::integer
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+underway+` AND ' ' || r.xmin::text = $4::text`,
			key, k.Namespace, now.Unix(), seen.Token).Exec(count)
	}
	err = s.db.pool.SendBatch(ctx, &batch).Close()
	return wrote, err
}

// Heartbeat implements [Driver].
func (s *SQL) Heartbeat(ctx context.Context, k Key) (Heartbeat, error) {
	if err := checkKey(k); err != nil {
		return Heartbeat{}, err
	}
	var p Heartbeat
	err := s.db.do(ctx, "read release "+k.String(), func(ctx context.Context) error {
		var err error
		p, _, err = s.pulse(ctx, k)
		return err
	})
	return p, err
}

// dated is when a row was changed, by the clocks of the clients that wrote it. A
// time that has not come yet cannot be true. Where no other is left it counts as
// now, and that is written down: it must not be now the next time again.
func (s *SQL) dated(ctx context.Context, k Key, p Heartbeat, made, modified int64) (time.Time, error) {
	now := s.now()
	latest := now.Add(clockSkew).Unix()
	for _, at := range []int64{modified, made} {
		if at > 0 && at <= latest {
			return time.Unix(min(at, now.Unix()), 0), nil
		}
	}
	if p.Holder != "" || !p.Status.InProgress() {
		return now, nil // its age says nothing
	}
	_, err := s.db.pool.Exec(ctx, `UPDATE releases_v1 SET modifiedat = $3::integer
		WHERE key = $1::text AND namespace = $2::text AND createdat = $4::integer AND modifiedat = $5::integer`,
		objectName(k), k.Namespace, now.Unix(), made, modified)
	return now, err
}

// pulse reads a record's heartbeat, and its note where it has one.
func (s *SQL) pulse(ctx context.Context, k Key) (p Heartbeat, noted *string, err error) {
	var made, modified int64
	err = s.db.pool.QueryRow(ctx, `SELECT r.status, n.note, `+beatOf+`, r.createdat, r.modifiedat`+s.db.from()+
		` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).Scan(&p.Status, &noted, &p.Token,
		&made, &modified)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil, &NotFoundError{k}
	}
	if err == nil {
		p.Holder = noteOf(noted).Holder
		p.Changed, err = s.dated(ctx, k, p, made, modified)
	}
	return p, noted, err
}

// noteOf reads a note; one that is not there or cannot be read says nothing.
func noteOf(text *string) note {
	var n note
	if text == nil || json.Unmarshal([]byte(*text), &n) != nil {
		return note{}
	}
	return n
}

// annotate sets what is next to a record's row.
func (r *Record) annotate(labels, noted *string) {
	if labels != nil && json.Unmarshal([]byte(*labels), &r.Labels) == nil {
		r.Labels = userLabels(r.Labels)
	}
	n := noteOf(noted)
	r.Holder = n.Holder
	if n.Summary != nil && n.Summary.Status == r.Status {
		r.Summary = n.Summary.of(r)
	}
}

func beatAt(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ascii is v as JSON without a letter beyond ASCII, which a database of any
// encoding keeps.
func ascii(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}" // plain data: it cannot fail
	}
	var b strings.Builder
	for _, c := range string(text) {
		switch {
		case c < 0x80:
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
