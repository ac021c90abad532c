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

// SQL stores records in a PostgreSQL database, in the tables of Helm's sql driver, so that each
// program can read the other's records. A table of its own contains the data for which Helm has
// no column. If the user may not create that table, lists read the data of all records, and
// records have no Holder.
//
// Use [PostgreSQL] to create one. It connects when it is first used; close it with [SQL.Close].
type SQL struct {
	db        *database
	namespace string
	now       func() time.Time
}

// PostgreSQL returns the driver of HELM_DRIVER=sql. The connection is a URL or a string like
// "host=... user=...", as for psql; missing parameters come from the environment (PGHOST etc.).
// Without an sslmode, a connection over the network must be encrypted. With namespace "" the
// driver can list all namespaces and handle records whose keys have a namespace.
func PostgreSQL(connection, namespace string) (*SQL, error) {
	db, err := newDatabase(connection)
	if err != nil {
		return nil, err
	}
	return &SQL{db: db, namespace: namespace, now: time.Now}, nil
}

// In returns a driver with the same connections for another namespace.
func (s *SQL) In(namespace string) Driver {
	other := *s
	other.namespace = namespace
	return &other
}

// Close closes the connections of the driver and of those that [SQL.In] derived from it. A
// later call connects again.
func (s *SQL) Close() { s.db.close() }

// note is the content of a row of moonhelm_records_v1. It is valid for one state of the
// record's row in releases_v1: an update by another program invalidates it.
type note struct {
	Summary *summaryJSON `json:"summary,omitempty"`
	Holder  string       `json:"holder,omitempty"`
}

const (
	joinNotes = ` LEFT JOIN moonhelm_records_v1 n
		ON n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`
	// Without the table, join a row of NULLs.
	joinNulls = ` LEFT JOIN (SELECT NULL::text AS note, NULL::text AS beat) n ON true`

	selectLabels = `(SELECT json_object_agg(l.key, l.value)::text FROM custom_labels_v1 l
		WHERE l.releasekey = r.key AND l.releasenamespace = r.namespace AND l.key IS NOT NULL)`

	insertRelease = `INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdat)
		VALUES ($1::text, '` + secretType + `', $2::text, $3::text, $4::text, $5::integer, $6::text, '` + owner + `',
			$7::integer)`
	updateRelease = `UPDATE releases_v1 r SET body = $2::text, name = $3::text, version = $5::integer, status = $6::text,
		owner = '` + owner + `', modifiedat = $7::integer
		WHERE key = $1::text AND namespace = $4::text AND ($8::text = '' OR ` + versionOf + ` = $8::text)`
	deleteLabels = `DELETE FROM custom_labels_v1 WHERE releasekey = $1::text AND releasenamespace = $2::text`
	// Labels and notes are written only if this transaction wrote the record's row.
	writtenRow = ` (SELECT * FROM releases_v1 WHERE key = $1::text AND namespace = $2::text
		AND xmin::text = (txid_current() & 4294967295)::text)`
	clearLabels  = deleteLabels + ` AND EXISTS` + writtenRow
	insertLabels = `INSERT INTO custom_labels_v1 (releasekey, releasenamespace, key, value)
		SELECT r.key, r.namespace, l.key, l.value FROM` + writtenRow + ` r, json_each_text($3::json) l`
	writeNote = `INSERT INTO moonhelm_records_v1 (key, namespace, state, note, beat)
		SELECT r.key, r.namespace, (txid_current() & 4294967295)::text, $3::text, $4::text FROM` + writtenRow + ` r
		ON CONFLICT (key, namespace) DO UPDATE SET state = EXCLUDED.state, note = EXCLUDED.note, beat = EXCLUDED.beat`

	// versionOf is the Version of a row: its state and its time of creation, by which a
	// row that was deleted and created again differs.
	versionOf = `r.xmin::text || '/' || r.createdat`
	// heartbeatColumn is the heartbeat of a row.
	heartbeatColumn = `COALESCE(n.beat, '') || ' ' || r.xmin::text`
	// inProgress is true for rows of operations in progress.
	inProgress = `(r.status LIKE 'pending-%' OR r.status = 'uninstalling')`
)

