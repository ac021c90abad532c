// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	connectTime = 15 * time.Second
	// answerTime is how long one operation may take. It is there for a database
	// that hangs; a record of many megabytes takes seconds.
	answerTime = 2 * time.Minute
)

// database is the connection to a database, and what is known of its tables.
type database struct {
	config *pgxpool.Config
	where  string // for errors

	mu    sync.Mutex
	pool  *pgxpool.Pool // nil before the first use
	notes bool          // our own table is there
}

func newDatabase(connection string) (*database, error) {
	config, err := pgxpool.ParseConfig(connection)
	if err != nil {
		// What the parser says may hold a piece of the password.
		return nil, errors.New("the connection string of the sql driver cannot be understood: " +
			"it should be like postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require, with special characters in the " +
			"password percent-encoded")
	}
	c := config.ConnConfig
	if !saysSSLMode(connection) {
		requireTLS(&c.Config)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTime
	}
	delete(c.RuntimeParams, "binary_parameters") // known to the driver of Helm only
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "helm"
	}
	// No named statements: poolers such as PgBouncer lose them.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	// A statement that no one waits for any more is stopped in the server too.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}
	if !strings.Contains(connection, "pool_max_conns") {
		config.MaxConns = 4
	}
	return &database{config: config, where: place(&c.Config)}, nil
}

// saysSSLMode reports whether the connection string decides about encryption.
func saysSSLMode(connection string) bool {
	if os.Getenv("PGSSLMODE") != "" {
		return true
	}
	if u, err := url.Parse(connection); err == nil && u.Scheme != "" {
		return u.Query().Has("sslmode") || u.Query().Has("service")
	}
	return regexp.MustCompile(`(^|\s)(sslmode|service)\s*=`).MatchString(connection)
}

// requireTLS takes away what is not encrypted and not local.
func requireTLS(c *pgconn.Config) {
	var kept []*pgconn.FallbackConfig
	for _, f := range c.Fallbacks {
		if f.TLSConfig != nil || strings.HasPrefix(f.Host, "/") {
			kept = append(kept, f)
		}
	}
	c.Fallbacks = kept
}

// close ends all connections.
func (d *database) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		d.pool.Close()
		d.pool = nil
	}
}

// do calls fn when the tables are there. fn may be called twice. The error says
// what was being done, and where.
func (d *database) do(ctx context.Context, doing string, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	err := d.open(ctx)
	if err == nil {
		err = fn(ctx)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == stringTooLong {
		// Helm's table of labels has too little room for the key of a release
		// whose name is long.
		if _, widened := d.pool.Exec(ctx,
			`ALTER TABLE custom_labels_v1 ALTER COLUMN releasekey TYPE varchar(90)`); widened == nil {
			err = fn(ctx)
		}
	}
	return d.explain(ctx, doing, err)
}

// open connects and makes the tables where they are missing.
func (d *database) open(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		return ctx.Err()
	}
	pool, err := pgxpool.NewWithConfig(ctx, d.config)
	if err != nil {
		return err
	}
	if d.notes, err = tables(ctx, pool); err != nil {
		pool.Close()
		return err
	}
	d.pool = pool
	return nil
}

