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
	connectTimeout = 15 * time.Second
	// operationTimeout is the maximum duration of an operation, in case the database hangs. A
	// record of many megabytes takes seconds.
	operationTimeout = 2 * time.Minute
)

// database is a connection pool with the state of the tables.
type database struct {
	config *pgxpool.Config
	where  string // for errors

	mu       sync.Mutex
	pool     *pgxpool.Pool // nil before the first use
	hasNotes bool          // the table moonhelm_records_v1 exists
}

func newDatabase(connection string) (*database, error) {
	config, err := pgxpool.ParseConfig(connection)
	if err != nil {
		// The parser's message may contain a part of the password.
		return nil, errors.New("invalid connection string of the sql driver: want " +
			"postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require, with special characters in the password " +
			"percent-encoded")
	}
	c := config.ConnConfig
	if !hasSSLMode(connection) {
		requireTLS(&c.Config)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	delete(c.RuntimeParams, "binary_parameters") // a parameter of lib/pq, which Helm uses
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "helm"
	}
	// No named statements: poolers such as PgBouncer lose them.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	// When a context is cancelled, cancel the statement in the server too.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}
	if !strings.Contains(connection, "pool_max_conns") {
		config.MaxConns = 4
	}
	return &database{config: config, where: address(&c.Config)}, nil
}

// hasSSLMode reports whether the connection string or the environment sets the sslmode.
func hasSSLMode(connection string) bool {
	if os.Getenv("PGSSLMODE") != "" {
		return true
	}
	if u, err := url.Parse(connection); err == nil && u.Scheme != "" {
		return u.Query().Has("sslmode") || u.Query().Has("service")
	}
	return regexp.MustCompile(`(^|\s)(sslmode|service)\s*=`).MatchString(connection)
}

// requireTLS removes the fallbacks that are neither encrypted nor local.
func requireTLS(c *pgconn.Config) {
	var kept []*pgconn.FallbackConfig
	for _, f := range c.Fallbacks {
		if f.TLSConfig != nil || strings.HasPrefix(f.Host, "/") {
			kept = append(kept, f)
		}
	}
	c.Fallbacks = kept
}

// close closes all connections.
func (d *database) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		d.pool.Close()
		d.pool = nil
	}
}

// do calls fn after the tables were created. It may call fn twice. Its errors have the
// operation, doing, and the address.
func (d *database) do(ctx context.Context, doing string, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, operationTimeout, errTimeout)
	defer cancel()
	err := d.open(ctx)
	if err == nil {
		err = fn(ctx)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == stringTooLong {
		// The column in Helm's table is too short for the key of a release with a
		// long name.
		if _, widened := d.pool.Exec(ctx,
			`ALTER TABLE custom_labels_v1 ALTER COLUMN releasekey TYPE varchar(90)`); widened == nil {
			err = fn(ctx)
		}
	}
	return d.wrapError(ctx, doing, err)
}

// open connects and creates missing tables.
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
	if d.hasNotes, err = createTables(ctx, pool); err != nil {
		pool.Close()
		return err
	}
	d.pool = pool
	return nil
}

// createTables creates missing tables. It reports whether moonhelm_records_v1 exists.
func createTables(ctx context.Context, pool *pgxpool.Pool) (notes bool, err error) {
	for tries := 0; ; tries++ {
		var helms, hasColumns bool
		err := pool.QueryRow(ctx, `SELECT to_regclass('releases_v1') IS NOT NULL
			AND to_regclass('custom_labels_v1') IS NOT NULL AND to_regclass('gorp_migrations') IS NOT NULL,
			to_regclass('moonhelm_records_v1') IS NOT NULL`).Scan(&helms, &hasColumns)
		if err == nil && !helms {
			err = createHelmTables(ctx, pool)
		}
		if err == nil && !hasColumns {
			hasColumns, err = createNotesTable(ctx, pool)
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && tries < 5 {
			switch pg.Code {
			case uniqueViolation, duplicateTable, duplicateObject, "40P01", "40001":
				continue // another process is creating them
			}
		}
		return hasColumns, err
	}
}

// The tables as Helm's driver creates them, with the records of its migrations. As in Helm,
// row-level security without a policy restricts the rows to the owner. Helm also grants all
// permissions to PUBLIC, which would allow anyone to truncate the tables; this package does
// not.
const (
	migrationsTable = `CREATE TABLE IF NOT EXISTS gorp_migrations (
			id text NOT NULL PRIMARY KEY, applied_at timestamp with time zone)`
	releasesTable = `CREATE TABLE releases_v1 (
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
	migrations = `INSERT INTO gorp_migrations (id, applied_at) VALUES ('init', now()), ('custom_labels', now())
		ON CONFLICT DO NOTHING`

	// When Helm deletes a record, the foreign key deletes its note.
	notesTable = `CREATE TABLE IF NOT EXISTS moonhelm_records_v1 (
			key varchar(90) NOT NULL, namespace varchar(64) NOT NULL,
			state text NOT NULL, note text NOT NULL, beat text NOT NULL,
			PRIMARY KEY (key, namespace),
			FOREIGN KEY (key, namespace) REFERENCES releases_v1 (key, namespace) ON UPDATE CASCADE ON DELETE CASCADE);
		ALTER TABLE moonhelm_records_v1 ENABLE ROW LEVEL SECURITY`

	// lockTables takes an advisory lock, so that only one client creates tables at a time.
	lockTables = `SELECT pg_advisory_xact_lock(7310584035414043749)`
)

func createHelmTables(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, migrationsTable); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// Helm reads this table first, so the lock makes it wait.
		if _, err := tx.Exec(ctx, lockTables+`; LOCK TABLE gorp_migrations`); err != nil {
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

// createNotesTable creates moonhelm_records_v1. It returns false if the user lacks the permission.
func createNotesTable(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, lockTables+";"+notesTable)
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == forbidden {
		return false, nil
	}
	return err == nil, err
}
