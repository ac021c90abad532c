// SPDX-License-Identifier: Apache-2.0

package store

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
// for stands in a table of our own, and where we may not make that one, lists
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
func (s *SQL) In(namespace string) *SQL {
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
	updateRelease = `UPDATE releases_v1 SET body = $2::text, name = $3::text, version = $5::integer, status = $6::text,
		owner = '` + owner + `', modifiedat = $7::integer WHERE key = $1::text AND namespace = $4::text`
	deleteLabels = `DELETE FROM custom_labels_v1 WHERE releasekey = $1::text AND releasenamespace = $2::text`
	insertLabels = `INSERT INTO custom_labels_v1 (releasekey, releasenamespace, key, value)
		SELECT r.key, r.namespace, l.key, l.value FROM releases_v1 r, json_each_text($3::json) l
		WHERE r.key = $1::text AND r.namespace = $2::text`
	writeNote = `INSERT INTO moonhelm_records_v1 (key, namespace, state, note, beat)
		SELECT r.key, r.namespace, r.xmin::text, $3::text, $4::text FROM releases_v1 r WHERE r.key = $1::text AND r.namespace = $2::text
		ON CONFLICT (key, namespace) DO UPDATE SET state = EXCLUDED.state, note = EXCLUDED.note, beat = EXCLUDED.beat`
)

// from is the FROM clause of what reads records.
func (d *database) from() string {
	if d.notes {
		return " FROM releases_v1 r" + joinNotes
	}
	return " FROM releases_v1 r" + joinNothing
}

// Create implements [Driver].
func (s *SQL) Create(ctx context.Context, r Record) error {
	doing := "create the record of release " + r.Key.String()
	err := s.write(ctx, doing, insertRelease, r)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation {
		return &ExistsError{r.Key}
	}
	return err
}

// Update implements [Driver].
func (s *SQL) Update(ctx context.Context, r Record) error {
	return s.write(ctx, "update the record of release "+r.Key.String(), updateRelease, r)
}

// write writes a record's row, its labels and its note in one transaction, which
// takes one round trip. Each statement sees what those before it did, and the
// first locks the row against others who write the same record.
func (s *SQL) write(ctx context.Context, doing, statement string, r Record) error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	now := s.now()
	n := note{Holder: r.Holder}
	if !r.Status.Underway() {
		n.Holder = ""
	}
	if r.Summary != nil {
		n.Summary = shorten(r.Summary)
	}
	key, row := objectName(r.Key), []any{objectName(r.Key), string(r.Data), r.Name, r.Namespace, r.Revision, string(r.Status), now.Unix()}
	return s.db.do(ctx, doing, func(ctx context.Context) error {
		var batch pgx.Batch
		var wrote int64
		batch.Queue(statement, row...).Exec(func(tag pgconn.CommandTag) error {
			wrote = tag.RowsAffected()
			return nil
		})
		batch.Queue(deleteLabels, key, r.Namespace)
		if len(r.Labels) > 0 {
			batch.Queue(insertLabels, key, r.Namespace, ascii(r.Labels))
		}
		if s.db.notes {
			batch.Queue(writeNote, key, r.Namespace, ascii(n), beatAt(now))
		}
		err := s.db.pool.SendBatch(ctx, &batch).Close()
		if err == nil && wrote == 0 {
			err = &NotFoundError{r.Key}
		}
		return err
	})
}