// fromClause returns the FROM clause for reading records.
func (d *database) fromClause() string {
	if d.hasNotes {
		return " FROM releases_v1 r" + joinNotes
	}
	return " FROM releases_v1 r" + joinNulls
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

// write writes a record's row, its labels and its note in one transaction and one round trip.
// Each statement sees the results of the previous ones, and the first one locks the row.
func (s *SQL) write(ctx context.Context, doing, statement string, r Record,
	version ...any) (modified string, err error) {
	if err := checkKey(r.Key); err != nil {
		return "", err
	}
	err = s.db.do(ctx, doing, func(ctx context.Context) error {
		var err error
		modified, err = s.writeRow(ctx, statement, r, version)
		return err
	})
	return modified, err
}

// writeRow is write after the tables were created. args are further arguments of the statement.
func (s *SQL) writeRow(ctx context.Context, statement string, r Record, args []any) (string, error) {
	now := s.now()
	n := note{Holder: r.Holder}
	if !r.Status.InProgress() {
		n.Holder = ""
	}
	if r.Summary != nil {
		n.Summary = newSummaryJSON(r.Summary)
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
		batch.Queue(insertLabels, key, r.Namespace, asciiJSON(r.Labels))
	}
	if s.db.hasNotes {
		batch.Queue(writeNote, key, r.Namespace, asciiJSON(n), formatTime(now))
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
		err := s.db.pool.QueryRow(ctx, `SELECT r.body, r.status, r.type, `+versionOf+`, n.note, `+selectLabels+
			s.db.fromClause()+
			` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).
			Scan(&r.Data, &r.Status, &kind, &r.Version, &noted, &labels)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFoundError{k}
		}
		if kind != nil {
			r.Format = formatOf(*kind)
		}
		r.setMetadata(labels, noted)
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
			`, n.note, `+selectLabels+s.db.fromClause()+
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
			format, named := r.Key.formatOfName(key)
			if !named {
				continue // not a record
			}
			if kind != nil && format == "" {
				format = formatOf(*kind)
			}
			if r.Format = format; format == "" {
				r.setMetadata(labels, noted)
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
		current, noted, err := s.readHeartbeat(ctx, k)
		if err != nil {
			return err
		}
		changed := &ChangedError{Key: k, Status: current.Status, Holder: current.Holder}
		if !seen.isCurrent(current) {
			return changed
		}
		wrote, err := s.writeHeartbeat(ctx, k, seen, holder, noted)
		if err == nil && !wrote {
			return changed
		}
		if err != nil {
			return err
		}
		next, _, err = s.readHeartbeat(ctx, k)
		return err
	})
	return next, err
}

// writeHeartbeat writes a heartbeat. It reports whether the heartbeat was still the one in seen. A
// heartbeat of the same holder is written to the note. If the holder changes, or there is no
// note, beat updates the row, so that a concurrent Update returns ErrChanged.
func (s *SQL) writeHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string,
	noted *string) (wrote bool, err error) {
	key, now := objectName(k), s.now()
	count := func(tag pgconn.CommandTag) error {
		wrote = wrote || tag.RowsAffected() > 0
		return nil
	}
	var batch pgx.Batch
	switch {
	case noted != nil && holder == seen.Holder:
		batch.Queue(`UPDATE moonhelm_records_v1 n SET beat = $3::text FROM releases_v1 r
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+inProgress+` AND `+heartbeatColumn+` = $4::text
			AND n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`,
			key, k.Namespace, formatTime(now), seen.Token).Exec(count)
	case noted != nil:
		n := parseNote(noted)
		n.Holder = holder
		batch.Queue(`UPDATE releases_v1 r SET modifiedat = $3::integer FROM moonhelm_records_v1 n
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+inProgress+` AND `+heartbeatColumn+` = $4::text
			AND n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`,
			key, k.Namespace, now.Unix(), seen.Token).Exec(count)
		batch.Queue(writeNote, key, k.Namespace, asciiJSON(n), formatTime(now))
	default:
		// Any update of a row changes its xmin, and so its state.
		batch.Queue(`UPDATE releases_v1 r SET modifiedat = $3::integer
			WHERE r.key = $1::text AND r.namespace = $2::text AND `+inProgress+` AND ' ' || r.xmin::text = $4::text`,
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
		p, _, err = s.readHeartbeat(ctx, k)
		return err
	})
	return p, err
}

// changedAt returns when a row was changed, by the clock of the client that did so. It ignores
// times in the future. If no other is left, it returns the current time and stores it, so that
// the next call returns the same.
func (s *SQL) changedAt(ctx context.Context, k Key, p Heartbeat, made, modified int64) (time.Time, error) {
	now := s.now()
	latest := now.Add(clockSkew).Unix()
	for _, sec := range []int64{modified, made} {
		if sec > 0 && sec <= latest {
			return time.Unix(min(sec, now.Unix()), 0), nil
		}
	}
	if p.Holder != "" || !p.Status.InProgress() {
		return now, nil // the age is not needed
	}
	_, err := s.db.pool.Exec(ctx, `UPDATE releases_v1 SET modifiedat = $3::integer
		WHERE key = $1::text AND namespace = $2::text AND createdat = $4::integer AND modifiedat = $5::integer`,
		objectName(k), k.Namespace, now.Unix(), made, modified)
	return now, err
}

// readHeartbeat reads a record's heartbeat, and its note if there is one.
func (s *SQL) readHeartbeat(ctx context.Context, k Key) (p Heartbeat, noted *string, err error) {
	var made, modified int64
	err = s.db.pool.QueryRow(ctx, `SELECT r.status, n.note, `+heartbeatColumn+`, r.createdat, r.modifiedat`+
		s.db.fromClause()+` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).
		Scan(&p.Status, &noted, &p.Token, &made, &modified)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil, &NotFoundError{k}
	}
	if err == nil {
		p.Holder = parseNote(noted).Holder
		p.Changed, err = s.changedAt(ctx, k, p, made, modified)
	}
	return p, noted, err
}

// parseNote decodes a note. It returns the zero value if there is none or it is invalid.
func parseNote(text *string) note {
	var n note
	if text == nil || json.Unmarshal([]byte(*text), &n) != nil {
		return note{}
	}
	return n
}

// setMetadata sets the fields of r that are stored in other tables.
func (r *Record) setMetadata(labels, noted *string) {
	if labels != nil && json.Unmarshal([]byte(*labels), &r.Labels) == nil {
		r.Labels = userLabels(r.Labels)
	}
	n := parseNote(noted)
	r.Holder = n.Holder
	if n.Summary != nil && n.Summary.Status == r.Status {
		r.Summary = n.Summary.summary(r)
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// asciiJSON returns v as JSON with only ASCII characters, which a database of any encoding can
// store.
func asciiJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}" // cannot fail for these types
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