// tables makes the tables that are missing, and reports whether ours is there.
func tables(ctx context.Context, pool *pgxpool.Pool) (notes bool, err error) {
	for tries := 0; ; tries++ {
		var helms, ours bool
		err := pool.QueryRow(ctx, `SELECT to_regclass('releases_v1') IS NOT NULL AND to_regclass('custom_labels_v1') IS NOT NULL
			AND to_regclass('gorp_migrations') IS NOT NULL, to_regclass('moonhelm_records_v1') IS NOT NULL`).Scan(&helms, &ours)
		if err == nil && !helms {
			err = makeTables(ctx, pool)
		}
		if err == nil && !ours {
			ours, err = makeNotes(ctx, pool)
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && tries < 5 {
			switch pg.Code {
			case uniqueViolation, duplicateTable, duplicateObject, "40P01", "40001":
				continue // another process is making them
			}
		}
		return ours, err
	}
}

// The tables as Helm's driver makes them, with the migrations that it looks for
// and would run itself. Row-level security without a policy, which is Helm's
// too, leaves them to their owner. Helm grants all permissions on them to everybody
// besides; no one can use those on rows, but they allow to empty the tables, so
// we do not.
const (
	migrationsTable = `CREATE TABLE IF NOT EXISTS gorp_migrations (id text NOT NULL PRIMARY KEY, applied_at timestamp with time zone)`
	releasesTable   = `CREATE TABLE releases_v1 (
			key varchar(90) NOT NULL, type varchar(64) NOT NULL, body text NOT NULL,
			name varchar(64) NOT NULL, namespace varchar(64) NOT NULL, version integer NOT NULL,
			status text NOT NULL, owner text NOT NULL, createdat integer NOT NULL, modifiedat integer NOT NULL DEFAULT 0,
			PRIMARY KEY (key, namespace));
		CREATE INDEX releases_v1_key_namespace_idx ON releases_v1 (key, namespace);
		CREATE INDEX releases_v1_version_idx ON releases_v1 (version);
		CREATE INDEX releases_v1_status_idx ON releases_v1 (status);
		CREATE INDEX releases_v1_owner_idx ON releases_v1 (owner);
		CREATE INDEX releases_v1_createdat_idx ON releases_v1 (createdat);
		CREATE INDEX releases_v1_modifiedat_idx ON releases_v1 (modifiedat);
		ALTER TABLE releases_v1 ENABLE ROW LEVEL SECURITY`
	labelsTable = `CREATE TABLE custom_labels_v1 (
			releasekey varchar(64), releasenamespace varchar(67), key varchar(317), value varchar(63));
		CREATE INDEX custom_labels_v1_releasekey_releasenamespace_idx ON custom_labels_v1 (releasekey, releasenamespace);
		ALTER TABLE custom_labels_v1 ENABLE ROW LEVEL SECURITY`
	migrations = `INSERT INTO gorp_migrations (id, applied_at) VALUES ('init', now()), ('custom_labels', now()) ON CONFLICT DO NOTHING`

	// A record that Helm deletes takes its note along.
	notesTable = `CREATE TABLE IF NOT EXISTS moonhelm_records_v1 (
			key varchar(90) NOT NULL, namespace varchar(64) NOT NULL,
			state text NOT NULL, note text NOT NULL, beat text NOT NULL,
			PRIMARY KEY (key, namespace),
			FOREIGN KEY (key, namespace) REFERENCES releases_v1 (key, namespace) ON UPDATE CASCADE ON DELETE CASCADE);
		ALTER TABLE moonhelm_records_v1 ENABLE ROW LEVEL SECURITY`

	// turn is a number that only we lock, so that we make tables one by one.
	turn = `SELECT pg_advisory_xact_lock(7310584035414043749)`
)

func makeTables(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, migrationsTable); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// Helm reads this table first: while we are at work it waits.
		if _, err := tx.Exec(ctx, turn+`; LOCK TABLE gorp_migrations`); err != nil {
			return err
		}
		var releases, labels bool
		if err := tx.QueryRow(ctx,
			`SELECT to_regclass('releases_v1') IS NOT NULL, to_regclass('custom_labels_v1') IS NOT NULL`).Scan(&releases,
			&labels); err != nil {
			return err
		}
		todo := migrations
		if !labels {
			todo = labelsTable + ";" + todo
		}
		if !releases {
			todo = releasesTable + ";" + todo
		}
		_, err := tx.Exec(ctx, todo)
		return err
	})
}

// makeNotes makes our own table where we may.
func makeNotes(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, turn+";"+notesTable)
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == forbidden {
		return false, nil
	}
	return err == nil, err
}