// Read implements [Driver].
func (s *SQL) Read(ctx context.Context, k Key, _ string) (Record, error) {
	if err := checkKey(k); err != nil {
		return Record{}, err
	}
	r := Record{Key: k}
	err := s.db.do(ctx, "read release "+k.String(), func(ctx context.Context) error {
		var labels, noted *string
		err := s.db.pool.QueryRow(ctx, `SELECT r.body, r.status, r.xmin::text, n.note, `+selectLabels+s.db.from()+
			` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).
			Scan(&r.Data, &r.Status, &r.Version, &noted, &labels)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFoundError{k}
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
		rows, err := s.db.pool.Query(ctx, `SELECT r.key, r.namespace, r.name, r.version, r.status, r.xmin::text, n.note, `+selectLabels+s.db.from()+
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
			var labels, noted *string
			if err := rows.Scan(&key, &r.Namespace, &r.Name, &r.Revision, &r.Status, &r.Version, &noted, &labels); err != nil {
				return err
			}
			if key != objectName(r.Key) {
				continue // none of ours, although it looks so
			}
			r.annotate(labels, noted)
			out = append(out, r)
		}
		return rows.Err()
	})
	return out, err
}

// Delete implements [Driver].
func (s *SQL) Delete(ctx context.Context, k Key) error {
	if err := checkKey(k); err != nil {
		return err
	}
	return s.db.do(ctx, "delete the record of release "+k.String(), func(ctx context.Context) error {
		tag, err := s.db.pool.Exec(ctx, `WITH labels AS (`+deleteLabels+`)
			DELETE FROM releases_v1 WHERE key = $1::text AND namespace = $2::text`, objectName(k), k.Namespace)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFoundError{k}
		}
		return err
	})
}

// Beat implements [Driver].
func (s *SQL) Beat(ctx context.Context, k Key) error {
	if err := checkKey(k); err != nil {
		return err
	}
	return s.db.do(ctx, "show signs of life on the record of release "+k.String(), func(ctx context.Context) error {
		if s.db.notes {
			tag, err := s.db.pool.Exec(ctx, `UPDATE moonhelm_records_v1 n SET beat = $3::text FROM releases_v1 r
				WHERE r.key = $1::text AND r.namespace = $2::text AND (r.status LIKE 'pending-%' OR r.status = 'uninstalling')
				AND n.key = r.key AND n.namespace = r.namespace AND n.state = r.xmin::text`, objectName(k), k.Namespace, beatAt(s.now()))
			if err != nil || tag.RowsAffected() > 0 {
				return err
			}
		}
		// A row that is written again is in a new state, whatever is in it.
		var status release.Status
		err := s.db.pool.QueryRow(ctx, `WITH touched AS (UPDATE releases_v1 SET modifiedat = $3::integer
			WHERE key = $1::text AND namespace = $2::text AND (status LIKE 'pending-%' OR status = 'uninstalling'))
			SELECT status FROM releases_v1 WHERE key = $1::text AND namespace = $2::text`, objectName(k), k.Namespace, s.now().Unix()).Scan(&status)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFoundError{k}
		}
		return err
	})
}

// Pulse implements [Driver].
func (s *SQL) Pulse(ctx context.Context, k Key) (Pulse, error) {
	if err := checkKey(k); err != nil {
		return Pulse{}, err
	}
	var p Pulse
	err := s.db.do(ctx, "read release "+k.String(), func(ctx context.Context) error {
		var noted *string
		var changed int64
		err := s.db.pool.QueryRow(ctx, `SELECT r.status, n.note, COALESCE(n.beat, '') || ' ' || r.xmin::text, greatest(r.createdat, r.modifiedat)`+s.db.from()+
			` WHERE r.key = $1::text AND r.namespace = $2::text`, objectName(k), k.Namespace).Scan(&p.Status, &noted, &p.Beat, &changed)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFoundError{k}
		}
		var r Record
		r.annotate(nil, noted)
		p.Holder, p.Changed = r.Holder, time.Unix(changed, 0)
		return err
	})
	return p, err
}

// annotate sets what stands beside a record's row.
func (r *Record) annotate(labels, noted *string) {
	if labels != nil && json.Unmarshal([]byte(*labels), &r.Labels) == nil {
		r.Labels = userLabels(r.Labels)
	}
	var n note
	if noted == nil || json.Unmarshal([]byte(*noted), &n) != nil {
		return
	}
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
